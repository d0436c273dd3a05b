"""Acts of an operator that are taken back."""

from __future__ import annotations

from phoenixd.core.events.orders import UndoRequested
from tests.core.story import Story

DAY = 86400.0


def gone(story: Story) -> Story:
    """Bring the run that is being ended to its end."""
    story.exited(None, 15)
    if story.fleet.agents and story.agent.run is not None:
        story.tree_gone()
    return story


def undo(story: Story, act: str = "1") -> None:
    assert story.tell(UndoRequested("a", act, "ada")) is None
