"""Whether the daemon's log can be begun anew where it is full: told when it cannot, and when it can again."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.core.events.fleet import TroubleGone, TroubleSeen

KIND = "log"


class LogWatch:
    """Tells of a change alone. The end of what an earlier daemon told is told as well.

    tend: begins the file anew where that is due; why it cannot, or None. None where the log is no file of ours.
    """

    def __init__(
        self, tend: Callable[[], str | None] | None, tell: Callable[[TroubleSeen | TroubleGone], None]
    ) -> None:
        self._tend = tend
        self._tell = tell
        self._told: str | None = ""

    async def look(self) -> None:
        problem = self._tend() if self._tend is not None else None
        if problem == self._told:
            return
        self._told = problem
        if problem is not None:
            self._tell(TroubleSeen(None, KIND, problem))
        else:
            over = "it can be begun anew" if self._tend is not None else "the daemon's lines go elsewhere"
            self._tell(TroubleGone(None, KIND, over))
