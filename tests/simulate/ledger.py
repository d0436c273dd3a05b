"""What became of each run, as the simulated host saw it: a ledger beside the journal, kept without reading it.

Ends come from the shims, modes from the orders that were carried out, and what was asked for from the operator. Which
runs were productive is the core's word (RunProductive) and is given to `add_up`, and so are those that fell with the
terminal server, whose terminals must have been lost; all else is counted here once more.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass

from phoenixd.core.agent.run import Mode
from phoenixd.core.spec import AgentSpec, Kind

SLOW_START = 30.0
"""Seconds that an execution may take (design section 3); a run's time counts from its order."""
FAILED_START = 10.0
"""Seconds within which an end with 0 is a crash of a resident (design section 3)."""


@dataclass(slots=True)
class Line:
    """One thing that happened to one agent. kind: began, ended, down (somebody stopped it), given up."""

    kind: str
    incarnation: int = 0
    mode: Mode | None = None
    asked: bool = False
    last: bool = False
    """It was not to be followed by another run."""
    code: int | None = None
    lived: float = 0.0
    lost: bool = False
    """Its terminal had gone."""


@dataclass(slots=True)
class Sum:
    """The counts that `since` shows too."""

    deaths: int = 0
    healed: int = 0
    resumed: int = 0
    fresh: int = 0
    repeated: int = 0
    quarantined: int = 0
    returned: int = 0
    released: int = 0
    finished: int = 0
    iterations: int = 0


class Ledger:
    """Lines in the order in which they happened, by agent."""

    def __init__(self) -> None:
        self.lines: dict[str, list[Line]] = {}
        self._asked: set[tuple[str, int]] = set()
        self._began: dict[tuple[str, int], float] = {}
        self._last_runs: set[str] = set()

    def began(self, agent: str, incarnation: int, mode: Mode, now: float) -> None:
        """It was executed, and in time: a start that took so long that it was given up is none."""
        self._began[agent, incarnation] = now
        self._note(agent, Line("began", incarnation, mode))

    def ended(self, agent: str, incarnation: int, code: int | None, now: float, *, lost: bool = False) -> None:
        if (agent, incarnation) not in self._began:
            return
        lived = now - self._began[agent, incarnation]
        asked, last = (agent, incarnation) in self._asked, agent in self._last_runs
        self._note(agent, Line("ended", incarnation, asked=asked, last=last, code=code, lived=lived, lost=lost))
        if last:
            self._note(agent, Line("down"))

    def asked(self, agent: str, incarnation: int) -> None:
        """An operator had a living run ended."""
        self._asked.add((agent, incarnation))

    def down(self, agent: str) -> None:
        """An operator wants it down from here on."""
        self._note(agent, Line("down"))

    def wanted(self, agent: str, after_this_run: bool) -> None:
        """An operator wants it up, or down once its run is over."""
        if after_this_run:
            self._last_runs.add(agent)
        else:
            self._last_runs.discard(agent)

    def given_up(self, agent: str) -> None:
        """People were told that it is quarantined."""
        self._note(agent, Line("given up"))

    def add_up(
        self,
        specs: dict[str, AgentSpec],
        productive: Collection[tuple[str, int]],
        fell: Collection[tuple[str, int]] = (),
    ) -> dict[str, int]:
        """The sum over all agents."""
        total = Sum()
        for agent, lines in self.lines.items():
            _Story(total, specs[agent], _of(productive, agent), _of(fell, agent)).tell(lines)
        return asdict(total)

    def _note(self, agent: str, line: Line) -> None:
        self.lines.setdefault(agent, []).append(line)


def _of(runs: Collection[tuple[str, int]], agent: str) -> set[int]:
    return {number for name, number in runs if name == agent}


class _Story:
    def __init__(self, total: Sum, spec: AgentSpec, productive: set[int], fell: set[int]) -> None:
        self._total = total
        self._spec = spec
        self._productive = productive
        self._fell = fell
        self._deaths = 0
        self._is_back = False
        """It was executed after the newest of these deaths."""
        self._down = ""
        """The line that brought it down for good."""

    def tell(self, lines: list[Line]) -> None:
        self._tell(lines)
        self._total.quarantined += self._deaths if self._down == "given up" else 0

    def _tell(self, lines: list[Line]) -> None:
        for line in lines:
            if line.kind == "began" and self._down:
                self._total.returned += self._deaths if self._is_back else 0
                self._total.released += 0 if self._is_back else self._deaths
                self._deaths, self._down = 0, ""
            self._is_back = self._is_back or line.kind == "began"
            match line.kind:
                case "began" if line.incarnation in self._productive and self._deaths:
                    assert line.mode is not None
                    self._total.healed += 1
                    self._total.repeated += self._deaths - 1
                    self._total.resumed += line.mode is Mode.RESUME
                    self._total.fresh += line.mode is Mode.FRESH
                    self._deaths = 0
                case "ended" if not line.asked:
                    self._end(line)
                case "given up" | "down":
                    self._down = line.kind

    def _end(self, line: Line) -> None:
        if line.incarnation in self._fell:
            assert line.lost, f"incarnation {line.incarnation} fell with no terminal"
            return
        is_loop = self._spec.kind is Kind.LOOP
        is_overtime = line.code is None and line.lived >= self._spec.loop.max_runtime - SLOW_START
        ended_well = line.code == 0 and (is_loop or line.lived >= FAILED_START)
        if is_loop and (line.code == 0 or is_overtime) and not line.last:
            self._total.iterations += 1
        elif ended_well or (is_overtime and is_loop):
            self._total.finished += 1
            self._down = "down"
        else:
            self._total.deaths += 1
            self._deaths += 1
            self._is_back = False
