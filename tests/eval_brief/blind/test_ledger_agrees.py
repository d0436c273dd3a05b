"""The daemon's ledger of a rendered session holds what the session says: two readings by two hands."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from phoenixd.documents.session_ledger import SessionLedger
from tests.documents.ledgers import recorded
from tests.eval_brief.blind.patterns import CWD
from tests.eval_brief.blind.random_sessions import EVENTS, random_session
from tests.eval_brief.blind.reading import read_sessions
from tests.eval_brief.blind.rendered import rendered
from tests.eval_brief.blind.session import (
    Cli,
    EndedJob,
    Permission,
    Plan,
    Question,
    Run,
    Session,
    Tasks,
    Wakeup,
    Write,
)

SAMPLES = {session.id: session for session in read_sessions(Path(__file__).parent / "samples")}
STATUS = {"open": "pending", "active": "in_progress"}


def ledger_of(session: Session) -> SessionLedger:
    reader = importlib.import_module(f"phoenixd.harness.{session.cli}.transcript")
    ledger = SessionLedger()
    for line in rendered(session).transcript:
        if (record := reader.record(line)) is not None:
            ledger.hear(record)
    return ledger


def assert_agrees(session: Session) -> None:
    ledger, events = ledger_of(session), session.event
    tasks = next((event.tasks for event in reversed(events) if isinstance(event, Tasks)), ())
    open_tasks = [(task.text, task.status) for task in tasks if task.status != "completed"]
    assert sorted(open_tasks) == sorted(
        (row.text, STATUS[row.status]) for row in ledger.tasks.rows if row.status in STATUS
    )

    written = {f"{CWD}/{event.write}" for event in events if isinstance(event, Write) and not event.failed}
    found = {row.path if row.path.startswith("/") else f"{CWD}/{row.path}" for row in ledger.files.values()}
    assert written == {path for path in found if "/.claude/plans/" not in path}

    plans = [event.plan for event in events if isinstance(event, Plan) and event.approved]
    assert plans[-1:] == [row.text for row in ledger.plans.values() if row.approved][-1:]

    if session.cli == "claude":
        assert list(rendered(session).waiting) == [row.text for row in ledger.waiting if not row.by_cli]
        if not any(isinstance(event, Wakeup) and event.fired for event in events):
            assert sum(isinstance(event, Wakeup) for event in events) == len(ledger.timers)
    if session.cli != "gemini":  # whose files do not tell how a job or a turn ended, nor what was open at the end
        over = {event.ended_job for event in events if isinstance(event, EndedJob)}
        jobs = [event.run for event in events if isinstance(event, Run) and event.background and event.job not in over]
        assert sorted(jobs) == sorted(row.what for row in ledger.jobs.values() if not row.is_over)
        asked = [event.question for event in events[-1:] if isinstance(event, Question) and event.answer is None]
        open_rows = [row for row in ledger.questions.values() if row.answers is None]
        assert asked == [one.text for row in open_rows for one in row.questions]
        assert ledger.turn_open is rendered(session).turn_open


@pytest.mark.parametrize("name", SAMPLES)
def test_of_a_session_by_hand(name: str) -> None:
    session = SAMPLES[name]
    assert_agrees(session)

    ended: dict[str, bool] = {}
    jobs = {event.job: event.run for event in session.event if isinstance(event, Run) and event.background}
    for event in session.event:
        match event:
            case Run(exit=int(code)):
                ended[event.run] = code != 0
            case EndedJob():
                ended[jobs[event.ended_job]] = event.exit != 0
            case Permission(answer="allow"):
                ended.setdefault(event.permission, False)
            case _:
                pass
    ledger = ledger_of(session)
    assert ended.items() <= {row.text: row.failed for row in ledger.runs.values()}.items()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("cli", EVENTS)
def test_of_events_in_any_order(cli: Cli, seed: int) -> None:
    assert_agrees(random_session(cli, seed))


@pytest.mark.parametrize("name", ["codex-work", "codex-session"])
def test_codex_writes_a_prompt_in_the_middle_of_a_turn_as_any_other(name: str) -> None:
    """It belongs to that turn, and the request that began the turn is not over by it."""
    said = {words.text: words for words in recorded(name).speech.person}

    assert said["and read the queue too"].queued is True
    assert said["Wait a little"].queued is False
    assert said["Wait a little"].turn == said["and read the queue too"].turn == "done"


def test_the_request_of_a_turn_that_was_added_to_is_open_with_it() -> None:
    person = ledger_of(SAMPLES["ja-codex-01"]).speech.person

    assert [(words.text, words.queued, words.turn) for words in person[-2:]] == [
        ("消さないで。ビルドして。", False, None),
        ("急いで", True, None),
    ]
