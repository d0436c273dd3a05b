"""The ids of loops: the word of their kind, and a slug of their text where ASCII can say it, else a short hash."""

from __future__ import annotations

import functools
import hashlib
import re

from phoenixd.memory.brief.loops.alike import normal
from phoenixd.memory.brief.loops.seen import Found

SLUG_WORDS, SLUG_LIMIT, HASH_LENGTH = 5, 40, 6
CACHED = 2048
"""Texts whose slugs are remembered: each reading finds nearly all loops of the one before."""
_WORDS = {"tasks": "task", "plan": "plan", "said": "said"}
_QUOTE = re.compile(r'"(.*)"|`(.*)`', re.DOTALL)


def loop_id(found: Found) -> str:
    """The id of a loop, as long as nothing else has it; the same at each reading."""
    word = _WORDS.get(found.kind, found.kind)
    named = found.source if found.is_same else _own_words(found.text)
    slug = _slug(named)
    return f"{word}-{slug}" if slug else f"{word}-{_hash(f'{found.kind} {named}')}"


def is_named(loop: str, base: str) -> bool:
    """Whether a loop's id is that one, with or without a number."""
    rest = loop.removeprefix(base)
    return loop == base or (loop.startswith(base) and re.fullmatch(r"-\d{1,4}", rest) is not None)


def _own_words(text: str) -> str:
    quote = _QUOTE.search(text)
    return next((group for group in quote.groups() if group), text) if quote is not None else text


@functools.lru_cache(CACHED)
def _slug(text: str) -> str:
    """Empty where a slug would say less than half of what the text begins with."""
    begins = text[:80]
    letters = [character for character in begins if character.isalnum()]
    if sum(character.isascii() for character in letters) * 4 < len(letters) * 3:
        return ""
    words = re.findall(r"[a-z0-9]+", begins.lower())
    return "-".join(words[:SLUG_WORDS])[:SLUG_LIMIT].strip("-")


def _hash(text: str) -> str:
    return hashlib.sha256(normal(text).encode("utf-8", "replace")).hexdigest()[:HASH_LENGTH]
