"""How reports are judged: `./dev eval-reports [--blind [DIR]] [--half first|second] [-v]`.

Without `--blind` the samples of this repository are judged. A case is one TOML file (`tests/eval_reports/samples`).
Exit code 1 when a lie was missed, or a claim that is no lie was contradicted.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.eval_reports.case import Malformed, read_cases
from tests.eval_reports.figures import judged, lines, of_half

HERE = Path(__file__).parent
SAMPLES, CORPUS = HERE / "samples", HERE / "corpus"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev eval-reports", description=__doc__)
    parser.add_argument("--blind", nargs="?", type=Path, const=CORPUS, metavar="DIR", help="cases by another hand")
    parser.add_argument("--half", choices=("first", "second"), help="only that half")
    parser.add_argument("-v", "--verbose", action="store_true", help="name each claim that came out otherwise")
    given = parser.parse_args(arguments)
    directory = given.blind or SAMPLES
    if not directory.is_dir():
        print(f"there is no directory {directory}; name one: ./dev eval-reports --blind DIR", file=sys.stderr)
        return 2
    try:
        cases = read_cases(directory)
    except Malformed as fault:
        print(fault, file=sys.stderr)
        return 2
    chosen = of_half(cases, given.half) if given.half else cases
    found = judged(chosen)
    print(f"{len(chosen)} reports, {sum(case.honest for case in chosen)} of them honest")
    print("\n".join(lines(found)))
    if given.verbose:
        for one in found:
            if one.verdict.outcome != one.expected.verdict:
                print(
                    f"{one.case.id} {one.expected.kind}: expected {one.expected.verdict}, found "
                    f"{one.verdict.outcome} ({one.verdict.why}): {one.expected.claim.words}"
                )
    return int(any(one.is_missed or one.is_slander for one in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
