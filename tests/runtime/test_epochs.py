"""Commit, epoch, act, answer: in that order, and a restart syncs nothing beyond its commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from phoenixd.core.actions import Action, Spawn, Terminate
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired
from phoenixd.core.behind.epochs import wish_of
from phoenixd.core.behind.verdicts import judge_all, lag
from phoenixd.core.behind.world import Trace, Wish, Word, World
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import EpochBegun, TroubleGone
from phoenixd.core.events.orders import AgentDeclared, StartRequested, StopRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.fleet import Fleet
from phoenixd.core.spec import AgentSpec
from phoenixd.drivers.files.epoch import EpochFiles
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Batch
from phoenixd.runtime.epochs import EpochKeeper
from phoenixd.runtime.supervisor import Supervisor
from tests.agents import an_agent
from tests.clocks import FastClock
from tests.core.story import spec
from tests.waiting import eventually


@dataclass
class Told:
    """Journal, files and dispatch in one: what was called, in order."""

    order: list[str] = field(default_factory=list)
    fails: bool = False
    wishes: dict[str, Wish] = field(default_factory=dict)

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        if self.fails:
            raise JournalFailed("the disk is full")
        self.order.append(f"commit {batch.epoch}")
        return tuple(range(len(batch.entries)))

    def release_reserve(self) -> bool:
        return False

    async def shortage(self) -> str | None:
        return None

    async def keep_epoch(self, number: int) -> None:
        self.order.append(f"epoch {number}")

    async def keep_wish(self, agent: str, wish: Wish) -> None:
        self.order.append(f"wish {wish.word} {wish.epoch}")
        self.wishes[agent] = wish

    def act(self, action: Action) -> None:
        if isinstance(action, Spawn | Terminate):
            self.order.append(f"{type(action).__name__.lower()}")

    def heard(self) -> list[str]:
        found, self.order[:] = list(self.order), []
        return found


def supervised(told: Told) -> tuple[Supervisor, EpochKeeper]:
    clock = FastClock()
    keeper = EpochKeeper(told, clock, lambda event: None, lambda number: told.order.append(f"shims {number}"))  # type: ignore[arg-type]
    supervisor = Supervisor(Fleet(), clock, told, told.act, remember=keeper.keep)  # type: ignore[arg-type]
    return supervisor, keeper


async def turn(supervisor: Supervisor, keeper: EpochKeeper, event: Event) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.saver.run)
        keeper.begin(tasks)
        supervisor.tell(event)
        await supervisor.turn()
        tasks.cancel_scope.cancel()


async def test_promise_9_an_order_is_committed_then_its_epoch_and_wish_are_kept_and_then_it_is_done() -> None:
    told = Told()
    supervisor, keeper = supervised(told)
    await turn(supervisor, keeper, EpochBegun(7))
    assert told.heard() == ["commit 8", "epoch 8", "shims 8"]
    await turn(supervisor, keeper, AgentDeclared(AgentSpec("a", ("x",), "/")))
    assert told.heard() == ["commit 9", "epoch 9", "wish stopped 9", "shims 9"]
    await turn(supervisor, keeper, StartRequested("a"))
    assert told.heard() == ["commit 10", "epoch 10", "wish running 10", "shims 10", "spawn"]
    run = supervisor.fleet.agents["a"].run
    assert run is not None
    await turn(supervisor, keeper, AgentStarted("a", 1, run.run_id, 5, 5))
    assert told.heard() == ["commit 10"]
    await turn(supervisor, keeper, AgentExited("a", 1, run.run_id, None, 9))
    assert told.heard() == ["commit 11", "spawn"], "a restart carries its epoch in its order, and syncs no file"
    assert (keeper.committed, keeper.durable) == (11, 10)
    await turn(supervisor, keeper, StopRequested("a"))
    assert told.heard() == ["commit 12", "epoch 12", "wish stopped 12", "shims 12", "terminate"]


async def test_shims_are_told_the_newest_of_several_epochs_once_and_after_whoever_ordered() -> None:
    """Each of them wakes up for it: a hundred would run before the answer to the order."""
    told, clock = Told(), StandingClock()
    keeper = EpochKeeper(told, clock, lambda event: None, lambda number: told.order.append(f"shims {number}"))  # type: ignore[arg-type]
    async with anyio.create_task_group() as tasks:
        keeper.begin(tasks)
        for number in (1, 2, 3):
            written = keeper.keep(Batch(1.0, 1.0, epoch=number), is_order=True, is_saved=True)
            assert written is not None
            await written.wait()
        assert told.heard() == ["epoch 1", "epoch 2", "epoch 3"]
        clock.later.set()
        await eventually(lambda: "shims 3" in told.order)
        assert told.heard() == ["shims 3"]
        keeper.keep(Batch(1.0, 1.0, epoch=4), is_order=True, is_saved=True)
        await eventually(lambda: "shims 4" in told.order)


async def test_promise_9_shims_of_agents_that_are_not_to_run_any_more_are_told_before_the_order_is_answered() -> None:
    """Also of one that waits for its next start. A commit that was late is told when its epoch is durable."""
    told: list[tuple[int, set[str]]] = []
    keeper = EpochKeeper(
        Told(),  # type: ignore[arg-type]
        StandingClock(),
        lambda event: None,
        tell_at_once=lambda number, unwanted: told.append((number, set(unwanted))),
    )
    runs, off = (an_agent(spec=spec(name), desired=Desired.RUNNING) for name in "ab"), an_agent(spec=spec("a"))
    async with anyio.create_task_group() as tasks:
        keeper.begin(tasks)

        async def kept(
            *changed: Agent, epoch: int, removed: tuple[tuple[str, int], ...] = (), late: bool = False
        ) -> None:
            batch = Batch(1.0, 1.0, changed=changed, removed=removed, epoch=epoch)
            written = keeper.keep(batch, is_order=True, is_saved=not late)
            if written is not None:
                await written.wait()

        await kept(*runs, epoch=1)
        assert told == [], "nobody has to remember that one is wanted"
        await kept(off, epoch=2, late=True)
        await kept(epoch=1)
        assert told == []
        await kept(off, epoch=2)
        await kept(removed=(("b", 1),), epoch=3)
        assert told == [(2, {"a"}), (3, {"b"})]
        tasks.cancel_scope.cancel()


class StandingClock(FastClock):
    """Nobody sleeps to the end before it is `later`."""

    def __init__(self) -> None:
        super().__init__()
        self.later = anyio.Event()

    async def sleep_until(self, at: float) -> None:
        await self.later.wait()


async def test_promise_3_a_stop_that_the_journal_does_not_take_stands_as_a_wish() -> None:
    told = Told()
    supervisor, keeper = supervised(told)
    for event in (AgentDeclared(AgentSpec("a", ("x",), "/")), StartRequested("a")):
        await turn(supervisor, keeper, event)
    told.heard()
    told.fails = True
    await turn(supervisor, keeper, StopRequested("a"))
    await eventually(lambda: "wish stopped 3" in told.order)
    assert "terminate" in told.order
    assert not [one for one in told.order if one.startswith("epoch")], "the epoch follows a commit alone"


class Full(Told):
    async def keep_wish(self, agent: str, wish: Wish) -> None:
        raise OSError(28, "No space left on device")


async def test_a_wish_that_cannot_be_written_is_told_and_holds_nothing_up() -> None:
    told, heard = Full(), list[Event]()
    supervisor, keeper = supervised(told)
    keeper._tell = heard.append
    await turn(supervisor, keeper, AgentDeclared(AgentSpec("a", ("x",), "/"), start=True))
    assert "spawn" in told.order
    assert getattr(heard[0], "kind", "") == "epoch"


@pytest.mark.parametrize("word", ["running", "stopped"])
async def test_after_an_upgrade_each_agent_gets_its_wish(word: str) -> None:
    told = Told()
    supervisor, keeper = supervised(told)
    await turn(supervisor, keeper, AgentDeclared(AgentSpec("a", ("x",), "/"), start=word == "running"))
    told.heard()
    keeper.knows({}, 0)
    await keeper.settle(lambda: supervisor.fleet.agents.values())
    assert told.heard() == [f"wish {word} 1"]
    await keeper.settle(lambda: supervisor.fleet.agents.values())


@pytest.mark.parametrize(("left", "order"), [("stopped", StopRequested("a")), ("running", StartRequested("a"))])
async def test_promise_3_an_order_that_wants_what_the_file_said_before_the_daemons_start_is_written(
    left: Word, order: Event
) -> None:
    """A killed daemon, or an older version, left the file behind the journal; it was put right since."""
    told = Told()
    supervisor, keeper = supervised(told)
    await turn(supervisor, keeper, AgentDeclared(AgentSpec("a", ("x",), "/"), start=left == "stopped"))
    keeper.knows({"a": Wish(left, 1)}, 1)
    await keeper.settle(lambda: supervisor.fleet.agents.values())
    told.heard()
    await turn(supervisor, keeper, order)
    assert f"wish {left} 2" in told.order


async def test_promise_3_that_a_member_of_a_sequence_has_no_turns_any_more_is_a_wish_of_its_own() -> None:
    """It was stopped between two turns: down it was before, and it is to stay so now."""
    told = Told()
    supervisor, keeper = supervised(told)
    await turn(supervisor, keeper, AgentDeclared(AgentSpec("a", ("x",), "/", turn_of="first")))
    told.heard()
    await turn(supervisor, keeper, StopRequested("a"))
    assert [one for one in told.heard() if one.startswith("wish")] == ["wish stopped 2"]
    assert told.wishes["a"].left_out
    keeper.knows({"a": Wish("stopped", 1)}, 1)
    await keeper.settle(lambda: supervisor.fleet.agents.values())
    assert [one for one in told.heard() if one.startswith("wish")] == ["wish stopped 2"], "of an older version"


async def test_the_last_wish_of_who_was_removed_does_not_outlive_the_next_daemons_start() -> None:
    """A daemon that is killed between its commit and that file leaves it: a lost journal would believe it."""
    told = Told()
    supervisor, keeper = supervised(told)
    await turn(supervisor, keeper, AgentDeclared(AgentSpec("a", ("x",), "/")))
    told.heard()
    left = {"a": Wish("stopped", 1), "gone": Wish("stopped", 1, 3), "told": Wish("removed", 1, 2)}
    keeper.knows({**left, "declared anew": Wish("running", 1, 5)}, 1)
    removed = {"a": 7, "gone": 3, "told": 2, "declared anew": 4, "without a file": 1}
    for _ in range(2):
        await keeper.settle(lambda: supervisor.fleet.agents.values(), lambda: removed)
    assert told.heard() == ["wish removed 1"]


class FullOnce(Told):
    """A disk that is full for the first wishes."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    async def keep_wish(self, agent: str, wish: Wish) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError(28, "No space left on device")
        await super().keep_wish(agent, wish)


async def test_promise_3_a_wish_that_could_not_be_written_is_written_as_soon_as_it_can() -> None:
    """An agent that is stopped changes no more: nothing else would ever write that it is."""
    told = FullOnce(0)
    supervisor, keeper = supervised(told)
    for event in (AgentDeclared(AgentSpec("a", ("x",), "/")), StartRequested("a")):
        await turn(supervisor, keeper, event)
    told.heard()
    told.failures = 2
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.saver.run)
        tasks.start_soon(keeper.run)
        await anyio.lowlevel.checkpoint()
        supervisor.tell(StopRequested("a"))
        await supervisor.turn()
        await eventually(lambda: told.failures == 0, what="it was tried again")
        await eventually(lambda: "wish stopped 3" in told.order)
        tasks.cancel_scope.cancel()


async def test_a_wish_that_changed_before_it_could_be_written_is_not_written_late() -> None:
    told = FullOnce(0)
    supervisor, keeper = supervised(told)
    for event in (AgentDeclared(AgentSpec("a", ("x",), "/")), StartRequested("a")):
        await turn(supervisor, keeper, event)
    told.failures = 1
    await turn(supervisor, keeper, StopRequested("a"))
    await turn(supervisor, keeper, StartRequested("a"))
    told.heard()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keeper.run)
        await eventually(lambda: "epoch 4" in told.order)
        tasks.cancel_scope.cancel()
    assert not [one for one in told.order if one.startswith("wish stopped")]


@pytest.mark.parametrize("event", [StopRequested("a"), StartRequested("a")])
async def test_promise_3_what_the_journal_does_not_take_is_known_after_a_restart_by_the_wish(
    event: Event, tmp_path: Path
) -> None:
    """So far the words of exit code 6 go: whether the agent is to run, and no more."""
    told, files = Told(), EpochFiles(tmp_path)
    told.keep_epoch, told.keep_wish = files.keep_epoch, files.keep_wish  # type: ignore[method-assign]
    supervisor, keeper = supervised(told)
    before: tuple[Event, ...] = (AgentDeclared(AgentSpec("a", ("x",), "/")),)
    if isinstance(event, StopRequested):
        before = (*before, StartRequested("a"))
    for one in before:
        await turn(supervisor, keeper, one)
    saved = supervisor.fleet
    told.fails = True
    word = "stopped" if isinstance(event, StopRequested) else "running"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.saver.run)
        keeper.begin(tasks)
        supervisor.tell(event)
        await supervisor.turn()
        await eventually(lambda: (files.run_files("a").wish or Wish("removed", 0)).word == word)
        tasks.cancel_scope.cancel()

    world = World("boot", saved.epoch, files.epoch(), (Trace("a", files.run_files("a").wish),))
    assert lag(world, saved.agents, {}, ()) is not None, "the journal is known to be behind"
    (judged,) = judge_all(world, saved.agents, {"a": saved.agents["a"].spec}, FastClock().now())
    assert judged.agent is not None
    assert judged.agent.desired is (Desired.STOPPED if word == "stopped" else Desired.RUNNING)


async def test_a_trouble_with_the_epoch_that_stood_when_a_daemon_died_is_over_in_the_next_one() -> None:
    told, heard = Told(), list[Event]()
    keeper = EpochKeeper(told, FastClock(), heard.append)  # type: ignore[arg-type]
    keeper.knows({}, 1, trouble="epoch and wishes cannot be written (No space left on device)")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keeper.run)
        await eventually(lambda: bool(heard))
        tasks.cancel_scope.cancel()
    assert heard == [TroubleGone(None, "epoch", "they are written again")]


async def test_a_start_that_found_no_trouble_with_the_epoch_tells_of_none_and_of_no_end_of_one() -> None:
    heard = list[Event]()
    keeper = EpochKeeper(Told(), FastClock(), heard.append)  # type: ignore[arg-type]
    keeper.knows({"a": Wish("stopped", 3)}, 3)
    with anyio.move_on_after(0.2):
        await keeper.run()
    assert not heard


async def test_a_keeper_that_has_nothing_left_to_write_writes_nothing() -> None:
    """Its clock does not wait, so that it would write again and again by now."""
    told = Told()
    keeper = EpochKeeper(told, FastClock(), lambda event: None, lambda number: None)  # type: ignore[arg-type]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keeper.run)
        await eventually(lambda: keeper._tasks is not None)
        written = keeper.keep(Batch(1.0, 1.0, epoch=4), is_order=True, is_saved=True)
        assert written is not None
        await written.wait()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert told.heard() == ["epoch 4"]
        tasks.cancel_scope.cancel()


async def test_what_is_to_be_kept_before_anything_is_written_is_written_in_its_order_once_it_is() -> None:
    """As what a daemon decides before its tasks run."""
    told = Told()
    keeper = EpochKeeper(told, FastClock(), lambda event: None)  # type: ignore[arg-type]
    agent = an_agent(spec=spec("a"))
    first = keeper.keep(Batch(0.0, 0.0, changed=(agent,), epoch=3), True, True)
    second = keeper.keep(Batch(0.0, 0.0, removed=(("b", 2),), epoch=4), True, True)
    assert first is not None
    assert second is not None
    assert told.heard() == []
    assert keeper.keep(Batch(0.0, 0.0, epoch=4), False, True) is None, "nothing has to be kept"

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            keeper.begin(tasks)
            await first.wait()
            await second.wait()
    assert set(told.heard()) == {"epoch 3", "epoch 4", f"wish {wish_of(agent, 3).word} 3", "wish removed 4"}
    assert (keeper.committed, keeper.durable) == (4, 4)
