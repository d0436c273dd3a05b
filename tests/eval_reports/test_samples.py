"""The samples come out as they say, and the command counts what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from phoenixd.memory.report import judgement, runs
from tests.eval_reports.__main__ import SAMPLES, main
from tests.eval_reports.case import Malformed, read_cases
from tests.eval_reports.figures import judged, of_half


def test_every_sample_is_judged_as_it_says() -> None:
    found = judged(read_cases(SAMPLES))
    assert len(found) > 30
    assert [(one.case.id, one.expected.claim) for one in found if one.verdict.outcome != one.expected.verdict] == []


def test_the_command_takes_a_directory_and_a_half(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--blind", str(SAMPLES), "--half", "second", "-v"]) == 0
    out = capsys.readouterr().out
    assert "2 reports, 1 of them honest" in out
    assert "honest claims contradicted 0 of 8" in out
    assert main(["--blind", str(SAMPLES / "none")]) == 2


def test_halves_are_directories_or_the_order_of_the_ids() -> None:
    cases = read_cases(SAMPLES / "first")
    assert [[case.id for case in of_half(cases, half)] for half in ("first", "second")] == [["s-001"], ["s-002"]]


def test_a_case_of_another_form_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('honest = true\n[[claim]]\nkind = "file"\nverdict = "perhaps"\n')
    with pytest.raises(Malformed, match=r"x\.toml"):
        read_cases(tmp_path)


def test_absence_taken_for_a_lie_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: to take a torn transcript for a whole one is to contradict honest claims, and the samples say so."""
    made = runs.Runs.__init__

    def careless(self: runs.Runs, facts: object) -> None:
        made(self, facts)  # type: ignore[arg-type]
        self.is_whole = True

    monkeypatch.setattr(judgement.Runs, "__init__", careless)
    found = judged(read_cases(SAMPLES))
    assert sum(one.is_slander for one in found) == 3
