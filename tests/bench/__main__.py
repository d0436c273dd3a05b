"""`./dev bench`: every figure as a ratio against a reference of the same run, aims and misses alike."""

from __future__ import annotations

import argparse
import os
import platform
import sys

from tests.bench.parts import PARTS
from tests.bench.race import PEERS, USUAL
from tests.bench.scale import Scale

AIMS = """\
aims: kill to main() at most 1.1 x pm2 at 1 agent and 1.5 x at 100; 100 killed at once back within 1.5 s, the first
within 150 ms; idle at most 0.1 CPU s a minute with heartbeats of 100 agents and 0.02 in silence, in 64 MiB; status at
most a third of supervisorctl; a hook by HTTP at most a quarter of the bash script, by the program at most that script;
the newest usage of a transcript of 1 GB in under 10 ms, also behind a line of 20 MB; what agents write costs time in
proportion to its length, and bounded memory."""


def main(arguments: list[str]) -> int:
    """Measure and print the tables; 1 when something that should have run did not."""
    width = max(map(len, PARTS)) + 2
    listed = "\n".join(
        f"  {name:{width}}{part.words}{'' if part.usual else ' (only when asked)'}" for name, part in PARTS.items()
    )
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"parts for --only:\n{listed}",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="few samples, short idle spans")
    parser.add_argument("--agents", type=int, nargs="+", default=[1, 100])
    parser.add_argument("--peers", nargs="+", default=list(USUAL), choices=list(PEERS))
    parser.add_argument(
        "--kills", type=int, help="of each supervisor in a race, failures of each cause in recovery (20)"
    )
    parser.add_argument("--seconds", type=float, help="of each idle span (60)")
    parser.add_argument(
        "--write", action="store_true", help="write the tables of race and recovery into docs/performance.md"
    )
    parser.add_argument("--only", nargs="+", choices=list(PARTS), metavar="NAME", help="these parts alone")
    given = parser.parse_args(arguments)
    scale = Scale(
        given.quick, tuple(given.agents), tuple(given.peers),
        given.kills if given.kills is not None else 10 if given.quick else 20,
        given.seconds if given.seconds is not None else 15.0 if given.quick else 60.0,
        given.write,
    )  # fmt: skip
    load = os.getloadavg()[0]
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f}")
    print(AIMS)
    names = given.only or [name for name, part in PARTS.items() if part.usual]
    # All of them run, also after one that could not.
    return 0 if all([PARTS[name].run(scale) for name in names]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
