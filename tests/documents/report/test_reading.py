"""A report as models write it: read tolerantly, bounded, and refused by name where nobody can tell what it says."""

from __future__ import annotations

import json

import pytest

from phoenixd.documents.report.claims import (
    CommandClaim,
    CommitClaim,
    CountClaim,
    FileClaim,
    LoopClaim,
    WordsClaim,
)
from phoenixd.documents.report.reading import MOST_CLAIMS, SIZE_LIMIT, ReportRefused, read_report
from phoenixd.documents.report.verdicts import Verdict, counted, line

HASH = "ab" * 32


def test_every_form_of_claim_is_read() -> None:
    given = {
        "files": [{"path": "a.py", "sha256": HASH, "did": "created"}],
        "commands": [{"command": "pytest -q", "exit": 0}],
        "tests": [{"command": "pytest -q", "passed": 47, "failed": 0}],
        "loops_closed": ["auth-flow"],
        "commits": ["fix: x\n\nbody"],
        "summary": "done",
    }
    found = [one for one in read_report(json.dumps(given).encode()).claims]
    assert [type(one) for one in found] == [FileClaim, CommandClaim, CountClaim, LoopClaim, CommitClaim, WordsClaim]
    assert found[0] == FileClaim(found[0].words, "a.py", HASH, "created")
    assert found[1] == CommandClaim(found[1].words, "pytest -q", 0)
    assert found[2] == CountClaim(found[2].words, "pytest -q", 47, 0)
    assert (found[3], found[4]) == (LoopClaim("auth-flow", "auth-flow"), CommitClaim("fix: x\n\nbody", "fix: x"))


@pytest.mark.parametrize(
    "text",
    [
        '{"files": ["a.py"]}',
        'Here is my report:\n```json\n{"files": [{"file": "a.py"}]}\n```\nDone.',
        'I set {x} in it.\n```json\n{"files": ["b.py"]}\n```\nNo, this:\n```json\n{"files": ["a.py"]}\n```\nSo {y} is.',
        '\ufeff{"files": {"path": " a.py ", "action": "Edited"}}',
        '{"changed_files": [{"filename": "a.py", "hash": "abcd"}]}',
        '{"files": [{"path": "a.py", "sha256": ""}], "seal": "7f3a9c", "unknown": {"a": [1]}}',
    ],
)
def test_models_write_it_in_several_ways(text: str) -> None:
    (found,) = read_report(text.encode()).claims
    assert isinstance(found, FileClaim)
    assert (found.path, found.sha256, found.did) == ("a.py", None, "modified")


def test_numbers_come_as_texts_and_what_is_no_number_is_unknown() -> None:
    text = '{"tests": {"passed": "44/47", "failed": "3"}, "commands": [{"cmd": "x", "exit_code": true}]}'
    command, count = sorted(read_report(text.encode()).claims, key=lambda one: type(one).__name__)
    assert isinstance(command, CommandClaim)
    assert command.exit is None
    assert isinstance(count, CountClaim)
    assert (count.passed, count.failed) == (44, 3)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"x" * (50 << 20), "holds 52428800 bytes"),
        (b'{"files": ["' + b"\xff" + b'"]}', "invalid UTF-8 at byte 12"),
        (b'{"files": [], "files": ["a"]}', "'files' stands there twice"),
        (b'{"files": [{"path": "a", "path": "b"}]}', "'path' stands there twice"),
        (b'{"files": ' + b"[" * 400_000 + b"]" * 400_000 + b"}", "nested too deeply"),
        (b'{"files": NaN}', "NaN"),
        (b'{"files": [1' + b"9" * 5000 + b"]}", "no JSON object"),
        (b'["a"]', "{ ... }"),
        (b"", "{ ... }"),
        (b'{"files": [}', "no JSON object"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(content: bytes, says: str) -> None:
    with pytest.raises(ReportRefused) as refused:
        read_report(content)
    assert says in refused.value.message
    assert refused.value.remedy


def test_a_list_of_a_million_claims_is_bounded() -> None:
    with pytest.raises(ReportRefused, match="more than"):
        read_report(json.dumps({"files": [f"{number}" for number in range(1_000_000)]}).encode())
    many = json.dumps({"files": ["a"] * 100_000}).encode()
    assert len(many) < SIZE_LIMIT
    found = read_report(many)
    assert (len(found.claims), found.left_out) == (MOST_CLAIMS, 100_000 - MOST_CLAIMS)


def test_entries_of_an_unknown_form_are_left_out_and_counted() -> None:
    found = read_report(
        b'{"files": [null, 3, {"path": ""}, {"nothing": 1}, ["a"]], "loops_closed": [{}], "tests": [7]}'
    )
    assert (found.claims, found.left_out) == ((), 7)


def test_the_agents_words_stand_beside_the_verdict_without_secrets_and_on_one_line() -> None:
    (claim,) = read_report(b'{"commands": [{"command": "deploy --token=SECRET\\n\\u001b[31mx", "exit": 0}]}').claims
    verdict = Verdict(claim, "contradicted", "it failed")

    def clean(text: str) -> str:
        return text.replace("SECRET", "[secret]")

    shown = line(verdict, clean)
    assert verdict.kind == "command"
    assert shown.startswith("contradicted: ")
    assert "SECRET" not in shown
    assert "deploy" in shown
    assert shown.endswith("(it failed)")
    assert "\n" not in shown
    assert "\x1b" not in shown
    assert counted([verdict])["contradicted"] == 1
