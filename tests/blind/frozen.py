"""Corpora whose cases were frozen in JSON files before anybody played them, with a page that has digests and figures.

`tests/core/acks` has the form of all: `playing.py` plays a case, `missed.py` names each that comes out otherwise than
its author said, with the cause, README.md is the page, and `play` is what `python -m tests.core.acks` does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from phoenixd.documents.times import read_time

Case = dict[str, Any]
Found = TypeVar("Found")

ROOT = Path(__file__).parents[2]
FAULTS = (AssertionError, AttributeError, LookupError, StopIteration, ValueError)
"""What a player raises of a case that it cannot play."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Two halves of cases in a folder; the second one was held back until it was played once.

    missed: why, by the ids of the cases that come out otherwise. sure: the key under which a case says how sure its
    author is ("high", "medium"), or "" where no case does. by_hand: what a person read of a case before it was played,
    where words are read; a case has it as `by_hand`.
    """

    folder: Path
    first: str
    held: str
    missed: Mapping[str, str]
    sure: str = "confidence"
    by_hand: Mapping[str, Any] | None = None

    @property
    def halves(self) -> tuple[Path, Path]:
        return self.folder / self.first, self.folder / self.held

    @property
    def package(self) -> str:
        return ".".join(self.folder.relative_to(ROOT).parts)

    def cases(self) -> list[Case]:
        """Those of both halves."""
        return [case for half in self.halves for case in cases(half, self.by_hand)]

    def figures(self, known: list[Case], right: list[bool]) -> str:
        """How many are right of all, and by how sure their author is."""
        parts = []
        for sure in ("high", "medium") if self.sure else ():
            those = [is_it for case, is_it in zip(known, right, strict=True) if case[self.sure] == sure]
            parts.append(f"{sure} {sum(those)} of {len(those)}")
        return f"{sum(right)} of {len(known)} as their author said" + (f" ({', '.join(parts)})" if parts else "")

    def wrong_on_page(self, half: Path) -> list[str]:
        """Where the page says otherwise than the file of a half and what is missed of it."""
        page, known = (self.folder / "README.md").read_text(), cases(half)
        figures = self.figures(known, [case["id"] not in self.missed for case in known])
        is_frozen = digests(page).get(half.name) == digest(half)
        has_figures = re.findall(rf"`{re.escape(half.name)}`, [^\n]*today: ([^\n]*)", page) == [figures]
        return [
            *([] if is_frozen else [f"{half.name} is not as it was frozen"]),
            *([] if has_figures else [f"{half.name}, today: {figures}"]),
            *(f"{one} is missed, and is not named" for one in self.missed if f"`{one}`" not in page),
        ]


def cases(half: Path, by_hand: Mapping[str, Any] | None = None) -> list[Case]:
    """The cases of one file, each with what was read of it by hand."""
    found: list[Case] = json.loads(half.read_text())
    read = by_hand or {}
    return [{**case, "by_hand": read[case["id"]]} if case["id"] in read else case for case in found]


def wall_of(stamp: str) -> float:
    """The time that a case names."""
    found = read_time(stamp)
    assert found is not None, stamp
    return found


def digest(half: Path) -> tuple[int, str]:
    """How many cases a file has, and its sha256."""
    return len(cases(half)), hashlib.sha256(half.read_bytes()).hexdigest()


def digests(page: str) -> dict[str, tuple[int, str]]:
    """What a page says of each file that was frozen."""
    rows = re.findall(r"\| `([\w-]+\.json)` \| (\d+) \| ([0-9a-f]{64}) \|", page)
    return {name: (int(many), frozen) for name, many, frozen in rows}


def play(
    corpus: Corpus,
    answer: Callable[[Case], Found],
    is_right: Callable[[Case, Found], bool],
    said: Callable[[Case, Found], Iterable[str]],
    *,
    described: str | None,
    read: Callable[[Case], Iterable[str]] | None = None,
    more: Callable[[Case, Found], Iterable[str]] | None = None,
) -> None:
    """Play one half, and print the cases that came out otherwise; with `-v` all of them, and what `more` says of each.

    said: what its author said of a case, and what was found. read: what was understood of its words, for `--read`.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {corpus.package}", description=described)
    parser.add_argument("file", nargs="?", type=Path, default=corpus.halves[0])
    parser.add_argument("-v", action="store_true", help="every case, and all that can be said of it")
    if read is not None:
        parser.add_argument("--read", action="store_true", help="what was understood of each case; none is played")
    if corpus.by_hand is not None:
        parser.add_argument("--readings", type=Path, help="what is understood of cases by hand, by their ids")
    given = vars(parser.parse_args())
    readings: Path | None = given.get("readings")
    known = cases(given["file"], json.loads(readings.read_text()) if readings else None)
    if read is not None and given["read"]:
        for case in known:
            print(case["id"], *read(case), sep="\n")
        return
    right = list[bool]()
    for case in known:
        try:
            found = answer(case)
        except FAULTS as fault:
            right.append(False)
            print(f"{case['id']}: could not be played: {fault!r}", *(read(case) if read else ()), sep="\n")
            continue
        right.append(is_right(case, found))
        if given["v"] or not right[-1]:
            print(f"{case['id']} ({case[corpus.sure]}): {'right' if right[-1] else 'OTHERWISE'}")
            print(*said(case, found), sep="\n")
            if case["id"] in corpus.missed:
                print(f"  {corpus.missed[case['id']]}")
        if given["v"] and more is not None:
            print(*more(case, found), sep="\n")
    print(corpus.figures(known, right))
