"""A value of the core is changed as `dataclasses.replace` changes it, whichever class it is of."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import sys
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any

import pytest

import phoenixd.core
from phoenixd.core import change
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import in_words
from phoenixd.core.spec import AgentSpec
from tests.core.story import Story, claude

AGENT = Agent(AgentSpec("a", ("x",), "/"), Desired.STOPPED, Stopped(), 1.0, "declared")


@dataclass(frozen=True, slots=True)
class Derived:
    """Of this one field follows from another."""

    one: int
    two: int = 2
    double: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.one)


@dataclass(frozen=True)
class Loose:
    """Without slots."""

    one: int
    two: int = 2


def changed(value: Any, **changes: Any) -> Any:
    return change.replace(value, **changes)


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (AGENT, {}),
        (AGENT, {"incarnation": 7, "labels": ("x",)}),
        (Fleet(), {"agents": {"a": AGENT}}),
        (Fleet(agents={"a": AGENT}), {"next_item": 7}),
        (Derived(1), {"one": 4}),
        (Loose(1), {"two": 4}),
    ],
)
def test_it_is_what_the_library_makes_of_it(value: Any, changes: dict[str, Any]) -> None:
    changes = {name: content for name, content in changes.items() if hasattr(value, name)}
    made, expected = changed(value, **changes), dataclasses.replace(value, **changes)

    assert made == expected
    assert type(made) is type(value)
    assert [getattr(made, one.name) for one in dataclasses.fields(made)] == [
        getattr(expected, one.name) for one in dataclasses.fields(expected)
    ]


def test_the_value_before_stays_and_the_new_one_is_frozen_too() -> None:
    made = changed(AGENT, incarnation=7)

    assert (AGENT.incarnation, made.incarnation) == (0, 7)
    with pytest.raises(FrozenInstanceError):
        made.incarnation = 8


@pytest.mark.parametrize(("value", "name"), [(AGENT, "nonsense"), (Derived(1), "double"), (Loose(1), "nonsense")])
def test_a_field_that_it_does_not_take_is_refused(value: Any, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=name):
        changed(value, **{name: 1})


def test_every_class_of_the_core_can_be_copied() -> None:
    """A mutable default, a property or a base with slots of its own would make a wrong copy: none has one."""
    seen = 0
    for module in pkgutil.walk_packages(phoenixd.core.__path__, "phoenixd.core."):
        for kind in vars(importlib.import_module(module.name)).values():
            if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == module.name:
                shape = change._Shape(kind)
                names = {one.name for one in dataclasses.fields(kind) if one.init}
                assert not shape.setters or set(shape.by_name) == names, kind
                seen += bool(shape.setters)
    assert seen > 100


def test_what_a_flood_of_hooks_is_made_of_is_stepped_without_a_constructor_and_without_a_sentence() -> None:
    """Of 20,000 events a second nearly all are these: a copy by its constructor costs eight times as much, and that a
    turn is not hung yet needs no words."""
    story, slow = Story(claude()).works(), {dataclasses.replace.__code__, in_words.__wrapped__.__code__}
    found: list[str] = []

    def talk(number: int) -> None:
        for kind in ("prompt-submit", "tool-start", "tool-end", "stop"):
            story.hook(kind, tool="Bash", tool_use_id=f"t{number}", command="make test")

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code in slow:
            found.append(f"{frame.f_code.co_name} by {frame.f_back.f_code.co_qualname}")

    talk(1)
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        talk(2)
    finally:
        sys.setprofile(before)

    assert found == []
