"""How two versions of the core are compared: every value of the core in plain words, which both can write and read.

A dataclass is its class's bare name and those of its fields that differ from their defaults; an enum its class's bare
name and its value. So a class may move to another module, and a field with a default may be added, and the words stay
the same until the field says something. Fields that take no part in a comparison (`compare=False`) are left out: they
hold what is derived from others. Order counts in tuples, and not in mappings; of a fleet's agents it counts.

Standard library alone: the older version runs this beside modules of its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import marshal
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from hashlib import blake2b
from typing import Any, BinaryIO

Plain = Any
"""None, numbers and text as they are; a list for a tuple, a dict for a mapping, a tuple for an object (see `plain`)."""

KEPT: dict[int, tuple[object, Plain]] = {}
"""Specifications in words: large, and the same object for as long as nothing declares it anew."""
MOST_KEPT = 4096


def plain(value: Any) -> Plain:
    """A value of the core in plain words."""
    if value is None or type(value) in (str, float, int, bool):
        return value
    if isinstance(value, Enum):
        return ("e", type(value).__name__, value.value)
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {key: plain(value[key]) for key in sorted(value)}
    if isinstance(value, frozenset | set):
        return ("s", "", sorted(value))
    if not is_dataclass(value):
        raise TypeError(f"the twin has no words for {type(value).__name__}")
    kind = type(value)
    if kind.__name__ != "AgentSpec":
        return _words(value, kind)
    known = KEPT.get(id(value))
    if known is None or known[0] is not value:
        if len(KEPT) > MOST_KEPT:
            KEPT.clear()
        known = KEPT[id(value)] = (value, _words(value, kind))
    return known[1]


def _words(value: Any, kind: type) -> Plain:
    said = {}
    for name, default in _defaults(kind):
        found = getattr(value, name)
        if found is not default and (default is MISSING or found != default):
            said[name] = plain(found)
    return ("d", kind.__name__, said)


def plain_fleet(fleet: Any) -> Plain:
    """A whole fleet: all its fields, and its agents in their order."""
    return {"agents": [plain(agent) for agent in fleet.agents.values()], **plain_rest(fleet)}


def plain_rest(fleet: Any) -> Plain:
    """A fleet without its agents."""
    said = {}
    for name, default in _defaults(type(fleet)):
        if name != "agents" and (found := getattr(fleet, name)) != default:
            said[name] = plain(found)
    return said


def plain_step(before: Any, result: Any, deadline: float | None) -> Plain:
    """All that a step came to: its decisions, the fleet-wide facts, who there is, and the next deadline.

    A note without a word that leaves its agent as it was before the step is none.
    """
    said = [one for one in result.decisions if one.is_worth_keeping or _changes(before, one.agent)]
    return {
        "decisions": plain(said),
        "refusal": plain(result.refusal),
        "fleet": plain_rest(result.fleet),
        "names": list(result.fleet.agents),
        "next deadline": deadline,
    }


def _changes(before: Any, agent: Any) -> bool:
    return agent is None or before.agents.get(agent.name) != agent


def digest(words: Plain) -> str:
    """By which two sides compare long words quickly."""
    return blake2b(repr(words).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def send(stream: BinaryIO, message: Any) -> None:
    content = marshal.dumps(message)
    stream.write(len(content).to_bytes(8, "big") + content)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    size = stream.read(8)
    return marshal.loads(stream.read(int.from_bytes(size, "big"))) if len(size) == 8 else None


def _has(kind: Any, content: dict[str, Plain]) -> bool:
    return set(content) <= set(getattr(kind, "__dataclass_fields__", ()))


class Vocabulary:
    """Reads words back into values of one version of the core."""

    def __init__(self, package: str) -> None:
        self._kinds: dict[str, list[Any]] = {}
        room = importlib.import_module(package)
        modules = [found.name for found in pkgutil.walk_packages(room.__path__, f"{package}.")]
        # Beside the core, because the library knows it too; an older version has none.
        planting = f"{package.rpartition('.')[0]}.planting"
        modules += [planting] if importlib.util.find_spec(planting) is not None else []
        for module in modules:
            for name, kind in vars(importlib.import_module(module)).items():
                if isinstance(kind, type) and kind.__module__.startswith((package, planting)):
                    self._kinds.setdefault(name, []).append(kind)

    def value(self, words: Plain) -> Any:
        """Raises LookupError for a class, and TypeError for a field, that this version does not know."""
        if isinstance(words, list):
            return tuple(self.value(one) for one in words)
        if isinstance(words, dict):
            return {key: self.value(one) for key, one in words.items()}
        if not isinstance(words, tuple):
            return words
        sort, name, content = words
        if sort == "s":
            return frozenset(content)
        if name not in self._kinds:
            raise LookupError(f"this version has no {name}")
        kinds = self._kinds[name]
        # Two rooms may each have a class of that name: the one with these fields is meant.
        kind = next((one for one in kinds if isinstance(content, dict) and _has(one, content)), kinds[0])
        if sort == "e":
            return kind(content)
        return kind(**{field: self.value(one) for field, one in content.items()})

    def fleet(self, words: Plain) -> Any:
        rest = {name: self.value(one) for name, one in words.items() if name != "agents"}
        agents = [self.value(one) for one in words["agents"]]
        return self._kinds["Fleet"][0](agents={agent.name: agent for agent in agents}, **rest)


def differences(here: Plain, there: Plain, place: str = "") -> Iterator[str]:
    """Where two values in words differ, place by place."""
    if here == there and repr(here) == repr(there):
        return
    if isinstance(here, dict) and isinstance(there, dict):
        for name in sorted({*here, *there}):
            yield from differences(here.get(name), there.get(name), f"{place}.{name}" if place else name)
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        for number, (one, other) in enumerate(zip(here, there, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    elif _is_object(here) and _is_object(there) and here[1] == there[1]:
        yield from differences(here[2], there[2], f"{place}:{here[1]}")
    else:
        yield f"{place}: here {_short(here)}, before {_short(there)}"


def _is_object(words: Plain) -> bool:
    return isinstance(words, tuple) and words[0] == "d"


def _short(words: Plain) -> str:
    text = repr(words)
    return text if len(text) <= 400 else f"{text[:400]}... ({len(text)} characters)"


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    compared = [field for field in fields(kind) if field.compare]
    return tuple((field.name, _default(field)) for field in sorted(compared, key=lambda one: one.name))


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default
