"""A rendered session looks as the real CLI's, and is read as one."""

from __future__ import annotations

import functools
import importlib
import json
from collections import defaultdict
from pathlib import Path

import pytest

from phoenixd.documents.conversation import Conversation
from phoenixd.documents.session_facts import SessionFacts, SessionReading
from phoenixd.harness import HARNESSES
from tests.drivers.transcripts.reading import read_conversation
from tests.eval_brief.blind.patterns import RECORDED, recorded
from tests.eval_brief.blind.random_sessions import EVENTS, random_session
from tests.eval_brief.blind.reading import Malformed, read_session, read_sessions
from tests.eval_brief.blind.rendered import Asked, Rendered, rendered
from tests.eval_brief.blind.session import (
    Cli,
    Queued,
    Session,
)  # fmt: skip
from tests.eval_brief.blind.shapes import Shape, kinds, shape

SAMPLES = Path(__file__).parent / "samples"
SESSIONS = {session.id: session for session in read_sessions(SAMPLES)}
LIKE = {
    "gemini text web_fetch success": "gemini text read_file success",  # the CLI fetches nothing from loopback
    "gemini functionCall": "gemini functionCall text",  # every recorded answer that was written anew said something
}
"""Kinds that could not be recorded, and the ones whose shape they have."""


@pytest.fixture(params=sorted(SESSIONS))
def session(request: pytest.FixtureRequest) -> Session:
    return SESSIONS[request.param]


@functools.cache
def real_shapes(cli: str) -> dict[str, set[Shape]]:
    found: dict[str, set[Shape]] = defaultdict(set)
    for path in sorted(RECORDED.glob(f"{cli}-*.jsonl")):
        if path.stem == "claude-2.1.330":
            continue  # the renderer writes as the other pinned release does
        for kind, line in kinds(cli, recorded(path.stem)):
            found[kind].add(shape(line))
    return found


def without_arguments(found: Shape) -> Shape:
    return frozenset(place for place in found if ".args." not in place[0])


def strange_lines(made: Rendered) -> list[str]:
    """What of a rendered transcript no recording bears out."""
    real = real_shapes(made.cli)
    strange = set()
    for found, line in kinds(made.cli, [json.loads(line) for line in made.transcript]):
        kind = LIKE.get(found, found)
        if kind not in real:
            strange.add(f"{kind}: no such line was recorded")
        elif kind != found:
            if not any(without_arguments(shape(line)) <= one for one in real[kind]):
                strange.add(f"{found} is not like {kind}")
        elif shape(line) not in real[kind]:
            nearest = min(real[kind], key=lambda one: len(one ^ shape(line)))
            strange.add(f"{kind}: new {sorted(shape(line) - nearest)}, missing {sorted(nearest - shape(line))}")
    return sorted(strange)


def test_rendered_lines_have_the_shape_of_recorded_ones(session: Session) -> None:
    assert strange_lines(rendered(session)) == []


def test_a_line_that_the_cli_would_not_write_is_seen() -> None:
    """The comparison can fail: a key too many, one too few, another type, another kind."""
    real = real_shapes("claude")
    line = next(
        found for found in map(json.loads, rendered(SESSIONS["de-claude-01"]).transcript) if "requestId" in found
    )
    (kind, _), *_ = kinds("claude", [line])

    assert shape(line) in real[kind]
    assert shape(line | {"extra": 1}) not in real[kind]
    assert shape({key: value for key, value in line.items() if key != "requestId"}) not in real[kind]
    assert shape(line | {"message": line["message"] | {"id": 7}}) not in real[kind]
    assert next(kinds("claude", [line | {"type": "answer"}]))[0] not in real


def test_the_same_session_is_rendered_the_same(session: Session) -> None:
    assert rendered(session) == rendered(session)


def test_ids_and_order(session: Session) -> None:
    """Each line stands once, each call has one answer at most, and no line names a place of the recordings."""
    made = rendered(session)
    whole = b"".join(made.transcript).decode()

    assert "toolu_stub" not in whole
    assert "call_stub" not in whole.replace("gemini", "")
    if session.cli == "claude":
        lines = [json.loads(line) for line in made.transcript]
        named = [line["uuid"] for line in lines if "uuid" in line]
        assert len(named) == len(set(named))
        assert {line["sessionId"] for line in lines if "sessionId" in line} == {made.session_id}
        assert all(line["parentUuid"] in (None, before) for line, before in zip(
            [line for line in lines if "uuid" in line], [None, *named], strict=False))  # fmt: skip


# Read back, as the daemon reads.


def conversation(made: Rendered, directory: Path) -> Conversation:
    path = directory / "transcript.jsonl"
    path.write_bytes(b"".join(made.transcript))
    found = read_conversation(str(path), HARNESSES[made.cli].transcript_form)
    assert found is not None
    return found


def facts(made: Rendered) -> SessionFacts:
    reader = importlib.import_module(f"phoenixd.harness.{made.cli}.transcript")
    reading = SessionReading()
    for line in made.transcript:
        if (found := reader.record(line)) is not None:
            reading.hear(found)
    return reading.facts()


def test_all_that_was_said_is_read_back_in_order(session: Session, tmp_path: Path) -> None:
    made = rendered(session)
    said = [one.text for one in conversation(made, tmp_path).utterances if not one.tool]
    spoken = [getattr(event, "person", None) or getattr(event, "agent", None) for event in session.event]
    read = [event.queued for event in session.event if isinstance(event, Queued) and event.read_by_agent]

    later = iter(said)
    assert [text for text in spoken if text and text not in later] == []
    assert set(read) <= set(said)


def test_claude_killed_while_it_asked(tmp_path: Path) -> None:
    made = rendered(SESSIONS["de-claude-01"])
    found = conversation(made, tmp_path).utterances

    assert made.asked == Asked("question", "Welche Währung nehme ich?", ("Euro", "Franken"))
    assert [call.name for call in facts(made).tools_in_flight] == ["AskUserQuestion"]
    assert facts(made).turn_open is True
    assert made.waiting == ("danach das Lager",)
    ran = [one.failed for one in found if one.speaker == "tool" and one.tool == "Bash"]
    assert ran[:2] == [True, False], "the tests failed, then passed"
    assert {name: json.loads(text)["status"] for name, text in made.tasks.items()} == {
        "1.json": "completed", "2.json": "in_progress",
    }  # fmt: skip
    assert b"failed with exit code 2" in b"".join(made.transcript)
    assert made.before.open_loops[0].id == "schlüssel-drehen"
    assert made.git is not None
    assert (made.git.summary.branch, made.git.ahead, made.git.modified) == ("feat/parser", 1, ("README.md",))


def test_codex_killed_in_a_build(tmp_path: Path) -> None:
    made = rendered(SESSIONS["ja-codex-01"])
    found = conversation(made, tmp_path).utterances

    assert [call.name for call in facts(made).tools_in_flight] == ["exec_command"]
    assert made.waiting == ("そのあと変更履歴も",)
    assert "そのあと変更履歴も" not in b"".join(made.transcript).decode()
    assert [one.failed for one in found if "exited with code 101" in one.text] == [True]
    assert any("Process running with session ID" in one.text for one in found)


def test_gemini_idle_with_a_job_alive(tmp_path: Path) -> None:
    made = rendered(SESSIONS["en-gemini-01"])
    found = conversation(made, tmp_path).utterances

    assert made.turn_open is False
    assert facts(made).turn_open is None
    assert [one.text.split("Exit Code: ")[1][0] for one in found if "Exit Code" in one.text] == ["2", "1"]
    assert made.before.open_loops[0].model_extra == {"kind": "said", "source": "session"}


# The form of a file.


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('colour = "red"\n', "colour is no key"),
        ('[[event]]\nt = 99\nperson = "a"\nagent = "b"\n', "it must be exactly one"),
        ("[[event]]\nt = 1\nturn_ends = true\n", "comes after"),
        ('[[event]]\nt = 99\nended_job = "x"\nexit = 0\n', "no job 'x' was started"),
        ('[[event]]\nt = "99"\nperson = "a"\n', "is no float"),
        ('[[open]]\nkind = "tests"\nwhat = "a"\nmatch = ["b"]\n', "is none of 'tasks'"),
        ('[[open]]\nkind = "tasks"\nwhat = "a"\nmatch = ["B"]\n', "match wants lower case"),
        ('[[event]]\nt = 99\nwakeup = "x"\n', "is for claude only"),
    ],
)
def test_a_file_that_is_not_of_the_form_is_refused_by_name(change: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "en-gemini-01.toml"
    text = (SAMPLES / path.name).read_text()
    path.write_text(change + text if "colour" in change else text + change)

    with pytest.raises(Malformed, match=r"en-gemini-01\.toml: ") as refused:
        read_session(path)

    assert words in str(refused.value)


# Whatever somebody writes.


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("cli", EVENTS)
def test_any_order_of_events_is_written_as_the_cli_writes(cli: Cli, seed: int, tmp_path: Path) -> None:
    session = random_session(cli, seed)
    made = rendered(session)
    facts(made)

    assert strange_lines(made) == []
    assert b"".join(made.transcript).count(b"\n") == len(made.transcript)
    said = [one.text for one in conversation(made, tmp_path).utterances if not one.tool]
    later = iter(said)
    spoken = [getattr(event, "person", None) or getattr(event, "agent", None) for event in session.event]
    assert [text for text in spoken if text and text not in later] == []
