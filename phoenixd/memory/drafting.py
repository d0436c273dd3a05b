"""Writers that are at a project's papers: one that nobody waits for any more is broken off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio


@dataclass(slots=True)
class Drafting:
    """The writers that are asked now, by the handoff that asked."""

    _going: dict[str, tuple[anyio.CancelScope, Callable[[], bool]]] = field(default_factory=dict)

    @contextmanager
    def while_wanted(self, handoff: str, is_wanted: Callable[[], bool]) -> Iterator[None]:
        """Break off what stands within as soon as a turn shows that it is not wanted."""
        with anyio.CancelScope() as scope:
            self._going[handoff] = scope, is_wanted
            try:
                yield
            finally:
                del self._going[handoff]

    def turned(self) -> None:
        """The fleet is another one: a handoff may have been rolled back."""
        for scope, is_wanted in self._going.values():
            if not is_wanted():
                scope.cancel()
