"""The tables of the race: each figure beside the ratio of ours to it, from the same run."""

from __future__ import annotations

import os
import platform

from tests.bench.arena import NoCompiler, processes_on_host
from tests.bench.race import Runner, idle, race, racing
from tests.bench.scale import Scale
from tests.measured_page import PERFORMANCE, write


def report(scale: Scale) -> bool:
    """Race at each size, and print; whether all supervisors ran."""
    load, lines = os.getloadavg()[0], list[str]()
    well = all([_race(scale, agents, lines) for agents in scale.agents])
    if scale.write:
        host = f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}"
        write(PERFORMANCE, "race", [f"{host}, load at the start {load:.1f}.", *lines])
    return well


def report_idle(scale: Scale) -> bool:
    """The same without a single kill, for phoenixd alone."""
    return all([_idle(scale, agents) for agents in scale.agents])


def _race(scale: Scale, agents: int, lines: list[str]) -> bool:
    try:
        with racing(list(scale.peers), agents) as runners:
            print(f"\n{agents} agent{'s' * (agents != 1)} of each: {_host()}")
            race(runners, scale.kills, scale.waves if agents > 1 else 0, 5 if scale.quick else 15)
            print_deaths(runners)
            idle(runners, scale.seconds)
            print_costs(runners)
            lines += table(runners, agents)
            return not any(runner.not_run for runner in runners)
    except NoCompiler as reason:
        print(f"not run: {reason}")
        return False


def table(runners: list[Runner], agents: int) -> list[str]:
    """The deaths as lines of a page."""
    ours = next((runner for runner in runners if runner.key == "phoenixd"), None)
    title = f"{agents} agent{'s' * (agents != 1)} of each"
    heads = (title, "kill -9 to main(), ms", "ours", "all killed: first, last back, ms")
    lines = ["", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for runner in runners:
        if runner.not_run:
            lines.append(f"| {runner.peer.name} | not run: {runner.not_run} | | |")
            continue
        killed = runner.restart
        death = f"{killed.median:.1f} / {killed.p90:.1f}" if killed.samples else "-"
        wave = f"{_median(runner.first_back)}, {_median(runner.last_back)}" if runner.last_back.samples else "-"
        lines.append(f"| {runner.peer.name} | {death} | {_ratio(ours, runner, 'restart')} | {wave} |")
    return lines


def _idle(scale: Scale, agents: int) -> bool:
    try:
        with racing(["phoenixd"], agents) as runners:
            print(f"\n{agents} agent{'s' * (agents != 1)}: {_host()}")
            idle(runners, scale.seconds)
            print_costs(runners)
            return not any(runner.not_run for runner in runners)
    except NoCompiler as reason:
        print(f"not run: {reason}")
        return False


def print_deaths(runners: list[Runner]) -> None:
    """Wall time in ms, and CPU time of the supervisor in ms beside it."""
    ours = next((runner for runner in runners if runner.key == "phoenixd" and not runner.not_run), None)
    print(
        f"{'':24}{'kill -9 to main()':>20}{'ours':>8}{'CPU':>7}{'all killed: first':>19}{'last back':>11}{'ours':>8}"
        f"{'CPU':>8}{'status':>9}{'ours':>8}"
    )
    for runner in runners:
        if runner.not_run:
            print(f"{runner.peer.name:24}not run: {runner.not_run}")
            continue
        killed = runner.restart
        restart = f"{killed.median:.1f} / {killed.p90:.1f}" if killed.samples else "-"
        missed = f"  ({killed.missed} never came back)" if killed.missed else ""
        print(
            f"{runner.peer.name:24}{restart:>20}{_ratio(ours, runner, 'restart'):>8}"
            f"{runner.kill_cpu / max(1, len(killed.samples)):>7.1f}{_median(runner.first_back):>19}"
            f"{_median(runner.last_back):>11}{_ratio(ours, runner, 'last_back'):>8}{_median(runner.mass_cpu):>8}"
            f"{_median(runner.status):>9}{_ratio(ours, runner, 'status'):>8}{missed}"
        )


def print_costs(runners: list[Runner]) -> None:
    """CPU in seconds a minute and MiB; ours without its shims, which are an agent's cost and not the daemon's."""
    print(f"{'':24}{'silent':>10}{'with heartbeats':>18}{'RSS':>8}{'PSS':>8}    {_host()}")
    for runner in runners:
        if runner.not_run or runner.silent_cpu is None:
            continue
        beating = f"{runner.beating_cpu:.3f}" if runner.beating_cpu is not None else "-"
        print(f"{runner.peer.name:24}{runner.silent_cpu:>10.3f}{beating:>18}{runner.rss:>8.1f}{runner.pss:>8.1f}")


def _median(figures: object) -> str:
    samples = getattr(figures, "samples", [])
    return f"{figures.median:.0f}" if samples else "-"  # type: ignore[attr-defined]


def _ratio(ours: Runner | None, other: Runner, what: str) -> str:
    """Of ours to the other's median."""
    if ours is None or ours is other:
        return ""
    mine, theirs = getattr(ours, what), getattr(other, what)
    return f"{mine.median / theirs.median:.2f} x" if mine.samples and theirs.samples else "-"


def _host() -> str:
    return f"{processes_on_host()} processes on the host, load {os.getloadavg()[0]:.1f}"
