"""A fleet under faults for as long as is wished: nothing grows, and nobody is in a wrong state.

    python -m tests.proof.soak                                     30 minutes, 40 agents, 8 of them real CLIs
    python -m tests.proof.soak --minutes 3 --agents 12 --clis 2    a short one

In the first two thirds the daemon stays one process, so that its growth can be seen; in the last it is killed as well.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from phoenixd.api.idempotency import KEPT
from phoenixd.ctl import wire
from phoenixd.demo.stage import Stage, StageFailed
from phoenixd.documents.incident import DIRECTORY as INCIDENTS
from phoenixd.documents.incident import KEPT as INCIDENTS_KEPT
from tests.e2e.census import carrying, incarnations, survivors
from tests.proof.host.fleet import descriptors
from tests.real.clis import CONTRACTED
from tests.real.installed import locate
from tests.stub.scenario import Scenario

SAMPLE_EVERY = 5.0
FAULT_EVERY = (1.0, 6.0)
AT_ONCE = (0.05, 0.2)
"""Between two faults while the daemon warms up."""
WARMS_FOR = 0.1
"""The share of the time in which memory comes to its height: what is kept of deaths is bounded, and is full only after
some hundreds of them; what many agents need that start in one moment stays with the process."""
SETTLES_IN = 180.0
DOWN, AGAIN = 0.2, 0.25
"""The share of the agents that is down, and that of the orders which change nothing."""
RULES = """[agent.{name}.restart]
max_crashes = 100
max_unproductive = 0
early_exit = "0s"
[agent.{name}.resume]
refused_within = "0s"
"""
BLOCKS = 12


@dataclass(slots=True)
class Soak:
    """The fleet, what is wanted of it, and what was measured."""

    stage: Stage
    dice: random.Random
    wanted: dict[str, str] = field(default_factory=dict)
    clis: list[str] = field(default_factory=list)
    samples: list[dict[str, float]] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    incidents: int = 0
    """The most that any agent had at once."""

    # The fleet.

    def declare(self, agents: int, clis: int, stack: ExitStack) -> None:
        kinds = [(kind, path) for kind in CONTRACTED if (path := locate(kind).binary) is not None]
        for number in range(agents):
            name = f"a{number:02}"
            self.wanted[name] = "running"
            if number < clis and kinds:
                self._declare_cli(name, *kinds[number % len(kinds)], stack)
            else:
                self.stage.declare(
                    name,
                    f'[agent.{name}]\nargv = ["sh", "-c", {json.dumps(_PLAIN)}]\ncwd = "/"\n' + RULES.format(name=name),
                )

    def _declare_cli(self, name: str, kind: str, binary: Path, stack: ExitStack) -> None:
        cli = CONTRACTED[kind](binary)
        home, workspace = self.stage.root / f"{name}-home", self.stage.root / f"{name}-shop"
        home.mkdir()
        workspace.mkdir()
        stub = stack.enter_context(cli.stub(Scenario()))
        cli.prepare(home, stub)
        variables = {key: value for key, value in cli.variables(home, stub).items() if key != "TERM"}
        self.stage.declare(
            name,
            f'[agent.{name}]\nharness = "{kind}"\nargv = {json.dumps([str(binary), *cli.flags()])}\n'
            f'cwd = {json.dumps(str(workspace))}\nenv_from = "none"\nseed_trust = true\nprompt = "Work on."\n'
            + RULES.format(name=name)
            + f"[agent.{name}.env]\n"
            + "".join(f"{key} = {json.dumps(value)}\n" for key, value in variables.items()),
        )
        self.clis.append(name)

    # What happens to it.

    def fault(self, also: tuple[Callable[[], None], ...] = ()) -> None:
        """One thing at random; who is asked in vain, because of the thing before it, asks again later."""
        faults = (
            *(4 * (self.kill_agent, self.restart, self.stop_or_start)),
            self.kill_shim,
            self.kill_tmux,
            self.send,
            self.freeze,
            self.starve,
            self.crowd,
            self.steal,
            *also,
        )
        chosen = self.dice.choice(faults)
        try:
            chosen()
        except (OSError, StageFailed) as failure:
            self.done[f"{chosen.__name__} in vain ({type(failure).__name__})"] += 1
        else:
            self.done[chosen.__name__] += 1

    def _someone(self) -> str:
        return self.dice.choice(sorted(self.wanted))

    def kill_agent(self) -> None:
        pid = self.stage.row(self._someone())["pid"]
        if pid:
            os.kill(pid, signal.SIGKILL)

    def kill_shim(self) -> None:
        run = json.loads((self.stage.state / "agents" / self._someone() / "run.json").read_text())
        if run["shim"]["pid"] in survivors(self.stage.root):
            os.kill(run["shim"]["pid"], signal.SIGKILL)

    def kill_tmux(self) -> None:
        server = ["tmux", "-S", str(self.stage.runtime / "tmux.sock"), "display-message", "-p", "#{pid}"]
        told = subprocess.run(server, capture_output=True, text=True, check=False).stdout.strip()
        if told:
            os.kill(int(told), signal.SIGKILL)

    def restart(self) -> None:
        name = self._someone()
        if self.wanted[name] == "running":
            self.stage.ctl("restart", name)

    def stop_or_start(self) -> None:
        """An order that changes something, or one for what is wanted already.

        As many are down as a moment ago, or one more or less: what follows how many run would seem to grow with them.
        """
        down = [name for name, state in sorted(self.wanted.items()) if state == "stopped"]
        state = "stopped" if len(down) < len(self.wanted) * DOWN else "running"
        if self.dice.random() < AGAIN:
            name = self._someone()
            state = self.wanted[name]
        else:
            name = self.dice.choice(down if state == "running" else sorted(self.wanted.keys() - down))
        verb = "stop" if state == "stopped" else "start"
        done = self.stage.ctl(verb, name)
        if done.returncode == 0:
            self.wanted[name] = state
        else:
            # Nobody was told that it stands, so either may be: ask until it is.
            self.stage.until("the order is taken", lambda: self.stage.ctl(verb, name).returncode == 0, 60)
            self.wanted[name] = state

    def send(self) -> None:
        if self.clis:
            self.stage.ctl("send", self.dice.choice(self.clis), "Go on.")

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(0.1, 3.0))
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self.stage.process is not None
        os.kill(self.stage.process.pid, number)

    def starve(self) -> None:
        """A time without descriptors."""
        assert self.stage.process is not None
        pid = self.stage.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors(pid), limits[1]))
        time.sleep(self.dice.uniform(0.1, 2.0))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)

    def crowd(self) -> None:
        """Up to sixty connections that say half a request and stay for a while."""
        with ExitStack() as held:
            for _ in range(60):
                line = held.enter_context(socket.socket(socket.AF_UNIX))
                line.setblocking(False)
                if line.connect_ex(str(self.stage.runtime / "api.sock")) != 0:
                    break  # It takes no more of them, and the wait below goes on.
                line.send(b"GET /v1/agents HTTP/1.1\r\n")
            time.sleep(1)

    def steal(self) -> None:
        """Somebody takes a socket away."""
        paths = [self.stage.runtime / "api.sock", self.stage.runtime / "agents" / self._someone() / "link.sock"]
        self.dice.choice(paths).unlink(missing_ok=True)

    def kill_daemon(self) -> None:
        self.stage.kill()
        self.stage.up()

    def fill(self) -> None:
        """As many orders as the daemon keeps replies of, so that their memory is no growth afterwards."""
        socket_path = os.fsencode(self.stage.runtime / "api.sock")
        for _ in range(KEPT):
            key = f"idempotency-key: {os.urandom(16).hex()}"
            answer = wire.ask([socket_path], "POST", "/v1/agents/a00/start", b"{}", as_json=True, headers=(key,))
            if answer is None:
                raise StageFailed("the daemon did not answer an order")

    # What is measured.

    def sample(self) -> None:
        assert self.stage.process is not None
        pid = self.stage.process.pid
        state = list(os.walk(self.stage.state))
        status = dict(
            line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
        )
        self.samples.append(
            {
                "RSS, kB": float(status["VmRSS"].split()[0]),
                "descriptors": float(len(os.listdir(f"/proc/{pid}/fd"))),
                "threads": float(status["Threads"]),
                "processes": float(len(survivors(self.stage.root))),
                "control groups": float(_groups(self.stage)),
                "journal, bytes a row": _row_size(self.stage.state / "journal.sqlite3"),
                "WAL, kB": _size(self.stage.state / "journal.sqlite3-wal"),
                "files": float(sum(len(files) for where, _, files in state if Path(where).name != INCIDENTS)),
            }
        )
        # Each death adds one until an agent has as many as are kept, which takes longer than a soak.
        self.incidents = max(
            self.incidents, *(len(files) for where, _, files in state if Path(where).name == INCIDENTS), 0
        )

    def wrong(self) -> list[str]:
        """Who is not as wanted, by what /proc says."""
        rows = self.stage.rows()
        found = []
        for name, state in self.wanted.items():
            runs = incarnations(self.stage.root, name)
            if rows[name]["state"] != state or len(runs) != (state == "running"):
                found.append(f"{name}: wanted {state}, is {rows[name]['state']} with {len(runs)} runs")
        return found


_PLAIN = "while :; do echo '{}' | $PHOENIX_HOOK prompt-submit; sleep 5; echo '{}' | $PHOENIX_HOOK stop; sleep 5; done"


def _groups(stage: Stage) -> int:
    for line in _cgroup_of_a_run(stage).splitlines():
        if line.startswith("0::"):
            tree = Path("/sys/fs/cgroup/unified" + line[3:]).parent.parent
            return sum(1 for _ in tree.rglob("cgroup.procs")) if tree.is_dir() else 0
    return 0


def _cgroup_of_a_run(stage: Stage) -> str:
    """Of the first that lives until it was read."""
    ours = survivors(stage.root)
    for pid in carrying(b"PHOENIX_RUN_ID="):
        with suppress(FileNotFoundError, ProcessLookupError):
            if pid in ours:
                return Path(f"/proc/{pid}/cgroup").read_text()
    return ""


def _size(path: Path) -> float:
    return path.stat().st_size / 1024 if path.exists() else 0.0


def _row_size(journal: Path) -> float:
    """The journal keeps an hour at least, so it grows with what happens: how much for each row is the question."""
    with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as opened:
        rows = opened.execute("select max(seq) from entries").fetchone()[0]
    return journal.stat().st_size / max(1, rows or 1)


def slope(values: list[float]) -> tuple[float, float]:
    """Growth per block of time, and its standard error; blocks, because neighbours in time are not independent."""
    size = len(values) // BLOCKS
    means = [statistics.fmean(values[block * size : (block + 1) * size]) for block in range(BLOCKS)]
    middle, mean = (BLOCKS - 1) / 2, statistics.fmean(means)
    spread = sum((block - middle) ** 2 for block in range(BLOCKS))
    rise = sum((block - middle) * (value - mean) for block, value in enumerate(means)) / spread
    rest = sum((value - mean - rise * (block - middle)) ** 2 for block, value in enumerate(means))
    return rise, (rest / (BLOCKS - 2) / spread) ** 0.5


def grown(samples: list[dict[str, float]]) -> list[str]:
    """What grows beyond its error, and by more than a hundredth of itself in the whole time."""
    if len(samples) < BLOCKS:
        return [f"not to be told from {len(samples)} samples: give it more --minutes"]
    found = []
    for what in samples[0]:
        values = [sample[what] for sample in samples]
        rise, error = slope(values)
        mean = statistics.fmean(values)
        print(f"  {what:22} {mean:10.1f}, {values[0]:.0f} to {values[-1]:.0f}; {rise:+.3f} +- {error:.3f} a block")
        if rise > 3 * error and rise * BLOCKS > 0.01 * mean + 1:
            found.append(what)
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.proof.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--agents", type=int, default=40)
    parser.add_argument("--clis", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="phx-") as root, ExitStack() as stack:
        soak = Soak(Stage(Path(root)), random.Random(given.seed))
        stack.callback(soak.stage.down)
        soak.declare(given.agents, given.clis, stack)
        soak.stage.up()
        soak.fill()
        seconds = given.minutes * 60
        storm(soak, seconds * WARMS_FOR, every=AT_ONCE)
        soak.samples.clear()
        storm(soak, seconds * 2 / 3)
        whole = soak.samples[len(soak.samples) // 4 :]
        storm(soak, seconds / 3, (soak.kill_daemon,))
        took = settle(soak)
        wrong = soak.wrong()
        print(f"seed {given.seed}, {given.minutes:g} min, {given.agents} agents, of them {len(soak.clis)} real CLIs")
        print(f"  {dict(soak.done)}")
        growing = grown(whole)
        if soak.incidents > INCIDENTS_KEPT + 1:  # The newest is written before the oldest goes.
            growing.append(f"incidents of an agent, to {soak.incidents}")
        integrity = (
            sqlite3.connect(soak.stage.state / "journal.sqlite3").execute("pragma integrity_check").fetchone()[0]
        )
    print(f"wrong states after {took:.0f} s of rest: {wrong or 0}; grows: {growing or 'nothing'}; journal: {integrity}")
    return 1 if wrong or growing or integrity != "ok" else 0


def storm(
    soak: Soak,
    seconds: float,
    also: tuple[Callable[[], None], ...] = (),
    every: tuple[float, float] = FAULT_EVERY,
) -> None:
    end = time.monotonic() + seconds
    next_sample = 0.0
    while time.monotonic() < end:
        if time.monotonic() >= next_sample:
            soak.sample()
            next_sample = time.monotonic() + SAMPLE_EVERY
        soak.fault(also)
        time.sleep(soak.dice.uniform(*every))


def settle(soak: Soak) -> float:
    """Wait until all is as wanted; returns how long that took."""
    try:
        return soak.stage.until("all is as wanted", lambda: _is_settled(soak), SETTLES_IN)
    except StageFailed:
        return SETTLES_IN


def _is_settled(soak: Soak) -> bool:
    """A daemon whose socket was stolen last answers again some seconds later."""
    try:
        return not soak.wrong()
    except StageFailed:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
