"""An answer to one of its hooks that stands ready with an agent's shim: what it says, until when, and its uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from phoenixd.core.moment import Instant

On = Literal["stop", "tool", "compaction"]
"""stop: a turn of the main thread is about to end. tool: a call is about to begin, a subagent's too. compaction: the
CLI is about to shorten the context by itself."""


@dataclass(frozen=True, slots=True)
class ArmedAnswer:
    """What the shim says by itself, also while no daemon lives: block, or deny, with `text` as the reason.

    id: one answer for ever; armed twice it is one answer. purpose: freeze, fence, challenge ...; it decides which of
    two may hold up a turn's end. tools: which are denied; empty: all. times: how often it is given.
    """

    id: str
    on: On
    text: str = field(repr=False)
    until: Instant
    purpose: str
    tools: tuple[str, ...] = ()
    times: int = 1
    spares_questions: bool = False
    """A turn whose last words end with a question mark is left alone, where the shim can tell."""


@dataclass(frozen=True, slots=True)
class Armed:
    """An answer that was armed for one incarnation. uses: how often it was given, as far as its shim has told.

    over: it was taken back. It is remembered all the same: its id never means another answer in that run.
    """

    answer: ArmedAnswer
    incarnation: int
    uses: int = 0
    over: bool = False

    @property
    def is_spent(self) -> bool:
        return self.uses >= self.answer.times

    def stands(self, incarnation: int, at: Instant) -> bool:
        """Whether it would be given now, to that run."""
        is_open = not self.over and not self.is_spent
        return is_open and self.incarnation == incarnation and at < self.answer.until
