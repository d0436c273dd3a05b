"""One verb for what a selector chooses: results agent by agent, none where others match than were shown."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from urllib.parse import quote

import pytest

from phoenixd.api.idempotency import IdempotentReplies
from phoenixd.api.operations import OPERATIONS
from phoenixd.api.operations.operation import Operation
from phoenixd.core.agent.state import Stopped
from phoenixd.core.events.orders import SendRequested, StartRequested, StopRequested
from phoenixd.core.events.runs import TreeGone
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.api.fleets import shops

VERBS = ("start", "stop", "restart", "remove", "send")


async def test_a_verb_acts_on_what_is_chosen_and_on_nothing_else(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)

    answer = await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*"})

    assert (answer.status, answer.exit) == (200, 0)
    assert [one["name"] for one in answer.json["agents"]] == ["shop-api", "shop-web"]
    assert all("is stopped, and stays so" in one["message"] for one in answer.json["agents"])
    assert not isinstance(daemon.state.agents["docs"].state, Stopped)


@pytest.mark.parametrize("verb", VERBS)
async def test_a_dry_run_only_shows_whom_it_means(live: Live, daemon: FakeDaemon, verb: str) -> None:
    shops(daemon)
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
    shops(daemon)
    before = daemon.state

    answer = await live.ask("POST", "/v1/act", body)

    assert (answer.status, answer.exit) == (status, code), answer.text
    assert told in answer.json["detail"]
    assert answer.json["remedy"]
    assert daemon.state is before


async def test_what_was_shown_and_still_matches_is_done(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)

    answer = await live.ask("POST", "/v1/act", {"verb": "stop", "select": "shop-*", "expect": ["shop-web", "shop-api"]})

    assert answer.exit == 0


async def test_each_agent_has_its_own_result_and_one_that_fails_stops_no_other(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)
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


async def test_a_name_that_is_near_another_is_told(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)

    answer = await live.ask("POST", "/v1/agents/shop-ap/stop")

    assert answer.json["detail"] == "there is no agent shop-ap; did you mean shop-api?"
    assert answer.json["remedy"] == "phoenixctl status shop-api"


async def test_prompt_tells_what_is_not_fine_and_nothing_else(live: Live, daemon: FakeDaemon) -> None:
    assert (await live.ask("GET", "/v1/prompt", text=True)).text == ""
    shops(daemon)
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
    shops(daemon)
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
    shops(daemon)
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
    shops(daemon)
    body = {"text": "hello"} if path.endswith("send") else {"wait": True}

    first = await live.ask("POST", path, body, idempotency_key="k")
    second = await live.ask("POST", f"{path}?width=200&colour=1", body, text=True, idempotency_key="k")

    assert (first.exit, second.exit) == (0, 0), second.text
    assert len(daemon.orders) == 1


CHOOSING = [one for one in OPERATIONS if one.path is not None and any(each.name == "select" for each in one.parameters)]


@pytest.mark.parametrize("operation", CHOOSING, ids=lambda one: one.name)
@pytest.mark.parametrize("empty", ["", " "])
async def test_an_empty_selector_takes_nobody_whatever_is_asked(
    live: Live, daemon: FakeDaemon, operation: Operation, empty: str
) -> None:
    shops(daemon)
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
    shops(daemon)
    daemon.outlives = True
    stopping = asyncio.create_task(live.ask("POST", "/v1/agents/docs/stop", {"timeout": "1h"}))
    while not daemon.waiting:
        await asyncio.sleep(0)

    assert (await live.ask("POST", path, body)).exit == 0
    answer = await asyncio.wait_for(stopping, 60)

    assert (answer.exit, answer.json["done"]) == (6, False)
    assert answer.json["message"].startswith(f"docs is to run again: operator {did}"), answer.json["message"]


async def test_of_several_stops_the_one_that_is_overtaken_is_told_apart(live: Live, daemon: FakeDaemon) -> None:
    shops(daemon)
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


async def test_a_slip_in_the_name_whose_question_is_answered_is_told_with_the_name_that_was_meant(
    live: Live, daemon: FakeDaemon
) -> None:
    shops(daemon)
    for path in ("/v1/inbox/dcos", "/v1/inbox/dcos/answer"):
        method, body = ("POST", {"answer": ["yes"]}) if path.endswith("answer") else ("GET", None)
        answer = await live.ask(method, path, body)
        assert (answer.status, answer.json["detail"]) == (404, "there is no agent dcos; did you mean docs?")


async def test_an_answer_that_stands_before_its_number_is_turned_round(live: Live) -> None:
    answer = await live.ask("POST", "/v1/inbox/yes/answer", {"answer": ["7", "and go on"]})
    assert (answer.status, answer.json["detail"]) == (404, "yes is no number: the number stands before the answer")
    assert answer.json["remedy"] == "phoenixctl answer 7 yes 'and go on'"
