"""What a request carries, checked against the table: names, types, bounds; unknown fields are refused, not ignored."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from phoenixd.api.operations.operation import NAME_SHAPE, Operation, Parameter
from phoenixd.api.problems import Problem
from phoenixd.core.durations import MAX_DURATION, parse_duration

TRUE = frozenset({"1", "true", "yes"})
FALSE = frozenset({"0", "false", "no"})
MAX_ITEMS = 1000
MAX_DIGITS = 15
Arguments = dict[str, Any]


def from_query(operation: Operation, pairs: Iterable[tuple[str, str]]) -> Arguments:
    """Arguments in the query string, as text."""
    known = {parameter.name: parameter for parameter in operation.at("query")}
    found: Arguments = {}
    for name, text in pairs:
        if name not in known:
            raise _unknown(operation, "parameter", name, known)
        if name in found:
            raise Problem("invalid", f"{name} is given twice", _help(operation))
        found[name] = _checked(operation, known[name], _typed(operation, known[name], text))
    return _completed(operation, known, found)


def from_body(operation: Operation, body: bytes) -> Arguments:
    """Arguments in the JSON body; an empty body is an empty object."""
    known = {parameter.name: parameter for parameter in operation.at("body")}
    given = _object(operation, body) if body.strip() else {}
    found: Arguments = {}
    for name, value in given.items():
        if name not in known:
            raise _unknown(operation, "field", name, known)
        if value is not None:
            found[name] = _checked(operation, known[name], value)
    return _completed(operation, known, found)


def from_path(operation: Operation, given: Mapping[str, str]) -> Arguments:
    """Arguments in the path. A name that no agent can have is an agent that is not there, and so are other names."""
    for parameter in operation.at("path"):
        value = given.get(parameter.name, "")
        if parameter.pattern and not re.fullmatch(parameter.pattern, value):
            if parameter.name != "name":
                why = f"{parameter.help}: it cannot be {value[:40]!r}; it is {shape(parameter)}"
                raise Problem("not_found", why, parameter.listed or _help(operation))
            why = f"there can be no agent {value[:40]!r}"
            if re.fullmatch(parameter.pattern, value.lower()):
                raise Problem("not_found", f"{why}: names are lower case", f"phoenixctl status {value.lower()}")
            raise Problem("not_found", why, "phoenixctl status")
    return dict(given)


def shape(parameter: Parameter) -> str:
    """How its values are written, in words: a pattern is no answer to a person."""
    return parameter.shape or NAME_SHAPE


def _object(operation: Operation, body: bytes) -> dict[str, Any]:
    try:
        # Python's own limits hold here: RecursionError for deep nesting, ValueError for endless numbers.
        given = json.loads(body.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Problem("invalid", f"the body is not JSON: {str(error)[:120]}", _help(operation)) from None
    if not isinstance(given, dict):
        raise Problem("invalid", f"the body is a JSON {type(given).__name__}, not an object", _help(operation))
    return given


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _typed(operation: Operation, parameter: Parameter, text: str) -> Any:
    match parameter.type:
        case "integer":
            if re.fullmatch(r"-?[0-9]+", text) is None:
                raise _wrong(operation, parameter, "is not a whole number")
            if len(text.lstrip("-")) > MAX_DIGITS:
                bound = parameter.minimum if text.startswith("-") else parameter.maximum
                than = f"less than {bound}" if text.startswith("-") else f"more than {bound}"
                why = f"is {than}" if bound is not None else f"is a number of more than {MAX_DIGITS} digits"
                raise _wrong(operation, parameter, why)
            return int(text)
        case "boolean":
            if text.lower() not in TRUE | FALSE:
                raise _wrong(operation, parameter, "is neither true nor false")
            return text.lower() in TRUE
        case _:
            return text


def _checked(operation: Operation, parameter: Parameter, value: Any) -> Any:
    match parameter.type:
        case "string":
            if not isinstance(value, str):
                raise _wrong(operation, parameter, "is not a text")
            _check_text(operation, parameter, value)
        case "boolean":
            if not isinstance(value, bool):
                raise _wrong(operation, parameter, "is neither true nor false")
        case "integer":
            if not isinstance(value, int) or isinstance(value, bool):
                raise _wrong(operation, parameter, "is not a whole number")
            if parameter.minimum is not None and value < parameter.minimum:
                raise _wrong(operation, parameter, f"is less than {parameter.minimum}")
            if parameter.maximum is not None and value > parameter.maximum:
                raise _wrong(operation, parameter, f"is more than {parameter.maximum}")
        case "duration":
            return _duration(operation, parameter, value)
        case "strings" | "words":
            most = parameter.maximum or MAX_ITEMS
            if not isinstance(value, list) or len(value) > most:
                raise _wrong(operation, parameter, f"is not a list of at most {most} texts")
            for item in value:
                _check_text(operation, parameter, item)
        case "pairs":
            if not isinstance(value, dict) or len(value) > MAX_ITEMS:
                raise _wrong(operation, parameter, f"is not a table of at most {MAX_ITEMS} texts")
            for key, item in value.items():
                _check_text(operation, parameter, key)
                _check_text(operation, parameter, item)
                if not key or "=" in key:
                    raise _wrong(operation, parameter, f"has {key[:40]!r} for a name")
    return value


def _check_text(operation: Operation, parameter: Parameter, value: Any) -> None:
    if not isinstance(value, str):
        raise _wrong(operation, parameter, "holds something that is not a text")
    if "\0" in value:
        raise _wrong(operation, parameter, "holds a zero byte")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise _wrong(operation, parameter, "holds half a character (a lone surrogate)")
    if parameter.choices and value not in parameter.choices:
        raise _wrong(operation, parameter, f"is none of: {', '.join(parameter.choices)}")
    if parameter.pattern and not re.fullmatch(parameter.pattern, value):
        why = f"{parameter.name} cannot be {value[:40]!r}: it is {shape(parameter)}"
        raise Problem("invalid", why, parameter.listed or _help(operation))


def _duration(operation: Operation, parameter: Parameter, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(min(max(value, -1), MAX_DURATION + 1))
    elif isinstance(value, str):
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            raise _wrong(operation, parameter, str(error)) from None
    else:
        raise _wrong(operation, parameter, "is no duration")
    if not 0 <= seconds <= MAX_DURATION:
        raise _wrong(operation, parameter, "is not between 0 and 7 days")
    return seconds


def _completed(operation: Operation, known: Mapping[str, Parameter], found: Arguments) -> Arguments:
    for name, parameter in known.items():
        if name in found:
            continue
        if parameter.required:
            raise Problem("invalid", f"{name} is missing: {parameter.help}", _help(operation))
        default = parameter.default
        found[name] = parse_duration(str(default)) if parameter.type == "duration" and default is not None else default
    return found


def _unknown(operation: Operation, what: str, name: str, known: Mapping[str, Parameter]) -> Problem:
    close = difflib.get_close_matches(name[:64], known, n=1)
    meant = f"; did you mean {close[0]}?" if close else ""
    return Problem("invalid", f"{operation.name} has no {what} {name[:64]!r}{meant}", _help(operation))


def _wrong(operation: Operation, parameter: Parameter, why: str) -> Problem:
    return Problem("invalid", f"{parameter.name} {why}", _help(operation))


def _help(operation: Operation) -> str:
    return f"phoenixctl {' '.join(operation.words)} --help" if operation.words else "see /openapi.json"
