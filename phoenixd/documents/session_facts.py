"""What a transcript, read to its end, says of a session: how full it is, what it was told, whether it is at work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import assert_never

from phoenixd.documents.transcript import (
    ApiFailed,
    Checked,
    Compacted,
    CutShort,
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
    Unended,
    Used,
)
from phoenixd.planting import is_ours

TEXT_LIMIT = 32_768
NAME_LIMIT = 200
MOST_TOOLS = 256
MOST_CUT_CALLS = 8


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The newest facts of the main thread; None is unknown.

    usage: of the newest request, None also between a compaction and the request after it. error: None once a request
    succeeded after it. requests: how many different ones were read, which need not be all of the session's. cut: an
    answer of the turn in hand. went_on: a whole answer of the same turn came after it. unended: when a part of the
    newest answer was written (wall) whose end is not written.
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
    cut: CutShort | None = None
    went_on: bool = False
    unended: float | None = None

    @property
    def cut_at_end(self) -> CutShort | None:
        """What of a turn that is known to be over was cut: then an end that is not written never came."""
        if self.unended is not None and (self.cut is None or self.went_on):
            return CutShort("stream", self.unended)
        return self.cut


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
    cut: CutShort | None = None
    went_on: bool = False
    unended: float | None = None
    calls: tuple[str, ...] = ()
    """Of the newest answer, as far as its usage is not told."""
    counted_calls: tuple[str, ...] = ()
    """Of the answer whose usage was told last."""
    checking: bool = False
    """A check of ours is being answered."""
    answered: float | None = None
    """When the newest answer, or part of one, was written (wall)."""
    whole: float | None = None
    """When the newest answer was that is whole."""

    def hear(self, record: Record) -> None:
        """Take one record into account."""
        # The answer to a check goes on with nothing.
        is_checked = self.checking
        if record.kind is not None:
            self.newest_kind = record.kind
            if record.at is not None:
                self.newest_at = record.at
        if record.kind in ("assistant", "tool") and not _is_before(record.at, self._over_at()):
            self.turn_open = True
        for fact in record.facts:
            if isinstance(fact, Standing):
                self._take(fact)
        is_whole = not any(isinstance(fact, CutShort | Unended | ApiFailed) for fact in record.facts)
        if record.kind == "assistant" and is_whole and not is_checked:
            self.went_on, self.unended = self.cut is not None, None
            self.whole = _later(self.whole, record.at)
        if record.kind == "assistant":
            self.answered = _later(self.answered, record.at)

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
            self.cut,
            self.went_on,
            self.unended,
        )

    def _take(self, fact: Standing) -> None:
        match fact:
            case SessionNamed(session_id):
                self.session_id = session_id[:NAME_LIMIT]
            case Used():
                # A request is written as several lines; the last one knows the most of it.
                if self.usage is None or fact.request is None or fact.request != self.usage.request:
                    self.requests += 1
                    self.counted_calls, self.calls = self.calls, ()
                self.usage, self.error = fact, None
            case CutShort():
                known = self.cut.calls or () if self.cut is not None else ()
                # The usage of an answer whose stream broke off is never told.
                named = self.calls or (self.counted_calls if fact.how != "stream" else ())
                named = named if fact.calls is None else fact.calls
                self.cut = replace(fact, calls=(*known, *(name[:NAME_LIMIT] for name in named))[:MOST_CUT_CALLS])
                self.went_on, self.unended = _is_before(fact.at, self.whole), None
            case Unended():
                self.unended = self.unended if _is_before(fact.at, self.whole) else fact.at
            case Checked():
                self.checking = True
            case Prompted() if is_ours(fact.text):
                # Some CLIs write what held up a turn's end as a prompt.
                self.checking = True
            case Prompted():
                self.checking = False
                self.prompt = replace(fact, text=fact.text[:TEXT_LIMIT])
                if not fact.queued:
                    self._begin(fact.at)
            case TurnBegan():
                self._begin()
            case TurnUnclear():
                self.turn_open = None
            case TurnEnded():
                # The CLI closes its books on every turn, also on one that had ended badly.
                if self.turn_open is not False or self.ending is None:
                    self.turn_open, self.ending = False, fact
                self.tools.clear()
                self.checking = False
            case ToolBegan():
                if len(self.tools) < MOST_TOOLS:
                    call, name = fact.call[:NAME_LIMIT], fact.name[:NAME_LIMIT]
                    self.tools[call] = ToolBegan(call, name, fact.at)
                    self.calls = (*self.calls, name)[:MOST_CUT_CALLS]
            case ToolEnded():
                self.tools.pop(fact.call[:NAME_LIMIT], None)
            case ApiFailed():
                codes = tuple(code[:NAME_LIMIT] for code in fact.codes)
                self.error = replace(fact, kind=fact.kind[:NAME_LIMIT], text=fact.text[:TEXT_LIMIT], codes=codes)
            case Compacted():
                self.compaction, self.usage = fact, None
            case _:
                assert_never(fact)

    def _begin(self, at: float | None = None) -> None:
        if _is_before(at, self.answered):
            return
        self.turn_open, self.ending = True, None
        self.tools.clear()
        self.calls = self.counted_calls = ()
        self.cut, self.went_on, self.unended = None, False, None

    def _over_at(self) -> float | None:
        """When the turn came to its end that is over."""
        return self.ending.at if self.turn_open is False and self.ending is not None else None


def _is_before(at: float | None, written: float | None) -> bool:
    """Whether something comes late that was made before what is known: a busy CLI writes the prompt, or an answer that
    was cut, after the answer that followed."""
    return at is not None and written is not None and at < written


def _later(one: float | None, other: float | None) -> float | None:
    return max((at for at in (one, other) if at is not None), default=None)


def says_usage(record: Record) -> bool:
    """Whether no older record can say anything of how full the context is."""
    return any(isinstance(fact, Used | Compacted) for fact in record.facts)


def says_prompt(record: Record) -> bool:
    """Whether no older record can say anything of the turn in hand and its prompt."""
    return any(isinstance(fact, Prompted) and not fact.queued for fact in record.facts)
