"""Transcripts of one agent's sessions as the three CLIs write them, process by process, and what the daemon lists."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.banner import ended_sentence, interruption_sentence
from phoenixd.documents.brief.around import Around
from phoenixd.documents.loop_origin import head_of
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.state import StateDocument, is_unconfirmed
from phoenixd.documents.times import utc_date
from phoenixd.memory.brief.closing import settle
from phoenixd.memory.brief.loops.seen import Seen
from phoenixd.memory.brief.task_in_hand import going_on, is_ours
from tests.documents.ledgers import FORMS, ledger_of
from tests.eval_brief.blind.claude_lines import stamp
from tests.eval_brief.blind.patterns import BEGAN, CWD, as_line, pattern
from tests.eval_brief.blind.rendered import rendered
from tests.eval_brief.blind.session import (
    Agent as Says,
)
from tests.eval_brief.blind.session import (
    Cli,
    Compacted,
    Event,
    Permission,
    Person,
    Question,
    Queued,
    Run,
    Session,
    TurnEnds,
)
from tests.transcripts.samples import api_error

GOAL = "Keep the shop in order."
CLIS: tuple[Cli, ...] = ("claude", "codex", "gemini")

Step = Callable[[float], Event]


def asks(text: str) -> Step:
    return lambda t: Person(t, text)


def says(text: str) -> Step:
    return lambda t: Says(t, text)


def runs(command: str) -> Step:
    return lambda t: Run(t, command, 0, "done\n")


def adds(text: str, *, is_read: bool = True) -> Step:
    """A prompt that was typed while a turn was going on."""
    return lambda t: Queued(t, text, is_read)


def ends() -> Step:
    return lambda t: TurnEnds(t, True)


def questions(text: str) -> Step:
    """The CLI's own question, which nobody has answered."""
    return lambda t: Question(t, text, ("Redis", "SQLite"))


def denies(command: str) -> Step:
    """A person refuses what the agent asks to run."""
    return lambda t: Permission(t, command, "deny")


def compacts() -> Step:
    return lambda t: Compacted(t, True)


@dataclass
class Transcript:
    """One session of a CLI's."""

    cli: Cli
    life: Life
    number: int
    session_id: str = ""
    content: bytes = b""
    turn_open: bool = False

    def process(self, *steps: Step) -> Transcript:
        """What one process writes, until it is killed: after the last step, nothing more."""
        begin = self.life.tick(1000)
        events = tuple(step(self.life.tick(10)) for step in steps)
        made = rendered(Session(f"en-{self.cli}-{begin}", self.cli, "en", "", "killed", events))
        self.session_id = self.session_id or made.session_id
        own = made.session_id.encode(), self.session_id.encode()
        self.content += b"".join(line.replace(*own) for line in made.transcript)
        self.turn_open = made.turn_open
        return self

    def fails(self, words: str = "API Error: 529 Overloaded", kind: str = "server_error") -> Transcript:
        """The API never answered, and the CLI gave up."""
        at = stamp(BEGAN + self.life.tick(10))
        self.turn_open = False
        if self.cli == "claude":
            line = json.loads(api_error(kind, words, 529)) | {"timestamp": at, "sessionId": self.session_id}
        elif self.cli == "codex":
            line = pattern("codex-work", lambda line: line["payload"]["type"] == "task_complete")
            line["timestamp"] = at
            line["payload"] |= {"last_agent_message": None, "error": {"message": words, "codex_error_info": kind}}
        else:
            line = {"id": f"e-{at}", "timestamp": at, "type": "error", "content": words}
        self.content += as_line(line)
        return self

    def stopped(self) -> Transcript:
        """A person pressed Escape."""
        at = stamp(BEGAN + self.life.tick(10))
        self.turn_open = False
        if self.cli == "claude":
            line = pattern("claude-permission-open", lambda line: "interrupted" in str(line["message"]["content"]))
            line |= {"sessionId": self.session_id}
        elif self.cli == "codex":
            line = pattern("codex-permission-open", lambda line: line["payload"]["type"] == "turn_aborted")
        else:
            line = pattern("gemini-permission-open", lambda line: line["type"] == "info")
        self.content += as_line(line | {"timestamp": at})
        return self

    @property
    def ledger(self) -> SessionLedger:
        return ledger_of(self.content, FORMS[self.cli])


@dataclass
class Life:
    """An agent with its sessions, and what state.json lists of them."""

    cli: Cli
    resume_prompt: str | None = None
    state: StateDocument = field(default_factory=lambda: StateDocument(agent="a"))
    second: float = 0.0
    sessions: list[Transcript] = field(default_factory=list)
    proven: frozenset[str] = frozenset()
    """The ids of loops that no writer's claim closes, for the newest reading proves them open."""

    def tick(self, seconds: float) -> float:
        self.second += seconds
        return self.second

    @property
    def agent(self) -> Agent:
        spec = AgentSpec("a", ("x",), CWD, prompt=GOAL)
        spec = replace(spec, resume=replace(spec.resume, prompt=self.resume_prompt))
        return Agent(spec, Desired.STOPPED, Stopped(), 0.0, "")

    def session(self) -> Transcript:
        self.sessions.append(Transcript(self.cli, self, len(self.sessions) + 1))
        return self.sessions[-1]

    def go_on(self, task: str | None, *, fresh: bool = False, by_order: bool = False) -> Step:
        """The daemon's own sentence, with the task in hand."""
        told = StateDocument(agent="a", current_task=task)
        sentence = (
            ended_sentence(told, BEGAN, "a restart") if by_order else interruption_sentence(told, BEGAN, "signal 9")
        )
        sentence = self.resume_prompt or sentence
        return asks(f"{GOAL}\n\n{sentence}" if fresh else sentence)

    def goal(self) -> Step:
        return asks(GOAL)

    def read(self, one: Transcript, *, lives: bool = False, spoken_at: float | None = None) -> list[str]:
        """Read a session to its end, and what is listed then; what is in doubt ends in a question mark.

        lives: its process runs, so that no hook has told of an open turn. spoken_at: when one told of a turn's end.
        """
        agent, now = self.agent, BEGAN + self.tick(10)
        around = Around(
            session=one.session_id,
            number=one.number,
            cwd=CWD,
            turn_open=None if lives else one.turn_open,
            spoken_at=spoken_at,
            is_ours=lambda text: is_ours(agent, text),
            going_on=lambda text: going_on(agent, text),
        )
        seen = Seen(one.ledger, None, around, now, utc_date(now), head_of(one.session_id), GOAL)
        settled = settle(self.state, seen)
        self.state, self.proven = settled.state, settled.proven
        return self.listed

    @property
    def listed(self) -> list[str]:
        return list(self._shown())

    def _shown(self) -> Iterator[str]:
        for loop in self.state.open_loops:
            yield f"{loop.text}?" if is_unconfirmed(loop) else loop.text


def unanswered(*texts: str) -> str:
    """How a request is listed, with what was said in the middle of its turn."""
    return "Asked, and its turn did not end: " + ", and then ".join(f'"{text}"' for text in texts)
