"""X9: where the journal was lost, what an adopted agent is at is what its shim heard last, its screen or its hooks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core import projection
from phoenixd.core.agent.state import Running
from phoenixd.core.behind.verdicts import judge
from phoenixd.core.behind.world import Trace, Wish
from phoenixd.core.condition import activity_word, group
from phoenixd.core.events.fleet import JournalBehind
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.fleet import Fleet
from phoenixd.core.spec import AgentSpec
from tests.core.behind import NEW, NOW, SPEC, world
from tests.core.story import Story

CLAUDE = replace(SPEC, harness="claude", prompt="Build the shop.")


@pytest.mark.parametrize(
    ("declared", "heard", "word", "is_guessed"),
    [
        (SPEC, "", None, False),
        (SPEC, "session-start", "idle", False),
        (SPEC, "stop", "idle", False),
        (SPEC, "tool-end", "working", False),
        (SPEC, "notification", None, True),
        (CLAUDE, "", None, True),
        (CLAUDE, "session-start", None, True),
        (CLAUDE, "stop", "idle", False),
        (CLAUDE, "stop-failure", "idle", False),
        (CLAUDE, "prompt-submit", "working", False),
        (CLAUDE, "of a subagent", None, True),
    ],
)
def test_x9_what_an_adopted_agent_is_at_is_what_its_shim_last_heard_and_unknown_where_that_does_not_tell(
    declared: AgentSpec, heard: str, word: str | None, is_guessed: bool
) -> None:
    """A program that never tells of its turns is no idle one because the journal was lost."""
    trace = Trace("a", Wish("running", 18), "runs", replace(NEW, heard=heard), NEW, 3)
    judged = judge(world(trace), trace, None, declared, NOW)
    assert judged is not None
    assert judged.agent is not None
    assert isinstance(judged.agent.state, Running)
    assert (activity_word(judged.agent), judged.agent.state.run.guessed) == (word, is_guessed)
    assert judged.agent.hooks_seen is bool(heard)
    assert group(judged.agent) == ("resting" if word == "idle" else "working")


@pytest.mark.parametrize(("screen", "word"), [("working", "working"), ("idle", "idle")])
def test_an_adopted_agent_of_which_nothing_is_known_is_looked_at_and_is_then_what_its_screen_says(
    screen: str, word: str
) -> None:
    trace = Trace("a", Wish("running", 18), "runs", NEW, NEW, 3)
    story = Story()
    story.fleet = Fleet()
    story.screen = None
    story.tell(JournalBehind("it is lost", world(trace), (CLAUDE,)))
    story.tell(RunAdopted("a", 3, 30, 1, True))
    assert activity_word(story.agent) is None
    story.screen = "unknown"
    story.wait(30)
    assert activity_word(story.agent) is None, "a look that tells nothing is no look"
    story.screen = screen
    story.wait(60)
    assert activity_word(story.agent) == word
    assert not projection.row(story.agent, story.now).is_guessed


def test_a_hook_tells_what_an_adopted_agent_is_at_before_any_look() -> None:
    trace = Trace("a", Wish("running", 18), "runs", NEW, NEW, 3)
    for kind, word in (("tool-end", None), ("tool-start", "working"), ("stop", "idle"), ("prompt-submit", "working")):
        story = Story()
        story.fleet = Fleet()
        story.screen = None
        story.tell(JournalBehind("it is lost", world(trace), (CLAUDE,)))
        story.hook(kind, **({"text": "on"} if kind == "prompt-submit" else {}))
        assert activity_word(story.agent) == word, kind
