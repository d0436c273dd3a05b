"""Escape, pressed once at a drain's end, breaks the turn of each real CLI off, and its run lives on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.harness.pins import PINS
from tests.e2e.census import all_ends
from tests.real.agent_stage import NAME, PATIENCE, AgentStage
from tests.real.clis import CONTRACTED, Codex, Gemini
from tests.real.installed import require
from tests.stub.scenario import Step
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]

KEYS = (
    'kind = "orchestrator"\nproject = "shop"\ncontext = {predict = false, limit = 200000}\nhandoff = {drain = "2s"}\n'
)


@pytest.fixture(
    params=[(name, pin) for name in ("codex", "gemini") for pin in PINS[name]], ids=lambda one: "-".join(one)
)
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[AgentStage]:
    name, pin = request.param
    cli = CONTRACTED[name](require(name, pin))
    assert isinstance(cli, Codex | Gemini)
    with AgentStage(cli, short_tmp) as made:
        yield made
    all_ends(short_tmp)


@pytest.mark.parametrize("at", ["its words", "a call"])
def test_x17_escape_breaks_the_turn_off_and_a_rollback_finds_the_run_as_it_was(stage: AgentStage, at: str) -> None:
    cli = stage.cli
    assert isinstance(cli, Codex | Gemini)
    if at == "a call" and isinstance(cli, Codex):
        pytest.skip("Codex puts a call that takes long into the background, and goes on without it")
    if at == "a call":
        stage.scenario.add(cli.shell("tail -f /dev/null"))
    else:
        stage.scenario.add(Step("Half of it\nis done", fault="hang_mid_stream"))
    stage.up(keys=KEYS)
    stage.asked("plan")
    row = stage.until("its turn goes on", lambda row: row["activity"] == "working")
    if at == "its words":
        eventually_sync(lambda: "Half of it" in stage.screen(), PATIENCE, "half an answer")
    if at == "a call":
        eventually_sync(lambda: "tail -f" in stage.screen(), PATIENCE, "the call is shown")

    assert stage.stage.ctl("handoff", "start", NAME, "--project", "shop").returncode == 0
    found: list[str] = []

    def is_past() -> bool:
        handoff = stage.get(f"/v1/handoff?agent={NAME}")["handoff"]
        found[:] = handoff["degraded"]
        return handoff["step"] in ("spawn", "await_ack")

    eventually_sync(is_past, PATIENCE, "the drain is over")
    assert found == ["its turn was cut off after 2 s"], [one["reason"] for one in stage.events()]
    assert stage.stage.ctl("handoff", "rollback", NAME).returncode == 0
    after = stage.until("it goes on", lambda row: row["state"] == "running")
    assert (after["pid"], after["session_id"]) == (row["pid"], row["session_id"])
    told = " ".join(one["reason"] for one in stage.events())
    assert "Escape has ended its turn" in told or "the turn ended" in told
    assert "its handoff cannot wait any longer" not in told
