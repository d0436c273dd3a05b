"""What becomes of an answer that is cut, with the real CLI under a whole daemon.

Each fault is noticed, or it is written here that it cannot be known without a seal (documents/seal.py).

The gate runs two rows; `./dev proof cuts` runs all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from phoenixd.core.cut import GO_ON
from phoenixd.harness.pins import PINS
from tests.e2e.census import all_ends
from tests.real.agent_stage import PATIENCE, AgentStage
from tests.real.clis import CONTRACTED, Contracted
from tests.real.installed import require
from tests.stub.scenario import Step
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude

TEXT = "First the till is closed. Then the money is counted. Then the report is written."
GOAL = r"docs/plan\.md"
OLDEST, NEWER = PINS["claude"]

Outcome = Literal["went on", "told", "parked", "fresh", "too long", "whole", "unknowable"]
"""went on: the CLI asked for the rest by itself, so that its last message is the last part alone, which is known. told:
the agent was told to go on. parked: it waits as for a service that fails, and is told then. fresh: its session is given
up. too long: a person is called, for the CLI says the same of a first prompt that is refused. whole: the CLI asked
again, and got the whole answer. unknowable: nothing tells of it without a seal."""

FAULTS: dict[str, Step] = {
    "output limit once": Step(text=TEXT, stop="output_limit", match=GOAL),
    "output limit each time": Step(text=TEXT, stop="output_limit", match=f"{GOAL}|token limit", times=4),
    "window exceeded": Step(text=TEXT, stop="window", match=f"{GOAL}|token limit", times=4),
    "filtered": Step(text=TEXT, stop="filtered", match=f"{GOAL}|safety classifier", times=2),
    "socket cut in the stream": Step(text=TEXT, fault="drop_mid_stream", match=GOAL, times=2),
    "stream ends inside a block": Step(text=TEXT, fault="end_mid_block", match=GOAL, times=4),
    "stream ends after a block": Step(text=TEXT, fault="end_after_block", match=f"{GOAL}|cut off mid-stream", times=4),
}

CLAUDE: dict[str, Outcome] = {
    "output limit once": "went on",
    "output limit each time": "told",
    "window exceeded": "fresh",
    "filtered": "told",
    "socket cut in the stream": "whole",
    "stream ends inside a block": "whole",
    "stream ends after a block": "told",
}
CODEX: dict[str, Outcome] = {
    "output limit once": "told",
    "window exceeded": "too long",
    "filtered": "told",
    "socket cut in the stream": "parked",
    "stream ends inside a block": "parked",
    "stream ends after a block": "parked",
}
GEMINI: dict[str, Outcome] = {
    "output limit once": "unknowable",
    "filtered": "unknowable",
    "stream ends inside a block": "unknowable",
}
NEWEST: dict[str, Outcome] = {**CLAUDE, "stream ends after a block": "parked"}
TABLE = {("claude", OLDEST): CLAUDE, ("claude", NEWER): NEWEST, ("codex", ""): CODEX, ("gemini", ""): GEMINI}
GATE = {("claude", OLDEST, "output limit once"), ("codex", "", "output limit once")}
ROWS = [
    pytest.param(
        (harness, pin), fault, outcome, id=f"{harness}{pin}-{fault.replace(' ', '-')}",
        marks=[] if (harness, pin, fault) in GATE else pytest.mark.proof,
    )
    for (harness, pin), faults in TABLE.items()
    for fault, outcome in faults.items()
]  # fmt: skip


@pytest.fixture
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[AgentStage]:
    harness, pin = request.param
    with AgentStage(CONTRACTED[harness](require(harness, pin or None)), short_tmp) as made:
        yield made
    all_ends(short_tmp)


def cuts(stage: AgentStage) -> list[dict[str, Any]]:
    """The rows of the journal that tell of a cut answer."""
    return [event for event in stage.events() if event["event"] == "answer_cut"]


@pytest.mark.proof
@pytest.mark.parametrize(
    ("stage", "named"),
    [(("claude", OLDEST), "Bash"), (("claude", NEWER), "Bash"), (("codex", ""), "exec_command"), (("gemini", ""), "")],
    indirect=["stage"],
    ids=[f"claude{OLDEST}", f"claude{NEWER}", "codex", "gemini"],
)
def test_a_call_that_came_with_a_cut_answer_is_executed_by_all_and_named_where_the_cut_is_told(
    stage: AgentStage, named: str
) -> None:
    assert isinstance(stage.cli, Contracted)
    call = stage.cli.shell("touch made.txt")
    stage.scenario.add(replace(call, stop="output_limit", match=GOAL))
    stage.up(keys='liveness = { check_interval = "1s" }')
    stage.asked(GOAL)
    stage.until_idle()

    assert (stage.workspace / "made.txt").exists()
    if not named:
        assert cuts(stage) == []
        return
    eventually_sync(lambda: cuts(stage), PATIENCE, "the journal tells of it")
    assert f"its call came with it, and was carried out: {named}" in cuts(stage)[0]["reason"]


@pytest.mark.parametrize(("stage", "fault", "outcome"), ROWS, indirect=["stage"])
def test_each_way_in_which_an_answer_is_cut_is_noticed_or_known_to_need_a_seal(
    stage: AgentStage, fault: str, outcome: Outcome
) -> None:
    stage.scenario.add(FAULTS[fault])
    stage.up(keys='limits = { overload_wait = "3s" }\nliveness = { check_interval = "1s" }')
    first = stage.asked(GOAL)

    match outcome:
        case "went on":
            stage.stage.until("the journal tells of it", lambda: bool(cuts(stage)), PATIENCE)
            assert "its last message is the last part alone" in cuts(stage)[0]["reason"]
            stage.until_idle()
            assert not any(GO_ON in request.text for request in stage.stub.main_requests())
        case "told":
            told = stage.asked(GO_ON.replace(".", r"\."), after=first.number)
            assert len(cuts(stage)) == 1
            row = stage.until_idle()
            assert (row["incarnation"], row["restarts"]) == (1, 0)
            assert stage.inbox() == []
            assert told.text.count(GO_ON) == 1
        case "fresh":
            row = stage.until("its session is given up", lambda row: (row["incarnation"], row["mode"]) == (2, "fresh"))
            assert row["restarts"] == 1
        case "too long":
            row = stage.until("a person is called", lambda row: row["items"])
            assert [item["kind"] for item in stage.inbox()] == ["too long"]
            assert (row["incarnation"], row["restarts"]) == (1, 0)
        case "whole":
            stage.until_idle()
            assert cuts(stage) == []
        case "unknowable":
            stage.until_idle()
            stage.stage.ask("explain", "builder")
            assert cuts(stage) == []
        case "parked":
            eventually_sync(lambda: cuts(stage), PATIENCE, "the journal tells of it")
            assert "it is parked, overload, and is told when that is over" in cuts(stage)[0]["reason"]
            stage.asked("Go on where you stopped", after=first.number)
            stage.until_idle()
