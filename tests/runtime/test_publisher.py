"""What cannot be written is told once, tried again without being asked, and told to be over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import Mode, Run
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import Running, Stopped
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.ports.journal import Entry, StoredEntry
from phoenixd.runtime import publisher
from phoenixd.runtime.publisher import Publisher
from tests.agents import an_agent
from tests.clocks import FastClock, StillClock
from tests.start.places import HandClock
from tests.waiting import eventually


@dataclass
class FullDisk:
    """A launcher whose disk is full for some tries."""

    fails: int
    tries: int = 0

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        self.tries += 1
        if self.tries <= self.fails:
            raise OSError(28, "No space left on device")


@dataclass
class Nobody:
    """Evidence that nobody gives."""

    followed: list[str] = field(default_factory=list)

    def follow(self, agent: Agent) -> None: ...

    def forget(self, agent: str) -> None: ...


async def publish(launcher: Any, *agents: Agent, until: int) -> list[Event]:
    told: list[Event] = []
    publisher = Publisher(launcher, Nobody(), FastClock(), told.append)
    task = asyncio.create_task(publisher.run())
    publisher.hear([], agents)
    await eventually(lambda: launcher.tries >= until)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return told


async def test_f_st_3_documents_on_a_full_disk_are_tried_again_until_they_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publisher, "RETRY", 0.0)
    told = await publish(FullDisk(fails=3), an_agent(), until=4)
    assert [type(event) for event in told] == [TroubleSeen, TroubleSeen, TroubleSeen, TroubleGone]
    assert told[0] == TroubleSeen("a", "documents", "[Errno 28] No space left on device")


async def test_what_stood_before_the_daemon_began_is_over_with_the_first_writing() -> None:
    alert = StandingAlert(1, "documents", "", 0.0, 1, watched=True)
    told = await publish(FullDisk(fails=0), replace(an_agent(), alerts=(alert,)), until=1)
    assert [event.kind for event in told if isinstance(event, TroubleGone)] == ["documents"]


@dataclass
class Able:
    """A launcher that can write."""

    names: list[str] = field(default_factory=list)

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        self.names.append(agent.name)


async def test_in_a_flood_documents_are_spaced_out_and_those_of_a_run_that_begins_or_ends_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred agents whose turns end all the time take processors and disk from what decides."""
    monkeypatch.setattr(publisher, "BURST", 2)
    monkeypatch.setattr(publisher, "RATE", 0.0)
    written = Able()
    news = Publisher(written, Nobody(), FastClock())  # type: ignore[arg-type]
    run = Run(1, "r", Mode.FRESH, "s", PromptKind.NONE, 0.0, 0.0)
    agents = [an_agent(f"a{number}", state=Running(run, Activity(False, 0.0, 0.0))) for number in range(4)]
    task = asyncio.create_task(news.run())
    news.hear([], agents)
    await eventually(lambda: len(written.names) == 4, what="each has a run that is new, and is written at once")
    news.hear([], agents)
    await eventually(lambda: len(written.names) == 6, what="then as many as there are writings left")
    ended = replace(agents[3], state=Stopped())
    news.hear([], [ended])
    await eventually(lambda: len(written.names) == 7, what="one whose run is over waits for none")
    waiting = sorted(news._pending)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert written.names[4:] == ["a0", "a1", "a3"]
    assert waiting == ["a2"], "its news is kept for a later writing"


async def test_a_daemon_that_begins_writes_each_agents_documents_once_and_those_to_which_nothing_happened_too() -> None:
    written = Able()
    news = Publisher(written, Nobody(), FastClock())  # type: ignore[arg-type]
    run = Run(1, "r", Mode.FRESH, "s", PromptKind.NONE, 0.0, 0.0)
    adopted, silent, beating = (
        an_agent(name, state=Running(run, Activity(False, 0.0, 0.0))) for name in ("adopted", "silent", "beating")
    )
    task = asyncio.create_task(news.run())
    news.hear([], [adopted])
    await eventually(lambda: written.names == ["adopted"])
    news.hear([row(publisher.EVIDENCE, "beating")], [beating])
    news.hear_rest([adopted, silent, beating])
    await eventually(lambda: len(written.names) == 3)
    news.hear([], [adopted])
    await eventually(lambda: len(written.names) == 4)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert written.names[::3] == ["adopted", "adopted"]
    assert sorted(written.names[1:3]) == ["beating", "silent"]


@dataclass
class Stuck:
    """A launcher whose disk hangs for one agent."""

    begun: list[str] = field(default_factory=list)
    at_once: int = 0
    most: int = 0

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        self.begun.append(agent.name)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(3600 if agent.name == "a0" else 0)
        self.at_once -= 1


@pytest.mark.parametrize("first", [0, 1])
async def test_agents_that_were_taken_over_are_written_one_at_a_time_until_one_of_them_hangs(
    monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    monkeypatch.setattr(publisher, "SLOW", 3600.0 if first else 0.01)
    disk = Stuck()
    news = Publisher(disk, Nobody(), FastClock())  # type: ignore[arg-type]
    names = [f"a{number}" for number in range(first, 6)]
    task = asyncio.create_task(news.run())
    news.hear([row(publisher.ADOPTED, name) for name in names], [an_agent(name) for name in names])
    await eventually(lambda: sorted(disk.begun) == names)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert (disk.most == 1) == (first == 1)


async def test_while_an_operator_is_answered_no_documents_are_begun_but_those_of_a_run_that_is_new() -> None:
    written = Able()
    news = Publisher(written, Nobody(), FastClock())  # type: ignore[arg-type]
    run = Run(1, "r", Mode.FRESH, "s", PromptKind.NONE, 0.0, 0.0)
    talking, new = an_agent("talking"), an_agent("new", state=Running(run, Activity(False, 0.0, 0.0)))
    task = asyncio.create_task(news.run())
    news.pause(True)
    news.hear([], [talking, new])
    await eventually(lambda: written.names == ["new"])
    await eventually(lambda: news._under_way == {"talking"}, what="it waits")
    news.pause(False)
    await eventually(lambda: written.names == ["new", "talking"])
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@dataclass
class Talking(Able):
    """A launcher whose busy agents have news again whenever their documents were written."""

    hear: Callable[[str], None] = lambda name: None

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        await asyncio.sleep(0)
        await super().publish(agent, entries)
        self.hear(agent.name)


async def test_agents_that_have_news_all_the_time_leave_a_place_to_those_that_have_some_now_and_then() -> None:
    """As many busy agents as there are places, on a disk on which each writing takes longer than a token."""
    busy = {f"busy{number}": an_agent(f"busy{number}") for number in range(publisher.AT_ONCE)}
    written = Talking()
    news = Publisher(written, Nobody(), FastClock())  # type: ignore[arg-type]
    written.hear = lambda name: news.hear([], [busy[name]] if name in busy and len(written.names) < 2000 else [])
    task = asyncio.create_task(news.run())
    news.hear([], [*busy.values(), an_agent("quiet")])
    await eventually(lambda: "quiet" in written.names)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert written.names.index("quiet") <= 3 * publisher.AT_ONCE


@dataclass
class Gated(Able):
    """A launcher whose writings last until they may end."""

    may_end: asyncio.Event = field(default_factory=asyncio.Event)

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        await super().publish(agent, entries)
        await self.may_end.wait()


async def test_what_changed_while_it_was_written_is_written_later_also_where_nothing_else_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No writing was left for it when the one before ended, and no agent has had news since."""
    monkeypatch.setattr(publisher, "BURST", 1)
    monkeypatch.setattr(publisher, "GATHER_MOST", 0.01)
    written, clock = Gated(), StillClock()
    news = Publisher(written, Nobody(), clock)  # type: ignore[arg-type]
    task = asyncio.create_task(news.run())
    news.hear([], [an_agent()])
    await eventually(lambda: written.names)
    news.hear([], [an_agent()])
    await eventually(lambda: not news._arrived.is_set(), what="it is heard of while the first writing lasts")
    written.may_end.set()
    await eventually(lambda: not news._under_way)
    clock.reading += 1.0
    await eventually(lambda: len(written.names) == 2, timeout=5.0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class Broken:
    """A launcher that has a fault with one agent's files."""

    def __init__(self) -> None:
        self.tries = 0
        self.published: list[str] = []

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        self.tries += 1
        if agent.name == "bad":
            raise ValueError("what no reader has thought of")
        self.published.append(agent.name)


@dataclass
class Held(Able):
    """A disk that answers when it is told to."""

    may_write: asyncio.Event = field(default_factory=asyncio.Event)

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        await self.may_write.wait()
        await super().publish(agent, entries)


async def test_who_needs_an_agents_documents_as_they_are_to_be_waits_for_their_writing_and_for_no_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also in a flood, in which they would be written later."""
    monkeypatch.setattr(publisher, "BURST", 0)
    monkeypatch.setattr(publisher, "RATE", 0.0)
    disk = Held()
    news = Publisher(disk, Nobody(), FastClock())  # type: ignore[arg-type]
    await news.catch_up("a")
    news.hear([], [an_agent("a"), an_agent("b")])
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run())
        waiting = tasks.create_task(news.catch_up("a"))
        await eventually(lambda: "a" in news._under_way, what="it is being written")
        assert not waiting.done()
        disk.may_write.set()
        await waiting
        assert disk.names == ["a"]
        running.cancel()


async def test_whose_disk_does_not_answer_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "WRITTEN_WITHIN", 0.01)
    news = Publisher(Held(), Nobody(), FastClock())  # type: ignore[arg-type]
    news.hear([], [an_agent("a")])
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(news.run())
        await news.catch_up("a")
        assert "a" in {*news._under_way, *news._pending}
        running.cancel()


async def test_a_fault_with_one_agents_files_is_told_and_costs_nobody_else() -> None:
    """F-SY-9."""
    launcher = Broken()
    told = await publish(launcher, an_agent("bad"), an_agent("good"), until=2)
    assert launcher.published == ["good"]
    assert [type(event) for event in told] == [TroubleSeen]


class Written:
    """A launcher that keeps what it was given."""

    def __init__(self) -> None:
        self.given: list[tuple[str, list[str]]] = []

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        self.given.append((agent.name, [entry.event for entry in entries]))


def row(event: str, name: str = "a") -> StoredEntry:
    return StoredEntry(1, Entry(0.0, 0.0, name, 1, event, {}))


async def test_a_first_sign_of_life_has_no_document_written_and_is_told_with_the_next_news() -> None:
    """A hundred agents that show their first heartbeat would cost a second of the daemon's time."""
    launcher = Written()
    publisher = Publisher(launcher, Nobody(), FastClock())
    task = asyncio.create_task(publisher.run())
    a, b = an_agent("a"), an_agent("b")
    publisher.hear([row("evidence_seen")], [a])
    publisher.hear([row("agent_started", "b")], [b])
    await eventually(lambda: launcher.given)
    publisher.hear([row("hook_seen")], [a])
    await eventually(lambda: len(launcher.given) == 2)
    publisher.hear([row("agent_exited"), row("evidence_seen")], [a])
    await eventually(lambda: len(launcher.given) == 3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert launcher.given == [
        ("b", ["agent_started"]),
        ("a", ["evidence_seen", "hook_seen"]),
        ("a", ["agent_exited", "evidence_seen"]),
    ]


class Slow:
    """A launcher for which one agent's disk never answers."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.at_once = self.most = 0

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await asyncio.sleep(3600 if agent.name == "slow" else 0)
            self.written.append(f"{agent.name} {len(entries)}")
        finally:
            self.at_once -= 1


async def test_an_agent_whose_disk_does_not_answer_keeps_no_other_run_waiting_for_its_brief() -> None:
    launcher = Slow()
    writer = Publisher(launcher, Nobody(), FastClock())  # type: ignore[arg-type]
    task = asyncio.create_task(writer.run())
    writer.hear([row("agent_started", "slow")], [an_agent("slow")])
    names = [f"a{number}" for number in range(20)]
    for name in names:
        writer.hear([row("agent_exited", name)], [an_agent(name)])
        writer.hear([row("agent_started", name)], [an_agent(name)])
    await eventually(lambda: len(launcher.written) >= len(names))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert sorted(launcher.written) == sorted(f"{name} 2" for name in names), "death and start are written once"
    assert launcher.most <= publisher.AT_ONCE


class Ailing(FullDisk):
    """A full disk of one agent, beside one that writes whatever comes."""

    async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
        if agent.name == "a":
            await super().publish(agent, entries)


async def test_f_st_3_what_could_not_be_written_is_tried_again_however_much_news_others_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publisher, "RETRY", 0.05)
    launcher = Ailing(fails=2)
    writer = Publisher(launcher, Nobody(), FastClock())  # type: ignore[arg-type]
    task = asyncio.create_task(writer.run())
    writer.hear([row("agent_started")], [an_agent("a")])

    async def tried_again() -> bool:
        writer.hear([row("hook_seen", "b")], [an_agent("b")])
        return launcher.tries >= 3

    await eventually(tried_again)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_documents_of_one_agent_are_never_written_twice_at_once_and_the_newest_stay() -> None:
    may_end, writing, written = asyncio.Event(), list[int](), list[int]()

    class Slow:
        async def publish(self, agent: Agent, entries: Sequence[Entry]) -> None:
            writing.append(agent.restarts)
            await may_end.wait()
            written.append(agent.restarts)

    def tell(number: int) -> None:
        stopped = Entry(0.0, 0.0, "a", 1, "StopRequested", {})
        news.hear([StoredEntry(number, stopped)], [an_agent(restarts=number)])

    news = Publisher(Slow(), Nobody(), FastClock())  # type: ignore[arg-type]
    task = asyncio.create_task(news.run())
    tell(1)
    await eventually(lambda: writing == [1])
    for number in (2, 3):
        tell(number)
        for _ in range(50):
            await asyncio.sleep(0)
    assert writing == [1]
    may_end.set()
    await eventually(lambda: len(written) == 2)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert written == [1, 3]


def test_of_what_waits_to_be_written_the_newest_200_rows_are_kept_and_mere_signs_of_life_wait_for_news() -> None:
    made = Publisher(FullDisk(0), Nobody(), FastClock())  # type: ignore[arg-type]
    agent = an_agent("a")
    made.hear([row(publisher.EVIDENCE), row("decided", "b")], [agent])
    assert (list(made._pending), list(made._waiting)) == ([], ["a"])
    made.hear([row("decided"), row("of nobody else", "b")], [agent])
    assert [entry.event for entry in made._pending["a"][1]] == [publisher.EVIDENCE, "decided"]
    assert made._waiting == {}

    for _ in range(3):
        made.hear([row(publisher.EVIDENCE) for _ in range(100)], [agent])
    assert len(made._pending["a"][1]) == 200
    assert {entry.event for entry in made._pending["a"][1]} == {publisher.EVIDENCE}
    other = an_agent("b")
    made.hear([], [other])
    assert made._pending["b"] == (other, []), "what changed without a row is written too"


def test_a_hundred_documents_are_written_at_once_and_twenty_a_second_and_those_of_runs_at_any_time() -> None:
    clock = HandClock(0.0)
    made = Publisher(FullDisk(0), Nobody(), clock)  # type: ignore[arg-type]
    assert [made._may_write("a") for _ in range(101)] == [True] * 100 + [False]
    made._urgent.add("b")
    assert made._may_write("b")
    clock.wall += 0.1
    assert [made._may_write("a") for _ in range(3)] == [True, True, False]
    clock.wall += 3600.0
    assert sum(made._may_write("a") for _ in range(200)) == 100
