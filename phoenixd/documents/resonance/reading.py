"""JSON papers of resonance: read tolerantly, with a bound, and no key lost that we do not know."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MOST_BYTES = 1 << 20
LONGEST_TEXT = 8000
MOST_TEXTS = 200

_UNSAFE = {code: None for code in (*range(0xD800, 0xE000), 0)}


def read_object(text: str) -> dict[str, Any] | None:
    """The object of a paper; None where it is torn, empty, too large, or something else."""
    if len(text) > MOST_BYTES:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def text_of(table: Mapping[str, Any], *keys: str) -> str:
    """The text below the first of these keys that has one, of bounded length; empty where there is none."""
    found = next((table[key] for key in keys if isinstance(table.get(key), str)), "")
    return str(found).translate(_UNSAFE)[:LONGEST_TEXT]


def texts_of(table: Mapping[str, Any], *keys: str) -> tuple[str, ...]:
    """The texts of the first of these keys that has a list."""
    found: list[Any] = next((table[key] for key in keys if isinstance(table.get(key), list)), [])
    return tuple(one.translate(_UNSAFE)[:LONGEST_TEXT] for one in found[:MOST_TEXTS] if isinstance(one, str))


def written(table: Mapping[str, Any]) -> str:
    return json.dumps(table, ensure_ascii=False, indent=2) + "\n"
