"""Heartbeats that name a time: which of them count, and which only show that their writer's clock is wrong.

A time is the writer's word. An old one is believed in order, never by itself: it stands as a claim until the next
check, and whatever of the main thread arrives until then drops it (G29). A time that no living writer can mean (hours
old, in the future, or behind and yet going forward) says that a clock is wrong: the heartbeat counts from its writing,
and people are told once in a run (F-HB-3). So one timestamp never ends a run that works.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from phoenixd.core.agent import Activity
from phoenixd.core.events import EvidenceSeen
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.spec import LivenessRules

SKEW = 60.0
"""Seconds by which a heartbeat may lie in the future before its clock is called wrong."""

HOURS_OFF = 59 * 60.0
"""Seconds from which on an old time is a wrong clock's: time zones lie an hour or more apart, and a minute is lost."""

DAY = 86_400.0

ADVANCED = 5.0
"""Seconds by which a claim must be later than the one before it to be a new one: reading one late costs some."""


@dataclass(frozen=True, slots=True)
class HeardSign:
    """What a sign of life means. `counts`: it is evidence. `odd`: what its time says of its writer's clock."""

    activity: Activity
    counts: bool
    odd: str = ""


def hear(activity: Activity, event: EvidenceSeen, rules: LivenessRules, now: Moment) -> HeardSign:
    """Fold in a growing transcript, or a heartbeat of any hand."""
    age = event.age or 0.0
    claimed = now.at - max(0.0, age)
    if event.ordered:
        # An operator's word is no witness: it is done as it was said.
        ordered = replace(activity, stale_claim=claimed, claim_due=now.at) if activity.turn_open else activity
        return HeardSign(ordered, False)
    if age < -SKEW:
        return HeardSign(_evidence(activity, now.at, now), True, f"it is written {_span(-age)} ahead of its time")
    if claimed >= activity.evidence_at:
        return HeardSign(_evidence(activity, claimed, now), True)
    if age >= HOURS_OFF:
        odd = f"it says that it is {_span(age)} old as it is written, and the run was heard of since"
        return HeardSign(_evidence(activity, now.at, now), True, odd)
    if not activity.turn_open:
        return HeardSign(activity, False)
    before = activity.stale_claim
    if before is None:
        pending = replace(activity, stale_claim=claimed, claim_due=now.at + rules.check_interval)
        return HeardSign(pending, False)
    if claimed >= before + ADVANCED:
        odd = f"its times go forward, and lie {_span(age)} back"
        return HeardSign(_evidence(activity, now.at, now), True, odd)
    return HeardSign(activity, False)


def silent_until(activity: Activity, stale: float) -> Instant:
    """When the silence is too long: since the newest evidence, or as a claim has it that was not dropped by then."""
    at = activity.evidence_at + stale
    if activity.stale_claim is None:
        return at
    check = activity.stale_claim if activity.claim_due is None else activity.claim_due
    return min(at, max(activity.stale_claim + stale, check))


def _span(seconds: float) -> str:
    days = int(seconds // DAY)
    return in_words(seconds) if days < 3 else f"{days} days"


def _evidence(activity: Activity, at: Instant, now: Moment) -> Activity:
    wall = now.wall - (now.at - at)
    return replace(activity, evidence_at=at, evidence_wall=wall, stale_claim=None, claim_due=None, looked_at=None)
