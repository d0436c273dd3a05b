"""Nights that the rows tell in another way than their author: what is told, and why."""

from __future__ import annotations

WAITS = (
    "ruling: an interactive CLI lives on when its login is refused, so its agent waits at its terminal, and is not "
    "down; each is answered at its own terminal"
)
STEADY = (
    "ruling: who dies again and again for hours is told once as an alert (steady deaths), also where each run was "
    "productive; the author says that a good operator would want to look"
)
UNPLAYED = frozenset({"SIN-16", "SIN-17"})
"""Nights that the player has no steps for."""
MISSED: dict[str, str] = {
    "SIN-16": "jobs by `phoenixctl task run` have no steps in the player",
    "SIN-17": "sent texts have no steps in the player",
    "SIN-18": WAITS,
    "SIN-21": STEADY,
}
