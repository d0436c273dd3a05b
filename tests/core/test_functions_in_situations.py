"""What each function of the core comes to in each of many situations, as it was when it was last written down.

A function that hears no event is asked with what the situation has of the types that it takes; what no situation has
is made up, with something in each field. A line says how many answers a function has, and a digest of them all: the
line that changed names the function. `python -m tests.core.recorded` writes the table anew; functions that are new, or
gone, change nothing for the others.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import sha256
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import phoenixd.core
from phoenixd.core.agent import Agent
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events import Event
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.moment import Moment
from phoenixd.core.parts import View
from phoenixd.core.seat import finding
from tests.core.filled import something
from tests.core.fleets.every import FLEETS
from tests.core.fleets.situation import At
from tests.core.recorded.keeping import AGAIN, EDGES
from tests.core.recorded.rendering import changes, value

TABLE = EDGES / "functions-in-situations.txt"
Given = dict[Any, Any]
"""What a situation has, by type."""
KINDS = frozenset(get_args(Event))
SITUATIONS = [one for one in FLEETS if "all is known" in one.situation]
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
RAISED = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What a function raises that is asked of others alone."""


def parts(one: Any) -> Iterator[Any]:
    """A value, and the values in its fields; of several the newest."""
    if isinstance(one, tuple):
        one = one[-1] if one else None
    if is_dataclass(one) and not isinstance(one, type):
        for field in fields(one):
            yield from parts(getattr(one, field.name))
        yield one


def given(one: At) -> Given:
    agent, seat = one.agent, finding.of(one.fleet, one.agent.name)
    wholes = (one.fleet.cases, one.fleet.tasks, seat, agent)
    found: Given = {type(part): part for whole in wholes for part in parts(whole)}
    decision = Decision(agent)
    return {
        **found, Fleet: one.fleet, Step: Step(one.fleet), Agent: agent, Decision: decision, Seen: Seen(agent, decision),
        View: agent.view(), Moment: one.now, str: agent.name, int: agent.incarnation, float: one.now.wall, bool: True,
        type(one.fleet.roster): one.fleet.roster,
    }  # fmt: skip


def argument(hint: Any, has: Given) -> Any:
    """What a situation has of a type, else something."""
    origin, of = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return next((has[one] for one in of if one in has), None if type(None) in of else argument(of[0], has))
    if hint in has:
        return has[hint]
    if origin is Literal or not of:
        return made_up(hint)
    if isinstance(origin, type) and issubclass(origin, dict):
        return {has[str]: argument(of[-1], has)}
    if getattr(origin, "__name__", "") == "Mapping":
        return has[Fleet].agents if of[-1] is Agent else {has[str]: argument(of[-1], has)}
    if origin is tuple:
        return tuple(argument(one, has) for one in (of[:1] if of[-1] is Ellipsis else of))
    if getattr(origin, "__name__", "") in ("Iterable", "Sequence", "list"):
        return [argument(of[0], has)]
    return made_up(hint)


@cache
def made_up(hint: Any) -> Any:
    return something("", hint)


def is_left_alone(hint: Any) -> bool:
    """Events are told to each situation by another test."""
    return get_origin(hint) is type or "Callable" in str(hint) or bool(KINDS & {hint, *get_args(hint)})


def functions() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """Every function of the core that is none of a test's making, with the types of what it takes."""
    for info in pkgutil.walk_packages(phoenixd.core.__path__, "phoenixd.core."):
        for name, one in vars(importlib.import_module(info.name)).items():
            if not inspect.isfunction(one) or one.__module__ != info.name:
                continue
            try:
                hints = get_type_hints(one)
            except NameError:  # A type that is imported for the type checker alone.
                continue
            takes = {key: hints[key] for key in inspect.signature(one).parameters if key in hints}
            if takes and not any(map(is_left_alone, takes.values())):
                yield f"{info.name.removeprefix('phoenixd.core.')}.{name}", one, takes


def said(found: Any, one: At) -> str:
    """An answer as text: of what was made of an agent or a fleet, what changed."""
    if inspect.isgenerator(found):
        found = tuple(found)
    if isinstance(found, Decision):
        becomes = tuple(changes("", one.agent, found.agent)) if found.agent is not None else ()
        return value((found.reason, found.readings, *found.actions, *found.facts, found.weight, *becomes))
    if isinstance(found, Step):
        return value((found.refusal, *found.decisions, *changes("", one.fleet, found.fleet)))
    if isinstance(found, Agent):
        return value(tuple(changes("", one.agent, found)))
    if isinstance(found, Fleet):
        return value(tuple(changes("", one.fleet, found)))
    return ADDRESS.sub("", value(found))


def answers(function: Callable[..., Any], takes: dict[str, Any], every: list[tuple[At, Given]]) -> Iterator[str]:
    for one, has in every:
        try:
            yield said(function(**{name: argument(hint, has) for name, hint in takes.items()}), one)
        except RAISED as refused:
            yield type(refused).__name__


def table() -> dict[str, str]:
    every = [(one, given(one)) for one in SITUATIONS]
    found = {}
    for name, function, takes in functions():
        each = list(answers(function, takes, every))
        digest = sha256("\n".join(each).encode()).hexdigest()[:8]
        found[name] = f"{len(set(each))} answers #{digest}"
    return found


def test_a_function_comes_in_the_situations_to_what_it_came_to() -> None:
    found = table()
    if AGAIN in os.environ:
        TABLE.write_text("".join(f"{name}: {said}\n" for name, said in sorted(found.items())), encoding="utf-8")
    before = dict(line.split(": ", 1) for line in TABLE.read_text(encoding="utf-8").splitlines())
    there = found.keys() & before.keys()
    assert {name: found[name] for name in there} == {name: before[name] for name in there}, (
        "if that is meant: python -m tests.core.recorded"
    )
