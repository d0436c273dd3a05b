"""One verb for what a selector chooses: results agent by agent, none where others match than were shown; and undo."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from datetime import datetime
from urllib.parse import quote

import pytest

from phoenixd.api.idempotency import IdempotentReplies
from phoenixd.api.operations import OPERATIONS
from phoenixd.api.operations.operation import Operation
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Stopped
from phoenixd.core.decision import Refusal
from phoenixd.core.events.orders import SendRequested, StartRequested, StopRequested
from phoenixd.core.events.runs import TreeGone
from phoenixd.core.undo.state import KEPT
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


async def test_a_stop_after_an_iteration_is_refused_of_an_agent_that_has_none(live: Live, daemon: FakeDaemon) -> None:
    """It was taken, and never came about."""
    daemon.declare("shop", kind="loop")
    daemon.declare("docs")

    answer = await live.ask("POST", "/v1/agents/docs/stop", {"after_iteration": True})
    many = await live.ask("POST", "/v1/act", {"verb": "stop", "select": "*", "after_iteration": True})

    assert (answer.status, answer.exit) == (400, 2)
    assert answer.json["detail"] == "docs is no loop: it has no iteration after which it could be stopped"
    assert answer.json["remedy"] == "phoenixctl stop docs"
    assert {one["name"]: one["exit"] for one in many.json["agents"]} == {"docs": 2, "shop": 0}
    assert {one.name: one.desired for one in daemon.state.agents.values()} == {"docs": "running", "shop": "stopped"}


@pytest.mark.parametrize("many", [False, True])
async def test_a_stop_after_an_iteration_waits_for_its_end_where_that_is_asked_for(
    live: Live, daemon: FakeDaemon, *, many: bool
) -> None:
    """It answered at once, and the iteration ran on."""
    daemon.declare("shop", kind="loop")
    path, body = ("/v1/act", {"verb": "stop", "select": "shop"}) if many else ("/v1/agents/shop/stop", {})
    body = {**body, "after_iteration": True}

    at_once = await live.ask("POST", path, body)
    late = await live.ask("POST", path, {**body, "wait": True, "timeout": "1s"})
    waiting = asyncio.create_task(live.ask("POST", path, {**body, "wait": True, "timeout": "1m"}))
    while not daemon.waiting and not waiting.done():
        await asyncio.sleep(0)
    daemon.die("shop", 0)
    ended = await waiting

    one_of = [(one.json["agents"][0] if many else one.json)["message"] for one in (at_once, late, ended)]
    assert (at_once.exit, late.exit, ended.exit) == (0, 8, 0)
    assert one_of[0].startswith("shop is to stop after this iteration. See: ")
    assert one_of[1].startswith("shop still runs its iteration after 1s")
    assert one_of[2] == "shop is stopped, and stays so"


async def test_a_stop_after_the_iteration_of_a_loop_in_quarantine_says_that_it_is_stopped(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("shop", kind="loop")
    daemon.die("shop", 127)
    assert daemon.state.agents["shop"].state.name == "quarantined"

    answer = await live.ask("POST", "/v1/agents/shop/stop", {"after_iteration": True})

    assert (answer.json["message"], answer.json["done"]) == ("shop is stopped, and stays so", True)


async def test_a_stop_of_a_member_between_two_turns_says_what_it_changed(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs", kind="loop", turn_of="shop", start=False)

    first, again = [await live.ask("POST", "/v1/agents/docs/stop") for _ in range(2)]

    turns = "has no turns in the sequence of shop until it, or shop, is started"
    assert first.json["message"] == f"docs is stopped already, and {turns}"
    assert again.json["message"] == "docs is stopped already"


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


async def test_undo_says_what_it_takes_back_and_when_that_was_done(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
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
    fleet(daemon)
    await live.ask("POST", "/v1/agents/docs/stop")
    daemon.not_back["docs"] = Refusal("conflict", "there is an agent docs again", "phoenixctl remove docs")

    refused = await live.ask("POST", "/v1/undo", {})

    said = " ".join(refused.text.split())
    assert refused.exit == 6
    pattern = r"the stop of docs, \d\d:\d\d:\d\d, is not taken back: there is an agent docs again"
    assert re.search(pattern, said), said


async def test_undo_passes_over_a_stop_that_somebody_has_reversed_already(live: Live, daemon: FakeDaemon) -> None:
    """`stop uu; start uu; undo` told of success, and had done nothing."""
    fleet(daemon)
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
    fleet(daemon)
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
    fleet(daemon)
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
    fleet(daemon)
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
    fleet(daemon)
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


def texts(daemon: FakeDaemon) -> list[tuple[str, str]]:
    """Every text that was ordered, with the name that it bears."""
    return [(one.agent, one.message_id) for one in daemon.orders if isinstance(one, SendRequested)]


async def test_a_fleet_of_more_than_a_thousand_can_be_confirmed(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs", start=False)
    docs = daemon.state.agents["docs"]
    names = [f"agent-{number:04}-of-a-fleet-as-long" for number in range(1100)]
    fleet = {name: replace(docs, spec=replace(docs.spec, name=name)) for name in names}
    daemon.state = replace(daemon.state, agents=fleet)

    # Whom it means is judged before it is only shown; a thousand stops of this daemon take seconds.
    body = {"verb": "stop", "select": "*", "dry_run": True, "expect": names}
    answer = await live.ask("POST", "/v1/act", body)
    less = await live.ask("POST", "/v1/act", {**body, "expect": names[1:]})

    assert answer.exit == 0, answer.text[:300]
    assert [one["name"] for one in answer.json["agents"]] == names
    assert (less.exit, less.json["remedy"]) == (6, "phoenixctl stop '*' --dry-run")
    undone = await live.ask("POST", "/v1/undo", {"expect": [name * 3 for name in names]})
    assert undone.status == 404, "a list as long is read"


async def test_a_text_under_a_key_is_typed_once_into_each_and_what_was_refused_is_tried_again(
    live: Live, daemon: FakeDaemon
) -> None:
    fleet(daemon)
    daemon.happen(StopRequested("docs"))
    body = {"verb": "send", "select": "*", "text": "hello"}
    key = "k" * 120

    first = await live.ask("POST", "/v1/act", body, idempotency_key=key)
    assert first.exit == 6
    daemon.happen(StartRequested("docs"))
    second = await live.ask("POST", "/v1/act?width=120", body, idempotency_key=key)
    third = await live.ask("POST", "/v1/act", {**body, "select": "shop-*", "timeout": "2m"}, idempotency_key=key)

    assert second.exit == 0, second.text
    assert third.exit == 0, third.text
    assert texts(daemon) == [
        ("docs", f"{key}.docs"), ("shop-api", f"{key}.shop-api"), ("shop-web", f"{key}.shop-web"),
        ("docs", f"{key}.docs"),
    ]  # fmt: skip
    other = await live.ask("POST", "/v1/act", {**body, "text": "another"}, idempotency_key=key)
    assert {one["exit"] for one in other.json["agents"]} == {6}
    assert other.json["agents"][0]["message"] == f"--key {key} was given to another text"
    assert len(texts(daemon)) == 4


async def test_the_next_daemon_knows_by_the_key_whom_a_text_was_for(live: Live, daemon: FakeDaemon) -> None:
    """Those who took it match no more: `s:idle` means others by then, and nothing was done would be a lie."""
    fleet(daemon)
    for name in ("shop-api", "shop-web"):
        daemon.report(name)
    idle = sorted(name for name, one in daemon.state.agents.items() if one.activity and not one.activity.turn_open)
    select = "s:idle"
    shown = (await live.ask("POST", "/v1/act", {"verb": "send", "select": select, "dry_run": True})).json["agents"]
    names = [one["name"] for one in shown]
    assert names
    assert set(names) <= set(idle)
    body = {"verb": "send", "select": select, "text": "hello", "expect": names}
    assert (await live.ask("POST", "/v1/act", body, idempotency_key="k")).exit == 0
    for name in names:
        daemon.hook(name, "prompt-submit", text="hello")
    live.api.replies = IdempotentReplies()  # Another life of the daemon has none in memory.

    again = await live.ask("POST", "/v1/act", body, idempotency_key="k")
    without = await live.ask("POST", "/v1/act", body, idempotency_key="other")

    assert [one["name"] for one in again.json["agents"]] == names
    assert all("not sent again" in one["message"] for one in again.json["agents"]), again.text
    assert len(texts(daemon)) == len(names)
    assert without.exit in (4, 6)


@pytest.mark.parametrize("path", ["/v1/agents/docs/restart", "/v1/agents/docs/send"])
async def test_a_terminal_of_another_width_asks_the_same(live: Live, daemon: FakeDaemon, path: str) -> None:
    fleet(daemon)
    body = {"text": "hello"} if path.endswith("send") else {"wait": True}

    first = await live.ask("POST", path, body, idempotency_key="k")
    second = await live.ask("POST", f"{path}?width=200&colour=1", body, text=True, idempotency_key="k")

    assert (first.exit, second.exit) == (0, 0), second.text
    assert len(daemon.orders) == 1


async def test_undo_of_what_nothing_was_done_to_says_so(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
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
    fleet(daemon)
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "docs"})
    now = daemon.now()
    monkeypatch.setattr(daemon, "now", lambda: replace(now, at=now.at + KEPT, wall=now.wall - 30 * 86400.0))

    shown = await live.ask("POST", "/v1/undo", {"dry_run": True})
    done = await live.ask("POST", "/v1/undo", {"select": "docs"})

    assert (shown.status, done.status) == (404, 404), shown.text
    assert isinstance(daemon.state.agents["docs"].state, Stopped)


async def test_an_agent_that_was_removed_is_found_by_its_project_and_its_labels(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs", project="web", labels=("prod",))
    daemon.declare("shop", project="web")
    await live.ask("POST", "/v1/act", {"verb": "remove", "select": "p:web l:prod"})

    shown = await live.ask("POST", "/v1/undo", {"select": "l:prod", "dry_run": True})

    assert [one["name"] for one in shown.json["agents"]] == ["docs"]


async def test_two_operators_undo_at_once_and_each_takes_back_what_was_shown(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
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


CHOOSING = [one for one in OPERATIONS if one.path is not None and any(each.name == "select" for each in one.parameters)]


@pytest.mark.parametrize("operation", CHOOSING, ids=lambda one: one.name)
@pytest.mark.parametrize("empty", ["", " "])
async def test_an_empty_selector_takes_nobody_whatever_is_asked(
    live: Live, daemon: FakeDaemon, operation: Operation, empty: str
) -> None:
    fleet(daemon)
    before = daemon.state

    assert operation.path is not None
    if operation.at("body"):
        body = {"select": empty, **({"verb": "stop"} if operation.name == "act" else {})}
        answer = await live.ask(operation.method, operation.path, body)
    else:
        answer = await live.ask("GET", f"{operation.path}?select={quote(empty)}")

    assert (answer.status, answer.exit) == (400, 2)
    assert "all agents are '*'" in answer.json["detail"] or "all of them are '*'" in answer.json["detail"]
    assert answer.json["remedy"] == "phoenixctl help select"
    assert daemon.state is before


@pytest.mark.parametrize(
    ("path", "body", "did"),
    [
        ("/v1/undo", {"select": "docs"}, "took the stop back"),
        ("/v1/agents/docs/start", {}, "started it meanwhile"),
        ("/v1/agents/docs/restart", {}, "restarted it meanwhile"),
    ],
)
async def test_a_stop_that_is_overtaken_ends_at_once_and_says_by_whom(
    live: Live, daemon: FakeDaemon, path: str, body: dict[str, str], did: str
) -> None:
    """It waited for an end that nobody wanted any more, and then said that the agent is still being stopped."""
    fleet(daemon)
    daemon.outlives = True
    stopping = asyncio.create_task(live.ask("POST", "/v1/agents/docs/stop", {"timeout": "1h"}))
    while not daemon.waiting:
        await asyncio.sleep(0)

    assert (await live.ask("POST", path, body)).exit == 0
    answer = await asyncio.wait_for(stopping, 60)

    assert (answer.exit, answer.json["done"]) == (6, False)
    assert answer.json["message"].startswith(f"docs is to run again: operator {did}"), answer.json["message"]


async def test_of_several_stops_the_one_that_is_overtaken_is_told_apart(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    daemon.outlives = True
    body = {"verb": "stop", "select": "shop-*", "timeout": "1h"}
    stopping = asyncio.create_task(live.ask("POST", "/v1/act", body))
    while daemon.waiting < 2:
        await asyncio.sleep(0)

    assert (await live.ask("POST", "/v1/undo", {"select": "shop-web"})).exit == 0
    daemon.die("shop-api", None, 15)
    daemon.happen(TreeGone("shop-api", daemon.state.agents["shop-api"].incarnation))
    answer = await asyncio.wait_for(stopping, 60)

    told = {one["name"]: (one["exit"], one["message"]) for one in answer.json["agents"]}
    assert told["shop-api"] == (0, "shop-api is stopped, and stays so")
    assert told["shop-web"][0] == 6
    assert "operator took the stop back" in told["shop-web"][1]


async def test_a_removal_says_how_it_is_taken_back(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("spare")

    said = (await live.ask("DELETE", "/v1/agents/spare")).json["message"]

    assert said == "removed spare. Bring it back: phoenixctl undo spare"
    assert (await live.ask("POST", "/v1/undo", {"select": "spare"})).exit == 0


async def test_an_undo_after_an_unmute_says_which_older_act_it_took_back(live: Live, daemon: FakeDaemon) -> None:
    """An unmute is no act. An operator who wants silence again would get a stopped agent back, and not be told why."""
    fleet(daemon)
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
    fleet(daemon)
    await live.ask("POST", "/v1/agents/docs/mute", {"for": "1h"})
    await live.ask("POST", "/v1/agents/docs/unmute")
    await live.ask("POST", "/v1/act", {"verb": "stop", "select": "docs"})
    (one,) = (await live.ask("POST", "/v1/undo", {})).json["agents"]
    assert "unmute" not in one["message"]


async def test_a_slip_in_the_name_whose_question_is_answered_is_told_with_the_name_that_was_meant(
    live: Live, daemon: FakeDaemon
) -> None:
    fleet(daemon)
    for path in ("/v1/inbox/dcos", "/v1/inbox/dcos/answer"):
        method, body = ("POST", {"answer": ["yes"]}) if path.endswith("answer") else ("GET", None)
        answer = await live.ask(method, path, body)
        assert (answer.status, answer.json["detail"]) == (404, "there is no agent dcos; did you mean docs?")


async def test_an_answer_that_stands_before_its_number_is_turned_round(live: Live) -> None:
    answer = await live.ask("POST", "/v1/inbox/yes/answer", {"answer": ["7", "and go on"]})
    assert (answer.status, answer.json["detail"]) == (404, "yes is no number: the number stands before the answer")
    assert answer.json["remedy"] == "phoenixctl answer 7 yes 'and go on'"
