"""The evaluation reads records by the production parsers, and counts what it says it counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.eval_clinic.__main__ import RECORDS, main
from tests.eval_clinic.figures import counted, judged, rules, table
from tests.eval_clinic.noticed import diagnosed
from tests.eval_clinic.reading import Malformed, read_record, read_records

ALIVE: dict[str, Any] = {"harness": "claude", "kind": "terminal", "lived_s": 9, "exit": None, "asked_to_end": False}
BEGAN = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}
ASKED = {"hook_event_name": "UserPromptSubmit", "prompt": "go on", "session_id": "s"}
DONE = {"hook_event_name": "Stop", "last_assistant_message": "done", "session_id": "s"}


def failed(error: str, said: str = "no") -> dict[str, str]:
    return {"hook_event_name": "StopFailure", "error": error, "last_assistant_message": said, "session_id": "s"}


def record(
    place: Path, said: dict[str, Any], *hooks: dict[str, Any], ill: bool = True, cause: str | None = None
) -> Path:
    place.mkdir(parents=True)
    (place / "record.json").write_text(json.dumps(said))
    (place / "hooks.jsonl").write_text("".join(json.dumps({"at": 1.0, **hook}) + "\n" for hook in hooks))
    expected = {"ill": ill, "cause": cause, "detail": "", "retryable": True, "acceptable_treatments": [], "why": "w"}
    (place / "expected.json").write_text(json.dumps(expected))
    return place


@pytest.mark.parametrize(
    ("error", "said", "cause", "detail"),
    [
        ("authentication_failed", "Invalid API key", "logic_error", "login"),
        ("rate_limit", "Request rejected (429)", "transient_error", "limit"),
        ("invalid_request", "Prompt is too long", "context_length_exceeded", "window"),
        ("billing_error", "Credit balance is too low", "logic_error", "billing"),
        ("server_error", "API Error: 529 Overloaded", "transient_error", "overload"),
    ],
)
def test_a_failed_turn_is_read_from_its_hook(tmp_path: Path, error: str, said: str, cause: str, detail: str) -> None:
    place = record(tmp_path / "a", ALIVE, BEGAN, ASKED, failed(error, said))

    found = diagnosed(read_record(place))

    assert found is not None
    assert (found.cause, found.detail) == (cause, detail)


def test_a_turn_that_came_to_a_good_end_after_a_failed_one_is_healthy(tmp_path: Path) -> None:
    place = record(tmp_path / "a", ALIVE, BEGAN, ASKED, failed("rate_limit"), ASKED, DONE)

    assert diagnosed(read_record(place)) is None


def test_an_error_that_a_transcript_alone_tells_is_read_from_it(tmp_path: Path) -> None:
    """Codex has no hook for a failed turn."""
    said = {**ALIVE, "harness": "codex", "exit": {"code": 143, "signal": None}, "asked_to_end": True}
    place = record(tmp_path / "a", said, BEGAN, ASKED)
    error = {"message": "You've hit your usage limit.", "codex_error_info": "usage_limit_exceeded"}
    lines = [
        {"timestamp": "2026-11-23T08:00:00Z", "type": "event_msg", "payload": {"type": "task_started"}},
        {
            "timestamp": "2026-11-23T08:00:01Z",
            "type": "event_msg",
            "payload": {"type": "task_complete", "last_agent_message": None, "error": error},
        },
    ]
    (place / "transcript.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    found = diagnosed(read_record(place))

    assert found is not None
    assert (found.cause, found.detail) == ("transient_error", "limit")


def test_what_is_no_failure_is_what_opens_no_case_in_the_daemon(tmp_path: Path) -> None:
    """An end with 0 within 10 s of the start is a crash of a kind that stays, and a dialog alone opens no Case."""
    left = {**ALIVE, "harness": "gemini", "exit": {"code": 0, "signal": None}}
    early = record(tmp_path / "early", {**left, "lived_s": 9}, BEGAN, ill=False)
    late = record(tmp_path / "late", {**left, "lived_s": 11}, BEGAN, ill=False)
    job = record(tmp_path / "job", {**left, "kind": "headless"}, BEGAN, ill=False)
    ordered = record(tmp_path / "ordered", {**left, "asked_to_end": True}, BEGAN, ill=False)
    dialog = record(tmp_path / "dialog", ALIVE)
    (dialog / "screen.txt").write_text("Do you trust the files in this folder?")

    found = diagnosed(read_record(early))
    assert found is not None
    assert (found.cause, found.detail) == (None, "crash")
    assert [diagnosed(read_record(one)) for one in (late, job, ordered, dialog)] == [None] * 4


def test_the_counts_tell_claims_slanders_and_what_was_missed(tmp_path: Path) -> None:
    record(tmp_path / "right", ALIVE, BEGAN, ASKED, failed("rate_limit"), cause="transient_error")
    record(tmp_path / "wrong", ALIVE, BEGAN, ASKED, failed("rate_limit"), cause="logic_error")
    record(tmp_path / "slander", ALIVE, BEGAN, ASKED, failed("rate_limit"), ill=False)
    record(tmp_path / "missed", ALIVE, BEGAN, ASKED, DONE, cause="logic_error")
    record(tmp_path / "fine", ALIVE, BEGAN, ASKED, DONE, ill=False)

    found = judged(read_records(tmp_path), tmp_path)
    told = counted(found)

    assert (told.records, told.ill, told.healthy) == (5, 3, 2)
    assert (told.claims, told.right, told.slandered, told.missed) == (3, 1, 1, 1)
    assert not told.is_well
    assert "| transient_error | 1 |  | 1 |" in list(table(found))


def test_each_rule_is_told_with_the_records_that_it_rests_on(tmp_path: Path) -> None:
    """A rule that a single record supports is suspect, and so is one that was wrong."""
    record(tmp_path / "right", ALIVE, BEGAN, ASKED, failed("rate_limit"), cause="transient_error")
    record(tmp_path / "wrong", ALIVE, BEGAN, ASKED, failed("rate_limit"), cause="logic_error")
    record(tmp_path / "only", ALIVE, BEGAN, ASKED, failed("billing_error"), cause="logic_error")

    told = list(rules(judged(read_records(tmp_path), tmp_path)))[2:]

    assert told == [
        "| a limit of the account | 1 | 2 | claude 2 | wrong: wrong |",
        "| the bill is not paid | 1 | 1 | claude 1 | one record |",
    ]


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = record(tmp_path / "a", ALIVE)
    (place / "expected.json").write_text("[]")

    with pytest.raises(Malformed, match=r"expected\.json"):
        read_record(place)
    assert main(["--blind", str(tmp_path)]) == 2
    assert main(["--blind", str(tmp_path / "nowhere")]) == 2
    assert "./dev eval-clinic --blind DIR" in capsys.readouterr().err


def test_the_open_half_is_judged_well() -> None:
    """At least 95 of 100 causes that the rules claim are right, and no healthy end is called ill."""
    recorded = [one for one in read_records(RECORDS) if not one.is_live]
    told = counted(judged(recorded, RECORDS))

    assert told.records > 60
    assert told.is_well, told
