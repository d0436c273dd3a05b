"""The calls of a task, gathered from its transcripts line by line, as the facts that claims are held against.

A call is known by its id, and its result by the same id on a line of the CLI's own. What a result holds is data, also
where it looks like lines of a transcript.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Protocol

from phoenixd.documents.deeds import COMMAND_LIMIT, CommandBegan, CommandEnded, FileWritten, JobBegan, JobEnded
from phoenixd.documents.report.facts import Ran, RunEnd, Witness, Wrote
from phoenixd.documents.transcript import Fact, Piece, Record, Said, ToolBegan, ToolEnded

OUTPUT_LIMIT, OUTPUTS_LIMIT = 50_000, 64 << 20
"""Characters of an output's end that are kept, for that is where programs sum up, and of all outputs together."""
LINE_LIMIT = 100_000
MOST_CALLS = 20_000
_COMMAND_KEYS = ("command", "cmd")


class CliTools(Protocol):
    """What is known of a CLI's tools; see phoenixd.harness.witnesses."""

    @property
    def quiet(self) -> frozenset[str]: ...

    @property
    def shells(self) -> frozenset[str]: ...

    @property
    def delegating(self) -> frozenset[str]: ...

    @property
    def typing(self) -> frozenset[str]: ...

    def is_refused(self, output: str) -> bool: ...


@dataclass(slots=True)
class _Call:
    line: str
    is_clipped: bool
    code: int | None = None
    failed: bool | None = None
    end: RunEnd = "running"
    output: str | None = None

    def ran(self) -> Ran:
        return Ran(self.line, self.code, self.failed, self.end, self.output, self.is_clipped)


@dataclass(slots=True)
class Calls:
    """All calls up to `until` (wall seconds); what came later is no fact of the report's time."""

    tools: CliTools
    until: float
    delegated: int = 0
    _commands: dict[str, _Call] = field(default_factory=dict)
    _writes: dict[str, list[Wrote]] = field(default_factory=dict)
    _pending: dict[str, list[str]] = field(default_factory=dict)
    _jobs: dict[str, str] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)
    _others: dict[str, None] = field(default_factory=dict)
    _is_full: bool = False
    _held: int = 0

    def hear(self, record: Record | None, said: Said | None) -> None:
        """Take what one line tells and says."""
        if record is None or (record.at is not None and record.at > self.until):
            return
        for fact in record.facts:
            self._take(fact)
        for piece in said.pieces if said is not None else ():
            if piece.call:
                self._hear_piece(piece)

    def witness(self, gaps: tuple[str, ...]) -> Witness:
        """The facts; gaps: what was not read."""
        if self._is_full:
            gaps = (*gaps, f"there are more than {MOST_CALLS} calls")
        runs = tuple(one.ran() for one in self._commands.values())
        writes = tuple(one for several in self._writes.values() for one in several)
        return Witness(runs, writes, not gaps, gaps, tuple(self._others))

    def _take(self, fact: Fact) -> None:
        match fact:
            case ToolBegan(call, name):
                self._began(call, name)
            case CommandBegan(call, text):
                self._command(call, text)
            case CommandEnded(call, code, failed, interrupted):
                self._ended(call, code, failed, "interrupted" if interrupted else "over")
            case JobBegan(call, job):
                self._jobs[job] = call
            case JobEnded(job, call, how, code):
                of = call if call is not None else self._jobs.get(job or "")
                if of is not None and how is not None:
                    failed = None if how == "stopped" else how == "failed"
                    known = code if code is not None or how != "done" else 0
                    self._ended(of, known, failed, "interrupted" if how == "stopped" else "over")
            case FileWritten(call, path, None):
                self._pending.setdefault(call, []).append(path)
            case FileWritten(call, path, failed):
                self._writes[call] = [*self._writes.get(call, []), Wrote(path, bool(failed))]
            case ToolEnded(call, failed):
                self._came_back(call, failed)
            case _:
                pass

    def _began(self, call: str, name: str) -> None:
        if call in self._names:
            return
        self._names[call] = name
        tools = self.tools
        if name in tools.delegating:
            self.delegated += 1
        elif name not in tools.quiet and name not in tools.shells and name not in tools.typing:
            self._others[name[:80]] = None

    def _command(self, call: str, text: str) -> None:
        if call in self._commands:
            return
        if len(self._commands) >= MOST_CALLS:
            self._is_full = True
            return
        # A text of the very bound may have lost its end; the call's own words, where they follow, are whole.
        self._commands[call] = _Call(text, len(text) >= COMMAND_LIMIT - 1 or text.endswith("…"))

    def _ended(self, call: str, code: int | None, failed: bool | None, end: RunEnd) -> None:
        known = self._commands.get(call)
        if known is not None and known.end != "over":
            known.code, known.failed, known.end = code, failed, end

    def _came_back(self, call: str, failed: bool) -> None:
        known = self._commands.get(call)
        if known is not None and known.end == "running" and call not in self._jobs.values():
            known.end = "unknown"
        for path in self._pending.pop(call, ()):
            self._writes[call] = [*self._writes.get(call, []), Wrote(path, failed)]

    def _hear_piece(self, piece: Piece) -> None:
        known = self._commands.get(piece.call)
        if piece.speaker == "assistant":
            if known is not None and (line := _line(piece.text)) is not None:
                known.line, known.is_clipped = line[:LINE_LIMIT], len(line) > LINE_LIMIT
            elif self._names.get(piece.call) in self.tools.typing and _types(piece.text):
                self._others[self._names[piece.call]] = None
        elif piece.speaker == "tool" and known is not None:
            self._held += min(len(piece.text), OUTPUT_LIMIT)
            # What is not held is unknown, and unknown contradicts nothing.
            known.output = piece.text[-OUTPUT_LIMIT:] if self._held <= OUTPUTS_LIMIT else None
            # A command that ran has an exit code; its output cannot pass for a refusal.
            if known.code is None and known.end != "running" and self.tools.is_refused(piece.text):
                known.end = "refused"


def _line(given: str) -> str | None:
    """The whole command of a call's arguments."""
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    value = next((found[key] for key in _COMMAND_KEYS if key in found), None)
    if isinstance(value, list) and len(value) == 3 and value[1] in ("-c", "-lc"):
        value = value[2]
    return value if isinstance(value, str) else None


def _types(given: str) -> bool:
    """Whether a call typed anything into a command that runs."""
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        return True
    return not isinstance(found, dict) or bool(str(found.get("chars", "")).strip())
