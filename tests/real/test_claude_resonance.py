"""The real Claude Code is asked for a code at a turn's end; where its model has lost the front, it is restored."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.harness.pins import PINS
from phoenixd.planting import CODES, is_ours
from tests.e2e.census import all_ends
from tests.real.agent_stage import NAME, PATIENCE, AgentStage
from tests.real.claude_stage import ClaudeCli
from tests.real.installed import require
from tests.stub.messages import MessagesStub
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Rejection, Scenario, Step
from tests.stub.server import ApiStub
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]

KEYS = "resonance = {enabled = true, interval_turns = 20}\n"
GOAL = "Work through docs/plan.md."
NUMBERED = re.compile(r"\b([0-9]{1,3}): ([0-9a-f]{6})\b")
ASKED = re.compile(r"recite resonance code number ([0-9]{1,3}) ")


class Reciting(ClaudeCli):
    """Claude Code whose model answers checks from what stands in its context, but for sessions whose front it lost."""

    def __init__(self, binary: Path) -> None:
        super().__init__(binary)
        self.forgotten: set[str | None] = set()

    def stub(self, scenario: Scenario) -> ApiStub:
        return MessagesStub(scenario, responder=self.recite)

    def recite(self, request: RecordedRequest) -> Step | None:
        asked = ASKED.search(request.text) if request.kind == "main" else None
        if asked is None:
            return None
        if request.session_id in self.forgotten:
            return Step(text="I cannot see it.")
        lines = [line for line in request.whole_text.splitlines() if line.startswith("Resonance codes: ")]
        codes = dict(NUMBERED.findall(lines[-1])) if lines else {}
        return Step(text=codes.get(asked[1], "It is not there."))


class Remembering(AgentStage):
    """The stage with an agent that bears a marker."""

    def __init__(self, cli: Reciting, root: Path) -> None:
        super().__init__(cli, root)
        self.reciting = cli

    def anchor(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.stage.state / f"memory/resonance_anchor_{NAME}.json").read_text())
        return found

    def given(self) -> set[str]:
        lines = (self.stage.state / "memory/marker_ledger.jsonl").read_text().splitlines()
        return {json.loads(line)["hex"] for line in lines}

    def resonance(self) -> str:
        return str((self.row()["resonance"] or {}).get("state"))

    def ops(self) -> list[str]:
        rows = (self.stage.state / "agents" / NAME / "ops.jsonl").read_text().splitlines()
        return [json.loads(row)["event"] for row in rows]

    def checks(self) -> list[RecordedRequest]:
        return [one for one in self.stub.main_requests() if is_ours(one.text)]

    def ask_for_a_check(self) -> None:
        done = self.stage.ctl("resonance", "check", NAME)
        assert done.returncode == 0, done.stderr

    def turn(self, words: str) -> None:
        """A turn with these words, and what is asked at its end."""
        assert self.send(words).returncode == 0
        self.asked(re.escape(words))


@pytest.fixture(params=PINS["claude"][:1])
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[Remembering]:
    with Remembering(Reciting(require("claude", request.param)), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def test_r3_r14_the_anchor_stands_in_the_first_context_and_a_check_is_answered_intact(stage: Remembering) -> None:
    stage.up(prompt=GOAL, keys=KEYS)
    first = stage.asked(r"docs/plan\.md")
    marker = stage.anchor()["marker"]
    assert first.whole_text.count(marker) == 1
    assert marker not in json.dumps(first.body.get("system")), "never in a system prompt"
    stage.until_idle()
    assert stage.checks() == [], "a new session is not asked at once"
    stage.until_shown()

    stage.ask_for_a_check()
    stage.turn("Build the shop.")
    stage.until("it is verified", lambda row: (row["resonance"] or {}).get("state") == "intact")
    stage.until_idle()

    (check,) = stage.checks()
    assert not {found.group() for found in CODES.finditer(check.text)} & stage.given(), "R64: no code in a check"
    eventually_sync(lambda: stage.anchor()["last_verified"] is not None, PATIENCE, "the anchor says so")
    ends = [one["detail"] for one in stage.events() if one["detail"].get("kind") == "stop"]
    assert [one["text"] for one in ends] == ["Done.", "Done."], "the answer is no part of the work"
    told = stage.stage.ask("since") + stage.stage.ask("brief", "show", NAME)
    assert "recite" not in told
    assert not {found.group() for found in CODES.finditer(told)} & stage.given()


def test_r5_r38_two_misses_are_a_loss_and_a_fresh_session_with_a_new_marker_is_verified(stage: Remembering) -> None:
    stage.up(prompt=GOAL, keys=KEYS)
    session = stage.asked(r"docs/plan\.md").session_id
    stage.until_idle()
    before = stage.anchor()["marker"]
    stage.until_shown()

    stage.reciting.forgotten.add(session)
    stage.ask_for_a_check()
    stage.turn("Build the shop.")
    stage.until("one miss is no loss", lambda row: (row["resonance"] or {}).get("state") == "missed")
    stage.until_idle()
    stage.turn("And the till.")
    stage.until("it is restored", lambda row: row["incarnation"] == 2 and stage.resonance() == "intact")
    row = stage.until_idle(2)

    after = stage.anchor()["marker"]
    assert after != before
    assert row["session_id"] != session
    assert row["mode"] == "fresh"
    opened = [one for one in stage.stub.main_requests() if one.session_id == row["session_id"]]
    assert after in opened[0].whole_text
    assert before not in opened[0].whole_text, "R39: the old marker is nowhere"
    eventually_sync(lambda: "restore_6" in stage.ops(), PATIENCE, "it is on record")
    steps = [one for one in stage.ops() if one.startswith(("marker_lost", "restore_"))]
    assert steps == ["marker_lost", *(f"restore_{step}" for step in range(1, 7))]


def test_x27_a_real_compaction_is_followed_by_the_anchor_and_by_a_check_of_it(stage: Remembering) -> None:
    stage.up(prompt=GOAL, keys=KEYS, flags=("--model", "claude-sonnet-4-5"))
    stage.asked(r"docs/plan\.md")
    stage.until_idle()
    marker = stage.anchor()["marker"]
    stage.turn("And the shop.")
    stage.until_idle()
    assert stage.checks() == []

    too_long = Rejection(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")
    stage.scenario.add(Step(error=too_long, match="Squeeze it"))
    stage.turn("Squeeze it.")
    stage.until("it is verified", lambda row: (row["resonance"] or {}).get("state") == "intact")
    stage.until_idle()

    assert [one.kind for one in stage.stub.requests].count("compaction") == 1
    (check,) = stage.checks()
    assert "Summary" in check.whole_text or "summary" in check.whole_text, "what was said before is a summary"
    assert check.whole_text.count(marker) == 1, "the anchor was told again, once"
    assert stage.row()["incarnation"] == 1
    assert "marker_lost" not in stage.ops()
