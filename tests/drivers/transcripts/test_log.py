"""The log of an agent is what its transcript says: each thing once, whatever happens to the file meanwhile."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from phoenixd.api.pages import log as pages
from phoenixd.api.pages.layout import Page
from phoenixd.core.agent import Agent
from phoenixd.documents.json_line import LINE_LIMIT
from phoenixd.documents.log_lines import MOST_TEXT, LogLine, Newest, merged
from phoenixd.documents.redact import redact
from phoenixd.drivers.transcripts import log as log_reader
from phoenixd.drivers.transcripts.log import EVERY, Looks, TranscriptLog
from phoenixd.harness.claude import transcript as claude_transcript
from tests.core.story import Story, claude
from tests.documents.ledgers import FORMS
from tests.transcripts.samples import HERE, answer, prompt, tool_result, tool_use


@contextmanager
def monkeypatched_opens() -> Iterator[list[str]]:
    """The files that are opened meanwhile to be read line by line."""
    opened: list[str] = []
    known = log_reader.open_lines

    @contextmanager
    def noted(path: str) -> Iterator[object]:
        opened.append(path)
        with known(path) as lines:
            yield lines

    log_reader.open_lines = noted  # type: ignore[assignment]
    try:
        yield opened
    finally:
        log_reader.open_lines = known


RECORDED = sorted(path.stem for path in HERE.glob("*.jsonl"))


def agent(name: str = "a") -> Agent:
    found = Story(claude()).agent
    return replace(found, spec=replace(found.spec, name=name))


NOW = 1.9e9


class Follower:
    """Reads as `log -f` does: the newest lines at first, then what was added."""

    def __init__(self, *paths: Path, form: object = claude_transcript) -> None:
        self.paths = list(paths)
        clock = count(0.0, EVERY + 1.0)
        looks = Looks(lambda one: (str(self.paths[-1]), form), lambda: next(clock))  # type: ignore[arg-type,return-value]
        self.log = TranscriptLog(looks, lambda name, text: redact(text))
        self.has_begun = False

    async def lines(self, agents: Sequence[Agent], most: int = 1000, since: float | None = None) -> list[LogLine]:
        if not self.has_begun:
            self.has_begun = True
            return await self.log.newest(agents, most, since, NOW)
        found, is_more = await self.log.added(agents, since or 0.0, most)
        while is_more:
            lines, is_more = await self.log.added(agents, since or 0.0, most)
            found += lines
        return found


def reader(path: Path, form: object = claude_transcript) -> Follower:
    return Follower(path, form=form)


async def texts(log: Follower, most: int = 1000, since: float | None = None) -> list[str]:
    return [f"{one.kind} {one.tool}: {one.text}" for one in await log.lines([agent()], most, since)]


async def come_back(log: Follower) -> Follower:
    """Another reader, in another daemon, that goes on where this one was."""
    other = Follower(*log.paths)
    other.log.resume(log.log.places())
    other.has_begun = True
    return other


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


async def test_behind_a_last_line_that_is_longer_than_what_is_looked_at_reading_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "LOOKED_AT", 4096)
    path = tmp_path / "t.jsonl"
    path.write_bytes(prompt("long ago") + answer("x" * 200_000) + answer("unfinished")[:20])
    log = reader(path)
    assert not any("long ago" in one for one in await texts(log))

    with path.open("ab") as file:
        file.write(answer("unfinished")[20:] + answer("new"))

    assert await texts(log) == ["said : unfinished", "said : new"]


def test_several_agents_are_told_in_the_order_of_time() -> None:
    lines = [
        LogLine("a", "said", "1", 1.0), LogLine("a", "said", "2", None), LogLine("a", "said", "4", 4.0),
        LogLine("b", "said", "3", 3.0), LogLine("b", "said", "5", 5.0),
    ]  # fmt: skip

    assert [one.text for one in merged(lines, 100, NOW)] == ["1", "2", "3", "4", "5"]
    assert [one.text for one in merged(lines, 2, NOW)] == ["4", "5"]


def test_times_in_the_future_hide_no_other_agent_and_break_no_order() -> None:
    """An agent writes its times itself."""
    liar = [LogLine("liar", "said", f"l{number}", 4e9 + number) for number in range(100)]
    honest = [LogLine("a", "said", f"a{number}", 1000.0 + number) for number in range(10)]
    other = [LogLine("b", "said", f"b{number}", 1000.5 + number) for number in range(10)]

    told = merged([*liar, *honest, *other], 30, 2000.0)

    assert [one.text for one in told if one.agent == "liar"] == [f"l{number}" for number in range(90, 100)]
    assert [one.text for one in told if one.agent != "liar"] == [f"{of}{n}" for n in range(10) for of in "ab"]
    assert {one.at for one in told if one.agent == "liar"} == {None}, "what is not known is not made up"
    assert len(merged(liar, 30, 2000.0)) == 30, "alone it hides nobody"
    assert len(merged([*liar[:5], *honest], 30, 2000.0)) == 15


def test_one_wrong_time_moves_no_other_line() -> None:
    lines = [
        LogLine("a", "said", "1", 1.0), LogLine("a", "said", "2", 4e9), LogLine("a", "said", "4", 4.0),
        LogLine("a", "said", "5", 2.0), LogLine("b", "said", "3", 3.0), LogLine("b", "said", "6", 6.0),
    ]  # fmt: skip

    assert [one.text for one in merged(lines, 100, 10.0)] == ["1", "3", "2", "4", "5", "6"]


def test_many_agents_cost_no_more_memory_than_is_shown_and_say_where_to_stop() -> None:
    newest = Newest(100, 1e6, 1000)
    for number in range(1000):
        newest.add([LogLine(f"a{number}", "said", "x", float(number * 100 + line)) for line in range(100)])
        assert len(newest._found) <= 300
    assert newest.floor == 99_900.0
    assert [one.agent for one in newest.lines()] == ["a999"] * 100


async def test_a_reader_that_comes_back_is_told_each_line_once_whatever_its_time(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(prompt("One.") + tool_use("c1", command="npm test"))
    log = reader(path)
    assert len(await texts(log)) == 2
    with path.open("ab") as file:
        # More than one answer shows, all of them at one time, and that before the reader's last one.
        file.write(tool_result("c1", "2 failed") + b"".join(prompt(f"Do {number}.") for number in range(200)))

    back = await come_back(log)
    found = await texts(back, 50, 1.8e9)

    assert found == ["result Bash: 2 failed", *(f"prompt : Do {number}." for number in range(200))]
    assert await texts(back, 50, 1.8e9) == []
    assert await texts(await come_back(back), 50, 1.8e9) == []


async def test_a_place_in_another_file_is_no_place_of_this_one(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(prompt("One.") + prompt("Two."))
    log = reader(path)
    await texts(log)
    path.write_bytes(prompt("Another session."))

    for place in ({}, log.log.places(), {"a": "zz"}, {"a": "ffff.0"}, {"a": ""}, {"a": "-1.0"}, {"a": "1.2.3"}):
        other = Follower(path)
        other.log.resume(place)
        other.has_begun = True
        assert await texts(other) == ["prompt : Another session."], place


async def test_an_agent_that_turns_to_another_file_and_back_is_told_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_bytes(prompt("One."))
    two.write_bytes(prompt("Two."))
    log = reader(one)
    found = await texts(log)
    for turn in range(4):
        log.paths.append((two, one)[turn % 2])
        found += await texts(log)
    with two.open("ab") as file:
        file.write(prompt("Three."))
    log.paths.append(two)
    found += await texts(log)

    assert found == ["prompt : One.", "prompt : Two.", "prompt : Three."]


async def test_a_flood_is_read_in_slices_and_nothing_of_it_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_reader, "SLICE", 4096)
    monkeypatch.setattr(log_reader, "AT_ONCE", 8192)
    paths = {name: tmp_path / f"{name}.jsonl" for name in "abc"}
    for path in paths.values():
        path.write_bytes(prompt("Begin."))
    looks = Looks(lambda one: (str(paths[one.name]), claude_transcript), count(0.0, 2.0).__next__)  # type: ignore[arg-type,return-value]
    log = TranscriptLog(looks, lambda name, text: text)
    agents = [agent(name) for name in "abc"]
    await log.newest(agents, 10, None, NOW)
    for path in paths.values():
        path.write_bytes(path.read_bytes() + b"".join(prompt(f"Do {number}.") for number in range(300)))

    found, is_more, rounds = [], True, 0
    while is_more:
        lines, is_more = await log.added(agents, 0.0, 10)
        assert len(lines) < 120
        found += lines
        rounds += 1

    assert rounds > 10
    for name in "abc":
        assert [one.text for one in found if one.agent == name] == [f"Do {number}." for number in range(300)]


async def test_what_nobody_can_read_is_left_out_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(prompt("One."))
    log = reader(path)
    await texts(log)
    monkeypatch.setattr(log_reader, "LEFT_OUT", 10_000)
    with path.open("ab") as file:
        file.write(b"".join(prompt(f"Do {number}.") for number in range(1000)))

    first, *rest = await texts(log, 5)

    assert first.startswith("error : (")
    assert first.endswith(" bytes came at once; only their end is told)")
    assert rest == [f"prompt : Do {number}." for number in range(995, 1000)]


async def test_transcripts_that_do_not_grow_are_looked_at_once_for_all_readers(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(prompt("One."))
    looked: list[str] = []
    looks = Looks(lambda one: looked.append(one.name) or (str(path), claude_transcript), lambda: 1.0)  # type: ignore[arg-type,func-returns-value,return-value]
    agents = [agent(f"a{number}") for number in range(1000)]
    readers = [TranscriptLog(looks, lambda name, text: text) for _ in range(5)]
    for log in readers:
        await log.added(agents, 0.0, 5)
    assert len(looked) == 1000

    with monkeypatched_opens() as opened:
        for log in readers:
            assert await log.added(agents, 0.0, 5) == ([], False)
    assert opened == []
    assert len(looked) == 1000


async def test_what_gemini_says_anew_is_told_as_far_as_it_is_new(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"")
    log = reader(path, FORMS["gemini"])
    await texts(log)
    said = {"id": "m1", "type": "gemini", "timestamp": "2026-11-20T10:00:00.000Z", "content": "I look."}
    call = {"id": "c1", "name": "ls", "args": {"path": "/x"}}
    found = []
    for more in ({}, {"toolCalls": [call]}, {"toolCalls": [call]}):
        with path.open("ab") as file:
            file.write(json.dumps({**said, **more}).encode() + b"\n")
        found += await texts(log)

    assert len(found) == len(set(found)), found
    assert found[0] == "said : I look."
    assert any("ls" in one for one in found)


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
