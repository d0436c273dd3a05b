"""What an undo took back, for people and for programs: which act on which agents, and when it was done."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from phoenixd.api.pages.layout import Page
from phoenixd.api.times import rfc3339
from phoenixd.core.undo.orders import BACK
from phoenixd.core.undo.state import NOUNS, Undoable

NAMED = 3
"""Agents that the line names; of more it tells the number."""


@dataclass(frozen=True, slots=True)
class Act:
    """One act of an operator, as far as it was taken back. what: its noun. at: when it was done (wall)."""

    act: str
    what: str
    by: str
    at: float
    agents: tuple[str, ...]

    def line(self, here: Page) -> str:
        whom = ", ".join(self.agents) if len(self.agents) <= NAMED else f"{len(self.agents)} agents"
        return f"took back: {self.what} of {whom}, {here.clock(self.at)}"

    def body(self) -> dict[str, object]:
        return {
            "act": self.act,
            "what": self.what,
            "by": self.by,
            "at": rfc3339(self.at),
            "agents": list(self.agents),
        }


def told(acts: Iterable[Undoable], brought_back: Container[str]) -> tuple[Act, ...]:
    """The acts that were taken back, of those agents that were brought back."""
    found: dict[tuple[str, str], Act] = {}
    for one in acts:
        if one.agent not in brought_back:
            continue
        what = "undo" if one.act.endswith(BACK) else NOUNS[one.verb]
        so_far = found.get((one.act, what), Act(one.act, what, one.by, one.at_wall, ()))
        found[one.act, what] = Act(one.act, what, one.by, one.at_wall, (*so_far.agents, one.agent))
    return tuple(found.values())
