"""A changed key as people read it: what it is called, what it was, and what it is to be."""

from __future__ import annotations

import json
from enum import Enum
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

from phoenixd.config.duration import Duration, format_duration
from phoenixd.config.tables.agent import AgentTable
from phoenixd.documents.redact import redact

LONGEST = 60
"""Characters of a value that are shown; two of them stand on a line."""
HIDDEN = ("env", "opening")
"""Keys whose values are secrets, or an agent's own words: that they changed is told, and no more."""


def difference(key: str, before: object, after: object) -> str:
    """`restart.max_crashes: 5 -> 9`; what looks like a secret is taken out, and a long value is cut."""
    if key.partition(".")[0] in HIDDEN:
        return key
    return f"{key}: {_shown(key, before)} -> {_shown(key, after)}"


def _shown(key: str, value: object) -> str:
    plain = _plain(key, value)
    text = redact(plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False, default=str))
    return f"{text[:LONGEST]}..." if len(text) > LONGEST else text


def _plain(key: str, value: object) -> object:
    match value:
        case None:
            return "unset"
        case Enum():
            return str(value.value)
        case bool():
            return value
        case int() | float() if is_duration(key):
            return format_duration(value)
        case float():
            return int(value) if value.is_integer() else value
        case _:
            return value


@cache
def is_duration(key: str) -> bool:
    """Whether the key is a length of time, by the table that reads it."""
    table: Any = AgentTable
    *above, last = key.split(".")
    for word in above:
        field = table.model_fields.get(word) if _is_table(table) else None
        table = field.annotation if field is not None else None
    found = table.model_fields.get(last) if _is_table(table) else None
    if found is None:
        return False
    marks = [
        *found.metadata,
        *(mark for one in get_args(found.annotation) for mark in getattr(one, "__metadata__", ())),
    ]
    return any(mark in marks for mark in get_args(Duration)[1:])


def _is_table(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, BaseModel)
