"""A failure is read beside everything else: whatever the reader does, the core is told; and what a terminal showed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from phoenixd.core.actions import Action, ExamineCase, RecordIncident, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Incident
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.events.clinic import CaseExamined
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.fleet import Fleet
from phoenixd.core.treatment.authority import Caps
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.examined import Opinion, ReaderRules
from phoenixd.errors import LaunchFailed, TerminalFailed, WriterFailed
from phoenixd.ports.journal import Batch
from phoenixd.runtime.examining import Examining
from phoenixd.runtime.incidents import AT_ONCE, END_LINES, Incidents
from phoenixd.runtime.lanes import lane_of
from phoenixd.runtime.supervisor import Supervisor
from tests.clocks import FastClock
from tests.core.story import spec

AGENT = Agent(spec(), Desired.RUNNING, Stopped(), 0.0, "", 3)
ASKED = ExamineCase("a", 3, "c1", 7, ReaderRules(model="test:x"), "it ended", 1, Evidence())
OPINION = Opinion("logic_error", "Because.", 0.9, "retry")


class Reader:
    def __init__(self, said: Any) -> None:
        self.said, self.panes = said, []
        self.panes: list[str]

    async def read(self, agent: Agent, asked: ExamineCase, pane: str) -> tuple[Opinion, int]:
        self.panes.append(pane)
        if isinstance(self.said, BaseException):
            raise self.said
        return self.said, 12


async def told(reader: Any, known: Agent | None = AGENT) -> CaseExamined:
    events: list[Any] = []
    outside: Any = SimpleNamespace(reader=reader)

    async def pane_of(name: str, run: int) -> str:
        return f"{name} {run}"

    await Examining(outside, lambda name: known, events.append, pane_of).examine(ASKED)
    (event,) = events
    assert (event.agent, event.incarnation, event.case, event.number) == ("a", 3, "c1", 7)
    return event


async def test_an_opinion_is_told_with_its_cost() -> None:
    reader = Reader(OPINION)
    event = await told(reader)

    assert (event.opinion, event.problem, event.tokens) == (OPINION, "", 12)
    assert reader.panes == ["a 3"], "the terminal as that run left it"


@pytest.mark.parametrize(
    ("raised", "problem", "tokens"),
    [
        (WriterFailed("no answer within 60 s", "raise clinic.timeout", 40), "no answer within 60 s; raise", 40),
        (LaunchFailed("no environment"), "no environment", 0),
        (ZeroDivisionError("in somebody's library, with a secret"), "a fault in phoenixd: ZeroDivisionError", 0),
    ],
)
async def test_f_cl_6_whatever_goes_wrong_is_told(raised: Exception, problem: str, tokens: int) -> None:
    event = await told(Reader(raised))

    assert event.opinion is None
    assert event.problem.startswith(problem)
    assert "secret" not in event.problem
    assert event.tokens == tokens


async def test_nobody_to_ask_and_nobody_to_ask_about() -> None:
    assert (await told(None)).problem == "nobody reads failures here"
    assert (await told(Reader(OPINION), None)).problem == "the agent is gone"


class Terminal:
    def __init__(self, shows: str | None) -> None:
        self.shows, self.asked = shows, []
        self.asked: list[int]

    async def capture(self, agent: str, history: int = 0) -> str:
        self.asked.append(history)
        if self.shows is None:
            raise TerminalFailed("no server")
        if self.shows == "hangs":
            await anyio.sleep_forever()
        return self.shows


def watching(terminal: Terminal) -> tuple[Incidents, list[str]]:
    """What looks at a terminal, and the screens that it writes down."""
    screens: list[str] = []

    async def record(agent: Agent, action: RecordIncident, screen: str) -> tuple[int, str]:
        screens.append(screen)
        return 1, "{}"

    outside: Any = SimpleNamespace(terminal=terminal, papers=SimpleNamespace(record_incident=record))
    return Incidents(outside, lambda name: AGENT, lambda event: None), screens


def crashed(agent: str = "a") -> RecordIncident:
    return RecordIncident(agent, 3, Incident(3, "crash", "it ended", 0.0, case="c1"), ())


@pytest.mark.parametrize(("shows", "kept"), [("the end", "the end"), (None, ""), ("hangs", "")])
async def test_c41_the_terminal_of_a_run_that_is_over_is_seen_and_the_question_waits_for_that(
    shows: str | None, kept: str
) -> None:
    terminal = Terminal(shows)
    incidents, screens = watching(terminal)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as writing:
            for _ in range(2):
                await incidents.keep(crashed(), writing)
            assert terminal.asked == [], "the next start waits for no look"
            assert await incidents.pane_of("a", 3) == kept
            assert terminal.asked == [END_LINES] * 2

    assert screens == [kept] * 2, "one run may be over for two reasons"
    assert await incidents.pane_of("a", 4) == await incidents.pane_of("b", 3) == ""


async def test_c41_what_a_run_showed_is_not_forgotten_for_a_second_look_that_saw_nothing() -> None:
    """One run may be over for two reasons, and the terminal may be gone when the second one is told."""
    terminal = Terminal("the end")
    incidents, screens = watching(terminal)
    with anyio.fail_after(60):
        for shows in ("the end", None):
            terminal.shows = shows
            async with anyio.create_task_group() as writing:
                await incidents.keep(crashed(), writing)
        assert await incidents.pane_of("a", 3) == "the end"
        async with anyio.create_task_group() as writing:
            await incidents.keep(replace(crashed(), incarnation=4), writing)
        assert await incidents.pane_of("a", 4) == "", "another run shows its own"
    assert screens == ["the end", "", ""]


async def test_c41_in_a_burst_of_ends_few_terminals_are_looked_at_and_each_end_is_written_down() -> None:
    terminal = Terminal("hangs")
    incidents, screens = watching(terminal)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as writing:
            for number in range(AT_ONCE):
                await incidents.keep(crashed(f"a{number}"), writing)
            await checkpoint()
            for number in range(AT_ONCE, 100):
                await incidents.keep(crashed(f"a{number}"), writing)
    assert len(terminal.asked) == AT_ONCE
    assert len(screens) == 100


class Orders:
    """Journal and dispatch in one: what was ordered for each run, in order."""

    def __init__(self) -> None:
        self.order: list[tuple[str, int]] = []

    async def commit(self, batch: Batch) -> tuple[int, ...]:
        return tuple(range(len(batch.entries)))

    def release_reserve(self) -> bool:
        return False

    async def shortage(self) -> str | None:
        return None

    def act(self, action: Action) -> None:
        if isinstance(action, Spawn | RecordIncident | ExamineCase):
            self.order.append((type(action).__name__, action.incarnation))


async def test_c41_the_look_at_the_terminal_is_begun_before_the_next_run_is() -> None:
    """They share a lane, which keeps this order; nothing waits for what comes of it."""
    told = Orders()
    reader = Caps(reader=ReaderRules(model="test:x"))
    supervisor = Supervisor(Fleet(clinic=reader), FastClock(), told, told.act)  # type: ignore[arg-type]
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervisor.saver.run)
            tasks.start_soon(supervisor.ask_all, [AgentDeclared(spec(), start=True)])
            await checkpoint()
            await supervisor.turn()
            agent = supervisor.fleet.agents["a"]
            assert agent.run is not None
            supervisor.tell(AgentStarted("a", 1, agent.run.run_id, 5, 5))
            await supervisor.turn()
            supervisor.tell(AgentExited("a", 1, agent.run.run_id, 1, None))
            await supervisor.turn()
            tasks.cancel_scope.cancel()

    lanes = {lane_of(RecordIncident("a", 1, Incident(1, "crash", "", 0.0), ())), lane_of(ASKED)}
    assert lanes == {"a"}
    assert told.order == [("Spawn", 1), ("RecordIncident", 1), ("Spawn", 2), ("ExamineCase", 1)]
