"""Claude Code's status line: ours in the settings that we pass, the operator's own found as the CLI would find it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phoenixd.core.spec import AgentSpec, ContextRules
from phoenixd.harness import HARNESSES
from phoenixd.harness.claude import status_line

HOOK = "/var/lib/phoenixd/lib/it's here/phoenix-hook"
FILES = ("/w/.claude/settings.local.json", "/w/.claude/settings.json", "/h/.claude/settings.json")


def entry(command: Any, **more: Any) -> bytes:
    return json.dumps({"statusLine": {"type": "command", "command": command, **more}}).encode()


def operators(files: dict[str, bytes], **environment: str) -> str | None:
    return status_line.operators({"HOME": "/h", **environment}, "/w", files.get)


def test_ours_stands_in_the_settings_unless_it_is_switched_off() -> None:
    spec = AgentSpec("a", ("claude",), "/w", harness="claude")
    made = HARNESSES["claude"].settings(spec, "u", "t", HOOK) or {}
    assert made["statusLine"] == {
        "type": "command",
        "command": "'/var/lib/phoenixd/lib/it'\"'\"'s here/phoenix-hook' status-line",
    }
    off = AgentSpec("a", ("claude",), "/w", harness="claude", context=ContextRules(status_line=False))
    assert "statusLine" not in (HARNESSES["claude"].settings(off, "u", "t", HOOK) or {})


def test_the_nearest_file_wins() -> None:
    files = {path: entry(f"show {number}") for number, path in enumerate(FILES)}

    assert operators(files) == "show 0"
    assert operators({path: files[path] for path in FILES[1:]}) == "show 1"
    assert operators({FILES[2]: files[FILES[2]]}) == "show 2"
    assert operators({"/c/settings.json": entry("mine")}, CLAUDE_CONFIG_DIR="/c") == "mine"
    assert operators({}) is None


@pytest.mark.parametrize(
    "command",
    [f"{HOOK} status-line", "cat | phoenix-hook status-line", "", "  ", 5, None, "a\0b", "x" * 5000],
)
def test_never_a_loop_and_nothing_that_is_no_command(command: Any) -> None:
    assert operators({FILES[2]: entry(command)}) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"statusLine": "x"}', b'{"statusLine": {"type": "http"}}'])
def test_odd_settings_hold_no_status_line(content: bytes) -> None:
    assert operators({FILES[2]: content}) is None


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-opus-4-8[1m]", 1_000_000), ("claude-opus-4-8[1M]", 1_000_000), ("claude-opus-4-8", None),
        ("claude-sonnet-4-5", None), ("", None), ("[1m", None), ("[1m] ", None),
    ],
)  # fmt: skip
def test_e16_a_models_name_says_its_window_or_nothing(model: str, window: int | None) -> None:
    assert HARNESSES["claude"].window_of(model) == window
