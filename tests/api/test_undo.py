"""What undo takes back: the newest act that can be, as a whole, and each answer says which and of whom."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

import pytest

from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Stopped
from phoenixd.core.decision import Refusal
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.undo.state import KEPT
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.api.fleets import shops


async def test_undo_brings_an_act_on_many_back_as_a_whole(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)
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


async def test_undo_says_what_it_takes_back_and_when_that_was_done(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*"})
    await live.ask("POST", "/v1/agents/docs/stop")
    at = daemon.state.undoable[-1].at_wall

    (one,) = (await live.ask("POST", "/v1/undo", {})).json["took_back"]
    text = (await live.ask("POST", "/v1/undo", {}, text=True)).text

    assert (one["what"], one["agents"]) == ("stop", ["docs"])
    assert datetime.fromisoformat(one["at"]).timestamp() == pytest.approx(at, abs=1)
    assert re.search(r"^took back: stop of shop-api, shop-web, .*\d\d:\d\d:\d\d$", text, re.MULTILINE), text


async def test_undo_says_which_act_it_cannot_take_back_and_when_that_was_done(live: Live, daemon: FakeDaemon) -> None:
    """`undo` takes the newest act that is left, of any agent: the reason alone does not tell which one it was."""
    shops(daemon)
    await live.ask("POST", "/v1/agents/docs/stop")
    daemon.not_back["docs"] = Refusal("conflict", "there is an agent docs again", "phoenixctl remove docs")

    refused = await live.ask("POST", "/v1/undo", {})

    said = " ".join(refused.text.split())
    assert refused.exit == 6
    pattern = r"the stop of docs, \d\d:\d\d:\d\d, is not taken back: there is an agent docs again"
    assert re.search(pattern, said), said


async def test_undo_passes_over_a_stop_that_somebody_has_reversed_already(live: Live, daemon: FakeDaemon) -> None:
    """`stop uu; start uu; undo` told of success, and had done nothing."""
    shops(daemon)
    await live.ask("POST", "/v1/agents/docs/stop")
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*"})
    await live.ask("POST", "/v1/agents/shop-web/start")

    shown = (await live.ask("POST", "/v1/undo", {"dry_run": True})).json
    done = await live.ask("POST", "/v1/undo", {"expect": ["shop-api"], "act": shown["act"]})
    assert [one["name"] for one in shown["agents"]] == ["shop-api"]
    assert (done.exit, [one["name"] for one in done.json["agents"]]) == (0, ["shop-api"])

    older = await live.ask("POST", "/v1/undo", {})
    assert [one["agents"] for one in older.json["took_back"]] == [["docs"]]
    assert (await live.ask("POST", "/v1/undo", {})).exit == 4


async def test_undo_after_down_agents_brings_back_whom_that_stopped_and_jumps_over_it_to_no_older_act(
    live: Live, daemon: FakeDaemon
) -> None:
    shops(daemon)
    await live.ask("POST", "/v1/agents/docs/stop")
    await live.ask("POST", "/v1/down", {"agents": True})

    shown = await live.ask("POST", "/v1/undo", {"dry_run": True})
    done = await live.ask("POST", "/v1/undo", {})

    assert [one["name"] for one in shown.json["agents"]] == ["shop-api", "shop-web"]
    assert done.exit == 0, done.text
    assert [name for name, one in daemon.state.agents.items() if one.run is not None] == ["shop-api", "shop-web"]


async def test_undo_of_what_never_can_be_taken_back_says_so_and_the_next_one_reaches_the_older_act(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    await live.ask("POST", "/v1/agents/docs/stop", {})
    daemon.declare("boss", kind="orchestrator", cwd="/srv", project="shop")
    await live.ask("POST", "/v1/agents/boss/stop", {})
    seat, holder = daemon.fleet().seats["boss"], daemon.fleet().agents["boss"]
    later = replace(holder, spec=replace(holder.spec, name="boss-g2", generation=2))
    agents = {"docs": daemon.fleet().agents["docs"], "boss-g2": later}
    daemon.state = replace(daemon.fleet(), agents=agents, seats={"boss": replace(seat, generation=2, fenced=1)})

    shown = await live.ask("POST", "/v1/undo", {"dry_run": True})
    assert (shown.exit, [one["exit"] for one in shown.json["agents"]]) == (0, [6])
    text = (await live.ask("POST", "/v1/undo", {"dry_run": True}, text=True)).text
    assert text.startswith("undo would act on 0 agents; nothing was done.")
    assert "its seat has passed to generation 2 since" in " ".join(text.split())
    refused = await live.ask("POST", "/v1/undo", {})
    assert (refused.exit, refused.json["agents"][0]["name"]) == (6, "boss")
    done = await live.ask("POST", "/v1/undo", {})

    assert (done.exit, done.json["agents"][0]["name"]) == (0, "docs")


async def test_undo_declares_again_what_was_removed(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)
    session = daemon.state.agents["docs"].session
    await live.ask("DELETE", "/v1/agents/docs")
    assert "docs" not in daemon.state.agents
    counted = (await live.ask("GET", "/v1/since?time=8h")).json["orders"]

    answer = await live.ask("POST", "/v1/undo", {"select": "docs"})
    assert (await live.ask("GET", "/v1/since?time=8h")).json["orders"] == {**counted, "undo": 1}

    assert answer.exit == 0, answer.text
    agent = daemon.state.agents["docs"]
    assert agent.run is not None
    assert agent.session is not None
    assert session is not None
    assert agent.session.session_id == session.session_id


async def test_undo_of_the_removal_of_one_in_quarantine_gives_its_item_back_to_the_inbox(
    live: Live, daemon: FakeDaemon
) -> None:
    """It came back as one that rests, and nobody was told any more that it had been given up."""
    daemon.declare("bad")
    daemon.die("bad", 127)
    assert daemon.state.agents["bad"].state.name == "quarantined"
    (before,) = (await live.ask("GET", "/v1/inbox")).json["items"]
    await live.ask("DELETE", "/v1/agents/bad")
    assert (await live.ask("GET", "/v1/inbox")).json["items"] == []

    done = await live.ask("POST", "/v1/undo", {})

    assert done.exit == 0, done.text
    assert "bad is in quarantine again, as it was: " in done.json["agents"][0]["message"]
    assert daemon.state.agents["bad"].state.name == "quarantined"
    (after,) = (await live.ask("GET", "/v1/inbox")).json["items"]
    assert (after["kind"], after["text"]) == (before["kind"], before["text"])


async def test_undo_of_a_removal_that_it_cannot_take_back_does_not_say_that_there_was_none(
    live: Live, daemon: FakeDaemon
) -> None:
    """As where a table was taken out of phoenixd.toml, which is the way to have it back."""
    shops(daemon)
    await live.ask("DELETE", "/v1/agents/docs")
    daemon.state = replace(daemon.state, undoable=())

    answer = await live.ask("POST", "/v1/undo", {"select": "docs"})

    again = "put [agent.docs] back into its file, then: phoenixctl apply; or phoenixctl add docs -- COMMAND"
    assert (answer.exit, answer.json["remedy"]) == (4, again)
    assert answer.json["detail"].startswith("docs was removed by a change of the configuration or")
    assert "none was removed" in (await live.ask("POST", "/v1/undo", {"select": "nobody"})).text


@pytest.mark.parametrize("is_last", [True, False])
async def test_undo_of_an_act_that_was_taken_back_says_by_whom(
    live: Live, daemon: FakeDaemon, *, is_last: bool
) -> None:
    shops(daemon)
    act = (await live.ask("POST", "/v1/act", {"verb": "stop", "select": "docs"})).json["act"]
    if not is_last:
        await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*"})
    assert (await live.ask("POST", "/v1/undo", {"act": act})).exit == 0

    again = await live.ask("POST", "/v1/undo", {"act": act})

    assert again.exit == 4
    assert f"act {act} was taken back already, by " in again.text
    assert again.json["detail"].endswith(" ago")
    never = await live.ask("POST", "/v1/undo", {"act": "never"})
    assert ("there is no act never" in never.text) is not is_last


async def test_undo_of_others_than_were_shown_does_nothing(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*"})
    before = daemon.state

    answer = await live.ask("POST", "/v1/undo", {"expect": ["docs"]})

    assert (answer.status, answer.exit) == (409, 6)
    assert daemon.state is before


async def test_undo_of_what_nothing_was_done_to_says_so(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*"})

    answer = await live.ask("POST", "/v1/undo", {"select": "docs"})

    assert (answer.status, answer.exit) == (404, 4)
    assert answer.json["detail"].startswith("nothing of docs is left to take back")
    assert answer.json["remedy"] == "phoenixctl events docs"
    kept = await live.ask("POST", "/v1/undo", {"select": "shop-* !docs !shop-web", "dry_run": True})
    assert [one["name"] for one in kept.json["agents"]] == ["shop-api"]


async def test_what_undo_shows_it_also_takes_back_whatever_the_clock_was_set_to(
    live: Live, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven days have passed by supervised time, and the wall clock was set back a month."""
    shops(daemon)
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "docs"})
    now = daemon.now()
    monkeypatch.setattr(daemon, "now", lambda: replace(now, at=now.at + KEPT, wall=now.wall - 30 * 86400.0))

    shown = await live.ask("POST", "/v1/undo", {"dry_run": True})
    done = await live.ask("POST", "/v1/undo", {"select": "docs"})

    assert (shown.status, done.status) == (404, 404), shown.text
    assert isinstance(daemon.state.agents["docs"].state, Stopped)


async def test_two_operators_undo_at_once_and_each_takes_back_what_was_shown(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*"})
    shown = (await live.ask("POST", "/v1/undo", {"dry_run": True})).json
    names = [one["name"] for one in shown["agents"]]
    for name in names:
        daemon.happen(StartRequested(name))
    await live.ask("POST", "/v1/act", {"verb": "restart", "select": "shop-*", "fresh": True})
    before = daemon.state

    answer = await live.ask("POST", "/v1/undo", {"expect": names, "act": "0123456789ab"})
    assert (answer.status, answer.json["remedy"]) == (404, "phoenixctl undo --dry-run")
    assert daemon.state is before
    answer = await live.ask("POST", "/v1/undo", {"expect": names, "act": shown["act"]})
    assert all("runs already" in one["message"] for one in answer.json["agents"]), answer.text
    newest = (await live.ask("POST", "/v1/undo", {"dry_run": True})).json
    assert newest["act"] != shown["act"]
    assert "fresh by" in newest["agents"][0]["message"]


async def test_an_undo_after_an_unmute_says_which_older_act_it_took_back(live: Live, daemon: FakeDaemon) -> None:
    """An unmute is no act. An operator who wants silence again would get a stopped agent back, and not be told why."""
    shops(daemon)
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "docs"})
    await live.ask("POST", "/v1/agents/docs/mute", {"for": "1h"})
    await live.ask("POST", "/v1/agents/docs/unmute")
    for body in ({}, {"select": "docs"}):
        shown = (await live.ask("POST", "/v1/undo", {**body, "dry_run": True})).json["agents"]
        assert [one["name"] for one in shown] == ["docs"]
        assert shown[0]["message"].startswith("stop by ")
    (one,) = (await live.ask("POST", "/v1/undo", {})).json["agents"]
    assert "this took back the stop of " in one["message"]
    assert one["message"].endswith("for an unmute is no act: phoenixctl mute docs")


async def test_an_undo_without_an_unmute_since_says_nothing_of_one(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)
    await live.ask("POST", "/v1/agents/docs/mute", {"for": "1h"})
    await live.ask("POST", "/v1/agents/docs/unmute")
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "docs"})
    (one,) = (await live.ask("POST", "/v1/undo", {})).json["agents"]
    assert "unmute" not in one["message"]


async def test_an_agent_that_was_removed_is_found_by_its_project_and_its_labels(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs", project="web", labels=("prod",))
    daemon.declare("shop", project="web")
    await live.ask("POST", "/v1/act", {"verb": "remove", "select": "p:web l:prod"})

    shown = await live.ask("POST", "/v1/undo", {"select": "l:prod", "dry_run": True})

    assert [one["name"] for one in shown.json["agents"]] == ["docs"]
