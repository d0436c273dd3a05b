"""What is known of the newest end of the terminal server, and of those whose runs ended with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from phoenixd.core.change import replace
from phoenixd.core.moment import Instant

STORM = 180.0
"""Seconds for which a server has to live until a further end is counted anew."""
MOST_AT_ONCE = 3
"""Ends that are counted together after which nobody is hurried: what ends it over and over is still there."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds from the first such end until those that fell are started, and the most to which each further one doubles
them: an agent can end the server as often as it is started."""
MOST_KEPT = 100
"""Ends that are counted at most."""
OFTEN = 3600.0
"""Seconds within which ends that are too far apart to be counted together are a pattern that people are told of."""
LATEST = 30.0
"""Seconds after an end for which is waited for a run to fall with it; one that lives on then was not in it."""


@dataclass(frozen=True, slots=True)
class ServerEnd:
    """The newest end of the terminal server.

    ends: those that are counted together, the last one last. fallen: who ran then, with the incarnation that fell.
    awaited: those that have yet to come back. earlier: when it ended before; of ends counted together the last.
    """

    ends: tuple[Instant, ...]
    fallen: Mapping[str, int] = field(default_factory=dict)
    awaited: frozenset[str] = frozenset()
    earlier: tuple[Instant, ...] = ()

    @property
    def at(self) -> Instant:
        return self.ends[-1]

    @property
    def is_storm(self) -> bool:
        """Whether the server ends over and over."""
        return len(self.ends) > MOST_AT_ONCE

    @property
    def pause(self) -> float:
        """Seconds after the newest end before which nobody who fell with it is started."""
        beyond = len(self.ends) - MOST_AT_ONCE - 1
        return 0.0 if beyond < 0 else min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(beyond, 10))

    @property
    def calm_at(self) -> Instant:
        """When the server has lived for so long that a further end is counted anew."""
        return self.at + self.pause + STORM

    @property
    def is_often(self) -> bool:
        """Whether the server ends again and again although it lives for minutes each time: work goes on in between."""
        return len(self.earlier) >= MOST_AT_ONCE

    @property
    def told_until(self) -> Instant:
        """When the server has lived for so long that what was told of many ends is over."""
        lived = OFTEN if self.is_often else 0.0
        return max(self.at + lived, self.calm_at if self.is_storm else self.at)

    def again(self, at: Instant) -> ServerEnd:
        """The same with one more end."""
        if self.ends and at < self.calm_at:
            return replace(self, ends=(*self.ends[1 - MOST_KEPT :], at))
        past = (one for one in (*self.earlier, *self.ends[-1:]) if one > at - OFTEN)
        return replace(self, ends=(at,), earlier=tuple(past)[-MOST_KEPT:])
