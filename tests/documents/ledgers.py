"""Ledgers of recorded sessions, and of lines made for one test."""

from __future__ import annotations

from pathlib import Path

from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.transcript import Fact, TranscriptForm
from phoenixd.harness.claude import transcript as claude_transcript
from phoenixd.harness.codex import transcript as codex_transcript
from phoenixd.harness.gemini import transcript as gemini_transcript
from tests.transcripts.samples import HERE

FORMS: dict[str, TranscriptForm] = {
    "claude": claude_transcript,
    "codex": codex_transcript,
    "gemini": gemini_transcript,
}


def recorded(name: str) -> SessionLedger:
    """The ledger of a recorded session; the name begins with its CLI's."""
    return ledger_of((HERE / f"{name}.jsonl").read_bytes(), FORMS[name.split("-", 1)[0]])


def ledger_of(content: bytes, form: TranscriptForm = claude_transcript) -> SessionLedger:
    ledger = SessionLedger()
    for line in content.split(b"\n"):
        if (record := form.record(line)) is not None:
            ledger.hear(record)
    return ledger


def facts_in(path: Path) -> list[Fact]:
    form = FORMS[path.name.split("-", 1)[0]]
    records = [form.record(line) for line in path.read_bytes().split(b"\n")]
    return [fact for record in records if record is not None for fact in record.facts]
