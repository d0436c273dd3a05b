"""Heartbeats that name a time: which of them count, and which only show that their writer's clock is wrong.

A time is the writer's word. An old one is believed in order, never by itself: it stands as a claim until the next
check, and whatever of the main thread arrives until then drops it (G29). A time that no living writer can mean (hours
old, in the future, or behind and yet going forward) says that a clock is wrong: the heartbeat counts from its writing,
and people are told once in a run (F-HB-3). So one timestamp never ends a run that works.
"""

from __future__ import annotations

from phoenixd.core.agent.activity import Activity
from phoenixd.core.change import replace
from phoenixd.core.decision import Heard
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.parts import SignOfLife
from phoenixd.core.rules import LivenessRules

SKEW = 60.0
"""Seconds by which a heartbeat may lie in the future before its clock is called wrong."""

HOURS_OFF = 59 * 60.0
"""Seconds from which on an old time is a wrong clock's: time zones lie an hour or more apart, and a minute is lost."""

DAY = 86_400.0

ADVANCED = 5.0
"""Seconds by which a claim must be later than the one before it to be a new one: reading one late costs some."""


def hear(activity: Activity, event: EvidenceSeen, rules: LivenessRules, now: Moment) -> Heard[Activity]:
    """Fold in a growing transcript, or a heartbeat of any hand."""
    age = event.age or 0.0
    claimed = now.at - max(0.0, age)
    if event.ordered:
        # An operator's word is no witness: it is done as it was said.
        if not activity.turn_open:
            return Heard(activity)
        return Heard(replace(activity, stale_claim=claimed, claim_due=now.at, claimed=event.source))
    if age < -SKEW:
        return _evidence(activity, now.at, now, f"it is written {_span(-age)} ahead of its time")
    if claimed >= activity.evidence_at:
        return _evidence(activity, claimed, now)
    if age >= HOURS_OFF:
        odd = f"it says that it is {_span(age)} old as it is written, and the run was heard of since"
        return _evidence(activity, now.at, now, odd)
    if not activity.turn_open:
        return Heard(activity)
    before = activity.stale_claim
    if before is None:
        pending = replace(activity, stale_claim=claimed, claim_due=now.at + rules.check_interval, claimed="")
        return Heard(pending)
    if claimed >= before + ADVANCED:
        odd = f"its times go forward, and lie {_span(age)} back"
        return _evidence(activity, now.at, now, odd)
    return Heard(activity)


def _span(seconds: float) -> str:
    days = int(seconds // DAY)
    return in_words(seconds) if days < 3 else f"{days} days"


def _evidence(activity: Activity, at: Instant, now: Moment, odd: str = "") -> Heard[Activity]:
    wall = now.wall - (now.at - at)
    heard = replace(activity, evidence_at=at, evidence_wall=wall, stale_claim=None, claim_due=None, looked_at=None)
    return Heard(heard, (SignOfLife(odd),))
