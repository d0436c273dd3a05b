"""What the handoffs took, step by step, and the table of docs/explanation/everlasting.md that says so."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "everlasting.md"
BEGIN, END = "<!-- everlasting: begin -->", "<!-- everlasting: end -->"
STEPS = ("freeze", "drain", "update", "snapshot", "spawn", "await_ack", "fence", "shutdown")
HEAD, TO_ACK = "step", "spawn to ack"
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
    def of_claude(self) -> bool:
        return self.title.startswith("Claude Code")

    @property
    def count(self) -> int:
        return len(self.taken.get(TO_ACK, ()))

    @property
    def worst_to_ack(self) -> float:
        return max(self.taken[TO_ACK])

    def cell(self, step: str) -> str:
        taken = self.taken[step]
        return f"{statistics.median(taken):.2f} / {max(taken):.2f}"


Column = dict[str, str]
"""What stands in a column of the table, by the step of its row."""

ROWS = (*STEPS, TO_ACK)


def columns(measured: list[Figures]) -> dict[str, Column]:
    """What was measured as columns, by their titles."""
    return {one.title: {HEAD: f"{one.title} ({one.count})"} | {row: one.cell(row) for row in ROWS} for one in measured}


def table(by_title: dict[str, Column]) -> str:
    """Markdown: median and worst of each step, in seconds. The programs stand beside Claude Code."""
    shown = [by_title[title] for title in sorted(by_title, key=lambda title: not title.startswith("Claude Code"))]
    lines = [f"| {row} | {' | '.join(one[row] for one in shown)} |" for row in (HEAD, *ROWS)]
    return "\n".join([lines[0], f"|---|{'---|' * len(shown)}", *lines[1:]])


def kept(page: str) -> dict[str, Column]:
    """The columns of a table that was written before; none where there is none, or one of other steps."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    by_row = {row[0]: row[1:] for row in rows if not row[0].startswith("---")}
    if set(by_row) != {HEAD, *ROWS} or len({len(cells) for cells in by_row.values()}) != 1:
        return {}
    found = [{row: cells[place] for row, cells in by_row.items()} for place in range(len(by_row[HEAD]))]
    return {one[HEAD].rpartition(" (")[0]: one for one in found}


def write(measured: list[Figures], page: Path = PAGE) -> None:
    """Put these columns into the table between its marks; the others of it stay."""
    before, mark, rest = page.read_text().partition(BEGIN)
    old, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{page} has no {BEGIN} ... {END}")
    page.write_text(f"{before}{BEGIN}\n{table(kept(old) | columns(measured))}\n{END}{after}")
