"""What an incident's file holds: the last hundred lines, bounded, without control characters and secrets."""

from __future__ import annotations

from typing import Literal

import pytest

from phoenixd.core.agent.run import Incident
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
from phoenixd.shim.notice import MARK, default_notice, failed_notice, marked

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


END = {"code": 1, "ended_at": "2026-11-30T00:00:00.123Z"}
MARKED = [marked(line) for line in default_notice("docs", END)]
OLDER = [
    "phoenixd: docs ended with exit status 1 at 2026-11-30T00:00:00.123Z.",
    "Nothing typed here runs. To start it: phoenixctl start docs",
]
"""As a shim of an older version wrote it, which may live for weeks."""
BELOW = pytest.mark.parametrize("below", [MARKED, OLDER], ids=["marked", "by an older shim"])


def screen(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


@BELOW
def test_c41_a_terminal_is_kept_as_its_agent_left_it_without_our_own_words_below(below: list[str]) -> None:
    assert as_left(screen("Traceback", "KeyError: 7", "", *below), "docs") == "Traceback\nKeyError: 7"
    assert as_left(screen(*below), "docs") == ""
    assert as_left("Traceback\nKeyError: 7\n", "docs") == "Traceback\nKeyError: 7\n"
    assert as_left(screen("KeyError: 7", *below, "$ "), "docs").endswith("$ \n"), "it runs, and this is its own"


def test_our_words_are_known_by_their_mark_whatever_they_say() -> None:
    failed = [marked(line) for line in failed_notice("docs", "no such file")]
    assert as_left(screen("KeyError: 7", *failed), "docs") == "KeyError: 7"
    assert as_left(screen("KeyError: 7", marked("Bonjour"), marked("à tous")), "docs") == "KeyError: 7"


def test_an_agent_that_prints_our_mark_hides_two_lines_of_its_own_and_no_more() -> None:
    """An operator, and who reads a failure, still see what it did before."""
    printed = [f"{MARK}{number}" for number in range(5)]
    assert as_left(screen("rm -rf /", *printed), "docs") == screen("rm -rf /", *printed[:3]).rstrip()
    assert as_left(screen("rm -rf /", *printed, *MARKED), "docs") == screen("rm -rf /", *printed).rstrip()
    assert as_left(screen("phoenixd: cannot start: no such file"), "docs").startswith("phoenixd: cannot"), "no mark"


@BELOW
@pytest.mark.parametrize("shows", ["", "bad key"])
def test_what_a_run_left_is_not_what_the_run_before_it_left_above(below: list[str], shows: str) -> None:
    """A shim takes away the last line alone when the next run begins."""
    left = as_left(screen("no network", "", below[0], "no key", below[0], shows, *below), "docs")
    assert last_paragraph(of_last_run(left, "docs"), str) == shows
    assert "no network" in left
    assert last_paragraph(of_last_run(as_left(screen(shows, *below), "docs"), "docs"), str) == shows
