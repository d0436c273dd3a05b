"""Twenty agents under a daemon that dies again and again: counted in /proc, and held against the answers given."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from phoenixd.demo.stage import Stage, StageFailed
from tests.proof.killing.census import Runs, doubled, runs
from tests.proof.killing.control import Order, ask

AGENTS = 20
SETTLES = 150.0
"""Seconds within which all is as it was ordered, on a busy machine, after shims and tmux died as well."""
STARTS = 90.0

RUNNING, STOPPED, EITHER, GONE = "running", "stopped", "either", "gone"


class Broken(AssertionError):
    """A promise did not hold."""


@dataclass(slots=True)
class Fleet:
    """What is wanted of each agent follows the answers: an order without one may have been taken, or not."""

    stage: Stage
    dice: random.Random
    wanted: dict[str, str] = field(default_factory=dict)
    undisturbed: dict[str, str] = field(default_factory=dict)
    """Run id of each agent of whom nobody asked anything, and whose shim nobody touched, since it was last counted."""
    tally: Counter[str] = field(default_factory=Counter)
    orders: list[Order] = field(default_factory=list)

    # --- the stage ---------------------------------------------------------------------------------------------------

    def declare(self, name: str, number: int = 0, note: str = "") -> None:
        """A plain agent; every fifth ignores SIGHUP, and every tenth leaves its session with a child."""
        script = "exec sleep 100000"
        if number % 5 == 1:
            script = "trap '' HUP; setsid sleep 100000 & sleep 100000" if number % 2 else "trap '' HUP; sleep 100000"
        self.stage.declare(
            name,
            f'[agent.{name}]\nargv = ["sh", "-c", {json.dumps(script)}]\ncwd = "/"\n'
            f'[agent.{name}.env]\nNOTE = "{note}"\n'
            f'[agent.{name}.restart]\nproductive = "0s"\n[agent.{name}.resume]\nrefused_within = "0s"\n',
        )
        self.wanted.setdefault(name, RUNNING)
        # Another specification ends the run that it was started with.
        self.undisturbed.pop(name, None)

    def begin(self) -> None:
        for number in range(AGENTS):
            self.declare(f"a{number:02}", number)
        self.up()
        self.settle("the first start")

    def up(self) -> None:
        """Start a daemon, and wait until it answers; one that ends by itself breaks promise 1."""
        self.stage.up(wait=False)
        self.await_answers()

    def await_answers(self) -> None:
        assert self.stage.process is not None
        deadline = time.monotonic() + STARTS
        while self.ask("GET", "/v1/agents")[0] != 200:
            code = self.stage.process.poll()
            if code is not None:
                raise Broken(f"the daemon ended by itself with {code}:\n{self.stage.log_tail()}")
            if time.monotonic() > deadline:
                raise Broken(f"the daemon does not answer after {STARTS:.0f} s:\n{self.stage.log_tail()}")
            time.sleep(0.02)

    def kill(self, kind: str) -> None:
        """kill -9 of the daemon, and wait for the end of what was asked of it."""
        self.stage.kill()
        self.tally[f"kills: {kind}"] += 1
        self.hear()

    def ask(self, method: str, target: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        return ask(self.stage.runtime / "api.sock", method, target, body)

    # --- what is asked, and what else dies ---------------------------------------------------------------------------

    def give(self, verb: str, name: str) -> Order:
        order = Order(verb, name).give(self.stage.runtime / "api.sock")
        self.undisturbed.pop(name, None)
        self.orders.append(order)
        return order

    def give_some(self) -> list[Order]:
        """One to four orders to as many agents, at once."""
        living = sorted(name for name, what in self.wanted.items() if what != GONE)
        names = self.dice.sample(living, self.dice.randrange(1, 5))
        return [self.give(self.dice.choice(["stop", "start", "start", "restart"]), name) for name in names]

    def later(self, method: str, target: str) -> threading.Thread:
        """A request whose answer binds to nothing, in a thread."""
        thread = threading.Thread(target=self.ask, args=(method, target, {}), daemon=True)
        thread.start()
        return thread

    def hear(self) -> None:
        """Take note of what became of each order: only an answer binds."""
        for order in self.orders:
            if not order.wait(STARTS):
                raise Broken(f"{order.verb} {order.name} got neither an answer nor an end")
            aim = STOPPED if order.verb == "stop" else RUNNING
            if order.acknowledged:
                self.wanted[order.name] = aim
                self.tally["orders acknowledged"] += 1
            elif self.wanted[order.name] != aim:
                self.wanted[order.name] = EITHER
                self.tally["orders cut off"] += 1
        self.orders.clear()

    def kill_a_shim(self) -> None:
        name = self.dice.choice(sorted(name for name, what in self.wanted.items() if what != GONE))
        try:
            record = json.loads((self.stage.state / "agents" / name / "run.json").read_text())
            os.kill(record["shim"]["pid"], signal.SIGKILL)
        except (OSError, ValueError):
            return  # It has none just now.
        self.undisturbed.pop(name, None)
        self.tally["shims killed"] += 1

    def kill_tmux(self) -> None:
        server = ["tmux", "-S", str(self.stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"]
        said = subprocess.run(server, capture_output=True, text=True, check=False).stdout.strip()
        if not said.isdigit():
            return
        os.kill(int(said), signal.SIGKILL)
        self.undisturbed.clear()
        self.tally["tmux servers killed"] += 1

    def misfortune(self) -> None:
        """What dies besides the daemon: seldom tmux with all that is in it, more often one shim."""
        chance = self.dice.random()
        if chance < 0.04:
            self.kill_tmux()
        elif chance < 0.16:
            self.kill_a_shim()

    # --- what must hold ----------------------------------------------------------------------------------------------

    def count(self) -> Runs:
        """At any instant: no agent is doubled, none runs after its acknowledged stop, and no process was lost."""
        found = runs(self.stage.root)
        if twice := doubled(found):
            raise Broken(f"doubled: {twice}")
        for name, what in self.wanted.items():
            if what in (STOPPED, GONE) and found.get(name):
                raise Broken(f"{name} runs ({found[name]}), and it is acknowledged that it is {what}")
        for name, run_id in self.undisturbed.items():
            if run_id not in found.get(name, {}):
                raise Broken(f"the process of {name} was lost: {run_id} is gone, there is {list(found.get(name, {}))}")
        self.tally["counts"] += 1
        return found

    def settle(self, when: str) -> None:
        """All is as it was ordered, by the rows and by /proc; then what was cut off is known, too."""
        why: list[str] = []

        def settled() -> bool:
            why[:] = self._unsettled()
            return not why

        try:
            self.stage.until("all is as it was ordered", settled, SETTLES)
        except StageFailed as failure:
            raise Broken(f"after {when}: {'; '.join(why)}\n{failure}") from failure
        self.undisturbed = {name: next(iter(of)) for name, of in self.count().items()}
        for name, what in self.wanted.items():
            if what == EITHER:
                self.wanted[name] = RUNNING if name in self.undisturbed else STOPPED
        self.tally["settled"] += 1

    def _unsettled(self) -> list[str]:
        status, said = self.ask("GET", "/v1/agents")
        if status != 200:
            return [f"the daemon answers {status}"]
        rows, found = {row["name"]: row for row in said["agents"]}, self.count()
        why = [f"{name} was never declared" for name in rows.keys() - self.wanted.keys()]
        for name, what in sorted(self.wanted.items()):
            row = rows.get(name)
            if what == GONE:
                why += [f"{name} was removed, and is {row['state']}"] if row else []
                continue
            if row is None:
                raise Broken(f"{name} is forgotten")
            allowed = (RUNNING, STOPPED) if what == EITHER else (what,)
            lives = len(found.get(name, {}))
            if row["state"] not in allowed or lives != (row["state"] == RUNNING):
                why.append(f"{name} is {row['state']} ({row['reason']}) with {lives} runs, and wanted {what}")
        return why
