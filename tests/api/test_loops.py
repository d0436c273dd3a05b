"""Loops over the API: whose is meant, who may close it, and what a refusal names (P26, P27)."""

from __future__ import annotations

import pytest

from phoenixd.api.pages.layout import Page
from phoenixd.api.pages.loops import Loop, loops
from phoenixd.api.times import rfc3339
from phoenixd.api.values import LoopsRead
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon

TOKEN = "Bearer abc123"


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = FakeDaemon()
    for name in ("docs", "shop"):
        daemon.declare(name)
    daemon.tokens["abc123"] = "docs"
    return daemon


def close(loop_id: str, reason: str = "tested", **more: str) -> dict[str, str]:
    return {"id": loop_id, "reason": reason, **more}


async def test_p26_from_outside_the_only_agent_that_has_it_is_meant(live: Live, daemon: FakeDaemon) -> None:
    daemon.begin("docs", "other")
    daemon.begin("shop", "auth-flow")

    answer = await live.ask("POST", "/v1/resolve", close("auth-flow"))

    assert answer.json == {
        "agent": "shop", "id": "auth-flow", "outcome": "resolved", "in_state": True,
        "message": "resolved auth-flow of shop",
    }  # fmt: skip
    assert daemon.resolved == [("shop", "auth-flow", "tested")]


async def test_p26_a_repeat_is_told_so_and_exits_0(live: Live, daemon: FakeDaemon) -> None:
    daemon.begin("shop", "auth-flow")
    await live.ask("POST", "/v1/resolve", close("auth-flow"))

    for more in ({}, {"agent": "shop"}):
        answer = await live.ask("POST", "/v1/resolve", close("auth-flow", "again", **more))
        assert (answer.exit, answer.json["outcome"], answer.json["agent"]) == (0, "already", "shop")
    assert len(daemon.resolved) == 1


async def test_when_several_have_it_the_refusal_lists_them(live: Live, daemon: FakeDaemon) -> None:
    for name in ("docs", "shop"):
        daemon.begin(name, "auth-flow")

    answer = await live.ask("POST", "/v1/resolve", close("auth-flow"))

    assert (answer.status, answer.exit) == (409, 6)
    assert "docs, shop" in answer.json["detail"]
    assert answer.json["remedy"] == 'phoenixctl resolve auth-flow "REASON" --agent docs'
    assert daemon.resolved == []
    assert (await live.ask("POST", "/v1/resolve", close("auth-flow", agent="shop"))).exit == 0
    assert daemon.resolved == [("shop", "auth-flow", "tested")]


@pytest.mark.parametrize("more", [{}, {"agent": "docs"}])
async def test_p26_an_unknown_id_is_refused_with_those_near_it(
    live: Live, daemon: FakeDaemon, more: dict[str, str]
) -> None:
    daemon.begin("docs", "auth-flow")

    answer = await live.ask("POST", "/v1/resolve", close("Auth-Flow", **more))

    assert (answer.status, answer.exit) == (404, 4)
    assert "near it: auth-flow" in answer.json["detail"]
    assert answer.json["remedy"].startswith("phoenixctl loops")
    assert daemon.resolved == []


async def test_p27_an_agent_needs_no_name_and_reaches_its_own_alone(live: Live, daemon: FakeDaemon) -> None:
    for name in ("docs", "shop"):
        daemon.begin(name, "auth-flow")
    daemon.begin("shop", "secret")

    own = await live.ask("POST", "/v1/resolve", close("auth-flow"), authorization=TOKEN)
    assert (own.exit, own.json["agent"]) == (0, "docs")
    others = await live.ask("POST", "/v1/resolve", close("auth-flow", agent="shop"), authorization=TOKEN)
    assert (others.status, others.exit) == (403, 5)
    unknown = await live.ask("POST", "/v1/resolve", close("secret"), authorization=TOKEN)
    assert (unknown.exit, "secret" in daemon.open["shop"]) == (4, True)
    assert [loop["agent"] for loop in (await live.ask("GET", "/v1/loops", authorization=TOKEN)).json["loops"]] == []
    assert (await live.ask("GET", "/v1/loops?agent=shop", authorization=TOKEN)).exit == 5


@pytest.mark.parametrize("reason", ["", " \n\t", "\x1b[2J", "\u200b\u202e"])
async def test_a_reason_that_says_nothing_is_refused(live: Live, daemon: FakeDaemon, reason: str) -> None:
    daemon.begin("docs", "auth-flow")

    answer = await live.ask("POST", "/v1/resolve", close("auth-flow", reason))

    assert (answer.status, answer.exit) == (400, 2)
    assert daemon.resolved == []


@pytest.mark.parametrize(
    "loop_id", ["../../etc/passwd", "a\nb", "\x1b]0;pwned\x07", "", "x" * 10_000, "auth-flow\n", " auth-flow", "\u202e"]
)
async def test_a_hostile_id_is_an_unknown_one_and_forges_nothing(live: Live, daemon: FakeDaemon, loop_id: str) -> None:
    daemon.begin("docs", "auth-flow")

    answer = await live.ask("POST", "/v1/resolve", close(loop_id), text=True)

    assert (answer.status, answer.exit) == (404, 4)
    assert len(answer.text) < 300
    assert answer.text.isprintable() or answer.text.replace("\n", "").isprintable()
    assert answer.text.count("\n") <= 4
    assert daemon.resolved == []


async def test_a_reason_of_a_megabyte_is_refused_before_it_is_read(live: Live, daemon: FakeDaemon) -> None:
    daemon.begin("docs", "auth-flow")

    answer = await live.ask("POST", "/v1/resolve", close("auth-flow", "x" * (1 << 20)))

    assert (answer.status, answer.exit) == (413, 2)
    assert "auth-flow" in daemon.open["docs"]


async def test_p28_p85_loops_are_listed_stale_ones_first_with_their_age(live: Live, daemon: FakeDaemon) -> None:
    daemon.begin("docs", "young", added="2026-11-20")
    daemon.begin("shop", "old", added="2026-01-01")

    told = (await live.ask("GET", "/v1/loops")).json

    assert [(loop["id"], loop["agent"], loop["stale"]) for loop in told["loops"]] == [
        ("old", "shop", True),
        ("young", "docs", False),
    ]
    assert told["stale_days"] == 14
    assert told["loops"][0]["age_days"] > told["loops"][1]["age_days"]
    assert [loop["id"] for loop in (await live.ask("GET", "/v1/loops?agent=docs")).json["loops"]] == ["young"]
    assert (await live.ask("GET", "/v1/loops?agent=nobody")).exit == 4


async def test_p29_stale_loops_stand_in_status_without_being_asked_for(live: Live, daemon: FakeDaemon) -> None:
    assert "loop" not in (await live.ask("GET", "/v1/agents", text=True)).text
    daemon.begin("shop", "old", added="2026-01-01")
    daemon.begin("shop", "young")

    assert "1 open loop is stale (shop). See: phoenixctl loops" in (await live.ask("GET", "/v1/agents", text=True)).text
    assert "2, 1 stale (phoenixctl loops shop)" in (await live.ask("GET", "/v1/agents/shop", text=True)).text


async def test_the_list_says_as_of_when_it_is_and_when_a_turn_since_then_is_read(
    live: Live, daemon: FakeDaemon
) -> None:
    """For up to brief.spacing after a turn it was of the turn before, and said so nowhere."""
    now = daemon.now().wall
    daemon.begin("docs", "auth-flow")
    daemon.read_loops["docs"] = LoopsRead(now - 240, now + 390)

    async def page(path: str) -> str:
        return " ".join((await live.ask("GET", path, text=True)).text.split())

    said = "As read from its session 4m ago. A turn has ended since, read within 6m;"
    shown = await page("/v1/loops?agent=docs")
    assert shown.startswith(f"1 open loop of docs, none stale. {said} sooner: phoenixctl brief generate docs")
    assert (await live.ask("GET", "/v1/loops?agent=docs")).json["read"] == [
        {"agent": "docs", "at": rfc3339(now - 240), "turn_due": rfc3339(now + 390)}
    ]

    daemon.read_loops["shop"] = LoopsRead(now - 600)
    all_of_them = await page("/v1/loops")
    assert "As read from their sessions, at the earliest 10m ago. A turn of docs has ended since" in all_of_them
    assert (await page("/v1/loops?agent=shop")).startswith("As read from its session 10m ago. No open loops of shop.")
    daemon.read_loops = {name: LoopsRead(0.0, now - 1) for name in ("docs", "shop")}
    assert "Turns of docs, shop have ended since, read within 1s; sooner" in await page("/v1/loops")


@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_list_holds_its_columns_whatever_a_loop_is_called(width: int) -> None:
    told = [
        Loop("docs", "auth-flow", "OAuth redirect not tested " * 9, "2026-11-01", 20, True),
        Loop("a-name-of-thirty-two-characters-", "x" * 64, "\x1b[2J\u202ewords\nand more", "2026-11-20", 1, False),
    ]

    shown = loops(told, 14, Page(0.0, width), {})

    # Names and ids are never cut: a command would not work with half of one.
    assert all(len(line) <= max(width, 60) or "phoenixctl" in line or "x" * 64 in line for line in shown.splitlines())
    assert shown.replace("\n", "").isprintable()
    assert shown.replace("\n", " ").startswith("2 open loops, 1 stale (open for more than 14 days).")
    assert "words and more" in shown
    assert "[2J" not in shown
    end = " ".join(shown.partition("close one:")[2].split())
    assert end == 'phoenixctl resolve auth-flow "WHY" --agent docs'
    none = " ".join(loops([], 14, Page(0.0, width), {}, agent="docs").split())
    assert none == "No open loops of docs. See: phoenixctl status docs"


async def test_p26_a_loop_that_stands_for_what_waits_is_over_with_that_and_is_listed_by_the_inbox(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.wait("docs")
    daemon.begin("docs", "inbox-item-1", item=1)
    page = (await live.ask("GET", "/v1/loops", text=True)).text
    assert page == "No open loops but what waits for a person. See: phoenixctl inbox\n"

    for more in ({}, {"agent": "docs"}):
        refused = await live.ask("POST", "/v1/resolve", close("inbox-item-1", **more))
        told = (refused.exit, refused.json["detail"], refused.json["remedy"])
        why = "inbox-item-1 of docs is what waits under #1: it is over once that is"
        assert told == (6, why, "phoenixctl inbox 1")
    assert daemon.resolved == []
    daemon.begin("docs", "auth-flow")
    page = (await live.ask("GET", "/v1/loops", text=True)).text
    assert "1 open loop, none stale." in page
    assert page.endswith(
        'close one: phoenixctl resolve auth-flow "WHY" --agent docs\nwhat waits for a person: phoenixctl inbox\n'
    )

    daemon.hook("docs", "prompt-submit", text="go on")
    assert "inbox-item-1" in (await live.ask("GET", "/v1/loops", text=True)).text
    assert (await live.ask("POST", "/v1/resolve", close("inbox-item-1"))).exit == 0
