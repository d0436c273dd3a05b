"""Whether state.json and brief.md can be relied on: their schema, and the brief's age (P41, P42, P82). Pure.

The daemon's watch raises alerts by this rule, and `phoenixctl brief check` prints what it finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state_reading import read_state
from phoenixd.documents.times import utc_date

MAX_AGE = 36 * 3600.0
"""Seconds after which a brief is too old; the seed gives no number."""
REQUIRED_SECTIONS = ("Task", "Open loops", "Next")
PROBLEM_LIMIT = 200
_SECTION = re.compile(r"^## (.{1,100})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a document.

    kind: schema (it cannot be relied on), odd (it was read, and repaired on the way), missing, or age. field: the key,
    section or list item; empty where the whole document is meant.
    """

    document: Literal["state.json", "brief.md"]
    kind: Literal["schema", "odd", "missing", "age"]
    field: str
    problem: str

    @property
    def text(self) -> str:
        return f"{self.document}: {self.problem}"


def check_state(content: bytes | None, agent: str, now: float) -> tuple[Fault, ...]:
    """What is wrong with a state.json; None is a file that is not there, or cannot be read as one."""
    if content is None:
        return (Fault("state.json", "missing", "", "there is no such file, or none that can be read"),)
    reading = read_state(content, agent, utc_date(now))
    if reading.broken is not None:
        return (Fault("state.json", "schema", _field_of(reading.broken), reading.broken),)
    kind: Literal["schema", "odd"] = "schema" if reading.lossy else "odd"
    noted = [Fault("state.json", kind, _field_of(note), one_line(note, PROBLEM_LIMIT)) for note in reading.notes]
    if reading.read_only:
        noted.append(Fault("state.json", "schema", "version", "version is a newer one: it is read, and not written"))
    return tuple(noted)


def check_brief(
    content: bytes | None, agent: str, written: float | None, now: float, max_age: float = MAX_AGE
) -> tuple[Fault, ...]:
    """What is wrong with a brief.md that was written at `written`, wall seconds."""
    if content is None or written is None:
        return (Fault("brief.md", "missing", "", "there is no such file, or none that can be read"),)
    text = content.decode("utf-8", "replace")
    return (*_schema_of(text, agent), *_age(written, now, max_age))


def age_is_due(written: float, max_age: float = MAX_AGE) -> float:
    """The wall time from which a brief that was written then is too old."""
    return written + max_age


def _schema_of(text: str, agent: str) -> Iterator[Fault]:
    if not re.match(rf"# {re.escape(agent)}(?![a-z0-9_-])", text):
        yield Fault("brief.md", "schema", "heading", f"its first line does not name {agent}")
    found = set(_SECTION.findall(text))
    for section in REQUIRED_SECTIONS:
        if section not in found:
            yield Fault("brief.md", "schema", section, f'the section "{section}" is missing')


def _age(written: float, now: float, max_age: float) -> Iterator[Fault]:
    if now >= age_is_due(written, max_age):
        old, limit = (str(timedelta(seconds=round(seconds))) for seconds in (now - written, max_age))
        yield Fault("brief.md", "age", "", f"it was written {old} ago, and more than {limit} is too old")


def _field_of(note: str) -> str:
    """The key that a note of `read_state` speaks of."""
    named = re.match(r"(?:the field )?([a-z_]+(?:\[[0-9]+\]|\.[^\s]{1,40})?)(?=:| is| names)", note)
    return named[1] if named and named[1] != "it" else ""
