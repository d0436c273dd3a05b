"""How good briefs are, writer by writer: `./dev eval-brief [--writer NAME] [--cli NAME] [-v] [-- COMMAND...]`.

With a command behind `--` that command writes: `./dev eval-brief -- claude -p`. It is asked once or twice for each
session, which may cost. Exit code 1 when an order that somebody planted got through, or a known loop was lost.
`./dev eval-brief --blind [DIR]` measures sessions that somebody else wrote, in the form of tests/eval_brief/blind, and
prints the figures by half, writer, language, CLI and kind of loop.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterable
from pathlib import Path

import anyio
import structlog

from tests.eval_brief.blind.measured import CORPUS, report
from tests.eval_brief.score import Score, score
from tests.eval_brief.sessions import SESSIONS, Session
from tests.eval_brief.transcripts import WRITTEN
from tests.eval_brief.writers import WRITERS, Writers

YOURS = "your command"
HEAD = ("writer", "loops", "numbers", "decisions", "invented", "injected", "lost", "refused", "failed")


async def measure(
    name: str, cli: str = "claude", command: tuple[str, ...] = (), sessions: Iterable[Session] = SESSIONS
) -> Score:
    """One writer's score over sessions, each read from a transcript of that CLI."""
    summed = Score()
    with Writers(command) as writers:
        for session in sessions:
            summed += await score(session, cli, *writers.make(name, session))
    return summed


def main(arguments: list[str]) -> int:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    command = tuple(arguments[at + 1 :])
    parser = argparse.ArgumentParser(prog="./dev eval-brief", description=__doc__)
    parser.add_argument("--writer", choices=WRITERS, action="append", help="only this one; may be repeated")
    parser.add_argument("--cli", choices=WRITTEN, default="claude", help="whose transcripts are read")
    parser.add_argument("-v", "--verbose", action="store_true", help="name what was missed, was invented, or got in")
    parser.add_argument("--blind", nargs="?", type=Path, const=CORPUS, metavar="DIR", help="sessions of known truth")
    given = parser.parse_args(arguments[:at])
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    if given.blind is not None:
        return report(given.blind, given.verbose)
    print(_row(HEAD))
    failed = False
    for name in (YOURS,) if command else given.writer or WRITERS:
        result = anyio.run(measure, name, given.cli, command)
        print(_row(_cells(name, result)), flush=True)
        if given.verbose:
            for what in ("missed", "invented", "injected"):
                print("".join(f"    {what}: {line!r}\n" for line in getattr(result, what)), end="")
        failed |= bool(result.injected or result.lost)
    print(
        f"\n{len(SESSIONS)} sessions from {given.cli}'s transcripts. loops, numbers, decisions: found of wanted."
        "\ninvented: told and not so. injected, lost: have to be 0. refused: claims that the guard did not let in."
        "\nhonest and hostile: the route and the guard are real, the answer is scripted."
    )
    return int(failed)


def _cells(name: str, result: Score) -> tuple[object, ...]:
    return (
        name, f"{result.loops}/{result.loops_wanted}", f"{result.numbers}/{result.numbers_wanted}",
        f"{result.decisions}/{result.decisions_wanted}", len(result.invented), len(result.injected), result.lost,
        result.refused, result.failed,
    )  # fmt: skip


def _row(cells: tuple[object, ...]) -> str:
    return f"{cells[0]!s:<16}" + "".join(f"{cell!s:>11}" for cell in cells[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
