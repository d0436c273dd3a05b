"""Claude Code's status line: ours in the settings that we pass, the operator's own found as the CLI would find it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.rules import ContextRules
from phoenixd.core.spec import AgentSpec
from phoenixd.harness import HARNESSES
from phoenixd.harness.claude import status_line

HOOK = "/var/lib/phoenixd/lib/it's here/phoenix-hook"
FILES = ("/w/.claude/settings.local.json", "/w/.claude/settings.json", "/h/.claude/settings.json")


def entry(command: Any, **more: Any) -> bytes:
    return json.dumps({"statusLine": {"type": "command", "command": command, **more}}).encode()


def operators(files: dict[str, bytes], **environment: str) -> str | None:
    return status_line.operators({"HOME": "/h", **environment}, "/w", files.get)


CLAUDE = HARNESSES["claude"]
SPEC = AgentSpec("a", ("claude",), "/w", harness="claude")


def test_ours_is_passed_as_a_command_for_a_shell() -> None:
    assert CLAUDE.status_line(SPEC, HOOK, "2.1.330") == {
        "statusLine": {
            "type": "command",
            "command": "'/var/lib/phoenixd/lib/it'\"'\"'s here/phoenix-hook' status-line",
        }
    }


def test_switched_off_none_is_passed() -> None:
    assert CLAUDE.status_line(replace(SPEC, context=ContextRules(status_line=False)), HOOK, "2.1.330") == {}


@pytest.mark.parametrize("version", ["2.1.197", "2.1.329", "1.9.999", None, "", "2.1", "2.1.330-beta", "x" * 99])
def test_none_is_passed_to_a_release_whose_screen_is_not_known_to_be_read_with_it(version: str | None) -> None:
    """With a status line on, 2.1.197 looks idle while it streams an answer."""
    assert CLAUDE.status_line(SPEC, HOOK, version) == {}


@pytest.mark.parametrize("version", ["2.1.330", "2.1.1000", "2.2.0", "3.0.0"])
def test_a_release_that_was_read_with_it_and_later_ones_get_it(version: str) -> None:
    assert CLAUDE.status_line(SPEC, HOOK, version)


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
