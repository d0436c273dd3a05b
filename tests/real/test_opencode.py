"""The recipe for opencode does what its page says: the page's own configuration and plugin, with the real opencode."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e.census import all_ends
from tests.real.installed import require
from tests.stub.messages import MessagesStub
from tests.stub.scenario import Scenario, Step, ToolUse
from tests.waiting import eventually_sync

pytestmark = [pytest.mark.real_claude, pytest.mark.proof]

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-opencode.md"
MODEL = "anthropic/claude-sonnet-4-5"


def block(language: str) -> str:
    """The page's code block in this language."""
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert found is not None, language
    return found[1]


@pytest.fixture
def stub() -> Iterator[MessagesStub]:
    made = MessagesStub(Scenario())
    made.start()
    yield made
    made.close()


@pytest.fixture
def stage(short_tmp: Path, stub: MessagesStub) -> Iterator[Stage]:
    opencode, home, shop = require("opencode"), short_tmp / "home", short_tmp / "shop"
    (home / ".config" / "opencode" / "plugin").mkdir(parents=True)
    shop.mkdir()
    (home / ".config" / "opencode" / "plugin" / "phoenixd.js").write_text(block("js"))
    provider = {"anthropic": {"options": {"baseURL": f"{stub.base_url}/v1", "apiKey": "sk-test-dummy"}}}
    settings = {"model": MODEL, "small_model": MODEL, "autoupdate": False, "provider": provider}
    (home / ".config" / "opencode" / "opencode.json").write_text(json.dumps({**settings, **json.loads(block("json"))}))
    made = Stage(short_tmp)
    declared = block("toml").replace("/srv/shop", str(shop)).replace('["opencode"', f'["{opencode}"')
    path = "/usr/local/bin:/usr/bin:/bin"
    variables = {"HOME": str(home), "PATH": path, "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in variables.items())
    made.declare("helper", f'{declared}env_from = "none"\n[agent.helper.env]\n{lines}')
    yield made
    made.down()
    all_ends(short_tmp)


def test_the_recipe_of_the_page_works_is_killed_and_goes_on_in_its_session(
    stage: Stage, stub: MessagesStub, short_tmp: Path
) -> None:
    made = short_tmp / "shop" / "made.txt"
    stub.scenario.add(
        Step(tool_use=(ToolUse("bash", {"command": "touch made.txt", "description": "Make it"}),)), Step(fault="hang")
    )
    stage.up()
    stage.until("the tool ran", made.exists, 90)

    def hung() -> dict[str, Any] | None:
        row = stage.row("helper")
        return row if row["activity"] == "working" and row["session_id"].startswith("ses_") else None

    row = eventually_sync(hung, 30, "its session and turn are known")
    stage.until("the next request", lambda: len(stub.main_requests()) > 1, 30)

    os.kill(row["pid"], signal.SIGKILL)

    again = stub.wait_for_main(text="You were interrupted", timeout=90)
    assert "Work through docs/plan.md." in again.whole_text
    assert "Facts that phoenixd recorded about this agent" in again.whole_text
    resumed = stage.row("helper")
    assert (resumed["incarnation"], resumed["mode"], resumed["session_id"]) == (2, "resume", row["session_id"])
    stage.until("its turn is over, and with it the agent", lambda: stage.row("helper")["state"] == "stopped", 60)
