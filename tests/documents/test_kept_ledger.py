"""ledger.json between two daemons: names that hold a secret are known again, and no more comes in than was kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from phoenixd.documents.deeds import (
    CommandBegan,
    CommandEnded,
    JobBegan,
    JobEnded,
    PlanAnswered,
    PlanProposed,
    Question,
    QuestionAnswered,
    QuestionAsked,
    TaskAsked,
    TaskRow,
    TasksListed,
    TaskTold,
)
from phoenixd.documents.kept_ledger import VERSION, KeptLedger, cleaned, read_kept, render_kept
from phoenixd.documents.redact import redact
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.transcript import Record, ToolEnded

CALL = "call-hunter2-hunter2-hunter2"
SECRET = "hunter2-hunter2-hunter2"


def heard(ledger: SessionLedger, *facts: Any) -> SessionLedger:
    ledger.hear(Record("system", 100.0, facts))
    return ledger


def restarted(ledger: SessionLedger) -> SessionLedger:
    """What the next daemon goes on from."""
    without = cleaned(ledger, lambda text: redact(text, (SECRET,)))
    found = read_kept(render_kept(KeptLedger(VERSION, "/t", 0, 0, 0, "", True, without)))
    assert found is not None
    assert SECRET not in repr(found)
    return found.ledger


def test_a_command_whose_call_holds_a_secret_comes_back_after_a_restart() -> None:
    ledger = restarted(heard(SessionLedger(), CommandBegan(CALL, "pytest", 1.0)))

    heard(ledger, CommandEnded(CALL, 1, True, False, 2.0))

    assert [(run.text, run.failed) for run in ledger.runs.values()] == [("pytest", True)]
    assert ledger.running() == ()


def test_jobs_questions_plans_and_tasks_whose_names_hold_one_are_known_again() -> None:
    ledger = heard(
        SessionLedger(), CommandBegan(CALL, "npm run watch", 1.0), JobBegan(CALL, f"job-{SECRET}", 1.0),
        QuestionAsked(f"q-{SECRET}", (Question("Which?", ()),), 1.0),
        PlanProposed(f"p-{SECRET}", "1. Go on", None, 1.0),
        TasksListed(None, (TaskRow(f"t-{SECRET}", "Write it", "open"),), True, 1.0),
        TaskAsked(f"u-{SECRET}", f"t-{SECRET}", None, "done", 1.0),
    )  # fmt: skip

    ledger = heard(
        restarted(ledger), JobEnded(f"job-{SECRET}", None, "failed", 1, 2.0),
        QuestionAnswered(f"q-{SECRET}", ("a",), 2.0),
        PlanAnswered(f"p-{SECRET}", True, None, None, 2.0), TaskTold(f"u-{SECRET}", f"t-{SECRET}", None, None, 2.0),
    )  # fmt: skip

    assert [job.is_over for job in ledger.jobs.values()] == [True]
    assert [one.answers for one in ledger.questions.values()] == [("a",)]
    assert [one.approved for one in ledger.plans.values()] == [True]
    assert [(one.text, one.status) for one in ledger.tasks.rows] == [("Write it", "done")]


def test_a_call_that_came_back_without_a_word_of_its_own_is_known_again() -> None:
    listed = TasksListed(CALL, (TaskRow("1", "Write it", "open"),), True, 1.0)

    ledger = heard(restarted(heard(SessionLedger(), listed)), ToolEnded(CALL, False, 2.0))

    assert [one.text for one in ledger.tasks.rows] == ["Write it"]


def _grown(plain: dict[str, Any], name: str, count: int) -> None:
    ledger = plain["ledger"]
    if name == "tasks":
        ledger["tasks"]["rows"] = ledger["tasks"]["rows"] * count
    elif name in ("person", "agent"):
        ledger["speech"][name] = [
            {"number": n, "speaker": name, "text": "x", "at": 1.0} for n in range(count)
        ]  # fmt: skip
    elif name == "waiting":
        ledger["waiting"] = [{"key": str(n), "text": "x", "by_cli": False, "at": 1.0} for n in range(count)]
    else:
        (row,) = ledger[name].values()
        ledger[name] = {f"{n}": row for n in range(count)}


def _longer(plain: dict[str, Any], name: str, count: int) -> None:
    next(iter(plain["ledger"]["runs"].values()))["text"] = "x" * count


@pytest.mark.parametrize(
    ("change", "name", "most"),
    [
        (_grown, "tasks", 300), (_grown, "runs", 200), (_grown, "jobs", 64), (_grown, "plans", 8),
        (_grown, "questions", 16), (_grown, "person", 64), (_grown, "agent", 64), (_grown, "waiting", 32),
        (_longer, "runs", 32_000),
    ],
)  # fmt: skip
def test_a_file_with_more_than_hearing_keeps_is_as_none(
    change: Callable[[dict[str, Any], str, int], None], name: str, most: int
) -> None:
    ledger = heard(
        SessionLedger(), CommandBegan("c", "pytest", 1.0), CommandEnded("c", 1, True, False, 2.0),
        CommandBegan("d", "watch", 1.0), JobBegan("d", "1", 1.0), PlanProposed("p", "1. Go on", None, 1.0),
        QuestionAsked("q", (Question("Which?", ()),), 1.0),
        TasksListed(None, (TaskRow("1", "Write it", "open"),), True, 1.0),
    )  # fmt: skip
    written = render_kept(KeptLedger(VERSION, "/t", 0, 0, 0, "", True, ledger))

    for count, is_taken in ((most, True), (most + 1, False)):
        plain = json.loads(written)
        change(plain, name, count)
        assert (read_kept(json.dumps(plain).encode()) is not None) is is_taken, count


def test_what_earlier_rules_kept_is_as_none() -> None:
    """The transcript is heard anew then, by the rules of now."""
    written = render_kept(KeptLedger(VERSION, "/t", 0, 0, 0, "", True, SessionLedger()))
    version = f'"version":{VERSION}'.encode()

    assert read_kept(written) is not None
    assert version in written
    assert read_kept(written.replace(version, b'"version":1')) is None
