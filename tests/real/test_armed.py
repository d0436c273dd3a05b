"""How the real CLIs take answers that stand ready with the shim: by their own hooks, through a whole daemon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.harness.pins import PINS
from tests.e2e.arming import ArmingStage, arm
from tests.e2e.census import all_ends
from tests.real.agent_stage import NAME, PATIENCE, AgentStage
from tests.real.claude_stage import ClaudeStage
from tests.real.clis import CONTRACTED
from tests.real.installed import require
from tests.stub.scenario import Rejection, Step
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]

GOAL = "Work through docs/plan.md."
REASON = "Finish here, and write down what only you know."
RELEASES = [(name, pin) for name in CONTRACTED for pin in PINS[name]]
SHELLS = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command"}
"""What each calls the tool by which it runs a command."""


class Armable(AgentStage):
    """The stage with a daemon that arms what a prompt says."""

    @property
    def arming(self) -> ArmingStage:
        assert isinstance(self.stage, ArmingStage)
        return self.stage

    def kinds(self) -> list[str]:
        """The hooks that the journal keeps, in their order."""
        return [event["detail"]["kind"] for event in self.events() if event["event"] == "hook_seen"]

    def reasons(self) -> str:
        return " | ".join(event["reason"] for event in self.events())


@pytest.fixture(params=RELEASES, ids=lambda release: "-".join(release))
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[Armable]:
    name, pin = request.param
    with Armable(CONTRACTED[name](require(name, pin)), short_tmp) as made:
        made.stage = ArmingStage(short_tmp)
        yield made
    all_ends(short_tmp)


def test_a_turns_end_is_held_up_once_with_a_reason_and_the_next_one_says_so(stage: Armable) -> None:
    """It may be given twice here: what keeps the second end from being held up is that the CLI says that one was."""
    stage.scenario.add(Step(text="Done.", hold="armed"))
    stage.up(prompt=f"{GOAL} {arm('f-1', 'stop', REASON, times=2)}")
    first = stage.asked(r"docs/plan\.md")
    stage.arming.until_armed(NAME, "1.stop")
    stage.stub.open_gate("armed")

    stage.asked("write down what only you know", after=first.number)
    stage.until_idle()

    def ends() -> list[str]:
        return [kind for kind in stage.kinds() if kind.startswith("stop")]

    eventually_sync(lambda: ends() == ["stop-blocked", "stop"], PATIENCE, f"one end and another, not {ends()}")
    assert len(stage.stub.main_requests()) == 2
    assert "its turn was not let end, as armed (freeze)" in stage.reasons()
    assert "armed      freeze: does not let its turn end, once" in stage.stage.ask("explain", NAME)


def test_a_denied_tool_is_not_run_and_the_model_reads_why(stage: Armable) -> None:
    cli = stage.cli
    step = cli.shell("touch made.txt")  # type: ignore[attr-defined]
    stage.scenario.add(Step(text=step.text, tool_use=step.tool_use, hold="armed"))
    tools = [SHELLS[cli.harness]]
    stage.up(prompt=f"{GOAL} {arm('d-1', 'tool', REASON, tools=tools, times=100)}")
    first = stage.asked(r"docs/plan\.md")
    stage.arming.until_armed(NAME, "1.tool-start")
    stage.stub.open_gate("armed")

    told = stage.asked("write down what only you know", after=first.number)
    stage.until_idle()

    assert not (stage.workspace / "made.txt").exists()
    assert REASON in told.text
    assert "a call of its was denied, as armed (freeze)" in stage.reasons()


@pytest.mark.parametrize("pin", PINS["claude"])
def test_a_compaction_of_its_own_is_blocked(short_tmp: Path, pin: str) -> None:
    """The API says that the context is too long: it would compact, and one answer forbids that."""
    too_long = Rejection(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")
    with ClaudeStage(require("claude", pin), short_tmp) as stage:
        stage.stage = ArmingStage(short_tmp)
        stage.up(prompt=GOAL, flags=("--model", "claude-sonnet-4-5"))
        told(stage, "And the shop.")

        stage.scenario.add(Step(error=too_long, match="Squeeze it"))
        told(stage, "Squeeze it.")
        assert len(compactions(stage)) == 1, "it is one that compacts by itself"
        told(stage, "And the till.")

        stage.scenario.add(Step(error=too_long, match="And now the rest"))
        assert stage.send(f"And now the rest. {arm('c-1', 'compaction', REASON)}").returncode == 0
        stage.until("its turn is over", lambda row: row["activity"] != "working" or row["incarnation"] > 1)
        eventually_sync(lambda: "its compaction was blocked, as armed" in str(stage.events()), PATIENCE, "it is told")
        assert len(compactions(stage)) == 1, "what would have been the second was blocked"


def told(stage: ClaudeStage, words: str) -> None:
    """Have a turn begin and end with these words."""
    stage.until_idle()
    assert stage.send(words).returncode == 0
    stage.asked(words)
    stage.until_idle()


def compactions(stage: ClaudeStage) -> list[int]:
    return [request.number for request in stage.stub.requests if request.kind == "compaction"]
