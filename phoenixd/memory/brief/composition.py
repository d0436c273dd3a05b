"""What an agent is told: its brief from all that is known of it, and the first words of a new run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import LastExit, Mode
from phoenixd.core.agent.state import Quarantined
from phoenixd.core.condition import activity_word
from phoenixd.core.question import leftover
from phoenixd.documents.banner import Interruption, ended_sentence, interruption_sentence
from phoenixd.documents.brief.page import BriefFacts
from phoenixd.documents.brief.record import Narrative
from phoenixd.documents.cut_answers import cut_sentence
from phoenixd.documents.incident import call_sentence, incident_sentence
from phoenixd.documents.last_failure import last_failure
from phoenixd.documents.lost_jobs import lost_jobs_sentence
from phoenixd.documents.ops import CLEAN_CODES, Happening
from phoenixd.documents.plain_text import clip, plain
from phoenixd.documents.redact import Clean
from phoenixd.documents.state import StateDocument, Status
from phoenixd.documents.workspace import Commit, GitSummary
from phoenixd.memory.brief.session_seen import SeenSession

TASK_LIMIT = 2000
"""Characters of a prompt that state.json keeps as the current task."""

INCIDENT_TOLD = 24 * 3600.0
"""Seconds for which sessions are told of an incident."""

SIGTERM = 15


def current_task(words: str | None, clean: Clean) -> str | None:
    """What state.json says of the task in hand, which was told in these words."""
    return clip(clean(plain(words[: 4 * TASK_LIMIT])).strip(), TASK_LIMIT) or None if words else None


def compose_brief(
    agent: Agent,
    state: StateDocument,
    happenings: Sequence[Happening],
    git: GitSummary | None,
    now: float,
    clean: Clean,
    narrative: Narrative | None = None,
    seen: SeenSession | None = None,
    crew: Sequence[str] = (),
) -> BriefFacts:
    """Gather the facts of a brief. Everything but the goal is redacted; state and happenings come redacted already.

    crew: what it is told of others of its project.
    """
    activity = activity_word(agent)
    situation = f"{agent.state_words}{f' ({activity})' if activity else ''}: {agent.reason}" if agent.reason else ""
    return BriefFacts(
        state=state,
        now=now,
        goal=agent.spec.prompt,
        situation=clean(situation),
        happenings=tuple(happenings),
        git=cleaned_git(git, clean) if git is not None else None,
        risks=tuple(clean(risk) for risk in (*_risks(agent, state, now), *crew)),
        failure=last_failure(agent.advice, clean),
        narrative=narrative,
        words=seen.words if seen is not None else None,
        told=seen.told if seen is not None else None,
        work=seen.work if seen is not None else None,
    )


def interruption_before(
    agent: Agent, prompt: PromptKind, found: Status | None, judged: bool | None
) -> Interruption | None:
    """How the run before the one that is being started ended, if not well.

    found: the status that state.json held before this daemon wrote it, for an agent that has not run yet (P15, P87).
    judged: whether that end was told as an error already; None while nobody said so.
    """
    last = agent.last_exit
    if prompt is PromptKind.CONTINUE:
        return Interruption("working", last.at_wall, _how(agent, last)) if last else Interruption("working")
    if last is None:
        return Interruption(found) if found in ("working", "error") and agent.restarts == 0 else None
    if last.ordered:
        return None
    failed = _looks_failed(last) if judged is None else judged
    return Interruption("error", last.at_wall, last.text) if failed else None


def first_words(agent: Agent, mode: Mode, kind: PromptKind, state: StateDocument) -> str | None:
    """What a new run is told as its first prompt: the goal byte for byte, to continue, both, or nothing."""
    goal = agent.spec.prompt
    asked = leftover.sentence(agent)
    match kind:
        case PromptKind.GOAL if agent.spec.opening:
            return agent.spec.opening
        case PromptKind.GOAL:
            answered = leftover.has_answer(agent) and goal is not None
            return f"{goal}\n\n{asked}" if answered else goal
        case PromptKind.NONE | PromptKind.SEAL:
            # A prompt that asks for a seal holds its words, which are made when the run is started.
            return None
        case PromptKind.CONTINUE:
            # A fresh session has had no turn: whether one was open before it, the run itself knows.
            goes_on = agent.run is not None and agent.run.goes_on
            idle = agent.session is not None and not agent.session.turn_open and not goes_on
            go_on = agent.spec.resume.prompt or _continue(agent, state)
            go_on = f"{go_on} {lost_jobs_sentence(agent.lost)}" if agent.lost is not None else go_on
            words = asked if idle and leftover.has_answer(agent) else f"{go_on} {asked}".rstrip()
            return f"{goal}\n\n{words}" if mode is Mode.FRESH and goal is not None else words


def _continue(agent: Agent, state: StateDocument) -> str:
    last, incident = agent.last_exit, agent.incident
    if last is None:
        return interruption_sentence(state, None, "")
    renewed = _renewed_for(agent, last)
    if last.ordered:
        return ended_sentence(state, last.at_wall, renewed or last.ordered, renewed=bool(renewed))
    ours = incident is not None and incident.incarnation == last.incarnation
    how = f"{last.text}; {incident.reason}" if ours and incident is not None else last.text
    how = f"{how}; this session is a fresh one: {renewed}" if renewed else how
    hung_in = call_sentence(incident.call) if ours and incident is not None and incident.call is not None else ""
    return interruption_sentence(state, last.at_wall, how, hung_in)


def _how(agent: Agent, last: LastExit) -> str:
    return f"phoenixd ended it: {_renewed_for(agent, last) or last.ordered}" if last.ordered else last.text


def _renewed_for(agent: Agent, last: LastExit) -> str:
    """Why this session stands in the place of the one of that run; empty where it does not."""
    going = agent.resonance.restoration if agent.resonance is not None and agent.resonance.is_restoring else None
    if going is None or going.base != last.incarnation:
        return ""
    return f"{going.by} ordered it" if going.by else "the front of its context was lost"


def _looks_failed(last: LastExit) -> bool:
    # SIGTERM is how we end runs ourselves.
    return last.signal not in (None, SIGTERM) or (last.signal is None and last.code not in CLEAN_CODES)


def _risks(agent: Agent, state: StateDocument, now: float) -> list[str]:
    risks = [f"The loop `{loop.id}` is stale: open since {loop.added}." for loop in state.open_loops if loop.stale]
    if agent.incident is not None and now - agent.incident.at_wall < INCIDENT_TOLD:
        risks.append(incident_sentence(agent.incident))
    if agent.lost is not None:
        risks.append(lost_jobs_sentence(agent.lost))
    if isinstance(agent.state, Quarantined):
        risks.append(f"The agent is quarantined: {agent.state.cause}.")
    risks += [f"{leftover.sentence(agent)}"] if any(one.left for one in agent.items) else []
    if agent.cut is not None:
        risks.append(cut_sentence(agent.cut))
    if agent.session is not None and agent.session.spoiled:
        risks.append(f"The session before was given up: {agent.session.spoiled}.")
    if agent.short_runs > 1:
        risks.append(f"The last {agent.short_runs} runs were short.")
    return risks


def cleaned_git(git: GitSummary, clean: Clean) -> GitSummary:
    """The same without secrets: commits and names can hold anybody's words."""
    commits = tuple(Commit(commit.id, commit.day, clean(commit.subject)) for commit in git.commits)
    dirty = tuple(clean(name) for name in git.dirty) if git.dirty is not None else None
    made = tuple(replace(one, subject=clean(one.subject)) for one in git.made)
    return replace(git, commits=commits, made=made, dirty=dirty)
