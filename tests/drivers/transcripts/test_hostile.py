"""Transcripts belong to agents, and an agent may be hostile: whatever stands in them or in their place, reading raises
nothing, waits for nobody and holds bounded memory."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phoenixd.documents.transcript import TranscriptForm
from phoenixd.drivers.transcripts.tail import TranscriptTail, newest_usage
from phoenixd.harness.claude import transcript as claude_transcript
from phoenixd.harness.codex import transcript as codex_transcript
from phoenixd.harness.gemini import transcript as gemini_transcript
from tests.drivers.transcripts.reading import read_conversation, read_whole
from tests.transcripts import samples
from tests.transcripts.samples import answer, prompt
from tests.waiting import eventually_sync

FORMS: dict[str, tuple[TranscriptForm, Path]] = {
    "claude": (claude_transcript, samples.SESSION),
    "codex": (codex_transcript, samples.CODEX_SESSION),
    "gemini": (gemini_transcript, samples.GEMINI_SESSION),
}
MEGABYTE = 1 << 20
PEAK = 64 * MEGABYTE

CONTENTS: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "one newline": lambda: b"\n",
    "newlines": lambda: b"\n" * 50_000,
    "NULs": lambda: b"\0" * MEGABYTE,
    "NULs at the end": lambda: prompt("Go.") + b"\0" * 4096,
    "noise": lambda: random.Random(1).randbytes(MEGABYTE),
    "invalid UTF-8": lambda: prompt("Go.").replace(b"Go.", b"\xff\xfe\xc0\x80") * 50,
    "halves of characters": lambda: prompt("Go.").replace(b"Go.", b"\\ud800\\udc00\\ud800") * 50,
    "escapes": lambda: prompt("\x1b]0;title\x07\x1b[2J\x9b31m\u202e\0") * 50,
    "nested lists": lambda: b"[" * MEGABYTE + b"\n",
    "nested objects": lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n",
    "nested in a record": lambda: answer().replace(b'"So be it."', b"[" * 400 + b"]" * 400),
    "nested just so": lambda: answer().replace(b'"So be it."', b"[" * 180 + b"]" * 180),
    "a number of a megabyte": lambda: answer().replace(b":1000", b":" + b"9" * MEGABYTE),
    "huge numbers": lambda: answer().replace(b":1000", b":1e999").replace(b":20,", b":-99999999999999999999999,"),
    "NaN": lambda: answer().replace(b":1000", b":NaN").replace(b":20,", b":Infinity,"),
    "times out of this world": lambda: answer(timestamp="9999-12-31T23:59:59.999999Z") + answer(timestamp="0001-01-01"),
    "a line of 20 MB": lambda: prompt("x" * (20 * MEGABYTE)),
    "a line of 20 MB without an end": lambda: prompt("x" * (20 * MEGABYTE))[:-1],
    "a line of small things": lambda: b'{"type":"user","a":[' + b"[]," * MEGABYTE + b"1]}\n",
    "a line of keys": lambda: b"{" + b",".join(b'"%d":0' % n for n in range(300_000)) + b"}\n",
    "the same key often": lambda: b"{" + b'"type":"user",' * 100_000 + b'"a":1}\n',
    "a thousand blocks": lambda: answer(message={"content": [{"type": "tool_use", "id": "t", "name": "n"}] * 1000}),
    "tools without an end": lambda: b"".join(
        answer(message={"content": [{"type": "tool_use", "id": f"{n}", "name": "n" * 1000}]}) for n in range(2000)
    ),
    "long names": lambda: answer(sessionId="s" * MEGABYTE, request="r" * MEGABYTE),
    "short lines": lambda: b"{}\n" * 20_000,
    "carriage returns": lambda: prompt("Go.").replace(b"\n", b"\r\n") * 10 + b"\r" * MEGABYTE,
}


def read_all(path: str, form: TranscriptForm) -> None:
    tail = TranscriptTail(path, form)
    for _ in range(2):
        facts = tail.facts()
        assert facts is None or (facts.usage is None or facts.usage.tokens > 0)
        assert facts is None or len(facts.tools_in_flight) <= 256
    newest_usage(path, form)
    read_whole(path, form)
    conversation = read_conversation(path, form, budget=10_000)
    if conversation is not None:
        told = "".join(one.text for one in conversation.utterances)
        assert len(told) <= 10_000
        json.dumps([one.text for one in conversation.utterances]).encode()
        told.encode()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("content", CONTENTS)
def test_whatever_stands_in_it_is_read_in_bounded_memory(tmp_path: Path, content: str, form: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(CONTENTS[content]())
    tracemalloc.start()
    try:
        read_all(str(path), FORMS[form][0])
        assert tracemalloc.get_traced_memory()[1] < PEAK
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("content", CONTENTS)
def test_what_is_good_counts_next_to_it(tmp_path: Path, content: str, form: str) -> None:
    """The recorded session stands before the garbage and after it, and is what is told."""
    reader, session = FORMS[form]
    alone, path = TranscriptTail(str(session), reader).facts(), tmp_path / "t.jsonl"
    garbage = CONTENTS[content]()
    path.write_bytes(session.read_bytes() + garbage + b"\n" + session.read_bytes())
    facts = TranscriptTail(str(path), reader).facts()

    assert alone is not None
    assert facts is not None
    assert (facts.prompt, facts.usage, facts.error, facts.ending) == (
        alone.prompt, alone.usage, alone.error, alone.ending,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["FIFO", "socket", "directory", "link", "link to a FIFO", "loop", "device", "missing"])
def test_what_is_no_plain_file_is_not_read_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    match kind:
        case "FIFO":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(path))
        case "directory":
            path.mkdir()
        case "link":
            path.symlink_to(samples.SESSION)
        case "link to a FIFO":
            os.mkfifo(tmp_path / "pipe")
            path.symlink_to(tmp_path / "pipe")
        case "loop":
            path.symlink_to(path)
        case "device":
            path = Path("/dev/zero")
        case _:
            pass
    for name in (str(path), f"{path}\0", str(path) * 100):
        assert TranscriptTail(name, claude_transcript).facts() is None
        assert newest_usage(name, claude_transcript) is None
        assert read_conversation(name, claude_transcript) is None


def test_a_file_that_is_swapped_all_the_time_is_read_or_not(tmp_path: Path) -> None:
    """By a link, a pipe, nothing, another file, a shorter one; a reader sees one of the good ones or none."""
    path, stop = tmp_path / "t", threading.Event()
    good = prompt("Good.") + answer()

    def swap() -> None:
        chance = random.Random(7)
        while not stop.is_set():
            new = tmp_path / "new"
            new.unlink(missing_ok=True)
            match chance.randrange(5):
                case 0:
                    new.symlink_to("/etc/passwd")
                case 1:
                    os.mkfifo(new)
                case 2:
                    new.write_bytes(good)
                case 3:
                    new.write_bytes(good * 500)
                case _:
                    path.unlink(missing_ok=True)
                    continue
            new.rename(path)
            if chance.random() < 0.5 and path.is_file() and not path.is_symlink():
                os.truncate(path, chance.randrange(len(good) * 500))

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        tail = TranscriptTail(str(path), claude_transcript)
        seen = [tail.facts() for _ in range(1500)]
        # On a busy machine the other thread may have had no turn until now.
        seen.append(eventually_sync(tail.facts, what="a good file is seen"))
        for _ in range(300):
            newest_usage(str(path), claude_transcript)
            read_conversation(str(path), claude_transcript)
    finally:
        stop.set()
        thread.join()
    prompts = {facts.prompt.text for facts in seen if facts is not None and facts.prompt is not None}
    assert prompts == {"Good."}


@settings(max_examples=3 * settings().max_examples, deadline=None)
@given(st.sampled_from(sorted(FORMS)), st.one_of(st.binary(max_size=200), st.from_regex(rb'\{"[a-z]{1,4}":.*\}')))
def test_no_line_whatever_raises(form: str, line: bytes) -> None:
    reader = FORMS[form][0]
    for reading in (reader.record, reader.said, reader.beginning, reader.matters):
        reading(line)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=4 * settings().max_examples, deadline=None)
@given(st.sampled_from(sorted(FORMS)), st.data())
def test_no_damage_to_a_real_line_raises(form: str, data: st.DataObject) -> None:
    """A value somewhere in a recorded record is replaced by another, or bytes of the line are."""
    reader, session = FORMS[form]
    lines = session.read_bytes().splitlines()
    line = data.draw(st.sampled_from(lines))
    if data.draw(st.booleans()):
        record = json.loads(line)
        put_somewhere(record, data.draw(JSON), data)
        line = json.dumps(record).encode("utf-8", "surrogatepass")
    else:
        at = data.draw(st.integers(0, len(line)))
        line = line[:at] + data.draw(st.binary(max_size=8)) + line[at + data.draw(st.integers(0, 8)) :]
    record_found, said = reader.record(line), reader.said(line)
    reader.beginning(line)
    reader.given(line)
    for piece in said.pieces if said is not None else ():
        piece.text.encode()
    assert record_found is None or isinstance(record_found.facts, tuple)


def put_somewhere(record: Any, value: Any, data: st.DataObject) -> None:
    """Replace a value at any depth."""
    while True:
        keys = list(record) if isinstance(record, dict) else list(range(len(record)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if isinstance(record[key], dict | list) and record[key] and data.draw(st.integers(0, 3)):
            record = record[key]
            continue
        record[key] = value
        return
