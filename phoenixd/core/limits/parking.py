"""Limits, overload and outages: how long an agent waits them out, and how it goes on (F-PROC-26, G60).

A signal ends a turn, and the agent is parked: its run lives on and is asked nothing until the time that the signal
named, or a configured wait. Then its screen is looked at where it has one that can be read, and it is told to go on,
unless it went on by itself. Nothing of all this counts against breaker or intensity. A login that is refused and a
bill that is not paid are for people, and waiting cures neither: `session` tells those.
"""

from __future__ import annotations

from phoenixd.core import exits
from phoenixd.core.actions import Alert, Deliver, LookAtScreen
from phoenixd.core.agent.run import LastExit
from phoenixd.core.change import replace
from phoenixd.core.decision import Heard
from phoenixd.core.dialogs import SCREEN_DIALOGS
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.runs import Delivered, NotDelivered
from phoenixd.core.hooks import Hook, PromptSubmitted, ToolEnded, ToolStarted, TurnEnded, TurnFailed
from phoenixd.core.limits import waits
from phoenixd.core.limits.state import Limits, Parking, ParkingKind, over_by
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.parts import CannotGoOn, Taken, View, WaitBegan, WaitOver
from phoenixd.core.spec import AgentSpec

ANSWER_TIME = 60.0
"""Seconds in which it is known whether the agent was told to go on; the messenger gives up long before."""
TURN_TIME = 60.0
"""Seconds after which it is asked again whether the wall clock was set back, where others of its account go first."""
TROUBLE = 5
"""An overload, or a word to go on that does not arrive: the so-manieth in a row is told to people, once. Where a person
is asked something just then, a later one is."""

CONTINUE = {
    ParkingKind.LIMIT: "The rate limit that ended your turn is over. Go on where you stopped.",
    ParkingKind.OVERLOAD: "Your turn was ended by an error of the model's service. Go on where you stopped.",
}


def hear(limits: Limits, event: Hook | ScreenSeen | Delivered | NotDelivered, seen: View, now: Moment) -> Heard[Limits]:
    """Park the run that met a limit or an overload; take one out of it that works; see how one goes on that may."""
    parking = limits.parking
    match event:
        case ScreenSeen(verdict=verdict):
            if parking is None:
                went_well = verdict == "idle" and limits.ended == seen.incarnation and not seen.turn_open
                return Heard(replace(limits, setbacks=0, ended=0) if went_well else limits)
            if seen.state != "running" or not is_looked_at(parking):
                return Heard(limits)
            return _taken(_judge_screen(limits, parking, verdict, seen, now))
        case Delivered() | NotDelivered():
            if parking is None or seen.state != "running" or parking.message_id != event.message_id:
                return Heard(limits)
            if isinstance(event, NotDelivered):
                return _taken(_missed(limits, parking, event.reason, seen, now))
            return _taken(_over(limits, parking, now, "it was told to go on", works=True, settled=True))
        case _ if seen.state not in ("starting", "running") or not seen.is_news or event.sub:
            return Heard(limits)
        case TurnFailed() if (kind := waits.signal(event)) is not None:
            return _park(limits, kind, event.reset_wall, seen, now)
        case TurnEnded() if limits.setbacks and seen.spec.stops_either_way:
            return Heard(replace(limits, ended=seen.incarnation))
        case TurnEnded() | ToolEnded() if limits.setbacks:
            return Heard(replace(limits, setbacks=0, ended=0))
        case TurnFailed() | PromptSubmitted() if limits.ended and parking is None:
            return Heard(replace(limits, ended=0))
        case PromptSubmitted() | ToolStarted() if parking is not None:
            told = parking.asked is not None
            how = "it was told to go on, and does" if told else "it works by itself"
            return _over(limits, parking, now, how, told=parking.message_id is not None, settled=True)
        case _:
            return Heard(limits)


def due(limits: Limits) -> Instant | None:
    """When it is asked again what came of telling the run to go on; until when others wait, the wall clock tells."""
    parking = limits.parking
    return None if parking is None or parking.asked is None else parking.asked + ANSWER_TIME


def over_at(parking: Parking | None) -> Instant | None:
    """When its time is over whatever the wall clock says; None where nothing is waited for, or it was told to go on."""
    return parking.over_by if parking is not None and parking.asked is None else None


def waited_out(limits: Limits, now: Moment) -> Heard[Limits]:
    """Supervised time says that the wait is over: a wall clock that was set back puts its end off no more."""
    parking = limits.parking
    assert parking is not None
    again = now.at + TURN_TIME
    if parking.until_wall <= now.wall:
        return Heard(replace(limits, parking=replace(parking, over_by=again)))
    over = replace(parking, until_wall=now.wall, over_by=again)
    reason = "the wall clock was set back, and by supervised time its wait is over"
    return Heard(replace(limits, parking=over), reason=reason)


def is_looked_at(parking: Parking) -> bool:
    """Whether a look at the run's screen is under way that decides how it goes on."""
    return parking.asked is not None and parking.message_id is None


def join(limits: Limits, until_wall: float, over: Instant | None, why: str, now: Moment) -> Heard[Limits]:
    """Park an agent that met no limit itself: it shares the account of one that did, and waits as long as that one."""
    before = limits.parking
    joined = before or Parking(ParkingKind.LIMIT, until_wall, now.at, why)
    over = over_by(until_wall, now) if over is None else over
    parking = replace(joined, kind=ParkingKind.LIMIT, until_wall=until_wall, why=why, over_by=over)
    note = f"parked, {ParkingKind.LIMIT.value}: {why}"
    return Heard(replace(limits, parking=parking), (WaitBegan(note),), reason=note)


def after_exit(
    limits: Limits, turn_open: bool, end: LastExit, spec: AgentSpec, now: Moment, failed: TurnFailed | None = None
) -> Limits:
    """The limits after a run's end: what is waited out, by its parking or its exit code, and the setbacks in a row.

    A code of the operator's own choice says nothing of a turn; one that a CLI has for a refused turn says that it has
    one to go on with, also where its hook of a turn's end came before. failed: what is told with the end.
    """
    if limits.parking is not None:
        return limits
    if failed is not None and (met := waits.signal(failed)) is not None:
        pause = waits.wait(spec.limits, met, failed.reset_wall, limits.setbacks, now)
        until = pause.until_wall
        met_it = Parking(met, until, now.at, pause.why, owes=True, over_by=over_by(until, now))
        return Limits(met_it, limits.setbacks + 1)
    if end.cause != "exit" or end.code is None:
        return limits
    told = waits.KINDS.get(exits.failure_of(spec.harness, end))
    kind = ParkingKind.LIMIT if end.code in spec.limits.exit_codes else told
    if kind is None:
        return limits
    wait = waits.wait(spec.limits, kind, None, limits.setbacks, now)
    what = "a limit" if kind is ParkingKind.LIMIT else "a service that failed"
    why = f"{exits.in_words(spec.harness, end)} tells of {what}; {wait.why}"
    owes = turn_open or told is not None
    told_it = Parking(kind, wait.until_wall, now.at, why, owes=owes, over_by=over_by(wait.until_wall, now))
    return Limits(told_it, limits.setbacks + 1)


def trouble(before: Limits, after: Limits, name: str) -> tuple[Alert, ...]:
    """What people are told of a service that fails again and again: once, when TROUBLE turns in a row have failed."""
    parking = after.parking
    if parking is None or parking.kind is not ParkingKind.OVERLOAD:
        return ()
    if after.setbacks != TROUBLE or before.setbacks == TROUBLE:
        return ()
    often = f"the model's service failed {TROUBLE} turns in a row; it is asked again, less and less often"
    return (Alert(name, "outage", often),)


def go_on(limits: Limits, seen: View, now: Moment, why: str) -> Heard[Limits]:
    """The time has come, or an operator does not want to wait for it: free the run, and tell it to go on if it must."""
    parking = limits.parking
    assert parking is not None
    if parking.asked is not None:
        return _missed(limits, parking, "nothing came of telling it", seen, now)
    if not parking.owes or not seen.spec.is_reprompted:
        goes = "it was idle" if not parking.owes else "it goes on by itself"
        return _over(limits, parking, now, f"{why}; {goes}")
    if seen.asks:
        return _missed(limits, parking, f"it waits for a person: {seen.asks}", seen, now)
    if seen.spec.has_hooks:
        asked = replace(limits, parking=replace(parking, asked=now.at))
        look = LookAtScreen(seen.spec.name, seen.incarnation)
        return Heard(asked, (), (look,), f"{why}: looking at the screen before it is told to go on")
    return _tell(limits, parking, why, seen, now)


def _park(limits: Limits, kind: ParkingKind, reset_wall: float | None, seen: View, now: Moment) -> Heard[Limits]:
    wait = waits.wait(seen.spec.limits, kind, reset_wall, limits.setbacks, now)
    before = limits.parking
    until = wait.until_wall if before is None else max(before.until_wall, wait.until_wall)
    since = now.at if before is None else before.since
    # An older journal says of the wait before by the wall clock alone when it is over.
    known = before.over_by if before is not None else None
    over = over_by(until, now) if known is None else max(over_by(wait.until_wall, now), known)
    held = Parking(kind, until, since, wait.why, owes=True, over_by=over)
    parked = Limits(held, limits.setbacks + 1)
    readings = (*wait.readings, ("until", round(until, 1)), ("account", waits.account_of(seen.spec)))
    note = f"parked, {kind.value}: {wait.why}"
    return Heard(parked, (WaitBegan(note),), trouble(limits, parked, seen.spec.name), note, readings)


def _judge_screen(limits: Limits, parking: Parking, verdict: str, seen: View, now: Moment) -> Heard[Limits]:
    """Tell it to go on, unless it is at work already, or something else has the keyboard."""
    if verdict == "working":
        return _over(limits, parking, now, "its screen shows that it went on by itself", works=True)
    if verdict in SCREEN_DIALOGS:
        return _missed(limits, parking, f"its screen asks something: {verdict}", seen, now)
    return _tell(limits, parking, f"its screen says {verdict}", seen, now)


def _taken(heard: Heard[Limits]) -> Heard[Limits]:
    return replace(heard, signals=(Taken(), *heard.signals))


def _over(
    limits: Limits, parking: Parking, now: Moment, how: str, *, works: bool = False, told: bool = False,
    settled: bool = False,
) -> Heard[Limits]:  # fmt: skip
    note = f"no longer parked: {how}"
    over = WaitOver(note, max(0.0, now.at - parking.since), works, told, settled)
    return Heard(replace(limits, parking=None), (over,), reason=note)


def _tell(limits: Limits, parking: Parking, why: str, seen: View, now: Moment) -> Heard[Limits]:
    message_id = now.new_id(seen.spec.name, seen.incarnation, "go on", parking.misses)
    told = replace(limits, parking=replace(parking, asked=now.at, message_id=message_id))
    text = seen.spec.resume.prompt or CONTINUE[parking.kind]
    order = Deliver(seen.spec.name, seen.incarnation, message_id, text)
    return Heard(told, (), (order,), f"{why}: telling it to go on")


def _missed(limits: Limits, parking: Parking, problem: str, seen: View, now: Moment) -> Heard[Limits]:
    """It could not be told: later again, and after some times a person has to look."""
    rules, misses = seen.spec.limits, parking.misses + 1
    pause = min(max(rules.overload_wait, rules.wait_max), rules.overload_wait * 2.0 ** min(misses - 1, 30))
    until = now.wall + pause
    again = replace(
        parking, asked=None, message_id=None, misses=misses, until_wall=until, over_by=over_by(until, now)
    )  # fmt: skip
    reason = f"it could not be told to go on ({problem}); again in {in_words(pause)}"
    if misses < TROUBLE or parking.told or seen.asks:
        return Heard(replace(limits, parking=again), reason=reason)
    again = replace(again, told=True)
    text = f"a limit is over, and it could not be told to go on: {problem}"
    alert = Alert(seen.spec.name, "cannot go on", text)
    return Heard(replace(limits, parking=again), (CannotGoOn(text),), (alert,), reason)
