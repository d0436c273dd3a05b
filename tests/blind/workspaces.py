"""Plays the breaker's corpus: real workspaces, the real fingerprint, and the rules that judge a loop's iterations."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from phoenixd.core.actions import MeasureWork
from phoenixd.core.agent.state import Quarantined
from phoenixd.core.events.work import WorkMeasured
from phoenixd.core.rules import BreakerRules
from phoenixd.core.spec import Kind
from phoenixd.drivers.git.work import WorkPrints
from tests.blind.tables import Outcome, Table
from tests.core.story import Story, spec
from tests.drivers.git.repositories import IDENTITY

SCRIPT_LIMIT = 30.0
"""Seconds; the corpus asks for two, and a machine may be busy."""


class Loop(Story):
    """A loop agent whose work lies in a directory, and is measured there."""

    def __init__(self, case: Table, work: Path) -> None:
        rules = BreakerRules(notes=tuple(case.get("notes", ())))
        self.prints = WorkPrints()
        self.unreadable = False
        super().__init__(spec(kind=Kind.LOOP, cwd=str(work / case.get("cwd", "")), breaker=rules))

    def measured(self, action: MeasureWork) -> None:
        agent = self.fleet.agents[action.agent]
        if self.unreadable:
            self.tell(WorkMeasured(action.agent, action.number, action.at_end, None, "git is locked"))
            return
        found = self.prints.read(agent, action.since)
        measured = WorkMeasured(
            action.agent, action.number, action.at_end, found.fingerprint, found.note, found.done, found.tokens,
            found.survey, found.deeds, found.lost, found.shared, action.turn,
        )  # fmt: skip
        self.tell(measured)

    @property
    def is_open(self) -> bool:
        return isinstance(self.state, Quarantined)


def play(case: Table) -> Outcome:
    """Make the workspace, run its iterations, and compare when its breaker opened with the verdict."""
    with tempfile.TemporaryDirectory(prefix="phx-blind-") as place:
        opened = _opened_at(case, Path(place).resolve())
    wanted = case["expect"]["opens_at"]
    if opened == wanted:
        return Outcome(case["id"])
    said = f"opened at {opened}, not at {wanted}" if opened else f"never opened, and should have at {wanted}"
    if opened and (not wanted or opened < wanted):
        return Outcome(case["id"], false_kill=(said,))
    return Outcome(case["id"], missed=(said,))


def _opened_at(case: Table, place: Path) -> int:
    work, elsewhere = place / "work", place / "else"
    work.mkdir()
    elsewhere.mkdir()
    scripts = _Scripts(work, elsewhere)
    scripts.run(case["setup"])
    loop = Loop(case, work)
    loop.start()
    for number in range(1, case.get("iterations", 12) + 1):
        loop.unreadable = number in case.get("unknown", ())
        loop.respawned().runs()
        scripts.run(case["iteration"], number)
        loop.pass_over(60)
        loop.exited(0)
        if loop.is_open:
            return number
        scripts.run(case.get("between", ""), number)
    return 0


class _Scripts:
    """Runs a case's shell scripts, as its agent or other people would."""

    def __init__(self, work: Path, elsewhere: Path) -> None:
        self.work = work
        self.environment = {
            **os.environ,
            **IDENTITY,
            "WORK": str(work),
            "ELSE": str(elsewhere),
            "HOME": str(elsewhere),
            "GIT_CONFIG_GLOBAL": str(elsewhere / ".gitconfig"),
        }
        (elsewhere / ".gitconfig").write_text("[protocol.file]\n\tallow = always\n[init]\n\tdefaultBranch = main\n")

    def run(self, script: str, number: int = 0) -> None:
        done = subprocess.run(
            ["sh", "-eu", "-c", script],
            cwd=self.work,
            env={**self.environment, "N": str(number)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SCRIPT_LIMIT,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"a script of the case failed: {done.stdout}{done.stderr}")
