"""Where the time of one death lies: from `kill -9` of an agent's process to main() of the next one, step by step.

The daemon and the shims run with marks that `marked/` puts into them, so that phoenixd itself has none. A mark costs
some 5 us. The medians of the steps need not add up to the median of the whole.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.arena import Births, Figures, NoCompiler, build_child, processes_on_host
from tests.bench.marked.starting import mark
from tests.bench.peers import Phoenixd
from tests.bench.race import GROWN, PATIENCE, PHASE
from tests.bench.scale import Scale

LEAST = 24
"""Deaths that a table is made of at least."""

STEPS = {
    "seen": "shim: SIGCHLD is read",
    "reaped": "shim: the agent is reaped",
    "tree gone": "shim: nothing of its tree is left",
    "disks": "shim: the disks have room",
    "exit.json": "shim: exit.json is written",
    "told": "shim: all stands, the daemon can be told",
    "heard": "daemon: it is told, and reads that",
    "turn": "daemon: the turn begins",
    "stepped": "daemon: stepped, and noted for the journal",
    "asked to save": "daemon: the batch is handed in",
    "rows": "daemon: the rows are made",
    "thread": "daemon: the journal's thread has them",
    "committed": "daemon: committed and synced",
    "saved": "daemon: the turn knows it",
    "acted": "daemon: the spawn is let go",
    "lane": "daemon: the agent's lane has it",
    "ordered": "daemon: the order stands, the shim can be told",
    "order heard": "shim: it is told, and reads that",
    "order read": "shim: the order is read",
    "ready": "shim: all is ready for the fork",
    "forked": "child: it begins, in its control group",
    "set up": "child: it is set up",
    "main": "child: exec, and main()",
}

MEANWHILE = {
    "files": "daemon: a thread has the start's files",
    "written": "daemon: they and the order are written",
}
"""What is done while the decision is being saved: of these only is told when they came."""


class Marked(Phoenixd):
    """Ours, with marks on a death's way."""

    def __init__(self, root: Path, marks: Path) -> None:
        super().__init__(root)
        mark(self.stage, "marked_daemon", marks)


def report(scale: Scale) -> bool:
    """A table for each number of agents, one of them killed at a time."""
    try:
        for agents in scale.agents:
            _print(agents, deaths(agents, max(scale.kills, LEAST)))
    except NoCompiler as reason:
        print(f"not run: {reason}")
        return False
    return True


def deaths(agents: int, kills: int) -> list[dict[str, float]]:
    """Of each death the milliseconds from the kill to each step."""
    with tempfile.TemporaryDirectory(prefix="phx-bench-") as directory, _running(Path(directory), agents) as found:
        births, marks = found
        return [death for death in (_one_death(births, marks) for _ in range(kills)) if death is not None]


@contextmanager
def _running(root: Path, agents: int) -> Iterator[tuple[Births, Path]]:
    names = [f"a{number:03}" for number in range(agents)]
    marks, births = root / "marks", Births(f"@phx-bench-{os.getpid()}-death")
    peer = Marked(root / "phoenixd", marks)
    try:
        peer.start(build_child(root), str(births.path), names)
        if len(births.collect(agents, max(180.0, agents))) < agents:
            raise TimeoutError(f"only {len(births.alive)} of {agents} children were started")
        yield births, marks
    finally:
        peer.stop()
        births.close()


def _one_death(births: Births, marks: Path) -> dict[str, float] | None:
    """Kill one agent at a random phase; None where it did not come back."""
    name = random.choice(list(births.alive))
    time.sleep(max(0.0, births.newest[name].at + GROWN - time.monotonic()) + random.uniform(0, PHASE))
    read_from, began = marks.stat().st_size, time.monotonic_ns()
    os.kill(births.alive[name], signal.SIGKILL)
    give_up = time.monotonic() + PATIENCE
    while (left := give_up - time.monotonic()) > 0:
        birth = births.next(left)
        if birth is not None and birth.name == name:
            return _steps(marks, read_from, began, round(birth.at * 1e9))
    return None


def _steps(marks: Path, read_from: int, began: int, born: int) -> dict[str, float]:
    """When each step came first after the kill and after the step before it, whatever else happened meanwhile."""
    with marks.open("rb") as file:
        file.seek(read_from)
        lines = [line.decode().split(" ", 1) for line in file.read().splitlines()]
    told = [(int(at), step) for at, step in lines]
    found, after = dict[str, float](), began
    for step in STEPS:
        at = born if step == "main" else next((at for at, one in told if one == step and at >= after), None)
        if at is not None:
            after, found[step] = at, (at - began) / 1e6
    for step in MEANWHILE:
        if (at := next((at for at, one in told if one == step), None)) is not None:
            found[step] = (at - began) / 1e6
    return found


def _print(agents: int, found: list[dict[str, float]]) -> None:
    whole = Figures([death["main"] for death in found])
    host = f"{processes_on_host()} processes on the host, load {os.getloadavg()[0]:.1f}"
    print(f"\n{agents} agent{'s' * (agents != 1)}, {len(found)} deaths, ms from the step before: {host}")
    print(f"{'':52}{'median':>8}{'p90':>8}{'share':>8}{'until then':>12}")
    for step, words in STEPS.items():
        took = Figures([death[step] - _before(death, step) for death in found if step in death])
        until = Figures([death[step] for death in found if step in death])
        if took.samples:
            share = f"{100 * took.median / whole.median:.0f} %"
            print(f"{words:52}{took.median:>8.2f}{took.p90:>8.2f}{share:>8}{until.median:>12.2f}")
    for step, words in MEANWHILE.items():
        until = Figures([death[step] for death in found if step in death])
        if until.samples:
            print(f"{words + ', meanwhile':76}{until.median:>12.2f}")
    print(f"{'kill -9 to main()':52}{whole.median:>8.2f}{whole.p90:>8.2f}")


def _before(death: dict[str, float], step: str) -> float:
    earlier = [death[one] for one in list(STEPS)[: list(STEPS).index(step)] if one in death]
    return earlier[-1] if earlier else 0.0
