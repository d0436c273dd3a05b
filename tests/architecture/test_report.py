"""The closing words of `./dev test`: nothing that failed, or did not run, reads as a success."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report import MOST_FLAKY, Run, read_run, summarise


def test_what_did_not_run_is_listed_by_name_and_the_last_line_counts(tmp_path: Path) -> None:
    report = tmp_path / "00.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.a" name="test_x"/>'
        '<testcase classname="tests.a" name="test_y"><skipped message="not run: strace is absent"/></testcase>'
        "</testsuite></testsuites>"
    )

    text, well = summarise([read_run("Python 3.11", report)], ["the suite on other Pythons: none is here"])

    assert well
    assert "  tests/a::test_y: strace is absent [1]\n" in text
    assert "  the suite on other Pythons: none is here\n" in text
    assert text.splitlines()[-1] == "1 passed, 0 failed, 1 skipped"


@pytest.mark.parametrize("content", [None, "<broken"])
def test_a_run_without_a_report_is_a_failure(tmp_path: Path, content: str | None) -> None:
    """A crashed pytest must not read as a success."""
    report = tmp_path / "00.xml"
    if content is not None:
        report.write_text(content)

    text, well = summarise([read_run("Python 3.11", report)], [])

    assert not well
    assert text.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_nothing_that_ran_is_no_success() -> None:
    assert summarise([], [])[1] is False
    assert summarise([Run("Python 3.11", finished=True)], [])[1] is False


def report_of(*cases: str) -> str:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


def passed(name: str) -> str:
    return f'<testcase classname="tests.a" name="{name}"/>'


def failed(name: str) -> str:
    return f'<testcase classname="tests.a" name="{name}"><failure message="no"/></testcase>'


def test_a_test_that_passes_alone_is_flaky_by_name_and_fails_nothing(tmp_path: Path) -> None:
    report = tmp_path / "00.xml"
    report.write_text(report_of(failed("test_x"), passed("test_y")))
    (tmp_path / "00.again.xml").write_text(report_of(passed("test_x")))

    text, well = summarise([read_run("Python 3.11", report)], [])

    assert well
    assert "  FLAKY tests/a::test_x [1]\n" in text
    assert text.splitlines()[-1] == "1 passed, 0 failed, 1 flaky, 0 skipped"


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(report_of(failed("test_x")), id="it fails again"),
        pytest.param(report_of(passed("test_y")), id="it did not run again"),
        pytest.param(
            report_of('<testcase classname="tests.a" name="test_x"><skipped message="no"/></testcase>'),
            id="it was skipped",
        ),
        pytest.param("<broken", id="the second run was cut off"),
    ],
)
def test_a_test_that_does_not_pass_alone_fails_the_run_as_ever(tmp_path: Path, again: str) -> None:
    report = tmp_path / "00.xml"
    report.write_text(report_of(failed("test_x"), passed("test_y")))
    (tmp_path / "00.again.xml").write_text(again)

    text, well = summarise([read_run("Python 3.11", report)], [])

    assert not well
    assert "FLAKY" not in text
    assert text.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_a_test_that_passed_and_whose_clearing_up_failed_is_one_failure(tmp_path: Path) -> None:
    report = tmp_path / "00.xml"
    report.write_text(report_of(passed("test_x"), failed("test_x")))

    assert read_run("Python 3.11", report).counts == {"failed": 1}


@pytest.mark.parametrize(("count", "is_well"), [(MOST_FLAKY, True), (MOST_FLAKY + 1, False)])
def test_more_than_two_flaky_tests_over_all_runs_fail_the_run(count: int, is_well: bool) -> None:
    runs = [Run("one", finished=True), Run("another", finished=True)]
    for run in runs:
        run.counts["passed"] = 1
    for number in range(count):
        runs[number % 2].flaky.append(f"tests/a::test_{number}")

    text, well = summarise(runs, [])

    assert well is is_well
    assert text.count("  FLAKY ") == count
    assert (f"{count} tests are FLAKY" in text) is not is_well
