"""Play the cases of cut answers, name each that is decided otherwise than its author said, and print the figures."""

from __future__ import annotations

import sys

from tests.blind.frozen import cases
from tests.core.full_contexts.ending import CUT, worth


def main(halves: list[str]) -> None:
    for half in halves:
        known, agreed = cases(CUT.folder / half), 0
        for case in known:
            decided = worth(case)
            agreed += decided == case["expected"]
            if decided != case["expected"]:
                why = CUT.missed.get(case["id"], "not known before")
                print(f"{case['id']}: {decided}, and its author said {case['expected']}: {why}")
        print(f"{half}: {agreed} of {len(known)}")


main(sys.argv[1:] or [CUT.first, CUT.held])
