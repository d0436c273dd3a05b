"""What a transcript, read to its end, says of a session: how full it is, what it was told, whether it is at work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

from phoenixd.documents.transcript import (
    ApiFailed,
    Compacted,
    Prompted,
    Record,
    RecordKind,
    SessionNamed,
    Standing,
    ToolBegan,
    ToolEnded,
    TurnBegan,
    TurnEnded,
    TurnUnclear,
    Used,
)

TEXT_LIMIT = 32_768
NAME_LIMIT = 200
MOST_TOOLS = 256


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The newest facts of the main thread; None is unknown.

    usage: of the newest request, None also between a compaction and the request after it. error: None once a request
    succeeded after it. requests: how many different ones were read, which need not be all of the session's.
    """

    session_id: str | None = None
    newest_at: float | None = None
    newest_kind: RecordKind | None = None
    prompt: Prompted | None = None
    turn_open: bool | None = None
    ending: TurnEnded | None = None
    usage: Used | None = None
    requests: int = 0
    compaction: Compacted | None = None
    error: ApiFailed | None = None
    tools_in_flight: tuple[ToolBegan, ...] = ()


@dataclass(slots=True)
class SessionReading:
    """Gathers the facts, record by record, oldest first."""

    session_id: str | None = None
    newest_at: float | None = None
    newest_kind: RecordKind | None = None
    prompt: Prompted | None = None
    turn_open: bool | None = None
    ending: TurnEnded | None = None
    usage: Used | None = None
    requests: int = 0
    compaction: Compacted | None = None
    error: ApiFailed | None = None
    tools: dict[str, ToolBegan] = field(default_factory=dict)

    def hear(self, record: Record) -> None:
        """Take one record into account."""
        if record.kind is not None:
            self.newest_kind = record.kind
            if record.at is not None:
                self.newest_at = record.at
        if record.kind in ("assistant", "tool"):
            self.turn_open = True
        for fact in record.facts:
            if isinstance(fact, Standing):
                self._take(fact)

    def facts(self) -> SessionFacts:
        """All that was heard so far."""
        return SessionFacts(
            self.session_id,
            self.newest_at,
            self.newest_kind,
            self.prompt,
            self.turn_open,
            self.ending,
            self.usage,
            self.requests,
            self.compaction,
            self.error,
            tuple(self.tools.values()),
        )

    def _take(self, fact: Standing) -> None:
        match fact:
            case SessionNamed(session_id):
                self.session_id = session_id[:NAME_LIMIT]
            case Used():
                # A request is written as several lines; the last one knows the most of it.
                if self.usage is None or fact.request is None or fact.request != self.usage.request:
                    self.requests += 1
                self.usage, self.error = fact, None
            case Prompted():
                self.prompt = replace(fact, text=fact.text[:TEXT_LIMIT])
                if not fact.queued:
                    self._begin()
            case TurnBegan():
                self._begin()
            case TurnUnclear():
                self.turn_open = None
            case TurnEnded():
                # The CLI closes its books on every turn, also on one that had ended badly.
                if self.turn_open is not False or self.ending is None:
                    self.turn_open, self.ending = False, fact
                self.tools.clear()
            case ToolBegan():
                if len(self.tools) < MOST_TOOLS:
                    call, name = fact.call[:NAME_LIMIT], fact.name[:NAME_LIMIT]
                    self.tools[call] = ToolBegan(call, name, fact.at)
            case ToolEnded():
                self.tools.pop(fact.call[:NAME_LIMIT], None)
            case ApiFailed():
                self.error = replace(fact, kind=fact.kind[:NAME_LIMIT], text=fact.text[:TEXT_LIMIT])
            case Compacted():
                self.compaction, self.usage = fact, None
            case _:
                assert_never(fact)

    def _begin(self) -> None:
        self.turn_open, self.ending = True, None
        self.tools.clear()


def says_usage(record: Record) -> bool:
    """Whether no older record can say anything of how full the context is."""
    return any(isinstance(fact, Used | Compacted) for fact in record.facts)


def says_prompt(record: Record) -> bool:
    """Whether no older record can say anything of the turn in hand and its prompt."""
    return any(isinstance(fact, Prompted) and not fact.queued for fact in record.facts)
