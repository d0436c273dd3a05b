"""Handoffs between programs of the open contract: a hundred in a row, and ten deaths of the daemon at each step."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from phoenixd.demo.stage import Stage
from tests.e2e.census import all_ends
from tests.e2e.test_handoff import begun
from tests.proof.everlasting.figures import STEPS, Figures
from tests.proof.everlasting.sampling import Sampler, get

PATIENCE = 120.0
SEAT = "boss"


class Broken(AssertionError):
    """A handoff came to no end, or to two; or somebody is left over."""


@contextmanager
def staged(kind: type[Stage] = Stage) -> Iterator[Stage]:
    """A stage with the orchestrator at rest; all ends with it."""
    root = Path(tempfile.mkdtemp(prefix="phx-"))
    stage = kind(root)
    try:
        begun(stage)
        yield stage
    finally:
        stage.down()
        all_ends(root, PATIENCE)
    shutil.rmtree(root, ignore_errors=True)


def told(stage: Stage) -> dict[str, Any]:
    found: dict[str, Any] = get(stage, f"/v1/handoff?agent={SEAT}")
    return found


def until_over(stage: Stage, after: str | None) -> dict[str, Any]:
    """The handoff that follows the one of this id, once it is over."""
    found: dict[str, Any] = {}

    def is_over() -> bool:
        found.update(told(stage))
        handoff = found["handoff"]
        return handoff is not None and handoff["id"] != after and handoff["step"] in ("done", "rolled_back")

    stage.until(f"the handoff after {after} is over: {found.get('handoff')}", is_over, PATIENCE)
    return found


def hundred(count: int) -> Figures:
    """`count` handoffs, one after the other."""
    figures = Figures("`command` agents")
    with staged() as stage, Sampler(stage, SEAT) as sampler:
        last: str | None = None
        for number in range(1, count + 1):
            stage.ask("handoff", "start", SEAT)
            found = until_over(stage, last)
            handoff = found["handoff"]
            if (handoff["step"], found["generation"], handoff["degraded"]) != ("done", number + 1, []):
                raise Broken(f"handoff {number}: {found}")
            figures.add(handoff)
            last = handoff["id"]
    if sampler.problems:
        raise Broken(f"{len(sampler.problems)} of {sampler.samples} samples, such as {sampler.problems[0]}")
    print(f"{count} handoffs of programs, {sampler.samples} samples: one holder at each", flush=True)
    return figures


# --- kill -9 at each step --------------------------------------------------------------------------------------------


class StepStage(Stage):
    """A stage whose daemon can be started so that it dies at a step of a handoff, see dying.py."""

    at = ""

    def up(self, *, wait: bool = True) -> None:
        if not self.at:
            super().up(wait=wait)
            return
        module = ["-m", "tests.proof.everlasting.dying"]
        daemon = [sys.executable, *module, "--state-dir", str(self.state), "--runtime-dir", str(self.runtime)]
        with self.log.open("ab") as log:
            self.process = self.popen(
                daemon, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                cwd=Path(__file__).parents[3], env={**self.environ, "PHX_PROOF_DIES_AT": self.at},
            )  # fmt: skip
        if wait:
            self.until("the daemon answers", self.answers)


INSTANTS = ("before", "0", "0", "0.002", "0.01", "0.03", "0.1", "0.2", "0.4", "0.8")
"""When the daemon dies: instead of the first commit that names the step, or this many seconds after it."""


def kills(times: int) -> Counter[str]:
    """`times` deaths of the daemon at each step of a handoff; each handoff comes to one end all the same."""
    ended: Counter[str] = Counter()
    with staged(StepStage) as stage:
        assert isinstance(stage, StepStage)
        last: str | None = None
        generation = 1
        for step in STEPS:
            of_step, why = Counter[str](), Counter[str]()
            for number in range(times):
                stage.at = f"{step}:{INSTANTS[number % len(INSTANTS)]}"
                stage.kill()
                stage.up()
                stage.until("it rests", lambda: stage.row(SEAT)["activity"] == "idle", PATIENCE)
                stage.ctl("handoff", "start", SEAT)
                _wait_for_death(stage)
                stage.at = ""
                stage.up()
                if (known := told(stage)["handoff"]) is None or known["id"] == last:
                    # Its answer was never given, and so nothing was promised.
                    stage.ask("handoff", "start", SEAT)
                found = until_over(stage, last)
                handoff = found["handoff"]
                passed = handoff["step"] == "done"
                if found["generation"] != generation + passed:
                    raise Broken(f"{step}, kill {number}: generation {found['generation']} after {generation}: {found}")
                last, generation = handoff["id"], found["generation"]
                of_step[handoff["step"]] += 1
                why += Counter([handoff["why_back"]] if handoff["why_back"] else [])
                _hold_one(stage, generation)
            ended += of_step
            print(f"kill -9 at {step:10} {times} times: {dict(of_step)} {dict(why)}", flush=True)
    return ended


def _wait_for_death(stage: Stage) -> None:
    assert stage.process is not None
    status = stage.process.wait(PATIENCE)
    if status != -signal.SIGKILL:
        raise Broken(f"the daemon ended with {status}:\n{stage.log_tail()}")


def _hold_one(stage: Stage, generation: int) -> None:
    """In the end one generation lives, the holder's, and one row shows it."""
    sampler = Sampler(stage, SEAT)
    stage.until("the holder runs", lambda: stage.row(SEAT)["state"] == "running", PATIENCE)
    stage.until(
        f"generation {generation} alone lives, not {sampler.living()}", lambda: sampler.living() == {generation}
    )
    names = [row["name"] for row in get(stage, "/v1/agents")["agents"]]
    if names != [SEAT]:
        raise Broken(f"{names} are shown")
