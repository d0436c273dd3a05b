"""A kept ledger has what the rules of its time made of a transcript: other rules have another version."""

from __future__ import annotations

import pytest

from phoenixd.documents.kept_ledger import VERSION
from phoenixd.documents.transcript import TurnEnded
from phoenixd.harness.claude import transcript as claude_transcript
from tests.documents import ledger_rules


def test_what_hearing_makes_of_known_sessions_is_as_recorded_with_the_version() -> None:
    told = ledger_rules.complaint(VERSION, ledger_rules.recorded(), ledger_rules.made_now())

    assert told == ""


def test_a_rule_that_changes_needs_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    known = ledger_rules.recorded()
    asked = claude_transcript._from_system

    def without_ends(found: dict[str, object], at: float | None) -> object:
        record = asked(found, at)
        facts = tuple(one for one in record.facts if not isinstance(one, TurnEnded))
        return type(record)(record.kind, record.at, facts)

    monkeypatch.setattr(claude_transcript, "_from_system", without_ends)
    monkeypatch.setattr(claude_transcript, "INTERRUPTED", "[Another word")
    made = ledger_rules.made_now()

    assert "raise VERSION" in ledger_rules.complaint(VERSION, known, made)
    assert "claude-permission-open" in ledger_rules.complaint(VERSION, known, made)
    assert "raise VERSION" not in ledger_rules.complaint(VERSION + 1, known, made)
    assert ledger_rules.complaint(VERSION + 1, (VERSION + 1, made), made) == ""


def test_a_session_that_is_new_among_them_is_recorded_under_the_same_version() -> None:
    version, known = ledger_rules.recorded()
    first = next(iter(known))

    told = ledger_rules.complaint(version, (version, {name: known[name] for name in known if name != first}), known)

    assert "raise" not in told
    assert "ledger_rules" in told
