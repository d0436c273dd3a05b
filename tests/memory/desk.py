"""A desk: papers with a conversation, and with a writer of briefs that answers what a test wants."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

from phoenixd.api.values import BriefWriting
from phoenixd.core.agent import Agent
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.conversation import Conversation, Utterance
from phoenixd.documents.deeds import TaskRow, TasksListed
from phoenixd.documents.kept_ledger import VERSION, KeptLedger
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.errors import WriterFailed
from phoenixd.memory.papers import Papers
from phoenixd.ports.papers import WriterAnswer
from tests.start.places import NOW, Room

LOOP = {"id": "auth-flow", "text": "OAuth redirect not tested", "added": "2026-11-15"}
TALK = (
    Utterance("user", "Please finish the login page.", "2026-11-21T09:00:00Z"),
    Utterance("assistant", '{"command": "pytest -q"}', "2026-11-21T09:30:00Z", "Bash"),
    Utterance("tool", "5 failed, 47 passed in 3.2s", "2026-11-21T09:30:00Z", "Bash"),
    Utterance("assistant", "Remaining:\n- the token refresh is untested", "2026-11-21T09:31:00Z"),
)

TASKS = ("Refresh the token",)


@dataclass
class Scripted:
    """A writer that answers what a test wants, and keeps what it was asked."""

    answers: list[Callable[[BriefMaterial], str] | WriterFailed] = field(default_factory=list)
    asked: list[tuple[BriefMaterial, str | None]] = field(default_factory=list)
    tokens: int = 100

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        self.asked.append((material, complaint))
        answer = self.answers.pop(0)
        if isinstance(answer, WriterFailed):
            raise answer
        return WriterAnswer(answer(material), self.tokens)


def says(**fields: Any) -> Callable[[BriefMaterial], str]:
    return lambda material: json.dumps({"agent": material.agent, "open_loops": [], **fields})


@dataclass
class Desk:
    """A room whose papers have a writer and a conversation."""

    room: Room
    writer: Scripted
    talk: tuple[Utterance, ...] = TALK
    talks: dict[str, tuple[Utterance, ...]] = field(default_factory=dict)
    """By session id, where it is not the one above."""
    heard: list[str] = field(default_factory=list)
    tasks: tuple[str, ...] = ()
    """What stands on the session's own list, and is not done."""
    tasks_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By session id, where it is not the one above."""

    async def said(self, agent: Agent, budget: int) -> Conversation | None:
        session_id = agent.session.session_id if agent.session is not None else ""
        self.heard.append(session_id)
        return Conversation("s", self.talks.get(session_id, self.talk), is_whole=True)

    async def stands(self, agent: Agent, kept: object, clean: object) -> KeptLedger:
        session_id = agent.session.session_id if agent.session is not None else ""
        ledger = SessionLedger(session_id=session_id)
        rows = tuple(TaskRow(None, text, "open") for text in self.tasks_of.get(session_id, self.tasks))
        ledger.tasks.listed(TasksListed(None, rows, True, NOW - 600))
        return KeptLedger(VERSION, "/t.jsonl", 0, 0, 0, "", True, ledger)

    async def wrote(self, agent: Agent) -> BriefWriting:
        """Write the agent's brief now, and tell what a person sees of that."""
        await self.room.papers.briefing.generate(agent)
        return await self.writing_of(agent.name)

    async def writing_of(self, name: str) -> BriefWriting:
        page = await self.room.papers.brief(name)
        assert page is not None
        assert page.writing is not None
        return page.writing

    def restarted(self) -> Papers:
        self.room.options = {
            "conversation": self.said, "writers": {WriterKind.COMMAND: self.writer}, "ledger": self.stands,
        }  # fmt: skip
        return self.room.restarted()

    def agent(self, **rules: Any) -> Agent:
        brief = BriefRules(writer=WriterKind.COMMAND, command=("writer",), **rules)
        return self.room.running(self.room.agent(self.room.spec(brief=brief)))

    def plain(self, **rules: Any) -> Agent:
        return self.room.running(self.room.agent(self.room.spec(brief=BriefRules(**rules))))


def place(room: Room, **fields: Any) -> None:
    """Write a state.json as an operator would."""
    room.state.mkdir(parents=True, exist_ok=True)
    (room.state / "state.json").write_text(json.dumps({"agent": "a", **fields}))


def edit(room: Room, **fields: Any) -> None:
    place(room, **{**room.document(), **fields})


def ids(room: Room) -> list[str]:
    return [loop["id"] for loop in room.document()["open_loops"]]


async def until(condition: Callable[[], bool], papers: Papers) -> None:
    """Let the schedule run until something is so."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(papers.briefing.run)
        with anyio.fail_after(10):
            while not condition():
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
