"""What the daemon itself knows around a session: its number, its process, what it asks, and what waits for a person."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phoenixd.documents.ledger_rows import Waiting, Words


@dataclass(frozen=True, slots=True)
class Asking:
    """A question or a permission that nobody has answered. left: the run that asked is over, and it can be answered."""

    text: str
    options: tuple[str, ...] = ()
    at: float | None = None
    left: bool = False


@dataclass(frozen=True, slots=True)
class Waits:
    """An item of the operator's inbox that is open, other than a question of the agent's own."""

    id: str
    kind: str
    text: str
    at: float | None = None


def _nothing(text: str) -> bool:
    return False


def _no_words(text: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Around:
    """Facts that stand in no transcript.

    number: which session of the agent's it is, counted from 1. turn_open: what the hooks told, None: nothing.
    spoken_at: when the newest turn ended whose hook told the agent's words (wall).
    process_began: wall seconds at which the process began that works in the session now; None: none does.
    lost: what the daemon saw end with an earlier process, and lost_at: when. is_ours: whether a prompt is one of the
    daemon's own. going_on: by which words of one the daemon has a session go on, empty for none. goal: the digests of
    the agent's goal, for the ledger keeps no long prompt whole.
    """

    session: str = ""
    number: int = 0
    cwd: str = ""
    turn_open: bool | None = None
    spoken_at: float | None = None
    process_began: float | None = None
    asking: tuple[Asking, ...] = ()
    inbox: tuple[Waits, ...] = ()
    lost: tuple[str, ...] = ()
    lost_at: float | None = None
    is_ours: Callable[[str], bool] = _nothing
    going_on: Callable[[str], str] = _no_words
    goal: frozenset[str] = frozenset()

    def typed(self, prompt: Words | Waiting) -> bool:
        """Whether a prompt of the ledger is one of the daemon's own."""
        return self.is_ours(prompt.text) or not self.goal.isdisjoint(prompt.names)

    def goes_on(self, prompt: Words) -> str:
        """By which words of the daemon's own a prompt has the session go on; empty for any other prompt."""
        is_goal_alone = not self.goal.isdisjoint(prompt.names[:1])
        return self.going_on(prompt.text) if self.typed(prompt) and not is_goal_alone else ""


NOTHING_KNOWN = Around()
