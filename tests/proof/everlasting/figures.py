"""What the handoffs took, step by step, and the table of docs/explanation/everlasting.md that says so."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "everlasting.md"
BEGIN, END = "<!-- everlasting: begin -->", "<!-- everlasting: end -->"
STEPS = ("freeze", "drain", "update", "snapshot", "spawn", "await_ack", "fence", "shutdown")
TO_ACK = "spawn to ack"
MOST_TO_ACK = 10.0
"""Seconds from the order to start a successor to its good ack, at the speed of an API that answers at once."""


@dataclass
class Figures:
    """The seconds of each step of some handoffs of one kind."""

    title: str
    taken: dict[str, list[float]] = field(default_factory=dict)

    def add(self, handoff: dict[str, Any]) -> None:
        """One handoff, as `handoff status --json` tells it."""
        by_step = {one["step"]: float(one["seconds"]) for one in handoff["times"]}
        for step in STEPS:
            self.taken.setdefault(step, []).append(by_step[step])
        self.taken.setdefault(TO_ACK, []).append(by_step["spawn"] + by_step["await_ack"])

    @property
    def count(self) -> int:
        return len(self.taken.get(TO_ACK, ()))

    @property
    def worst_to_ack(self) -> float:
        return max(self.taken[TO_ACK])

    def cell(self, step: str) -> str:
        taken = self.taken[step]
        return f"{statistics.median(taken):.2f} / {max(taken):.2f}"


def table(columns: list[Figures]) -> str:
    """Markdown: median and worst of each step, in seconds."""
    heads = [f"{one.title} ({one.count})" for one in columns]
    lines = [f"| step | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    lines += [f"| {step} | {' | '.join(one.cell(step) for one in columns)} |" for step in (*STEPS, TO_ACK)]
    return "\n".join(lines)


def write(columns: list[Figures], page: Path = PAGE) -> None:
    """Put the table between its marks."""
    before, mark, rest = page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{page} has no {BEGIN} ... {END}")
    page.write_text(f"{before}{BEGIN}\n{table(columns)}\n{END}{after}")
