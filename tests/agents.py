"""Arbitrary values of the core for property tests, drawn from the type hints: a new field is covered at once."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.spec import AgentSpec


def an_agent(name: str = "a", **changes: Any) -> Agent:
    """A stopped agent that was never started."""
    spec = AgentSpec(name=name, argv=("sleep", "60"), cwd="/srv")
    return replace(Agent(spec, Desired.STOPPED, Stopped(), since_wall=0.0, reason="declared"), **changes)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Every value that a type hint allows, except NaN, which equals nothing."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is float:
        return st.floats(allow_nan=False) | st.integers(-10, 10)
    if hint is str:
        return st.text(st.characters(), max_size=20)  # Lone surrogates included: agents can send them.
    if hint is NoneType:
        return st.none()
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of([values_of(argument) for argument in arguments])
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*[values_of(argument) for argument in arguments])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(list(hint))
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(hint, **{field.name: values_of(hints[field.name]) for field in fields(hint)})
    return st.from_type(hint)


agents = values_of(Agent)
