"""The numbers of a row are the CLI's own: context to the token, its window, and no price where it tells none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.harness.pins import PINS
from tests.e2e.census import all_ends
from tests.real.agent_stage import AgentStage
from tests.real.claude_room import find_record
from tests.real.claude_stage import ClaudeStage
from tests.real.codex_cli import CodexCli
from tests.real.gemini_cli import GeminiCli
from tests.real.installed import require
from tests.stub.scenario import Step, Usage
from tests.waiting import eventually_sync

pytestmark = pytest.mark.real_claude
USED = Usage(1_003, 97, 41_000)
TOKENS = 42_100
"""All of it: what is in the context once the answer has come."""


def knows(row: dict[str, Any], tokens: int = TOKENS) -> bool:
    context = row["context"]
    return context is not None and context["tokens"] == tokens and context["limit"] is not None


@pytest.fixture
def claude(short_tmp: Path) -> Iterator[ClaudeStage]:
    """The release whose screen is read with a status line on."""
    with ClaudeStage(require("claude", PINS["claude"][1]), short_tmp) as stage:
        yield stage
    all_ends(short_tmp)


@pytest.mark.parametrize(
    ("model", "window"),
    [pytest.param("claude-sonnet-4-5", 200_000, marks=pytest.mark.proof), ("claude-sonnet-4-5[1m]", 1_000_000)],
)
def test_claudes_row_says_what_its_own_status_line_says(claude: ClaudeStage, model: str, window: int) -> None:
    own_line = claude.home / "own-line.json"
    claude.settings = {
        **claude.settings,
        "statusLine": {"type": "command", "command": f"cat > {own_line}.new && mv {own_line}.new {own_line}"},
    }
    claude.scenario.add(Step(text="Done.", match="plan", usage=USED))
    claude.up(flags=("--model", model))

    def told() -> dict[str, Any] | None:
        own = json.loads(own_line.read_text()) if own_line.exists() else {}
        usage = own.get("context_window", {}).get("current_usage") or {}
        return own if sum(usage.values()) == TOKENS else None

    own = eventually_sync(told, 120, "its own line shows the tokens")
    assert own is not None
    row = claude.until("the row shows them", knows)
    assert row["context"]["limit"] == own["context_window"]["context_window_size"] == window
    price = own["cost"]["total_cost_usd"]
    row = claude.until("the price is told", lambda row: row["cost"] and row["cost"]["usd"] == pytest.approx(price))
    print(f"claude, {model}: row {row['context']}, {row['cost']}; its own line {own['context_window']}, {own['cost']}")


@pytest.fixture
def codex(short_tmp: Path) -> Iterator[AgentStage]:
    with AgentStage(CodexCli(require("codex")), short_tmp) as stage:
        yield stage
    all_ends(short_tmp)


@pytest.mark.parametrize("window", [pytest.param(200_000, marks=pytest.mark.proof), 1_000_000])
def test_codexs_row_says_what_its_transcript_says_and_no_price(codex: AgentStage, window: int) -> None:
    """Asked for a million, it goes by the most that its model has, and so does the row."""
    codex.scenario.add(Step(text="Done.", match="plan", usage=USED))
    codex.up(flags=("-c", f"model_context_window={window}"))

    row = codex.until("the row shows the tokens", knows)
    record = find_record(codex.transcript(row["session_id"]), lambda one: "last_token_usage" in json.dumps(one))
    assert record is not None
    info = record["payload"]["info"]
    assert row["context"]["limit"] == info["model_context_window"]
    assert row["cost"] is None
    print(f"codex, window {window}: row {row['context']}, cost {row['cost']}; its transcript {info}")


@pytest.fixture
def gemini(short_tmp: Path) -> Iterator[AgentStage]:
    with AgentStage(GeminiCli(require("gemini")), short_tmp) as stage:
        yield stage
    all_ends(short_tmp)


@pytest.mark.proof
def test_geminis_row_says_what_its_vendor_counted_and_no_price(gemini: AgentStage) -> None:
    gemini.scenario.add(Step(text="Done.", match="plan", usage=USED))
    gemini.up()

    row = gemini.until("the row shows the tokens", lambda row: row["context"] is not None)
    assert (row["context"]["tokens"], row["cost"]) == (TOKENS, None)
    assert (row["context"]["limit"], row["context"]["percent"]) == (None, None), "it does not say, and nobody guesses"
    print(f"gemini: row {row['context']}, cost {row['cost']}; counted {USED}")
