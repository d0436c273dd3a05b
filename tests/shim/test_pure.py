"""The pure parts, alone: HTTP out of bytes, what is kept of a hook's input, and why a program did not start."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

SOURCE = Path(__file__).parents[2] / "phoenixd" / "shim"


def load(name: str) -> ModuleType:
    """A module of the shim by itself: it is no part of the package when it runs."""
    spec = importlib.util.spec_from_file_location(f"shim_{name}", SOURCE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


httpwire = load("httpwire")
payload = load("payload")
with pytest.MonkeyPatch.context() as patched:
    patched.setitem(sys.modules, "payload", payload)
    scan = load("scan")
    patched.setitem(sys.modules, "fence", load("fence"))
    launch = load("launch")

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=10), children, max_size=4),
    max_leaves=12,
)
FIELDS = [*payload.TEXT_LIMITS, "stop_hook_active", "background_tasks", "session_crons", "tool_input", "tool_response"]
INPUTS = st.dictionaries(st.sampled_from(FIELDS), JSON | st.text(max_size=30_000)) | st.dictionaries(
    st.just("tool_input"),
    st.dictionaries(st.sampled_from(["timeout", "command", "description", "run_in_background", "x"]), JSON),
    min_size=1,
)


def request(path: bytes, body: bytes) -> bytes:
    return b"POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (path, len(body), body)


@given(st.lists(st.tuples(st.sampled_from([b"/hook", b"/hook/stop"]), st.binary(max_size=60)), max_size=5), st.data())
def test_requests_are_the_same_however_their_bytes_are_cut(
    requests: list[tuple[bytes, bytes]], data: st.DataObject
) -> None:
    stream = b"".join(request(path, body) for path, body in requests)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    parser = httpwire.Parser(lambda head: None)
    seen = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        seen += [(head.path, body) for head, body in parser.feed(stream[start:end])]
    assert seen == requests
    assert not parser.in_request


@given(
    st.binary(max_size=400) | st.builds(lambda a, b: a + b, st.just(request(b"/hook", b"{}")), st.binary(max_size=200))
)
def test_bytes_of_any_kind_are_requests_or_refused(stream: bytes) -> None:
    # Anything but a request or Refused is an error of the parser, and of this test.
    with contextlib.suppress(httpwire.Refused):
        for head, body in httpwire.Parser(lambda head: None).feed(stream):
            assert len(body) == head.content_length


def test_header_lines_that_a_connection_says_again_are_read_once_and_few_are_remembered() -> None:
    parser = httpwire.Parser(lambda head: None)
    for number in range(100):
        more = b"X-%d: 1\r\nAuthorization: Bearer %d\r\nX-Long: %s\r\n" % (number, number, b"x" * 600)
        (taken,) = parser.feed(request(b"/hook", b"{}").replace(b"Host: h\r\n", b"Host: h\r\n" + more))
        assert taken[0].headers[b"authorization"] == b"Bearer %d" % number
        assert (taken[0].headers[b"host"], taken[1]) == (b"h", b"{}")

    assert len(parser._lines) == httpwire.MOST_LINES
    assert max(map(len, parser._lines)) <= httpwire.LINE_LIMIT
    for again in (b"Host: h\r\n", b"Authorization: Bearer 0\r\n"):
        with pytest.raises(httpwire.Refused):
            list(httpwire.Parser(lambda head: None).feed(b"POST /hook HTTP/1.1\r\nHost: h\r\n" + 2 * again + b"\r\n"))


def test_a_refused_head_takes_in_no_body() -> None:
    def refuse(head: object) -> None:
        raise httpwire.Refused(403)

    parser = httpwire.Parser(refuse)
    with pytest.raises(httpwire.Refused):
        list(parser.feed(request(b"/hook", b"x" * 1000)))


@given(INPUTS, st.sampled_from([1, 2, 8]))
def test_only_known_fields_are_kept_each_within_its_limit(hook_input: dict[str, Any], divisor: int) -> None:
    kept = payload.trim(hook_input, divisor)
    assert set(kept) <= {*FIELDS, "prompt_sha256", "prompt_bytes", "jobs"} - {"tool_response", "session_crons"}
    if not isinstance(hook_input.get("last_assistant_message"), str):
        hook_input = hook_input | {"last_assistant_message": hook_input.get("prompt_response")}
    for name, limit in payload.TEXT_LIMITS.items():
        if isinstance(kept.get(name), str):
            head, gap, tail = kept[name].partition(payload.GAP) if name in payload.BOTH_ENDS else (kept[name], "", "")
            assert hook_input[name].encode("utf-8", "replace").startswith(head.encode() if gap else kept[name].encode())
            assert hook_input[name].encode("utf-8", "replace").endswith(tail.encode())
            assert len(kept[name].encode()) <= limit // divisor
    # Whatever came in, what goes out is JSON that any language reads.
    assert json.loads(json.dumps(kept, allow_nan=False)) == kept


@given(st.text(max_size=6000), st.sampled_from([1, 2, 8]))
def test_both_ends_of_what_was_said_last_are_kept(said: str, divisor: int) -> None:
    (kept,) = payload.trim({"last_assistant_message": said}, divisor).values()
    whole, room = said.encode("utf-8", "replace"), payload.TEXT_LIMITS["last_assistant_message"] // divisor
    if len(whole) <= room:
        assert kept.encode() == whole
        return
    head, _, tail = kept.rpartition(payload.GAP) if kept.count(payload.GAP) == 1 else kept.partition(payload.GAP)
    assert whole.startswith(head.encode())
    assert whole.endswith(tail.encode())
    assert min(len(head.encode()), len(tail.encode())) >= (room - len(payload.GAP)) // 2 - 4


def test_what_was_said_last_is_told_by_one_name_whichever_the_cli_has_for_it() -> None:
    """The answer to a check of the Gemini CLI was never told, and so each was a miss."""
    raw, read = json.dumps({"prompt": "Go on.", "prompt_response": "266cee"}).encode(), scan.Scan()
    read.feed(raw)
    for hook_input in (read.result(), {"prompt": "Go on.", "prompt_response": "266cee"}):
        assert hook_input["prompt_response"] == "266cee", "what is asked of its end reads it by its own name"
        kept = payload.trim(hook_input)
        assert kept["last_assistant_message"] == "266cee"
        assert "prompt_response" not in kept
    both = payload.trim({"prompt_response": "a", "last_assistant_message": "b"})
    assert both == {"last_assistant_message": "b"}


def test_of_a_report_the_first_and_the_last_kibibyte_arrive() -> None:
    report = "BEGIN" + "a" * 1019 + "x" * 1_000_000 + "b" * 1019 + "ENDED"
    raw, read = json.dumps({"hook_event_name": "Stop", "last_assistant_message": report}).encode(), scan.Scan()
    for at in range(0, len(raw), 4096):
        read.feed(raw[at : at + 4096])

    for hook_input in (read.result(), {"last_assistant_message": report}):
        assert payload.trim(hook_input) == {"last_assistant_message": report[:1024] + payload.GAP + report[-1024:]}


@pytest.mark.parametrize("words", ["日本", 'a"\\', "é", "😀", "\\u", "\n\\n", "plain words "])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_the_end_of_a_long_text_is_read_as_it_is_wherever_its_pieces_are_cut(words: str, is_ascii: bool) -> None:
    for shift in range(14):
        report = "y" * shift + words * (80_000 // len(words)) + "." * (shift % 5)
        raw, read = json.dumps({"last_assistant_message": report}, ensure_ascii=is_ascii).encode(), scan.Scan()
        for at in range(0, len(raw), 1009):
            read.feed(raw[at : at + 1009])
        assert payload.trim(read.result()) == payload.trim({"last_assistant_message": report})


@given(INPUTS, st.booleans(), st.sampled_from([None, 1]), st.lists(st.integers(1, 200), min_size=1))
def test_promise_10_a_large_input_is_read_piece_by_piece_as_it_would_be_whole(
    hook_input: dict[str, Any], is_ascii: bool, indent: int | None, pieces: list[int]
) -> None:
    try:
        raw = json.dumps(hook_input, ensure_ascii=is_ascii, indent=indent).encode()
    except UnicodeEncodeError:
        raw = json.dumps(hook_input, indent=indent).encode()
    read, at = scan.Scan(), 0
    while at < len(raw):
        size = pieces[at % len(pieces)] * (1 if len(raw) < 4096 else 100)
        read.feed(raw[at : at + size])
        at += size
    found = read.result()
    assert payload.trim(found) == payload.trim(hook_input)
    # What is shown to be approved is all of it, or nothing.
    assert payload.asked(found) in (payload.asked(hook_input), None)


@given(
    st.lists(st.sampled_from([*'{}[]",:\\u0 ', "1", "tool_input", '"prompt"', "null"])).map("".join), st.integers(1, 9)
)
def test_a_large_input_of_any_kind_is_read_or_refused(text: str, size: int) -> None:
    raw, read = b'{"prompt":' + text.encode(), scan.Scan()
    with contextlib.suppress(scan.Malformed):
        for at in range(0, len(raw), size):
            read.feed(raw[at : at + size])
        read.result()


def test_a_cut_text_ends_before_the_character_that_the_cut_went_through() -> None:
    for tail in ("é", "😀", "\\", '"', "\x01", "\ud83d"):
        for shift in range(8):
            for is_ascii in (True, False):
                text = "x" * (scan.TEXT_LIMIT - shift) + tail * 20
                raw = json.dumps({"message": text}, ensure_ascii=is_ascii).encode("utf-8", "replace")
                read = scan.Scan()
                read.feed(raw)
                assert text.startswith(read.result()["message"].rstrip("?\ud83d"))


def test_a_prompt_is_cut_but_its_sum_is_of_all_of_it() -> None:
    kept = payload.trim({"prompt": "ü" * 10_000})
    assert kept["prompt"] == "ü" * 4096
    assert kept["prompt_bytes"] == 20_000
    assert kept["prompt_sha256"] == hashlib.sha256(("ü" * 10_000).encode()).hexdigest()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, True, "600000", None])
def test_a_timeout_that_is_no_number_is_not_kept(value: object) -> None:
    assert payload.trim({"tool_input": {"timeout": value}}) == {"tool_input": {}}


def test_background_tasks_are_counted() -> None:
    assert payload.trim({"background_tasks": [{"id": 1}, {"id": 2}], "stop_hook_active": True}) == {
        "background_tasks": 2,
        "jobs": ["job: ", "job: "],
        "stop_hook_active": True,
    }


def test_what_goes_on_in_the_background_is_named_and_bounded() -> None:
    """As Claude Code 2.1.197 and 2.1.330 tell it at the end of a turn."""
    told = payload.trim(
        {
            "background_tasks": [
                {"id": "b", "type": "shell", "status": "running", "description": "Run", "command": "make\n  world"},
                {"id": "c", "type": "shell", "status": "completed", "command": "true"},
                7,
            ],
            "session_crons": [
                {"id": "x", "schedule": "*/5 * * * *", "recurring": True, "prompt": "Check the queue."},
                {"id": "y", "schedule": "50 12 * * *", "recurring": False, "prompt": "Look at the build."},
            ],
        }
    )
    assert told["jobs"] == [
        "shell: make world", "schedule: */5 * * * * Check the queue.", "wake-up: 50 12 * * * Look at the build.",
    ]  # fmt: skip
    many = payload.trim({"background_tasks": [{"type": "shell", "command": "x" * 10_000}] * 100})["jobs"]
    assert len(many) == payload.MOST_JOBS
    assert all(len(line) == payload.JOB_LIMIT for line in many)


@pytest.mark.parametrize("value", [[], {}, None, 7, True, [[["x"]]]])
def test_a_background_job_of_any_shape_costs_the_shim_nothing(value: object) -> None:
    """An agent can post what it likes, and a fault in reading it would end the shim, and the agent with it."""
    told = payload.trim(
        {
            "background_tasks": [dict.fromkeys(("status", "type", "command", "description"), value)],
            "session_crons": [dict.fromkeys(("recurring", "schedule", "prompt"), value)],
        }
    )
    assert told["jobs"] == ["job: ", "schedule: " if value is True else "wake-up: "]


def test_what_is_nested_too_deep_to_be_printed_is_no_word_of_a_job() -> None:
    nested: object = "x"
    for _ in range(100_000):
        nested = [nested]
    assert payload.trim({"session_crons": [{"schedule": nested, "prompt": "look"}]})["jobs"] == ["wake-up: look"]


@pytest.mark.parametrize("limit", range(8))
def test_a_cut_never_splits_a_character(limit: int) -> None:
    assert payload.cut("a🐦b", limit) == ("" if limit < 1 else "a" if limit < 5 else "a🐦" if limit < 6 else "a🐦b")


def test_half_a_surrogate_pair_becomes_what_utf_8_can_hold() -> None:
    assert payload.cut("a\ud83d", 10) == "a?"


def test_p15_a_call_whose_tool_is_not_named_whole_is_not_held() -> None:
    for tool in ("x" * 257, "mcp__x\ud800"):
        assert payload.asked({"tool_name": tool, "tool_input": {"a": 1}}) is None
    assert payload.asked({"tool_name": "x" * 256, "tool_input": {"a": 1}}) is not None


@pytest.mark.parametrize(("stage", "number", "name"), [("terminal", 25, "ENOTTY"), ("setup", 1, "EPERM")])
def test_f_tmux_2_a_program_that_got_no_terminal_is_told_by_what_its_start_was_at(
    stage: str, number: int, name: str
) -> None:
    """The daemon cannot read it from the words, and counted it as a crash of the agent."""
    failure = launch.explain(f"{stage} {number}".encode(), SimpleNamespace(argv=[b"true"]))
    assert (failure.code, failure.errno_name, failure.stage) == (0, name, stage)
