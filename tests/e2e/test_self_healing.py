"""The how-to page on self-healing does what it says, command by command (G67)."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from phoenixd.harness.claude.launch import BASH_TIMEOUTS
from tests.e2e.census import all_ends
from tests.proof import healing


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="not run: git is not installed")
def test_g67_g2_g27_g28_g29_g30_the_seeds_four_tests_run_as_the_page_has_them(short_tmp: Path) -> None:
    code, said = healing.play(short_tmp)

    assert code == 0, said
    beats = [json.loads(line) for line in re.findall(r'^\{"agent".*\}$', said, re.MULTILINE)]
    assert [(beat["agent"], beat["tool"]) for beat in beats[:2]] == [("trial", "test_tool"), ("trial", "Bash")]
    assert all(beat["timestamp"] and beat["pid"] for beat in beats)
    assert "ended as hung (124)" in said
    assert "the breaker of idle is OPEN" in said
    assert "exit code 3" in said
    assert said.index("the breaker of idle is OPEN") < said.index("the breaker of idle is CLOSED")
    all_ends(short_tmp)


def test_g67_what_the_page_says_of_claudes_timeouts_is_so() -> None:
    page = healing.PAGE.read_text(encoding="utf-8")

    assert all(f"`{name}` {value}" in page for name, value in BASH_TIMEOUTS.items())
