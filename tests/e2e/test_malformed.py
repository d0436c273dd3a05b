"""140,000 damaged inputs for the parsers of what an agent or a stranger can write: refused or read, no more."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import date

import pytest

from phoenixd.core.events import Event
from phoenixd.core.hooks import Hook
from phoenixd.core.step import step
from phoenixd.documents.brief.page import recover_state
from phoenixd.documents.heartbeat import read_heartbeat
from phoenixd.documents.hooks import hook_event
from phoenixd.documents.resolved import read_resolutions
from phoenixd.documents.session import read_bookkeeping
from phoenixd.documents.state_reading import read_state
from phoenixd.drivers.shims.wire import Malformed, decode, parse_hello
from tests.core.story import Story, claude

pytestmark = pytest.mark.slow

CASES = 20_000
TODAY = date(2026, 11, 21)
HOOK = {
    "hook_event_name": "PreToolUse", "session_id": "5e0a3c1e-6b7c-4d8e-9f00-112233445566", "tool_name": "Bash",
    "tool_use_id": "t1", "tool_input": {"command": "make", "timeout": 60000}, "agent_id": "", "prompt": "go on",
}  # fmt: skip
HELLO = {
    "event": "hello", "protocol": 1, "version": "0.1.0", "agent": "a", "pid": 10, "start_time": 11, "boot_id": "b",
    "hook_port": 40001, "run": {"incarnation": 1, "run_id": "r", "pid": 12, "start_time": 13}, "exit": None,
}  # fmt: skip
STATE = {
    "agent": "a", "status": "working", "current_task": "x", "last_active": "2026-02-17T02:00:00Z",
    "open_loops": [{"id": "auth-flow", "text": "t", "added": "2026-02-15"}], "resolved": [], "numbers": {"n": "1/2"},
}  # fmt: skip
JUNK = [
    b"\x00",
    b"\xff\xfe",
    b"{" * 40,
    b"1e999",
    b"NaN",
    b'"\\ud800"',
    b"null",
    b"[]",
    b"-0",
    b"\xe2\x80\xae",
    b"9" * 400,
]


def damaged(whole: bytes, dice: random.Random) -> bytes:
    """Cut, flipped, repeated, or with junk put in: one to four wounds."""
    data = bytearray(whole)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(5):
            case 0:
                del data[at : at + dice.randint(1, 30)]
            case 1 if data:
                data[at % len(data)] ^= 1 << dice.randrange(8)
            case 2:
                data[at:at] = dice.choice(JUNK)
            case 3:
                data[at:at] = data[: dice.randint(0, 60)]
            case _:
                del data[at:]
    return bytes(data)


def test_promise_7_twenty_thousand_damaged_states_heartbeats_and_logs_are_read_or_refused() -> None:
    whole = json.dumps(STATE).encode()
    beat = b'{"agent": "a", "timestamp": "2026-11-21T10:00:00+01:00", "tool": "Bash", "pid": 7}'
    closed = b'{"id": "auth-flow", "reason": "done", "ts": "2026-11-21T10:00:00Z", "domain": "a"}\n' * 3
    readers: list[Callable[[random.Random], object]] = [
        lambda dice: read_state(damaged(whole, dice), "a", TODAY),
        lambda dice: read_heartbeat(damaged(beat, dice), 1.8e9),
        lambda dice: list(read_resolutions(damaged(closed, dice))),
        lambda dice: read_bookkeeping(damaged(whole, dice)),
        lambda dice: recover_state(damaged(whole, dice).decode(errors="replace"), "a"),
    ]
    read = _each(readers, CASES)
    assert read == CASES * len(readers)


def test_promise_7_twenty_thousand_damaged_words_of_a_shim_change_no_state_that_they_should_not() -> None:
    dice, hello, refused = random.Random(7), json.dumps(HELLO).encode(), 0
    for _ in range(CASES):
        try:
            parse_hello(decode("a", damaged(hello, dice)).body)
        except Malformed:
            refused += 1
    assert 0 < refused <= CASES


def test_promise_7_damaged_hooks_never_break_the_core_nor_grow_it() -> None:
    story = Story(claude()).runs()
    dice, whole, heard = random.Random(8), json.dumps(HOOK).encode(), 0
    kinds = ["tool-start", "tool-end", "prompt-submit", "stop", "notification", "permission-request", "session-start"]
    for _ in range(CASES):
        try:
            payload = json.loads(damaged(whole, dice))
        except (ValueError, RecursionError):
            continue
        if not isinstance(payload, dict) or story.agent.run is None:
            continue
        event: Event = hook_event("a", story.run.incarnation, dice.choice(kinds), payload)
        assert isinstance(event, Hook)
        story.fleet = step(story.fleet, event, story.now).fleet
        heard += 1
    assert heard > 100
    assert len(repr(story.agent)) < 50_000


def _each(readers: list[Callable[[random.Random], object]], cases: int) -> int:
    dice, read = random.Random(20261121), 0
    for reader in readers:
        for _ in range(cases):
            reader(dice)
            read += 1
    return read
