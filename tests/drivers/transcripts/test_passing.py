"""What passes by in a transcript: each line once, and only lines that hold what is looked for."""

from __future__ import annotations

import re
from pathlib import Path

from phoenixd.drivers.transcripts.passing import PassingTail
from phoenixd.harness import HARNESSES
from tests.transcripts import samples

CODE = "1a2b3c"
WORDS = re.compile(CODE.encode(), re.IGNORECASE)


def tail(path: Path) -> PassingTail:
    form = HARNESSES["claude"].transcript_form
    assert form is not None
    return PassingTail(str(path), form)


def test_calls_results_answers_and_prompts_are_told_apart_and_told_once(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    looking = tail(path)
    assert looking.passed(WORDS) == ()
    lines = [
        samples.prompt(f"Is {CODE} yours?"),
        samples.tool_use("c-1", command=f"grep {CODE.upper()} notes"),
        samples.tool_result("c-1", f"notes: {CODE}"),
        samples.answer(f"It is {CODE}."),
        samples.answer("Nothing of it."),
        samples.claude("user", message={"role": "user", "content": f"Summary: {CODE}"}, isCompactSummary=True),
        samples.claude("user", message={"role": "user", "content": f"In a subagent: {CODE}"}, isSidechain=True),
        b'{"type":"user","torn ' + CODE.encode() + b"\n",
    ]
    path.write_bytes(b"".join(lines[:3]))
    first = looking.passed(WORDS)
    with path.open("ab") as file:
        file.writelines(lines[3:])
        file.write(samples.answer(f"Not whole yet: {CODE}").rstrip(b"\n"))
    second = looking.passed(WORDS)

    assert [one.where for one in first] == ["prompt", "call", "result"]
    assert [(one.where, one.text) for one in second] == [("answer", f"It is {CODE}.")]
    assert looking.passed(WORDS) == ()
    with path.open("ab") as file:
        file.write(b"\n")
    assert len(looking.passed(WORDS)) == 1


def test_another_file_in_its_place_is_looked_through_anew(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(samples.answer(f"First {CODE}."))
    looking = tail(path)
    assert len(looking.passed(WORDS)) == 1
    path.unlink()
    path.write_bytes(samples.answer(f"Other {CODE}."))

    assert [one.text for one in looking.passed(WORDS)] == [f"Other {CODE}."]
