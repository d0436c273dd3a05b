"""How good the briefs of each writer were when `./dev eval-brief --blind` measured them last; written in by hand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Open loops that a writer's briefs listed, and that their pages told, of those wanted. on: a day, ISO 8601."""

    on: str
    sessions: int
    wanted: int
    listed: int
    told: int

    @property
    def recall(self) -> float:
        return round(self.listed / self.wanted, 3)

    @property
    def page_recall(self) -> float:
        return round(self.told / self.wanted, 3)


EVALUATIONS: dict[str, Evaluation] = {
    "deterministic": Evaluation("2026-11-23", sessions=29, wanted=122, listed=100, told=121),
    "cli": Evaluation("2026-11-23", sessions=29, wanted=122, listed=118, told=121),
}
"""By the writer's name, as the configuration has it. Figures of the half that the rules' authors have not seen."""
