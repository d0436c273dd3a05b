"""A question whose run is over: its program has forgotten it, so it is told again, and its answer goes with the next
words that the agent is told.
"""

from __future__ import annotations

from dataclasses import replace

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Run
from phoenixd.core.agent.standing import InboxItem, text_hash
from phoenixd.core.agent.state import Afterwards, Desired, Live, Running, Stopping
from phoenixd.core.decision import Decision
from phoenixd.core.moment import Moment
from phoenixd.core.question.call import QUESTION
from phoenixd.core.question.characters import visible
from phoenixd.core.question.reply import asked_in
from phoenixd.core.transitions import RECOVER, put_item, refuse

ASKED = "Before your last run ended you had asked a person: "
"""How the sentence about such a question begins, by which it is known as ours."""
MOST = 8
"""Questions of runs that are over which are kept; an agent cannot make the daemon keep more."""
WORDS = 1000
"""Characters of a question in that sentence."""
TYPED_WITHIN = 60.0
"""Seconds in which an answer has to be begun to be typed."""
TAKEN_WITHIN = 60.0
"""Seconds after its start in which a run takes its first prompt, if it ever does."""


def after(agent: Agent, state: Live, now: Moment) -> Agent:
    """The agent whose run is over: its questions are left, all else that the run asked is closed.

    An operator who stopped it on purpose has nothing to answer any more.
    """
    on_purpose = isinstance(state, Stopping) and state.then in (Afterwards.STAY, Afterwards.REMOVE)
    if on_purpose or agent.desired is Desired.STOPPED:
        unasked = tuple(one for one in agent.items if one.kind == RECOVER)
        return replace(agent, items=unasked) if agent.items != unasked else agent
    covered = tuple(
        InboxItem(
            0, agent.name, agent.incarnation, one.kind, one.text, text_hash(one.text), one.since_wall, "answer",
            veiled=one.veiled, tool=one.tool, whole=True,
        )
        for one in reversed(state.activity.also_asked)
        if one.kind == QUESTION and one.whole
    )  # fmt: skip
    asked = tuple(one for one in agent.items if not one.left and one.kind == QUESTION and one.whole)
    new = tuple(replace(one, left=True, hold=0, answer_by="answer", answering="") for one in (*covered, *asked))
    old = tuple(replace(one, answering="") for one in agent.items if one.left)
    kept = (*(one for one in old if all(one.text_hash != other.text_hash for other in new)), *new)[-MOST:]
    return agent if kept == agent.items else replace(agent, items=kept)


def sentence(agent: Agent) -> str:
    """What a new run is told of such questions; empty where there are none."""
    return " ".join(words_of(one) for one in agent.items if one.left)


def has_answer(agent: Agent) -> bool:
    """Whether an answer waits for the agent's next start."""
    return any(one.left and one.answer for one in agent.items)


def carried(agent: Agent, incarnation: int) -> Agent:
    """The agent whose new run is told the answers with its first prompt."""
    items = tuple(replace(one, carried=incarnation) if one.left and one.answer else one for one in agent.items)
    return agent if items == agent.items else replace(agent, items=items)


def heard(agent: Agent, incarnation: int) -> Agent:
    """The first prompt of that run arrived: what it carried is answered."""
    items = tuple(one for one in agent.items if not (one.left and one.carried == incarnation))
    return agent if len(items) == len(agent.items) else replace(agent, items=items)


def answer(
    agent: Agent, item: InboxItem, answers: tuple[str, ...], by: str, now: Moment, *, secret: bool = False
) -> Decision:
    """Type the answer into an agent that reads, or keep it for its next start; one that holds a secret is not kept."""
    told = replace(item, answer=_spelled(item, answers), carried=0)
    readings = (("item", item.id), ("text_hash", item.text_hash), ("by", by))
    state = agent.state
    if isinstance(state, Running) and _is_on_its_way(item, state.run, now):
        said = f"#{item.id} is answered already, and told with its first prompt"
        return refuse(agent, said, f"phoenixctl wait {agent.name} --for idle")
    if not isinstance(state, Running) and secret:
        said = f"#{item.id} cannot be answered before {agent.name} runs: the answer holds a secret, and is kept nowhere"
        return refuse(agent, said, f"phoenixctl start {agent.name}")
    if not isinstance(state, Running):
        why = f"{by} answers #{item.id}, which an earlier run had asked: told with its next start"
        return Decision(put_item(agent, told), (), why, readings)
    message_id = now.new_id(agent.name, state.run.incarnation, "answer", item.id)
    order = Deliver(agent.name, state.run.incarnation, message_id, words_of(told), now.at + TYPED_WITHIN)
    why = f"{by} answers #{item.id}, which an earlier run had asked: typing it"
    kept = replace(told, answering=message_id, answer="" if secret else told.answer)
    return Decision(put_item(agent, kept), (order,), why, readings)


def _is_on_its_way(item: InboxItem, run: Run, now: Moment) -> bool:
    """Whether its run may still take it with its first prompt; a dialog at the start can eat that."""
    return item.carried == run.incarnation and not run.prompt_seen and now.at - run.began < TAKEN_WITHIN


def typing(agent: Agent, message_id: str) -> InboxItem | None:
    """The question whose answer is typed under this name."""
    return next((one for one in agent.items if one.left and one.answering == message_id), None)


def typed(agent: Agent, message_id: str, problem: str | None) -> Agent:
    """What became of typing an answer: it closes its question, or leaves it open. problem: why it was not typed."""
    item = typing(agent, message_id)
    if item is None:
        return agent
    if problem is None:
        return replace(agent, items=tuple(one for one in agent.items if one is not item))
    return put_item(agent, replace(item, answering="", answer=""))


def met(agent: Agent) -> Agent:
    """After a daemon start nobody types any more what an earlier one began to."""
    items = tuple(replace(one, answering="") if one.left else one for one in agent.items)
    return agent if items == agent.items else replace(agent, items=items)


def taken(agent: Agent, prompt: str) -> Agent:
    """The agent took such an answer: its question is closed, even if the daemon that typed it died before it told."""
    items = tuple(
        one for one in agent.items if not (one.left and one.answer and words_of(one).strip() == prompt.strip())
    )
    return agent if len(items) == len(agent.items) else replace(agent, items=items)


def is_ours(prompt: str) -> bool:
    """Whether a prompt is nothing but such an answer."""
    return prompt.strip().startswith(ASKED)


def words_of(item: InboxItem) -> str:
    """What an agent is told of such a question, with its answer where there is one."""
    asked = " / ".join(visible(question.text[:WORDS]) for question in asked_in(item))
    if item.answer:
        return f"{ASKED}{asked} The answer is: {item.answer}"
    return f"{ASKED}{asked} Nobody has answered yet. Ask again if you cannot go on without an answer."


def _spelled(item: InboxItem, answers: tuple[str, ...]) -> str:
    """The answers in words, each with its question where there are several."""
    questions = asked_in(item)
    if len(questions) == 1:
        return answers[0]
    pairs = zip(questions, answers, strict=True)
    return "; ".join(f"{visible(question.text[:WORDS])} {given}" for question, given in pairs)
