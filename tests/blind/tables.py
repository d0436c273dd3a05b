"""Reading the corpora: TOML tables with durations as text and signs, or a JSON file for each case."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HALVES = ("first", "second")

Table = Mapping[str, Any]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20}
_UNITS["GiB"] = 2.0**30
_PART = re.compile(r"([0-9.]+)(ms|s|m|h|d|B|KiB|MiB|GiB)")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case: what was wrong, in the words of the kind of fault, and nothing where all was right.

    false_kill: something was ended or stopped that lives and works. missed: something was let go on that is dead, or
    works in vain. other: any other difference from the verdict.
    """

    case: str
    false_kill: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    other: tuple[str, ...] = ()

    @property
    def is_right(self) -> bool:
        return not (self.false_kill or self.missed or self.other)


@dataclass(slots=True)
class Faults:
    """What is found of one case, by and by."""

    false_kill: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    def outcome(self, case: str) -> Outcome:
        return Outcome(case, tuple(self.false_kill), tuple(self.missed), tuple(self.other))


def cases(corpus: str, half: str, word: str, place: Path = HERE) -> list[Table]:
    """The cases of one half of a corpus; an empty list where there is none."""
    path, folder = place / corpus / f"{half}.toml", place / corpus / half
    if folder.is_dir():
        return [{"id": one.stem, **json.loads(one.read_text("utf-8"))} for one in sorted(folder.glob("*.json"))]
    if not path.exists():
        return []
    found: list[Table] = tomllib.loads(path.read_text())[word]
    return found


def quantity(text: str | float) -> float:
    """Seconds of "1h30m" or "-90s", bytes of "5MiB"; a bare number is itself."""
    if isinstance(text, int | float):
        return float(text)
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text.removeprefix("+"))
    parts = _PART.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        raise ValueError(f"no quantity: {text!r}")
    return sign * sum(float(number) * _UNITS[unit] for number, unit in parts)


def times(row: Table) -> Iterator[float]:
    """When something happens: at one time, or from one to another, again and again."""
    if "at" in row:
        yield quantity(row["at"])
        return
    at, to, every = (quantity(row[key]) for key in ("from", "to", "every"))
    while at <= to:
        yield at
        at += every


def first_of(failure: BaseException) -> str:
    """What failed first, where tasks fail together."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return str(failure) if isinstance(failure, AssertionError) else repr(failure)
