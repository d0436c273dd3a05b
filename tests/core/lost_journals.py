"""A world in which everything is known: what was asked, what lives, and what each copy of the journal could know.

The daemon's half is the real core and the real keeper of epochs. The truth is kept beside it and never asked of it:
orders by what the operator said, processes by what was spawned and died. Nothing here reads a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from random import Random

import anyio

from phoenixd.core.actions import Action, Fence, Kill, Spawn, Terminate
from phoenixd.core.agent import Agent
from phoenixd.core.behind import plan, verdicts
from phoenixd.core.behind.world import SeenRun, Trace, Wish, World
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import EpochBegun, JournalBehind, RecoveryConfirmed, Tick
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    OperatorEvent,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.runs import AgentExited, AgentStarted, RunAdopted, RunMissing, ShimLost, TreeGone
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec
from phoenixd.core.step import step
from phoenixd.ports.journal import Batch, RunFiles
from phoenixd.runtime.epochs import EpochKeeper
from tests.clocks import FastClock

BOOT = "boot"
SEAMS = ("before the commit", "after the commit", "after the epoch", "after the act")


class Broken(AssertionError):
    """A promise did not hold."""


@dataclass(slots=True)
class Disk:
    """What the keeper writes, and run.json and exit.json."""

    number: int = 0
    wishes: dict[str, Wish] = field(default_factory=dict)
    runs: dict[str, SeenRun] = field(default_factory=dict)

    def copy(self) -> Disk:
        return Disk(self.number, dict(self.wishes), dict(self.runs))

    def epoch(self) -> int:
        return self.number

    def names(self) -> frozenset[str]:
        return frozenset({*self.wishes, *self.runs})

    def run_files(self, agent: str) -> RunFiles:
        last = self.runs.get(agent)
        return RunFiles(self.wishes.get(agent), last, last.incarnation if last else 0)

    async def keep_epoch(self, number: int) -> None:
        self.number = max(self.number, number)

    async def keep_wish(self, agent: str, wish: Wish) -> None:
        self.wishes[agent] = wish


@dataclass(slots=True)
class Shim:
    """One that lives; it remembers what it was told, and how its last run ended."""

    living: SeenRun | None = None
    ended: AgentExited | None = None
    told: int = 0


@dataclass(slots=True)
class Truth:
    """What was asked of an agent. order: the last one that was answered. unsure: another was asked, never answered."""

    order: str = "running"
    unsure: bool = False
    stopped_itself: bool = False
    used: int = 0
    killed_by_us: int = 0


@dataclass(frozen=True, slots=True)
class Saved:
    """One commit, and the disk beside it as it was then."""

    agents: Mapping[str, Agent]
    retired: Mapping[str, int]
    epoch: int
    next_item: int
    disk: Disk
    weighs: int
    """Orders, starts and changes of mind until then: what an older copy lacks can be counted by it."""


class LostJournals:
    """Lives through a history, loses its journal, and is asked what became of everybody."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.at = 100.0
        self.fleet = Fleet()
        self.disk = Disk()
        self.shims: dict[str, Shim] = {}
        self.truth: dict[str, Truth] = {}
        self.specs: dict[str, AgentSpec] = {}
        self.saved: list[Saved] = []
        self.story: list[str] = []
        self.weighs = 0
        self.seams = 0
        self.recovering = False
        self.is_damaged = False
        self.nothing_remembers = False
        """The state directory went back as a whole, and no shim that lives was told of a later epoch."""
        self.keeper = self._new_keeper()
        self._queue: list[Event] = []

    def _new_keeper(self) -> EpochKeeper:
        return EpochKeeper(self.disk, FastClock(), lambda event: None, self._tell_shims)

    def _tell_shims(self, number: int) -> None:
        for shim in self.shims.values():
            shim.told = max(shim.told, number)

    # The daemon's loop: step, commit, epoch, act.

    async def turn(self, event: Event, dies: str | None = None) -> bool:
        """One event; False where the daemon died at this seam of it."""
        self.at += 0.1
        now = Moment(self.at, 1e9 + self.at, 0.5, str(self.at))
        before, result = self.fleet, step(self.fleet, event, now)
        if dies == SEAMS[0]:
            return False
        self.fleet = result.fleet
        changed = {one.agent.name: one.agent for one in result.decisions if one.agent and not one.removed}
        removed = {one.agent.name: one.agent.incarnation for one in result.decisions if one.agent and one.removed}
        moved = {
            name
            for name, agent in changed.items()
            if name not in before.agents
            or (before.agents[name].incarnation, before.agents[name].desired) != (agent.incarnation, agent.desired)
        }
        weighs = moved or removed or (isinstance(event, OperatorEvent | EpochBegun) and result.decisions)
        # Before the epoch stands nobody was answered, and nothing was done: that is nothing to miss.
        if weighs and dies != SEAMS[1]:
            self.weighs += 1
        self._commit()
        if dies == SEAMS[1]:
            return False
        changed = {name: agent for name, agent in changed.items() if name not in removed}
        batch = Batch(now.at, now.wall, (), tuple(changed.values()), tuple(removed.items()), epoch=self.fleet.epoch)
        is_order = isinstance(event, OperatorEvent | EpochBegun | JournalBehind | RecoveryConfirmed)
        async with anyio.create_task_group() as writing:
            self.keeper.begin(writing)
            self.keeper.keep(batch, is_order, True)
        if dies == SEAMS[2]:
            return False
        for decision in result.decisions:
            for action in decision.actions:
                self._act(action)
        return dies is None

    async def settle(self) -> None:
        """Let what is under way come to its end."""
        for _ in range(60):
            events, self._queue = self._queue, []
            for event in events:
                await self.turn(event)
            self.at += 5
            await self.turn(Tick())
            if not self._queue:
                return

    def _commit(self) -> None:
        fleet = self.fleet
        kept = Saved(fleet.agents, fleet.retired, fleet.epoch, fleet.next_item, self.disk.copy(), self.weighs)
        self.saved.append(kept)

    def _act(self, action: Action) -> None:
        match action:
            case Spawn(agent=name, incarnation=incarnation, run_id=run_id):
                self._spawn(name, incarnation, run_id, action.session_id, action.mode.value)
            case Terminate(agent=name, incarnation=incarnation) | Kill(agent=name, incarnation=incarnation):
                shim = self.shims.get(name)
                if shim is not None and shim.living is not None and shim.living.incarnation == incarnation:
                    self._ended_by_us(name)
                    self.dies(name, signal=15)
            case Fence(agent=name, incarnation=incarnation):
                shim = self.shims.get(name)
                if shim is not None and shim.living is not None and shim.living.incarnation == incarnation:
                    self._ended_by_us(name)
                    self.dies(name, signal=9)
                self._queue.append(TreeGone(name, incarnation))

    def _spawn(self, name: str, incarnation: int, run_id: str, session_id: str, mode: str) -> None:
        shim, truth = self.shims.setdefault(name, Shim()), self.truth[name]
        if shim.living is not None:
            raise Broken(f"{name}: run {incarnation} is started over run {shim.living.incarnation}, which lives")
        if incarnation <= truth.used and not self.nothing_remembers:
            raise Broken(f"{name}: incarnation {incarnation} is used again; {truth.used} was the last")
        is_known = self.recovering and not truth.unsure and not self.nothing_remembers
        if is_known and (truth.order != "running" or truth.stopped_itself):
            raise Broken(f"{name}: was {truth.order}, and is started")
        truth.used = incarnation
        run = SeenRun(incarnation, run_id, session_id, mode, 1000 + incarnation, 1, 1e9, self.keeper.committed, BOOT)
        shim.living = self.disk.runs[name] = run
        self._queue.append(AgentStarted(name, incarnation, run_id, 1000 + incarnation, 1))

    def _ended_by_us(self, name: str) -> None:
        truth = self.truth[name]
        truth.killed_by_us += 1
        if self.recovering and truth.order == "running" and not truth.unsure:
            raise Broken(f"{name}: lives, was not asked to stop, and is killed")

    def dies(self, name: str, code: int | None = None, signal: int | None = None) -> None:
        """Its process ends, and its shim tells so."""
        shim = self.shims[name]
        run = shim.living
        assert run is not None
        shim.living = None
        shim.ended = AgentExited(name, run.incarnation, run.run_id, code, signal, at_wall=2e9)
        self._queue.append(shim.ended)

    # What happens.

    async def order(self, event: Event, name: str, word: str, dies: str | None = None) -> bool:
        truth = self.truth.setdefault(name, Truth(order="stopped"))
        self.story.append(f"{type(event).__name__} {name}" + (f", the daemon dies {dies}" if dies else ""))
        if dies is not None:
            truth.unsure = True
        alive = await self.turn(event, dies)
        if alive:
            # What ended on purpose before it was asked, and had not been heard yet, stays down all the same.
            unheard = any(isinstance(one, AgentExited) and (one.agent, one.code) == (name, 0) for one in self._queue)
            truth.order, truth.unsure, truth.stopped_itself = word, unheard, False
        return alive

    async def live(self, steps: int) -> None:
        """A history of orders, deaths and ends."""
        for _ in range(steps):
            await self._something()
            if self.dice.random() < 0.8:
                await self.settle()

    async def _something(self) -> None:
        name = self.dice.choice("abcde")
        agent = self.fleet.agents.get(name)
        if agent is None:
            if name not in self.specs or self.dice.random() < 0.3:
                spec = AgentSpec(name, ("x",), "/", autostart=self.dice.random() < 0.7)
                self.specs[name] = spec
                await self.order(AgentDeclared(spec), name, "stopped")
            return
        match self.dice.randrange(10):
            case 0 | 1 | 2:
                await self.order(StartRequested(name), name, "running")
            case 3 | 4:
                await self.order(StopRequested(name), name, "stopped")
            case 5:
                await self.order(RestartRequested(name), name, "running")
            case 6:
                await self.order(StopRequested(name, after_iteration=True), name, "ending")
            case 7 if self.dice.random() < 0.4:
                self.specs.pop(name, None)
                await self.order(AgentWithdrawn(name), name, "stopped")
            case _:
                self._falls(name)

    def _falls(self, name: str) -> None:
        shim = self.shims.get(name)
        if shim is None or shim.living is None:
            return
        if self.dice.random() < 0.3 and self.at > 0:
            self.story.append(f"{name} ends with 0")
            # Long enough to count as an end on purpose.
            self.at += 100
            self.truth[name].stopped_itself = True
            self.dies(name, code=0)
        elif self.dice.random() < 0.3:
            self.story.append(f"{name} loses its shim")
            run = shim.living
            del self.shims[name]
            self._queue.append(ShimLost(name, run.incarnation))
        else:
            self.story.append(f"{name} is killed")
            self.dies(name, signal=9)

    # The disaster.

    def fall_behind(self) -> tuple[str, bool, bool]:
        """Lose something while no daemon lives: what, whether that shows, and whether all wishes are as they were."""
        for name in "abcde":
            if self.dice.random() < 0.15:
                self._falls(name)
        self._queue.clear()
        newest = self.saved[-1]
        old = self.dice.choice(self.saved)
        match self.dice.randrange(6):
            case 0:
                what, kept = "as it was", newest
            case 1:
                what, kept = "lost", Saved({}, {}, 0, 1, self.disk, -1)
            case 2:
                rows = {name: one for name, one in newest.agents.items() if self.dice.random() < 0.5}
                what, kept = "some rows lost", replace(newest, agents=rows)
                self.is_damaged = True
                if len(rows) == len(newest.agents):
                    what = "as it was"
            case 3:
                what, kept = "the whole state directory is older", old
                runs = self.disk.runs
                self.disk.number, self.disk.wishes = old.disk.number, dict(old.disk.wishes)
                runs.clear()
                runs.update(old.disk.runs)
            case _:
                what, kept = "older", old
        wishes_kept = what != "the whole state directory is older"
        newest_told = max((shim.told for shim in self.shims.values()), default=0)
        self.nothing_remembers = not wishes_kept and newest_told <= self.disk.number
        if wishes_kept and what != "as it was" and self.dice.random() < 0.2:
            gone = self.dice.choice("abcde")
            self.disk.wishes.pop(gone, None)
            wishes_kept = gone not in self.truth
            what += f", and the wish of {gone}"
        self.story.append(f"the journal: {what}")
        is_behind = kept.weighs < newest.weighs or (what.startswith("some rows lost"))
        self.fleet = Fleet(kept.agents, retired=kept.retired, next_item=kept.next_item, epoch=kept.epoch)
        self.saved = [kept] if kept.weighs >= 0 else []
        return what, is_behind, wishes_kept

    async def recover(self) -> bool:
        """A daemon starts; whether it tells that the journal is behind."""
        self.keeper = self._new_keeper()
        self.keeper.committed = self.fleet.epoch
        world = World(BOOT, self.fleet.epoch, self.disk.number, tuple(self._traces()), self.is_damaged)
        self.keeper.knows(dict(self.disk.wishes), self.disk.number)
        why = verdicts.lag(world, self.fleet.agents, self.fleet.retired, set(self.specs))
        if why is not None:
            await self.turn(JournalBehind(why, world, tuple(self.specs.values())))
        await self.turn(EpochBegun(world.newest))
        for agent in tuple(self.fleet.agents.values()):
            self._reconcile(agent)
        for spec in self.specs.values():
            fresh = spec.name not in self.fleet.agents
            self.truth.setdefault(spec.name, Truth())
            await self.turn(AgentDeclared(spec, start=fresh and spec.autostart and why is None))
        await self.settle()
        return any(one.kind == plan.BEHIND for one in self.fleet.alerts)

    def _traces(self) -> Iterable[Trace]:
        for name in sorted({*self.disk.names(), *self.fleet.agents, *self.specs, *self.shims}):
            files, shim = self.disk.run_files(name), self.shims.get(name)
            seen = max(files.incarnation, files.wish.incarnation if files.wish else 0)
            if shim is None:
                yield Trace(name, files.wish, "none", None, files.last, seen)
            elif shim.living is None:
                ended = shim.ended.incarnation if shim.ended else 0
                yield Trace(name, files.wish, "idle", None, files.last, max(seen, ended), shim.told)
            else:
                highest = max(seen, shim.living.incarnation)
                yield Trace(name, files.wish, "runs", shim.living, files.last, highest, shim.told)

    def _reconcile(self, agent: Agent) -> None:
        """As the runtime compares a hello with what is known."""
        shim, run = self.shims.get(agent.name), agent.run
        living = shim.living if shim is not None else None
        if living is not None and (run is None or living.run_id != run.run_id):
            self._ended_by_us(agent.name)
            self.dies(agent.name, signal=9)
            self._queue.pop()
        if run is None:
            return
        if living is not None and living.run_id == run.run_id:
            self._queue.append(RunAdopted(agent.name, run.incarnation, living.pid or 0, 1))
        elif shim is not None and shim.ended is not None and shim.ended.run_id == run.run_id:
            self._queue.append(shim.ended)
        else:
            self._queue.append(RunMissing(agent.name, run.incarnation))


async def play(seed: int) -> str:
    """One round; returns what was lost. Raises Broken."""
    world = LostJournals(seed)
    try:
        return await _play(world)
    except Broken as broken:
        story = "\n  ".join(world.story)
        raise Broken(f"seed {seed}: {broken}\n  {story}") from None


async def _play(world: LostJournals) -> str:
    dice = world.dice
    await world.recover()
    await world.live(dice.randint(3, 14))
    await world.settle()
    known = [name for name in world.fleet.agents]
    if known and dice.random() < 0.6:
        name, seam = dice.choice(known), dice.choice(SEAMS)
        event, word = dice.choice([(StopRequested(name), "stopped"), (StartRequested(name), "running")])
        await world.order(event, name, word, dies=seam)
    what, is_behind, wishes_kept = world.fall_behind()
    alive = {name: shim.living for name, shim in world.shims.items() if shim.living is not None}
    world.recovering = True
    told = await world.recover()
    if is_behind and not told and "whole" not in what:
        raise Broken("the journal is behind, and nobody is told")
    if told and what == "as it was":
        raise Broken("the journal is as it was, and is said to be behind")
    for name, run in alive.items():
        shim, truth = world.shims.get(name), world.truth[name]
        if truth.order == "running" and not truth.unsure and (shim is None or shim.living is not run):
            raise Broken(f"{name}: lived, and does no longer")
    for name, agent in world.fleet.agents.items():
        truth, shim = world.truth[name], world.shims.get(name)
        wanted = truth.order == "running" and not truth.unsure and not truth.stopped_itself
        lives = shim is not None and shim.living is not None
        if wishes_kept and wanted and not lives and agent.state.name not in ("backing_off", "quarantined"):
            raise Broken(f"{name}: was wanted, has its wish, and is {agent.state.name}: {agent.reason}")
    world.recovering = False
    await world.turn(RecoveryConfirmed())
    await world.settle()
    if any(one.kind == plan.BEHIND for one in world.fleet.alerts) or any(a.found for a in world.fleet.agents.values()):
        raise Broken("confirmed, and still told")
    return what


def play_many(rounds: int) -> Counter[str]:
    """How often each kind of loss was met; raises Broken."""
    met: Counter[str] = Counter()

    async def run() -> None:
        for seed in range(rounds):
            met[(await play(seed)).partition(",")[0]] += 1

    anyio.run(run)
    return met
