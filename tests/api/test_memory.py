"""`memory list` and `memory share` by the API: an orchestrator lists its own project's, an operator shares (E81)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.api.values import MemoryFace
from phoenixd.core.events.orders import AgentDeclared
from phoenixd.core.rules import HandoffRules
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.documents.project.memory import Provenance, SharedFile
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.documents.project.projects import PLANNING, plan_of, tree_of

OWN = ".claude/orchestrators/orchestrator-1/memory/patterns.md"
NOTES = ".claude/orchestrators/orchestrator-1/memory/notes.json"
TOKEN = "Bearer secret"
AT = "2026-11-21T10:00:00Z"


def shared(project: str, session: str, digest: str) -> SharedFile:
    return SharedFile(f"{digest[:12]}-patterns.md", 120, Provenance(project, session, AT, digest))


MINE, OTHERS = shared("shop", "orchestrator-1", "ab" * 32), shared("bank", "orchestrator-7", "cd" * 32)


@pytest.fixture
def shop(daemon: FakeDaemon) -> FakeDaemon:
    """`boss` leads the project shop, which shares one text; the bank shares another; `docs` leads nothing."""
    daemon.happen(AgentDeclared(AgentSpec("boss", ("agent",), "/srv/shop", Kind.ORCHESTRATOR, project="shop"), True))
    daemon.happen(AgentDeclared(AgentSpec("docs", ("agent",), "/srv/shop"), True))
    tree = tree_of({PLANNING: plan_of(("1", "pending"))})
    daemon.trees["/srv/shop", "shop"] = replace(tree, memory=(NOTES, OWN))
    daemon.memory = MemoryFace((MINE, OTHERS), {OWN: "ab" * 32})
    return daemon


async def test_e81_what_a_project_remembers_is_listed_with_what_is_shared_and_by_whom(
    live: Live, shop: FakeDaemon
) -> None:
    told = (await live.ask("GET", "/v1/memory?workspace=/srv/shop&project=shop")).json
    assert told["files"] == [
        {"path": NOTES, "sha256": None, "shared": False},
        {"path": OWN, "sha256": "ab" * 32, "shared": True},
    ]
    assert [(one["project"], one["own"]) for one in told["shared"]] == [("shop", True), ("bank", False)]
    page = (await live.ask("GET", "/v1/memory?workspace=/srv/shop&project=shop", text=True)).text
    assert "abababababab, shared" in page
    assert "cdcdcdcdcdcd-patterns.md: of bank" in page


@pytest.mark.parametrize(("takes", "seen"), [(False, ["shop"]), (True, ["shop", "bank"])])
async def test_e58_an_orchestrators_token_has_the_list_of_its_own_project_and_shares_nothing(
    live: Live, shop: FakeDaemon, takes: bool, seen: list[str]
) -> None:
    rules = HandoffRules(shared_memory=takes)
    spec = AgentSpec("boss", ("agent",), "/srv/shop", Kind.ORCHESTRATOR, project="shop", handoff=rules)
    shop.happen(AgentDeclared(spec, True))
    shop.tokens["secret"] = "boss"

    own = await live.ask("GET", "/v1/memory", authorization=TOKEN)
    assert [one["project"] for one in own.json["shared"]] == seen
    assert (await live.ask("GET", "/v1/memory?project=bank", authorization=TOKEN)).exit == 5
    assert (await live.ask("POST", "/v1/memory/share", {"path": OWN}, authorization=TOKEN)).exit == 5


async def test_e58_another_agent_has_none(live: Live, shop: FakeDaemon) -> None:
    shop.tokens["secret"] = "docs"
    assert (await live.ask("GET", "/v1/memory", authorization=TOKEN)).exit == 5


async def test_e81_a_file_is_shared_and_a_project_is_taken_back(live: Live, shop: FakeDaemon) -> None:
    place = {"workspace": "/srv/shop", "project": "shop"}
    done = await live.ask("POST", "/v1/memory/share", {"path": f"./{OWN}", **place})
    assert (done.status, done.json["file"]["name"]) == (200, "abababababab-patterns.md")
    foreign = await live.ask("POST", "/v1/memory/share", {"path": "README.md", **place})
    assert (foreign.exit, foreign.json["remedy"]) == (6, "phoenixctl memory list")
    for given in ({}, {"path": OWN, "withdraw": "shop"}):
        assert (await live.ask("POST", "/v1/memory/share", {**given, **place})).exit == 2
    back = await live.ask("POST", "/v1/memory/share", {"withdraw": "shop"})
    assert (back.status, shop.withdrawn) == (200, ["shop"])
