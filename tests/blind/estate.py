"""What outlives a daemon on the simulated disk: the journal and its copies, and each agent's own directory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio

from phoenixd.core.behind.world import SeenRun, Wish
from phoenixd.ports.journal import Batch, RunFiles, Saved
from tests.simulate.host import Host
from tests.simulate.memory_journal import MemoryJournal

WRITING = 0.0005


@dataclass(frozen=True, slots=True)
class JournalCopy:
    """A journal as it was at one time."""

    at: float = 0.0
    saved: Saved = field(default_factory=Saved)
    snapshots: dict[str, tuple[str, str]] = field(default_factory=dict)
    remembered: dict[str, str] = field(default_factory=dict)
    retired: dict[str, int] = field(default_factory=dict)
    rows: int = 0


class AgeingJournal(MemoryJournal):
    """A journal that can be copied, put back, cut at any time, and lost."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._versions = [self.copy()]

    def copy(self) -> JournalCopy:
        return JournalCopy(
            self._host.now, self._saved, dict(self._snapshots), dict(self._remembered), dict(self._retired),
            len(self.entries),
        )  # fmt: skip

    def put_back(self, copy: JournalCopy) -> None:
        """It is that copy again; what was written since is as if it had never been."""
        self._saved, self._snapshots = copy.saved, dict(copy.snapshots)
        self._remembered, self._retired = dict(copy.remembered), dict(copy.retired)
        del self.entries[copy.rows :]
        self._versions.append(self.copy())

    def cut(self, since: float) -> None:
        """All is lost that it was told after that time."""
        self.put_back([one for one in self._versions if one.at <= since][-1])

    def lose(self) -> None:
        self.put_back(JournalCopy())

    async def remember(self, key: str, value: str) -> None:
        await super().remember(key, value)
        self._versions.append(self.copy())

    def _apply(self, batch: Batch) -> tuple[int, ...]:
        seqs = super()._apply(batch)
        self._versions.append(self.copy())
        return seqs


@dataclass(slots=True)
class Directories:
    """Implements ports.Epochs: the count of orders, and of each agent its wish, run.json and exit.json."""

    number: int = 0
    wishes: dict[str, Wish] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    exits: dict[str, dict[str, Any]] = field(default_factory=dict)

    def copy(self) -> Directories:
        return Directories(self.number, dict(self.wishes), dict(self.runs), dict(self.exits))

    def put_back(self, copy: Directories) -> None:
        self.number = copy.number
        for mine, then in ((self.wishes, copy.wishes), (self.runs, copy.runs), (self.exits, copy.exits)):
            mine.clear()
            mine.update(then)  # type: ignore[arg-type]

    def delete(self, agent: str) -> None:
        for files in (self.wishes, self.runs, self.exits):
            files.pop(agent, None)

    def epoch(self) -> int:
        return self.number

    def names(self) -> frozenset[str]:
        return frozenset({*self.wishes, *self.runs, *self.exits})

    def run_files(self, agent: str) -> RunFiles:
        run, ended = self.runs.get(agent), self.exits.get(agent)
        last = None
        if run is not None:
            child = run["child"]
            last = SeenRun(
                run["incarnation"], run["run_id"], run["session_id"], run["mode"], child["pid"], child["start_time"],
                run["began_wall"], run["epoch"], run["boot_id"],
            )  # fmt: skip
        numbers = [one["incarnation"] for one in (run, ended) if one is not None]
        return RunFiles(self.wishes.get(agent), last, max(numbers, default=0))

    async def keep_epoch(self, number: int) -> None:
        await anyio.sleep(WRITING)
        self.number = max(self.number, number)

    async def keep_wish(self, agent: str, wish: Wish) -> None:
        await anyio.sleep(WRITING)
        self.wishes[agent] = wish
