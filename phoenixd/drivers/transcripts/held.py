"""What is held of many transcripts in memory: those used last. Each is one thread's at a time, and one whose file hangs
holds up no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Place(Generic[T]):
    thing: T | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Held(Generic[K, T]):
    """Up to `most` things by their keys; of more, those go that were used least recently."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[K, _Place[T]] = {}
        self._lock = threading.Lock()

    def __contains__(self, key: K) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[K]:
        return iter(tuple(self._places))

    @contextmanager
    def of(self, key: K, fits: Callable[[T], bool], make: Callable[[], T]) -> Iterator[T]:
        """The thing of a key, for this thread alone; made anew where none is held that fits. Blocking."""
        with self._lock:
            place = self._places.pop(key, None) or _Place()
            self._places[key] = place
            while len(self._places) > self._most:
                del self._places[next(iter(self._places))]
        with place.lock:
            if place.thing is None or not fits(place.thing):
                place.thing = make()
            yield place.thing
