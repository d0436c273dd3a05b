"""Starts that failed, as shims tell of them."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.agent.state import BackingOff, Running, Starting
from phoenixd.core.events.fleet import TerminalEnded, TerminalSeen
from phoenixd.core.events.runs import AgentExited
from phoenixd.runtime.failed_starts import start_failed
from tests.core.story import Story, spec

CUT_SHORT = [
    {"errno": "EINTR", "message": "killed before the program was started"},
    {"errno": "busy", "message": "the shim is leaving", "leaving": True},
    {"errno": "ENOTTY", "message": "terminal: Inappropriate ioctl for device", "stage": "terminal"},
    {"errno": "EIO", "message": "terminal: Input/output error", "stage": "terminal", "leaving": True},
]
"""What a shim says of a start whose terminal goes, by how far the start had come."""


@pytest.mark.parametrize("word", CUT_SHORT, ids=lambda word: word["errno"])
def test_f_tmux_2_a_start_that_the_end_of_the_tmux_server_cuts_short_is_begun_again_at_once(
    word: dict[str, Any],
) -> None:
    """The server ended twice within a second: its shim was told to go before it had executed anything."""
    story = Story(spec()).runs()
    story.pass_over(60)
    story.tell(TerminalEnded())
    story.tell(AgentExited("a", 1, story.run.run_id, None, 1, cause="terminal_lost"))
    story.tell(TerminalSeen(True))
    assert isinstance(story.state, Starting)

    story.pass_over(0.2)
    story.tell(TerminalEnded())
    story.tell(start_failed("a", {"incarnation": 2, "code": 0, **word}, story.agent))
    assert isinstance(story.state, BackingOff)
    assert story.agent.crashes == ()
    story.tell(TerminalSeen(True))

    assert isinstance(story.state, Starting)
    story.started()
    assert isinstance(story.state, Running)
    assert story.fleet.alerts == ()


def test_a_shim_that_is_busy_and_stays_or_a_program_without_a_terminal_of_its_own_has_lost_none() -> None:
    words: list[dict[str, Any]] = [
        {"errno": "busy", "leaving": False}, {"errno": "busy"}, {"errno": "busy", "leaving": "yes"},
        {"errno": "ENOTTY", "stage": "exec"}, {"errno": "EPERM", "stage": "terminal"},
    ]  # fmt: skip
    told = [start_failed("a", {"incarnation": 2, "message": "x", **word}, None) for word in words]
    assert [(one.code, one.obstacle) for one in told] == [(0, "other")] * 3 + [(1, "other")] * 2
