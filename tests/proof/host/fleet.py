"""A small fleet that a fault of the host must leave as it was wanted, with at most one alert for each cause."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phoenixd.demo.stage import Stage
from tests.e2e.census import incarnations

RUNNING = tuple(f"a{number}" for number in range(6))
STOPPED = ("s0", "s1")
PATIENCE = 90.0
"""Seconds within which everything is as wanted once the fault is over."""


@dataclass(slots=True)
class Fleet:
    """Six agents that shall run and two that were stopped on purpose."""

    stage: Stage
    pids: dict[str, int] = field(default_factory=dict)

    def up(self, below: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> None:
        """Start the daemon `below` a command that gives it a world of its own, and bring the fleet to its state."""
        for name in RUNNING + STOPPED:
            self.stage.declare(
                name,
                f'[agent.{name}]\nargv = ["sleep", "100000"]\ncwd = "/"\n'
                f'restart = {{ early_exit = "0s", productive = "0s" }}\nresume = {{ refused_within = "0s" }}\n',
            )
        self.again(below, environ)
        self.stage.until("all run", self._all_run, 60)
        for name in STOPPED:
            self.stage.ask("stop", name)
        self.pids = {name: self.stage.row(name)["pid"] for name in RUNNING}

    def _all_run(self) -> bool:
        rows = self.stage.rows()
        return all(rows[name]["state"] == "running" for name in RUNNING + STOPPED)

    def again(self, below: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> None:
        """Start the daemon on what it left."""
        stage = self.stage
        words = [*below, sys.executable, "-m", "phoenixd", "--state-dir", str(stage.state)]
        with stage.log.open("ab") as log:
            stage.process = subprocess.Popen(
                [*words, "--runtime-dir", str(stage.runtime)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**stage.environ, **(environ or {})},
            )
        stage.until("the daemon answers", stage.answers, 60)

    @property
    def daemon(self) -> int:
        assert self.stage.process is not None
        return self.stage.process.pid

    def settles(self, *, healed: Sequence[str] = ()) -> None:
        """Wait until all is as wanted; those that are not `healed` must be the processes that they were."""
        self.stage.until("all is as wanted", self.is_as_wanted, PATIENCE)
        rows = self.stage.rows()
        for name in RUNNING:
            assert (rows[name]["pid"] == self.pids[name]) is (name not in healed), (name, rows[name])
        repeated = {cause: count for cause, count in self.alerts().items() if count > 1}
        assert not repeated, "at most one alert for each cause"

    def is_as_wanted(self) -> bool:
        if not self.stage.answers():
            return False
        told = json.loads(self.stage.ask("status", "--json"))
        rows = {row["name"]: row for row in told["agents"]}
        return not told["daemon"]["degraded"] and all(
            rows[name]["state"] == ("running" if name in RUNNING else "stopped")
            and sum(incarnations(self.stage.root, name).values()) == (name in RUNNING)
            for name in RUNNING + STOPPED
        )

    def alerts(self) -> Counter[tuple[str | None, str]]:
        """How many alerts were raised, by agent and kind."""
        told: list[dict[str, Any]] = json.loads(self.stage.ask("events", "--since", "1h", "--all", "--json"))["events"]
        return Counter((row["agent"], row["detail"]["kind"]) for row in told if row["event"] == "alert_raised")


def descriptors(pid: int) -> int:
    """The lowest limit of descriptors that leaves a process not one more than it has."""
    return max(map(int, os.listdir(f"/proc/{pid}/fd"))) + 1
