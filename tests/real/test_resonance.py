"""Codex and the Gemini CLI, for real: the anchor in the first context, a code asked for at a turn's end, its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.harness.pins import PINS
from phoenixd.planting import CODES
from tests.e2e.census import all_ends
from tests.real.agent_stage import NAME, PATIENCE, AgentStage
from tests.real.codex_cli import CodexCli
from tests.real.gemini_cli import GeminiCli
from tests.real.installed import require
from tests.real.test_claude_resonance import ASKED, GOAL, KEYS, NUMBERED
from tests.stub.generate_content import GenerateContentStub
from tests.stub.recorded import RecordedRequest
from tests.stub.responses import ResponsesStub
from tests.stub.scenario import Scenario, Step
from tests.stub.server import ApiStub
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]


def recite(request: RecordedRequest) -> Step | None:
    """A model that answers a check from what stands in its context."""
    asked = ASKED.search(request.text) if request.kind == "main" else None
    if asked is None:
        return None
    lines = [line for line in request.whole_text.splitlines() if "Resonance codes: " in line]
    codes = dict(NUMBERED.findall(lines[-1])) if lines else {}
    return Step(text=codes.get(asked[1], "It is not there."))


class RecitingCodex(CodexCli):
    def stub(self, scenario: Scenario) -> ApiStub:
        return ResponsesStub(scenario, responder=recite)


class RecitingGemini(GeminiCli):
    def stub(self, scenario: Scenario) -> ApiStub:
        return GenerateContentStub(scenario, responder=recite)


CLIS = {"codex": RecitingCodex, "gemini": RecitingGemini}


@pytest.fixture(params=[(name, pin) for name in CLIS for pin in PINS[name][:1]], ids="-".join)
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[AgentStage]:
    name, pin = request.param
    with AgentStage(CLIS[name](require(name, pin)), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def test_r3_r14_a_code_is_asked_for_at_a_turns_end_and_answered_from_the_first_context(stage: AgentStage) -> None:
    stage.up(prompt=GOAL, keys=KEYS)
    first = stage.asked(r"docs/plan\.md")
    memory = stage.stage.state / "memory"
    marker = json.loads((memory / f"resonance_anchor_{NAME}.json").read_text())["marker"]
    assert first.whole_text.count(marker) == 1
    stage.until_idle()
    stage.until_shown()
    assert stage.stage.ctl("resonance", "check", NAME).returncode == 0

    assert stage.send("Build the shop.").returncode == 0
    stage.until("it is verified", lambda row: (row["resonance"] or {}).get("state") == "intact")
    stage.until_idle()

    (check,) = [one for one in stage.stub.main_requests() if ASKED.search(one.text)]
    given = {json.loads(line)["hex"] for line in (memory / "marker_ledger.jsonl").read_text().splitlines()}
    assert not {found.group() for found in CODES.finditer(check.text)} & given, "R64: no code in a check"

    def ends() -> list[str]:
        found = [one["detail"] for one in stage.events() if one["event"] == "hook_seen"]
        return [str(one.get("text")).strip() for one in found if one.get("kind") == "stop"]

    eventually_sync(lambda: ends() == ["Done.", "Done."], PATIENCE, f"the answer is no part of the work: {ends()}")
    told = stage.stage.ask("since") + stage.stage.ask("brief", "show", NAME)
    assert "recite" not in told
    assert not {found.group() for found in CODES.finditer(told)} & given
