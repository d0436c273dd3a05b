"""Turns out of the transcripts of the three CLIs: what began each, what it called and took, and how it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from phoenixd.documents.redact import redact
from phoenixd.documents.transcript import Prompted, Record
from phoenixd.documents.turn_rows import PROMPT_LIMIT, TurnRow, turn_rows
from phoenixd.drivers.transcripts.turns import newest_turns
from phoenixd.harness.claude import transcript as claude_transcript
from phoenixd.planting import RENEWED, STANDS
from tests.documents.ledgers import FORMS
from tests.transcripts.samples import HERE, prompt

CHECK = f"the anchor\n{RENEWED} Reply. {STANDS}"
SECRET = "sk-ant-api03-" + "A1b2C3d4" * 8


def turns(name: str, most: int = 100) -> list[TurnRow]:
    return newest_turns(str(HERE / f"{name}.jsonl"), FORMS[name.partition("-")[0]], most, redact)


@pytest.mark.parametrize(
    ("name", "prompt", "prompts", "tools", "how"),
    [
        ("claude-notices", "Build.", 1, (("Bash", 2),), "done"),
        ("claude-permission-open", "Remove what is old.", 1, (("Bash", 1),), "interrupted"),
        ("codex-work", "Wait a little", 2, (("exec_command", 2),), "done"),
        ("codex-permission-open", "Then the build", 1, (("exec_command", 1),), "interrupted"),
        ("gemini-session", "Now count the files", 1, (), None),
        ("gemini-session", "And now", 1, (), "failed"),
    ],
)
def test_a_turn_is_told_by_its_prompt_its_tools_and_its_end(
    name: str, prompt: str, prompts: int, tools: tuple[tuple[str, int], ...], how: str | None
) -> None:
    found = next(one for one in turns(name) if one.prompt == prompt)
    assert (found.prompts, found.tools, found.how) == (prompts, tools, how)
    assert found.started is not None
    assert found.ended is not None
    assert found.ended >= found.started


@pytest.mark.parametrize("name", sorted(path.stem for path in HERE.glob("*.jsonl")))
def test_every_recorded_session_tells_turns_in_their_order_and_the_newest_of_them_are_the_same(name: str) -> None:
    found = turns(name)
    times = [one.started for one in found if one.started is not None]
    assert found
    assert times == sorted(times)
    assert turns(name, 1) == found[-1:]
    assert all(one.ended is not None for one in found[:-1]), "what was followed by another turn has ended"
    assert not any(one.tokens == 0 or one.output == 0 for one in found), "unknown is not 0"


def test_prompts_are_cut_and_bear_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(prompt(f"use {SECRET} and " + "x" * 500) + b"\n")
    (found,) = newest_turns(str(path), claude_transcript, 10, redact)
    assert SECRET not in found.prompt
    assert found.prompt.startswith("use [redacted")
    assert len(found.prompt) == PROMPT_LIMIT
    assert found.ended is None, "it goes on"


def test_what_is_no_transcript_tells_of_no_turn(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(b"\x00\xff{\n" * 100 + b"{}\n[]\n")
    assert newest_turns(str(tmp_path / "t.jsonl"), claude_transcript, 10, redact) == []
    assert newest_turns(str(tmp_path / "gone"), claude_transcript, 10, redact) == []


def test_a_check_of_ours_ends_the_turn_before_it_and_is_none_of_the_newest(tmp_path: Path) -> None:
    """Each check begins with a prompt that is no turn, and its answer is no part of the turn before."""
    path = tmp_path / "t.jsonl"
    lines = [prompt("one"), *(prompt(f"two{number}") for number in range(2))]
    checks = [prompt(CHECK) for _ in range(5)]
    path.write_bytes(b"\n".join([*lines, *checks]) + b"\n")

    assert [one.prompt for one in newest_turns(str(path), claude_transcript, 2, redact)] == ["two0", "two1"]


def test_the_turn_before_a_check_ended_when_it_was_last_heard_of() -> None:
    asked = Record("prompt", 1.0, facts=(Prompted("one", None),))
    said = Record("assistant", 5.0)
    check = Record("prompt", 90.0, facts=(Prompted(CHECK, None),))

    (found,) = turn_rows([asked, said, check, Record("assistant", 95.0)], 10, str)
    assert (found.started, found.ended) == (1.0, 5.0)
