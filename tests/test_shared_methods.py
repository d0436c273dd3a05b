"""What dataclasses share is what the standard library would have made for each of them."""

from __future__ import annotations

import dataclasses
import gc
import sys
import weakref
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any

import pytest

from phoenixd.shared_methods import MAKERS, shared_methods

IN_ANOTHER_WAY = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="not run: this Python makes them in another way"
)


class Kinds:
    """Some dataclasses, made anew."""

    Slotted: Any
    Open: Any
    Below: Any
    Silent: Any
    Loose: Any

    def __init__(self) -> None:
        @dataclass(frozen=True, slots=True)
        class Slotted:
            name: str
            inner: Any = None
            hidden: str = field(default="never", repr=False)

        @dataclass(frozen=True)
        class Open:
            name: str

        class Below(Open):
            pass

        @dataclass(frozen=True, repr=False)
        class Silent(Open):
            key: str = "never"

        @dataclass
        class Loose:
            name: str

        self.Slotted, self.Open, self.Below, self.Silent, self.Loose = Slotted, Open, Below, Silent, Loose


def kinds() -> tuple[Kinds, Kinds]:
    with shared_methods():
        shared = Kinds()
    return Kinds(), shared


@IN_ANOTHER_WAY
def test_a_class_with_slots_holds_on_to_nothing_of_the_one_that_it_was_made_of() -> None:
    with shared_methods():

        @dataclass(frozen=True, slots=True)
        class MadeTwice:
            name: str

        @dataclass(slots=True, weakref_slot=True)
        class Referable:
            name: str

    gc.collect()
    assert [one for one in object.__subclasses__() if one.__name__ == "MadeTwice"] == [MadeTwice]
    with pytest.raises(TypeError):
        weakref.ref(MadeTwice("a"))
    value = Referable("a")
    assert weakref.ref(value)() is value


def test_they_are_shown_alike() -> None:
    for one in kinds():
        circle: list[Any] = []
        value = one.Slotted("a", circle)
        circle.append(value)
        assert repr(value).endswith("Slotted(name='a', inner=[...])")
        assert repr(one.Loose("b")).endswith("Loose(name='b')")
        assert repr(one.Below("c")).endswith("Below(name='c')")
        assert repr(one.Silent("d")).endswith("Silent(name='d')"), "it was declared to show nothing of its own"


def test_what_is_frozen_takes_no_value() -> None:
    for one in kinds():
        for value in (one.Slotted("a"), one.Open("a"), one.Below("a")):
            with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
                value.name = "b"
            with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
                del value.name
            assert value.name == "a"
        with pytest.raises(FrozenInstanceError):
            one.Open("a").other = 1
        below = one.Below("a")
        below.other = 1
        assert below.other == 1
        del below.other
        loose = one.Loose("a")
        loose.name = "b"
        assert loose.name == "b"


@IN_ANOTHER_WAY
def test_they_are_one_for_all_and_nothing_else_is_changed() -> None:
    before = [vars(dataclasses)[name] for name in MAKERS]
    own, shared = kinds()

    assert [vars(dataclasses)[name] for name in MAKERS] == before
    assert own.Slotted.__setattr__ is not own.Open.__setattr__
    assert shared.Slotted.__setattr__ is shared.Open.__setattr__
    assert shared.Slotted.__repr__ is shared.Loose.__repr__
    assert hash(shared.Slotted("a")) == hash(shared.Slotted("a"))
