"""`python -m tests.memory.brief.requests [-v] [FILE]`: play conversations, and print what came out otherwise."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.memory.brief.requests.missed import MISSED
from tests.memory.brief.requests.playing import OPEN, answer, cases, figures, is_right


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.memory.brief.requests", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=OPEN)
    parser.add_argument("-v", action="store_true", help="every case")
    given = parser.parse_args()
    known, right = cases(given.file), list[bool]()
    for case in known:
        found = answer(case)
        right.append(is_right(case, found))
        if given.v or not right[-1]:
            print(f"{case['id']} ({case['confidence']}): {'right' if right[-1] else 'OTHERWISE'}")
            print(f"  list it: {case['list_in_brief']} ({case['expected']}): {case['question']['request_quote']}")
            if case["id"] in MISSED:
                print(f"  {MISSED[case['id']]}")
            print(
                f"  listed{' in doubt' if found.in_doubt else ''}: {list(found.listed)}  beside: {list(found.others)}"
            )
    print(figures(known, right))


main()
