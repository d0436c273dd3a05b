"""What a run has to show for itself, and what an agent's runs in a row had not: plain facts, folded from hooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phoenixd.core.moment import Instant

Proof = Literal["", "turn", "work", "life", "exit"]
"""By what a run was productive: a turn that ended well, changed work, five minutes of a command without hooks, or its
own clean end; empty while it was not."""


STEADY, STEADY_WITHIN = 5, 0.1
"""This many deaths in a row are no chance where their ages differ by no more than that share."""


@dataclass(frozen=True, slots=True)
class Merit:
    """The facts by which a run is judged productive. asked, called and ended are about its newest turn.

    after_death: the run before it died, so a turn that says "continuing" proves nothing. turned: it had an open turn.
    asked: a person or `send` asked for the turn. sent: the newest text of `send` that is under way. called: a tool call
    of the main thread completed in it. ended: it ended, and whether it ended well is still to be seen, for some CLIs
    tell either end alike. at: when it was proven.
    """

    after_death: bool = False
    turned: bool = False
    asked: bool = False
    sent: str = ""
    called: bool = False
    ended: bool = False
    proof: Proof = ""
    at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """What the newest runs of an agent had in common.

    unproductive: when those in a row ended that had nothing to show; the newest is the last. died: the newest run died,
    and no run has made up for it. weighing: the incarnation whose work is being measured, 0 for none. work: the
    fingerprint that was taken at the unproductive death before. lives: seconds that the newest runs lived which died
    after some minutes, of a command without hooks.
    """

    unproductive: tuple[Instant, ...] = ()
    died: bool = False
    weighing: int = 0
    work: str | None = None
    lives: tuple[float, ...] = ()

    @property
    def is_steady(self) -> bool:
        """Whether it died again and again at about the same age."""
        return len(self.lives) == STEADY and max(self.lives) - min(self.lives) <= STEADY_WITHIN * max(self.lives)
