"""`python -m tests.blind [FIRST|SECOND]`: play both halves of every corpus, and print what went wrong."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.blind import disks, histories, places, questions, readings, situations, workspaces
from tests.blind.tables import HALVES, HERE, Outcome, Table, cases

CORPORA: dict[str, tuple[str, Callable[[Table], Outcome]]] = {
    "liveness": ("situation", situations.play),
    "breaker": ("workspace", workspaces.play),
    "recovery": ("case", histories.play),
    "disk": ("case", disks.play),
    "reader": ("case", readings.play),
    "question": ("case", questions.play),
    "directory": ("case", places.play),
}
MOST_MISSED = 0.05
BEFORE = HERE / "before.json"


def play_all(corpus: str, half: str, place: Path = HERE, every: int = 1) -> list[Outcome]:
    """Play one half, or every n-th of its cases; a case that cannot be played is a fault of its own."""
    word, play = CORPORA[corpus]

    def played(case: Table) -> Outcome:
        try:
            return play(case)
        except AssertionError as failed:
            return Outcome(case["id"], other=(f"could not be played: {failed}",))

    with ThreadPoolExecutor(2 if corpus == "breaker" else 1) as pool:
        return list(pool.map(played, cases(corpus, half, word, place)[::every]))


def figures(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """How many cases there are, and how many have each kind of fault."""
    found = list(outcomes)
    return {
        "cases": len(found),
        "false": sum(bool(one.false_kill) for one in found),
        "missed": sum(not one.is_right and not one.false_kill for one in found),
    }


def main(arguments: list[str]) -> int:
    """Print the figures of each half beside those of the code for which the corpora were written; 1 when one is bad."""
    parser = argparse.ArgumentParser(prog="./dev proof blind", description=__doc__)
    parser.add_argument("--place", type=Path, default=HERE, help=argparse.SUPPRESS)
    parser.add_argument("--quiet", action="store_true", help="only the figures, no case by name")
    parser.add_argument("halves", nargs="*", metavar="HALF", help="first, second; both unless one is named")
    given = parser.parse_args(arguments)
    before = json.loads(BEFORE.read_text()) if BEFORE.exists() else {}
    bad = False
    print(f"{'corpus':10} {'half':8} {'cases':>6} {'false':>6} {'missed':>7}   before: false, missed")
    for corpus in CORPORA:
        for half in given.halves or HALVES:
            outcomes = play_all(corpus, half, given.place)
            now, was = figures(outcomes), before.get(f"{corpus} {half}", {})
            print(
                f"{corpus:10} {half:8} {now['cases']:6} {now['false']:6} {now['missed']:7}"
                f"   {was.get('false', '-')}, {was.get('missed', '-')}"
            )
            bad |= now["false"] > 0 or now["missed"] > MOST_MISSED * now["cases"]
            for one in outcomes if not given.quiet else ():
                for word in (*one.false_kill, *one.missed, *one.other):
                    print(f"    {one.case}: {word}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
