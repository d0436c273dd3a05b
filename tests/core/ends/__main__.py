"""`python -m tests.core.ends [--read] [--readings FILE] [FILE]`: play cases of ends, and print what came out otherwise.

--read prints what was understood of each case, and plays none. --readings sets facts by hand, see reading.py.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from pathlib import Path

from tests.core.ends.missed import MISSED
from tests.core.ends.playing import answer
from tests.core.ends.reading import Facts, cases, facts_of
from tests.core.ends.verdict import OPEN, figures, is_right, words


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.core.ends", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=OPEN)
    parser.add_argument("--read", action="store_true", help="what was understood of each case; none is played")
    parser.add_argument("--readings", type=Path, help="facts that are set by hand, by the ids of cases")
    parser.add_argument("-v", action="store_true", help="every case, and the reason of what was decided")
    given = parser.parse_args()
    by_hand = json.loads(given.readings.read_text()) if given.readings else {}
    known = cases(given.file)
    right: list[bool] = []
    for case in known:
        facts = facts_of(case, by_hand.get(case["id"]))
        if given.read:
            told = {one.name: getattr(facts, one.name) for one in fields(Facts)}
            print(case["id"], *(f"  {name}: {said}" for name, said in case["situation"].items()), sep="\n")
            print("  = ", {name: value for name, value in told.items() if value not in ("", (), None, False)}, "\n")
            continue
        try:
            found = answer(facts)
        except (AssertionError, LookupError, ValueError, StopIteration) as fault:
            print(f"{case['id']}: could not be played: {fault!r}")
            right.append(False)
            continue
        right.append(is_right(case, found))
        if given.v or not right[-1]:
            expected = case["expected"]
            print(f"{case['id']} ({case['sure']}): {'right' if right[-1] else 'OTHERWISE'}")
            print(f"  said: {expected['what']}; {expected['does']}   found: {words(found)}")
            print(f"  {found.reason}")
            if case["id"] in MISSED:
                print(f"  {MISSED[case['id']][1]}")
    if not given.read:
        print(figures(known, right))


main()
