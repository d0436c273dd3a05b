"""A session's ledger goes on from where its last reading stopped, whatever became of the file meanwhile."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.documents.kept_ledger import VERSION, KeptLedger, cleaned, read_kept, render_kept
from phoenixd.drivers.transcripts import ledger as ledger_driver
from phoenixd.drivers.transcripts.ledger import LedgerTail
from phoenixd.drivers.transcripts.lines import Line, OpenLines
from phoenixd.drivers.transcripts.sessions import MOST_LEDGERS, TranscriptFiles
from phoenixd.drivers.transcripts.task_files import read_tasks
from phoenixd.harness.claude import transcript as claude_transcript
from tests.core.story import Story
from tests.core.story import claude as claude_spec
from tests.documents.ledgers import FORMS, ledger_of, recorded
from tests.drivers.transcripts.test_hostile import CONTENTS
from tests.transcripts.samples import HERE, answer, prompt, tool_result, tool_use

AGENT = Story(claude_spec()).agent
RECORDED = sorted(path.stem for path in HERE.glob("*.jsonl"))


def as_it_is(text: str) -> str:
    return text


async def nothing() -> KeptLedger | None:
    return None


def read_on(tail: LedgerTail) -> KeptLedger:
    while tail.read_slice():
        pass
    return tail.kept(as_it_is)


def through_disk(kept: KeptLedger) -> KeptLedger | None:
    return read_kept(render_kept(kept))


def ran(number: int, code: int = 0) -> bytes:
    failed = tool_result(f"t-{number}", f"Exit code {code}\nno", failed=True)
    passed = tool_result(f"t-{number}", "ok", toolUseResult={"stdout": "ok", "interrupted": False})
    return tool_use(f"t-{number}", command=f"make {number % 3}") + (failed if code else passed)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From where on a file was read, each time."""
    began: list[int] = []
    forwards = OpenLines.forwards

    def told(self: OpenLines, start: int = 0) -> Iterator[Line]:
        began.append(start)
        return forwards(self, start)

    monkeypatch.setattr(OpenLines, "forwards", told)
    return began


@pytest.mark.parametrize("name", RECORDED)
def test_a_ledger_that_goes_on_line_by_line_over_its_file_is_that_of_a_whole_reading(name: str, tmp_path: Path) -> None:
    """Also where every line is heard by another daemon, which knows the last one's file alone."""
    path, form = tmp_path / "t.jsonl", FORMS[name.split("-", 1)[0]]
    kept: KeptLedger | None = None
    for line in (HERE / f"{name}.jsonl").read_bytes().splitlines(keepends=True):
        with path.open("ab") as file:
            file.write(line[:40])
        kept = through_disk(read_on(LedgerTail.going_on(str(path), form, kept)))
        with path.open("ab") as file:
            file.write(line[40:])
    kept = through_disk(read_on(LedgerTail.going_on(str(path), form, kept)))

    assert kept is not None
    assert (kept.ledger, kept.is_whole, kept.offset) == (recorded(name), True, path.stat().st_size)


def test_only_what_is_new_is_read(tmp_path: Path, reads: list[int]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(ran(number) for number in range(100)))
    whole = path.stat().st_size
    tail = LedgerTail(str(path), claude_transcript)
    kept = through_disk(read_on(tail))
    with path.open("ab") as file:
        file.write(ran(100, 1))

    here = read_on(tail)
    there = read_on(LedgerTail.going_on(str(path), claude_transcript, kept))

    assert reads == [0, whole, whole]
    assert here == there
    assert [(run.text, run.failed) for run in here.ledger.runs.values()][-1] == ("make 1", True)


@pytest.mark.parametrize("change", ["replaced", "written anew", "cut short", "another of its name"])
def test_another_file_in_its_place_is_heard_anew(tmp_path: Path, change: str) -> None:
    path, new = tmp_path / "t.jsonl", b"".join(ran(number, 1) for number in range(50, 53))
    path.write_bytes(b"".join(ran(number) for number in range(20)))
    kept = through_disk(read_on(LedgerTail(str(path), claude_transcript)))
    match change:
        case "replaced":
            (tmp_path / "other").write_bytes(new)
            os.replace(tmp_path / "other", path)
        case "written anew":
            path.write_bytes(new * 10)
        case "cut short":
            path.write_bytes(new)
        case _:
            path = tmp_path / "u.jsonl"
            path.write_bytes(new)

    found = read_on(LedgerTail.going_on(str(path), claude_transcript, kept))

    assert [run.failed for run in found.ledger.runs.values()] == [True, True, True]


def test_where_the_transcript_was_deleted_what_was_heard_of_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(ran(1, 1))
    kept = through_disk(read_on(LedgerTail(str(path), claude_transcript)))
    path.unlink()

    found = LedgerTail.going_on(str(path), claude_transcript, kept)

    assert (found.read_slice(), found.is_known) == (False, True)
    assert found.kept(as_it_is) == kept
    assert LedgerTail(str(path), claude_transcript).is_known is False


def test_a_long_transcript_is_heard_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that others get their turn; and a reading that was cut off between two of them goes on."""
    path, slices = tmp_path / "t.jsonl", 0
    path.write_bytes(b"".join(ran(number) for number in range(50)) + b"\n" * 500)
    monkeypatch.setattr(ledger_driver, "SLICE", 1000)
    monkeypatch.setattr(ledger_driver, "SLICE_LINES", 100)
    tail = LedgerTail(str(path), claude_transcript)
    while tail.read_slice():
        slices += 1
        half = through_disk(tail.kept(as_it_is))
        assert half is not None
        assert not half.is_whole
        assert path.read_bytes()[: half.offset].endswith(bytes.fromhex(half.mark) or b"no mark")
        tail = LedgerTail.going_on(str(path), claude_transcript, half)

    assert slices > 20
    assert tail.ledger == ledger_of(path.read_bytes())
    assert tail.kept(as_it_is).is_whole


@pytest.mark.slow
@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("form", FORMS)
def test_whatever_stands_in_it_a_ledger_is_made_kept_and_read_again(tmp_path: Path, content: str, form: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(CONTENTS[content]() + b"\n" + prompt("Go on.") + answer())
    kept = read_on(LedgerTail(str(path), FORMS[form]))
    found = through_disk(kept)

    assert found == kept
    assert read_on(LedgerTail.going_on(str(path), FORMS[form], found)).ledger == kept.ledger


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"\xff", b'{"version":2}', b"[" * 100_000, b'{"version":1,"path":"x","mark":"zz"}'],
)
def test_a_file_that_is_no_such_document_is_as_none(content: bytes) -> None:
    assert read_kept(content) is None


@pytest.mark.parametrize(
    "field", [{"mark": "zz"}, {"mark": "abc"}, {"offset": -1}, {"version": VERSION + 1}, {"ledger": 7}]
)
def test_a_kept_ledger_with_a_wrong_field_is_as_none(field: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(ran(1))
    content = render_kept(read_on(LedgerTail(str(path), claude_transcript)))

    assert read_kept(content) is not None
    assert read_kept(json.dumps({**json.loads(content), **field}).encode()) is None


def test_no_secret_is_kept_and_what_is_known_by_its_text_is_known_on() -> None:
    """A command with a secret in it is still the same command after the secret was taken out of the kept ledger."""
    secret = "hunter2-hunter2-hunter2"
    for name in RECORDED:
        whole = (HERE / f"{name}.jsonl").read_bytes()
        for word in (b"passed", b"SQLite", b"Write", b"queue", b"parser.py", b"sleep", b"Shall", b"deploy"):
            ledger = ledger_of(whole.replace(word, secret.encode()), FORMS[name.split("-", 1)[0]])
            kept = render_kept(
                KeptLedger(VERSION, "", 0, 0, 0, "", True, cleaned(ledger, lambda text: text.replace(secret, "*")))
            )
            assert secret.encode() not in kept, (name, word)
    command = f"curl -u a:{secret} x"
    first = tool_use("t-1", command=command) + tool_result("t-1", "Exit code 1", failed=True)
    ledger = cleaned(ledger_of(first), lambda text: text.replace(secret, "*"))
    for line in (tool_use("t-2", command=command), tool_result("t-2", toolUseResult={"stdout": ""})):
        record = claude_transcript.record(line)
        assert record is not None
        ledger.hear(record)

    assert [run.failed for run in ledger.runs.values()] == [False]


@pytest.mark.parametrize("limit", [290, 490, 500, 510, 1990, 7990, 32_760])
def test_no_half_of_a_secret_is_kept(limit: int) -> None:
    """A text is cut between words: half of a secret would not be known as one."""
    secret = "hunter2-hunter2-hunter2"
    for short in range(20):
        words = "x " * ((limit - short) // 2) + secret + " and so on" * 400
        lines = (
            tool_use("t-1", command=words), tool_use("t-2", "TaskCreate", subject=words),
            tool_result("t-2", toolUseResult={"task": {"id": "1", "subject": words}}),
            tool_use("t-3", "ExitPlanMode", plan=words), tool_use("t-4", "AskUserQuestion", questions=[
                {"question": words, "options": [{"label": words}]}]),
            tool_use("t-5", "CronCreate", cron=words, prompt=words), answer(words), prompt(words),
            json.dumps({"type": "queue-operation", "operation": "enqueue", "content": words}).encode() + b"\n",
        )  # fmt: skip
        ledger = cleaned(ledger_of(b"".join(lines)), lambda text: text.replace(secret, "*"))
        assert b"hunter" not in render_kept(KeptLedger(VERSION, "", 0, 0, 0, "", True, ledger))


def home(tmp_path: Path) -> Path:
    """A transcript in a home of Claude Code's, and the task files of its session."""
    transcript = tmp_path / ".claude" / "projects" / "-shop" / "s-1.jsonl"
    transcript.parent.mkdir(parents=True)
    tasks = tmp_path / ".claude" / "tasks" / "s-1"
    tasks.mkdir(parents=True)
    for file in (HERE / "claude-work-tasks").iterdir():
        (tasks / file.name).write_bytes(file.read_bytes())
    (tasks / ".lock").touch()
    (tasks / ".highwatermark").write_text("3")
    return transcript


async def test_the_task_files_say_how_the_list_is_now_even_without_a_transcript(tmp_path: Path) -> None:
    transcript = home(tmp_path)
    files = TranscriptFiles(lambda agent: str(transcript))

    without = await files.ledger(AGENT, nothing, as_it_is)
    transcript.write_bytes(tool_use("t-1", "TaskCreate", subject="Old") + tool_result(
        "t-1", toolUseResult={"task": {"id": "9", "subject": "Old"}}))  # fmt: skip
    found = await files.ledger(AGENT, nothing, as_it_is)

    for one in (without, found):
        assert one is not None
        assert [(task.id, task.text, task.status) for task in one.ledger.tasks.rows] == [
            ("1", "Write the parser", "done"),
            ("2", "Test the parser", "active"),
            ("3", "Document the parser", "open"),
        ]


def test_task_files_that_cannot_be_read_take_nothing_away(tmp_path: Path) -> None:
    directory = home(tmp_path).parent.parent.parent / "tasks" / "s-1"
    (directory / "2.json").write_text('{"id": "2", "subj')
    (directory / "4.json").symlink_to(directory / "1.json")
    os.mkfifo(directory / "5.json")

    rows, is_whole = read_tasks(str(directory), claude_transcript)

    assert [row.id for row in rows] == ["1", "3"]
    assert not is_whole
    assert read_tasks(str(tmp_path / "none"), claude_transcript) == ((), True)
    assert read_tasks(None, claude_transcript) == ((), True)


async def test_what_is_handed_out_is_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(ran(1, 1))
    files = TranscriptFiles(lambda agent: str(path))
    first = await files.ledger(AGENT, nothing, as_it_is)
    assert first is not None
    first.ledger.runs.clear()

    again = await files.ledger(AGENT, nothing, as_it_is)

    assert again is not None
    assert len(again.ledger.runs) == 1


async def test_without_a_transcript_nothing_is_known(tmp_path: Path) -> None:
    assert await TranscriptFiles(lambda agent: str(tmp_path / "none.jsonl")).ledger(AGENT, nothing, as_it_is) is None
    assert await TranscriptFiles(lambda agent: None).ledger(AGENT, nothing, as_it_is) is None


async def test_ledgers_that_are_not_held_in_memory_go_on_from_what_was_kept(tmp_path: Path, reads: list[int]) -> None:
    files = TranscriptFiles(lambda agent: str(tmp_path / f"{agent.name}.jsonl"))
    kept: dict[str, KeptLedger] = {}
    agents = [replace(AGENT, spec=replace(AGENT.spec, name=f"a{number}")) for number in range(MOST_LEDGERS + 3)]
    for turn in range(3):
        for agent in agents:
            with (tmp_path / f"{agent.name}.jsonl").open("ab") as file:
                file.write(ran(turn, 1))

            async def before(name: str = agent.name) -> KeptLedger | None:
                return kept.get(name)

            found = await files.ledger(agent, before, as_it_is)
            assert found is not None
            assert len(found.ledger.runs) == turn + 1
            kept[agent.name] = found

    assert reads.count(0) == len(agents)
