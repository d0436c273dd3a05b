"""`python -m tests.api.nights [--read] [--readings FILE] [-v] [FILE]`: play nights, and print what is told otherwise.

--read prints the steps that were understood of each case, and plays none. --readings gives steps by hand, see
reading.py. -v prints the pages of every night, which are for the eye.
"""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

import anyio

from tests.api.nights.missed import MISSED
from tests.api.nights.playing import told
from tests.api.nights.reading import cases, read
from tests.api.nights.verdict import OPEN, figures, wrong


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.api.nights", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=OPEN)
    parser.add_argument("--read", action="store_true", help="the steps of each case; none is played")
    parser.add_argument("--readings", type=Path, help="steps by hand, by the ids of cases")
    parser.add_argument("-v", action="store_true", help="the pages of every night")
    given = parser.parse_args()
    by_hand = json.loads(given.readings.read_text()) if given.readings else {}
    known, right = cases(given.file), list[bool]()
    for case in known:
        night = read(case, by_hand.get(case["id"]))
        if given.read:
            print(case["id"], *(f"  | {line}" for line in case["situation"]["history"]), f"  {night.agents}", sep="\n")
            for step in night.steps:
                at = datetime.fromtimestamp(step.at, UTC)
                print(f"  {at:%d %H:%M:%S}  {step.verb} {step.name} {step.more or ''}")
            print(*(f"  NOT UNDERSTOOD: {one}" for one in night.unread), "", sep="\n")
            continue
        try:
            found = anyio.run(told, night)
        except (AssertionError, LookupError, ValueError, AttributeError) as fault:
            print(f"{case['id']}: could not be played: {fault!r}")
            right.append(False)
            continue
        faults = wrong(case, night, found)
        right.append(not faults)
        if faults or given.v:
            print(f"{case['id']} ({case['sure']}): {'right' if not faults else 'OTHERWISE'}")
            print(*(f"  {one}" for one in faults), *(f"  not understood: {one}" for one in night.unread), sep="\n")
            if case["id"] in MISSED:
                print(f"  {MISSED[case['id']]}")
        if given.v:
            print(found.page, found.status_page, f"expected: {json.dumps(case['expected'])}\n", sep="\n")
    if not given.read:
        print(figures(known, right))


main()
