"""`dataclasses.replace` for values of the core, which are copied several dozen times for each event.

The same with the same checks by mypy; it copies the slots of a frozen value instead of calling its constructor, which
sets one after the other past `__setattr__`: an eighth of the time for an Agent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from dataclasses import replace as _by_constructor
from operator import attrgetter
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as replace
else:

    def replace(value: Any, /, **changes: Any) -> Any:
        """The value with these fields changed; raises TypeError for a field that it does not have."""
        kind = type(value)
        known = _SHAPES.get(kind) or _shape_of(kind)
        if not known.setters:
            return _by_constructor(value, **changes)
        new = object.__new__(kind)
        for put, content in zip(known.setters, known.contents(value)):  # noqa: B905  # As many as there are fields.
            put(new, content)
        for name, content in changes.items():
            put = known.by_name.get(name)
            if put is None:
                raise TypeError(f"{kind.__name__} takes no {name}")
            put(new, content)
        if known.derives:
            new.__post_init__()
        return new


class _Shape:
    """How the values of one class are copied. No setters: by their constructor."""

    __slots__ = ("by_name", "contents", "derives", "setters")

    def __init__(self, kind: type[Any]) -> None:
        names = [one.name for one in fields(kind) if one.init]
        slots = [getattr(kind, name, None) for name in names]
        is_of_slots = len(names) > 1 and all(isinstance(slot, MemberDescriptorType) for slot in slots)
        self.by_name: dict[str, Callable[[Any, Any], None]] = {
            name: slot.__set__ for name, slot in zip(names, slots, strict=True) if is_of_slots and slot is not None
        }
        self.setters = tuple(self.by_name.values())
        self.contents: Callable[[Any], tuple[Any, ...]] = attrgetter(*names) if is_of_slots else tuple
        self.derives = hasattr(kind, "__post_init__")


_SHAPES: dict[type[Any], _Shape] = {}


def _shape_of(kind: type[Any]) -> _Shape:
    return _SHAPES.setdefault(kind, _Shape(kind))
