"""What comes next in a sequence, by what the first member and the awaited agent are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from phoenixd.core import signals, workplaces
from phoenixd.core.actions import LookForFile, MeasureWork
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Quarantined, Running, Stopped, Stopping
from phoenixd.core.breaker import Signals
from phoenixd.core.decision import Decision
from phoenixd.core.events import RunEvent
from phoenixd.core.events.runs import AgentExited
from phoenixd.core.events.work import FileLooked, MeasurementLost
from phoenixd.core.hooks import Hook
from phoenixd.core.iteration import Closing, Passing
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.ranked import Mark
from phoenixd.core.restart import ended_well
from phoenixd.core.roster import PASSING, Marks, Roster
from phoenixd.core.rules import Member
from phoenixd.core.transitions import RECOVER

SLACK = 10.0
"""Seconds beyond the limit of a measurement after which it is asked for again."""
MOST_ASKED = 2
AGENTS = ("condition", "member")
"""What a turn awaits that is an agent's run."""


def answer_by(agent: Agent, now: Moment) -> Instant:
    """When an answer about the work is overdue."""
    return now.at + agent.spec.breaker.time_limit + SLACK


def decide(agent: Agent, passing: Passing, event: FileLooked | MeasurementLost, now: Moment) -> Decision:
    """Take the answer to a look for a file."""
    member = _member(agent, passing)
    if passing.awaits != "file" or member is None:
        return Decision(agent)
    if isinstance(event, MeasurementLost):
        again = replace(passing, due=answer_by(agent, now))
        return Decision(replace(agent, iteration=again), (_look(agent, passing, member),), "the answer was lost")
    if (event.number, event.turn) != (passing.number, passing.turn):
        return Decision(agent)
    if event.exists:
        return _moved(agent, _to_member(passing), f"the turn of {member.agent} comes: {member.when_exists} exists")
    why = f"no turn for {member.agent}: {member.when_exists} does not exist"
    return _moved(agent, _to_next(passing), why if event.exists is not None else f"{why}, as far as can be told")


def overdue(agent: Agent, passing: Passing, now: Moment) -> Decision:
    """A look for a file was not answered: once more, then without."""
    member = _member(agent, passing)
    if member is not None and passing.asked < MOST_ASKED:
        again = replace(passing, asked=passing.asked + 1, due=answer_by(agent, now))
        return Decision(replace(agent, iteration=again), (_look(agent, passing, member),), "no answer: once more")
    return decide(agent, passing, FileLooked(agent.name, passing.number, passing.turn, None), now)


def marks(agent: Agent, place: int) -> Marks:
    """PASSING: the first member of a sequence whose other members have their turns."""
    return ((PASSING, "", 0.0, place, agent.name),) if isinstance(agent.iteration, Passing) else ()


def _leads(agents: Roster) -> Iterator[Agent]:
    """Those that bear that mark, in the order of the fleet."""
    found: Iterator[Mark] = agents.marks.between((PASSING,), (PASSING + 1,))
    return (agents[mark[4]] for mark in found)


def wanted(agents: Roster) -> Iterator[tuple[Agent, str]]:
    """Agents that have to be started for a turn now, each after the first member in whose sequence it is."""
    for lead in _leads(agents):
        passing = lead.iteration
        if not isinstance(passing, Passing) or passing.since >= 0 or passing.awaits not in AGENTS:
            continue
        name = _awaited(lead, passing)
        if name in agents and not _why_no_turn(agents[name]):
            yield lead, name


def abandoned(before: Roster, after: Roster) -> Iterator[tuple[Agent, str]]:
    """Agents whose turn was broken off, because somebody stopped, removed or rearranged what the first member leads."""
    for lead in _leads(before):
        passing = lead.iteration
        if not isinstance(passing, Passing) or passing.awaits not in AGENTS:
            continue
        left: Agent | None = after.get(lead.name)
        if left is None or not isinstance(left.iteration, Passing) or left.iteration.awaits not in AGENTS:
            yield lead, _awaited(lead, passing)


def taken_up(agents: Mapping[str, Agent], lead: Agent) -> Iterator[Decision]:
    """To start the first member is to start them all: those that were stopped on purpose have their turns again."""
    for member in lead.spec.loop.sequence:
        agent = agents.get(member.agent)
        if agent is not None and agent.left_out:
            yield Decision(replace(agent, left_out=False), reason=f"it has its turns again: {lead.name} was started")


def follow(agents: Roster, now: Moment) -> Decision | None:
    """The next thing to do for a sequence whose awaited agent is down; None when all have to wait."""
    for lead in _leads(agents):
        if isinstance(lead.iteration, Passing) and (decision := _advance(lead, lead.iteration, agents, now)):
            return decision
    return None


def begun(lead: Agent, since: int) -> Decision:
    """The awaited agent was told to start; what it ran before that does not count."""
    assert isinstance(lead.iteration, Passing)
    return Decision(replace(lead, iteration=replace(lead.iteration, since=since)))


def rearranged(lead: Agent) -> Agent:
    """The first member after its sequence was declared anew: turns are known by their place, so the rest is skipped."""
    if not isinstance(lead.iteration, Passing):
        return lead
    over = replace(_to_next(lead.iteration), turn=len(lead.spec.loop.sequence))
    return replace(lead, iteration=over)


def overhear(agents: Mapping[str, Agent], member: Agent, event: RunEvent) -> Iterator[Decision]:
    """Note in the first member's iteration what the run of a turn says of itself; `member` is as it was before."""
    lead = agents.get(member.spec.turn_of or "")
    passing = lead.iteration if lead is not None else None
    if lead is None or not isinstance(passing, Passing) or passing.awaits != "member" or passing.since < 0:
        return
    run, state = member.run, member.state
    if run is None or run.incarnation <= passing.since or _awaited(lead, passing) != member.name:
        return
    placed = workplaces.follow(lead, event) if isinstance(event, Hook) else lead
    heard, what = passing.heard, "its end"
    if isinstance(event, Hook) and not event.sub and not 0 < event.seq <= run.hook_seq:
        heard, what = signals.hear(heard, event), event.kind
    elif (
        isinstance(event, AgentExited) and isinstance(state, Running | Stopping) and state.activity.waiting is not None
    ):
        heard = replace(heard, excuse=heard.excuse or f"it waited for a person ({state.activity.waiting.kind})")
    if heard != passing.heard:
        told = replace(placed, iteration=replace(passing, heard=heard))
        yield Decision(told, reason=f"noted of the turn of {member.name}: {what}")
    elif placed is not lead:
        yield Decision(placed)


def _advance(lead: Agent, passing: Passing, agents: Mapping[str, Agent], now: Moment) -> Decision | None:
    member = _member(lead, passing)
    if member is None:
        return _close(lead, passing, now)
    match passing.awaits:
        case "nothing":
            return _begin_turn(lead, passing, member, agents, now)
        case "file":
            return None
        case "condition" | "member":
            awaited = agents.get(_awaited(lead, passing))
            if awaited is not None and _is_at_it(awaited, lead):
                return None
            return _after(lead, passing, member, awaited)
        case _:
            assert_never(passing.awaits)


def _begin_turn(lead: Agent, passing: Passing, member: Member, agents: Mapping[str, Agent], now: Moment) -> Decision:
    if member.agent not in agents:
        return _moved(lead, _to_next(passing), f"no turn for {member.agent}: there is no such agent")
    if why := _why_no_turn(agents[member.agent]):
        return _moved(lead, _to_next(passing), f"no turn for {member.agent}: {why}")
    if member.when_exists is not None:
        looking = replace(passing, awaits="file", due=answer_by(lead, now), asked=1)
        reason = f"the turn of {member.agent} depends on {member.when_exists}"
        return Decision(replace(lead, iteration=looking), (_look(lead, passing, member),), reason)
    if member.when_agent is not None and member.when_agent not in agents:
        return _moved(
            lead, _to_next(passing), f"no turn for {member.agent}: nobody can tell, {member.when_agent} is gone"
        )
    if member.when_agent is not None:
        asking = replace(passing, awaits="condition")
        return _moved(lead, asking, f"the turn of {member.agent} depends on how {member.when_agent} ends")
    return _moved(lead, _to_member(passing), f"the turn of {member.agent} comes")


def _after(lead: Agent, passing: Passing, member: Member, awaited: Agent | None) -> Decision:
    end = awaited.last_exit if awaited is not None and passing.since >= 0 else None
    if end is not None and end.incarnation <= passing.since:
        end = None
    how = end.text if end is not None else "it did not run"
    if passing.awaits == "condition":
        if end is not None and end.code == 0:
            return _moved(lead, _to_member(passing), f"the turn of {member.agent} comes: {member.when_agent} says so")
        if awaited is not None and end is not None and ended_well(awaited.spec, end):
            return _moved(lead, _to_next(passing), f"no turn for {member.agent}: {member.when_agent} says no")
        why = f"nobody can tell, {member.when_agent} gave no answer: {how}"
        return _moved(lead, _to_next(passing), f"no turn for {member.agent}: {why}")
    following = _to_next(passing)
    if awaited is not None and end is not None:
        told = signals.at_end(passing.heard, awaited.spec, None, end)
        following = replace(following, signals=signals.joined(passing.signals, told, member.agent))
        if end.code is not None and end.code == awaited.spec.loop.done_code:
            following = replace(following, done=f"{member.agent} ended with exit {end.code}, which says so")
    return _moved(lead, following, f"the turn of {member.agent} is over: {how}")


def _close(lead: Agent, passing: Passing, now: Moment) -> Decision:
    closing = Closing(
        passing.number, passing.before, passing.signals, passing.done, answer_by(lead, now), passing.note,
        survey=passing.survey,
    )  # fmt: skip
    state = lead.state
    if isinstance(state, BackingOff):
        # The pause lies between two iterations, and this one is over only now (G46).
        state = replace(state, until=max(state.until, now.at + lead.spec.loop.pause))
    measured = replace(lead, state=state, iteration=closing, rounds=lead.rounds + 1)
    order = MeasureWork(lead.name, closing.number, True, closing.survey)
    return Decision(measured, (order,), f"iteration {closing.number}: all have had their turns")


def _why_no_turn(member: Agent) -> str:
    """Why a member is not begun; empty where it is."""
    if member.left_out:
        return "it was stopped on purpose"
    waits = any(item.kind == RECOVER for item in member.items)
    return "whether it was stopped is not known until: phoenixctl recover" if waits else ""


def _is_at_it(awaited: Agent, lead: Agent) -> bool:
    is_down = isinstance(awaited.state, Stopped | Quarantined)
    return not is_down and awaited.spec.turn_of == lead.name


def _member(lead: Agent, passing: Passing) -> Member | None:
    turns = lead.spec.loop.sequence
    return turns[passing.turn] if passing.turn < len(turns) and not passing.done else None


def _awaited(lead: Agent, passing: Passing) -> str:
    member = _member(lead, passing)
    if member is None:
        return ""
    return (member.when_agent or "") if passing.awaits == "condition" else member.agent


def _look(lead: Agent, passing: Passing, member: Member) -> LookForFile:
    return LookForFile(lead.name, passing.number, passing.turn, lead.spec.cwd, member.when_exists or "")


def _to_member(passing: Passing) -> Passing:
    return replace(passing, awaits="member", since=-1, due=None)


def _to_next(passing: Passing) -> Passing:
    return replace(passing, turn=passing.turn + 1, awaits="nothing", since=-1, due=None, asked=1, heard=Signals())


def _moved(lead: Agent, passing: Passing, reason: str) -> Decision:
    said = f"iteration {passing.number}: {reason}"
    return Decision(replace(lead, iteration=passing, reason=said), reason=said)
