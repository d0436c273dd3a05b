"""The log of an agent is what its transcript says: each thing once, whatever happens to the file meanwhile."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.api.pages import log as pages
from phoenixd.api.pages.layout import Page
from phoenixd.core.agent import Agent
from phoenixd.documents.json_line import LINE_LIMIT
from phoenixd.documents.log_lines import MOST_TEXT, LogLine, merged
from phoenixd.documents.redact import redact
from phoenixd.drivers.transcripts.log import TranscriptLog
from phoenixd.harness.claude import transcript as claude_transcript
from tests.core.story import Story, claude
from tests.documents.ledgers import FORMS
from tests.transcripts.samples import HERE, answer, prompt, tool_result, tool_use

RECORDED = sorted(path.stem for path in HERE.glob("*.jsonl"))


def agent(name: str = "a") -> Agent:
    found = Story(claude()).agent
    return replace(found, spec=replace(found.spec, name=name))


def reader(path: Path, form: object = claude_transcript) -> TranscriptLog:
    return TranscriptLog(lambda one: (str(path), form), lambda name, text: redact(text))  # type: ignore[arg-type,return-value]


async def texts(log: TranscriptLog, most: int = 1000, since: float | None = None) -> list[str]:
    return [f"{one.kind} {one.tool}: {one.text}" for one in await log.lines([agent()], most, since)]


async def test_prompts_words_calls_and_results_are_a_line_each(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        prompt("Build\nthe shop.") + tool_use("c1", command="npm test") + tool_result("c1", "2 failed")
        + answer("Two tests\nfail.")
    )  # fmt: skip

    assert await texts(reader(path)) == [
        "prompt : Build the shop.", "tool Bash: npm test", "result Bash: 2 failed", "said : Two tests fail."
    ]  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
async def test_line_by_line_it_says_what_it_says_at_once(name: str, tmp_path: Path) -> None:
    path, form = tmp_path / "t.jsonl", FORMS[name.split("-", 1)[0]]
    path.touch()
    following, whole = reader(path, form), []
    whole += await following.lines([agent()], 100_000, None)
    for line in (HERE / f"{name}.jsonl").read_bytes().splitlines(keepends=True):
        for part in (line[:40], line[40:]):
            with path.open("ab") as file:
                file.write(part)
            whole += await following.lines([agent()], 100_000, None)
    at_once = await reader(path, form).lines([agent()], 100_000, None)

    assert at_once
    assert {(one.kind, one.text) for one in at_once} <= {(one.kind, one.text) for one in whole}
    assert all("\n" not in one.text and len(one.text) <= MOST_TEXT + 40 for one in whole)


async def test_only_the_newest_lines_are_given_and_none_that_is_too_old(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(prompt(f"Do {number}.") for number in range(100)))

    assert await texts(reader(path), 2) == ["prompt : Do 98.", "prompt : Do 99."]
    assert await texts(reader(path), 2, 4e9) == []
    assert len(await texts(reader(path), 1000, 0.0)) == 100


@pytest.mark.parametrize("change", ["replaced", "written anew", "deleted", "a link", "a fifo"])
async def test_what_happens_to_the_file_breaks_nothing(tmp_path: Path, change: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(prompt("One.") + prompt("Two."))
    log = reader(path)
    assert len(await texts(log)) == 2
    match change:
        case "replaced":
            (tmp_path / "other").write_bytes(prompt("Other."))
            os.replace(tmp_path / "other", path)
        case "written anew":
            path.write_bytes(prompt("Other."))
        case "deleted":
            path.unlink()
        case "a link":
            path.unlink()
            path.symlink_to("/etc/passwd")
        case _:
            path.unlink()
            os.mkfifo(path)

    found = await texts(log)

    assert found == (["prompt : Other."] if change in ("replaced", "written anew") else [])


async def test_a_hostile_transcript_is_shown_and_never_run(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    hostile = "\x1b]0;pwned\x07\x1b[2J\u202e\u200b" + "ab\x00"
    path.write_bytes(
        b"\xff\xfe not json\n" + b"{" * 5000 + b"\n" + prompt(hostile) + answer("x" * 100_000) + b'{"type":"user"'
        + b"\n" * 1000 + answer("sk-ant-api03-" + "A1b2C3d4" * 12)
    )  # fmt: skip

    lines = await reader(path).lines([agent()], 1000, None)
    shown = [pages.line(one, 8, Page(0.0), cut=False) for one in lines]

    assert len(lines) == 3
    assert all(line.isprintable() for line in shown)
    assert "<U+001B>]0;pwned<U+0007>" in shown[0]
    assert "<U+202E>" in shown[0]
    assert len(shown[1]) < MOST_TEXT + 100
    assert "sk-ant" not in shown[2]


async def test_a_line_that_is_too_long_is_told_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    long = json.dumps({"type": "user", "message": {"content": "x" * (LINE_LIMIT + 100)}}).encode() + b"\n"
    path.write_bytes(long + prompt("Hi."))

    first, second = await reader(path).lines([agent()], 10, None)

    assert (first.kind, first.text) == ("result", f"({len(long) - 1} bytes, too many to be shown)")
    assert second.text == "Hi."


def test_several_agents_are_told_in_the_order_of_time() -> None:
    lines = [
        LogLine("a", "said", "1", 1.0), LogLine("a", "said", "2", None), LogLine("a", "said", "4", 4.0),
        LogLine("b", "said", "3", 3.0), LogLine("b", "said", "5", 5.0),
    ]  # fmt: skip

    assert [one.text for one in merged(lines, 100)] == ["1", "2", "3", "4", "5"]
    assert [one.text for one in merged(lines, 2)] == ["4", "5"]


def test_a_name_is_a_third_of_the_page_at_most_and_colour_is_never_alone() -> None:
    told = LogLine("shop-api", "tool", "npm test", 1.7e9, "Bash")

    plain = pages.line(told, 8, Page(1.7e9))
    coloured = pages.line(told, 8, Page(1.7e9, colour=True))

    assert plain[9:] == "shop-api $ Bash: npm test"
    assert "\x1b[" in coloured
    assert (
        coloured.replace(coloured[coloured.index("\x1b") : coloured.index("m") + 1], "").replace("\x1b[0m", "") == plain
    )
    assert pages.column(["x" * 32], Page(0.0, 40)) == 13
    assert len(pages.line(replace(told, text="y" * 500), 8, Page(1.7e9, 60))) <= 60
