"""Whether alerts reach the operator by the ways that are configured: one that does not is an alert of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection

from phoenixd.core.alert_kinds.fleet import NOT_TOLD
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen


class Tellings:
    """Hears what came of each message, and tells of a change alone. The end of an alert of before is told as well."""

    def __init__(self, tell: Callable[[TroubleSeen | TroubleGone], None]) -> None:
        self._tell = tell
        self._problems: dict[str, str | None] = {}
        self._unproven: set[str] = set()
        """Ways that may have failed under an earlier daemon, as long as this one has not heard of them."""

    def begin(self, routes: Collection[str], behind: Collection[str] = ()) -> None:
        """An earlier daemon may have had a way that is not configured any more. behind: those that left some untold."""
        if not routes:
            self._tell(TroubleGone(None, NOT_TOLD, "nothing is configured that alerts are told by"))
        self._unproven = set(behind)

    def hear(self, route: str, problem: str | None) -> None:
        """A message was told by this route, or was not, and never will be."""
        known = self._problems.get(route, "")
        self._problems[route] = problem
        self._unproven.discard(route)
        if problem == known:
            return
        failing = [f"{name} ({why})" for name, why in self._problems.items() if why]
        if failing:
            self._tell(TroubleSeen(None, NOT_TOLD, f"alerts are not told by the {' and the '.join(failing)}"))
        elif not self._unproven:
            self._tell(TroubleGone(None, NOT_TOLD, f"an alert was told by the {route}"))
