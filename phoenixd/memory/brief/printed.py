"""Numbers as the newest run of a check printed them. The shapes are those of programs, and no language's."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from phoenixd.documents.conversation import Utterance
from phoenixd.documents.times import read_time
from phoenixd.memory.brief.loops.commands import keys_in
from phoenixd.memory.brief.number_formats import PRINTED

MOST_READ = 20_000
"""Characters of an output's end: that is where programs sum up."""

KEY_LIMIT = 80
CACHED = 2048
"""Calls that are remembered: each turn's reading has nearly all of those of the one before."""

_COMMAND_KEYS = ("command", "cmd")


def printed_numbers(
    utterances: Iterable[Utterance], known: Mapping[str, str], held: Mapping[str, float]
) -> dict[str, str]:
    """The numbers that the newest run of each check printed, named after it: `cargo test: tests_passed`.

    known: numbers as they stand. held: those that an operator wrote, with the wall time since which they stand: only
    what was printed later than that changes them.
    """
    found: dict[str, str] = {}
    for at, key, output in _outputs(utterances):
        numbers = {f"{key}: {name}": value for name, value in _numbers(output).items()}
        failed = f"{key}: tests_failed"
        if f"{key}: tests_passed" in numbers and failed not in numbers and failed in {*known, *found}:
            # Programs leave out what there is none of.
            numbers[failed] = "0"
        found |= {name: value for name, value in numbers.items() if name not in held or (at or 0.0) > held[name]}
    return {name: value for name, value in found.items() if known.get(name) != value}


def _outputs(utterances: Iterable[Utterance]) -> Iterator[tuple[float | None, str, str]]:
    """What checks printed, oldest first, with their keys. Calls that were made at once come back in their order."""
    waiting: dict[str, list[str]] = {}
    for one in utterances:
        if not one.tool:
            continue
        calls = waiting.setdefault(one.tool, [])
        if one.speaker == "assistant":
            calls.append(_key_of(one.text))
        elif calls and (key := calls.pop(0)):
            yield read_time(one.at), key, one.text[-MOST_READ:]


@functools.lru_cache(CACHED)
def _key_of(call: str) -> str:
    return " && ".join(keys_in(_command(call)))[:KEY_LIMIT]


def _command(text: str) -> str:
    """The command of a shell tool's call, as the three CLIs write it; empty for another tool's."""
    try:
        found: Any = from_json(text)
    except ValueError:
        return ""
    if not isinstance(found, dict):
        return ""
    given = next((found[key] for key in _COMMAND_KEYS if key in found), "")
    if isinstance(given, list):
        given = next((one for one in reversed(given) if isinstance(one, str)), "")
    return given if isinstance(given, str) else ""


def counts(output: str) -> dict[str, tuple[str, ...]]:
    """Every number that programs of the table sum up with, by its name, in the order in which they were printed."""
    found: dict[str, tuple[str, ...]] = {}
    for name, shape in PRINTED:
        values = tuple(next(group for group in match.groups() if group) for match in shape.finditer(output))
        if values and name not in found:
            found[name] = values
    return found


def _numbers(output: str) -> dict[str, str]:
    """Of each name the largest count where several are printed, as by a workspace's crates; else the last."""
    return {
        name: max(values, key=_size) if name.startswith("tests") else values[-1]
        for name, values in counts(output).items()
    }


def _size(value: str) -> float:
    return float(re.split(r"[^0-9.]", value, maxsplit=1)[0])
