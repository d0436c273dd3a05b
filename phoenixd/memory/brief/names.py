"""Ids of loops that are known from what was said."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

from phoenixd.documents.state_reading import LOOP_ID

LIMIT, MOST_WORDS, LEAST_TELLING = 48, 5, 4
_WORD = re.compile(r"[a-z0-9]+")


def id_of(wanted: str, sentence: str) -> str:
    """A writer's id, where the sentence has each of its words in this order; else one of the sentence's own words."""
    words = _WORD.findall(sentence.casefold())
    if LOOP_ID.fullmatch(wanted) and len(wanted) <= LIMIT and _stand_in_order(wanted.split("-"), words):
        return wanted
    return slug(sentence)


def slug(text: str) -> str:
    """A loop's id from its text: its first longer words; of a text in other letters, a mark of its own."""
    words = _WORD.findall(text.casefold())
    telling = [word for word in words if len(word) >= LEAST_TELLING] or [word for word in words if len(word) > 1]
    made = "-".join(telling[:MOST_WORDS])[:LIMIT].strip("-")
    return made or f"said-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"


def free_id(wanted: str, taken: Collection[str]) -> str:
    """The same, with a number behind it where it is taken."""
    number, free = 1, wanted
    while free in taken:
        number += 1
        free = f"{wanted}-{number}"
    return free


def _stand_in_order(parts: list[str], words: list[str]) -> bool:
    left = iter(words)
    return all(part in left for part in parts)
