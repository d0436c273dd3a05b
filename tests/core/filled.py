"""A value each of whose fields holds something: what forgets a field, or makes it anew, shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from tests.core.story import EPOCH

NAMED: dict[str, Any] = {
    "agent": "a", "incarnation": 1, "number": 2, "hold": 3, "answering": "", "codes": ("aaaaa1", "aaaaa2", "aaaaa3"),
}  # fmt: skip
"""What fields of these names hold, so that they mean the agent and its run."""
LEFT = frozenset({"spec", "state", "desired", "removing", "found", "left_out", "is_subagent", "sub", "orphaned"})
"""Fields that make another situation."""
INSTANT = 30.0


def filled(one: Any) -> Any:
    """The same with something in each field that held nothing."""
    hints = get_type_hints(type(one))
    changed = {}
    for name in (field.name for field in fields(one) if field.init and field.name not in LEFT):
        before = getattr(one, name)
        if is_dataclass(before) and not isinstance(before, type):
            changed[name] = filled(before)
        elif not before:
            changed[name] = something(name, hints[name])
    return replace(one, **changed)


def something(name: str, hint: Any) -> Any:
    """Something of a type; of several the last but None."""
    origin, given = get_origin(hint), get_args(hint)
    if name in NAMED:
        return NAMED[name]
    if origin in (Union, UnionType):
        return something(name, next(one for one in given if one is not type(None)))
    if origin is Literal:
        return next((one for one in reversed(given) if one), given[-1])
    if origin is tuple:
        whole = given[:1] if given[-1] is Ellipsis else given
        return tuple(something("", one) for one in whole)
    if origin is frozenset:
        return frozenset({something("", given[0])})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return list(hint)[-1]
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(**{field.name: something(field.name, hints[field.name]) for field in fields(hint) if field.init})
    if hint is float:
        return EPOCH - 100 if name.endswith(("wall", "created", "active")) else INSTANT
    plain: Mapping[Any, Any] = {int: 2, str: name or "x", bool: True}
    return plain.get(hint, {})
