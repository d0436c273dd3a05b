"""Limits, overload and outages: how long an agent waits them out, and how it goes on (F-PROC-26, G60).

A signal ends a turn, and the agent is parked: its run lives on and is asked nothing until the time that the signal
named, or a configured wait. Then its screen is looked at where it has one that can be read, and it is told to go on,
unless it went on by itself. Nothing of all this counts against breaker or intensity. A login that is refused and a
bill that is not paid are for people, and waiting mends neither: `session` tells those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from phoenixd.core.actions import Alert, Deliver, LookAtScreen
from phoenixd.core.agent import Activity, Agent, LastExit, Parking, ParkingKind, Running
from phoenixd.core.decision import Decision, Readings
from phoenixd.core.hooks import Hook, PromptSubmitted, ToolEnded, ToolStarted, TurnEnded, TurnFailed
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.spec import AgentSpec, LimitRules
from phoenixd.core.transitions import close_items, enter, keep, open_item

PAST_GRACE = 300.0
"""Seconds by which a reset time may lie in the past: the turn ended as it came."""
ANSWER_TIME = 60.0
"""Seconds in which it is known whether the agent was told to go on; the messenger gives up long before."""
TROUBLE = 5
"""An overload, or a word to go on that does not arrive: the so-manieth in a row is told to people, once."""

CONTINUE = {
    ParkingKind.LIMIT: "The rate limit that ended your turn is over. Go on where you stopped.",
    ParkingKind.OVERLOAD: "Your turn was ended by an error of the model's service. Go on where you stopped.",
}


def account_of(spec: AgentSpec) -> str:
    """Who shares this agent's limits: an account's name, or the agent alone."""
    return spec.account or f"agent {spec.name}"


@dataclass(frozen=True, slots=True)
class Wait:
    """Until when, why so, and what that rests on."""

    until_wall: float
    why: str
    readings: Readings


def signal(event: Hook) -> ParkingKind | None:
    """What of this kind a hook tells of."""
    if not isinstance(event, TurnFailed) or event.sub:
        return None
    match event.failure:
        case "limit":
            return ParkingKind.LIMIT
        case "overload":
            return ParkingKind.OVERLOAD if event.reset_wall is None else ParkingKind.LIMIT
        case _:
            return None


def wait(rules: LimitRules, kind: ParkingKind, reset_wall: float | None, setbacks: int, now: Moment) -> Wait:
    """How long to wait: until the time that was named, or by configuration where that is missing or absurd.

    setbacks: how many came before it in a row.
    """
    first = rules.wait if kind is ParkingKind.LIMIT else rules.overload_wait
    pause = min(max(first, rules.wait_max), first * 2.0 ** min(setbacks, 30))
    # Full jitter would come too early for a limit: half of it is enough to part agents that met it together.
    fallback = now.wall + pause * (1 + now.chance / 2)
    readings: Readings = (("reset", reset_wall), ("in a row", setbacks + 1), ("account wait", round(pause, 1)))
    if reset_wall is None:
        what = "no reset time was named" if kind is ParkingKind.LIMIT else "an overload or outage"
        return Wait(fallback, f"{what}, so it waits {pause:.0f} s", readings)
    ahead = reset_wall - now.wall
    if not -PAST_GRACE <= ahead <= rules.longest:
        side = "ahead" if ahead > 0 else "ago"
        why = f"the reset time that was named is absurd ({abs(ahead):.0f} s {side}), so it waits {pause:.0f} s"
        return Wait(fallback, why, readings)
    return Wait(max(reset_wall, now.wall) + rules.margin, "until the reset time that was named", readings)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a hook means for an agent's parking. `changed`: it was parked, or is no longer."""

    activity: Activity
    setbacks: int
    changed: bool = False
    note: str = ""
    readings: Readings = ()
    trouble: str | None = None


def hear(agent: Agent, activity: Activity, event: Hook, now: Moment) -> Heard:
    """Park the run that met a limit or an overload; take one out of it that works."""
    kind = signal(event)
    if kind is not None and isinstance(event, TurnFailed):
        return _parked(agent, activity, kind, event.reset_wall, now)
    if event.sub:
        return Heard(activity, agent.setbacks)
    setbacks = 0 if isinstance(event, TurnEnded | ToolEnded) else agent.setbacks
    if isinstance(event, PromptSubmitted | ToolStarted) and activity.parking is not None:
        told = activity.parking.asked is not None
        note = "no longer parked: it was told to go on, and does" if told else "no longer parked: it works by itself"
        return Heard(freed(activity, now), setbacks, changed=True, note=note)
    return Heard(activity, setbacks)


def _parked(agent: Agent, activity: Activity, kind: ParkingKind, reset_wall: float | None, now: Moment) -> Heard:
    waits = wait(agent.spec.limits, kind, reset_wall, agent.setbacks, now)
    before = activity.parking
    until = waits.until_wall if before is None else max(before.until_wall, waits.until_wall)
    since = now.at if before is None else before.since
    parking = Parking(kind, until, since, waits.why, owes=True)
    readings = (*waits.readings, ("until", round(until, 1)), ("account", account_of(agent.spec)))
    setbacks = agent.setbacks + 1
    note = f"parked, {kind.value}: {waits.why}"
    trouble = None
    if kind is ParkingKind.OVERLOAD and setbacks == TROUBLE:
        trouble = f"the model's service failed {setbacks} turns in a row; it is asked again, less and less often"
    return Heard(replace(activity, parking=parking), setbacks, True, note, readings, trouble)


def after_exit(agent: Agent, activity: Activity, end: LastExit, now: Moment) -> tuple[Parking | None, int]:
    """What a run's end leaves to be waited out, and the setbacks in a row: its parking, or its exit code's word."""
    if activity.parking is not None:
        return activity.parking, agent.setbacks
    if end.cause != "exit" or end.code is None or end.code not in agent.spec.limits.exit_codes:
        return None, agent.setbacks
    waits = wait(agent.spec.limits, ParkingKind.LIMIT, None, agent.setbacks, now)
    why = f"exit {end.code} tells of a limit; {waits.why}"
    return Parking(ParkingKind.LIMIT, waits.until_wall, now.at, why, owes=activity.turn_open), agent.setbacks + 1


def due(agent: Agent, now: Moment) -> Instant | None:
    """When a parked run is to be told to go on, or to be asked again."""
    parking = agent.parking
    if parking is None:
        return None
    if parking.asked is not None:
        return parking.asked + ANSWER_TIME
    return now.at + max(0.0, parking.until_wall - now.wall)


def join(agent: Agent, state: Running, kind: ParkingKind, until_wall: float, why: str, now: Moment) -> Decision:
    """Park an agent that met no limit itself: it shares the account of one that did."""
    before = state.activity.parking
    parking = replace(before, kind=kind, until_wall=until_wall) if before else Parking(kind, until_wall, now.at, why)
    parked = replace(state, activity=replace(state.activity, parking=parking))
    return enter(agent, parked, f"parked, {kind.value}: {why}", now)


def go_on(agent: Agent, state: Running, now: Moment, why: str) -> Decision:
    """The time has come, or an operator does not want to wait for it: free the run, and tell it to go on if it must."""
    parking = state.activity.parking
    assert parking is not None
    if parking.asked is not None:
        return _missed(agent, state, parking, "nothing came of telling it", now)
    if not parking.owes or not agent.spec.is_reprompted:
        goes = "it was idle" if not parking.owes else "it goes on by itself"
        return enter(agent, _free(state, now), f"no longer parked: {why}; {goes}", now)
    if state.activity.waiting is not None:
        return _missed(agent, state, parking, f"it waits for a person: {state.activity.waiting.kind}", now)
    if agent.spec.has_hooks:
        asked = replace(state, activity=replace(state.activity, parking=replace(parking, asked=now.at)))
        look = LookAtScreen(agent.name, state.run.incarnation)
        return Decision(
            replace(agent, state=asked), (look,), f"{why}: looking at the screen before it is told to go on"
        )
    return _tell(agent, state, parking, why, now)


def is_looked_at(state: Running) -> bool:
    """Whether a look at this run's screen is under way that decides how it goes on."""
    parking = state.activity.parking
    return parking is not None and parking.asked is not None and parking.message_id is None


def judge_screen(agent: Agent, state: Running, verdict: str, is_dialog: bool, now: Moment) -> Decision:
    """Tell it to go on, unless it is at work already, or something else has the keyboard."""
    parking = state.activity.parking
    assert parking is not None
    if verdict == "working":
        freed_state = _free(state, now)
        working = replace(freed_state, activity=replace(freed_state.activity, turn_open=True, evidence_at=now.at))
        return enter(agent, working, "no longer parked: its screen shows that it went on by itself", now)
    if is_dialog:
        return _missed(agent, state, parking, f"its screen asks something: {verdict}", now)
    return _tell(agent, state, parking, f"its screen says {verdict}", now)


def hear_outcome(agent: Agent, message_id: str, problem: str | None, now: Moment) -> Decision | None:
    """What became of telling it to go on; None where another text is meant. problem: why it was not delivered."""
    state = agent.state
    if not isinstance(state, Running) or state.activity.parking is None:
        return None
    parking = state.activity.parking
    if parking.message_id != message_id:
        return None
    if problem is not None:
        return _missed(agent, state, parking, problem, now)
    free = _free(state, now)
    told = replace(free, activity=replace(free.activity, turn_open=True, evidence_at=now.at))
    return enter(closed(agent), told, "no longer parked: it was told to go on", now)


def freed(activity: Activity, now: Moment) -> Activity:
    """The activity of a run that is no longer parked; the time was nobody's silence."""
    parking = activity.parking
    if parking is None:
        return activity
    lost = max(0.0, now.at - parking.since)
    return replace(
        activity, parking=None, waited=activity.waited + lost, evidence_at=now.at, stale_claim=None, claim_due=None
    )


def closed(agent: Agent) -> Agent:
    """The agent without the item that said that it could not be told to go on."""
    return close_items(agent, "cannot go on")


def _free(state: Running, now: Moment) -> Running:
    return replace(state, activity=freed(state.activity, now))


def _tell(agent: Agent, state: Running, parking: Parking, why: str, now: Moment) -> Decision:
    message_id = now.new_id(agent.name, state.run.incarnation, "go on", parking.misses)
    told = replace(parking, asked=now.at, message_id=message_id)
    text = agent.spec.resume.prompt or CONTINUE[parking.kind]
    parked = replace(state, activity=replace(state.activity, parking=told))
    order = Deliver(agent.name, state.run.incarnation, message_id, text)
    return Decision(replace(agent, state=parked), (order,), f"{why}: telling it to go on")


def _missed(agent: Agent, state: Running, parking: Parking, problem: str, now: Moment) -> Decision:
    """It could not be told: later again, and after some times a person has to look."""
    rules, misses = agent.spec.limits, parking.misses + 1
    pause = min(max(rules.overload_wait, rules.wait_max), rules.overload_wait * 2.0 ** min(misses - 1, 30))
    again = replace(parking, asked=None, message_id=None, misses=misses, until_wall=now.wall + pause)
    reason = f"it could not be told to go on ({problem}); again in {pause:.0f} s"
    decision = keep(replace(agent, state=replace(state, activity=replace(state.activity, parking=again))), reason)
    if misses != TROUBLE or state.activity.waiting is not None:
        return decision
    text = f"a limit is over, and it could not be told to go on: {problem}"
    assert decision.agent is not None
    told = open_item(decision.agent, "cannot go on", text, "attach", now)
    return replace(decision, agent=told, actions=(Alert(agent.name, "cannot go on", text),))
