"""The end of a conversation that goes on with its file is the one that a reading from the end gives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from phoenixd.drivers.transcripts import talk as talk_driver
from phoenixd.drivers.transcripts.talk import TalkTail
from phoenixd.harness.claude import transcript as claude_transcript
from tests.documents.ledgers import FORMS
from tests.drivers.transcripts.reading import read_conversation
from tests.transcripts.samples import HERE, answer, prompt, tool_result, tool_use

RECORDED = sorted(path.stem for path in HERE.glob("*.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize("budget", [300, 3000, 200_000])
@pytest.mark.parametrize("name", RECORDED)
def test_line_by_line_it_says_what_a_reading_from_the_end_says(name: str, budget: int, tmp_path: Path) -> None:
    path, form = tmp_path / "t.jsonl", FORMS[name.split("-", 1)[0]]
    tail = TalkTail(str(path), form, budget)
    assert tail.conversation() is None
    for line in (HERE / f"{name}.jsonl").read_bytes().splitlines(keepends=True) * 2:
        for part in (line[:40], line[40:]):
            with path.open("ab") as file:
                file.write(part)
            assert tail.conversation() == read_conversation(str(path), form, budget)


@pytest.mark.parametrize("change", ["replaced", "written anew", "cut short", "deleted", "grown by much"])
def test_another_file_in_its_place_is_read_anew(tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(prompt(f"Do {number}.") + answer(f"Done {number}.") for number in range(20)))
    tail = TalkTail(str(path), claude_transcript, 1000)
    before = tail.conversation()
    match change:
        case "replaced":
            (tmp_path / "other").write_bytes(prompt("Other."))
            os.replace(tmp_path / "other", path)
        case "written anew":
            path.write_bytes(prompt("Other, and long enough to be longer than before. " * 500))
        case "cut short":
            path.write_bytes(prompt("Other."))
        case "deleted":
            path.unlink()
        case _:
            monkeypatch.setattr(talk_driver, "NEW", 1000)
            with path.open("ab") as file:
                file.write(prompt("Other.") * 50)

    found = tail.conversation()

    assert found == read_conversation(str(path), claude_transcript, 1000)
    assert found != before


def test_what_it_holds_is_bounded_by_its_budget(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    tail = TalkTail(str(path), claude_transcript, 2000)
    for number in range(200):
        with path.open("ab") as file:
            file.write(tool_use(f"t-{number}", command="x" * 9000) + tool_result(f"t-{number}", "y" * 9000))
        tail.conversation()

    held = [remark.said for remark in tail._remarks if remark.said is not None]
    assert 0 < sum(len(piece.text) for said in held for piece in said.pieces) <= 2000
