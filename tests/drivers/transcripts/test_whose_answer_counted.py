"""Promise 11: the transcript tells of an answer whether it counted, and what it tells of other calls does not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.documents.times import exact_time
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.harness.claude.launch import REFUSED
from phoenixd.ports.evidence import AnswerGiven
from tests.core.story import Story, claude

AGENT = Story(claude()).agent
GIVEN_AT = 1_795_255_200.2507
MARK = "(phoenixd #7)"
OWN, OTHER = "toolu_own", "toolu_other"


def record(at: float, **said: object) -> bytes:
    return json.dumps({"timestamp": exact_time(int(at * 1000) / 1000), **said}).encode() + b"\n"


def answered(call: str, at: float, decision: str = "allow") -> bytes:
    """A hook's answer settled its permission; of one that was allowed the CLI writes it when the call is over."""
    decided = {
        "type": "hook_permission_decision", "decision": decision, "toolUseID": call, "hookEvent": "PermissionRequest",
    }  # fmt: skip
    return record(at, type="attachment", attachment=decided)


def ended(call: str, at: float, words: str = "done", *, failed: bool = False) -> bytes:
    result = {"type": "tool_result", "tool_use_id": call, "content": words, "is_error": failed}
    return record(at, type="user", message={"role": "user", "content": [result]})


def refused(call: str, at: float) -> bytes:
    return ended(call, at, f"{REFUSED} The tool use was rejected.", failed=True)


async def counted(path: Path, given: AnswerGiven, *later: bytes) -> bool | None:
    """What the files tell of an answer once these records are written after it."""
    path.write_bytes(b"{}\n")
    files = TranscriptFiles(lambda agent: str(path))
    given = replace(given, after=await files.ends(AGENT))
    with path.open("ab") as file:
        file.writelines(later)
    return await files.answer_counted(AGENT, given)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


@pytest.mark.parametrize("allow", [True, False])
@pytest.mark.parametrize("call", [OWN, ""])
async def test_promise_11_a_call_that_was_over_before_the_answer_and_is_written_after_it_tells_nothing(
    path: Path, call: str, allow: bool
) -> None:
    """Claude Code writes its transcript some 0.1 s late. A Yes at the terminal to the call before was taken for one to
    this call, and the operator was told that the answer had come too late."""
    given = AnswerGiven(allow, MARK, since=GIVEN_AT, call=call)
    before = GIVEN_AT - 0.2

    assert await counted(path, given, ended(OTHER, before)) is None
    assert await counted(path, given, answered(OTHER, before), ended(OTHER, before)) is None
    assert await counted(path, given, refused(OTHER, before)) is None
    copy = json.loads(ended(OTHER, before))
    del copy["timestamp"]
    assert await counted(path, given, json.dumps({**copy, "type": "api-request-blob"}).encode() + b"\n") is None


@pytest.mark.parametrize("allow", [True, False])
async def test_promise_11_a_call_that_runs_beside_the_one_that_asks_tells_nothing_of_it(
    path: Path, allow: bool
) -> None:
    given = AnswerGiven(allow, MARK, since=GIVEN_AT, call=OWN)
    after = GIVEN_AT + 0.5

    assert await counted(path, given, ended(OTHER, after)) is None
    assert await counted(path, given, answered(OTHER, after), ended(OTHER, after)) is None
    assert await counted(path, given, ended(OTHER, after), ended(OWN, after)) is False


@pytest.mark.parametrize("call", [OWN, ""])
async def test_promise_11_its_own_call_tells_whose_word_counted(path: Path, call: str) -> None:
    allowed = AnswerGiven(True, MARK, since=GIVEN_AT, call=call)
    denied = replace(allowed, allow=False)
    # A CLI cuts the time off after its milliseconds.
    at = GIVEN_AT + 0.0001
    late = False if call else None  # Of a call that is not known, what is over may be another one.

    assert await counted(path, allowed, answered(OWN, at), ended(OWN, at)) is True
    assert await counted(path, allowed, ended(OWN, at)) is late
    assert await counted(path, allowed, refused(OWN, at)) is None
    denial = ended(OWN, at, f"Not now. {MARK}", failed=True)
    assert await counted(path, denied, answered(OWN, at, "deny"), denial) is True
    assert await counted(path, denied, ended(OWN, at)) is late
    assert await counted(path, denied, refused(OWN, at)) is late


async def test_promise_11_words_that_a_tool_prints_deny_nothing(path: Path) -> None:
    """The number in them can be guessed: an agent that printed it had its operator told that the denial counted, when
    somebody had said Yes at the terminal."""
    denied = AnswerGiven(False, MARK, since=GIVEN_AT, call=OWN)
    at = GIVEN_AT + 0.5

    assert await counted(path, denied, ended(OWN, at, f"Not now. {MARK}")) is False
    assert await counted(path, denied, ended(OWN, at, f"Exit code 1\nNot now. {MARK}", failed=True)) is None
    assert await counted(path, denied, ended(OWN, at, REFUSED)) is False
    allowed = replace(denied, allow=True)
    assert await counted(path, allowed, ended(OWN, at, REFUSED)) is False, "it ran, and printed that"


async def test_promise_11_a_denial_is_not_told_as_late_between_its_two_records(path: Path) -> None:
    denied = AnswerGiven(False, MARK, since=GIVEN_AT, call=OWN)
    settled, at = answered(OWN, GIVEN_AT + 0.02, "deny"), GIVEN_AT + 0.021

    assert await counted(path, denied, settled) is None
    assert await counted(path, denied, settled, ended(OWN, at, f"Not now. {MARK}", failed=True)) is True
    for guard in ("A policy forbids it.", f"A policy forbids it, whatever {MARK} said."):
        assert await counted(path, denied, settled, ended(OWN, at, guard, failed=True)) is False


@pytest.mark.parametrize("allow", [True, False])
async def test_promise_11_a_call_that_was_over_before_its_answer_makes_that_late(path: Path, allow: bool) -> None:
    given, before = AnswerGiven(allow, MARK, since=GIVEN_AT, call=OWN), GIVEN_AT - 0.1

    assert await counted(path, given, refused(OWN, before)) is False
    assert await counted(path, given, ended(OWN, before)) is False
    other = answered(OWN, before, "allow" if allow else "deny")
    assert await counted(path, given, other) is False, "another program's hook was first"


async def test_promise_11_of_several_calls_none_tells_of_one_that_is_not_known(path: Path) -> None:
    given, at = AnswerGiven(True, MARK, since=GIVEN_AT), GIVEN_AT + 0.5

    assert await counted(path, given, ended(OWN, at), answered(OTHER, at), ended(OTHER, at)) is None
    before = answered(OTHER, GIVEN_AT - 0.1)
    assert await counted(path, given, before, ended(OTHER, at)) is None, "its own permission was settled before"
    assert await counted(path, given, before, ended(OTHER, at), answered(OWN, at), ended(OWN, at)) is True
    denied = replace(given, allow=False)
    denial = ended(OWN, at, f"Not now. {MARK}", failed=True)
    assert await counted(path, denied, ended(OTHER, at), answered(OWN, at, "deny"), denial) is True


async def test_promise_11_a_hook_that_asks_on_settles_nothing(path: Path) -> None:
    """Only "allow" and "deny" are decisions; and of two that are written, the one behind the answer is its own."""
    given, at = AnswerGiven(True, MARK, since=GIVEN_AT, call=OWN), GIVEN_AT + 0.5

    assert await counted(path, given, answered(OWN, at, "ask")) is None
    assert await counted(path, given, answered(OWN, GIVEN_AT - 5.0), answered(OWN, at), ended(OWN, at)) is True
