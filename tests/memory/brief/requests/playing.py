"""Plays a conversation through the transcripts that its CLI writes, the daemon's ledgers and its list of open loops.

What each record is stands here, written before a case was played: nothing depends on which case it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phoenixd.core.limits.parking import CONTINUE
from phoenixd.core.limits.state import ParkingKind
from phoenixd.documents.state import OpenLoop, is_unconfirmed
from phoenixd.memory.brief.loops.alike import normal
from phoenixd.memory.brief.loops.seen import quoted
from phoenixd.memory.brief.loops.unanswered import LATER_LIMIT
from tests.blind.frozen import Case, Corpus
from tests.eval_brief.blind.session import Question, Read, Run, Web, Write
from tests.memory.brief.loops.lives import Life, Step, Transcript, adds, asks, compacts, ends, says
from tests.memory.brief.requests.missed import MISSED

REQUESTS = Corpus(Path(__file__).parent, "requests-open.json", "requests-held.json", MISSED)

Row = dict[str, Any]

QUEUED = re.compile(r"^\(queued while the agent works\)\s*")
"""How a case says that a person typed during a turn."""
SHELLS = {"Bash", "shell", "exec_command", "local_shell", "run_shell_command"}
EDITS = {"Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "replace", "write_file"}
PAGES = {"WebFetch", "WebSearch", "web_fetch", "google_web_search"}
SHOWN = " -> "
"""What stands between a command and what it printed."""
_CODE = re.compile(r"\b(?:exit(?: code)?|Error) (\d+)")
_COMMAND = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Answer:
    """listed: as what the request stands among the open loops; in_doubt: nobody can say whether it is open."""

    listed: tuple[str, ...]
    in_doubt: bool
    others: tuple[str, ...] = ()


def answer(case: Case) -> Answer:
    life = _Conversation(case).played()
    words = case["question"]["request_quote"]
    whole = next(row["text"] for row in case["conversation"] if words in row["text"])
    mine = [one for one in life.state.open_loops if _is_of(one, words, whole)]
    others = tuple(one.text for one in life.state.open_loops if one not in mine)
    return Answer(tuple(one.text for one in mine), bool(mine) and all(map(is_unconfirmed, mine)), others)


def is_right(case: Case, found: Answer) -> bool:
    """By whether the brief lists it."""
    return case["list_in_brief"] in ("either", "yes" if found.listed else "no")


def _is_of(loop: OpenLoop, words: str, whole: str) -> bool:
    """Whether a loop quotes the request, or is a command that the request names."""
    is_quoted = any(quoted(whole, limit)[1:-1] in loop.text for limit in (240, LATER_LIMIT))
    is_named = loop.text.startswith("`") and any(f"`{one}`" in loop.text for one in _COMMAND.findall(whole))
    return is_quoted or normal(words) in normal(loop.text) or is_named


@dataclass
class _Conversation:
    """A conversation in the making: the steps of a process are written when it ends, fails or is stopped."""

    case: Case
    life: Life = field(init=False)
    session: str = ""
    made: Transcript | None = None
    steps: list[Step] = field(default_factory=list)
    turn_open: bool = False
    began: bool = True
    """Whether a process has begun and nothing was said in it yet."""
    is_fresh: bool = False
    failed: str = ""
    task: str | None = None
    waiting: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.life = Life(self.case["harness"])

    def played(self) -> Life:
        rows = self.case["conversation"]
        for at, row in enumerate(rows):
            if row.get("session", self.session) != self.session:
                self.another(row["session"])
            self.hear(row, rows[at + 1 :])
        self.process_ends()
        return self.life

    # --- processes and sessions ---

    def another(self, name: str) -> None:
        self.process_ends()
        self.is_fresh = self.made is not None
        self.session, self.made, self.began, self.failed = name, self.life.session(), True, ""

    def write(self) -> Transcript:
        assert self.made is not None, "nothing was said in a session"
        if self.steps:
            self.made.process(*self.steps)
            self.steps.clear()
        return self.made

    def process_ends(self) -> None:
        if self.made is None:
            return
        for text in self.waiting:
            self.steps.append(adds(text, is_read=False))
        self.waiting.clear()
        made = self.write()
        if made.content:
            self.life.read(made)
        self.began = True

    # --- records ---

    def hear(self, row: Row, rest: list[Row]) -> None:
        text = row["text"]
        match row["who"]:
            case "person" if (typed := QUEUED.sub("", text)) != text:
                self.queued(typed, rest)
            case "person":
                self.prompt(text)
                self.task = text
            case "agent" if row.get("model") == "<synthetic>":
                self.fails(text)
            case "agent":
                self.waiting_is_read()
                self.say(says(text))
            case "tool":
                self.waiting_is_read()
                self.say(_tool(row))
            case "system":
                self.system(text)
            case "daemon":
                self.daemon(text)
            case other:
                raise ValueError(f"nobody speaks as {other}")

    def prompt(self, text: str) -> None:
        self.say(asks(text))
        self.turn_open, self.failed = True, ""

    def say(self, step: Step) -> None:
        self.steps.append(step)
        self.began = False

    def queued(self, text: str, rest: list[Row]) -> None:
        """The agent reads it between two calls; else it waits for the end of the turn, or for ever."""
        self.task = text
        for row in rest:
            is_queued_too = row["who"] == "person" and QUEUED.match(row["text"]) is not None
            if is_queued_too or row["text"].startswith("Notification"):
                continue
            if row["who"] in ("person", "daemon", "system"):
                break
            if row["who"] == "tool":
                self.say(adds(text))
                return
        self.waiting.append(text)

    def waiting_is_read(self) -> None:
        """An agent that goes on after the end of its turn has taken what waited as its prompt."""
        if self.waiting and not self.turn_open:
            self.prompt("\n".join(self.waiting))
            self.waiting.clear()

    def fails(self, text: str) -> None:
        is_limit = re.search(r"limit|429", text) is not None
        self.write().fails(text, "rate_limit" if is_limit else "server_error")
        self.life.read(self.write())
        self.turn_open, self.failed = False, "limit" if is_limit else "overload"

    def system(self, text: str) -> None:
        if text.startswith("StopFailure"):
            if not self.failed:
                self.fails(text)
        elif text.startswith("Stop"):
            if self.turn_open:
                self.say(ends())
            self.turn_open = False
        elif "interrupted by user" in text:
            self.life.read(self.write().stopped())
            self.turn_open = False
        elif text.startswith(("SessionStart", "SessionEnd")):
            self.process_ends()
        elif "compact" in text.lower():
            self.say(compacts())

    def daemon(self, text: str) -> None:
        """A sentence is what the daemon types, in its own words; all else is a note of what happened to the process."""
        if not text.endswith((".", "!", "?")):
            self.process_ends()
            return
        if self.failed:
            self.say(asks(CONTINUE[ParkingKind.LIMIT if self.failed == "limit" else ParkingKind.OVERLOAD]))
        elif not self.began:
            self.say(asks(f"phoenixd: {text}"))
        elif self.is_fresh and not self.turn_open:
            self.say(self.life.goal())
        else:
            self.say(self.life.go_on(self.task, fresh=self.is_fresh))
        self.turn_open, self.failed = True, ""


def _tool(row: Row) -> Step:
    """What a call is; a program that no list names is one that was looked at."""
    tool, (said, _, printed), result = row["tool"], row["text"].partition(SHOWN), row.get("result")
    if tool in SHELLS:
        code = _CODE.search(printed)
        failed = int(code[1]) if code and int(code[1]) else 1
        number = {"ok": 0, "error": failed}.get(result or "")
        return lambda t: Run(t, said, number, f"{printed}\n" if printed else "")
    words = list(_words(said, tool))
    path = words[0] if words else said
    if tool in EDITS:
        return lambda t: Write(t, path, result == "error")
    if tool in PAGES:
        return lambda t: Web(t, path, printed)
    if tool == "AskUserQuestion":
        return lambda t: Question(t, said, ("yes", "no"), printed or "yes" if result else None)
    return lambda t: Read(t, path, printed or "ok")


def _words(said: str, tool: str) -> Iterator[str]:
    yield from (one for one in said.split() if one != tool)
