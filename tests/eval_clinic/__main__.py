"""How the rules of triage do: `./dev eval-clinic [--blind [DIR]] [-v] [--rules] [--write]`.

Without `--blind` the open half of the records is judged, with it the blind half, or the records of DIR. Exit code 1
when fewer than 95 of 100 claimed causes are right, or a healthy end is called ill; 2 when a record
cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.eval_clinic.figures import counted, judged, lines, rules
from tests.eval_clinic.reading import Malformed, read_records
from tests.measured_page import CLINIC, write

RECORDS = Path(__file__).parent / "records"
BLIND = Path(__file__).parent / "blind"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev eval-clinic", description=__doc__)
    parser.add_argument("--blind", nargs="?", type=Path, const=BLIND, metavar="DIR", help="records by another hand")
    parser.add_argument("-v", "--verbose", action="store_true", help="name each record that came out otherwise")
    parser.add_argument("--rules", action="store_true", help="name the records that each rule rests on, by CLI")
    parser.add_argument("--write", action="store_true", help="write the table into docs/explanation/clinic.md")
    given = parser.parse_args(arguments)
    directory = given.blind or RECORDS
    try:
        found = judged(read_records(directory), directory)
    except Malformed as fault:
        print(fault, file=sys.stderr)
        return 2
    if not found:
        print(f"there are no records in {directory}; name others: ./dev eval-clinic --blind DIR", file=sys.stderr)
        return 2
    told = list(lines(found))
    print(f"{len(found)} records\n")
    print("\n".join(told))
    if given.rules:
        print("", *rules(found), sep="\n")
    if given.verbose:
        for one in found:
            if one.said != one.meant or one.is_slander:
                words = f" {one.found.detail} ({one.found.rule})" if one.found is not None else ""
                print(f"{one.record.id}: was {one.meant}, said {one.said}{words}: {one.expected.why}")
    if given.write:
        half = "blind" if given.blind else "open"
        write(CLINIC, half, told)
    return int(not counted(found).is_well)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
