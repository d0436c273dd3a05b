"""`resonance status|check|restore|mint`: what is told of markers, by which exit codes, and never a code."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from phoenixd.api.values import MarkerFace, RebuiltMarker
from phoenixd.core.agent.state import Quarantined, Stopped
from phoenixd.core.armed_answer import Armed, ArmedAnswer
from phoenixd.core.events.resonance import CheckRequested, FooterSeen, RestorationRequested
from phoenixd.core.resonance.state import Resonance, Restoration
from phoenixd.core.resonance.state import Step as RestorationStep
from phoenixd.core.rules import ResonanceRules
from phoenixd.documents.resonance.anchor import Anchor
from phoenixd.planting import CODES, Marker
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon

CODES_OF_DOCS = ("7f3a9c", "1a2b3c", "4d5e6f", "7a8b9c")


@pytest.fixture
def bearing(daemon: FakeDaemon) -> FakeDaemon:
    """docs bears a marker, and shop does not."""
    daemon.declare("docs", resonance=ResonanceRules(enabled="on"))
    daemon.declare("shop")
    daemon.report("docs")
    daemon.faces["docs"] = MarkerFace(Anchor(Marker("the orchard gate", "7f3a9c"), "2026-11-21-001", 1.7e9), None, "/s")
    return daemon


def known(daemon: FakeDaemon) -> Resonance:
    found = daemon.state.agents["docs"].resonance
    assert found is not None
    return found


async def test_r65_status_tells_state_checks_and_what_is_due_and_no_code(live: Live, bearing: FakeDaemon) -> None:
    answer = await live.ask("GET", "/v1/agents/docs/resonance")
    page = await live.ask("GET", "/v1/agents/docs/resonance", text=True)
    every = await live.ask("GET", "/v1/resonance")

    assert (answer.status, answer.exit, answer.json["state"]) == (200, 0, "unverifiable")
    assert (answer.json["mode"], answer.json["codes_left"], answer.json["interval_turns"]) == ("one_time", 3, 10)
    assert [one["name"] for one in every.json["agents"]] == ["docs"]
    names = [one["name"] for one in answer.json["checks"]]
    assert names == ["marker", "codes", "check", "footer", "restoration"]
    assert "Ask it at its next turn's end: phoenixctl resonance check docs\n" in page.text
    assert 'Then begin a turn: phoenixctl send docs "TEXT"' in page.text
    bearing.hook("docs", "prompt-submit", text="go on")
    open_turn = await live.ask("GET", "/v1/agents/docs/resonance", text=True)
    assert "Ask it now: phoenixctl resonance check docs --wait" in open_turn.text
    told = json.dumps(answer.json) + page.text + (await live.ask("GET", "/v1/resonance", text=True)).text
    assert not {found.group() for found in CODES.finditer(told)} & set(CODES_OF_DOCS)


async def test_status_names_a_next_step_that_is_not_refused(live: Live, bearing: FakeDaemon) -> None:
    async def page() -> str:
        return " ".join((await live.ask("GET", "/v1/agents/docs/resonance", text=True)).text.split())

    at_rest = known(bearing)
    agent = bearing.state.agents["docs"]
    going = Restoration(RestorationStep.SEED, "two checks in a row failed", 1.7e9, 0.0, agent.incarnation)
    bearing.change("docs", resonance=replace(at_rest, state="lost", proven=True, restoration=going))
    told = await page()
    assert "asked for a code by itself" in told
    assert "! marker: the session has lost it" in told
    bearing.change("docs", resonance=replace(at_rest, lost="6 turns were opened"))
    assert "It cannot be asked: the marker of docs is lost. phoenixctl explain docs" in await page()
    bearing.change("docs", resonance=None)
    assert "phoenixctl restart docs --fresh" in (last := await page())
    bearing.change("docs", resonance=at_rest, state=Quarantined("marker lost"))
    assert "It cannot be asked: docs is quarantined. phoenixctl start docs" in (stopped := await page())
    assert "resonance check" not in told + last + stopped


async def test_f_re_14_a_session_that_ended_before_its_first_check_is_listed_as_never_verified(
    live: Live, bearing: FakeDaemon
) -> None:
    bearing.change("docs", state=Stopped())

    (listed,) = (await live.ask("GET", "/v1/resonance")).json["agents"]
    page = (await live.ask("GET", "/v1/resonance", text=True)).text

    assert (listed["name"], listed["state"], listed["last_verified"]) == ("docs", "unverifiable", None)
    assert "never verified" in page
    bearing.change("docs", resonance=replace(known(bearing), last_verified_wall=1.7e9))
    assert "never verified" not in (await live.ask("GET", "/v1/resonance", text=True)).text


async def test_who_bears_no_marker_is_told_how_to_get_one(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("shop")

    assert (await live.ask("GET", "/v1/resonance")).json["agents"] == []
    assert "resonance.enabled = true" in (await live.ask("GET", "/v1/resonance", text=True)).text
    assert (await live.ask("GET", "/v1/agents/shop/resonance")).json["state"] == "not_applicable"
    page = (await live.ask("GET", "/v1/agents/shop/resonance", text=True)).text
    assert page == (
        "shop bears no marker: resonance is off for it\n"
        "To switch it on: set enabled = true in [agent.shop.resonance], then phoenixctl apply\n"
    )
    assert (await live.ask("GET", "/v1/agents/nobody/resonance")).exit == 4


async def test_a_marker_that_was_missed_is_exit_3_in_status_and_by_it_in_the_row(
    live: Live, bearing: FakeDaemon
) -> None:
    bearing.change("docs", resonance=replace(known(bearing), state="missed", misses=1))

    answer = await live.ask("GET", "/v1/agents/docs/resonance")

    assert (answer.exit, answer.json["misses"]) == (3, 1)
    (row,) = [one for one in (await live.ask("GET", "/v1/agents")).json["agents"] if one["name"] == "docs"]
    assert row["resonance"] == {"state": "missed", "last_verified": None}


async def test_r33_a_check_is_ordered_and_refused_where_there_is_nothing_to_ask(
    live: Live, bearing: FakeDaemon
) -> None:
    asked = await live.ask("POST", "/v1/agents/docs/resonance/check", {"why": "before the release"})
    refused = await live.ask("POST", "/v1/agents/shop/resonance/check", {})

    ordered = [one for one in bearing.orders if isinstance(one, CheckRequested)]
    assert (asked.status, asked.exit) == (200, 0)
    assert (ordered[0].agent, ordered[0].why) == ("docs", "before the release")
    assert refused.exit == 6
    assert "resonance" in refused.json["detail"]


async def test_a_restoration_is_ordered_or_the_papers_come_from_the_transcript(live: Live, bearing: FakeDaemon) -> None:
    assert (await live.ask("POST", "/v1/agents/docs/resonance/restore", {})).exit == 0
    assert any(isinstance(one, RestorationRequested) for one in bearing.orders)

    missing = await live.ask("POST", "/v1/agents/docs/resonance/restore", {"from_transcript": True})
    assert missing.exit == 4
    bearing.rebuilt = RebuiltMarker(Marker("the orchard gate", "7f3a9c"), "docs", "Degraded", True)
    found = await live.ask("POST", "/v1/agents/docs/resonance/restore", {"from_transcript": True})
    assert found.exit == 0
    assert "state Degraded" in found.json["message"]


async def test_r57_a_marker_is_minted_with_words_of_ones_own(live: Live, bearing: FakeDaemon) -> None:
    minted = await live.ask("POST", "/v1/resonance/mint", {"phrase": "salt on the threshold"})

    assert (minted.status, minted.json["marker"]) == (201, "salt on the threshold — 1a2b3c")


@pytest.mark.parametrize(
    "phrase", ["the 7f3a9c gate", "a well-known gate", 'the "gate"', "the \u202egate", "x" * 10_240]
)
async def test_a_phrase_that_breaks_the_marker_is_refused(live: Live, bearing: FakeDaemon, phrase: str) -> None:
    refused = await live.ask("POST", "/v1/resonance/mint", {"phrase": phrase})

    assert (refused.status, refused.exit) == (400, 2)
    assert "\u202e" not in refused.json["detail"]


async def test_an_agent_learns_nothing_of_when_it_is_asked_and_orders_nothing(live: Live, bearing: FakeDaemon) -> None:
    bearing.tokens["secret"] = "docs"

    async def ask(method: str, path: str) -> int:
        return (await live.ask(method, path, {} if method == "POST" else None, authorization="Bearer secret")).status

    assert await ask("GET", "/v1/agents/docs/resonance") == 403
    assert await ask("GET", "/v1/agents/shop/resonance") == 403
    assert await ask("POST", "/v1/agents/docs/resonance/restore") == 403
    assert await ask("POST", "/v1/resonance/mint") == 403


async def test_r22_r35_a_footer_is_shown_and_one_that_is_degraded_stands_out(live: Live, bearing: FakeDaemon) -> None:
    agent = bearing.state.agents["docs"]
    bearing.happen(FooterSeen("docs", agent.incarnation, "7f3a9c", "docs", "Degraded", 1.7e9))

    answer = await live.ask("GET", "/v1/agents/docs/resonance")

    assert answer.json["footer"] == {"role": "docs", "state": "Degraded"}
    assert [one["well"] for one in answer.json["checks"] if one["name"] == "footer"] == [False]


async def test_the_page_of_an_agent_tells_its_marker_and_the_agent_itself_not_when_it_is_asked(
    live: Live, bearing: FakeDaemon
) -> None:
    agent = bearing.state.agents["docs"]
    asked = replace(known(bearing), state="intact", last_verified_wall=1.7e9, asked_wall=1.7e9, turns=3)
    ready = ArmedAnswer("c-1", "stop", "docs, recite ...", bearing.now().at + 600, "challenge")
    agent = replace(agent, resonance=asked, armed=(Armed(ready, agent.incarnation),))
    bearing.state = replace(bearing.state, agents={**bearing.state.agents, "docs": agent})
    bearing.tokens["secret"] = "docs"

    page = " ".join((await live.ask("GET", "/v1/agents/docs", text=True)).text.split())
    own = (await live.ask("GET", "/v1/agents/docs", text=True, authorization="Bearer secret")).text
    other = (await live.ask("GET", "/v1/agents/shop", text=True)).text

    assert "resonance intact, verified " in page
    assert "due in 7 turns (phoenixctl resonance status docs)" in page
    assert "challenge: does not let its turn end" in page
    assert "docs is " in own
    assert "resonance" not in own
    assert "challenge" not in own
    assert "resonance" not in other

    going = Restoration(RestorationStep.SEED, "two checks in a row failed", 1.7e9, 0.0, agent.incarnation)
    agent = replace(agent, resonance=replace(asked, state="lost", restoration=going))
    bearing.state = replace(bearing.state, agents={**bearing.state.agents, "docs": agent})
    page = " ".join((await live.ask("GET", "/v1/agents/docs", text=True)).text.split())
    assert "restoring, verified" in page
    assert "step 2 of 7, seed: two checks in a row failed" in page
