"""How long a failed agent is away: real CLIs on the API stub, by harness and cause. `./dev bench --only recovery`.

Of each failure: to the new process, to the first evidence of its main thread, to its first productive turn (a turn
that ended well with a completed call in it; the stub answers at once, so what is measured is phoenixd and the CLI).
"""

from __future__ import annotations

import os
import platform
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from phoenixd.demo.stage import StageFailed
from tests.bench.arena import Figures
from tests.bench.scale import Scale
from tests.core.test_situations import SITUATIONS
from tests.measured_page import PERFORMANCE, write
from tests.real.agent_stage import GOAL, NAME, AgentStage
from tests.real.clis import CONTRACTED, Claude, Codex, Gemini
from tests.real.installed import locate
from tests.stub.scenario import Step
from tests.waiting import eventually_sync

PATIENCE = 90.0
WORK = r"docs/plan\.md|You were interrupted|Go on"
KEYS = (
    'liveness = { stale = "5s", check_interval = "1s" }\n'
    'restart = { early_exit = "0s", productive = "1s" }\n'
    'limits = { overload_wait = "1s" }'
)
"""A hang is noticed after 5 s here, and after 15 min by default: the figures count from the end of the run. An agent
that dies twice within 5 min is started fresh by default; here it is resumed each time."""

Real = Claude | Codex | Gemini
Strike = Callable[["Bed", int], float]


@dataclass(frozen=True, slots=True)
class Cause:
    """A way to fail. strike: has it happen, and returns when (wall seconds)."""

    words: str
    strike: Strike


@dataclass(slots=True)
class Recovered:
    """Seconds from the failures of one cause; missed in a figure: what did not come within PATIENCE."""

    process: Figures = field(default_factory=Figures)
    evidence: Figures = field(default_factory=Figures)
    productive: Figures = field(default_factory=Figures)
    resumed: int = 0
    held: int = 0
    """Of the runs that were resumed, those that became productive."""


class Bed:
    """One daemon with one agent that fails again and again."""

    def __init__(self, stage: AgentStage) -> None:
        self.stage = stage

    def fall_into_a_turn(self, number: int, words: str = "Hang") -> None:
        """Have a turn open whose request is never answered."""
        self.stage.scenario.add(Step(match=f"{words} {number}!", fault="hang"))
        asked = self.stage.send(f"{words} {number}!")
        if asked.returncode:
            raise StageFailed(asked.stderr)
        self.stage.asked(f"{words} {number}!", timeout=PATIENCE)
        self.stage.until("it works", lambda row: row["activity"] == "working", PATIENCE)

    def kill(self) -> float:
        pid = self.stage.row()["pid"]
        began = time.time()
        os.kill(pid, signal.SIGKILL)
        return began

    def lives_since(self, incarnation: int) -> list[Mapping[str, float | str | None]]:
        """What the journal holds of this run and later ones, by column; times are wall seconds."""
        columns = ("started", "first_evidence", "productive", "ended", "mode")
        place = f"file:{self.stage.stage.state / 'journal.sqlite3'}?mode=ro"
        with closing(sqlite3.connect(place, uri=True)) as journal:
            found = journal.execute(
                f"SELECT {', '.join(columns)} FROM lives WHERE agent = ? AND incarnation >= ?", (NAME, incarnation)
            ).fetchall()
        return [dict(zip(columns, row, strict=True)) for row in found]

    def productive_since(self, incarnation: int) -> bool:
        return any(life["productive"] is not None for life in self.lives_since(incarnation))

    def ended(self, incarnation: int) -> float | None:
        """When a run ended (wall)."""
        found = self.lives_since(incarnation)
        ended = found[0]["ended"] if found else None
        return ended if isinstance(ended, float) else None


def killed(bed: Bed, number: int) -> float:
    bed.fall_into_a_turn(number)
    return bed.kill()


def without_transcript(bed: Bed, number: int) -> float:
    bed.fall_into_a_turn(number)
    session = bed.stage.row()["session_id"]
    bed.stage.transcript(session).unlink()
    return bed.kill()


def hung(bed: Bed, number: int) -> float:
    incarnation = bed.stage.row()["incarnation"]
    bed.fall_into_a_turn(number)
    ended = eventually_sync(lambda: bed.ended(incarnation), PATIENCE, "the hung run is ended")
    assert ended is not None
    return ended


def full(bed: Bed, number: int) -> float:
    cli = bed.stage.cli
    assert isinstance(cli, Claude | Codex | Gemini)
    bed.stage.scenario.add(Step(match=f"Fill {number}!", error=cli.too_long, times=None))
    began = time.time()
    bed.stage.send(f"Fill {number}!")
    return began


CAUSES = {
    "killed": Cause("killed in an open turn", killed),
    "no transcript": Cause("killed, and its session cannot be resumed", without_transcript),
    "hung": Cause("an open turn fell silent (from the end of the run)", hung),
    "context full": Cause("the API refused the prompt as too long (from the prompt)", full),
}
UNTOLD = {("codex", "context full"), ("gemini", "context full")}
"""These CLIs end no session by that: they say so in their terminal, and compress or ask."""


def measure(harness: str, cause: Cause, rounds: int) -> Recovered:
    """Have one agent fail so often; raises StageFailed where it does not come back at all."""
    found = Recovered()
    with _bed(harness) as bed:
        for number in range(rounds):
            row = bed.stage.until("it is idle", lambda row: row["activity"] == "idle", PATIENCE)
            incarnation = row["incarnation"] + 1
            at = cause.strike(bed, number)
            _note(bed, found, incarnation, at)
    return found


def _note(bed: Bed, found: Recovered, incarnation: int, at: float) -> None:
    with suppress(TimeoutError):
        eventually_sync(lambda: bed.productive_since(incarnation), PATIENCE, "a later run is productive")
    lives = bed.lives_since(incarnation)
    for figures, name in (
        (found.process, "started"), (found.evidence, "first_evidence"), (found.productive, "productive"),
    ):  # fmt: skip
        reached = [value for life in lives if isinstance(value := life[name], float)]
        if reached:
            figures.samples.append(min(reached) - at)
        else:
            figures.missed += 1
    for life in lives:
        if life["mode"] == "resume":
            found.resumed += 1
            found.held += life["productive"] is not None


@contextmanager
def _bed(harness: str) -> Iterator[Bed]:
    binary = locate(harness).binary
    assert binary is not None
    with (
        tempfile.TemporaryDirectory(prefix="phx-", ignore_cleanup_errors=True) as root,
        AgentStage(CONTRACTED[harness](binary), Path(root)) as stage,
    ):
        cli = stage.cli
        assert isinstance(cli, Claude | Codex | Gemini)
        work = cli.shell("date >> done.txt")
        stage.scenario.add(Step(match=WORK, tool_use=work.tool_use, times=None))
        stage.up(prompt=GOAL, keys=KEYS)
        yield Bed(stage)


def false_kills() -> tuple[int, int]:
    """How many of the situations in which nobody may end the run are played, and in how many one is ended."""
    quiet = [situation for situation in SITUATIONS if situation.ends is None]
    return len(quiet), sum(situation.play()[0] is not None for situation in quiet)


def report(scale: Scale) -> bool:
    """Print the table; False where a CLI is missing or an agent did not come back."""
    load = os.getloadavg()[0]
    rounds, well, lines = (2 if scale.quick else scale.kills), True, []
    for harness in CONTRACTED:
        if (place := locate(harness)).binary is None:
            print(f"not run: {harness}: {place.reason}")
            well = False
            continue
        for name, cause in CAUSES.items():
            if (harness, name) in UNTOLD:
                continue
            try:
                lines.append(_line(harness, cause, measure(harness, cause, rounds)))
            except (StageFailed, TimeoutError) as failure:
                print(f"{harness}, {name}: {str(failure).splitlines()[0]}")
                well = False
    played, ended = false_kills()
    told = [
        f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}, load at the start "
        f"{load:.1f}. Seconds from the failure: p50 / p99, which of fewer than 51 is the worst.",
        "",
        "| CLI | what failed | new process | first evidence | productive turn | n | resumes that held |",
        "|---|---|---|---|---|---|---|",
        *lines,
        "",
        f"False kills: {ended} of {played} situations in which nobody may end the run.",
    ]
    print("\n".join(told))
    if scale.write:
        write(PERFORMANCE, "recovery", told)
    return well


def _line(harness: str, cause: Cause, found: Recovered) -> str:
    count = len(found.process.samples) + found.process.missed
    steps = " | ".join(one.text() for one in (found.process, found.evidence, found.productive))
    return f"| {harness} | {cause.words} | {steps} | {count} | {found.held} of {found.resumed} |"
