"""Whether decisions can be made durable, judged from what became of commits: trouble in episodes, each told once.

Two troubles are told apart. The disk is *slow*: commits take long, and everything goes on, only later. Saving *fails*:
a commit was refused, too little room is left, or nothing was heard for a minute; then nothing new is started. Each has
episodes: one begins with the first sign, and is over once it has been well for a while, by commits that were seen to
go well. A trouble that comes back soon has to stay away longer, twice as long each time, so that what flaps for days is
told a few times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from phoenixd.core.alerts import DEGRADED, SLOW_DISK
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.core.moment import Instant, in_words

LATE = 2.0
"""Seconds after which a commit that is under way is late: until it is there, nothing new begins."""
PROMPT = 1.0
"""Seconds within which commits land on a disk that is well again; the gap to LATE keeps the border from flapping."""
SILENT = 60.0
"""Seconds after which a commit that is under way counts as one that fails."""

QUIET = 20.0
"""Seconds without a sign of trouble after which an episode is over."""
LONGEST_QUIET = 3600.0
COMES_BACK = 3600.0
"""Seconds after an episode within which the next one is the same trouble come back."""
ENOUGH = 3
"""Commits that must have gone well since the last sign: silence alone proves nothing."""
PROBE = 5.0
"""Seconds after a commit at which, during an episode, another one is made to see how the disk is now."""

REMEMBERED = 512
"""Commits whose times are kept."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One trouble. why: its newest sign in words, empty while none stands; good: commits that went well since."""

    why: str = ""
    bad_at: Instant = -math.inf
    good: int = 0
    ended_at: Instant = -math.inf
    returned: int = 0
    """How often it has come back."""

    @property
    def stands(self) -> bool:
        return self.why != ""

    @property
    def quiet(self) -> float:
        """Seconds for which it must be well."""
        return min(LONGEST_QUIET, QUIET * float(2 ** min(self.returned, 16)))

    @property
    def over_at(self) -> Instant | None:
        """When it is over unless something happens; None while too little is known."""
        return self.bad_at + self.quiet if self.stands and self.good >= ENOUGH else None

    def bad(self, why: str, now: Instant) -> Episode:
        """A sign of the trouble: it begins, or goes on."""
        if self.stands:
            return replace(self, why=why, bad_at=now, good=0)
        returned = self.returned + 1 if now - self.ended_at <= COMES_BACK else 0
        return Episode(why, now, 0, self.ended_at, returned)

    def well(self, times: int = 1) -> Episode:
        """A commit went well; or something that proves as much as several commits."""
        return replace(self, good=self.good + times) if self.stands else self

    def settled(self, now: Instant) -> Episode:
        """The same, or over where it has been well for long enough."""
        due = self.over_at
        return replace(self, why="", ended_at=now) if due is not None and due <= now else self


@dataclass(frozen=True, slots=True)
class Latency:
    """What commits took, in seconds, over the newest `count` of them."""

    count: int
    last: float
    p50: float
    p99: float
    worst: float

    def __str__(self) -> str:
        parts = f"last {_short(self.last)}, half within {_short(self.p50)}, 99 % within {_short(self.p99)}"
        return f"{parts}, worst {_short(self.worst)}, of {self.count} commit{'' if self.count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Durability:
    """What is known of the journal's disk. Each method tells it one thing, and returns what is known then.

    since: when the commit that is under way began. is_missed: a decision went on without its commit.
    fault: why the newest commit failed, empty once one landed.
    shortage: why every further write may be the last.
    """

    slow: Episode = field(default_factory=Episode)
    failing: Episode = field(default_factory=Episode)
    since: Instant | None = None
    is_missed: bool = False
    ended: Instant = -math.inf
    fault: str = ""
    shortage: str = ""
    recent: tuple[float, ...] = ()

    @classmethod
    def inherited(cls, slow: str, failing: str, now: Instant) -> Durability:
        """As an earlier daemon left it: what stood then stands until it has been well for a while."""
        none = Episode()
        return cls(none.bad(slow, now) if slow else none, none.bad(failing, now) if failing else none)

    def begun(self, now: Instant) -> Durability:
        """A commit goes out."""
        return replace(self, since=now)

    def landed(self, now: Instant) -> Durability:
        """It is durable."""
        took = max(0.0, now - (self.since if self.since is not None else now))
        slow, failing = self.slow, self.failing
        if self.is_missed or took > (PROMPT if slow.stands else LATE):
            slow = slow.bad(slow.why or _took(took), now)
        else:
            slow = slow.well()
        known = replace(
            self,
            slow=slow,
            failing=failing if self.withholds else failing.well(),
            since=None,
            is_missed=False,
            ended=now,
            fault="",
            # That this one got through says nothing about the next one: first somebody looks for room.
            shortage=self.withholds,
            recent=(*self.recent[1 - REMEMBERED :], took),
        )
        return known._settled(now)

    def failed(self, why: str, now: Instant) -> Durability:
        """It was refused; it is tried again."""
        failing = self.failing.bad(why, now)
        return replace(self, failing=failing, since=None, is_missed=False, ended=now, fault=why)

    def missed(self, now: Instant) -> Durability:
        """A decision has waited for as long as it may, even if only for the commit before its own."""
        return replace(self, slow=self.slow.bad(self.slow.why or _took(LATE), now), is_missed=True)

    def room(self, shortage: str | None, now: Instant) -> Durability:
        """Somebody looked how much room is left. shortage: why that is too little, None where it is enough."""
        failing = self.failing.bad(shortage, now) if shortage else self.failing
        return replace(self, failing=failing, shortage=shortage or "")._settled(now)

    def passed(self, now: Instant) -> Durability:
        """Time passed: a commit may be late by now, an episode over."""
        if not self.is_late(now):
            return self._settled(now)
        slow = self.slow.bad(self.slow.why or _took(LATE), now)
        waited = now - self.since if self.since is not None else 0.0
        silent = f"the journal has not answered for {in_words(waited)}"
        failing = self.failing.bad(silent, now) if waited >= SILENT else self.failing
        return replace(self, slow=slow, failing=failing)

    def is_late(self, now: Instant) -> bool:
        """Whether a commit is under way that should have landed."""
        return self.is_missed or (self.since is not None and now - self.since >= LATE)

    @property
    def withholds(self) -> str:
        """Why nothing new begins, not even what was saved; empty where it may."""
        return self.fault or self.shortage

    def halts(self, now: Instant) -> str:
        """Why no start is decided on now, empty where it may be."""
        if self.withholds or not self.is_late(now):
            return self.withholds
        return f"a commit of the journal has been under way for more than {in_words(LATE)}"

    @property
    def trouble(self) -> str:
        """The newest sign of the trouble that stands, the graver one first; empty when all is well."""
        return self.failing.why or self.slow.why

    def wants_probe(self, now: Instant) -> bool:
        """Whether a commit without content is to tell how the disk is now."""
        is_known = self.trouble == "" or self.withholds != ""
        return self.since is None and not is_known and now >= self.ended + PROBE

    def due(self, now: Instant) -> Instant | None:
        """The next instant at which something follows from mere time: a commit late, a probe, an episode over."""
        times = [self.since + LATE, self.since + SILENT] if self.since is not None else []
        if self.trouble and not self.withholds and self.since is None:
            times.append(self.ended + PROBE)
        times += [at for at in (self.slow.over_at, self.failing.over_at) if at is not None]
        return min((at for at in times if at > now), default=None)

    @property
    def latency(self) -> Latency | None:
        """What commits took lately; None where none was made."""
        if not self.recent:
            return None
        times = sorted(self.recent)
        return Latency(len(times), self.recent[-1], _rank(times, 0.5), _rank(times, 0.99), times[-1])

    def _settled(self, now: Instant) -> Durability:
        failing = self.failing if self.withholds else self.failing.settled(now)
        return replace(self, slow=self.slow.settled(now), failing=failing)


def told(before: Durability, after: Durability) -> tuple[TroubleSeen | TroubleGone, ...]:
    """What the fleet has to hear: an episode that began or has other words, and one that is over."""
    found: list[TroubleSeen | TroubleGone] = []
    kinds = (DEGRADED, before.failing, after.failing), (SLOW_DISK, before.slow, after.slow)
    for kind, was, now in kinds:
        if now.stands and now.why != was.why:
            found.append(TroubleSeen(None, kind, now.why))
        elif was.stands and not now.stands:
            found.append(TroubleGone(None, kind, f"all was well with the journal for {in_words(was.quiet)}"))
    return tuple(found)


def _took(seconds: float) -> str:
    return f"a commit of the journal took {seconds:.1f} s or longer: starts and answers come as late"


def _rank(ordered: list[float], share: float) -> float:
    """The smallest time within which that share of the commits landed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _short(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
