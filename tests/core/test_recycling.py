"""Exit 100 and 101 ask for a fresh start, and are no crash."""

from __future__ import annotations

import pytest

from phoenixd.core import restart
from phoenixd.core.actions import Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Quarantined
from phoenixd.core.spec import Kind
from tests.core.story import Story, claude, spec

# E: exit 100 and 101 ask for a fresh start, and are no crash.


@pytest.mark.parametrize("code", [100, 101])
@pytest.mark.parametrize("kind", ["resident", "orchestrator", "ephemeral", "loop"])
def test_exit_100_and_101_are_a_fresh_start_with_the_brief_and_no_crash(kind: str, code: int) -> None:
    story = Story(claude(kind=Kind(kind))).works()
    first = story.spawn.session_id
    story.hook("tool-end", tool="Bash")
    story.hook("stop")
    story.pass_over(60)
    story.exited(code)
    story.respawned()
    assert story.agent.crashes == ()
    assert story.spawn.mode is Mode.FRESH
    assert story.spawn.session_id != first
    assert story.spawn.prompt is (PromptKind.GOAL if kind == "loop" else PromptKind.CONTINUE)
    assert any("asks to be recycled" in reason for reason in story.reasons)


def test_a_session_that_asked_to_be_recycled_is_never_gone_back_to() -> None:
    story = Story(claude(kind=Kind.ORCHESTRATOR)).works()
    first = story.spawn.session_id
    story.exited(100)
    story.respawned()
    story.stop()
    story.exited(143)
    story.start()
    assert first not in [spawn.session_id for spawn in story.of(Spawn)[1:]]


def test_who_asks_to_be_recycled_within_moments_waits_each_time_also_where_it_has_something_to_show() -> None:
    story = Story(claude()).works()
    story.hook("tool-end", tool="Bash")
    story.hook("stop")
    story.pass_over(1)
    story.exited(100)
    assert isinstance(story.state, BackingOff)
    assert story.state.until - story.at >= restart.HOST_RETRY


def test_who_does_nothing_but_ask_to_be_recycled_is_slowed_down_and_given_up() -> None:
    """A Rust program that panics exits with 101 as well."""
    story = Story(spec())
    waits = []
    while not isinstance(story.state, Quarantined):
        story.lives(1, 101)
        waits.append(story.state.until - story.at if isinstance(story.state, BackingOff) else 0.0)
        if not isinstance(story.state, Quarantined):
            story.respawned()
    assert len(story.of(Spawn)) == 8
    assert waits[0] == 0.0
    assert waits[2:6] == sorted(waits[2:6])
    assert waits[5] > 1
