"""Lines that a real CLI wrote, as patterns for those of a rendered session: nothing else says how a line looks."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Line = dict[str, Any]
RECORDED = Path(__file__).parents[2] / "transcripts"

HOME = "/home/user"
CWD = f"{HOME}/shop"
BEGAN = 1_795_338_000.0
"""2026-11-22T09:00:00Z, when every session begins."""


class NotRecorded(Exception):
    """No sample has such a line; record one first."""


@functools.cache
def recorded(sample: str) -> tuple[Line, ...]:
    """The lines of a recorded transcript."""
    return tuple(json.loads(line) for line in (RECORDED / f"{sample}.jsonl").read_text().splitlines())


def pattern(sample: str, fits: Callable[[Line], bool], last: bool = False) -> Line:
    """A copy of the first (or last) line of a sample that fits."""
    lines = recorded(sample)
    found = next((line for line in (reversed(lines) if last else lines) if _tried(fits, line)), None)
    if found is None:
        raise NotRecorded(f"{sample}.jsonl has no such line")
    return copy.deepcopy(found)


def _tried(fits: Callable[[Line], bool], line: Line) -> bool:
    try:
        return fits(line)
    except (KeyError, TypeError, IndexError, AttributeError):
        return False


def strings(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a line that holds a text or a number: the container, and the key or index in it."""
    places = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in list(places):
        if isinstance(one, dict | list):
            yield from strings(one)
        else:
            yield value, key


def as_line(line: Line) -> bytes:
    """As the CLIs write it."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def sha(session: str, message: str) -> str:
    """The abbreviated id of a commit."""
    return hashlib.sha256(f"{session}/{message}".encode()).hexdigest()[:7]


class Ids:
    """Ids as CLIs make them, but the same ones at each rendering."""

    def __init__(self, seed: str) -> None:
        self._seed, self._count = seed, 0

    def _digest(self) -> str:
        self._count += 1
        return hashlib.sha256(f"{self._seed}/{self._count}".encode()).hexdigest()

    def uuid(self) -> str:
        found = self._digest()
        return f"{found[:8]}-{found[8:12]}-4{found[13:16]}-a{found[17:20]}-{found[20:32]}"

    def short(self, length: int = 8) -> str:
        return self._digest()[:length]

    def number(self, below: int = 90_000) -> int:
        return 1000 + int(self._digest()[:8], 16) % below


class Times:
    """The clock of a session: `at` moves it to a second of the session, each reading is a little later."""

    def __init__(self) -> None:
        self._now = BEGAN

    def at(self, second: float) -> None:
        self._now = max(self._now, BEGAN + second)

    def read(self) -> float:
        self._now += 0.021
        return self._now

    @property
    def now(self) -> float:
        return self._now
