"""`python -m tests.core.ends.records [-v] [FILE]`: play ends told by records, and print what came out otherwise."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from tests.core.ends.records.missed import MISSED
from tests.core.ends.records.playing import OPEN, answer, cases, figures, is_right, read


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.core.ends.records", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=OPEN)
    parser.add_argument("-v", action="store_true", help="every case, and what was understood of it")
    given = parser.parse_args()
    known, right = cases(given.file), list[bool]()
    for case in known:
        try:
            found = answer(case)
        except (AssertionError, LookupError, ValueError, StopIteration) as fault:
            print(f"{case['id']}: could not be played: {fault!r}\n  {read(case)}")
            right.append(False)
            continue
        right.append(is_right(case, found))
        if given.v or not right[-1]:
            until = datetime.fromtimestamp(found.until, UTC) if found.until is not None else "-"
            print(f"{case['id']} ({case['confidence']}): {'right' if right[-1] else 'OTHERWISE'}")
            print(f"  said: {case['expected']}; also {case.get('also_accept')}")
            print(f"  found: {found.classes}; {found.next} {until}; go on: {found.go_on}\n  {found.reason}")
        if given.v:
            print(f"  {read(case)}")
        if case["id"] in MISSED:
            print(f"  {MISSED[case['id']]}")
    print(figures(known, right))


main()
