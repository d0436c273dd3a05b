"""`python -m tests.simulate --agents 20 --hours 24 --seed 1 [--seeds 100] [--storm]`: prints what each seed came to.

With --seats in the place of agents: two orchestrators that are handed over, with tasks, texts and orders meanwhile.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter

import structlog

from tests.simulate.simulation import Broke, Outcome, simulate
from tests.simulate.storm import DAY, STORM
from tests.simulate.succession import succeed


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulate", description=__doc__)
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from --seed on")
    parser.add_argument("--storm", action="store_true", help="a fault every 20 s instead of every 20 min")
    parser.add_argument("--seats", action="store_true", help="two seats, under storms of their own")
    parser.add_argument("--verbose", action="store_true", help="what was seen, and how often")
    given = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    if given.seats:
        return pass_seats(range(given.seed, given.seed + given.seeds), given.hours, given.verbose)
    weather = STORM if given.storm else DAY
    seen: Counter[str] = Counter()
    broken = 0
    for seed in range(given.seed, given.seed + given.seeds):
        try:
            outcome = simulate(str(seed), given.agents, given.hours, weather)
        except Broke as breach:
            broken += 1
            print(f"BROKEN {breach}\n", flush=True)
            continue
        seen += outcome.seen
        print(line_of(outcome), flush=True)
    print(f"{given.seeds} seeds of {given.agents} agents x {given.hours:g} h, {weather.name}: {broken} broken")
    if given.verbose:
        for what, count in sorted(seen.items()):
            print(f"{count:8} {what}")
    return 1 if broken else 0


def pass_seats(seeds: range, hours: float, is_verbose: bool) -> int:
    """Storms over seats; a line for each that breaks, and the sum."""
    handoffs, tasks, seen = Counter[str](), Counter[str](), Counter[str]()
    broken = letters = lives = checks = 0
    for seed in seeds:
        try:
            one = succeed(str(seed), hours)
        except Broke as breach:
            broken += 1
            print(f"BROKEN {breach}\n", flush=True)
            continue
        handoffs, tasks, seen = handoffs + one.handoffs, tasks + one.tasks, seen + one.seen
        letters, lives, checks = letters + one.letters, lives + one.lives, checks + one.checks
    print(
        f"{len(seeds)} seeds of two seats x {hours:g} h: {handoffs['done']} handoffs done, "
        f"{handoffs['rolled_back']} rolled back, {tasks['done']} tasks done, "
        f"{tasks['failed'] + tasks['canceled']} given back or canceled, {letters} texts kept, {lives} daemon lives, "
        f"{checks} checks: {broken} broken"
    )
    if is_verbose:
        for what, count in sorted(seen.items()):
            print(f"{count:8} {what}")
    return 1 if broken else 0


def line_of(outcome: Outcome) -> str:
    return (
        f"seed {outcome.seed}: hash {outcome.digest}, {outcome.entries} entries, {outcome.incarnations} incarnations, "
        f"{outcome.lives} daemon lives, {outcome.checks} checks, healed in {outcome.healed_in:.0f} s, "
        f"took {outcome.took:.1f} s"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
