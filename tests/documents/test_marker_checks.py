"""What is asked of an agent's marker, and what it answers, is no part of its work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phoenixd.documents.marker_checks import A_CHECK, ASKS
from phoenixd.drivers.transcripts.ledger import LedgerTail
from phoenixd.harness import HARNESSES
from phoenixd.planting import Marker, Planting, challenge_text, is_ours, renewal_text
from tests.drivers.transcripts.reading import read_conversation
from tests.transcripts import samples

PLANTING = Planting(Marker("the map folded along its river", "7f3a9c"), ("1a2b3c", "4d5e6f"))
CHECKS = [challenge_text(2, "Ada"), challenge_text(0, "Ada", again=True), renewal_text(PLANTING, "Ada", "shop", True)]


@pytest.mark.parametrize("text", [*CHECKS, A_CHECK])
def test_each_text_of_ours_is_known_again_in_a_line_of_json(text: str) -> None:
    assert is_ours(text)
    assert ASKS.search(json.dumps({"text": text}).encode())
    assert ASKS.search(json.dumps({"text": text}, ensure_ascii=False).encode())


@pytest.mark.parametrize("how", ["note", "prompt"])
def test_a_check_and_its_answer_are_left_out_of_last_words_and_conversation(tmp_path: Path, how: str) -> None:
    form = HARNESSES["claude"].transcript_form
    assert form is not None
    more = {"isMeta": True} if how == "note" else {}
    feedback = CHECKS[0] if how == "prompt" else f"Stop hook feedback:\n{CHECKS[0]}"
    path = tmp_path / "session.jsonl"
    lines = [
        samples.prompt("Mend the roof."),
        samples.answer("The roof is whole."),
        samples.prompt(feedback, **more),
        samples.answer("4d5e6f"),
        samples.prompt("Paint the door."),
        samples.tool_use("c-1", command="cat notes"),
        samples.tool_result("c-1", f"A page about checks: {CHECKS[0]}"),
        samples.answer("It is red."),
    ]
    path.write_bytes(b"".join(lines))
    tail = LedgerTail(str(path), form)
    while tail.read_slice():
        pass
    talk = read_conversation(str(path), form)

    assert [one.text for one in tail.ledger.speech.newest()] == [
        "Mend the roof.", "The roof is whole.", "Paint the door.", "It is red.",
    ]  # fmt: skip
    assert talk is not None
    assert [one.text for one in talk.utterances if not one.tool] == [
        "Mend the roof.", "The roof is whole.", "Paint the door.", "It is red.",
    ]  # fmt: skip
