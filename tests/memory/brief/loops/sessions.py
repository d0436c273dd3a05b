"""Sessions as their ledgers have them, made row by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from phoenixd.documents.brief.around import Around
from phoenixd.documents.deeds import CommandBegan, CommandEnded, JobBegan, TaskRow, TasksListed
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.state import StateDocument
from phoenixd.documents.times import utc_date
from phoenixd.documents.transcript import Prompted, Record, TurnEnded
from phoenixd.documents.workspace import GitSummary
from phoenixd.memory.brief.closing import Settled, settle
from phoenixd.memory.brief.loops.seen import Seen

NOW = 1_795_255_200.0
GO_ON: dict[str, Any] = {
    "is_ours": lambda text: text == "go on",
    "going_on": lambda text: text if text == "go on" else "",
}
"""What the daemon knows where it typed these words."""


class Story:
    """Tells a ledger what happened, a second apart."""

    def __init__(self, session: str = "11111111", number: int = 1, at: float = NOW - 3600) -> None:
        self.ledger = SessionLedger(session_id=session, began_at=at)
        self.session, self.number, self.at, self.calls = session, number, at, 0

    def hear(self, *facts: Any) -> Story:
        self.at += 1
        self.ledger.hear(Record("system", self.at, facts))
        return self

    def ran(self, line: str, code: int | None = 0, *, interrupted: bool = False) -> Story:
        call = self._call()
        failed = None if code is None else code != 0
        self.hear(CommandBegan(call, line, self.at))
        return self.hear(CommandEnded(call, code, failed, interrupted, self.at))

    def began_job(self, line: str, job: str = "") -> Story:
        call = self._call()
        self.hear(CommandBegan(call, line, self.at))
        return self.hear(JobBegan(call, job or call, self.at))

    def listed(self, *rows: TaskRow) -> Story:
        return self.hear(TasksListed(None, rows, True, self.at))

    def asked(self, text: str) -> Story:
        return self.hear(Prompted(text, self.at))

    def turn_ended(self) -> Story:
        return self.hear(TurnEnded("done", self.at))

    def seen(self, git: GitSummary | None = None, **around: Any) -> Seen:
        surroundings = Around(session=self.session, number=self.number, cwd="/w", **around)
        return Seen(self.ledger, git, surroundings, NOW, utc_date(NOW), self.session[:8])

    def _call(self) -> str:
        self.calls += 1
        return f"call-{self.calls}"


def tasks(*pairs: tuple[str, str]) -> tuple[TaskRow, ...]:
    """Tasks as (text, status), with ids from 1."""
    return tuple(TaskRow(str(number), text, status) for number, (text, status) in enumerate(pairs, 1))  # type: ignore[arg-type]


def empty(*loops: Any) -> StateDocument:
    return StateDocument(agent="a", open_loops=loops)


def texts(settled: Settled | StateDocument) -> list[str]:
    state = settled.state if isinstance(settled, Settled) else settled
    return [loop.text for loop in state.open_loops]


def settled(story: Story, state: StateDocument | None = None, **around: Any) -> Settled:
    return settle(state or empty(), story.seen(**around))


def read_again(state: StateDocument, seens: Iterable[Seen]) -> StateDocument:
    for seen in seens:
        state = settle(state, seen).state
    return state
