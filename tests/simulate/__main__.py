"""`python -m tests.simulate --agents 20 --hours 24 --seed 1 [--seeds 100] [--storm]`: prints what each seed came to.

With --seats in the place of agents: two orchestrators that are handed over, with tasks, texts and orders meanwhile.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TypeVar

from tests.simulate.seeds import each
from tests.simulate.simulation import Broke, Outcome, simulate
from tests.simulate.storm import DAY, STORM, Weather
from tests.simulate.succession import Sum, succeed

T = TypeVar("T")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulate", description=__doc__)
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds, from --seed on")
    parser.add_argument("--storm", action="store_true", help="a fault every 20 s instead of every 20 min")
    parser.add_argument("--seats", action="store_true", help="two seats, under storms of their own")
    parser.add_argument("--jobs", type=int, default=1, help="processes; 0: one for each processor")
    parser.add_argument("--verbose", action="store_true", help="what was seen, and how often")
    given = parser.parse_args(arguments)
    seeds, jobs = range(given.seed, given.seed + given.seeds), given.jobs or len(os.sched_getaffinity(0))
    whole: Sequence[Sum | Outcome] = (
        _pass_seats(seeds, given.hours, jobs)
        if given.seats
        else _live(seeds, given.agents, given.hours, STORM if given.storm else DAY, jobs)
    )
    if given.verbose:
        seen = sum((one.seen for one in whole), Counter[str]())
        for what, count in sorted(seen.items()):
            print(f"{count:8} {what}")
    return 1 if len(whole) < len(seeds) else 0


def _pass_seats(seeds: Sequence[int], hours: float, jobs: int) -> list[Sum]:
    whole = list(_told(each(partial(succeed, hours=hours), seeds, jobs)))
    broken = len(seeds) - len(whole)
    print(f"{len(seeds)} seeds of two seats x {hours:g} h: {sum_of(whole)}: {broken} broken")
    return whole


def _live(seeds: Sequence[int], agents: int, hours: float, weather: Weather, jobs: int) -> list[Outcome]:
    whole = []
    for outcome in _told(each(partial(simulate, agents=agents, hours=hours, weather=weather), seeds, jobs)):
        whole.append(outcome)
        print(line_of(outcome), flush=True)
    broken = len(seeds) - len(whole)
    print(f"{len(seeds)} seeds of {agents} agents x {hours:g} h, {weather.name}: {broken} broken")
    return whole


def _told(outcomes: Iterator[T | Broke]) -> Iterator[T]:
    """Those that held; a breach is printed whole, as soon as it is known."""
    for outcome in outcomes:
        if isinstance(outcome, Broke):
            print(f"BROKEN {outcome}\n", flush=True)
        else:
            yield outcome


def sum_of(whole: list[Sum]) -> str:
    """What storms over seats came to."""
    handoffs = sum((one.handoffs for one in whole), Counter[str]())
    tasks = sum((one.tasks for one in whole), Counter[str]())
    letters, lives, checks = (sum(getattr(one, name) for one in whole) for name in ("letters", "lives", "checks"))
    return (
        f"{handoffs['done']} handoffs done, {handoffs['rolled_back']} rolled back, {tasks['done']} tasks done, "
        f"{tasks['failed'] + tasks['canceled']} given back or canceled, {letters} texts kept, {lives} daemon lives, "
        f"{checks} checks"
    )


def line_of(outcome: Outcome) -> str:
    return (
        f"seed {outcome.seed}: hash {outcome.digest}, {outcome.entries} entries, {outcome.incarnations} incarnations, "
        f"{outcome.lives} daemon lives, {outcome.checks} checks, healed in {outcome.healed_in:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
