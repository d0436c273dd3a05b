"""A context that is full ends a session, and not the agent: the run is ended, and the next one is fresh (F-HO-1).

An orchestrator with a project is handed over instead, from files: its session cannot say any more what only it knew.
Whatever is asked of such a session is refused again, also after a resume. What refuses says so in its own words, or the
meter does; an answer that was cut for its length in a context with room is another matter, and for a person.

A fresh session has room where work filled the one before. Where nothing was done in a session, what it began with was
too long, and the next one begins with the same: the run is left as it is, and a person is called. So it is where
sessions in a row did something, and none of them brought a turn to its end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.run import Achieved
from phoenixd.core.agent.state import Afterwards, Running
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision, Readings, Seen, one_reason
from phoenixd.core.events.evidence import AnswerCut
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.meter import parts
from phoenixd.core.meter.reading import read
from phoenixd.core.moment import Moment
from phoenixd.core.spec import Kind
from phoenixd.core.transitions import FAILED_TURN, TOO_LONG, close_items, end_run, open_item
from phoenixd.core.waiting import is_too_long

FULL = 0.85
"""The share of the window from which on a refusal that names no reason is believed to be for its length: a CLI that
does not compact refuses from 88 % on."""

MOST = 3
"""Sessions in a row that are full before a turn of theirs came to its end, until a person is called."""

MAX_SAID = 70
"""Characters of the words of a refusal: an alert has few, and its remedy has to stand in it."""

MESSAGE = re.compile(r'"message": ?"([^"]+)"')
"""Where an API says it in JSON: the words for people alone."""


@dataclass(frozen=True, slots=True)
class Full:
    """Why a context is known to be full. said: the same in few words. answered: what it began with was answered."""

    why: str
    said: str
    answered: bool = False


CUT = Full(
    "its context is full: an answer was cut at the end of the window", "an answer was cut at the window's end", True
)


def hear(agent: Agent, event: TurnFailed, seen: Seen, now: Moment) -> Decision:
    """End the run whose context is full, or call a person. Of a kind that ends by itself a person decides."""
    state = agent.state
    if parts.is_old(event, seen) or not isinstance(state, Running) or agent.spec.kind is Kind.EPHEMERAL:
        return seen.decision
    full = _full(agent, event)
    if full is None:
        return seen.decision
    judged = _judge(agent, state, full, now)
    told = (one for one in seen.decision.actions if not (isinstance(one, Alert) and one.kind == FAILED_TURN))
    reason = one_reason(seen.decision.reason, judged.reason)
    gauge = read(parts.of(agent), agent.spec.context)
    readings = (*seen.decision.readings, ("tokens", gauge.tokens), ("limit", gauge.limit), *judged.readings)
    return replace(
        judged, actions=(*told, *judged.actions), reason=reason, readings=readings, facts=seen.decision.facts
    )


def hear_cut(agent: Agent, event: AnswerCut, seen: Seen, now: Moment) -> Decision:
    """End the run whose answer ended at the end of the window, as its transcript says; a mere limit ends none."""
    state, told = agent.state, seen.decision
    is_over = event.how != "window" or event.went_on or not told.reason
    if is_over or not isinstance(state, Running) or agent.spec.kind is Kind.EPHEMERAL or is_too_long(state.activity):
        return told
    judged = _judge(agent, state, CUT, now)
    reason = f"{told.reason}; {judged.reason}"
    return replace(judged, reason=reason, readings=(*told.readings, *judged.readings), facts=told.facts)


def at_exit(agent: Agent, event: TurnFailed, now: Moment) -> Agent:
    """The agent whose run has ended by the word of its exit code: as if a hook had told that failure before."""
    state = agent.state
    if not isinstance(state, Running) or agent.spec.kind is Kind.EPHEMERAL or is_too_long(state.activity):
        return agent
    full = _full(agent, event)
    return agent if full is None else _judge(agent, state, full, now).agent or agent


def _judge(agent: Agent, state: Running, full: Full, now: Moment) -> Decision:
    """Begin a fresh session while that can help; call a person where the next one would be as full."""
    achieved = _achieved(agent)
    achieved = "calls" if achieved == "nothing" and full.answered else achieved
    row = min(MOST, agent.dead_ends + 1) if achieved == "calls" else agent.dead_ends
    readings: Readings = (("achieved", achieved), ("sessions in a row", row), ("prompt bytes", state.run.prompt_bytes))
    if achieved == "nothing" or (achieved == "calls" and row >= MOST):
        return replace(_call(replace(agent, dead_ends=row), state, achieved == "nothing", full, now), readings=readings)
    return replace(_end(replace(agent, dead_ends=row), full.why, now), readings=readings)


def _achieved(agent: Agent) -> Achieved:
    """What was done in its session; tokens that were told are those of an answer."""
    known = agent.session.achieved if agent.session is not None else "turn"
    return "calls" if known == "nothing" and parts.of(agent).tokens else known


def _end(agent: Agent, why: str, now: Moment) -> Decision:
    """End the run. Whether a handoff follows is known when its tree is gone; a fresh start is what follows else."""
    spec = agent.spec
    is_handed_over = spec.kind is Kind.ORCHESTRATOR and bool(spec.seat) and spec.project is not None
    next_ = "to be handed over from files" if is_handed_over else "fresh with the brief"
    known = close_items(replace(agent, meter=replace(parts.of(agent), full=why)), FAILED_TURN)
    return end_run(known, Afterwards.RESTART, f"{why}: {next_}", now, fresh=True, spoil=True)


def _call(agent: Agent, state: Running, is_first: bool, full: Full, now: Moment) -> Decision:
    """Call a person. The run stays: shorter words may be answered in it, and an operator's start ends it."""
    text = _words(agent, state, is_first, full)
    before = state.activity.waiting
    asks = Waiting(TOO_LONG, text, now.wall, since=before.since if before is not None else now.at)
    called = replace(agent, state=replace(state, activity=replace(state.activity, waiting=asks)))
    asked = open_item(close_items(called, FAILED_TURN), TOO_LONG, text, "attach", now)
    why_so = "nothing was done in its session" if is_first else f"{MOST} sessions in a row ended no turn"
    return Decision(asked, (Alert(agent.name, TOO_LONG, text),), f"{full.why}, and {why_so}: a person is called")


def _words(agent: Agent, state: Running, is_first: bool, full: Full) -> str:
    """What was refused, how long it was, and what helps; all of it fits into an alert."""
    spec, size = agent.spec, state.run.prompt_bytes
    name = spec.seat or spec.name
    long = f" of {size:,} bytes" if size else ""
    if not is_first:
        return (
            f"{MOST} sessions in a row were full before a turn came to its end, the last one by a prompt{long} "
            f"({full.said}). No other one is begun by itself. Give it less at once, then: phoenixctl restart {name}"
        )
    if spec.generation > 1 and agent.last_exit is None:
        # A text that is sent, and a restart, wait for the end of its handoff.
        remedy = f"at its terminal: phoenixctl attach {spec.name}; or go back: phoenixctl handoff rollback {name}"
    else:
        remedy = f'now: phoenixctl send {name} "TEXT"; or shorten those, then: phoenixctl restart {name}'
    return (
        f"nothing was done in its session, and its prompt{long} was refused, brief and tools included ({full.said}). "
        f"Shorter words {remedy}"
    )


def _full(agent: Agent, event: TurnFailed) -> Full | None:
    """Why the context is known to be full; None where it is not."""
    words = " ".join((event.text or event.error or "").split())
    message = MESSAGE.search(words)
    said = (message[1] if message is not None else words)[:MAX_SAID]
    if event.failure == "full":
        return Full(f"its context is full, as it was told ({said})", said, event.named == "answer")
    share = read(parts.of(agent), agent.spec.context).share
    if event.failure in ("request", "length") and share is not None and share >= FULL:
        taken = f"{share:.1%} of the window"
        return Full(f"its context is full ({taken}), and what it asked was refused", taken)
    return None
