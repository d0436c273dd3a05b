"""`phase list` and `phase check` by the API: an orchestrator may ask about its own project, and no other (E58)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.rules import PhaseRules
from phoenixd.core.seat import succession
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.documents.project.revision import Revision
from phoenixd.documents.project.splitting import split
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.documents.project.projects import BUILDING, NOW, PLANNING, plan_of, tree_of
from tests.hiding import KEY, hidings, shows

TOKEN = "Bearer secret"
SHORT = PhaseRules(max_lines=60, warn_lines=50)


@pytest.fixture
def shop(daemon: FakeDaemon) -> FakeDaemon:
    """The orchestrator `boss` leads the project shop in /srv/shop; `docs` is a resident there."""
    specs = (
        AgentSpec("boss", ("agent",), "/srv/shop", Kind.ORCHESTRATOR, project="shop", phase=SHORT),
        AgentSpec("docs", ("agent",), "/srv/shop"),
    )
    for spec in specs:
        daemon.happen(AgentDeclared(spec, True))
    plans = {PLANNING: plan_of(("1", "completed"), ("2", "pending")), BUILDING: b"## Task 1: a\n" + b"\n" * 60}
    daemon.trees["/srv/shop", "shop"] = tree_of(plans)
    daemon.trees["/srv/shop", "mall"] = daemon.trees["/srv/mall", "shop"] = tree_of(plans)
    return daemon


async def test_the_phases_are_listed_with_their_tasks(live: Live, shop: FakeDaemon) -> None:
    told = (await live.ask("GET", "/v1/phases?workspace=/srv/shop&project=shop")).json

    assert [(one["phase"], one["status"], one["lines"]) for one in told["phases"]] == [
        (PLANNING, "in_progress", 15), (BUILDING, "not_started", 61),
    ]  # fmt: skip
    assert [task["id"] for task in told["phases"][0]["plan"]["tasks"]] == ["1", "2"]
    assert told["phases"][0]["undo"] is None
    page = await live.ask("GET", "/v1/phases?workspace=/srv/shop&project=shop", text=True)
    assert "1 completed, 1 pending; 15 lines" in page.text


async def test_what_can_be_undone_is_listed(live: Live, shop: FakeDaemon) -> None:
    before = shop.trees["/srv/shop", "shop"]
    made: Revision = split(before, PLANNING, SHORT, NOW)
    shop.trees["/srv/shop", "shop"] = before.after(made.changes)

    told = (await live.ask("GET", "/v1/phases?workspace=/srv/shop&project=shop")).json
    assert told["phases"][0]["undo"] == f".claude/projects/shop/{PLANNING}/archive/001-split"


async def test_the_check_goes_by_the_rules_of_the_orchestrator_that_leads_the_project(
    live: Live, shop: FakeDaemon
) -> None:
    path = "/v1/phases/check?project=shop&workspace=/srv/"

    own = await live.ask("GET", f"{path}shop")
    assert (own.exit, own.json["sound"]) == (3, False)
    assert "it has 61 lines, and 60 are the most" in [one["what"] for one in own.json["findings"]]
    other = await live.ask("GET", f"{path}mall")
    assert not [one for one in other.json["findings"] if "lines" in one["what"]]
    page = await live.ask("GET", f"{path}shop", text=True)
    assert f"do: phoenixctl phase split {BUILDING}" in page.text


async def test_e58_an_orchestrators_token_has_its_own_project(live: Live, shop: FakeDaemon) -> None:
    shop.tokens["secret"] = "boss"

    for path in ("/v1/phases", "/v1/phases?project=shop", "/v1/phases?workspace=/srv/shop", "/v1/phases/check"):
        answer = await live.ask("GET", path, authorization=TOKEN)
        assert (answer.status, answer.json["project"]) == (200, "shop")
    for path in ("/v1/phases?project=mall", "/v1/phases?workspace=/srv", "/v1/phases/check?workspace=/"):
        answer = await live.ask("GET", path, authorization=TOKEN)
        assert (answer.status, answer.exit) == (403, 5)
        assert "its own project, shop" in answer.json["detail"]


async def test_e58_a_later_generation_has_the_project_of_its_seat(live: Live, shop: FakeDaemon) -> None:
    fleet, _ = succession.declare_successor(shop.state, "boss", shop.now())
    fleet, _ = succession.succeed(fleet, "boss", shop.now())
    shop.state = replace(fleet, agents={name: one for name, one in fleet.agents.items() if name != "boss"})
    shop.tokens["secret"] = "boss-g2"

    answer = await live.ask("GET", "/v1/phases", authorization=TOKEN)
    assert (answer.status, answer.json.get("project")) == (200, "shop"), answer.text


async def test_e58_another_agent_has_none(live: Live, shop: FakeDaemon) -> None:
    shop.tokens["secret"] = "docs"

    answer = await live.ask("GET", "/v1/phases?project=shop", authorization=TOKEN)
    assert (answer.status, answer.exit) == (403, 5)


@pytest.mark.parametrize(
    ("path", "code"),
    [("/v1/phases", 2), ("/v1/phases?workspace=/srv/shop", 2), ("/v1/phases?workspace=shop&project=shop", 2),
     ("/v1/phases?workspace=/srv/shop&project=../x", 2), ("/v1/phases?workspace=/srv/shop&project=none", 4),
     ("/v1/phases?workspace=/srv/none", 4)],
)  # fmt: skip
async def test_what_is_not_meant_clearly_is_refused_with_a_remedy(
    live: Live, shop: FakeDaemon, path: str, code: int
) -> None:
    answer = await live.ask("GET", path)

    assert answer.exit == code
    assert answer.json["remedy"]


async def test_a_project_that_is_not_there_is_named_with_those_that_are(live: Live, shop: FakeDaemon) -> None:
    refused = await live.ask("GET", "/v1/phases?workspace=/srv/shop&project=none")

    assert (refused.status, refused.json["detail"]) == (404, "/srv/shop has no project none; there are mall, shop")


async def test_p79_titles_of_plans_and_what_is_wrong_with_them_are_shown_without_secrets(
    live: Live, shop: FakeDaemon
) -> None:
    for how, written in hidings(KEY).items():
        plan = f"## Task 1: use {written}\n- **Status**: {written}\n".encode()
        shop.trees["/srv/shop", "shop"] = tree_of({PLANNING: plan})
        for path in ("/v1/phases", "/v1/phases/check"):
            told = await live.ask("GET", f"{path}?workspace=/srv/shop&project=shop")
            assert shows(json.dumps(told.json, ensure_ascii=False), KEY) == [], (how, path)
            page = await live.ask("GET", f"{path}?workspace=/srv/shop&project=shop", text=True)
            assert shows(page.text, KEY) == [], (how, path)
