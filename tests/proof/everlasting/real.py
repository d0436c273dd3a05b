"""The real Claude Code on a stub of its API: handoffs at the very token, tasks of workers before, across and after."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from phoenixd.demo.stage import StageFailed
from phoenixd.harness.pins import PINS
from tests.e2e.census import all_ends
from tests.proof.everlasting.figures import Figures
from tests.proof.everlasting.sampling import Sampler
from tests.real.agent_stage import NAME, PATIENCE
from tests.real.claude_room import bash
from tests.real.installed import require
from tests.real.test_claude_handoff import Seated, Successor, used
from tests.real.test_resonance import recite
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Step
from tests.waiting import eventually_sync

TASKS = 12
MODELS = {200_000: "claude-sonnet-4-5", 1_000_000: "claude-sonnet-4-5[1m]"}
BUSY = 30_000
"""Tokens that a session holds while nothing of note happens."""
OVER = "over to a fresh session now"
PLAN = "# Phase 1: Work\n\n## Tasks\n\n" + "\n".join(
    f"### Task {number}: Make file {number}\n- **Status**: pending\n" for number in range(1, TASKS + 1)
)


class Broken(AssertionError):
    """What must hold over handoffs did not."""


class Leader(Successor):
    """Claude Code whose model hands tasks out when it is told to, does them as a worker, and acknowledges.

    It has the front of its context, and so answers checks of its marker.
    """

    def acknowledge(self, request: RecordedRequest) -> Step | None:
        if (step := super().acknowledge(request) or recite(request)) is not None or request.kind != "main":
            return step
        if (asked := re.search(r"^Hand out task (\d+)\.$", request.text, re.MULTILINE)) is not None:
            command = f"phoenixctl task run --task {asked[1]} 'Make file {asked[1]}.'"
            return Step("I will.", tool_use=bash(command).tool_use, usage=used(BUSY))
        if (asked := re.search(r"^Make file (\d+)\.$", request.text, re.MULTILINE)) is not None:
            command = f"printf 'file {asked[1]}' > $PHOENIX_OUT/file-{asked[1]}.txt"
            return Step("I will.", tool_use=bash(command).tool_use, hold=gate(asked[1]))
        return None


class Project(Seated):
    """The stage with a project of twelve tasks, an artifact, and an item of memory."""

    def __init__(self, root: Path, window: int) -> None:
        super().__init__(Leader(require("claude", PINS["claude"][-1])), root)
        self.window = window
        phase = self.workspace / ".claude/projects/shop/phase-01-work"
        (phase / "plan.md").write_text(PLAN)
        (phase / "artifacts" / "ground.txt").write_text("laid before the first session\n")
        self.scenario.usage = used(BUSY)

    @property
    def edge(self) -> int:
        return self.window * 9 // 10

    def begin(self) -> None:
        keys = (
            f'kind = "orchestrator"\nproject = "shop"\ncontext = {{predict = false, limit = {self.window}}}\n'
            'handoff = {spacing = "0s"}\n'
        )
        self.up(keys=keys, flags=("--model", MODELS[self.window]))
        self.rests()

    def rests(self) -> dict[str, Any]:
        return self.until("it rests", lambda row: (row["state"], row["activity"]) == ("running", "idle"))

    def tells(self, text: str) -> None:
        sent = self.stage.ctl("send", NAME, "-", input=text)
        if sent.returncode != 0:
            raise StageFailed(f"send: {sent.stderr}")

    def task(self, number: int) -> dict[str, Any] | None:
        """The task that was handed out for this task of the plan."""
        found: list[dict[str, Any]] = self.get("/v1/tasks")["tasks"]
        mine = [one for one in found if one["plan_task"] == str(number)]
        if len(mine) > 1:
            raise Broken(f"task {number} of the plan was handed out {len(mine)} times: {mine}")
        return mine[0] if mine else None

    def hands_out(self, number: int) -> None:
        self.tells(f"Hand out task {number}.")
        eventually_sync(lambda: self.task(number), PATIENCE, f"task {number} is handed out")
        self.rests()

    def lets(self, number: int) -> None:
        """Let the worker of a task do it; the holder of now is told of its end."""
        self.stub.open_gate(gate(number))

        def is_told() -> bool:
            task = self.task(number)
            return task is not None and task["state"] == "done" and task["told"] is True

        eventually_sync(is_told, PATIENCE, f"task {number} is done, and that is told: {self.task(number)}")
        self.rests()

    # --- what must be the same before and after ----------------------------------------------------------------------

    def plan(self) -> Counter[str]:
        text = (self.workspace / ".claude/projects/shop/phase-01-work/plan.md").read_text()
        return Counter(re.findall(r"^### (Task .*)$", text, re.MULTILINE))

    def artifacts(self) -> Counter[str]:
        places = [self.workspace / ".claude/projects/shop/phase-01-work/artifacts", *self.outputs()]
        files = (path for place in places for path in place.rglob("*") if path.is_file())
        return Counter(digest(path) for path in files if path.name != "manifest.json")

    def memory(self) -> Counter[str]:
        files = (self.workspace / ".claude").rglob("memory/*")
        return Counter(f"{path.name} {digest(path)}" for path in files if path.is_file())

    def outputs(self) -> list[Path]:
        return sorted((self.stage.state / "tasks").glob("*/outputs"))

    # --- a handoff ---------------------------------------------------------------------------------------------------

    def to_the_edge(self, name: str) -> None:
        """One token below the threshold nothing begins."""
        session, before = self.row()["session_id"], self.handed()["handoff"]
        self.scenario.add(Step("Nearly.", match=f"Near {name}", session=session, usage=used(self.edge - 1)))
        self.tells(f"Near {name}.")
        self.until(f"{self.edge - 1:,} are told", lambda row: tokens_are(row, self.edge - 1))
        self.rests()
        if self.handed()["handoff"] != before:
            raise Broken(f"at {self.edge - 1:,} a handoff began: {self.handed()}")

    def over_the_edge(self, name: str) -> dict[str, Any]:
        """At the threshold the freeze begins; the handoff once it is over."""
        old, before = self.row(), self.handed()["handoff"]
        last = before["id"] if before is not None else None
        frozen, session = f"frozen {name}", old["session_id"]
        self.scenario.add(
            Step(
                "On it.", tool_use=bash("true").tool_use, match=f"Over {name}", session=session, usage=used(self.edge)
            ),
            Step("The rest is done.", hold=frozen, session=session, usage=used(self.edge)),
            Step("The till is half done.", match=OVER, session=session, usage=used(self.edge + 500)),
        )
        self.tells(f"Over {name}.")

        def has_begun() -> bool:
            handoff = self.handed()["handoff"]
            return handoff is not None and handoff["id"] != last

        eventually_sync(has_begun, PATIENCE, f"at {self.edge:,} the freeze begins")
        self.stub.open_gate(frozen)
        found: dict[str, Any] = {}

        def is_over() -> bool:
            found.update(self.handed())
            return found["handoff"]["step"] in ("done", "rolled_back")

        eventually_sync(is_over, PATIENCE, f"handoff {name} is over")
        handoff = found["handoff"]
        if (handoff["step"], handoff["trigger"], handoff["degraded"]) != ("done", "meter", []):
            raise Broken(f"handoff {name}: {found}")

        def room() -> bool | None:
            checks = {one["name"]: one["well"] for one in self.handed()["checks"]}
            return checks["room in the successor"]

        eventually_sync(lambda: room() is not None, PATIENCE, "it is known how full the successor is")
        if not room():
            raise Broken(f"handoff {name}: half of the successor's window was taken at its ack: {self.handed()}")
        told = [one for one in self.stub.main_requests() if one.session_id == session and OVER in one.text]
        if len(told) != 1:
            raise Broken(f"handoff {name}: the predecessor was told to finish {len(told)} times")
        return dict(handoff)


def gate(number: int | str) -> str:
    """Behind which the answer to the worker of a task waits."""
    return f"task {number}"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tokens_are(row: dict[str, Any], tokens: int) -> bool:
    return row["context"] is not None and row["context"]["tokens"] == tokens


def handoffs(window: int, count: int) -> Figures:
    """`count` handoffs of one Claude Code, with two tasks round each; twelve tasks in all."""
    root = Path(tempfile.mkdtemp(prefix="phx-"))
    figures = Figures(f"Claude Code, {window:,}")
    try:
        with Project(root, window) as stage:
            stage.begin()
            memory = stage.memory()
            with Sampler(stage.stage, NAME) as sampler:
                number = 0
                for handoff in range(1, count + 1):
                    stage.hands_out(number := number + 1)
                    stage.to_the_edge(f"N{handoff}")
                    figures.add(stage.over_the_edge(f"N{handoff}"))
                    stage.rests()
                    stage.lets(number)
                    if handoff < count:
                        stage.hands_out(number := number + 1)
                        stage.lets(number)
                while number < TASKS:
                    stage.hands_out(number := number + 1)
                    stage.lets(number)
                _until_done(stage)
            _hold(stage, sampler, count, memory)
        all_ends(root, PATIENCE)
    except Exception:
        print(f"left as it is: {root}", flush=True)
        raise
    shutil.rmtree(root, ignore_errors=True)
    print(
        f"{count} handoffs of Claude Code with a window of {window:,}, {TASKS} tasks each done once, "
        f"{sampler.samples} samples: one holder at each, spawn to ack {figures.worst_to_ack:.1f} s at most",
        flush=True,
    )
    return figures


def _until_done(stage: Project) -> None:
    def states() -> list[str]:
        return [str(one["state"]) for one in stage.get("/v1/tasks")["tasks"]]

    eventually_sync(lambda: states().count("done") == TASKS, PATIENCE * 2, f"all tasks are done, not {states()}")


def _hold(stage: Project, sampler: Sampler, count: int, memory: Counter[str]) -> None:
    found = stage.get("/v1/tasks")["tasks"]
    runs = {str(one["plan_task"]): (one["state"], one["runs"], one["outputs"]) for one in found}
    if runs != {str(number): ("done", 1, 1) for number in range(1, TASKS + 1)}:
        raise Broken(f"each task is to be done once: {runs}")
    begun = Counter(
        asked[1]
        for one in stage.stub.main_requests()
        if (asked := re.search(r"^Make file (\d+)\.$", one.text, re.MULTILINE)) is not None
    )
    if begun != Counter(str(number) for number in range(1, TASKS + 1)):
        raise Broken(f"workers were asked for: {begun}")
    plan = Counter(f"Task {number}: Make file {number}" for number in range(1, TASKS + 1))
    if stage.plan() != plan:
        raise Broken(f"the plan has {stage.plan()}")
    made = [f"file {number}" for number in range(1, TASKS + 1)] + ["laid before the first session\n"]
    wanted = Counter(hashlib.sha256(one.encode()).hexdigest() for one in made)
    if wanted - stage.artifacts():
        raise Broken(f"artifacts are missing: {wanted - stage.artifacts()}")
    if memory - stage.memory():
        raise Broken(f"memory is missing: {memory - stage.memory()}")
    if sampler.problems or sampler.holders != list(range(1, count + 2)):
        raise Broken(f"{sampler.holders} held the seat, and {sampler.problems[:3]} was seen")
