"""What an incident's file holds: the last hundred lines, bounded, without control characters and secrets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from phoenixd.core.agent.run import Incident
from phoenixd.documents import incident
from phoenixd.documents.incident import (
    LINE_LIMIT,
    LINES,
    as_left,
    incident_sentence,
    last_paragraph,
    of_last_run,
    screen_lines,
)
from phoenixd.documents.redact import redact

SHIM = Path(incident.__file__).parents[1] / "shim"

KEY = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkq\n" * 5 + "-----END PRIVATE KEY-----"


def test_g43_the_last_hundred_lines_are_kept() -> None:
    screen = "\n".join(f"line {number}" for number in range(1000)) + "\n" * 30
    assert screen_lines(screen, redact) == [f"line {number}" for number in range(900, 1000)]


def test_lines_are_bounded_plain_and_without_secrets_that_span_them() -> None:
    screen = f"{'x' * 100_000}\n\x1b]2;title\x07\x1b[31mred\u202e\n{KEY}\nexport TOKEN=hunter2hunter2"
    lines = screen_lines(screen, redact)
    assert len(lines) <= LINES
    assert all(len(line) <= LINE_LIMIT for line in lines)
    told = "\n".join(lines)
    assert "red" in told
    assert not any(odd in told for odd in ("\x1b", "\u202e", "MIIEv", "hunter2"))


@pytest.mark.parametrize(
    ("kind", "reason", "said"),
    [
        ("hung", "hung: a turn is open, and nothing was heard for 15 min", "as hung: a turn is open, and nothing"),
        ("overtime", "ran 45 min, the most an iteration may take", "as overtime: ran 45 min, the most"),
    ],
)
def test_g43_the_next_session_is_told_once_of_which_kind_its_incident_was(
    kind: Literal["hung", "overtime"], reason: str, said: str
) -> None:
    told = incident_sentence(Incident(1, kind, reason, 1.7e9))
    assert said in told
    assert told.count(kind) == 2, "in its words, and in the name of its file"


def test_c41_a_terminal_is_kept_as_its_agent_left_it_without_our_own_words_below() -> None:
    shows = "from terminal import default_notice; print(*default_notice('docs', {'code': 3}), sep='\\n')"
    ours = subprocess.run([sys.executable, "-c", shows], cwd=SHIM, capture_output=True, text=True, check=True).stdout
    assert as_left(f"Traceback\nKeyError: 7\n\n{ours}", "docs") == "Traceback\nKeyError: 7"
    assert as_left(ours, "docs") == ""
    assert as_left("Traceback\nKeyError: 7\n", "docs") == "Traceback\nKeyError: 7\n"
    assert as_left(f"KeyError: 7\n{ours}$ ", "docs").endswith("$ "), "an agent's own words are none of ours"


def shim_says(code: int, agent: str, columns: int) -> str:
    """What a shim writes below a run, as a terminal of so many columns shows it."""
    shows = (
        "import sys; from terminal import default_notice; at = '2026-11-30T00:00:00.123Z'; "
        "print(*default_notice(sys.argv[1], {'code': int(sys.argv[2]), 'ended_at': at}), sep='\\n')"
    )
    argv = [sys.executable, "-c", shows, agent, f"{code}"]
    said = subprocess.run(argv, cwd=SHIM, capture_output=True, text=True, check=True).stdout
    rows = [line[at : at + columns].rstrip() for line in said.splitlines() for at in range(0, len(line), columns)]
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("columns", [120, 80, 40])
@pytest.mark.parametrize("shows", ["", "bad key\n"])
def test_what_a_run_left_is_not_what_the_run_before_it_left_above(columns: int, shows: str) -> None:
    """A shim takes away the last line alone when the next run begins."""
    agent = "a" * 32
    below = shim_says(1, agent, columns)
    stays = below[: below.index("Nothing")]
    screen = f"no network\n\n{stays}{shows}\n{below}"
    left = as_left(screen, agent)
    assert last_paragraph(of_last_run(left, agent), str) == shows.strip()
    assert "no network" in left
    assert last_paragraph(of_last_run(as_left(f"{shows}\n{below}", agent), agent), str) == shows.strip()
