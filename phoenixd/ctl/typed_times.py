"""Times and lengths of time as people type them: in two words, or as a time of a day that has yet to come."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from phoenixd.core.durations import is_duration

BARE = re.compile(r"[0-9]+(\.[0-9]+)?")
SPOKEN = frozenset(
    "s sec secs second seconds m min mins minute minutes h hr hrs hour hours d day days w week weeks".split()
)
"""Units as people write them after a number; each begins with the unit that is meant."""


def in_one_word(words: Sequence[str]) -> list[str] | None:
    """The words with a length of time in two of them (`3 days`) as one; None where there is none."""
    for at, (number, unit) in enumerate(pairwise(words)):
        if BARE.fullmatch(number) and unit in SPOKEN and is_duration(length := f"{number}{unit[0]}"):
            return [*words[:at], length, *words[at + 2 :]]
    return None
