"""An agent that fails, comes back and works, and the Cases that are made of it."""

from __future__ import annotations

from phoenixd.core.agent.state import Running
from phoenixd.core.treatment.case import Case
from phoenixd.core.treatment.evidence import Evidence
from tests.core.story import Story

CONTEXT = Evidence(occasion="crash", harness="claude", code=1, cause="exit", failure="full", said="Prompt is too long")


def cases(story: Story) -> tuple[Case, ...]:
    return story.fleet.cases.cases


def case(story: Story) -> Case:
    assert len(cases(story)) == 1, cases(story)
    return cases(story)[0]


def back(story: Story) -> Story:
    """The next run begins and works."""
    return story.respawned().works()


def turn(story: Story) -> None:
    """A turn that holds a completed call and ends well; the one that is open, where one is."""
    if not (isinstance(story.state, Running) and story.state.activity.turn_open):
        story.hook("prompt-submit", text="and now this")
    story.hook("tool-start", tool="Bash", tool_use_id="t")
    story.hook("tool-end", tool="Bash", tool_use_id="t")
    story.hook("stop")


def dies(story: Story, signal: int = 9) -> None:
    story.pass_over(400)
    story.exited(signal=signal)
