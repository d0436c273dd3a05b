"""`./dev house`: how far an event travels through the core, what a change has to touch, how long the files are.

1 where the parts that were asked are not those that the table names, or a recipe names too many files.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from tests.house.passage import Passage, passages
from tests.house.rooms import MOST, PAGE, ROOT, lengths, recipes

BEFORE = {"hook": (15, 36), "death": (20, 60)}
"""Files and changes of file before there was a table, by this count; another one found 12 and 36, and 16 and 56."""


@dataclass(frozen=True, slots=True)
class Report:
    """The lines to print, and what is wrong."""

    lines: tuple[str, ...]
    wrong: tuple[str, ...]


def report(found: dict[str, Passage], page: str) -> Report:
    """The table of passages, the recipes of the page, the lengths of files."""
    lines = [
        f"{'':8}{'parts asked':>12}{'named':>7}{'files':>7}{'changes':>9}{'CPU us':>8}  before (files and changes)"
    ]
    wrong = []
    for what, one in found.items():
        counts = (
            f"{len(one.asked):12}{len(one.named):7}{one.files:7}{one.changes:9}{one.upkeep:11}{one.microseconds:8.0f}"
        )
        before = "  {} files, {} changes".format(*BEFORE[what]) if what in BEFORE else ""
        lines.append(f"{what:8}{counts}{before}")
        if one.asked != one.named:
            wrong.append(f"{what}: asked {', '.join(one.asked)}; phoenixd/core/hearing.py names {', '.join(one.named)}")
    for what, one in found.items():
        lines += ["", f"{what}: {' -> '.join(one.asked)}"]
    known = recipes(page)
    lines += ["", "files to touch" if known else f"files to touch: {PAGE} has no recipes yet"]
    for name, files in known.items():
        lines.append(f"  {name}: {len(files)} ({', '.join(files)})")
        if len(files) > MOST:
            wrong.append(f"{PAGE}: the recipe '{name}' names {len(files)} files, and {MOST} is the most")
    size = lengths()
    lines += ["", f"phoenixd: {size.files} files, median {size.median:.0f} lines, longest {size.longest} ({size.most})"]
    return Report(tuple(lines), tuple(wrong))


def main(arguments: list[str]) -> int:
    """Print it."""
    argparse.ArgumentParser(prog="./dev house", description=__doc__).parse_args(arguments)
    found = report(passages(), (ROOT / PAGE).read_text())
    print("\n".join(found.lines))
    for one in found.wrong:
        print(f"WRONG: {one}", file=sys.stderr)
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
