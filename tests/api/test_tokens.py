"""`tokens check`: exit 0 while there is room, 3 when a handoff is due, 1 where nobody knows (E15, E16)."""

from __future__ import annotations

import re

import pytest

from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.spec import Kind
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon

TOKEN = "Bearer secret"


@pytest.fixture
def metered(daemon: FakeDaemon) -> FakeDaemon:
    """docs and shop work, and only docs may ask by its token."""
    for name in ("docs", "shop"):
        daemon.declare(name)
    daemon.tokens["secret"] = "docs"
    return daemon


def session_of(daemon: FakeDaemon, name: str) -> str:
    session = daemon.state.agents[name].session
    assert session is not None
    return session.session_id


def fill(daemon: FakeDaemon, name: str, tokens: int | None, window: int | None = 200_000) -> None:
    run = daemon.state.agents[name].run
    assert run is not None
    session_id = session_of(daemon, name)
    daemon.happen(UsageSeen(name, run.incarnation, None, window, "status line", None, session_id))
    daemon.happen(UsageSeen(name, run.incarnation, tokens, None, "transcript", 1.7e9, session_id))


@pytest.mark.parametrize(
    ("tokens", "verdict", "code"),
    [(100, "OK", 0), (144_000, "WARNING", 0), (179_999, "WARNING", 0), (180_000, "HANDOFF", 3), (None, None, 1)],
)
async def test_e15_the_exit_code_says_whether_a_handoff_is_due(
    live: Live, metered: FakeDaemon, tokens: int | None, verdict: str | None, code: int
) -> None:
    fill(metered, "docs", tokens)

    answer = await live.ask("GET", f"/v1/tokens?session_id={session_of(metered, 'docs')}")

    assert (answer.status, answer.exit, answer.json["verdict"]) == (200, code, verdict)
    assert (answer.json["name"], answer.json["tokens"]) == ("docs", tokens)
    assert (await live.ask("GET", "/v1/tokens?agent=docs")).exit == code
    assert (await live.ask("GET", "/v1/tokens?session_id=docs", text=True)).exit == code


async def test_e3_the_window_is_asked_for_where_it_is_unknown_and_not_where_the_tokens_are(
    live: Live, metered: FakeDaemon
) -> None:
    """Between a run's first hook and its first answer the tokens are unknown, and `limit` tells only the window."""
    fill(metered, "docs", None)
    fill(metered, "shop", 100, window=None)

    early = await live.ask("GET", "/v1/tokens?agent=docs", text=True)
    windowless = await live.ask("GET", "/v1/tokens?agent=shop", text=True)

    assert (early.exit, windowless.exit) == (1, 1)
    assert "no request has told yet how many tokens are taken" in early.text
    assert "limit = TOKENS" not in early.text
    assert "[agent.shop.context] limit = TOKENS" in " ".join(windowless.text.split())


async def test_e16_the_threshold_can_be_given_and_lies_in_0_to_1(live: Live, metered: FakeDaemon) -> None:
    fill(metered, "docs", 100_000)

    assert (await live.ask("GET", "/v1/tokens?agent=docs&threshold=0.5")).exit == 3
    assert (await live.ask("GET", "/v1/tokens?agent=docs&threshold=0.51")).exit == 0
    for wrong in ("0", "1.01", "-1", "nan", "inf", "ninety", ""):
        answer = await live.ask("GET", f"/v1/tokens?agent=docs&threshold={wrong}")
        assert (answer.status, answer.exit) == (400, 2), wrong


async def test_e15_an_agent_asks_about_itself_from_inside_and_about_nobody_else(
    live: Live, metered: FakeDaemon
) -> None:
    fill(metered, "docs", 180_000)
    fill(metered, "shop", 10)

    own = await live.ask("GET", "/v1/tokens", authorization=TOKEN)
    assert (own.exit, own.json["name"]) == (3, "docs")
    by_session = await live.ask("GET", f"/v1/tokens?session_id={session_of(metered, 'docs')}", authorization=TOKEN)
    assert by_session.exit == 3
    for query in ("agent=shop", f"session_id={session_of(metered, 'shop')}"):
        refused = await live.ask("GET", f"/v1/tokens?{query}", authorization=TOKEN)
        assert (refused.status, refused.exit) == (403, 5)


@pytest.mark.parametrize(
    ("query", "code"),
    [("", 2), ("agent=nobody", 4), ("session_id=none-such", 4), ("agent=docs&session_id=shop", 4)],
)
async def test_what_is_meant_by_nothing_is_refused(live: Live, metered: FakeDaemon, query: str, code: int) -> None:
    assert (await live.ask("GET", f"/v1/tokens?{query}")).exit == code


async def test_e3_status_shows_tokens_share_source_and_age_for_every_kind(live: Live, metered: FakeDaemon) -> None:
    fill(metered, "docs", 179_995)

    docs, shop = (await live.ask("GET", "/v1/agents")).json["agents"]
    assert set(docs["context"]) == {"tokens", "limit", "percent", "source", "updated_at", "at"}
    assert docs["context"]["updated_at"] == docs["context"]["at"] == "2023-11-14T22:13:20.000Z"
    assert (docs["context"]["tokens"], docs["context"]["limit"]) == (179_995, 200_000)
    assert (docs["context"]["percent"], docs["context"]["source"]) == (89.9, "status line")
    assert shop["context"] is None
    told = (await live.ask("GET", "/v1/agents/docs?width=200", text=True)).text
    assert re.search(r"179,995 of 200,000 tokens, 89\.9 % \(status line\), [0-9]+d[0-9]+h ago", told), told
    assert "context 89.9 %" in (await live.ask("GET", "/v1/agents?all=1", text=True)).text
    assert "179,995 of 200,000" in (await live.ask("GET", "/v1/agents/docs/explain?width=200", text=True)).text
    assert "context" not in (await live.ask("GET", "/v1/agents/shop", text=True)).text


async def test_an_unknown_window_is_no_percentage_anywhere(live: Live, metered: FakeDaemon) -> None:
    fill(metered, "docs", 150_000, window=None)

    docs = (await live.ask("GET", "/v1/agents/docs")).json["agents"][0]
    assert (docs["context"]["tokens"], docs["context"]["limit"], docs["context"]["percent"]) == (150_000, None, None)
    for path in ("/v1/agents/docs", "/v1/agents", "/v1/agents?all=1", "/v1/tokens?agent=docs"):
        assert " %" not in (await live.ask("GET", path, text=True)).text


async def test_status_names_the_orchestrators_that_are_to_be_handed_over(live: Live, daemon: FakeDaemon) -> None:
    for name, kind in (("boss", Kind.ORCHESTRATOR), ("docs", Kind.RESIDENT)):
        daemon.declare(name, kind=kind)
        fill(daemon, name, 180_000)

    told = " ".join((await live.ask("GET", "/v1/agents", text=True)).text.split())
    assert "boss: the context is full, and a handoff is due. See: phoenixctl handoff status boss" in told
    assert "docs: the context is full" not in told


async def test_a_doubtful_status_line_is_said_where_people_look(live: Live, metered: FakeDaemon) -> None:
    fill(metered, "docs", 150_000, window=0)

    said = "the status line claims a window of 0 tokens"
    assert said in " ".join((await live.ask("GET", "/v1/agents/docs", text=True)).text.split())
    assert said in " ".join((await live.ask("GET", "/v1/tokens?agent=docs", text=True)).text.split())
