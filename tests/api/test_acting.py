"""One verb for what a selector chooses: results agent by agent, none where others match than were shown; and undo."""

from __future__ import annotations

import pytest

from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events.orders import StopRequested
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon

VERBS = ("start", "stop", "restart", "remove", "send")


def fleet(daemon: FakeDaemon) -> None:
    for name in ("shop-api", "shop-web", "docs"):
        daemon.declare(name)


async def test_a_verb_acts_on_what_is_chosen_and_on_nothing_else(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)

    answer = await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*"})

    assert (answer.status, answer.exit) == (200, 0)
    assert [one["name"] for one in answer.json["agents"]] == ["shop-api", "shop-web"]
    assert all("is stopped, and stays so" in one["message"] for one in answer.json["agents"])
    assert not isinstance(daemon.state.agents["docs"].state, Stopped)


@pytest.mark.parametrize("verb", VERBS)
async def test_a_dry_run_only_shows_whom_it_means(live: Live, daemon: FakeDaemon, verb: str) -> None:
    fleet(daemon)
    before = daemon.state

    body = {"verb": verb, "select": "s:running !docs", "dry_run": True, "text": "hello"}
    answer = await live.ask("POST", "/v1/act", body)

    assert answer.json["dry_run"]
    assert [one["name"] for one in answer.json["agents"]] == ["shop-api", "shop-web"]
    assert daemon.state is before
    told = await live.ask("POST", "/v1/act", body, text=True)
    assert told.text.splitlines()[0] == f"{verb} would act on 2 agents; nothing was done."


@pytest.mark.parametrize(
    ("body", "status", "code", "told"),
    [
        ({"verb": "stop", "select": "x-*"}, 404, 4, "x-*: nothing matches; 3 agents are there"),
        ({"verb": "stop", "select": "docs shop-ap"}, 404, 4, "there is no agent shop-ap; did you mean shop-api?"),
        ({"verb": "stop", "select": "state:idle"}, 400, 2, "a selector has no key state:"),
        ({"verb": "stop", "select": "shop-*", "expect": ["shop-api"]}, 409, 6, "nothing was done: shop-web matches"),
        ({"verb": "stop", "select": "shop-api", "expect": ["docs", "shop-api"]}, 409, 6, "docs does not match any"),
        ({"verb": "send", "select": "shop-*"}, 400, 2, "there is nothing to send"),
        ({"verb": "remove"}, 400, 2, "nothing says which agents to remove"),
        ({"verb": "stop", "select": " "}, 400, 2, "all of them are '*'"),
        ({"verb": "kill", "select": "docs"}, 400, 2, "verb is none of: start, stop"),
        ({"select": "docs"}, 400, 2, "verb is missing"),
    ],
    ids=lambda one: str(one)[:40],
)
async def test_what_is_refused_does_nothing(
    live: Live, daemon: FakeDaemon, body: dict[str, object], status: int, code: int, told: str
) -> None:
    fleet(daemon)
    before = daemon.state

    answer = await live.ask("POST", "/v1/act", body)

    assert (answer.status, answer.exit) == (status, code), answer.text
    assert told in answer.json["detail"]
    assert answer.json["remedy"]
    assert daemon.state is before


async def test_what_was_shown_and_still_matches_is_done(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)

    answer = await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*", "expect": ["shop-web", "shop-api"]})

    assert answer.exit == 0


async def test_each_agent_has_its_own_result_and_one_that_fails_stops_no_other(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    daemon.happen(StopRequested("docs"))

    answer = await live.ask("POST", "/v1/act", {"verb": "send", "select": "*", "text": "hello"})

    results = {one["name"]: one for one in answer.json["agents"]}
    assert {name: one["exit"] for name, one in results.items()} == {"docs": 6, "shop-api": 0, "shop-web": 0}
    assert results["docs"]["remedy"] == "phoenixctl start docs"
    assert answer.exit == 6
    told = await live.ask("POST", "/v1/act", {"verb": "send", "select": "*", "text": "hello"}, text=True)
    first, second, *_ = told.text.splitlines()
    assert first == "send: 2 of 3 agents as asked, 1 not."
    assert second.startswith("! docs is stopped")


async def test_undo_brings_an_act_on_many_back_as_a_whole(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    sessions = {name: agent.session for name, agent in daemon.state.agents.items()}
    await live.ask("POST", "/v1/agents/docs/stop")
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*"})

    shown = await live.ask("POST", "/v1/undo", {"dry_run": True})
    done = await live.ask("POST", "/v1/undo", {"expect": ["shop-api", "shop-web"]})

    assert [one["name"] for one in shown.json["agents"]] == ["shop-api", "shop-web"]
    assert done.exit == 0, done.text
    for name in ("shop-api", "shop-web"):
        agent = daemon.state.agents[name]
        assert agent.run is not None
        assert agent.run.mode is Mode.RESUME
        assert agent.session is not None
        assert agent.session.session_id == getattr(sessions[name], "session_id", None)
    assert isinstance(daemon.state.agents["docs"].state, Stopped)
    again = await live.ask("POST", "/v1/undo", {"select": "docs"})
    assert again.exit == 0
    assert daemon.state.agents["docs"].run is not None
    nothing = await live.ask("POST", "/v1/undo", {})
    assert (nothing.status, nothing.exit) == (404, 4)


async def test_undo_declares_again_what_was_removed(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    session = daemon.state.agents["docs"].session
    await live.ask("DELETE", "/v1/agents/docs")
    assert "docs" not in daemon.state.agents

    answer = await live.ask("POST", "/v1/undo", {"select": "docs"})

    assert answer.exit == 0, answer.text
    agent = daemon.state.agents["docs"]
    assert agent.run is not None
    assert agent.session is not None
    assert session is not None
    assert agent.session.session_id == session.session_id


async def test_undo_of_others_than_were_shown_does_nothing(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*"})
    before = daemon.state

    answer = await live.ask("POST", "/v1/undo", {"expect": ["docs"]})

    assert (answer.status, answer.exit) == (409, 6)
    assert daemon.state is before


async def test_a_name_that_is_near_another_is_told(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)

    answer = await live.ask("POST", "/v1/agents/shop-ap/stop")

    assert answer.json["detail"] == "there is no agent shop-ap; did you mean shop-api?"
    assert answer.json["remedy"] == "phoenixctl status shop-api"


async def test_prompt_tells_what_is_not_fine_and_nothing_else(live: Live, daemon: FakeDaemon) -> None:
    assert (await live.ask("GET", "/v1/prompt", text=True)).text == ""
    fleet(daemon)
    assert (await live.ask("GET", "/v1/prompt", text=True)).text == ""
    daemon.wait("docs")
    daemon.performs = False
    daemon.happen(StopRequested("shop-api"))

    answer = await live.ask("GET", "/v1/prompt", text=True)

    assert answer.text == "!1 ~1\n"
    assert (await live.ask("GET", "/v1/prompt")).json["needs_you"] == 1
