"""How much is measured: what the command line of `./dev bench` chose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """kills: of each supervisor; seconds: of an idle span. quick: few samples of everything.
    write: put the table into its page of the documentation."""

    quick: bool = False
    agents: tuple[int, ...] = (1, 100)
    peers: tuple[str, ...] = ()
    kills: int = 20
    seconds: float = 60.0
    write: bool = False

    @property
    def waves(self) -> int:
        """How often all children of a supervisor are killed at once."""
        return 1 if self.quick else 3
