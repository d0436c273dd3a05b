"""The brief verbs over the API: shown harmlessly, judged with an exit code, written anew."""

from __future__ import annotations

import pytest

from phoenixd.api.values import BriefPage
from phoenixd.documents.brief.health import Fault
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon

HOSTILE = "# docs \u2014 2026-11-21\n\n## Goal\n\n```text\n\x1b[2J\x9b31m\u202ework\n\tindented\n```\n"


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = FakeDaemon()
    daemon.declare("docs")
    daemon.briefs["docs"] = BriefPage("/state/agents/docs/brief.md", HOSTILE, daemon.now().wall - 7200)
    return daemon


async def test_a_brief_is_shown_without_what_a_terminal_obeys_and_in_json_as_it_is(live: Live) -> None:
    shown = await live.ask("GET", "/v1/agents/docs/brief", text=True)
    told = await live.ask("GET", "/v1/agents/docs/brief")

    assert (shown.exit, told.exit) == (0, 0)
    assert shown.text.replace("\n", "").replace("\t", "").isprintable()
    assert "\tindented" in shown.text
    assert told.json["text"] == HOSTILE
    assert 7200 <= told.json["age"] < 7300


async def test_what_is_wrong_exits_3_and_names_the_remedy(live: Live, daemon: FakeDaemon) -> None:
    assert (await live.ask("GET", "/v1/agents/docs/brief/check")).exit == 0
    daemon.faults = (Fault("state.json", "odd", "open_loops[0]", "added is no day, so it counts from today"),)
    mended = await live.ask("GET", "/v1/agents/docs/brief/check", text=True)
    assert (mended.exit, "added is no day" in mended.text, "sound" in mended.text) == (0, True, True)

    daemon.faults = (*daemon.faults, Fault("brief.md", "schema", "Next", 'the section "Next" is missing\x1b[2J'))
    checked = await live.ask("GET", "/v1/agents/docs/brief/check")
    shown = await live.ask("GET", "/v1/agents/docs/brief/check", text=True)

    assert (checked.exit, shown.exit, checked.json["sound"]) == (3, 3, False)
    assert checked.json["faults"][1]["field"] == "Next"
    assert shown.text.splitlines()[-1] == "fix: phoenixctl brief generate docs"
    assert "\x1b" not in shown.text


async def test_without_a_brief_it_says_how_to_get_one(live: Live, daemon: FakeDaemon) -> None:
    del daemon.briefs["docs"]

    refused = await live.ask("GET", "/v1/agents/docs/brief")
    assert (refused.exit, refused.json["remedy"]) == (4, "phoenixctl brief generate docs")
    assert (await live.ask("POST", "/v1/agents/docs/brief")).exit == 0
    assert (await live.ask("GET", "/v1/agents/docs/brief")).exit == 0
    assert [(await live.ask("GET", f"/v1/agents/nobody/brief{more}")).exit for more in ("", "/check")] == [4, 4]
