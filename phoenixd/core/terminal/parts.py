"""The terminal server has ended: the agents in it come back at once, and people are told once (F-TMUX-2).

Every shim of a pane ends its run, and says that its terminal was lost. Such an end says nothing about the agent. One
that had just begun waits all the same, because what ended it may be there still; not where the server itself is known
to have ended. Starts wait until the server is seen again. `ServerEnd` holds who is waited for, and the alert stands
until all of them are back.
"""

from __future__ import annotations

from phoenixd.core.actions import Alert, ObserveTerminal
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import Afterwards, BackingOff, Desired, Running, Starting, Stopping
from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import EpochBegun, TerminalEnded, TerminalSeen, Tick
from phoenixd.core.fleet import Fleet, Step, clear, put, warn
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.terminal.state import LATEST, ServerEnd
from phoenixd.core.transitions import enter

KIND = "terminal"
FIRST_LOOK_AGAIN = 0.25
"""Seconds until a server that another program starts, such as systemd, is looked for again; then twice as long."""


def hear_end(before: Fleet, found: Step, event: TerminalEnded, now: Moment) -> Step:
    """Note who falls with the server; look for it, which starts it again, and let all starts wait for that."""
    fleet = found.fleet
    known = fleet.server_end or ServerEnd(())
    falling = {agent.name: agent.incarnation for agent in fleet.agents.values() if _falls(agent)}
    kept = {name: incarnation for name, incarnation in known.fallen.items() if name in known.awaited}
    end = replace(known.again(now.at), fallen={**kept, **falling}, awaited=known.awaited | falling.keys())
    held = replace(fleet, server_end=end, hold_until=now.at + fleet.limits.observe_retry)
    look, reason = ObserveTerminal(now.at), _told(end)
    if not end.awaited:
        quiet = Decision(None, (look,), reason, weight="detail")
        return replace(found, fleet=held, decisions=(*found.decisions, quiet))
    return warn(replace(found, fleet=held), Decision(None, (look, Alert(None, KIND, reason)), reason), now)


def follow(before: Fleet, found: Step, event: Event, now: Moment) -> Step:
    """Hurry those that fell with the server, note who is back, and tell when all are."""
    found = _fallen_after_all(found, getattr(event, "agent", None))
    end = found.fleet.server_end
    if end is None:
        return found
    if not end.awaited:
        calm = _calm_at(found.fleet)
        return over(found, "the tmux server ends no more", now) if calm is not None and calm <= now.at else found
    name = getattr(event, "agent", None)
    # In the order of the fleet: that of a set is another one in each process.
    awaited = tuple(one for one in end.fallen if one in end.awaited)
    names = awaited if isinstance(event, Tick | TerminalSeen | TerminalEnded) else (name,)
    for one in names:
        agent = found.fleet.agents.get(one) if one in end.awaited else None
        if agent is not None and _is_put_off(agent, end, now):
            found = put(found, _hurried(agent, now), now)
        elif agent is not None and _is_hasty(agent, end):
            found = put(found, _held_back(agent, end, now), now)
    settled = frozenset(one for one in names if one in end.awaited and _is_settled(found.fleet, end, one, now))
    if not settled:
        return found
    end = replace(end, awaited=end.awaited - settled)
    found = replace(found, fleet=replace(found.fleet, server_end=end))
    if end.awaited or found.fleet.hold_until is not None:
        return found
    return over(found, "", now)


def _fallen_after_all(found: Step, name: str | None) -> Step:
    """Wait again for one whose start was told after the end, so that it seemed to be back, where it falls as well."""
    end, agent = found.fleet.server_end, found.fleet.agents.get(name) if name is not None else None
    if end is None or agent is None or agent.name in end.awaited or agent.name not in end.fallen:
        return found
    fell = isinstance(agent.state, BackingOff) and agent.state.hung_up and agent.incarnation == end.fallen[agent.name]
    if not fell:
        return found
    again = replace(end, awaited=end.awaited | {agent.name})
    return replace(found, fleet=replace(found.fleet, server_end=again))


def over(found: Step, why: str, now: Moment) -> Step:
    """Tell that the terminal is there again and with it all that had fallen; why: where no server has ended.

    Of a server that ends over and over, or again and again, this is told once it has lived for a while: else people
    would be told twice of each end.
    """
    fleet = found.fleet
    end = fleet.server_end
    if end is not None and now.at < end.told_until and standing_alert(fleet) is not None:
        if not why:
            return found
        return replace(found, decisions=(*found.decisions, Decision(None, reason=why, weight="detail")))
    if end is not None and end.fallen:
        why = _back(fleet, end)
        found = replace(found, fleet=replace(fleet, server_end=replace(end, fallen={}, awaited=frozenset())))
    standing = standing_alert(fleet)
    if standing is not None:
        return clear(found, standing, why)
    return replace(found, decisions=(*found.decisions, Decision(None, reason=why)))


def begin_anew(before: Fleet, found: Step, event: EpochBegun, now: Moment) -> Step:
    """A daemon begins whose predecessor had told of the server, and was killed before it could tell what came of it."""
    if standing_alert(found.fleet) is None:
        return found
    reason = "looking whether the terminal server answers: the daemon before told of its trouble"
    look = Decision(None, (ObserveTerminal(now.at),), reason, weight="detail")
    held = replace(found.fleet, hold_until=now.at + found.fleet.limits.observe_retry)
    return replace(found, fleet=held, decisions=(*found.decisions, look))


def standing_alert(fleet: Fleet) -> StandingAlert | None:
    return next((one for one in fleet.alerts if one.kind == KIND), None)


def is_awaited(fleet: Fleet, agent: str) -> bool:
    """Whether it is known why the agent falls."""
    return fleet.server_end is not None and agent in fleet.server_end.awaited


def look_again(fleet: Fleet, now: Moment) -> float:
    """Seconds until a server that does not answer is looked for again."""
    most, end = fleet.limits.observe_retry, fleet.server_end
    return most if end is None else min(most, max(FIRST_LOOK_AGAIN, now.at - end.at))


def no_word(fleet: Fleet) -> str:
    """Why it is looked for again."""
    if fleet.server_end is not None and fleet.server_end.awaited:
        return "the tmux server has ended, and is not back yet: looking again"
    return "still no word of the terminal: looking again"


def next_due(fleet: Fleet) -> Instant | None:
    """When it is asked once more who was in the server at all, or a storm of ends is over."""
    end = fleet.server_end
    if end is None:
        return None
    if not end.awaited:
        return _calm_at(fleet)
    return end.at + LATEST if not _is_late(end, fleet) else None


def _calm_at(fleet: Fleet) -> Instant | None:
    """When it is told that a server that ended over and over ends no more; None where another look decides on that."""
    end = fleet.server_end
    is_told = end is not None and (end.is_storm or end.is_often) and standing_alert(fleet) is not None
    return end.told_until if end is not None and is_told and fleet.hold_until is None else None


def _is_late(end: ServerEnd, fleet: Fleet) -> bool:
    """Whether all who are still awaited have fallen."""
    return all(
        (agent := fleet.agents.get(name)) is None or agent.incarnation > end.fallen[name] or agent.run is None
        for name in end.awaited
    )


def _falls(agent: Agent) -> bool:
    match agent.state:
        case Starting() | Running():
            return True
        case Stopping(then=then):
            return agent.desired is Desired.RUNNING and then in (Afterwards.JUDGE, Afterwards.RESTART)
        case BackingOff(hung_up=hung_up):
            return hung_up
        case _:
            return False


def _is_put_off(agent: Agent, end: ServerEnd, now: Moment) -> bool:
    """Whether it waits only because its terminal had gone, with the server."""
    state = agent.state
    fell = agent.incarnation == end.fallen[agent.name]
    return isinstance(state, BackingOff) and state.hung_up and state.until > now.at and fell and not end.is_storm


def _hurried(agent: Agent, now: Moment) -> Decision:
    assert isinstance(agent.state, BackingOff)
    due = replace(agent.state, until=now.at)
    return enter(agent, due, f"the tmux server has ended, not the agent's doing; {due.mode.value}, at once", now)


def _is_hasty(agent: Agent, end: ServerEnd) -> bool:
    """Whether it is to start at once into a server that ends over and over."""
    state = agent.state
    fell = agent.incarnation == end.fallen[agent.name]
    is_early = isinstance(state, BackingOff) and state.hung_up and state.until < end.at + end.pause
    return end.is_storm and fell and is_early


def _held_back(agent: Agent, end: ServerEnd, now: Moment) -> Decision:
    assert isinstance(agent.state, BackingOff)
    due = replace(agent.state, until=end.at + end.pause)
    why = "the tmux server ends over and over, not the agent's doing"
    return enter(agent, due, f"{why}; {due.mode.value}, after a pause", now)


def _is_settled(fleet: Fleet, end: ServerEnd, name: str, now: Moment) -> bool:
    agent = fleet.agents.get(name)
    if agent is None:
        return True
    fell = end.fallen[name]
    match agent.state:
        case Running():
            return _is_back(agent, end) or now.at >= end.at + LATEST
        case Starting() | Stopping():
            return agent.incarnation == fell and now.at >= end.at + LATEST
        case BackingOff(hung_up=hung_up):
            return not hung_up and agent.incarnation > fell
        case _:
            return True


def _told(end: ServerEnd) -> str:
    count = len(end.awaited)
    if count == 0:
        return "the tmux server has ended, and no agent ran in it: it is started again"
    whose, follows = (
        ("the run of 1 agent", "it is started again")
        if count == 1
        else (f"the runs of {count} agents", "all of them are started again")
    )
    if not end.is_storm:
        many = f" {len(end.earlier) + 1} times within {in_words(end.at - end.earlier[0])}" if end.is_often else ""
        told = f"the tmux server has ended{many}, and with it {whose}: {follows}"
        return f"{told}; what ends it goes on; when it did: phoenixctl since 1h" if many else told
    return (
        f"the tmux server ends over and over, {len(end.ends)} times by now, and with it {whose}: {follows} "
        f"after {in_words(end.pause)}; with each further end, after twice as long"
    )


def _back(fleet: Fleet, end: ServerEnd) -> str:
    known = (fleet.agents.get(name) for name in end.fallen)
    modes = [one.run.mode for one in known if one is not None and one.run is not None and _is_back(one, end)]
    resumed, afresh = modes.count(Mode.RESUME), modes.count(Mode.FRESH)
    told = ["1 agent was resumed" if resumed == 1 else f"{resumed} agents were resumed"] if resumed else []
    if afresh:
        told.append(f"{afresh} began afresh")
    return f"the tmux server had ended; {', '.join(told) or 'it is there again'}"


def _is_back(agent: Agent, end: ServerEnd) -> bool:
    """Whether its run began after that end. One whose start was under way then need not have fallen."""
    run = agent.run
    if run is None:
        return False
    return agent.incarnation > end.fallen[agent.name] or (run.exec_at is not None and run.exec_at >= end.at)
