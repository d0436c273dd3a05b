"""A real daemon finds out that an agent has lost the front of its context, and restores it in a new session."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.resonance.state import Step
from phoenixd.demo.stage import Stage
from phoenixd.planting import CODES
from tests.e2e.census import all_ends
from tests.e2e.test_old_journal import lose
from tests.waiting import eventually_sync

pytestmark = pytest.mark.slow

PATIENCE = 90.0
AGENT = Path(__file__).with_name("remembering.py")


class Bearer:
    """One agent that bears a marker, and the papers of that."""

    def __init__(self, stage: Stage, keys: str = "", *, has_task: bool = True) -> None:
        self.stage, self.work, self.memory = stage, stage.root / "work", stage.state / "memory"
        self.work.mkdir()
        argv = [sys.executable, str(AGENT), *(["{prompt}"] if has_task else [])]
        prompt = 'prompt = "Mend the roof."\n' if has_task else ""
        stage.declare(
            "a",
            f'[agent.a]\ncwd = "{self.work}"\nproject = "house"\n{prompt}'
            f"argv = {json.dumps(argv)}\n"
            f"[agent.a.resonance]\nenabled = true\n{keys}",
        )
        stage.up()
        self.until("it rests", self.rests)

    def until(self, what: str, condition: Callable[[], bool]) -> None:
        self.stage.until(what, condition, PATIENCE)

    def rests(self) -> bool:
        row = self.stage.row("a")
        return row["state"] == "running" and row["activity"] == "idle"

    def status(self) -> dict[str, Any]:
        done = self.stage.ctl("resonance", "status", "a", "--json")
        found: dict[str, Any] = json.loads(done.stdout)
        return {**found, "exit": done.returncode}

    def anchor(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.memory / "resonance_anchor_a.json").read_text())
        return found

    def given(self) -> set[str]:
        """Every code that was ever given."""
        return {json.loads(line)["hex"] for line in (self.memory / "marker_ledger.jsonl").read_text().splitlines()}

    def told(self, incarnation: int) -> str:
        return (self.work / f"told-{incarnation}").read_text()

    def prompted(self, incarnation: int) -> str:
        """The prompt with which a run began."""
        path = self.work / f"prompted-{incarnation}"
        return path.read_text() if path.exists() else ""

    def asked(self) -> list[str]:
        path = self.work / "asked"
        return path.read_text().split("\n---\n")[:-1] if path.exists() else []

    def turn(self, words: str = "Go on.") -> None:
        """Have it take a turn, and come to rest after all that is asked at its end."""
        sent = self.stage.ctl("send", "a", words)
        assert sent.returncode == 0, sent.stderr
        self.until("it rests", self.rests)


def test_r3_r5_r40_r66_an_agent_that_forgets_is_found_out_and_restored_in_a_new_session(stage: Stage) -> None:
    agent = Bearer(stage)
    first = agent.anchor()["marker"]
    assert agent.told(1).startswith("You are a in the project house.\nResonance marker: ")
    assert agent.told(1).count(first) == 1
    assert agent.status()["state"] == "unverifiable"

    # It knows its marker: one code is asked for at the next turn's end, and the answer verifies it.
    assert stage.ctl("resonance", "check", "a").returncode == 0
    agent.turn()
    agent.until("it is verified", lambda: agent.status()["state"] == "intact")
    agent.until("the anchor says so", lambda: agent.anchor()["last_verified"] is not None)
    (challenge,) = agent.asked()
    assert not {found.group() for found in CODES.finditer(challenge)} & agent.given(), "no code stands in a challenge"
    assert stage.row("a")["resonance"]["state"] == "intact"

    # Its front is cut without its knowledge: one miss is asked again, the second is a loss.
    (agent.work / "FORGETS").touch()
    assert stage.ctl("resonance", "check", "a").returncode == 0
    agent.turn("Paint the door.")
    if stage.row("a")["incarnation"] == 1 and agent.status()["state"] in ("missed", "paraphrased"):
        agent.turn("Paint it twice.")
    stage.until_running("a", 2, ("fresh",), PATIENCE)
    agent.until("the new session is verified", lambda: agent.status()["state"] == "intact")

    second = agent.anchor()["marker"]
    page = agent.told(2)
    assert second != first
    assert page.startswith("[CONTEXT SEED]\nRole: a\n")
    assert "Paint " in page
    assert second in page
    assert first not in page
    codes_told = {found.group() for found in CODES.finditer(page)}
    assert not {found.group() for found in CODES.finditer(agent.told(1))} & codes_told, "no code is given twice"
    rows = (stage.state / "agents" / "a" / "ops.jsonl").read_text().splitlines()
    events = [json.loads(row)["event"] for row in rows]
    agent.until("it is on record", lambda: "restore_6" in recorded(stage))
    steps = [one for one in recorded(stage) if one.startswith(("marker_lost", "restore_"))]
    assert steps == ["marker_lost", *(f"restore_{step}" for step in range(1, 7))], events
    assert "session_summary" in recorded(stage)
    journal = (
        stage.ask("events", "a", "--all", "--json") + stage.ask("explain", "a") + stage.ask("resonance", "status", "a")
    )
    planted = agent.given() - {found.group() for text in agent.asked() for found in CODES.finditer(text)}
    unasked = planted - answered(agent)
    assert not {found.group() for found in CODES.finditer(journal)} & unasked, "no unasked code is told by phoenixd"


def test_f_re_7_after_a_lost_journal_its_papers_tell_that_it_bears_a_marker_and_it_gets_codes_that_can_be_asked(
    stage: Stage,
) -> None:
    """Doctor said that its session had begun before resonance was on."""
    agent = Bearer(stage)
    stage.kill()
    lose(stage)
    stage.up()
    told = stage.ctl("doctor", "--all").stdout
    assert "before resonance was on" not in told
    assert "a bears no marker" not in told
    agent.turn("Paint the door.")
    assert stage.ctl("resonance", "check", "a").returncode == 0
    agent.turn("Paint it twice.")
    agent.until("it is verified", lambda: agent.status()["state"] == "intact")
    assert stage.row("a")["incarnation"] == 1


def recorded(stage: Stage) -> list[str]:
    rows = (stage.state / "agents" / "a" / "ops.jsonl").read_text().splitlines()
    return [json.loads(row)["event"] for row in rows]


def answered(agent: Bearer) -> set[str]:
    """The codes that the agent said itself, as ops.jsonl keeps its last words."""
    text = (agent.stage.state / "agents" / "a" / "ops.jsonl").read_text()
    return {found.group() for found in CODES.finditer(text)}


def test_f_re_7_kill_9_of_the_daemon_and_a_lost_anchor_cost_the_agent_nothing(stage: Stage) -> None:
    agent = Bearer(stage)
    before = agent.anchor()["marker"]
    stage.kill()
    for name in ("resonance_anchor_a.json", "session_seed_a.json"):
        (agent.memory / name).write_text("{")
    stage.up()
    agent.until("it rests", agent.rests)

    assert stage.ctl("resonance", "check", "a").returncode == 0
    agent.turn()
    agent.until("it is verified", lambda: agent.status()["state"] == "intact")
    agent.until("the anchor is there again", lambda: (agent.status()["rebuilt_from"] or "") == "state")
    assert agent.anchor()["marker"] == before
    assert stage.row("a")["incarnation"] == 1


def test_r48_kill_9_of_the_daemon_in_the_middle_of_a_restoration_ends_in_one_new_session(short_tmp: Path) -> None:
    """One of the deaths of `./dev proof restoring`."""
    # It builds on Bearer, above.
    from tests.proof.restoring.kills import StepStage, kills

    stage = StepStage(short_tmp)
    try:
        assert kills(stage, 1, (Step.SESSION,)) == {"restored": 1}
    finally:
        stage.down()
    all_ends(short_tmp)


def test_r40_a_restored_agent_that_rests_is_given_a_turn_and_verified(stage: Stage) -> None:
    agent = Bearer(stage, has_task=False)
    assert stage.ctl("resonance", "restore", "a").returncode == 0
    stage.until_running("a", 2, ("fresh",), PATIENCE)
    stage.until("the new session is verified", lambda: agent.status()["state"] == "intact", 2 * PATIENCE)

    eventually_sync(lambda: "restore_6" in recorded(stage), what=f"the last step is kept: {recorded(stage)}")
    assert len(agent.asked()) == 1, "one turn was opened, and one code asked for"
