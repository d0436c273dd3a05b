"""When something of a run is due: its end as hung or overtime, a look at its screen, or a look at its open call.

All of it follows from the run's activity and the frozen view of the rest. `overdue`, `look_due` and `call_due` are
asked for the deadline, and again when it has come (design section 8; G4, G50, X7, X7b).

The dialogs of a start fire no hook. Until its first prompt is taken a run is looked at ever less often, 2, 4, 8 ...
seconds after its start; after that some seconds after each word of its hooks, and then every five minutes. An idle
fleet costs no more than that. A dialog is looked at when it is drawn, and when keys were read or an answer was given:
no hook tells of a Yes before its call has ended, and none of a turn that a No has broken off. While the link to its
shim is lost no hook tells of anything, and its screen is all there is: it is looked at 2, 4, 8 ... seconds after the
loss, and then every minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phoenixd.core.agent.activity import Activity, Lease, Waiting
from phoenixd.core.decision import Readings
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.parts import View
from phoenixd.core.question.call import DIALOGS
from phoenixd.core.restart import HUNG, OVERTIME
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.typing.answering import APPEARS_WITHIN

FIRST, EVERY, EVERY_DEAF = 2.0, 300.0, 60.0
"""Seconds from a start, or from what was heard last, to the first look; and between two looks at most, and while the
link to its shim is lost."""
FIRST_LOOK, LOOKS_APART, LAST_LOOK = 2.0, 0.25, 300.0
"""A dialog is looked at after FIRST_LOOK seconds, and what is looked at again at ages that grow by the share
LOOKS_APART, but by no more than LAST_LOOK seconds."""
AT_FIRST, SOON, SOON_FOR = 0.1, 0.25, 2.0
"""A dialog that nobody has seen yet is looked at after AT_FIRST seconds; then, like one that was touched, after SOON,
and at ages that double, up to SOON_FOR."""
AFTER_AN_ANSWER = 0.0, 0.5, 1.5, 3.5
"""Seconds from the first look after an answer, before which an idle screen proves nothing, at which more follow."""
DOUBT_LOOKS, DOUBT_LOOKS_LATER = 0.15, 2.0
"""Seconds between two looks for the dialog of a question that was closed in doubt, as long as one may be drawn; and
at least, where no look has told by then whether it is over: ever less often from then on."""
LOOK_TIME = 10.0
"""Seconds that a look, at the screen or at an open call, may take before a silent run is judged without it."""


@dataclass(frozen=True, slots=True)
class Overdue:
    """A run has to be ended: at what instant it became due, the code to record, and why."""

    at: Instant
    code: int
    reason: str

    @property
    def kind(self) -> Literal["hung", "overtime"]:
        return "hung" if self.code == HUNG else "overtime"


def overdue(activity: Activity, seen: View) -> Overdue | None:
    """The instant at which this run is hung or overtime, if nothing more is heard of it."""
    hung, overtime = _hung(activity, seen), _overtime(activity, seen)
    if hung and overtime:
        return min(hung, overtime, key=lambda one: one.at)
    return hung or overtime


def _hung(activity: Activity, seen: View) -> Overdue | None:
    rules = seen.spec.liveness
    # Where what it says does not arrive, that it says nothing proves nothing.
    if not rules.enabled or not activity.turn_open or seen.asks or seen.is_parked or seen.deaf_since is not None:
        return None
    if not _is_judged(seen):
        return None
    silent = _silent_until(activity, rules.stale)
    at = _after_a_look(activity, max(silent, _newest_end(activity, silent)))
    if activity.looked_at is not None and activity.looked_at >= at:
        at = activity.looked_at + LOOK_TIME
    why = f"hung: a turn is open, and nothing was heard for {in_words(rules.stale)}"
    if activity.stale_claim is not None and activity.claimed:
        # So long may be longer than the run has lived.
        why = f"{why} ({activity.claimed})"
    return Overdue(at, HUNG, why)


def _overtime(activity: Activity, seen: View) -> Overdue | None:
    limit = seen.spec.loop.max_runtime if seen.spec.kind is Kind.LOOP else 0.0
    if limit <= 0 or seen.asks or seen.is_parked:
        return None
    at = seen.began + limit + activity.waited
    return Overdue(at, OVERTIME, f"ran {in_words(limit)}, the most an iteration may take")


def look_due(activity: Activity, seen: View) -> Instant | None:
    """When to look at the screen: no hook tells of a person who breaks a turn off, or says no to a dialog."""
    spec, waiting = seen.spec, activity.waiting
    if not spec.has_hooks:
        return None
    if activity.doubted is not None:
        doubted = activity.doubted
        age = doubted.looked - doubted.touched
        later = min(LAST_LOOK, max(DOUBT_LOOKS_LATER, LOOKS_APART * age))
        return doubted.looked + (DOUBT_LOOKS if age < APPEARS_WITHIN else later)
    asks = seen.asks in DIALOGS
    routine = None if seen.asks or seen.is_parked else _routine(activity, seen)
    if not (asks or (activity.turn_open and not seen.asks)):
        return routine
    first = FIRST_LOOK if asks else spec.liveness.check_interval
    silent_since = activity.evidence_at
    if asks and waiting is not None:
        # What was found on the screen of an idle agent began long after it was heard of last.
        silent_since = max(silent_since, waiting.since)
    looked = activity.looked_at if activity.looked_at is not None else silent_since
    at = looked + min(max(LAST_LOOK, first), max(first, LOOKS_APART * (looked - silent_since)))
    soon = _soon(activity, waiting, silent_since) if asks and waiting and not is_hidden(waiting, seen.spec) else None
    again = min(activity.looks) if activity.looks and not asks else None
    return min(one for one in (at, routine, soon, again) if one is not None)


def looks_after(touched: Instant, now: Moment) -> tuple[Instant, ...]:
    """When to look whether an answer at the terminal broke the turn off, once a hook told that it was given."""
    first = max(touched + SOON_FOR, now.at + SOON)
    return tuple(first + later for later in AFTER_AN_ANSWER)


def _soon(activity: Activity, waiting: Waiting, asked: Instant) -> Instant | None:
    """When to look at a dialog because it was drawn or answered just now; None where it was neither."""
    looked, touched = activity.looked_at, waiting.touched
    if not waiting.seen and (looked is None or looked < asked):
        # Keys do not put it off.
        return asked + AT_FIRST
    if touched is None and waiting.seen:
        return None
    began = asked if touched is None else touched
    if looked is None or looked < began:
        return began + SOON
    return began + max(SOON, 2 * (looked - began)) if looked - began < SOON_FOR else None


def is_hidden(waiting: Waiting, spec: AgentSpec) -> bool:
    """Whether its dialog is drawn on no screen while its request is held."""
    return bool(waiting.hold) and spec.hides_its_dialog


def start_look_due(activity: Activity, seen: View, ready_by: Instant) -> Instant | None:
    """When to look at a start that no hook has told of yet; `ready_by` has a look of its own."""
    at = _doubling(activity, seen)
    return at if seen.spec.has_hooks and at < ready_by else None


def _routine(activity: Activity, seen: View) -> Instant | None:
    """When to look at a run that asks nothing, as far as is known; None while a look for another reason comes."""
    looked = activity.looked_at
    if seen.deaf_since is not None:
        if looked is None or looked < seen.deaf_since:
            return seen.deaf_since + FIRST
        return looked + min(EVERY_DEAF, max(FIRST, looked - seen.deaf_since))
    if not seen.prompt_seen or seen.is_guessed:
        return _doubling(activity, seen)
    if activity.turn_open:
        # Its silence is looked at anyhow, more often than this.
        return None
    return activity.evidence_at + FIRST if looked is None else looked + EVERY


def _doubling(activity: Activity, seen: View) -> Instant:
    """Soon after what was heard last, for a dialog comes when a program is up; then at ages that double."""
    began, looked = seen.up_since, activity.looked_at
    if looked is None:
        return max(activity.evidence_at, began) + FIRST
    return looked + min(EVERY, max(FIRST, looked - began))


def call_due(activity: Activity, seen: View) -> tuple[Instant, Lease] | None:
    """When to look at the work of an open call, and at which call; None while nothing depends on it."""
    rules = seen.spec.liveness
    if not rules.enabled or not activity.turn_open or seen.asks or seen.is_parked or not activity.leases:
        return None
    for call in watchable(activity):
        at = max(_call_looked_at(activity, call), activity.evidence_at, call.started) + rules.check_interval
        if at < call.most:
            return at, call
    return None


def watchable(activity: Activity) -> list[Lease]:
    """The open calls whose processes can be told from older ones, the oldest first.

    A Task call is none: its subagents make calls of their own, and what earlier ones of those left is no work.
    """
    found = [lease for lease in activity.leases if lease.ticks is not None and not lease.is_subagent]
    return sorted(found, key=lambda lease: lease.started)


def untouched_by(activity: Activity, seen: View, age: float, now: Moment) -> str | None:
    """Why a heartbeat that claims this age, in seconds, would not have the run ended now; None if it would."""
    rules = seen.spec.liveness
    if not rules.enabled:
        return "its silence is not judged (liveness.enabled)"
    if not _is_judged(seen):
        return "nothing is known to arrive from it, so its silence means nothing"
    if seen.asks:
        return f"it waits for a person ({seen.asks}), and that is never stuck"
    if seen.deaf_since is not None:
        return "the link to its shim is lost, so its silence means nothing"
    if not activity.turn_open:
        return "it has no open turn, and idle is never stuck"
    if age < rules.stale:
        return f"its limit is {in_words(rules.stale)} (liveness.stale)"
    lease = _newest_end(activity, now.at)
    return f"a call in flight may be silent for {in_words(lease - now.at)} more" if lease > now.at else None


def readings(activity: Activity, seen: View, now: Moment) -> Readings:
    """The facts that an end as hung or overtime rests on, for its reason and its incident."""
    last_lease = max((lease.until for lease in activity.leases), default=None)
    return (
        ("silent_for", round(now.at - activity.evidence_at, 1)),
        ("liveness.stale", seen.spec.liveness.stale),
        ("turn_open", int(activity.turn_open)),
        ("leases", len(activity.leases)),
        ("newest_lease_over_since", None if last_lease is None else round(now.at - last_lease, 1)),
        ("heartbeat_claims", None if activity.stale_claim is None else round(now.at - activity.stale_claim, 1)),
        ("waited_for_people", round(activity.waited, 1)),
        ("ran_for", round(now.at - seen.began, 1)),
        ("loop.max_runtime", seen.spec.loop.max_runtime if seen.spec.kind is Kind.LOOP else None),
    )


def _is_judged(seen: View) -> bool:
    """Whether silence can mean anything: some kind of evidence is known to arrive from this agent."""
    spec = seen.spec
    return seen.hooks_seen or spec.heartbeat_file is not None or spec.transcript is not None or spec.kind is Kind.LOOP


def _silent_until(activity: Activity, stale: float) -> Instant:
    """When the silence is too long: since the newest evidence, or as a claim has it that was not dropped by then."""
    at = activity.evidence_at + stale
    if activity.stale_claim is None:
        return at
    check = activity.stale_claim if activity.claim_due is None else activity.claim_due
    return min(at, max(activity.stale_claim + stale, check))


def _newest_end(activity: Activity, default: Instant) -> Instant:
    """Until when the silence of any call in flight is expected."""
    return max((lease.until for lease in activity.leases), default=default)


def _after_a_look(activity: Activity, at: Instant) -> Instant:
    """When a hang is judged that is due at `at`: not while a look at the call is under way, which takes moments."""
    watch = activity.work
    if watch is None or watch.asked is None or not watchable(activity):
        return at
    return max(at, min(watch.asked, at) + LOOK_TIME)


def _call_looked_at(activity: Activity, call: Lease) -> Instant:
    watch = activity.work
    if watch is None or watch.ticks != call.ticks:
        return call.started
    return watch.at if watch.asked is None else max(watch.asked + LOOK_TIME, watch.at)
