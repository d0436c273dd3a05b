"""The page about harnesses says of every row of the contract suite how it ended, and no more than its report."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof import __main__ as proof
from tests.real import __main__ as contract
from tests.real.contract_table import (
    FAILED,
    cells,
    differences,
    read_report,
    rows,
    second_try,
    table,
    version_of_table,
    write,
    written,
)

REPORT = """<testsuites><testsuite>
<testcase classname="c" name="test_fresh_start[claude]"/>
<testcase classname="c" name="test_fresh_start[codex]"><failure message="no"/></testcase>
<testcase classname="c" name="test_fresh_start[gemini]"><skipped type="pytest.skip" message="not run: x"/></testcase>
<testcase classname="c" name="test_tool[gemini]"><skipped type="pytest.xfail" message="it exits 0"/></testcase>
</testsuite></testsuites>"""


def test_what_did_not_pass_says_so(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)

    lines = table(read_report(report)).splitlines()

    assert lines[2].split(" | ")[1:] == ["passed", "**failed**", "not run: x |"]
    assert lines[3].split(" | ")[1:] == ["not run", "not run", "**no**: it exits 0 |"]
    assert len(lines) == 2 + len(rows())


def test_what_passed_at_the_second_try_only_says_so() -> None:
    first = {("test_tool", "claude"): FAILED, ("test_tool", "codex"): FAILED, ("test_tool", "gemini"): "passed"}

    both = second_try(first, {("test_tool", "claude"): "passed", ("test_tool", "codex"): FAILED})

    assert list(both.values()) == ["passed, at the second try", FAILED, "passed"]


def test_a_suite_that_could_not_be_run_says_so_by_name_and_leaves_the_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = {(test, name): "not run: no npm" for test in rows() for name in ("claude", "codex", "gemini")}
    monkeypatch.setattr(contract, "_run", lambda arguments: cells)
    monkeypatch.setattr(contract, "write", lambda made: pytest.fail("the page was written"))

    assert contract.main([]) == 0

    assert capsys.readouterr().out.count("not run: no npm") == 3 * len(rows())


def test_the_page_keeps_all_but_the_table(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- contract: begin -->\nold\n<!-- contract: end -->\nafter\n")

    write("new", page)

    assert page.read_text() == "before\n<!-- contract: begin -->\nnew\n<!-- contract: end -->\nafter\n"


def test_the_page_has_a_line_for_every_row_and_the_tested_versions() -> None:
    """A developer who adds a row, or tries another version, runs `./dev proof contract`."""
    told, made = written().splitlines(), table({}).splitlines()

    assert told[:1] == made[:1]
    assert [line.split(" | ")[0] for line in told] == [line.split(" | ")[0] for line in made]


def test_meter_freeze_handover_and_backstop_of_an_orchestrator_stand_there_for_each_of_the_three() -> None:
    wanted = ("test_meter", "test_freeze", "test_handover_at_stop", "test_backstop")
    told = cells()

    assert {(test, name): told.get((test, name)) for test in wanted for name in ("claude", "codex", "gemini")} == {
        (test, name): "passed" for test in wanted for name in ("claude", "codex", "gemini")
    }


def test_what_a_newer_release_does_otherwise_is_a_line_and_nothing_else_is() -> None:
    before = {("test_tool", "claude"): "passed", ("test_limit", "gemini"): "**no**: a dialog"}
    now = {
        ("test_tool", "claude"): FAILED,
        ("test_limit", "gemini"): "**no**: a dialog",
        ("test_hang", "claude"): "not run: no npm",
    }

    told = differences(now, before, {"claude": "9.9.9 (Claude Code)"})

    assert told == [
        f"claude: 9.9.9 (Claude Code); pinned: {version_of_table('claude')}",
        f"claude: {rows()['test_tool']}: passed -> {FAILED}",
    ]
    assert "no row" in differences(before, before, {"claude": "9.9.9"})[-1]


def test_the_page_is_read_as_it_was_written() -> None:
    told = cells()

    assert set(told) == {(test, name) for test in rows() for name in ("claude", "codex", "gemini")}
    assert told["test_tool", "claude"] == "passed"


def test_newest_is_for_the_contract_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        proof.main(["slow", "--newest"])

    assert refused.value.code == 2
    assert "./dev proof contract --newest" in capsys.readouterr().err
