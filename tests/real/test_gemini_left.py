"""The real Gemini CLI, left by a person or ended by a signal soon after its start: it exits with 0 either way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.census import all_ends
from tests.real.agent_stage import AgentStage
from tests.real.gemini_cli import GeminiCli
from tests.real.installed import require
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]

EARLY = 'restart = { early_exit = "1h", productive = "2h" }'
"""However slow the machine is, the end is an early one."""


@pytest.fixture
def stage(short_tmp: Path) -> Iterator[AgentStage]:
    with AgentStage(GeminiCli(require("gemini")), short_tmp) as made:
        made.up(keys=EARLY)
        made.until_idle()
        made.wait_screen("idle")
        yield made
    all_ends(short_tmp)


def types(stage: AgentStage, key: str) -> None:
    """Twice, as the CLI asks for it: again where it did not take the second one for that."""

    def is_over() -> bool:
        stage.type(key)
        return bool(stage.row()["state"] != "running")

    eventually_sync(is_over, 120.0, f"{key} ends it")


@pytest.mark.parametrize("how", ["C-c", "C-d", "/quit"])
def test_p53_a_person_who_leaves_early_has_left(stage: AgentStage, how: str) -> None:
    if how == "/quit":
        assert stage.send(how).returncode == 0
    else:
        types(stage, how)

    row = stage.until("it is down", lambda row: row["state"] not in ("running", "starting"))

    assert (row["state"], row["incarnation"], row["case"]) == ("stopped", 1, None)
    assert "ended on purpose" in row["reason"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_x4_an_early_end_by_a_signal_is_a_crash(stage: AgentStage, number: signal.Signals) -> None:
    os.kill(stage.row()["pid"], number)

    row = stage.until("the next run is there", lambda row: row["incarnation"] == 2)

    assert row["case"] is not None
