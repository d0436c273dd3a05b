"""`python -m tests.api.nights [--read] [--readings FILE] [-v] [FILE]`: play nights, and print what is told otherwise.

--read prints the steps that were understood of each case, and plays none. --readings gives steps by hand, see
reading.py. -v prints the pages of every night, which are for the eye.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio

from tests.api.nights.playing import Told, told
from tests.api.nights.reading import Read, read
from tests.api.nights.verdict import NIGHTS, wrong
from tests.blind.frozen import Case, play


@dataclass(frozen=True)
class Played:
    night: Read
    told: Told
    faults: list[str]


def answer(case: Case) -> Played:
    night = read(case)
    found = anyio.run(told, night)
    return Played(night, found, wrong(case, night, found))


def said(case: Case, found: Played) -> Iterator[str]:
    yield from (f"  {one}" for one in found.faults)
    yield from (f"  not understood: {one}" for one in found.night.unread)


def pages(case: Case, found: Played) -> tuple[str, ...]:
    return found.told.page, found.told.status_page, f"expected: {json.dumps(case['expected'])}\n"


def understood(case: Case) -> Iterator[str]:
    night = read(case)
    yield from (f"  | {line}" for line in case["situation"]["history"])
    yield f"  {night.agents}"
    for step in night.steps:
        yield f"  {datetime.fromtimestamp(step.at, UTC):%d %H:%M:%S}  {step.verb} {step.name} {step.more or ''}"
    yield from (f"  NOT UNDERSTOOD: {one}" for one in night.unread)
    yield ""


play(NIGHTS, answer, lambda case, found: not found.faults, said, described=__doc__, read=understood, more=pages)
