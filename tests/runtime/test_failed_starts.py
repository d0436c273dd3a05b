"""Starts that failed, as shims tell of them."""

from __future__ import annotations

from phoenixd.core.agent.state import BackingOff, Running, Starting
from phoenixd.core.events.fleet import TerminalEnded, TerminalSeen
from phoenixd.core.events.runs import AgentExited
from phoenixd.runtime.failed_starts import start_failed
from tests.core.story import Story, spec


def test_f_tmux_2_a_start_that_the_end_of_the_tmux_server_cuts_short_is_begun_again_at_once() -> None:
    """The server ended twice within a second: its shim was told to go before it had executed anything."""
    story = Story(spec()).runs()
    story.pass_over(60)
    story.tell(TerminalEnded())
    story.tell(AgentExited("a", 1, story.run.run_id, None, 1, cause="terminal_lost"))
    story.tell(TerminalSeen(True))
    assert isinstance(story.state, Starting)

    story.pass_over(0.2)
    story.tell(TerminalEnded())
    word = {"incarnation": 2, "code": 0, "errno": "EINTR", "message": "killed before the program was started"}
    story.tell(start_failed("a", word, story.agent))
    assert isinstance(story.state, BackingOff)
    story.tell(TerminalSeen(True))

    assert isinstance(story.state, Starting)
    story.started()
    assert isinstance(story.state, Running)
    assert story.fleet.alerts == ()
