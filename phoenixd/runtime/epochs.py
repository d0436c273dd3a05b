"""What is kept outside the journal, so that an older one is known for what it is: the epoch, and each agent's wish.

Order: commit, epoch, act, answer. The epoch is written at orders and at the daemon's start, a wish where it changed. A
restart writes neither: its order carries the epoch to the shim.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

import anyio
import structlog
from anyio.abc import TaskGroup

from phoenixd.core.agent import Agent
from phoenixd.core.behind.epochs import wish_of
from phoenixd.core.behind.world import Wish
from phoenixd.core.durability import ENOUGH, Episode
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.errors import PhoenixdError
from phoenixd.ports import Clock, Sink
from phoenixd.ports.journal import Batch, Epochs

RETRY = 10.0
"""Seconds after which what could not be written is tried again."""

TELLING = 1.0
"""Seconds after which shims are told a new epoch: a hundred of them wake up for it, and the order is answered first.

The shims of agents that are stopped or removed are told at once.
"""

KIND = "epoch"
"""Of the alert that tells of it."""

log = structlog.get_logger()


class EpochKeeper:
    """Called once for each saved turn, between the commit and the first action."""

    def __init__(
        self,
        files: Epochs,
        clock: Clock,
        tell: Sink,
        tell_shims: Callable[[int], None] = lambda number: None,
        tell_at_once: Callable[[int, Collection[str]], None] = lambda number, unwanted: None,
    ) -> None:
        """tell_at_once: gets each epoch as it becomes durable, with the agents that are not to run any more since.

        tell_shims: gets the newest epoch a moment later, where others were made durable meanwhile.
        """
        self._files = files
        self._tell = tell
        self._tell_shims = tell_shims
        self._tell_at_once = tell_at_once
        self._is_telling = False
        self._wishes: dict[str, Wish] = {}
        self._unwritten: dict[str, Wish] = {}
        self._unwanted: dict[str, int] = {}
        """The agents that are not to run any more, with the epoch of that wish, until that one is durable."""
        self._clock = clock
        self._episode = Episode()
        self._troubled = anyio.Event()
        self._early: list[Callable[[], None]] = []
        self._tasks: TaskGroup | None = None
        self.committed = 0
        """The newest epoch that the journal holds: what a start may carry."""
        self.durable = 0
        """The newest epoch that stands in its file."""

    def knows(self, wishes: dict[str, Wish], durable: int, trouble: str = "") -> None:
        """What was found on the disk at the daemon's start. trouble: what an earlier daemon left standing."""
        self._wishes, self.durable = dict(wishes), durable
        if trouble:
            self._episode = self._episode.bad(trouble, self._clock.at())
            self._troubled.set()

    async def run(self) -> None:
        """Write, for ever: also what nobody waits for any longer, and once more what could not be written."""
        async with anyio.create_task_group() as tasks:
            self.begin(tasks)
            while True:
                await self._troubled.wait()
                await self._clock.sleep_until(self._clock.at() + RETRY)
                await self._write(dict(self._unwritten), max(self.committed, self.durable), anyio.Event())

    def begin(self, tasks: TaskGroup) -> None:
        """Write in these tasks from now on, first what was to be kept before."""
        self._tasks = tasks
        early, self._early = self._early, []
        for begin in early:
            begin()

    def keep(self, batch: Batch, is_order: bool, is_saved: bool) -> anyio.Event | None:
        """Make durable what a turn decided; returns what is set once that is so, None where nothing has to be.

        Of a batch that is not saved only the wishes are written, without an epoch, and nobody waits for that.
        """
        wishes = self._changed(batch)
        if is_saved:
            self.committed = max(self.committed, batch.epoch)
        number = batch.epoch if is_order and is_saved and batch.epoch > self.durable else None
        if not wishes and number is None:
            return None
        written = anyio.Event()

        def begin() -> None:
            assert self._tasks is not None
            self._tasks.start_soon(self._write, wishes, number, written)

        if self._tasks is None:
            self._early.append(begin)
        else:
            begin()
        return written if is_saved else None

    async def settle(
        self, agents: Callable[[], Iterable[Agent]], retired: Callable[[], Mapping[str, int]] = dict
    ) -> None:
        """Write the wishes that no directory has yet, as after an upgrade, or a death before they were written.

        retired: the last incarnations of agents that were removed; where one left no file, there is nothing to put
        right.
        """
        wanted = {agent.name: wish_of(agent, self.committed) for agent in agents()}
        missing = {
            name: wish
            for name, wish in wanted.items()
            if name not in self._wishes or not self._wishes[name].is_as(wish)
        }
        for name, incarnation in retired().items():
            left = self._wishes.get(name)
            # One of a later run was declared anew, in what an older journal has lost.
            if name not in wanted and left and left.word != "removed" and left.incarnation <= incarnation:
                missing[name] = Wish("removed", self.committed, incarnation)
        if missing:
            # Before it is written: an order that comes meanwhile has to be held against it.
            self._wishes.update(missing)
            await self._write(missing, None, anyio.Event())

    def _changed(self, batch: Batch) -> dict[str, Wish]:
        found: dict[str, Wish] = {}
        for agent in batch.changed:
            wish, known = wish_of(agent, batch.epoch), self._wishes.get(agent.name)
            if known is None or not known.is_as(wish):
                found[agent.name] = wish
        for name, incarnation in batch.removed:
            found[name] = Wish("removed", batch.epoch, incarnation)
        self._wishes.update(found)
        self._unwanted.update((name, batch.epoch) for name, wish in found.items() if wish.word != "running")
        return found

    async def _write(self, wishes: dict[str, Wish], number: int | None, written: anyio.Event) -> None:
        failures: list[str] = []

        async def put(write: Awaitable[None]) -> bool:
            try:
                await write
            except (OSError, PhoenixdError) as fault:
                failures.append(str(fault))
                return False
            return True

        async def put_wish(name: str, wish: Wish) -> None:
            is_written, waiting = await put(self._files.keep_wish(name, wish)), self._unwritten.get(name)
            if waiting is not None and waiting.epoch > wish.epoch:
                return
            if is_written:
                self._unwritten.pop(name, None)
                if wish.word == "removed" and self._wishes.get(name) == wish:
                    # It stands in its file; one of the same name wants something else in any case.
                    del self._wishes[name]
                return
            self._unwritten[name] = wish
            # Not known to stand there: an order that wants the same need not wait for the next try.
            if self._wishes.get(name) == wish:
                del self._wishes[name]

        # At once, so that a file system that syncs them together makes one order wait for one sync.
        async with anyio.create_task_group() as tasks:
            if number is not None:
                tasks.start_soon(put, self._files.keep_epoch(number))
            for name, wish in wishes.items():
                tasks.start_soon(put_wish, name, wish)
        if number is not None and not failures:
            self.durable = max(self.durable, number)
            self._tell_of_unwanted()
            if not self._is_telling and self._tasks is not None:
                self._is_telling = True
                self._tasks.start_soon(self._tell_soon)
        self._judge(failures[0] if failures else None)
        written.set()

    def _tell_of_unwanted(self) -> None:
        unwanted = frozenset(name for name, epoch in self._unwanted.items() if epoch <= self.durable)
        if unwanted:
            self._unwanted = {name: epoch for name, epoch in self._unwanted.items() if name not in unwanted}
            self._tell_at_once(self.durable, unwanted)

    async def _tell_soon(self) -> None:
        """Tell the shims which epoch is durable by then."""
        await self._clock.sleep_until(self._clock.at() + TELLING)
        self._is_telling = False
        self._tell_shims(self.durable)

    def _judge(self, why: str | None) -> None:
        """One trouble is told once: it is over when a write succeeds and none has failed for a while."""
        now, before = self._clock.at(), self._episode
        if why is not None:
            log.error("epoch_not_written", reason=why)
            self._episode = before.bad(why, now)
            if not before.stands:
                self._troubled.set()
                text = f"epoch and wishes cannot be written ({why}): a journal that is lost now would not be missed"
                self._tell(TroubleSeen(None, KIND, text))
        elif before.stands:
            self._episode = before.well(ENOUGH).settled(now)
            if not self._episode.stands:
                self._troubled = anyio.Event()
                self._tell(TroubleGone(None, KIND, "they are written again"))
