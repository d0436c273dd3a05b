"""A transcript is read from its end at first, and then piece by piece, whatever is done to the file meanwhile."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phoenixd.documents.json_line import LINE_LIMIT
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.transcript import TranscriptForm
from phoenixd.drivers.transcripts import lines as transcripts_lines
from phoenixd.drivers.transcripts import tail as transcripts_tail
from phoenixd.drivers.transcripts.lines import CHUNK, Line, open_lines
from phoenixd.drivers.transcripts.tail import MOST_LATE, TranscriptTail, newest_usage
from phoenixd.harness.claude import transcript as claude_transcript
from phoenixd.harness.codex import transcript as codex_transcript
from phoenixd.harness.gemini import transcript as gemini_transcript
from tests.drivers.transcripts.reading import read_conversation, read_whole
from tests.transcripts import samples
from tests.transcripts.samples import answer, boundary, claude, prompt, tool_result, tool_use


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.jsonl"


def tail_of(path: Path) -> TranscriptTail:
    return TranscriptTail(str(path), claude_transcript)


def known(facts: SessionFacts | None) -> tuple[str | None, int | None, bool | None]:
    """Prompt, tokens, and whether a turn is open."""
    assert facts is not None
    return facts.prompt and facts.prompt.text, facts.usage and facts.usage.tokens, facts.turn_open


def add(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))


def lines_of(path: Path, forwards: bool) -> list[Line]:
    with open_lines(str(path)) as lines:
        assert lines is not None
        return list(lines.forwards()) if forwards else list(lines.backwards())[::-1]


def test_what_is_added_is_read_and_nothing_twice(path: Path) -> None:
    tail = tail_of(path)
    assert tail.facts() is None
    add(path, prompt("Go."), tool_use("t-1", request="r-1"))
    assert known(tail.facts()) == ("Go.", 1063, True)

    add(path, tool_result("t-1"), answer(request="r-2", cached=2000))
    assert known(tail.facts()) == ("Go.", 2063, False)
    facts = tail.facts()
    assert facts is not None
    assert facts.requests == 2
    assert facts == tail.facts() == read_whole(str(path), claude_transcript)


def test_an_unfinished_line_counts_once_it_is_whole(path: Path) -> None:
    tail, line = tail_of(path), prompt("Second.")
    add(path, prompt("First."), line[:20])
    assert known(tail.facts())[0] == "First."
    for byte in line[20:-1]:
        add(path, bytes([byte]))
        assert known(tail.facts())[0] == "First."
    add(path, b"\n")
    assert known(tail.facts())[0] == "Second."


@pytest.mark.parametrize("how", ["renamed", "rewritten", "shorter", "same length"])
def test_a_file_in_its_place_is_another_file(path: Path, how: str) -> None:
    tail = tail_of(path)
    add(path, prompt("Old."), answer(cached=7000))
    tail.facts()
    new = prompt("New.")
    if how == "renamed":
        path.with_name("new").write_bytes(new)
        path.with_name("new").rename(path)
    elif how == "rewritten":
        path.write_bytes(new + claude("system") * 20)
    elif how == "shorter":
        path.write_bytes(new)
    else:
        path.write_bytes(new + b" " * (path.stat().st_size - len(new) - 1) + b"\n")

    assert known(tail.facts()) == ("New.", None, True)


def test_a_file_that_comes_back_is_read_from_its_end_again(path: Path) -> None:
    tail = tail_of(path)
    add(path, prompt("Go."))
    tail.facts()
    content = path.read_bytes()
    path.unlink()
    assert tail.facts() is None
    path.write_bytes(content)
    assert known(tail.facts())[0] == "Go."


def test_the_turn_in_hand_is_found_from_the_end_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands before it is not even looked at."""
    add(path, prompt("Old."), answer(), *[claude("system") for _ in range(20_000)])
    add(path, prompt("New."), tool_use("t-1"), answer(request="r-2", cached=5000))
    read = 0
    preadv = os.preadv

    def counted(descriptor: int, views: list[memoryview], at: int) -> int:
        nonlocal read
        read += len(views[0])
        return preadv(descriptor, views, at)

    monkeypatch.setattr(transcripts_lines.os, "preadv", counted)
    assert known(tail_of(path).facts()) == ("New.", 5063, False)
    assert newest_usage(str(path), claude_transcript) is not None
    assert read <= 2 * CHUNK < path.stat().st_size


CUT = {"stop_reason": "max_tokens"}


@pytest.mark.parametrize("order", ["cut asked rest", "cut rest asked", "rest asked cut", "asked rest cut"])
@pytest.mark.parametrize("before", [0, 3], ids=["the first turn", "a later one"])
def test_a_cut_answer_is_known_also_where_its_turn_is_written_out_of_order(path: Path, order: str, before: int) -> None:
    """A busy CLI does so. What is read from the end is what is read from the beginning."""
    older = [line for number in range(before) for line in (prompt("Old."), answer(request=f"r-{number}", message=CUT))]
    lines = {"asked": prompt("New."), "cut": answer("One.", "r-8", message=CUT), "rest": answer("Two.", "r-9")}
    add(path, *older, *(lines[name] for name in order.split()), claude("system", subtype="turn_duration"))

    facts, whole = tail_of(path).facts(), read_whole(str(path), claude_transcript)
    assert facts is not None
    assert whole is not None
    assert facts.cut_at_end is not None
    assert (facts.cut_at_end, facts.went_on, facts.turn_open) == (whole.cut_at_end, True, False)
    assert known(facts)[0] == "New."


def test_no_more_is_read_for_a_late_prompt_than_what_is_younger(path: Path) -> None:
    """Neither an older answer, nor what bears no time, nor more than some lines."""
    for older in ([answer(message=CUT)], [answer(message=CUT), claude("system", timestamp=None)]):
        add(path, prompt("Old."), *older, prompt("New."), answer(request="r-2"))
        facts = tail_of(path).facts()
        assert facts is not None
        assert (facts.cut_at_end, facts.requests) == (None, 1)
    asked = prompt("New.")
    add(path, answer(message=CUT), *[b"{}\n"] * MOST_LATE, asked, answer(request="r-2"))
    facts = tail_of(path).facts()
    assert facts is not None
    assert facts.cut_at_end is None


def test_e18_right_after_a_compaction_usage_is_unknown(path: Path) -> None:
    add(path, prompt("Go."), answer(cached=90_000), boundary(90_000))

    assert newest_usage(str(path), claude_transcript) is None
    assert known(tail_of(path).facts())[1] is None


def test_a_line_of_20_mb_hides_nothing_and_is_never_held(path: Path) -> None:
    """Neither before it, nor after it, nor as long as it has no end."""
    tail = tail_of(path)
    add(path, prompt("Go."), answer(cached=5000))
    tail.facts()
    with path.open("ab") as file:
        file.write(b'{"type":"user","message":{"role":"user","content":"')
        for _ in range(20):
            file.write(b"x" * (1 << 20))
    tracemalloc.start()
    try:
        assert known(tail.facts())[0] == "Go."
        assert known(tail_of(path).facts())[0] == "Go."
        used = newest_usage(str(path), claude_transcript)
        add(path, b'"}}\n', prompt("And on."))
        assert known(tail.facts()) == ("And on.", 5063, True)
        conversation = read_conversation(str(path), claude_transcript)
        assert known(read_whole(str(path), claude_transcript))[0] == "And on."
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used is not None
    assert used.tokens == 5063
    assert conversation is not None
    assert ([one.text for one in conversation.utterances], conversation.is_whole) == (
        ["Go.", "So be it.", "And on."], False,
    )  # fmt: skip
    assert peak < 3 * LINE_LIMIT


def test_a_result_of_20_mb_does_not_leave_its_tool_in_flight(path: Path) -> None:
    tail = tail_of(path)
    add(path, prompt("Go."), tool_use("t-1"))
    assert len(tail.facts().tools_in_flight) == 1  # type: ignore[union-attr]
    add(path, tool_result("t-1", "x" * (20 << 20)))

    assert tail.facts().tools_in_flight == ()  # type: ignore[union-attr]
    assert tail_of(path).facts().tools_in_flight == ()  # type: ignore[union-attr]


def test_a_flood_of_short_lines_is_given_up_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past a number of lines the end is looked at anew, and what does not stand there is unknown."""
    monkeypatch.setattr(transcripts_tail, "MOST_LINES", 1000)
    tail = tail_of(path)
    add(path, prompt("Go."), answer())
    tail.facts()
    add(path, b"\n" * 100_000)
    assert known(tail.facts()) == (None, None, None)
    add(path, prompt("On."), answer(request="r-9"))
    assert known(tail.facts()) == ("On.", 1063, False)


@pytest.mark.parametrize(
    ("session", "form"),
    [
        (samples.SESSION, claude_transcript),
        (samples.CODEX_SESSION, codex_transcript),
        (samples.GEMINI_SESSION, gemini_transcript),
    ],
)
def test_a_recorded_session_reads_the_same_from_both_ends_and_in_pieces(
    path: Path, session: Path, form: TranscriptForm
) -> None:
    """Whose it is some CLIs say in the first line alone."""
    tail, content = TranscriptTail(str(path), form), session.read_bytes()
    for end in range(0, len(content), 5000):
        path.write_bytes(content[:end]) if end == 0 else add(path, content[end - 5000 : end])
        tail.facts()
    add(path, content[end:])
    whole, pieces = read_whole(str(path), form), tail.facts()
    at_once = TranscriptTail(str(path), form).facts()

    assert whole is not None
    assert pieces is not None
    assert at_once is not None
    assert (whole.session_id, whole.prompt, whole.usage, whole.error, whole.newest_at) == (
        at_once.session_id, at_once.prompt, at_once.usage, at_once.error, at_once.newest_at,
    )  # fmt: skip
    assert whole == pieces
    assert whole.session_id is not None


def test_the_recorded_session_as_a_conversation() -> None:
    """A person's words, the agent's, tools with their results and failures; not what the CLI tells itself."""
    conversation = read_conversation(str(samples.SESSION), claude_transcript)

    assert conversation is not None
    told = [(one.speaker, one.tool, one.failed, one.text.split("\n")[0][:24]) for one in conversation.utterances]
    assert told[:7] == [
        ("user", "", False, "Fix the login page. Loop"),
        ("assistant", "", False, "I will look."),
        ("assistant", "Bash", False, '{"command":"echo 49 fail'),
        ("assistant", "Bash", False, '{"command":"exit 3","des'),
        ("tool", "Bash", False, "49 failures"),
        ("tool", "Bash", True, "Exit code 3"),
        ("assistant", "", False, "49 failures are left; au"),
    ]
    assert told[-6:] == [
        ("user", "", False, "Go on"),
        ("assistant", "", False, "Half of it"),
        ("user", "", False, "[Request interrupted by "),
        ("assistant", "", False, "This session is being co"),
        ("user", "", False, "After the compaction"),
        ("assistant", "", True, "Credit balance is too lo"),
    ]
    assert conversation.is_whole
    assert conversation.utterances[0].at is not None


def test_f_br_6_of_a_huge_conversation_the_end_is_told(path: Path) -> None:
    add(path, *(prompt(f"{number:05} " + "word " * 200) for number in range(2000)))

    conversation = read_conversation(str(path), claude_transcript, budget=20_000)

    assert conversation is not None
    assert [one.text[:5] for one in conversation.utterances] == [f"{n:05}" for n in range(1981, 2000)]
    assert not conversation.is_whole


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.one_of(st.binary(max_size=40), st.integers(0, 700).map(lambda n: b"x" * n)), max_size=12),
    st.integers(1, 64),
    st.integers(8, 300),
)
def test_lines_are_the_same_from_both_ends_at_any_chunk(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], chunk: int, limit: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines"
    content = b"\n".join(parts)
    path.write_bytes(content)
    expected, start = [], 0
    for one in content.split(b"\n")[:-1]:
        expected.append((start, start + len(one), one if len(one) <= limit else one[:50], len(one) > limit))
        start += len(one) + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcripts_lines, "CHUNK", chunk)
        patch.setattr(transcripts_lines, "FIRST_CHUNK", max(1, chunk // 2))
        patch.setattr(transcripts_lines, "HEAD", 50)
        patch.setattr(transcripts_lines, "LINE_LIMIT", limit)
        for forwards in (True, False):
            found = [
                (line.start, line.end, line.content if len(line.content) <= limit else line.content[:50])
                for line in lines_of(path, forwards)
            ]
            assert [one[:2] for one in found] == [one[:2] for one in expected]
            assert [one[2] for one in found if one[1] - one[0] <= limit] == [
                one[2] for one in expected if one[1] - one[0] <= limit
            ]


SESSIONS: dict[str, tuple[TranscriptForm, Path]] = {
    "claude": (claude_transcript, samples.SESSION),
    "codex": (codex_transcript, samples.CODEX_SESSION),
    "gemini": (gemini_transcript, samples.GEMINI_SESSION),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_the_newest_usage_is_the_one_of_all_facts_wherever_the_session_stands(path: Path, name: str) -> None:
    form, session = SESSIONS[name]
    path.touch()
    for line in session.read_bytes().splitlines(keepends=True):
        add(path, line)
        facts = read_whole(str(path), form)
        assert facts is not None
        assert newest_usage(str(path), form) == facts.usage
