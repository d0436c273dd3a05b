"""A decision as text that a person can compare: the event, what changed of the fleet, what is to be done, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from functools import cache
from typing import Any

from phoenixd.core.agent import Agent
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events import Event
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.moment import Moment
from phoenixd.core.projection import project
from phoenixd.core.spec import AgentSpec, FleetLimits
from tests.core.story import EPOCH

LONGEST = 100
"""Characters of a text that are shown; of what is longer, its length tells whether it changed."""
DERIVED = (
    "activity", "waiting_for", "parked_until", "due", "hooks", "context", "armed", "generation", "doing", "project",
    "step", "case", "muted_until", "is_acknowledged",
)  # fmt: skip
"""What a row shows that is derived from several facts."""
UUID_LENGTH = 36
UUID = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def told(before: Fleet, event: Event, now: Moment, found: Step) -> str:
    """Return one step: a line for the event, and below it what came of it."""
    lines = [f"{now.at:g} {value(event)}"]
    if found.refusal is not None:
        lines.append(f"    refused {value(found.refusal)}")
    for decision in found.decisions:
        name = decision.agent.name if decision.agent is not None else "fleet"
        weight = f" [{decision.weight}]" if decision.weight else ""
        gone = " removed" if decision.removed else ""
        lines.append(f"    {name}{weight}{gone}: {clipped(decision.reason)}")
        lines += [f"        {name}={value(reading)}" for name, reading in decision.readings]
        lines += [f"        do {value(action)}" for action in decision.actions]
        lines += [f"        fact {value(fact)}" for fact in decision.facts]
        lines += [f"        sample {value(decision.sample)}"] * (decision.sample is not None)
    lines += [f"    keep {value(one)}" for one in found.kept]
    if found.fleet is before:
        return "\n".join(lines)
    lines += [f"    {line}" for line in changes("", before, found.fleet)]
    lines += [f"    {line}" for line in changes("next", next_deadline(before, now), next_deadline(found.fleet, now))]
    was = shown(before, now)
    lines += [f"    {name} shows {row}" for name, row in shown(found.fleet, now).items() if row != was.get(name)]
    return "\n".join(lines)


def shown(fleet: Fleet, now: Moment) -> dict[str, str]:
    """What faces show of each agent, beside what its state says by itself."""
    return {
        row.name: " ".join(
            (row.state, row.group, *(f"{name}={value(getattr(row, name))}" for name in DERIVED if getattr(row, name)))
        )
        for row in project(fleet, now)
    }


def changes(place: str, old: Any, new: Any) -> Iterator[str]:
    """What differs, one line for each leaf; `place` is the way to it."""
    if old is new or (type(old) is type(new) and old == new):
        return
    if hasattr(type(old), "__dataclass_fields__") and hasattr(type(new), "__dataclass_fields__"):
        yield from _of_dataclass(place, old, new)
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}, key=str):
            inner = f"{place}.{key}".lstrip(".")
            if key not in new:
                yield f"{inner} is gone"
            elif key not in old:
                yield f"{inner} = {value(new[key])}"
            else:
                yield from changes(inner, old[key], new[key])
    elif isinstance(old, tuple) and isinstance(new, tuple):
        yield from _of_tuple(place, old, new)
    else:
        yield f"{place}: {value(old)} -> {value(new)}"


def _of_dataclass(place: str, old: Any, new: Any) -> Iterator[str]:
    if type(old) is not type(new):
        yield f"{place}: {type(old).__name__} -> {type(new).__name__}"
    known = type(old).__dataclass_fields__
    for name in _fields(type(new)):
        # What the fleet holds is found by its name alone: the agents' names are unique, and so are the other parts'.
        inner = "" if name == "agents" and isinstance(new, Fleet) else f"{place}.{name}".lstrip(".")
        if name in known:
            yield from changes(inner, getattr(old, name), getattr(new, name))
        elif _is_shown(new, name):
            yield f"{inner} = {value(getattr(new, name))}"


def _of_tuple(place: str, old: tuple[Any, ...], new: tuple[Any, ...]) -> Iterator[str]:
    if len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from changes(f"{place}[{number}]", one, other)
        return
    begin = 0
    while begin < min(len(old), len(new)) and old[begin] == new[begin]:
        begin += 1
    end = 0
    while end < min(len(old), len(new)) - begin and old[-1 - end] == new[-1 - end]:
        end += 1
    yield from (f"{place} - {value(one)}" for one in old[begin : len(old) - end])
    yield from (f"{place} + {value(one)}" for one in new[begin : len(new) - end])


def value(found: Any) -> str:
    """A value in one line: of a dataclass, the fields that hold something."""
    kind = type(found)
    if hasattr(kind, "__dataclass_fields__"):
        shown = [f"{name}={value(getattr(found, name))}" for name in _fields(kind) if _is_shown(found, name)]
        return f"{kind.__name__}({', '.join(shown)})"
    match found:
        case Enum():
            return str(found.value)
        case str():
            return repr(clipped(found))
        case float():
            return f"{EPOCH:.0f}{found - EPOCH:+.10g}" if abs(found - EPOCH) < EPOCH / 2 else f"{found:.10g}"
        case tuple():
            return f"({', '.join(map(value, found))})"
        case frozenset() | set():
            return f"{{{', '.join(sorted(map(value, found)))}}}"
        case Mapping():
            return f"{{{', '.join(f'{key}: {value(one)}' for key, one in found.items())}}}"
    return repr(found)


def clipped(text: str) -> str:
    if len(text) >= UUID_LENGTH:
        text = UUID.sub(r"\1", text)
    text = text.replace("\n", "\\n")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)})"


def _is_shown(owner: Any, name: str) -> bool:
    """Whether a field says something: of what an operator can ask for, only what is not at its default."""
    found = getattr(owner, name)
    if name in (defaults := _defaults(type(owner))):
        return bool(found != defaults[name])
    return bool(found) and not (hasattr(type(found), "__dataclass_fields__") and value(found).endswith("()"))


@cache
def _fields(kind: type[Any]) -> tuple[str, ...]:
    """What is shown of a class: why an agent is as it is stands with the decision, and a class says its own name."""
    return tuple(
        field.name
        for field in fields(kind)
        if field.init
        and not (field.name == "name" and field.default is not MISSING)
        and not (kind is Agent and field.name == "reason")
    )


@cache
def _defaults(kind: type[Any]) -> dict[str, Any]:
    """What an operator can ask for, as it is unless he does; of other classes nothing."""
    if not issubclass(kind, AgentSpec | FleetLimits) and not kind.__name__.endswith("Rules"):
        return {}
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(kind)
    }
