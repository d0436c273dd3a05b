"""Marks in order, as a value: taking some out and putting others in costs little, however many there are.

The marks lie in blocks of bounded length. A change copies one block and the row of blocks, and shares the others with
what was there before, so nothing that was asked of an older value ever changes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from math import inf
from operator import itemgetter

Mark = tuple[int, str, float, int, str]
"""What it says, the group, when or how much, the place in the fleet, and the agent's name."""
Bound = tuple[int | str | float, ...]
"""A mark, or its beginning, which stands before all that begin so."""

BLOCK = 128
_FIRST = itemgetter(0)
END = inf
"""Behind every place in the fleet; so (what, group, at, END) stands behind all marks of that instant."""


class Ranked:
    """Marks in order."""

    __slots__ = ("_blocks",)

    def __init__(self, blocks: tuple[tuple[Mark, ...], ...] = ()) -> None:
        self._blocks = blocks

    @classmethod
    def of(cls, marks: Iterable[Mark]) -> Ranked:
        ordered = sorted(marks)
        half = BLOCK // 2
        return cls(tuple(tuple(ordered[at : at + half]) for at in range(0, len(ordered), half)))

    def __iter__(self) -> Iterator[Mark]:
        for block in self._blocks:
            yield from block

    def changed(self, out: Iterable[Mark], put: Iterable[Mark]) -> Ranked:
        """Without the one, with the other. What is taken out is there."""
        blocks = list(self._blocks)
        for mark in out:
            at = _block(blocks, mark)
            block = blocks[at]
            place = bisect_left(block, mark)
            left = block[:place] + block[place + 1 :]
            if left:
                blocks[at] = left
            else:
                del blocks[at]
        for mark in put:
            if not blocks:
                blocks.append((mark,))
                continue
            at = _block(blocks, mark)
            block = blocks[at]
            place = bisect_left(block, mark)
            longer = (*block[:place], mark, *block[place:])
            blocks[at : at + 1] = [longer] if len(longer) <= BLOCK else [longer[: BLOCK // 2], longer[BLOCK // 2 :]]
        return Ranked(tuple(blocks))

    def between(self, low: Bound, high: Bound) -> Iterator[Mark]:
        """The marks from `low` on that stand before `high`, in order."""
        blocks = self._blocks
        at = _block(blocks, low)
        place = bisect_left(blocks[at], low) if blocks else 0
        for block in blocks[at:]:
            for mark in block[place:] if place else block:
                if mark >= high:
                    return
                yield mark
            place = 0

    def first(self, low: Bound, high: Bound) -> Mark | None:
        """The first of those `between`."""
        blocks = self._blocks
        if not blocks:
            return None
        at = _block(blocks, low)
        place = bisect_left(blocks[at], low)
        if place == len(blocks[at]):
            at, place = at + 1, 0
            if at == len(blocks):
                return None
        mark = blocks[at][place]
        return mark if mark < high else None

    def last(self, low: Bound, high: Bound) -> Mark | None:
        """The last of those `between`."""
        blocks = self._blocks
        if not blocks:
            return None
        at = _block(blocks, high)
        place = bisect_left(blocks[at], high)
        if place == 0 and at == 0:
            return None
        mark = blocks[at][place - 1] if place else blocks[at - 1][-1]
        return mark if mark >= low else None

    def count(self, low: Bound, high: Bound) -> int:
        """How many are `between`."""
        blocks = self._blocks
        if not blocks:
            return 0
        begins, ends = _block(blocks, low), _block(blocks, high)
        before, until = bisect_left(blocks[begins], low), bisect_left(blocks[ends], high)
        return sum(len(block) for block in blocks[begins:ends]) - before + until


def _block(blocks: list[tuple[Mark, ...]] | tuple[tuple[Mark, ...], ...], mark: Bound) -> int:
    """Which block a mark is in, or would be."""
    return max(0, bisect_right(blocks, mark, key=_FIRST) - 1)
