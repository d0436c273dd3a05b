"""Methods that dataclasses have in common, in place of a compiled copy for each: 4 MiB of a daemon, and a fifth of its
start.

The standard library compiles `__repr__`, `__setattr__` and `__delattr__` of each frozen dataclass from a text of its
own, up to Python 3.12. A daemon has 800 of them, shows few, and sets a field of none.
"""

from __future__ import annotations

import contextlib
import dataclasses
import reprlib
from collections.abc import Iterator
from typing import Any

MAKERS = ("_repr_fn", "_frozen_get_del_attr")
"""What makes them there. Where one has another name, each dataclass has its own, as ever."""

SLOTTED = "_add_slots"
"""What makes a dataclass anew with slots. Python 3.11.2 has it hold on to the class without slots: 800 of them."""


@contextlib.contextmanager
def shared_methods() -> Iterator[None]:
    """Dataclasses that are made meanwhile share these methods."""
    library = vars(dataclasses)
    known = {name: library[name] for name in MAKERS if name in library}
    if len(known) == len(MAKERS):
        library |= {"_repr_fn": lambda fields, names: _repr, "_frozen_get_del_attr": lambda *_: (_set, _delete)}
    if (add_slots := library.get(SLOTTED)) is not None:
        known[SLOTTED] = add_slots
        library[SLOTTED] = lambda kind, *more: _let_go(kind, add_slots(kind, *more))
    try:
        yield
    finally:
        library |= known


def _let_go(before: type, made: type) -> type:
    """The class that was made, without what the one before knew of references to its instances."""
    left = vars(made).get("__weakref__")
    if left is not None and left is vars(before).get("__weakref__"):
        type.__delattr__(made, "__weakref__")
    return made


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    # What inherits it may have fields of its own that it was declared not to show.
    kind = next(one for one in type(self).__mro__ if vars(one).get("__repr__") is _repr)
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(kind) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _set(self: Any, name: str, value: object) -> None:
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete(self: Any, name: str) -> None:
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(self: Any, name: str) -> bool:
    """Whether it is a field, or anything of a class that was declared frozen itself: what inherits one may add more."""
    kind = type(self)
    return "__dataclass_params__" in vars(kind) or name in kind.__dataclass_fields__


# The library names what it takes by that.
_set.__name__, _delete.__name__ = "__setattr__", "__delattr__"
