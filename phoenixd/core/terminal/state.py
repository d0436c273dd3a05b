"""What is known of the newest end of the terminal server, and of those whose runs ended with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from phoenixd.core.moment import Instant

STORM = 60.0
"""Seconds within which ends of the server are counted together."""
MOST_AT_ONCE = 3
"""Ends within that time after which nobody is hurried: what ends it over and over is still there."""
LATEST = 30.0
"""Seconds after an end for which is waited for a run to fall with it; one that lives on then was not in it."""


@dataclass(frozen=True, slots=True)
class ServerEnd:
    """The newest end of the terminal server.

    ends: the newest ends, the last one last. fallen: who ran then, with the incarnation that fell. awaited: those that
    have yet to come back.
    """

    ends: tuple[Instant, ...]
    fallen: Mapping[str, int] = field(default_factory=dict)
    awaited: frozenset[str] = frozenset()

    @property
    def at(self) -> Instant:
        return self.ends[-1]

    @property
    def is_storm(self) -> bool:
        """Whether the server ends over and over."""
        return len(self.ends) > MOST_AT_ONCE
