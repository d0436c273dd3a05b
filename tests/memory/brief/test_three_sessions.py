"""What a session left unfinished is told to the next one and to the one after it: off the files that the CLIs write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import LastExit, Mode, Session
from phoenixd.core.agent.state import Running, Starting
from phoenixd.documents.kept_ledger import KeptLedger
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.memory.brief.ledgers import Kept
from tests.eval_brief.blind.patterns import BEGAN
from tests.eval_brief.blind.session import Cli
from tests.memory.brief.loops.lives import CLIS, GOAL, Life, Step, asks, ends, runs, says
from tests.start.places import Room

EXPORT, HEADER = "fix the export of the invoices", "make the header blue"

each_cli = pytest.mark.parametrize("cli", CLIS)


@dataclass
class Agents:
    """One agent with its sessions, whose transcripts are files, and a daemon that may begin anew at any time."""

    room: Room
    life: Life
    agent: Agent = field(init=False)

    def __post_init__(self) -> None:
        files = TranscriptFiles(lambda agent: str(self.path(agent)))

        async def look(agent: Agent, kept: Kept, clean: Callable[[str], str]) -> KeptLedger | None:
            return await files.ledger(agent, kept, clean)

        self.room.options = {"ledger": look}
        self.room.restarted()
        self.agent = self.room.agent(self.room.spec(harness=self.life.cli, prompt=GOAL))

    def path(self, agent: Agent) -> Path:
        assert agent.session is not None
        return self.room.home / f"{agent.session.session_id}.jsonl"

    async def lives(self, *steps: Step, turn_open: bool = True) -> str:
        """A fresh session, killed after these steps; what it was told at its start."""
        self.room.clock.wall = BEGAN + self.life.tick(600)
        made = self.life.session().process(*steps)
        session = Session(made.session_id, self.room.clock.wall, self.room.clock.wall)
        before = replace(self.agent, session=session)
        starting = self._of_its_own_run(self.room.starting(before, Mode.FRESH, PromptKind.CONTINUE))
        await self.room.papers.publish(starting, [])
        told = self.room.text(f"session-start.{starting.incarnation}.txt")
        running = self._of_its_own_run(self.room.running(before))
        await self.room.papers.publish(running, [])
        self.path(running).write_bytes(made.content)
        self.room.clock.wall = BEGAN + self.life.tick(600)
        spoiled = replace(session, turn_open=turn_open, spoiled="two runs in a row lived under 5 minutes")
        last = LastExit(running.incarnation, None, 9, "signal 9", 60.0, self.room.clock.wall)
        dead = replace(self.room.crashed(running), session=spoiled, last_exit=last)
        await self.room.papers.publish(dead, [])
        self.agent = dead
        return told

    def _of_its_own_run(self, agent: Agent) -> Agent:
        """Papers know runs apart by their ids, and those of a room have one."""
        assert isinstance(agent.state, Starting | Running)
        run = replace(agent.state.run, run_id=f"{agent.incarnation:08}-2222-4333-8444-555555555555")
        return replace(agent, state=replace(agent.state, run=run))


@pytest.fixture(params=[False, True], ids=["one daemon", "a daemon for each"])
def again(request: pytest.FixtureRequest) -> bool:
    """Whether another daemon begins between two sessions."""
    return bool(request.param)


async def three(room: Room, cli: Cli, again: bool, *second: Step, turn_open: bool = True) -> str:
    """What the third session is told, where the first left a request; second: what the one between did."""
    agents = Agents(room, Life(cli))
    await agents.lives(asks(EXPORT), says("I look at it."), runs("ls src"))
    for steps in (second, (asks("hello"), says("Hello."), ends())):
        if again:
            room.restarted()
            await room.papers.publish(agents.agent, [])
        told = await agents.lives(*steps, turn_open=turn_open)
    return told


def tells(told: str, request: str) -> bool:
    """Whether it stands among the open loops, and not in the last words alone."""
    return f'Asked, and its turn did not end: "{request}"' in told


@each_cli
async def test_p24_the_third_session_is_told_of_the_first_ones_request_where_the_second_was_asked_something_else(
    room: Room, cli: Cli, again: bool
) -> None:
    told = await three(room, cli, again, asks(HEADER), runs("ls"), says("It is blue."), ends(), turn_open=False)

    assert tells(told, EXPORT)
    assert not tells(told, HEADER)


@each_cli
async def test_p24_and_where_the_second_answered_word_of_a_task(room: Room, cli: Cli, again: bool) -> None:
    asked = asks(HEADER), runs("ls"), says("It is blue."), ends()
    notice = asks("phoenixd: task t3 (icons) is done"), says("Noted."), ends()
    told = await three(room, cli, again, *asked, *notice, turn_open=False)

    assert tells(told, EXPORT)


@each_cli
async def test_p24_and_of_both_where_the_second_was_killed_too(room: Room, cli: Cli, again: bool) -> None:
    told = await three(room, cli, again, asks(HEADER), says("I look at it."), runs("ls"))

    assert tells(told, EXPORT)
    assert tells(told, HEADER)


@each_cli
async def test_p24_and_where_the_second_was_killed_as_it_went_on(room: Room, cli: Cli, again: bool) -> None:
    told = await three(room, cli, again, Life(cli).go_on(EXPORT, fresh=True), says("I go on."), runs("ls"))

    assert tells(told, EXPORT)


@each_cli
async def test_p24_and_where_the_second_did_nothing_at_all(room: Room, cli: Cli, again: bool) -> None:
    told = await three(room, cli, again)

    assert tells(told, EXPORT)


@each_cli
async def test_p24_and_not_where_the_second_went_on_with_it_to_its_end(room: Room, cli: Cli, again: bool) -> None:
    second = Life(cli).go_on(EXPORT, fresh=True), runs("ls"), says("It is fixed."), ends()
    told = await three(room, cli, again, *second, turn_open=False)

    assert not tells(told, EXPORT)
