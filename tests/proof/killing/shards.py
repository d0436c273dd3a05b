"""The shards of `./dev proof kills`: each a fleet of its own, some dozens of deaths of one kind, and one verdict."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import phoenixd
from tests.proof.killing.calls import TracedStage, calls_of_a_life, is_possible, kill_at_a_call
from tests.proof.killing.fleet import AGENTS, GONE, RUNNING, Fleet

Shard = Callable[[Fleet, TracedStage, int, random.Random], None]
SETTLE_EVERY = 6


class NotRun(Exception):
    """This machine lacks what the shard needs."""


def orders(fleet: Fleet, stage: TracedStage, kills: int, dice: random.Random) -> None:
    """At a random instant under orders, also while it starts."""
    fleet.begin()
    for number in range(1, kills + 1):
        given = fleet.give_some()
        fleet.misfortune()
        if dice.random() < 0.5:
            time.sleep(dice.uniform(0, 0.03))
        else:
            for order in given:
                order.wait(dice.uniform(0, 0.1))
            time.sleep(dice.uniform(0, 0.5))
        fleet.kill("under orders")
        _start_again(fleet, stage, dice, number)
    fleet.settle("the last kill")


def syscalls(fleet: Fleet, stage: TracedStage, kills: int, dice: random.Random) -> None:
    """At a system call that strace chose."""
    if not is_possible():
        raise NotRun("strace is not installed")
    fleet.begin()
    fleet.kill("to trace the next life")
    calls = calls_of_a_life(fleet, stage)
    landed = 0
    while landed < kills:
        landed += kill_at_a_call(fleet, stage, calls, dice)
        fleet.count()
        if landed % SETTLE_EVERY == 0:
            fleet.up()
            fleet.settle("a kill at a system call")
            fleet.kill("to trace the next life")
    fleet.up()
    fleet.settle("the last kill")


def applies(fleet: Fleet, stage: TracedStage, kills: int, dice: random.Random) -> None:
    """While a new configuration is taken: agents that are added, changed and removed, beside orders."""
    fleet.begin()
    extra: list[str] = []
    for number in range(1, kills + 1):
        for step in range(dice.randrange(1, 4)):
            if extra and dice.random() < 0.4:
                removed = extra.pop(dice.randrange(len(extra)))
                (stage.state / "agents.d" / f"{removed}.toml").unlink()
                fleet.undisturbed.pop(removed, None)
                fleet.wanted[removed] = "unknown"
            else:
                extra.append(f"x{number}-{step}")
                fleet.declare(extra[-1], number)
        for agent in dice.sample(range(AGENTS), 3):
            fleet.declare(f"a{agent:02}", agent, note=f"{number}")
        if dice.random() < 0.5:
            fleet.give(dice.choice(["stop", "start", "restart"]), f"a{dice.randrange(AGENTS):02}")
        apply = fleet.later("POST", "/v1/apply")
        apply.join(dice.uniform(0, 0.4))
        fleet.misfortune()
        fleet.kill("during apply")
        apply.join()
        _start_again(fleet, stage, dice, 1)
        _apply_all(fleet)
        if number % SETTLE_EVERY == 0:
            fleet.settle("an apply")
    fleet.settle("the last kill")


def upgrades(fleet: Fleet, stage: TracedStage, kills: int, dice: random.Random) -> None:
    """While the package is replaced under the daemon, and while the other version starts on the living agents."""
    package = stage.root / "installed" / "phoenixd"
    shutil.copytree(Path(phoenixd.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    stage.environ = {**stage.environ, "PYTHONPATH": str(package.parent), "PYTHONSAFEPATH": "1"}
    fleet.begin()
    for number in range(1, kills // 2 + 1):
        fleet.give_some()
        files = _upgrade(package, number)
        for _ in range(dice.randrange(0, 40)):
            next(files, None)
        fleet.misfortune()
        fleet.kill("during an upgrade, the older one")
        for _ in files:
            pass
        stage.up(wait=False)
        time.sleep(dice.uniform(0.3, 2.5))
        fleet.kill("during an upgrade, the newer one at its start")
        fleet.count()
        fleet.up()
        if number % 3 == 0:
            fleet.settle("an upgrade")
    fleet.settle("the last kill")


def starts(fleet: Fleet, stage: TracedStage, kills: int, dice: random.Random) -> None:
    """While all twenty start: at an operator's word, or because tmux died."""
    fleet.begin()
    for number in range(1, kills + 1):
        names = [f"a{agent:02}" for agent in range(AGENTS)]
        match dice.choice(("restart", "restart", "stop and start", "tmux")):
            case "restart":
                for name in names:
                    fleet.give("restart", name)
            case "stop and start":
                stops = [fleet.give("stop", name) for name in names]
                for order in stops:
                    order.wait()
                fleet.hear()
                fleet.count()
                for name in names:
                    fleet.give("start", name)
            case _:
                fleet.kill_tmux()
        time.sleep(dice.uniform(0, 2.0))
        if dice.random() < 0.2:
            fleet.kill_a_shim()
        fleet.kill("during starts of 20")
        _start_again(fleet, stage, dice, number, every=3)
    fleet.settle("the last kill")


def _start_again(fleet: Fleet, stage: TracedStage, dice: random.Random, number: int, every: int = SETTLE_EVERY) -> None:
    """Start the daemon, which is now and then killed while it starts; count, and now and then wait for peace."""
    if dice.random() < 0.15:
        stage.up(wait=False)
        time.sleep(dice.uniform(0.2, 2.0))
        fleet.kill("at a start, besides")
        fleet.count()
    fleet.up()
    fleet.count()
    if number % every == 0:
        fleet.settle("some kills")


def _apply_all(fleet: Fleet) -> None:
    """Once more, and undisturbed: now the configuration is taken, whatever became of it before."""
    status, said = fleet.ask("POST", "/v1/apply", {})
    if status != 200:
        raise AssertionError(f"apply was answered with {status}: {said}")
    for name, what in tuple(fleet.wanted.items()):
        if what == "unknown":
            fleet.wanted[name] = GONE
        elif what == RUNNING and name.startswith("x"):
            fleet.tally["agents added"] += 1


def _upgrade(package: Path, number: int) -> Iterator[Path]:
    """Replace the package file by file, as pip does; yields after each, so that it can be cut off anywhere."""
    files = sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    for path in files:
        content, times = path.read_bytes(), path.stat()
        path.unlink()
        yield path
        if path == package / "__init__.py":
            content = f'"""phoenixd."""\n\n__version__ = "0.1.{number}"\n'.encode()
        elif path == package / "shim" / "shim.py":
            content = content.partition(b"\n# of upgrade ")[0] + f"\n# of upgrade {number % 3}\n".encode()
        path.write_bytes(content)
        if path.name not in ("__init__.py", "shim.py"):
            os.utime(path, (times.st_atime, times.st_mtime))


SHARDS: dict[str, tuple[Shard, int]] = {
    "orders-1": (orders, 55),
    "orders-2": (orders, 55),
    "syscalls-1": (syscalls, 34),
    "syscalls-2": (syscalls, 33),
    "syscalls-3": (syscalls, 33),
    "apply": (applies, 30),
    "upgrade": (upgrades, 30),
    "starts": (starts, 30),
}
"""Name -> what it does, and how many kills it counts."""
