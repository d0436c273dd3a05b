"""The real Claude Code, metered: tokens from its transcript, the window from its status line, and yours is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.harness.pins import PINS
from tests.real.claude_stage import ClaudeStage
from tests.real.installed import require
from tests.stub.scenario import Step, Usage
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude
SONNET = ("--model", "claude-sonnet-4-5")
"""A model with a window of 200,000."""


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[ClaudeStage]:
    """The release whose screen is read with a status line on."""
    with ClaudeStage(require("claude", PINS["claude"][1]), short_tmp) as stage:
        yield stage


@pytest.fixture
def older(short_tmp: Path) -> Iterator[ClaudeStage]:
    with ClaudeStage(require("claude", PINS["claude"][0]), short_tmp) as stage:
        yield stage


def full(total: int, match: str | None = None) -> Step:
    """An answer after which the context holds `total` tokens, most of them read from a cache."""
    return Step(text="Done.", match=match, usage=Usage(1_000, 99, total - 1_199, 100))


def is_known(row: dict[str, Any], tokens: int) -> bool:
    context = row["context"]
    return context is not None and context["tokens"] == tokens and context["limit"] is not None


def check(stage: ClaudeStage, *more: str) -> tuple[int, dict[str, Any]]:
    ran = stage.stage.ctl("tokens", "check", "builder", "--json", *more)
    return ran.returncode, json.loads(ran.stdout)


def test_e4_the_meter_reads_179_999_as_room_and_180_000_as_a_handoff(stage: ClaudeStage) -> None:
    stage.scenario.add(full(179_999, "plan"), full(180_000, "And now"))
    stage.up(flags=SONNET, keys="context = {predict = false}")

    row = stage.until("179,999 of 200,000 are told", lambda row: is_known(row, 179_999))
    assert (row["context"]["limit"], row["context"]["source"]) == (200_000, "status line")
    assert row["context"]["percent"] == 89.9
    assert check(stage)[0] == 0
    assert check(stage, "--session-id", row["session_id"])[1]["verdict"] == "WARNING"
    assert check(stage, "--threshold", "0.5")[0] == 3

    stage.until_idle()
    stage.send("And now the rest.")
    stage.until("180,000 are told", lambda row: is_known(row, 180_000))
    code, told = check(stage)
    assert (code, told["verdict"], told["percent"]) == (3, "HANDOFF", 90.0)


@pytest.mark.proof  # The gate has test_row_numbers.py.
def test_the_window_of_a_million_is_the_clis_own_word(stage: ClaudeStage) -> None:
    stage.scenario.add(full(180_000, "plan"))
    stage.up()

    row = stage.until("the tokens are told", lambda row: is_known(row, 180_000))
    assert row["context"]["limit"] in (200_000, 1_000_000)
    assert row["context"]["source"] == "status line"


@pytest.mark.proof
def test_the_operators_own_status_line_is_shown_with_the_same_input_and_never_asks_itself(stage: ClaudeStage) -> None:
    stage.settings = {
        **stage.settings,
        "statusLine": {"type": "command", "command": "printf 'MINE '; grep -o 'claude-sonnet-4-5' | head -n 1"},
    }
    stage.up(flags=SONNET)

    stage.until_idle()
    eventually_sync(lambda: "MINE claude-sonnet-4-5" in stage.screen(), 60, "the operator's status line")
    assert "MINE claude-sonnet-4-5" in stage.wait_screen("idle")
    stage.until("the window is told as well", lambda row: row["context"] is not None and row["context"]["limit"])


@pytest.mark.proof
def test_without_a_status_line_of_the_operators_the_screen_reads_as_before(stage: ClaudeStage) -> None:
    stage.up(flags=SONNET)

    row = stage.until_idle()
    assert stage.wait_screen("idle")
    assert stage.send("Go on.").returncode == 0
    stage.asked("Go on")
    assert row["context"] is None or row["context"]["percent"] is None or row["context"]["percent"] < 90


@pytest.mark.proof
def test_while_it_streams_an_answer_the_screen_says_working(stage: ClaudeStage) -> None:
    stage.scenario.add(Step(text="Half of it\nis done", fault="hang_mid_stream"))
    stage.up(flags=SONNET)

    stage.asked("plan")
    eventually_sync(lambda: "Half of it" in stage.screen(), 60, "half an answer")
    assert stage.harness.screen_says(stage.screen()) == "working"
    assert "statusLine" in stage.document("settings.json")


def test_a_release_that_looks_idle_with_a_status_line_on_gets_none_and_its_window_is_unknown(
    older: ClaudeStage,
) -> None:
    older.scenario.add(full(150_000, "plan"))
    older.up(flags=SONNET)

    row = older.until("the tokens are told", lambda row: row["context"] is not None)
    assert (row["context"]["tokens"], row["context"]["limit"], row["context"]["percent"]) == (150_000, None, None)
    assert check(older)[0] == 1
    assert "statusLine" not in older.document("settings.json")


@pytest.mark.proof
def test_where_the_models_name_says_so_the_window_is_known_without_a_status_line(older: ClaudeStage) -> None:
    older.scenario.add(full(900_000, "plan"))
    older.up()

    row = older.until("the tokens are told", lambda row: is_known(row, 900_000))
    assert (row["context"]["limit"], row["context"]["source"]) == (1_000_000, "model")
    assert check(older)[0] == 3


@pytest.mark.proof
def test_switched_off_no_status_line_is_passed_and_the_window_is_unknown(stage: ClaudeStage) -> None:
    stage.scenario.add(full(150_000, "plan"))
    stage.up(flags=SONNET, keys="context = {status_line = false}")

    row = stage.until("the tokens are told", lambda row: row["context"] is not None)
    assert (row["context"]["tokens"], row["context"]["limit"], row["context"]["percent"]) == (150_000, None, None)
    assert check(stage)[0] == 1
    assert "statusLine" not in stage.document("settings.json")


@pytest.mark.parametrize("pin", [pytest.param(PINS["claude"][0], marks=pytest.mark.proof), *PINS["claude"][1:]])
def test_f_ho_1_a_prompt_that_is_refused_for_its_length_is_no_dead_end(short_tmp: Path, pin: str) -> None:
    """Without auto-compaction it refuses from 88 % on by itself: no request, and no hook but that of the prompt."""
    with ClaudeStage(require("claude", pin), short_tmp) as stage:
        stage.extra_env = {"DISABLE_AUTO_COMPACT": "1"}
        stage.scenario.add(full(179_000, "plan"))
        stage.up(flags=SONNET, keys='liveness = {check_interval = "2s"}')
        stage.until("the tokens are told", lambda row: row["context"] is not None)
        stage.until_idle()
        before = len(stage.stub.main_requests())

        stage.send("And now the rest.")

        row = stage.until("a fresh run", lambda row: row["incarnation"] == 2 and row["state"] == "running")
        assert row["mode"] == "fresh"
        refused = [request for request in stage.stub.main_requests()[before:] if "And now the rest" in request.text]
        assert refused == [], "the CLI asked nothing of the API"
        assert "its context is full" in " ".join(event["reason"] for event in stage.events())
