"""`./dev bench`: every figure as a ratio against a reference of the same run, aims and misses alike."""

from __future__ import annotations

import argparse
import os
import platform
import sys

from tests.bench import hooks, hostile, supervisors, transcripts, work
from tests.bench.arena import Figures, NoCompiler

AIMS = """\
aims: restart ahead of supervisord, circus and pm2; idle at most 0.05 CPU s a minute; status at most a third of
supervisorctl; a hook by HTTP at most a quarter of the bash script, by the program at most that script; the newest
usage of a transcript of 1 GB in under 10 ms, also behind a line of 20 MB, and a transcript read whole at a parser's
speed; what agents write costs time in proportion to its length, and bounded memory."""


def main(arguments: list[str]) -> int:
    """Measure and print the tables; 1 when something that should have run did not."""
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few samples, short idle spans")
    parser.add_argument("--agents", type=int, nargs="*", default=[1, 100])
    parser.add_argument("--peers", nargs="*", default=list(supervisors.PEERS), choices=list(supervisors.PEERS))
    parser.add_argument("--only", choices=("work",), help="one part alone: work is the fingerprint of a repository")
    given = parser.parse_args(arguments)
    load = os.getloadavg()[0]
    print(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f}")
    if given.only == "work":
        _print_work(work.measure(3 if given.quick else 10))
        return 0
    print(AIMS)
    try:
        results = _supervisors(given.peers, given.agents, given.quick)
        costs = hooks.measure(40 if given.quick else 200)
    except NoCompiler as reason:
        print(f"not run: {reason}")
        return 1
    _print_hooks(costs)
    _print_work(work.measure(3 if given.quick else 10))
    transcripts.report(transcripts.measure(100 if given.quick else 1000))
    hostile.report(hostile.measure((1, 2) if given.quick else hostile.SIZES))
    return 1 if any(result.not_run for result in results) else 0


def _supervisors(peers: list[str], sizes: list[int], quick: bool) -> list[supervisors.Result]:
    kills, idle, runs = (10, 15.0, 5) if quick else (60, 60.0, 25)
    results = []
    for agents in sizes:
        print(f"\n{agents} agent{'s' if agents != 1 else ''}: median / p99 in ms, CPU in seconds a minute, MiB")
        print(f"{'':24}{'kill -9 to main()':>22}{'all back':>10}{'status':>18}{'idle CPU':>10}{'RSS':>8}{'PSS':>8}")
        for key in peers:
            result = supervisors.measure(key, agents, kills, idle, runs)
            results.append(result)
            _print_row(result)
        _print_ratios([result for result in results if result.agents == agents])
    return results


def _print_row(result: supervisors.Result) -> None:
    if result.not_run:
        print(f"{result.peer:24}not run: {result.not_run}")
        return
    back = f"{result.all_back:.0f}" if result.all_back is not None else "-"
    status = result.status.text() if result.status.samples else "-"
    idle = f"{result.idle_cpu:.3f}" if result.idle_cpu is not None else "-"
    print(
        f"{result.peer:24}{result.restart.text():>22}{back:>10}{status:>18}{idle:>10}{result.rss:>8.1f}{result.pss:>8.1f}"
    )
    if result.shims_cpu is not None:
        label = "  its shims and tmux"
        print(f"{label:24}{'':>50}{result.shims_cpu:>10.3f}{result.shims_rss:>8.1f}{result.shims_pss:>8.1f}")


def _print_ratios(results: list[supervisors.Result]) -> None:
    by_name = {result.peer: result for result in results if not result.not_run}
    ours = by_name.get("phoenixd")
    if ours is None:
        return
    for name, other in by_name.items():
        if name == "phoenixd":
            continue
        parts = [f"restart {ours.restart.median / other.restart.median:.2f} x"]
        if other.status.samples:
            parts.append(f"status {ours.status.median / other.status.median:.2f} x")
        if ours.all_back and other.all_back:
            parts.append(f"all back {ours.all_back / other.all_back:.2f} x")
        print(f"  phoenixd against {name}: {', '.join(parts)}")


def _print_hooks(costs: dict[str, Figures]) -> None:
    print("\none hook call: median / p99 in ms")
    script = costs["bash with date and mv"].median
    for name, figures in costs.items():
        print(f"{name:24}{figures.text():>22}   {figures.median / script:.2f} x the bash script")


def _print_work(costs: dict[str, Figures]) -> None:
    print(f"\na repository of {work.FILES} files, {work.CHANGED} of them changed: median / p99 in ms")
    for name, figures in costs.items():
        reference = costs["git status, CPU" if name.endswith(", CPU") else "git status"]
        print(f"{name:24}{figures.text():>22}   {figures.median / reference.median:.2f} x git status")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
