"""Where a text may be cut: at the end of a sentence or line, else between words; never in a word or in a code fence.

Pure. It knows characters and no words: a sentence ends as Unicode has it end, in whatever script.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

Length = Callable[[str], int]

_SENTENCE_END = re.compile(
    r"""[.!?…]+["'”’»›)\]*_`]*(?=\s)"""  # what a blank follows
    r"""|[。！？｡．؟۔।॥።၊။]+[”’»」』）】〕"')\]*_]*"""  # what needs none
    r"""|\n"""
)
_BLANK = re.compile(r"\s+|[、，；：]+")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}|~{3,})(.*)")

_LETTER = "[\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_UNSPACED = re.compile(f"(?<={_LETTER})(?={_LETTER})")
"""Between two letters of the Chinese and Japanese scripts, which put no blanks between words."""

LEAST = 4
"""A cut at a sentence's end that leaves less than this part of the room is no better than one between words."""


def beginning(text: str, room: int, length: Length, *, starts_within: bool = False) -> str:
    """As much of a text's beginning as there is room for; a text that fits is returned whole."""
    head = text[: max(0, room) + 1]  # Each character takes one at least.
    costs = list(itertools.accumulate(map(length, head), initial=0))
    if len(head) == len(text) and costs[-1] <= room:
        return text
    most, at = bisect_right(costs, room) - 1, 0
    for places in _places(text, 0, len(head) + 2, starts_within=starts_within):
        at = max(at, places[max(0, bisect_right(places, most) - 1)])
        if costs[at] * LEAST >= room:
            break
    return text[:at].rstrip()


def ending(text: str, room: int, length: Length, *, starts_within: bool = False) -> str:
    """As much of a text's end as there is room for; a text that fits is returned whole."""
    tail = text[max(0, len(text) - max(0, room) - 1) :]
    costs = list(itertools.accumulate(map(length, reversed(tail)), initial=0))
    if len(tail) == len(text) and costs[-1] <= room:
        return text
    least, at = len(text) - (bisect_right(costs, room) - 1), len(text)
    for places in _places(text, len(text) - len(tail), len(text), starts_within=starts_within):
        index = bisect_left(places, least)
        at = min(at, places[index]) if index < len(places) else at
        if costs[len(text) - at] * LEAST >= room:
            break
    kept = text[at:].lstrip()
    # A blank may bear a mark, and then they belong together.
    return kept if not _is_mark(kept[:1]) else text[at:]


def _places(text: str, begin: int, end: int, *, starts_within: bool) -> Iterator[list[int]]:
    """Where a text may be cut between two places, from the best kind of cut to the worst; each list is in order, and
    holds the text's beginning."""
    fences = tuple(_fences(text, starts_within=starts_within))
    for pattern in (_SENTENCE_END, _BLANK, _UNSPACED):
        yield _outside(text, [found.end() for found in pattern.finditer(text, begin, end)], fences)


def _outside(text: str, places: Iterable[int], fences: tuple[tuple[int, int], ...]) -> list[int]:
    """Those of the places that lie in no fence and before no mark that belongs to what is left of it.

    Both ends of a fence lie outside, and so does the text's beginning.
    """
    begins = [begin for begin, _ in fences]
    kept = {0}
    for place in places:
        index = bisect_left(begins, place) - 1
        if not _is_mark(text[place : place + 1]) and (index < 0 or place >= fences[index][1]):
            kept.add(place)
    return sorted(kept)


def _fences(text: str, *, starts_within: bool) -> Iterator[tuple[int, int]]:
    """The fences of a text, from the first character of the opening line to the end of the closing one.

    One that is never closed holds all that follows.
    """
    rows = []
    position = 0
    for line in text.split("\n"):
        if (found := _FENCE.match(line)) is not None:
            rows.append((position, min(len(text), position + len(line) + 1), found[1], found[2].strip()))
        position += len(line) + 1
    if starts_within and rows and len(rows) % 2 and not rows[0][3]:
        # An odd number of fences, and the first is a bare one: it closes what was opened before.
        yield 0, rows.pop(0)[1]
    opened: tuple[int, str] | None = None
    for begin, end, marks, info in rows:
        if opened is None:
            if marks[0] == "`" and "`" in info:
                continue  # a span of code in one line
            opened = begin, marks
        elif not info and marks[0] == opened[1][0] and len(marks) >= len(opened[1]):
            yield opened[0], end
            opened = None
    if opened is not None:
        yield opened[0], len(text) + 1


def _is_mark(character: str) -> bool:
    """Whether it belongs to the letter before it; no character is none."""
    return character != "" and unicodedata.category(character).startswith("M")
