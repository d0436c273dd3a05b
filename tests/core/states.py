"""An agent in each of its states, and every event that can be said of a run."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.core.events import RunEvent
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    AgentVanished,
    Delivered,
    NotDelivered,
    RunAdopted,
    RunMissing,
    ShimLost,
    StartFailed,
    TreeGone,
    TreeLingers,
)
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story


def about(incarnation: int, run_id: str = "") -> list[RunEvent]:
    """Every event that can be said of a run."""
    return [
        AgentStarted("a", incarnation, run_id, 7, 70),
        StartFailed("a", incarnation, 127, "gone"),
        StartFailed("a", incarnation, 0, "busy"),
        AgentExited("a", incarnation, run_id, 0, None),
        AgentExited("a", incarnation, run_id, None, 9, cause="terminal_lost"),
        AgentVanished("a", incarnation),
        ShimLost("a", incarnation),
        TreeGone("a", incarnation),
        TreeLingers("a", incarnation, (7,)),
        hook_of("a", incarnation, "session-start", session_id="old"),
        hook_of("a", incarnation, "permission-request", tool="Bash"),
        EvidenceSeen("a", incarnation, "transcript"),
        EvidenceSeen("a", incarnation, "heartbeat", age=1200),
        ScreenSeen("a", incarnation, "trust"),
        RunAdopted("a", incarnation, 7, 70),
        RunMissing("a", incarnation),
        Delivered("a", incarnation, "m", "hook"),
        NotDelivered("a", incarnation, "m", "gone"),
    ]


def to_backing_off(story: Story) -> None:
    story.lives(1, 1).respawned()
    story.lives(1, 1)


SITUATIONS: dict[str, Callable[[Story], None]] = {
    "starting": lambda story: story.lives(1, 1) and None,
    "running": lambda story: story.lives(1, 1).runs() and None,
    "stopping": lambda story: story.lives(1, 1).runs().stop() and None,
    "backing_off": to_backing_off,
    "stopped": lambda story: story.lives(60, 0) and None,
    "quarantined": lambda story: story.lives(1, 127) and None,
}
