"""Deaths of the daemon at each step of a restoration: each restoration comes to its one end all the same."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from phoenixd.core.resonance.state import STEPS, Step
from phoenixd.demo.stage import Stage, StageFailed
from tests.e2e.census import survivors
from tests.e2e.test_resonance import Bearer
from tests.proof.everlasting.sampling import get

PATIENCE = 120.0
INSTANTS = ("0", "before", "0.002", "0.01", "0.03", "0.1", "0.2", "0.4", "0.8", "0.05")
"""When the daemon dies: instead of the first commit that notes the step, or this many seconds after it."""
WHOLE = [1, 2, 3, 4, 5, 6]
GIVEN_UP = [1, 2, 3, 4, 5, 7]
SEED = "[CONTEXT SEED]"


class Broken(AssertionError):
    """A restoration came to no end or to two, ran twice, or lost what the agent was at."""


class StepStage(Stage):
    """A stage whose daemon dies at a step of a restoration, once that is wanted, see dying.py."""

    @property
    def wanted(self) -> Path:
        return self.root / "dies-at"

    def up(self, *, wait: bool = True) -> None:
        module = ["-m", "tests.proof.restoring.dying"]
        daemon = [sys.executable, *module, "--state-dir", str(self.state), "--runtime-dir", str(self.runtime)]
        with self.log.open("ab") as log:
            self.process = self.popen(
                daemon, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                cwd=Path(__file__).parents[3], env={**self.environ, "PHX_PROOF_DIES_AT": str(self.wanted)},
            )  # fmt: skip
        if wait:
            self.until("the daemon answers", self.answers)

    def answers(self) -> bool:
        """Asked by the socket itself: an interpreter for each look would be most of what this proof costs."""
        assert self.process is not None
        if self.process.poll() is not None:
            raise StageFailed(f"the daemon ended with {self.process.returncode}:\n{self.log_tail()}")
        try:
            return bool(get(self, "/v1/agents"))
        except (OSError, http.client.HTTPException):
            return False

    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["name"]: row for row in get(self, "/v1/agents")["agents"]}


class Marked(Bearer):
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = get(self.stage, "/v1/agents/a/resonance")
        return found


class Restored:
    """One agent, whose restorations are broken off one after the other."""

    def __init__(self, stage: StepStage) -> None:
        self.stage = stage
        # A loss that is found counts against the most that one hour may have; one that is ordered does not.
        self.agent = Marked(stage, "max_per_hour = 20\ninterval_turns = 50\n")
        self.task = 0
        self.late = 0
        """New sessions that were told the seed at a turn's end."""
        self.found: dict[int, str] = {}
        """What stood where a session is sent to whose brief is late, by its incarnation, when it was first there."""

    def kill_at(self, step: Step, instant: str) -> str:
        """One restoration, whose daemon dies once; returns how it ended."""
        stage, agent = self.stage, self.agent
        self.task += 1
        told = f"Mend window {self.task}."
        agent.turn(told)
        base = stage.row("a")["incarnation"]
        if step is Step.ESCALATE:
            (agent.work / "NEVER").touch()
        stage.wanted.write_text(f"{STEPS.index(step) + 1}:{instant}")
        asked = stage.ctl("resonance", "restore", "a")
        # Its first turn may be over before it can be asked at its end; by itself it is given another after a minute.
        self._until_dead(base, is_prodded=step in (Step.RESUME, Step.ESCALATE))
        stage.up()
        if asked.returncode != 0 and stage.row("a")["incarnation"] == base and self._is_at_rest():
            # Its answer was never given, and so nothing was promised.
            stage.ask("resonance", "restore", "a")
        ended = self._until_over(base, step)
        self._is_whole(base, told, step, instant)
        return ended

    def _is_at_rest(self) -> bool:
        return self.agent.status()["restoration"] is None or self.agent.status()["restoration"]["step"] == 0

    def _until_dead(self, base: int, *, is_prodded: bool) -> None:
        process = self.stage.process
        assert process is not None
        if is_prodded:
            # A check needs the end of a turn, and two misses are a loss.
            self.stage.until("the daemon is dead", lambda: self._prod(base) or process.poll() is not None, PATIENCE)
        status = process.wait(PATIENCE)
        if status != -signal.SIGKILL:
            raise Broken(f"the daemon ended with {status}:\n{self.stage.log_tail()}")

    def _prod(self, base: int) -> bool:
        """Have its new session take a turn, where it rests; the daemon may be dead.

        The old one rests as well while its seed is read: a turn of that would be what the new one is to go on with.
        """
        try:
            row = self.stage.row("a")
            if row["incarnation"] > base and row["activity"] == "idle":
                self.stage.ctl("send", "a", "And then.")
        except (OSError, http.client.HTTPException):
            pass
        return False

    def _until_over(self, base: int, step: Step) -> str:
        stage, agent = self.stage, self.agent
        if step is Step.ESCALATE:

            def is_paused() -> bool:
                if (row := stage.row("a"))["state"] == "quarantined":
                    return bool(row["reason"].startswith("quarantined: marker lost: "))
                self._prod(base)
                return False

            agent.until("it is paused", is_paused)
            (agent.work / "NEVER").unlink()
            return "escalated"

        def is_restored() -> bool:
            row = stage.row("a")
            if row["incarnation"] == base or row["activity"] != "idle":
                return False
            if (row["state"], agent.status()["state"]) == ("running", "intact"):
                return True
            # Its first turn may have ended while no daemon lived to ask at its end: then the next one's end is asked. A
            # brief that is late is looked at before: afterwards it tells that turn as its task.
            return self._has_looked(row["incarnation"]) and self._prod(base)

        agent.until("the new session is verified", is_restored)
        return "restored"

    def _is_whole(self, base: int, told: str, step: Step, instant: str) -> None:
        """One new session, with the work and without an old code; each step was noted once."""
        where, stage = f"{step.value}, {instant}", self.stage
        # An incarnation whose start the death broke off has begun no session, and is told nothing.
        begun = [number for number in self._begun() if number > base]
        if len(begun) != 1:
            raise Broken(f"{where}: the sessions {begun} began after {base}")
        steps = self._newest()
        if steps != (GIVEN_UP if step is Step.ESCALATE else WHOLE):
            raise Broken(f"{where}: the journal has the steps {steps}")
        living = [words for words in survivors(stage.root).values() if "remembering.py" in words]
        if len(living) != (0 if step is Step.ESCALATE else 1):
            raise Broken(f"{where}: {len(living)} processes of the agent live: {living}")
        # Where the daemon died before it wrote a session's first words, they come with its codes at a turn's end. The
        # brief is late then, and the session began with what it is at: a prompt of ours may be newer by that end.
        page = self.agent.told(begun[0])
        is_late = f"/session-start.{begun[0]}.txt" in page
        was_seeded = any(told in one and SEED in one for one in self.agent.asked())
        is_at_hand = is_late and (told in self.agent.prompted(begun[0]) or told in self.found.get(begun[0], ""))
        if told not in page and not was_seeded and not is_at_hand:
            raise Broken(f"{where}: {told!r} is not in what the new session was told:\n{page}")
        self.late += told not in page
        if step is Step.ESCALATE:
            stage.ask("start", "a")
            stage.until("a session begins", lambda: self._begun()[-1] > begun[0], PATIENCE)
            self.agent.until("it rests", self.agent.rests)

    def _has_looked(self, incarnation: int) -> bool:
        """Whether it stands, and was looked at, where a session is sent to whose brief is late."""
        path = self.stage.state / "agents" / "a" / f"session-start.{incarnation}.txt"
        if incarnation not in self.found and path.exists():
            self.found[incarnation] = path.read_text()
        return incarnation in self.found

    def _begun(self) -> list[int]:
        """The incarnations whose sessions began."""
        return sorted(int(path.name.removeprefix("told-")) for path in self.agent.work.glob("told-*"))

    def _newest(self) -> list[int]:
        """The steps of the newest restoration, from its first on."""
        steps = [one["step"] for one in reversed(self.agent.status()["happened"]) if one["what"] == "restoration"]
        first = len(steps) - 1 - steps[::-1].index(1) if 1 in steps else 0
        return steps[first:]


def kills(stage: StepStage, times: int, steps: tuple[Step, ...] = STEPS) -> Counter[str]:
    ended: Counter[str] = Counter()
    restored = Restored(stage)
    for step in steps:
        of_step = Counter(restored.kill_at(step, INSTANTS[number % len(INSTANTS)]) for number in range(times))
        ended += of_step
        print(f"kill -9 at step {STEPS.index(step) + 1}, {step.value:9} {times} times: {dict(of_step)}", flush=True)
    print(f"{restored.late} of the new sessions were told the seed at a turn's end", flush=True)
    return ended
