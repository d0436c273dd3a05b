"""How many hooks of a run were refused, and how often somebody without its token was turned away: told, not kept."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from reactor import Reactor

# An agent decides how many there are: they are told in sums, ever less often.
FIRST, LONGEST = 1.0, 60.0


class Refusals:
    """Counts from the run's start; `tell(event)` gets the sums, soon after the first and then at growing intervals."""

    def __init__(
        self, reactor: Reactor, identity: Callable[[], dict[str, Any] | None], tell: Callable[[Any], None]
    ) -> None:
        self._reactor = reactor
        self._identity = identity
        self._tell = tell
        self._hooks = self._strangers = 0
        self._why = ""
        self._interval = FIRST

    def begin(self) -> None:
        """Another run: what was refused before is none of its."""
        self._hooks = self._strangers = 0
        self._why, self._interval = "", FIRST
        self._reactor.cancel("refusals")

    def add_hook(self, why: str) -> None:
        self._hooks += 1
        self._why = why[:200]
        self._tell_soon()

    def add_stranger(self) -> None:
        self._strangers += 1
        self._tell_soon()

    def report(self) -> None:
        """Tell the sums as they are now, if there are any."""
        self._reactor.cancel("refusals")
        identity = self._identity()
        if identity is not None and (self._hooks or self._strangers):
            counts = {"hooks": self._hooks, "strangers": self._strangers, "why": self._why}
            self._tell({"event": "refused", **identity, **counts})

    def _tell_soon(self) -> None:
        if self._identity() is None or self._reactor.waits_for("refusals"):
            return
        self._reactor.at("refusals", time.monotonic() + self._interval, self.report)
        self._interval = min(LONGEST, 2 * self._interval)
