"""What a prompt means: which are phoenixd's own words, and which are the task in hand now."""

from __future__ import annotations

from phoenixd.core import cut, productive
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Run
from phoenixd.core.agent.state import Running
from phoenixd.core.change import replace
from phoenixd.core.decision import Seen
from phoenixd.core.handoff import words
from phoenixd.core.hooks import PromptSubmitted
from phoenixd.core.parts import WaitOver
from phoenixd.core.question import leftover
from phoenixd.core.tasks.names import is_notice
from phoenixd.core.turn import liveness
from phoenixd.core.waiting import MAX_TEXT
from phoenixd.planting import is_ours as is_for_a_check

COMPARED = 40
"""Characters by which a prompt is held against the goal."""
LONGEST_GOAL = 100_000


def is_ours(prompt: str) -> bool:
    """Whether a prompt is a word of phoenixd's own, and no task in hand."""
    return cut.is_ours(prompt) or words.is_ours(prompt) or is_notice(prompt) or is_for_a_check(prompt)


def _is_another(agent: Agent, run: Run, prompt: str) -> bool:
    """Whether a prompt cannot be the one that the run was started with, where that one is known word for word.

    More may follow the goal, and either may be cut: by its first characters it is known all the same. From a bracket on
    a mark may stand for a secret, or for what was pasted. What tells a run to go on is made as it is launched, a CLI
    may spell out a command, and a goal too long for a command line is only pointed to.
    """
    goal = agent.spec.opening or agent.spec.prompt or ""
    if run.prompt is not PromptKind.GOAL or goal.startswith("/") or len(goal) > LONGEST_GOAL:
        return False
    said = prompt.partition("[")[0]
    head, told = (" ".join(text[: 4 * COMPARED].split())[:COMPARED] for text in (goal, said))
    length = min(len(head), len(told))
    return length > 0 and head[:length] != told[:length]


def hear_sent(agent: Agent, message_id: str) -> Agent:
    """A text arrived. If somebody sent it, what the agent does now was asked for; what we say by ourselves was not."""
    state = agent.state
    if not isinstance(state, Running) or state.run.merit.sent != message_id:
        return agent
    run = replace(state.run, merit=replace(state.run.merit, asked=True, sent=""))
    return productive.asked_again(replace(agent, state=replace(state, run=run)))


def hear_prompt(agent: Agent, run: Run, event: PromptSubmitted, was_open: bool, seen: Seen) -> tuple[Agent, Run, str]:
    """The prompt that a run was started with is ours, and comes first; any other is the task in hand now."""
    told = replace(run, merit=productive.turn_begins(run.merit, False, was_open))
    if cut.is_ours(event.text):
        return agent, replace(told, prompt_seen=True), "a turn began with the word to go on with a cut answer"
    if is_for_a_check(event.text):
        return agent, replace(told, prompt_seen=True), "a turn began that is opened for a check"
    if event.source == "machine":
        return agent, told, "a turn began with a note of its own about background work"
    if any(isinstance(one, WaitOver) and one.told for one in seen.signals):
        # It goes on with the turn that the limit had ended, and with what that holds.
        return agent, replace(run, prompt_seen=True), "a turn began with the prompt to go on"
    if liveness.was_told(run, agent.spec) and not run.prompt_seen and not _is_another(agent, run, event.text):
        told = replace(told, prompt_seen=True)
        return leftover.heard(agent, run.incarnation), told, "a turn began with the prompt it was started with"
    asked = productive.turn_begins(run.merit, True, was_open)
    if leftover.is_ours(event.text):
        heard = leftover.taken(productive.asked_again(agent), event.text)
        said = "a turn began with the answer to a question that an earlier run had asked"
        return heard, replace(run, prompt_seen=True, merit=asked), said
    if words.is_ours(event.text):
        return agent, replace(told, prompt_seen=True), f"a turn began with {words.what(event.text)}"
    if is_notice(event.text):
        return agent, replace(told, prompt_seen=True), "a turn began with word of a task that it had handed out"
    text = event.text[:MAX_TEXT]
    if not run.prompt_seen and (text == agent.last_prompt or text.strip() in agent.spec.argv):
        # The command brings it along, at every start: nobody asks for anything by that.
        told = replace(told, prompt_seen=True)
        return replace(agent, last_prompt=text), told, "a turn began with the prompt of its command"
    heard = productive.asked_again(replace(agent, last_prompt=text))
    return heard, replace(run, prompt_seen=True, merit=asked), "a turn began with a new prompt"
