"""`python -m tests.core.signs [-v] [FILE]`: play signs, and print what came out otherwise."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.core.signs.missed import MISSED
from tests.core.signs.playing import OPEN, answer, cases, figures, is_right


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.core.signs", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=OPEN)
    parser.add_argument("-v", action="store_true", help="every case")
    given = parser.parse_args()
    known, right = cases(given.file), list[bool]()
    for case in known:
        found = answer(case)
        right.append(is_right(case, found))
        if given.v or not right[-1]:
            print(f"{case['id']} ({case['confidence']}): {'right' if right[-1] else 'OTHERWISE'}")
            print(f"  said: {case['expected']}; also {case['also_accept']}   found: {found.words}")
            print(f"  {found.reason}")
            if case["id"] in MISSED:
                print(f"  {MISSED[case['id']]}")
    print(figures(known, right))


main()
