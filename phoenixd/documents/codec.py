"""Lossless JSON of the core's frozen dataclasses, as the journal keeps an agent between two lives of the daemon.

The type hints are the schema: a dataclass is an object, a tuple an array, a set a sorted one, an enum its value, and a
union of states the one whose `name` literal the object carries. What an older version did not write takes its default,
what a newer one added is dropped; anything else that does not fit is refused, never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from phoenixd.core.agent import Agent
from phoenixd.core.spec import AgentSpec
from phoenixd.documents import older

T = TypeVar("T")
Decoder = Callable[[Any], Any]

PLAIN = frozenset({NoneType, bool, int, float, str})
NEVER_STORED = {AgentSpec: frozenset({"env"})}
"""An agent's environment holds its keys: it lives in the configuration and nowhere else."""


class Undecodable(ValueError):
    """The JSON is not a value of the type asked for; the message says where."""


class SpecMissing(Undecodable):
    """A snapshot stands without the specification that it belongs to."""


def dump_snapshot(agent: Agent, spec: int) -> str:
    """Render an agent with a number in the place of its specification, which stands elsewhere under that number."""
    data = {name: encode(getattr(agent, name)) for name in _stored_names(Agent) if name != "spec"}
    return json.dumps({"spec": spec, **data}, separators=(",", ":"))


def dump_spec(spec: AgentSpec) -> str:
    """Render a specification, without its environment, as one line of ASCII."""
    return json.dumps(encode(spec), separators=(",", ":"))


def load_snapshot(text: str, number: int | None, spec: str) -> Agent:
    """Read what dump_snapshot rendered, with the specification that stands under `number`.

    Raises Undecodable, and SpecMissing where the snapshot belongs to another one.
    """
    data = _parsed(text)
    if not isinstance(data, dict) or type(data.get("spec")) is not int:
        raise Undecodable("it names no specification")
    if data["spec"] != number:
        raise SpecMissing(f"its specification {data['spec']} is not there")
    return decode(Agent, older.agent({**data, "spec": _parsed(spec)}))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Undecodable(f"not JSON: {error}") from None


def encode(value: Any) -> Any:
    """Turn a value of the core into plain JSON data."""
    kind: Any = type(value)
    return value if kind in PLAIN else _encoder(kind)(value)


@cache
def _encoder(kind: Any) -> Callable[[Any], Any]:
    """What encodes values of a type: this runs on the commit path, several hundred times for each agent."""
    if issubclass(kind, bool | int | float):
        return lambda value: value
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, str):
        return lambda value: value
    if issubclass(kind, tuple | list):
        return lambda value: [item if type(item) in PLAIN else encode(item) for item in value]
    if _is_object(kind):
        return partial(_encoded, _stored_names(kind))
    if issubclass(kind, frozenset):
        return lambda value: sorted(encode(item) for item in value)
    if issubclass(kind, Mapping):
        return lambda value: {str(key): encode(item) for key, item in value.items()}
    raise TypeError(f"a snapshot cannot hold {kind.__name__}")


def _encoded(names: tuple[str, ...], value: Any) -> dict[str, Any]:
    found = {}
    for name in names:
        item = getattr(value, name)
        found[name] = item if type(item) in PLAIN else encode(item)
    return found


def decode(kind: type[T], data: Any) -> T:
    """Turn plain JSON data back into a value of `kind`; raises Undecodable."""
    hint: Any = kind
    return cast(T, _decoder(hint)(data))


def _is_object(hint: Any) -> bool:
    return isinstance(hint, type) and is_dataclass(hint)


@cache
def _stored_names(kind: Any) -> tuple[str, ...]:
    omitted = NEVER_STORED.get(kind, frozenset())
    return tuple(field.name for field in fields(kind) if field.name not in omitted)


@cache
def _decoder(hint: Any) -> Decoder:
    if hint is Any:
        return lambda data: data
    if hint in (bool, int, float, str, NoneType):
        return _scalar(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _choice(arguments)
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin is tuple:
        return _array(arguments)
    if origin is frozenset:
        return _set(arguments[0])
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enumeration(hint)
    if _is_object(hint):
        return _object(hint)
    raise TypeError(f"a snapshot cannot hold {hint!r}")


def _scalar(kind: type[Any]) -> Decoder:
    # A float may have been given as an int and is kept as it was; a bool is an int only to Python.
    accepted = (int, float) if kind is float else (kind,)

    def read(data: Any) -> Any:
        if type(data) in accepted:
            return data
        raise Undecodable(f"expected {kind.__name__}, found {_name(data)}")

    return read


def _choice(values: tuple[Any, ...]) -> Decoder:
    def read(data: Any) -> Any:
        for value in values:
            if type(value) is type(data) and value == data:
                return value
        raise Undecodable(f"expected one of {values}, found {_name(data)}")

    return read


def _enumeration(kind: type[Enum]) -> Decoder:
    def read(data: Any) -> Any:
        try:
            return kind(data)
        except ValueError:
            raise Undecodable(f"{_name(data)} is no {kind.__name__}") from None

    return read


def _array(arguments: tuple[Any, ...]) -> Decoder:
    if arguments[-1] is Ellipsis:
        item = _decoder(arguments[0])

        def read_any_length(data: Any) -> Any:
            return tuple(_at(index, item, value) for index, value in enumerate(_list(data)))

        return read_any_length
    items = tuple(_decoder(argument) for argument in arguments)

    def read(data: Any) -> Any:
        if len(_list(data)) != len(items):
            raise Undecodable(f"expected {len(items)} items, found {len(data)}")
        return tuple(_at(index, item, value) for index, (item, value) in enumerate(zip(items, data, strict=True)))

    return read


def _set(argument: Any) -> Decoder:
    item = _decoder(argument)

    def read(data: Any) -> Any:
        return frozenset(_at(index, item, value) for index, value in enumerate(_list(data)))

    return read


def _union(arguments: tuple[Any, ...]) -> Decoder:
    tagged = {_tag(member): _decoder(member) for member in arguments if _is_object(member)}
    others = [_decoder(member) for member in arguments if not _is_object(member)]
    # What any scalar of the union takes is taken as it is, without a refusal by those that stand before it.
    scalars = {member for member in arguments if not _is_object(member)}
    plain = (scalars if scalars <= PLAIN else scalars & {NoneType}) | (
        {int} if scalars <= PLAIN and float in scalars else set()
    )

    def read(data: Any) -> Any:
        if type(data) in plain:
            return data
        if isinstance(data, dict) and tagged:
            name = data.get("name")
            member = next(iter(tagged.values())) if len(tagged) == 1 else None
            if member is None and isinstance(name, str):
                member = tagged.get(name)
            if member is None:
                raise Undecodable(f"unknown name {_name(name)}")
            return member(data)
        for other in others:
            try:
                return other(data)
            except Undecodable:
                continue
        raise Undecodable(f"{_name(data)} does not fit")

    return read


def _object(kind: Any) -> Decoder:
    hints = get_type_hints(kind)
    readers = {name: _decoder(hints[name]) for name in _stored_names(kind)}
    required = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}

    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise Undecodable(f"expected {kind.__name__}, found {_name(data)}")
        if missing := required - data.keys():
            raise Undecodable(f"{kind.__name__} lacks {', '.join(sorted(missing))}")
        given, name = {}, ""
        try:
            for name, reader in readers.items():
                if name in data:
                    given[name] = reader(data[name])
        except Undecodable as error:
            raise Undecodable(f"{name}: {error}") from None
        return kind(**given)

    return read


def _tag(member: Any) -> Any:
    hint = get_type_hints(member).get("name")
    return get_args(hint)[0] if get_origin(hint) is Literal else member


def _at(place: str | int, reader: Decoder, data: Any) -> Any:
    try:
        return reader(data)
    except Undecodable as error:
        raise Undecodable(f"{place}: {error}") from None


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise Undecodable(f"expected an array, found {_name(data)}")
    return data


def _name(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:60]}..."
