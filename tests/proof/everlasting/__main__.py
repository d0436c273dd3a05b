"""`./dev proof everlasting [--only PART]...`: all of it, or a part; what was run in full goes into the page's table.

claude: five handoffs of the real Claude Code on a stub of its API, at the very token, in windows of 200,000 and
1,000,000 tokens, with twelve tasks of workers (E1). command: a hundred handoffs between programs. kills: ten deaths of
the daemon at each step.
"""

from __future__ import annotations

import argparse
import sys
import time

from phoenixd.demo.stage import StageFailed
from tests.proof.everlasting import commands, real
from tests.proof.everlasting.figures import MOST_TO_ACK, Figures, columns, table, write

PARTS = ("claude", "command", "kills")
FULL = {"claude": 5, "command": 100}
"""Handoffs, of Claude Code in each window; figures of fewer are printed, and never stand in the page."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev proof everlasting", description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="may be given more than once")
    parser.add_argument("--windows", default="200000,1000000", help="tokens, separated by commas")
    parser.add_argument("--handoffs", type=int, default=FULL["claude"], help="of Claude Code, in each window")
    parser.add_argument("--programs", type=int, default=FULL["command"], help="handoffs between programs")
    parser.add_argument("--kills", type=int, default=10, help="at each step")
    given = parser.parse_args(arguments)
    parts, began = given.only or PARTS, time.monotonic()
    measured: list[Figures] = []
    try:
        if "claude" in parts:
            measured += [real.handoffs(int(window), given.handoffs) for window in given.windows.split(",")]
        if "command" in parts:
            measured.append(commands.hundred(given.programs))
        if "kills" in parts:
            ended = commands.kills(given.kills)
            print(
                f"{ended.total()} kills: {ended['done']} done, {ended['rolled_back']} rolled back, none twice or lost"
            )
    except (AssertionError, StageFailed, TimeoutError) as failure:
        print(f"FAILED: {failure}", flush=True)
        return 1
    if measured:
        print(table(columns(measured)))
    if whole := [one for one in measured if one.count >= FULL["claude" if one.of_claude else "command"]]:
        write(whole)
    if slow := [one.title for one in measured if one.worst_to_ack > MOST_TO_ACK]:
        print(f"FAILED: from spawn to ack more than {MOST_TO_ACK:.0f} s: {', '.join(slow)}")
        return 1
    print(f"{time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
