"""A turn takes in what waits, within bounds: the first of many deaths is acted upon before the last one is stepped."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest
from anyio.lowlevel import checkpoint

from phoenixd.core.actions import Action, RecordIncident, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import Mode, Run
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.decision import Decision
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.core.events.fleet import EpochBegun, Tick
from phoenixd.core.events.orders import AgentDeclared, MuteRequested, StartRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.hooks import ToolStarted, TurnEnded
from phoenixd.core.moment import Moment
from phoenixd.core.spec import AgentSpec
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Batch, StoredEntry
from phoenixd.runtime.arrivals import CROWDED, EVIDENCE_LIMIT, LONGEST_HOLD, Waiting
from phoenixd.runtime.describe import describe_event
from phoenixd.runtime.supervisor import Supervisor
from phoenixd.runtime.turn import Turn
from tests.agents import an_agent
from tests.clocks import SlowClock, StillClock
from tests.core.story import Story, claude

AGENTS = 20


class Told:
    """Journal and dispatch in one: which agents were saved together, and which were started, in order."""

    def __init__(self) -> None:
        self.order: list[tuple[str, int]] = []

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        self.order.append(("commit", len(batch.changed)))
        return tuple(range(len(batch.entries)))

    def release_reserve(self) -> bool:
        return False

    async def shortage(self) -> str | None:
        return None

    def act(self, action: Action) -> None:
        if isinstance(action, Spawn):
            self.order.append(("spawn", 1))


async def test_of_many_deaths_at_once_the_first_are_started_again_before_the_last_are_stepped() -> None:
    told = Told()
    supervisor = Supervisor(Fleet(), SlowClock(), told, told.act)  # type: ignore[arg-type]
    names = [f"a{number:02}" for number in range(AGENTS)]
    asked = [AgentDeclared(AgentSpec(name, ("x",), "/"), start=True) for name in names]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.saver.run)
            tasks.start_soon(supervisor.ask_all, asked)
            await checkpoint()
            await supervisor.turn()
            assert told.order[0] == ("commit", AGENTS), "requests that belong together are saved together"
            while starting := [one for one in supervisor.fleet.agents.values() if is_new(one)]:
                for agent in starting:
                    assert agent.run is not None
                    supervisor.tell(AgentStarted(agent.name, agent.incarnation, agent.run.run_id, 5, 5))
                for _ in starting:
                    await supervisor.turn()
            told.order.clear()
            for agent in supervisor.fleet.agents.values():
                assert agent.run is not None
                supervisor.tell(AgentExited(agent.name, agent.incarnation, agent.run.run_id, None, 9))
            await supervisor.turn()
            first, told.order = told.order, []
            await supervisor.turn()
            tasks.cancel_scope.cancel()

    assert 0 < first[0][1] < AGENTS
    assert ("spawn", 1) in first, "the first ones are on their way before the others are stepped"
    assert told.order[0][0] == "commit"


async def test_of_what_piles_up_evidence_alone_is_dropped() -> None:
    """The next sign of life tells the same; everything else is told once, and so is what somebody waits for."""
    told = Told()
    supervisor = Supervisor(Fleet(), SlowClock(), told, told.act)  # type: ignore[arg-type]
    alive, ended = EvidenceSeen("a", 1, "transcript"), AgentExited("a", 1, "r", 0, None)
    for _ in range(EVIDENCE_LIMIT + 10):
        supervisor.tell(alive)
    assert len(supervisor.arrivals.queue) == EVIDENCE_LIMIT + 1, "beyond so many that wait no more are taken in"

    supervisor.tell(ended)
    supervisor.tell(alive, lambda: None)
    supervisor.tell(alive)
    assert [one.event for one in supervisor.arrivals.queue][EVIDENCE_LIMIT:] == [alive, ended, alive]


async def test_an_order_is_decided_and_saved_before_the_hooks_that_wait() -> None:
    """4,000 hooks a second leave many events waiting; a person's stop is no later for that."""
    told = Told()
    supervisor = Supervisor(Fleet(), SlowClock(), told, told.act)  # type: ignore[arg-type]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.saver.run)
            for _ in range(100):
                supervisor.tell(EvidenceSeen("a", 1, "transcript"))
            tasks.start_soon(supervisor.order, AgentDeclared(AgentSpec("b", ("x",), "/")))
            tasks.start_soon(supervisor.order, MuteRequested("b", 60.0))
            await checkpoint()
            await supervisor.turn()
            tasks.cancel_scope.cancel()

    assert supervisor.fleet.agents["b"].name in supervisor.fleet.mutes, "in the order in which they were given"
    assert len(supervisor.arrivals.queue) == 100, "their answer waits for nothing that stood behind them"
    assert told.order == [("commit", 1)]


async def test_a_start_overtakes_hooks_and_no_end() -> None:
    """And its commit waits for none of the hooks; the turn after it is for them."""
    told = Told()
    supervisor = Supervisor(Fleet(), SlowClock(), told, told.act)  # type: ignore[arg-type]
    hook, ended = ToolStarted("a", 1), AgentExited("a", 1, "r", 0, None)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.saver.run)
            for event in (hook, ended, hook, EvidenceSeen("a", 1, "transcript"), hook):
                supervisor.tell(event)
            tasks.start_soon(supervisor.ask, StartRequested("a"))
            await checkpoint()
            stood = [one.event for one in supervisor.arrivals.queue]
            await supervisor.turn()
            left = len(supervisor.arrivals.queue)
            tasks.start_soon(supervisor.ask, StartRequested("a"))
            await checkpoint()
            await supervisor.turn()
            tasks.cancel_scope.cancel()

    assert stood[:3] == [hook, ended, StartRequested("a")]
    assert left == 3
    assert len(supervisor.arrivals.queue) < 3, "a start right behind another keeps out nothing that waits"


async def test_orders_without_a_pause_keep_nothing_out_that_waits() -> None:
    """Two scripts that order one thing after the other leave no moment in which no order waits."""
    supervisor = Supervisor(Fleet(), SlowClock(), Told())  # type: ignore[arg-type]
    order = MuteRequested("b", 60.0)

    def give() -> None:
        supervisor.arrivals.put(Waiting(order, lambda refusal: None), first=True)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.saver.run)
        supervisor.tell(AgentExited("a", 1, "r", 0, None))
        left = []
        for _ in range(3):
            give()
            await supervisor.turn()
            left.append((len(supervisor.arrivals.first), len(supervisor.arrivals.queue)))
        supervisor.tell(AgentExited("a", 1, "r", 0, None))
        give()
        supervisor.begin_with(EpochBegun(3))
        await supervisor.turn()
        tasks.cancel_scope.cancel()
    assert left == [(0, 1), (1, 0), (0, 0)], "an order, what waited, and the orders again"
    assert (len(supervisor.arrivals.first), len(supervisor.arrivals.queue)) == (0, 1), (
        "what comes before all others always does"
    )


async def test_what_came_before_all_others_comes_before_an_order_too() -> None:
    told = Told()
    supervisor = Supervisor(Fleet(), SlowClock(), told, told.act)  # type: ignore[arg-type]
    heard = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.order, StartRequested("a"))
        await checkpoint()
        supervisor.begin_with(EpochBegun(3))
        heard = [one.event for one in supervisor.arrivals.first]
        tasks.cancel_scope.cancel()
    assert heard == [EpochBegun(3), StartRequested("a")]


def test_of_events_of_which_no_row_tells_nothing_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three hooks of a flood are mere signs of life."""
    described: list[Event] = []

    def describe(event: Event) -> tuple[str, dict[str, object]]:
        described.append(event)
        return describe_event(event)

    monkeypatch.setattr("phoenixd.runtime.turn.describe_event", describe)
    agent, now = an_agent("a"), Moment(1.0, 1.0)
    sign, ended = ToolStarted("a", 1), TurnEnded("a", 1)
    turn = Turn()
    turn.note(sign, (Decision(agent),), now, lambda agent, text: text)
    turn.note(sign, (Decision(agent, reason="looked at", weight="noise"),), now, lambda agent, text: text)
    assert (described, turn.entries) == ([], [])
    turn.note(ended, (Decision(agent),), now, lambda agent, text: text)
    turn.note(sign, (Decision(agent, reason="its first sign of life"),), now, lambda agent, text: text)
    assert described == [ended, sign]
    assert [entry.event for entry in turn.entries] == ["hook_seen", "hook_seen"]


def crowding(supervisor: Supervisor) -> list[bool | str]:
    """What the supervisor says of the shims from now on: True while they are not to be read, "each" for once."""
    said: list[bool | str] = []
    supervisor.connect(
        dispatch=lambda action: None, clean=lambda agent, text: text, remember=lambda batch, is_order, is_saved: None,
        listener=lambda stored, changed: None, on_saved=lambda newest: None, on_crowded=said.append,
        on_long_crowded=lambda: said.append("each"),
    )  # fmt: skip
    return said


async def test_the_shims_are_left_alone_while_much_waits_and_read_again_when_little_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("phoenixd.runtime.arrivals.CROWDED", 20)
    monkeypatch.setattr("phoenixd.runtime.arrivals.ROOMY", 10)
    supervisor = Supervisor(Fleet(), SlowClock(), Told())  # type: ignore[arg-type]
    said = crowding(supervisor)
    for number in range(21):
        assert said == [], number
        supervisor.tell(EvidenceSeen("a", 1, "transcript"))
    assert said == [True]

    while supervisor.arrivals.queue:
        await supervisor.turn()
        assert said[-1] == (len(supervisor.arrivals.queue) > 10)
    assert said == [True, False]


async def test_however_much_waits_the_shims_are_read_now_and_then() -> None:
    """An end or an answer that one of them tells is waited for, for seconds at most."""
    clock = SlowClock()
    supervisor = Supervisor(Fleet(), clock, Told())  # type: ignore[arg-type]
    said = crowding(supervisor)
    for _ in range(3 * CROWDED):
        supervisor.tell(EvidenceSeen("a", 1, "transcript"))
    began = clock.reading
    while said == [True]:
        # As much comes as is decided: no turn sees little wait.
        supervisor.tell(EvidenceSeen("a", 1, "transcript"))
        waiting = len(supervisor.arrivals.queue)
        await supervisor.turn()
        for _ in range(waiting - len(supervisor.arrivals.queue)):
            supervisor.tell(EvidenceSeen("a", 1, "transcript"))

    assert said == [True, "each"]
    assert len(supervisor.arrivals.queue) > CROWDED, "and much waits still"
    assert clock.reading - began < LONGEST_HOLD + 0.2
    supervisor.tell(EvidenceSeen("a", 1, "transcript"))
    assert said == [True, "each"], "each shim is read once, and no more"


async def test_an_order_that_comes_while_much_is_stepped_ends_that_turn() -> None:
    """What stands before it is saved, and then the order is decided: the rest waits."""
    told = Told()
    supervisor = Supervisor(Fleet(), SlowClock(), told, told.act)  # type: ignore[arg-type]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.saver.run)
            for _ in range(3):
                supervisor.tell(EvidenceSeen("a", 1, "transcript"))
            tasks.start_soon(supervisor.order, MuteRequested("b", 60.0))
            await supervisor.turn()
            left = len(supervisor.arrivals.queue)
            await supervisor.turn()
            tasks.cancel_scope.cancel()

    assert left == 2, "it came when the first was stepped"
    assert len(supervisor.arrivals.queue) == 2
    assert not supervisor.arrivals.first


async def test_what_is_saved_to_see_how_the_disk_is_holds_no_half_of_a_turn() -> None:
    """A turn lets all else have its turn in the middle. What it has decided by then has no rows and no agents yet."""
    supervisor = Supervisor(Fleet(), SlowClock(), Told())  # type: ignore[arg-type]
    seen = list[dict[str, object]]()

    async def look() -> None:
        assert supervisor.fleet.mutes, "the turn is in its middle"
        seen.append(dict(supervisor.commits.probe().mutes))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.saver.run)
        supervisor.tell(AgentDeclared(AgentSpec("a", ("x",), "/")))
        await supervisor.turn()
        for _ in range(2):
            supervisor.tell(MuteRequested("a", 60.0))
        tasks.start_soon(look)
        await supervisor.turn()
        tasks.cancel_scope.cancel()

    assert seen == [{}]
    assert supervisor.commits.probe().mutes == supervisor.fleet.mutes


async def test_in_a_flood_hooks_come_together_until_anything_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phoenixd.runtime.arrivals.SPACING", 3600.0)
    monkeypatch.setattr("phoenixd.runtime.arrivals.AT_ONCE", 2)
    supervisor = Supervisor(Fleet(), StillClock(), Told())  # type: ignore[arg-type]
    hook, turned = ToolStarted("a", 1), list[int]()

    async def turn() -> None:
        await supervisor.arrivals.gather()
        turned.append(len(supervisor.arrivals.queue))
        await supervisor.turn()

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                supervisor.tell(hook)
            await turn()
            supervisor.tell(hook)
            tasks.start_soon(turn)
            for _ in range(50):
                await checkpoint()
            assert turned == [2], "the first are stepped at once, and what comes then waits for more"
            supervisor.tell(hook)
            for _ in range(50):
                await checkpoint()
            assert turned == [2], "one more hook ends no wait"
            supervisor.tell(AgentExited("a", 1, "r", 0, None))
    assert turned == [2, 3], "an end waits for nothing, nor does what came before it"


async def test_while_an_operator_is_answered_what_agents_tell_by_the_thousand_waits_and_an_end_does_not() -> None:
    supervisor = Supervisor(Fleet(), StillClock(), Told())  # type: ignore[arg-type]
    turned = list[int]()

    async def turn() -> None:
        await supervisor.arrivals.gather()
        turned.append(len(supervisor.arrivals.queue))
        await supervisor.turn()

    async def settled() -> list[int]:
        for _ in range(50):
            await checkpoint()
        return turned

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.saver.run)
            supervisor.leave_floods(True)
            for _ in range(3 * CROWDED):
                supervisor.tell(ToolStarted("a", 1))
            tasks.start_soon(turn)
            assert await settled() == [], "however many they are"
            supervisor.tell(AgentExited("a", 1, "r", 0, None))
            assert await settled() == [3 * CROWDED + 1]
            assert not supervisor.arrivals.queue
            supervisor.tell(ToolStarted("a", 1))
            tasks.start_soon(turn)
            tasks.start_soon(supervisor.order, MuteRequested("b", 60.0))
            assert (await settled())[1:] == [1], "nor does the order"
            assert len(supervisor.arrivals.queue) == 1, "which leaves them alone"
            tasks.start_soon(turn)
            assert (await settled())[2:] == []
            supervisor.leave_floods(False)
            assert (await settled())[2:] == [1], "they go on once it is answered"
            tasks.cancel_scope.cancel()


async def test_a_turn_of_a_flood_ends_once_an_operator_is_on_the_way() -> None:
    """What it was stepped for is saved with the order."""
    supervisor = Supervisor(Fleet(), SlowClock(), Told())  # type: ignore[arg-type]

    async def ask() -> None:
        supervisor.leave_floods(True)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.saver.run)
            for _ in range(3):
                supervisor.tell(EvidenceSeen("a", 1, "transcript"))
            tasks.start_soon(ask)
            await supervisor.turn()
            left = len(supervisor.arrivals.queue)
            tasks.cancel_scope.cancel()

    assert left == 2, "it came when the first was stepped"


async def turned_until_asked(told: Told, *asked: bool) -> Supervisor:
    """A flood's turns. In the middle of each of them somebody asks, or nobody does."""
    run = Run(1, "r", Mode.FRESH, "s", PromptKind.NONE, 0.0, 0.0)
    agent = an_agent("a", state=Running(run, Activity(True, 0.0, 0.0)))
    supervisor = Supervisor(Fleet({"a": agent}), SlowClock(), told)  # type: ignore[arg-type]

    async def ask() -> None:
        supervisor.leave_floods(True)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.saver.run)
        for number in range(8):
            supervisor.tell(ToolStarted("a", 1, tool_use_id=f"t{number}"))
        for is_asked in asked:
            if is_asked:
                tasks.start_soon(ask)
            await supervisor.turn()
            supervisor.leave_floods(False)
        tasks.cancel_scope.cancel()
    return supervisor


async def test_a_flood_that_stands_back_for_an_operator_is_saved_with_the_order_and_not_before_it() -> None:
    """Else the order waits for a commit that nobody asked for."""
    told = Told()
    supervisor = await turned_until_asked(told, True)
    assert told.order == []
    assert not supervisor.commits.fleet.agents["a"].hooks_seen, "what has no rows yet is not probed with"

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.saver.run)
            tasks.start_soon(supervisor.order, MuteRequested("a", 60.0))
            await checkpoint()
            await supervisor.turn()
            tasks.cancel_scope.cancel()

    assert told.order == [("commit", 1)]
    assert supervisor.fleet.mutes
    assert len(supervisor.arrivals.queue) == 7, "the order went before what waits"
    assert supervisor.commits.fleet is supervisor.fleet


async def test_looks_without_a_pause_put_off_the_commit_of_a_flood_once_and_no_longer() -> None:
    told = Told()
    await turned_until_asked(told, True, True)
    assert told.order == [("commit", 1)]


async def test_what_a_flood_was_stepped_for_is_saved_by_a_daemon_that_ends_before_the_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Told()
    supervisor = await turned_until_asked(told, True)
    monkeypatch.setattr(supervisor.alarm, "run", anyio.sleep_forever)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            supervisor.arrivals.end()
            tasks.start_soon(supervisor.run)
            await supervisor.finish(10.0)
            tasks.cancel_scope.cancel()

    assert told.order == [("commit", 1)]


async def test_a_flood_that_stood_back_is_saved_also_where_nothing_more_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = Told()
    supervisor = await turned_until_asked(told, True)
    supervisor.arrivals.queue.clear()
    monkeypatch.setattr(supervisor.alarm, "run", anyio.sleep_forever)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.run)
            while not told.order:
                await checkpoint()
            tasks.cancel_scope.cancel()

    assert told.order == [("commit", 1)]


async def test_a_daemon_that_ends_while_an_operator_is_answered_waits_for_no_flood() -> None:
    supervisor = Supervisor(Fleet(), StillClock(), Told())  # type: ignore[arg-type]
    supervisor._turned_last.set()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            supervisor.leave_floods(True)
            supervisor.tell(EvidenceSeen("a", 1, "transcript"))
            tasks.start_soon(supervisor.arrivals.gather)
            await checkpoint()
            await supervisor.finish(1.0)


def is_new(agent: Agent) -> bool:
    return isinstance(agent.state, Starting) and agent.run is not None and agent.run.pid is None


def test_a_failure_that_a_case_keeps_is_a_row_of_the_turn_and_its_copy_is_ordered_first() -> None:
    story = Story(claude()).works()
    story.exited(1)
    turn, tick = Turn(), Tick()
    found = Step(story.fleet, story.decisions[-1:], kept=tuple(story.kept))  # type: ignore[arg-type]

    turn.take(Waiting(tick), tick, found, story.fleet.epoch, story.now, lambda agent, text: text)

    assert [(one.agent, one.incarnation, one.case_id) for one in turn.incidents] == [("a", 1, "c1")]
    assert {one.case_id for one in turn.treatments} == {"c1"}
    assert isinstance(turn.actions[0], RecordIncident)
    assert turn.is_to_be_saved


async def test_a_row_of_which_it_is_not_known_whether_it_is_durable_has_no_number() -> None:
    heard: list[tuple[int, str]] = []

    class Full(Told):
        async def commit(self, batch: Batch) -> tuple[int, ...]:
            raise JournalFailed("the disk is full")

    def listen(stored: Sequence[StoredEntry], changed: Sequence[Agent]) -> None:
        heard.extend((one.seq, one.entry.event) for one in stored)

    supervisor = Supervisor(Fleet(), StillClock(), Full(), listeners=[listen])  # type: ignore[arg-type]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.saver.run)
            supervisor.tell(MuteRequested("b", 60.0))
            await supervisor.turn()
            tasks.cancel_scope.cancel()

    assert heard == [(0, "mute_requested")]


async def test_who_listens_is_told_of_each_turn() -> None:
    heard: list[str] = []

    def listen(stored: Sequence[StoredEntry], changed: Sequence[Agent]) -> None:
        heard.extend(agent.name for agent in changed)

    supervisor = Supervisor(Fleet(), StillClock(), Told(), listeners=[listen])  # type: ignore[arg-type]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(supervisor.saver.run)
        for name in ("a", "b"):
            supervisor.tell(AgentDeclared(AgentSpec(name, ("x",), "/")))
            await supervisor.turn()
        tasks.cancel_scope.cancel()
    assert heard == ["a", "b"]
