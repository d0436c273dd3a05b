"""The simulated host: processes, shims, the terminal server, the disk: all that outlives a daemon's death."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from phoenixd.ports.processes import ProcessIdentity
from tests.simulate.ledger import Ledger
from tests.simulate.project import Project
from tests.simulate.promises import Promises
from tests.simulate.seats import Seats
from tests.simulate.virtual_loop import VirtualLoop

if TYPE_CHECKING:
    from tests.simulate.memory_journal import MemoryJournal
    from tests.simulate.shim import Shim

EPOCH = 1_800_000_000.0


@dataclass(slots=True, eq=False)
class Process:
    """One process. A run's tree is what carries its run id, a shim carries none. busy_until: SIGKILL waits for it."""

    identity: ProcessIdentity
    agent: str
    run_id: str = ""
    busy_until: float = 0.0
    is_alive: bool = True
    watchers: list[Callable[[], None]] = field(default_factory=list)


@dataclass(slots=True)
class Life:
    """Whether the daemon that these ports belong to still lives."""

    is_over: bool = False


class Host:
    """Everything happens at `loop.time()`, by seeded dice, in one thread."""

    def __init__(self, loop: VirtualLoop, seed: str) -> None:
        self.loop = loop
        self.dice = random.Random(seed)
        self.promises = Promises(self)
        self.seats = Seats(self, self.promises.hold)
        self.project = Project()
        self.boots = 1
        self.processes: dict[int, Process] = {}
        self.shims: dict[str, Shim] = {}
        self.exit_records: dict[str, dict[str, Any]] = {}
        self.spools: dict[str, list[dict[str, Any]]] = {}
        self.hooks_sent = 0
        self.daemons = 0
        """How many have begun."""
        self.terminal_is_alive = False
        self.journal: MemoryJournal
        self.heartbeat: Callable[[str], None] = lambda agent: None
        """Tells the daemon that lives now that an agent wrote its heartbeat file."""
        self.terminal_ended: Callable[[], None] = lambda: None
        """Tells the daemon that lives now that the terminal server's process has ended."""
        self.at_point: Callable[[str], None] = lambda point: None
        """Called at each point of a supervisor's turn: saving, saved, acting, acted, answered."""
        self.is_calm = False
        """Once true, agents behave, starts are quick and nothing fails by itself."""
        self.is_plain = False
        """Whether agents meet no limits, and nothing of them sticks in the kernel: who ended how is then plain."""
        self.ledger = Ledger()
        self.finished: Counter[str] = Counter()
        """How often runs of each agent ended with 0, which the journal knew to have begun."""
        self.seen: Counter[str] = Counter()
        self._next_pid = 100

    @property
    def now(self) -> float:
        return self.loop.time()

    @property
    def wall(self) -> float:
        return EPOCH + self.loop.time()

    @property
    def boot_id(self) -> str:
        return f"boot-{self.boots}"

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self.loop.call_later(seconds, call)

    def happens(self, chance: float) -> bool:
        """Whether a misfortune of that chance strikes; never once the storm is over."""
        struck = self.dice.random() < chance
        return struck and not self.is_calm

    def spawn(self, agent: str, run_id: str = "") -> Process:
        self._next_pid += 1
        identity = ProcessIdentity(self.boot_id, self._next_pid, int(self.now * 100))
        process = Process(identity, agent, run_id)
        self.processes[identity.pid] = process
        return process

    def find(self, identity: ProcessIdentity) -> Process | None:
        process = self.processes.get(identity.pid)
        return process if process is not None and process.identity == identity else None

    def tree(self, run_id: str) -> list[Process]:
        """What is alive of a run."""
        return [process for process in self.processes.values() if process.run_id == run_id]

    def kill(self, process: Process) -> None:
        """SIGKILL: now, or when an uninterruptible call returns."""
        if not process.is_alive:
            return
        if process.busy_until > self.now:
            self.loop.call_at(process.busy_until + 0.001, self.kill, process)
            return
        process.is_alive = False
        del self.processes[process.identity.pid]
        watchers, process.watchers = process.watchers, []
        for watcher in watchers:
            self.loop.call_soon(watcher)

    def lose_terminal(self) -> None:
        """The terminal server dies: every shim is hung up on."""
        self.terminal_is_alive = False
        for shim in tuple(self.shims.values()):
            shim.hang_up()
        self.later(0.0005, lambda: self.terminal_ended())

    def reboot(self) -> None:
        """Power off and on: no process is left, nobody writes a last record, files stay."""
        self.end_all()
        self.boots += 1

    def end_all(self) -> None:
        """Every process is gone at once, as when its container is."""
        self.terminal_is_alive = False
        for shim in tuple(self.shims.values()):
            shim.vanish()
        for process in tuple(self.processes.values()):
            process.is_alive = False
            process.watchers.clear()
        self.processes.clear()
