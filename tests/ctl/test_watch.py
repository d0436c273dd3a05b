"""`status --watch` prints a line for each change that it shows, and none twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.ctl import calls, wire
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.watch import _Watched

ROW: dict[str, Any] = {
    "name": "docs", "incarnation": 1, "group": "resting", "state": "parked", "activity": None, "waiting_for": None,
    "parked_until": "2026-11-21T09:00:00Z", "item": None, "reason": "rate limit of claude",
}  # fmt: skip


def told(capsys: pytest.CaptureFixture[str], *changes: dict[str, Any], as_json: bool = False) -> list[str]:
    """What is printed of these rows one after the other, without the time before each line."""
    watched = _Watched(Command(("status",), calls.operation("list_agents"), {}, None, as_json))
    for change in changes:
        watched.hear("agent", json.dumps({**ROW, **change}))
    lines = capsys.readouterr().out.splitlines()
    return lines if as_json else [line.partition(" ")[2] for line in lines]


@pytest.mark.parametrize(
    "change", [{"parked_until": "2026-11-21T09:30:00Z"}, {"parked_until": None}, {"activity": ""}], ids=str
)
def test_a_line_that_would_be_the_same_is_not_printed_again(
    change: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(capsys, {}, change, {}) == [". docs  parked, rate limit of claude"]


def test_what_changes_in_the_line_is_printed_also_back_and_forth(capsys: pytest.CaptureFixture[str]) -> None:
    back = {"state": "running", "activity": "working", "group": "working"}
    assert told(capsys, {}, back, {}) == [
        ". docs  parked, rate limit of claude", "* docs  running, working", ". docs  parked, rate limit of claude"
    ]  # fmt: skip


def test_another_run_is_a_change_although_all_else_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, {}, {"incarnation": 2}) == [
        ". docs  parked, rate limit of claude", ". docs  parked, rate limit of claude, incarnation 2"
    ]  # fmt: skip


def test_an_item_that_comes_and_one_that_takes_its_place_are_changes(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(told(capsys, {}, {"item": 7}, {"item": 8})) == 3


def test_in_json_a_row_is_told_whatever_of_it_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(told(capsys, {}, {"parked_until": None}, as_json=True)) == 2


def test_what_changes_while_the_page_is_asked_for_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The page had it already, and then a line said it again."""
    back = {**ROW, "state": "running", "activity": "working", "group": "working"}
    pages, rows = ["* docs is back\n"] * 2, [ROW, back, back]

    def ask(command: Command, operation: object, given: object, *, as_json: bool | None = None) -> wire.Answer:
        body = json.dumps({"agents": [rows.pop(0)]}) if as_json else pages.pop(0)
        return wire.Answer(200, 0, "application/json" if as_json else "text/plain", body.encode())

    monkeypatch.setattr(calls, "ask", ask)
    watched = _Watched(Command(("status",), calls.operation("list_agents"), {}, None, False))
    assert watched.begin() == 0
    watched.hear("agent", json.dumps(back))
    printed = capfd.readouterr().out

    assert printed == "* docs is back\n"
    assert not rows


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"state": "stopping", "reason": "stopping: restarted by operator"}, "stopping, restarted by operator"),
        ({"state": "starting", "reason": "starting incarnation 2, resume", "incarnation": 2},
         "starting, incarnation 2, resume"),
        ({"state": "stopped", "reason": "stopped by operator"}, "stopped, by operator"),
    ],
)  # fmt: skip
def test_a_line_says_the_state_and_the_run_once(
    row: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    watched = _Watched(Command(("status",), calls.operation("list_agents"), {}, None, False))
    watched.hear("agent", json.dumps({**ROW, "state": "running"}))
    capsys.readouterr()
    watched.hear("agent", json.dumps({**ROW, **row}))

    assert capsys.readouterr().out.strip().endswith(f" . docs  {told}")


def died(reason: str, meaning: str = "death", then: str = "restart", agent: str = "docs") -> str:
    """A row of the journal that tells the end of a run, as the feed sends it."""
    end = {"name": "run_ended", "incarnation": 1, "meaning": meaning, "then": then, "cause": "exit"}
    return json.dumps({"agent": agent, "reason": reason, "facts": [{"name": "asked"}, end]})


def heard(capsys: pytest.CaptureFixture[str], *frames: tuple[str, str], as_json: bool = False) -> list[str]:
    watched = _Watched(Command(("status",), calls.operation("list_agents"), {}, None, as_json))
    watched.hear("agent", json.dumps({**ROW, **WORKS}))
    capsys.readouterr()
    for event, data in frames:
        watched.hear(event, data)
    lines = capsys.readouterr().out.splitlines()
    return lines if as_json else [line.partition(" ")[2] for line in lines]


WORKS = {"state": "running", "activity": "working", "group": "working", "reason": "ready"}
CAUSE = "died, signal 9 after 12 s; resume, at once"


def test_a_death_and_its_cause_are_a_line_although_the_agent_is_back_within_a_second(
    capsys: pytest.CaptureFixture[str],
) -> None:
    back = json.dumps({**ROW, **WORKS, "incarnation": 2})
    assert heard(capsys, ("note", died(CAUSE)), ("agent", back)) == [
        f"~ docs  {CAUSE}, incarnation 1", "* docs  running, working, incarnation 2"
    ]  # fmt: skip


def test_the_line_of_the_state_after_a_death_does_not_say_the_cause_again(capsys: pytest.CaptureFixture[str]) -> None:
    waits = json.dumps({**ROW, "state": "backing_off", "group": "healing", "reason": CAUSE})
    assert heard(capsys, ("note", died(CAUSE)), ("agent", waits)) == [
        f"~ docs  {CAUSE}, incarnation 1", "~ docs  backing off"
    ]  # fmt: skip
    assert heard(capsys, ("agent", waits)) == [f"~ docs  backing off, {CAUSE}"]


@pytest.mark.parametrize(
    ("meaning", "then", "sign"),
    [
        ("unstarted", "restart", "~"), ("death", "quarantine", "!"), ("death", "stay", "."), ("asked", "restart", ""),
        ("finished", "stay", ""), ("iteration", "restart", ""), ("recycled", "restart", ""), ("limit", "park", ""),
    ],
)  # fmt: skip
def test_of_the_ends_of_runs_deaths_are_told_with_the_sign_of_what_follows(
    meaning: str, then: str, sign: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = heard(capsys, ("note", died("why", meaning, then, "docs-g2")))
    assert told == ([f"{sign} docs  why, incarnation 1"] if sign else [])


def test_a_row_of_the_fleet_and_one_of_no_end_are_no_death(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = json.dumps({"agent": None, "reason": "watched", "facts": [{"name": "watch_began", "since": 0.0}]})
    assert heard(capsys, ("note", fleet), ("note", json.dumps({"agent": "docs", "reason": "x", "facts": []}))) == []


def test_in_json_rows_alone_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert heard(capsys, ("note", died(CAUSE)), as_json=True) == []
