"""Reads a session's file, and refuses what is not of its form: a slip of the pen must not become a figure."""

from __future__ import annotations

import tomllib
import types
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tests.eval_brief.blind import session as form
from tests.eval_brief.blind.session import Event, Run, Session

T = TypeVar("T")

_EVENTS: dict[str, type] = {fields(kind)[1].name: kind for kind in get_args(Event)}
"""The key that says what an event is stands second in its class, after `t`."""
_ONLY_CLAUDE = ("plan", "wakeup")
_ONLY_LAST = (form.Question, form.Permission)


class Malformed(Exception):
    """The file is not of the form; the message names the place and what is wrong with it."""


def read_sessions(directory: Path) -> list[Session]:
    """All sessions of a directory and its subdirectories, by their names; raises Malformed with every fault of all."""
    found, faults = [], []
    for path in sorted(directory.rglob("*.toml")):
        try:
            found.append(read_session(path))
        except Malformed as fault:
            faults.append(str(fault))
    if faults:
        raise Malformed("\n".join(faults))
    return found


def read_session(path: Path) -> Session:
    """One session; its id is the file's name."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        made = _made(Session, raw, "")
        faults = list(_faults(made, path.stem))
    except (ValueError, Malformed) as error:
        raise Malformed(f"{path.name}: {error}") from None
    if faults:
        raise Malformed("\n".join(f"{path.name}: {fault}" for fault in faults))
    return made


def _faults(session: Session, name: str) -> Iterator[str]:
    if session.id != name:
        yield f"id is {session.id!r}, the file's name is {name!r}"
    last, jobs = -1.0, set()
    for number, event in enumerate(session.event):
        at, final = f"event[{number}]", number == len(session.event) - 1
        if event.t < last:
            yield f"{at}: t = {event.t:g} comes after {last:g}"
        last = event.t
        kind = fields(event)[1].name
        if kind in _ONLY_CLAUDE and session.cli != "claude":
            yield f"{at}: {kind} is for claude only"
        if isinstance(event, Run):
            if event.exit is None and not event.background and not final:
                yield f"{at}: a run without exit can only be the last event, or a background job"
            if event.job in jobs or (event.background and not event.job):
                yield f"{at}: a background job needs a name of its own"
            jobs |= {event.job} if event.job else set()
        if isinstance(event, form.EndedJob) and event.ended_job not in jobs:
            yield f"{at}: no job {event.ended_job!r} was started"
        if isinstance(event, _ONLY_LAST) and event.answer is None and not final:
            yield f"{at}: only the last event can be without an answer"
    for kind in ("open", "closed"):
        for number, truth in enumerate(getattr(session, kind)):
            if not truth.match or any(word != word.lower() or not word for word in truth.match):
                yield f"{kind}[{number}]: match wants lower case, and at least one word"


def _made(kind: type[T], raw: Any, at: str) -> T:
    if not isinstance(raw, dict):
        raise Malformed(f"{at or 'the file'} is no table")
    hints, wanted = get_type_hints(kind), {one.name: one for one in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(raw) - set(wanted)):
        raise Malformed(f"{at}{'.' if at else ''}{unknown[0]} is no key (known: {', '.join(wanted)})")
    if missing := [name for name, one in wanted.items() if name not in raw and one.default is MISSING]:
        raise Malformed(f"{at}{'.' if at else ''}{missing[0]} is missing")
    return kind(**{name: _value(hints[name], value, f"{at}{'.' if at else ''}{name}") for name, value in raw.items()})


def _value(hint: Any, value: Any, at: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint == Event:
        return _event(value, at)
    if origin in (Union, types.UnionType):
        return _value(next(one for one in arguments if one is not type(None)), value, at)
    if origin is tuple:
        if not isinstance(value, list):
            raise Malformed(f"{at} is no list")
        return tuple(_value(arguments[0], one, f"{at}[{number}]") for number, one in enumerate(value))
    if origin is Literal:
        if value not in arguments:
            raise Malformed(f"{at} = {value!r} is none of {', '.join(map(repr, arguments))}")
        return value
    if hint in (str, int, float, bool):
        right = (int, float) if hint is float else hint
        if not isinstance(value, right) or (isinstance(value, bool) and hint is not bool):
            raise Malformed(f"{at} = {value!r} is no {hint.__name__}")
        return value
    return _made(hint, value, at)


def _event(raw: Any, at: str) -> Any:
    found = [key for key in _EVENTS if isinstance(raw, dict) and key in raw]
    # `plan` of a task list is a list, and an `answer` belongs to two kinds: the first key in our table decides nothing.
    if len(found) != 1:
        raise Malformed(f"{at} has {' and '.join(found) or 'none'} of {', '.join(_EVENTS)}: it must be exactly one")
    return _made(_EVENTS[found[0]], raw, at)
