"""Play the cases of cut answers, name each that is decided otherwise than its author said, and print the figures."""

from __future__ import annotations

import sys

from tests.core.full_contexts.ending import worth
from tests.core.full_contexts.missed import MISSED
from tests.core.full_contexts.playing import cases


def main(halves: list[str]) -> None:
    for half in halves:
        known, agreed = cases(half), 0
        for case in known:
            decided = worth(case)
            agreed += decided == case["expected"]
            if decided != case["expected"]:
                why = MISSED.get(case["id"], ("", "not known before"))[1]
                print(f"{case['id']}: {decided}, and its author said {case['expected']}: {why}")
        print(f"{half}: {agreed} of {len(known)}")


main(sys.argv[1:] or ["cut_open.json", "cut_held.json"])
