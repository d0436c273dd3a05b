"""The real Claude Code hands its seat over, by its meter or the verb; its model acknowledges by tool or by words."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import StageFailed
from phoenixd.harness.pins import PINS
from tests.e2e.census import all_ends
from tests.real.agent_stage import NAME, PATIENCE, AgentStage
from tests.real.claude_room import bash
from tests.real.claude_stage import ClaudeCli
from tests.real.installed import require
from tests.stub.messages import MessagesStub
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Rejection, Scenario, Step, Usage
from tests.stub.server import ApiStub
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]

SONNET = ("--model", "claude-sonnet-4-5")
"""A model with a window of 200,000."""
KEYS = 'kind = "orchestrator"\nproject = "shop"\ncontext = {predict = false, limit = 200000}\n'
Holder = tuple[int, str]
"""Generation and session of who holds the seat."""
STEPS = ["freeze", "drain", "update", "snapshot", "spawn", "await_ack", "fence", "shutdown"]
PLAN = """# Phase 1: Work

## Tasks

### Task 1: Lay the ground
- **Status**: completed

### Task 2: Build the shop
- **Status**: pending
"""


class Successor(ClaudeCli):
    """Claude Code whose model, where it is handed a package, reads it and acknowledges."""

    answers = False
    """With its last words, and not by its tool."""
    command = ""
    """What it runs in place of its acknowledgement."""
    workspace = Path()

    def stub(self, scenario: Scenario) -> ApiStub:
        return MessagesStub(scenario, responder=self.acknowledge)

    def acknowledge(self, request: RecordedRequest) -> Step | None:
        found = re.search(r"^Handoff package: (\S+)$", request.text, re.MULTILINE) if request.kind == "main" else None
        if found is None:
            return None
        told = quoted(self.workspace, found[1])
        if self.answers:
            return Step(text=f"I have read it.\nHANDOFF-ACK {told}", usage=used(30_000))
        step = bash(self.command or f"phoenixctl handoff ack '{told}'")
        return Step(text=step.text, tool_use=step.tool_use, usage=used(30_000))


class Seated(AgentStage):
    """The stage with an orchestrator, whose project has one phase."""

    def __init__(self, cli: Successor, root: Path) -> None:
        super().__init__(cli, root)
        self.successor = cli
        cli.workspace = self.workspace
        self.extra_env = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        phase = self.workspace / ".claude/projects/shop/phase-01-work"
        phase.mkdir(parents=True)
        (phase / "plan.md").write_text(PLAN)
        (phase / "claude.md").write_text("# phase-01-work\n")
        (phase / "artifacts").mkdir()

    def handed(self) -> dict[str, Any]:
        told: dict[str, Any] = self.get(f"/v1/handoff?agent={NAME}")
        return told

    def until_done(self) -> tuple[dict[str, Any], list[Holder]]:
        """The handoff once it is over, and who held the seat at the looks meanwhile, each change once."""
        found: dict[str, Any] = {}
        holders: list[Holder] = []

        def is_over() -> bool:
            found.update(self.handed())
            (row,) = self.get("/v1/agents")["agents"]
            holder = (row["generation"], row["session_id"])
            if holder not in holders[-1:]:
                holders.append(holder)
            return found["handoff"] is not None and found["handoff"]["step"] in ("done", "rolled_back")

        try:
            eventually_sync(is_over, PATIENCE, "the handoff is over")
        except TimeoutError as failure:
            raise StageFailed(f"{failure}\n{found}\n{self.row()}\n{self.screen()}\n{self.stage.log_tail()}") from None
        return found, holders

    def marks(self) -> list[str]:
        """For which hooks the shim of the first generation has an answer."""
        return [path.name.partition(".")[2] for path in (self.stage.runtime / "agents" / NAME).glob("armed.*")]


@pytest.fixture(params=PINS["claude"])
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[Seated]:
    with Seated(Successor(require("claude", request.param)), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def used(total: int) -> Usage:
    """After such an answer the context holds `total` tokens, most of them read from a cache."""
    return Usage(1_000, 99, total - 1_199, 100)


def quoted(workspace: Path, package: str) -> str:
    """What a model quotes of its package, and of the plan as it stands."""
    told = json.loads((workspace / package).read_text())
    state = told["projectState"]
    plan = (workspace / told["planFiles"][told["currentPhase"]]).read_text()
    said = {
        "package": told["hash"],
        "word": told["word"],
        "phase": told["currentPhase"],
        "step": state["currentStep"],
        "pending": len(state["pendingTasks"]),
        "plan": re.findall(r"^#+ (Task .*)$", plan, re.MULTILINE)[-1],
    }
    return json.dumps(said)


def is_taken(row: dict[str, Any], tokens: int) -> bool:
    return row["context"] is not None and row["context"]["tokens"] == tokens


@pytest.mark.parametrize(
    ("model", "edge", "share"),
    [("claude-sonnet-4-5", 180_000, "15.0%"), ("claude-sonnet-4-5[1m]", 900_000, "3.0%")],
    ids=["window of 200,000", "window of 1,000,000"],
)
def test_e4_e5_one_token_below_the_threshold_nothing_happens_and_at_it_a_fresh_session_takes_the_seat(
    stage: Seated, model: str, edge: int, share: str
) -> None:
    stage.scenario.add(
        Step("Done.", match="plan", usage=used(edge - 1)),
        Step("On it.", tool_use=bash("true").tool_use, match="And now", usage=used(edge)),
        Step("The rest is done.", hold="frozen", usage=used(edge)),
        Step("The till is half done.", match="fresh session", usage=used(edge + 500)),
    )
    stage.scenario.usage = used(30_000)
    stage.up(keys=KEYS, flags=("--model", model))
    first = stage.asked()
    stage.until(f"{edge - 1:,} are told", lambda row: is_taken(row, edge - 1))
    old = stage.until_idle()
    assert stage.handed()["handoff"] is None, "there is room"
    assert "1.pre-compact" in stage.marks(), "its own compaction is forbidden"

    assert stage.send("And now the rest.").returncode == 0
    eventually_sync(lambda: stage.handed()["handoff"], PATIENCE, "the freeze begins")
    eventually_sync(lambda: "1.stop" in stage.marks(), PATIENCE, "its turn's end is held up")
    stage.stub.open_gate("frozen")
    told, holders = stage.until_done()

    handoff = told["handoff"]
    assert (handoff["step"], told["generation"], handoff["trigger"]) == ("done", 2, "meter"), handoff
    assert [one["step"] for one in handoff["times"]] == STEPS
    assert handoff["degraded"] == []
    new = stage.row()
    assert holders == [(1, old["session_id"]), (2, new["session_id"])], "one holds the seat at every look"
    assert not Path(f"/proc/{old['pid']}").exists(), "the predecessor has ended"
    mine = [one for one in stage.stub.main_requests() if one.session_id == first.session_id]
    assert len([one for one in mine if "over to a fresh session now" in one.text]) == 1, "told to finish once"
    taken_up = next(one for one in stage.stub.main_requests() if one.session_id == new["session_id"])
    assert taken_up.text.startswith("Take up this project"), "the first message of its session"
    assert not [one for one in stage.stub.requests if one.kind == "compaction"], "its own compaction never came first"

    def room() -> tuple[bool | None, str]:
        found = next(one for one in stage.handed()["checks"] if one["name"] == "room in the successor")
        return found["well"], found["what"]

    eventually_sync(lambda: room()[0] is not None, PATIENCE, "it is known how full it is")
    assert room() == (True, f"{share} of its window was taken at its ack")


@pytest.mark.parametrize("answers", [False, True], ids=["by its tool", "by its last words"])
def test_e47_handed_over_by_the_verb_it_acknowledges_either_way(stage: Seated, answers: bool) -> None:
    stage.successor.answers = answers
    stage.scenario.add(Step("Done.", match="plan", usage=used(50_000)))
    stage.up(keys=KEYS, flags=SONNET)
    old = stage.until_idle()

    started = stage.stage.ctl("handoff", "start", NAME, "--project", "shop")
    assert started.returncode == 0, started.stderr
    told, holders = stage.until_done()

    handoff, new = told["handoff"], stage.row()
    assert (handoff["step"], told["generation"], handoff["tries"]) == ("done", 2, 1), handoff
    assert handoff["degraded"] == []
    assert holders == [(1, old["session_id"]), (2, new["session_id"])], "one holds the seat at every look"
    assert not Path(f"/proc/{old['pid']}").exists(), "the predecessor has ended"
    stage.stub.wait_for_main(text="over to a fresh session now", session=old["session_id"], timeout=1)


def begun_in_default_mode(stage: Seated, settings: dict[str, Any] | None = None) -> None:
    """A handoff of an agent whose operator allows no command beforehand."""
    stage.successor.settings = settings or {}
    stage.scenario.add(Step("Done.", match="plan", usage=used(50_000)))
    stage.up(keys=KEYS, flags=(*SONNET, "--permission-mode", "default"))
    stage.until_idle()
    assert stage.stage.ctl("handoff", "start", NAME).returncode == 0


def test_e47_a_successor_acknowledges_although_nothing_is_allowed_beforehand(stage: Seated) -> None:
    begun_in_default_mode(stage)
    told, _ = stage.until_done()
    assert (told["handoff"]["step"], told["handoff"]["tries"]) == ("done", 1), told["handoff"]


@pytest.mark.parametrize(
    "command", ["phoenixctl stop shop", "phoenixctl handoff ack '{}'; rm -f plan.md", "phoenixctl handoff ack $(id)"]
)
def test_e47_a_successor_is_allowed_no_other_command_by_that(stage: Seated, command: str) -> None:
    stage.successor.command = command
    begun_in_default_mode(stage)
    eventually_sync(lambda: "asks a person" in (stage.handed()["handoff"]["held"] or ""), PATIENCE, "it asks")


def test_e47_a_deny_rule_of_the_operators_wins(stage: Seated) -> None:
    begun_in_default_mode(stage, {"permissions": {"deny": ["Bash(phoenixctl handoff ack:*)"]}})
    denied = stage.stub.wait_for_main(text="has been denied", timeout=PATIENCE)
    assert "handoff ack" in denied.text
    assert stage.handed()["handoff"]["step"] == "await_ack"


def reasons(stage: Seated) -> str:
    return " ".join(event["reason"] for event in stage.events())


@pytest.mark.parametrize("at", ["its words", "a call"])
def test_x17_at_the_drains_end_escape_breaks_the_turn_off_and_the_run_lives_on_until_the_fence(
    stage: Seated, at: str
) -> None:
    if at == "a call":
        stage.scenario.add(
            Step("Once more.", tool_use=bash("tail -f /dev/null").tool_use, match="plan", usage=used(50_000))
        )
    else:
        stage.scenario.add(Step("Half of it\nis done", fault="hang_mid_stream", match="plan"))
    stage.up(keys=f'{KEYS}handoff = {{drain = "2s"}}\n', flags=SONNET)
    stage.asked("plan")
    shown = "tail -f" if at == "a call" else "Half of it"
    eventually_sync(lambda: shown in stage.screen(), PATIENCE, "its turn goes on")
    old = stage.row()

    assert stage.stage.ctl("handoff", "start", NAME, "--project", "shop").returncode == 0
    told, holders = stage.until_done()

    handoff, new = told["handoff"], stage.row()
    assert (handoff["step"], handoff["degraded"]) == ("done", ["its turn was cut off after 2 s"]), handoff
    assert [one["step"] for one in handoff["times"]] == STEPS
    assert holders == [(1, old["session_id"]), (2, new["session_id"])]
    assert "its turn is broken off after 2 s" in reasons(stage)
    assert "its handoff cannot wait any longer" not in reasons(stage), "its run is ended by the fence alone"


def test_f_ho_1_a_dead_end_is_handed_over_from_files(stage: Seated) -> None:
    """Without auto-compaction it refuses from 88 % on by itself: no request, and no hook but that of the prompt."""
    stage.extra_env = {**stage.extra_env, "DISABLE_AUTO_COMPACT": "1"}
    stage.scenario.add(Step("Done.", match="plan", usage=used(179_000)))
    stage.up(keys=f'{KEYS}liveness = {{check_interval = "2s"}}\n', flags=SONNET)
    stage.until("the tokens are told", lambda row: is_taken(row, 179_000))
    old = stage.until_idle()

    stage.send("And now the rest.")
    eventually_sync(lambda: stage.handed()["handoff"], PATIENCE, "the handoff begins")
    told, _ = stage.until_done()

    handoff = told["handoff"]
    assert (handoff["step"], handoff["trigger"], told["generation"]) == ("done", "full", 2), handoff
    assert "could say nothing any more" in " ".join(handoff["degraded"])
    assert "drain" not in [one["step"] for one in handoff["times"]], "nobody is there to finish"
    mine = [one for one in stage.stub.main_requests() if one.session_id == old["session_id"]]
    assert not [one for one in mine if "over to a fresh session now" in one.text]
    packages = list((stage.workspace / ".claude/orchestrators").glob("*/handoff-package.json"))
    assert [json.loads(path.read_text())["degraded"] for path in packages] == [True, True]


def test_f_ho_2_e80_its_own_compaction_past_warn_is_blocked_and_begins_the_handoff(stage: Seated) -> None:
    """It compacts where its API refuses the length of a request; kept from that, its turn fails."""
    too_long = Rejection(400, "invalid_request_error", "prompt is too long: 200500 tokens > 200000 maximum")
    stage.scenario.add(
        Step("Done.", match="plan", usage=used(20_000)),
        Step("Done.", match="second", usage=used(150_000)),
        Step(error=too_long, match="And now", times=None),
    )
    stage.up(keys=KEYS, flags=SONNET)
    stage.until("the first answer", lambda row: is_taken(row, 20_000))
    stage.until_idle()
    stage.send("The second part.")
    stage.until("the second answer", lambda row: is_taken(row, 150_000))
    stage.until_idle()
    assert stage.handed()["handoff"] is None

    stage.send("And now the rest.")
    eventually_sync(lambda: stage.handed()["handoff"], PATIENCE, "the handoff begins")
    told, _ = stage.until_done()

    handoff = told["handoff"]
    assert (handoff["step"], handoff["trigger"], told["generation"]) == ("done", "compaction", 2), handoff
    assert "at 150,000 tokens, 75.00% of the window" in handoff["why"]
    assert "it was kept from it" in reasons(stage)
    assert not [one for one in stage.stub.requests if one.kind == "compaction"], "nothing was shortened"
    assert "could say nothing any more" in " ".join(handoff["degraded"])


def test_e80_compact_typed_by_a_person_is_let_and_begins_no_handoff(stage: Seated) -> None:
    stage.scenario.add(
        Step("Done.", match="plan", usage=used(20_000)),
        Step("Done.", match="second", usage=used(150_000)),
    )
    stage.up(keys=KEYS, flags=SONNET)
    stage.until("the first answer", lambda row: is_taken(row, 20_000))
    stage.until_idle()
    stage.send("The second part.")
    stage.until("the second answer", lambda row: is_taken(row, 150_000))
    stage.until_idle()
    assert "1.pre-compact" in stage.marks(), "its own compaction is forbidden"

    assert stage.send("/compact").returncode == 0
    eventually_sync(
        lambda: [one for one in stage.stub.requests if one.kind == "compaction"], PATIENCE, "a summary is asked for"
    )
    stage.until("the context was shortened", lambda row: not is_taken(row, 150_000))
    assert stage.handed()["handoff"] is None
    assert "shorten its context by itself" not in reasons(stage)
