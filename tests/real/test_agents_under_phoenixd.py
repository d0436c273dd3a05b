"""The real Codex and Gemini CLI under a real daemon: started, worked with, killed, back at work, and left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.census import all_ends
from tests.real.agent_stage import GOAL, AgentStage
from tests.real.codex_cli import CodexCli
from tests.real.gemini_cli import GeminiCli
from tests.real.installed import require
from tests.stub.scenario import Step

pytestmark = pytest.mark.real_claude

CLIS: dict[str, type[CodexCli] | type[GeminiCli]] = {"codex": CodexCli, "gemini": GeminiCli}


LONG = "\n".join(f"{number}: 計画を最後まで進める & <b>" for number in range(1200))


@pytest.fixture(params=CLIS)
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[AgentStage]:
    with AgentStage(CLIS[request.param](require(request.param)), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def test_p34_p53_it_works_is_killed_and_back_at_work_and_stays_down_after_exit(stage: AgentStage) -> None:
    cli = stage.cli
    assert isinstance(cli, CodexCli | GeminiCli)
    stage.scenario.add(cli.shell("cat $PHOENIX_STATE_DIR/heartbeat.json > made.json"), Step(fault="hang"))
    stage.up()
    first = stage.asked(r"docs/plan\.md")
    stage.asked("output|Output", after=first.number)
    worked = stage.until("it works", lambda row: row["activity"] == "working" and row["hooks"] == "ok")

    stage.kill_agent()

    again = stage.asked("You were interrupted", after=first.number + 1)
    back = stage.until_idle(incarnation=2)
    assert GOAL in again.whole_text
    assert (back["mode"], back["session_id"]) == ("resume", worked["session_id"])
    assert "Facts that phoenixd recorded about this agent" in first.whole_text
    assert (stage.workspace / "made.json").exists()

    stage.send("/exit" if cli.harness == "codex" else "/quit")

    down = stage.until("it is down", lambda row: row["state"] == "stopped")
    assert (down["desired"], down["incarnation"]) == ("stopped", 2)


@pytest.mark.parametrize("stage", ["codex", pytest.param("gemini", marks=pytest.mark.proof)], indirect=True)
def test_p35_p43_each_session_is_told_a_long_brief_cut_to_size_and_where_the_whole_one_lies(stage: AgentStage) -> None:
    stage.up(prompt=LONG)
    first = stage.asked("計画")
    old = stage.until_idle()["session_id"]

    assert stage.send("/clear").returncode == 0
    if stage.cli.harness == "gemini":  # Codex names its new session with the first prompt.
        stage.until("the session changes", lambda row: row["session_id"] != old)
    stage.wait_screen("idle")
    assert stage.send("What now?").returncode == 0
    second = stage.asked("What now")

    pointer = f"The whole page: {stage.directory / 'brief.md'}\n"
    for request in (first, second):
        assert request.whole_text.count("Facts that phoenixd recorded about this agent") == 1
        told = request.whole_text[request.whole_text.index("# builder — ") :].partition(pointer)
        assert told[1]
        assert stage.harness.told_length(told[0].replace("&lt;", "<").replace("&gt;", ">")) < 10_000
        assert "- Current task: " in told[0]
        assert "truncated" not in told[0]
    assert LONG in first.whole_text
    assert LONG not in second.whole_text
