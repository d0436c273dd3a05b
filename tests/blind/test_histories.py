"""What no verdict of the corpora names, seen while their histories were played."""

from __future__ import annotations

import pytest

from tests.blind import histories
from tests.blind.fates import Fates
from tests.blind.tables import Outcome, Table


def test_promise_3_a_start_that_follows_from_a_lost_journal_is_not_taken_for_an_old_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was fenced as one whose shim is missing, and begun anew ten seconds later."""
    rows: list[str] = []

    def judge(case: Table, fates: Fates) -> Outcome:
        rows.extend(stored.entry.event for stored in fates.host.journal.entries if stored.entry.agent == "a")
        return Outcome(case["id"])

    monkeypatch.setattr(histories, "judge", judge)
    lost = [{"at": "10s", "do": "reboot"}, {"at": "11s", "do": "delete"}, {"at": "12s", "do": "daemon-starts"}]
    histories.play({"id": "lost", "agents": ["a"], "steps": lost, "expect": {"until": "1m"}})

    assert "run_missing" not in rows
    assert rows.count("agent_started") == 1
