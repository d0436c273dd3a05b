"""mute, unmute, ack, looked, turns, and verbs that look at what selectors choose."""

from __future__ import annotations

import shlex

import pytest

from phoenixd.core.events.fleet import TroubleSeen
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.ctl.choosing import LISTS, chosen
from phoenixd.ctl.grammar import parse
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import ROOT, Ctl


async def test_the_commands_of_the_page_on_being_told_do_what_it_says(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    page = (ROOT / "docs/how-to/get-told.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## Hold alerts back")
    told = [shlex.split(line, comments=True)[1:] for line in section.splitlines() if line.startswith("phoenixctl ")]
    assert [words[0] for words in told[:5]] == ["mute", "unmute", "ack", "inbox", "looked"]
    for words in told[:5]:
        if words[0] == "ack":
            daemon.happen(TroubleSeen("docs", "brief", "it is old"))
            words[1] = str(daemon.state.agents["docs"].alerts[0].id)
        ran = await ctl(*words)
        assert ran.code == 0, (words, ran.err)
        assert bool(daemon.state.mutes) == (words[0] == "mute")
    assert daemon.state.agents["docs"].alerts[0].ack is not None


async def test_many_are_muted_by_one_command_that_names_them_and_undo_takes_it_back(
    ctl: Ctl, daemon: FakeDaemon
) -> None:
    for name in ("docs", "shop-api", "shop-web"):
        daemon.declare(name)
    refused = await ctl("mute", "shop-*", "--for", "2h")
    assert refused.code == 2
    assert "mute means 2 agents: shop-api, shop-web; nothing was done" in refused.err
    assert (await ctl("mute", "shop-*", "--for", "2h", "--yes")).code == 0
    until = {one.until_wall - one.since_wall for one in daemon.state.mutes.values()}
    assert (sorted(daemon.state.mutes), until) == (["shop-api", "shop-web"], {7200.0})
    assert "(muted)" not in (await ctl("status")).out
    assert (await ctl("undo", "--yes")).code == 0
    assert daemon.state.mutes == {}


async def test_what_only_looks_takes_selectors(ctl: Ctl, daemon: FakeDaemon) -> None:
    for name in ("docs", "shop-api", "shop-web"):
        daemon.declare(name)
        daemon.wait(name, text=f"make {name}", held=True)
    events = await ctl("events", "shop-*", "--json", "--all")
    assert {one["agent"] for one in events.json["events"]} == {"shop-api", "shop-web"}
    assert {one["agent"] for one in (await ctl("inbox", "shop-*", "!shop-web", "--json")).json["items"]} == {"shop-api"}
    assert (await ctl("inbox", "docs", "--json")).json["item"]["agent"] == "docs"
    cleaned = await ctl("cleanup", "shop-*", "--dry-run", "--json")
    assert [one["name"] for one in cleaned.json["agents"]] == ["shop-api", "shop-web"]
    assert (await ctl("cleanup", "docs", "--dry-run", "--json")).json["name"] == "docs"
    for words in (("events", "x-*"), ("inbox", "x-*"), ("breaker", "show", "x-*"), ("resonance", "status", "x-*")):
        ran = await ctl(*words)
        assert (ran.code, ran.out) == (4, "")
        assert "x-*: nothing matches; 3 agents are there" in ran.err
    assert "Nothing is known of a turn of docs" in (await ctl("turns", "docs")).out


async def test_inbox_of_a_number_tells_how_that_item_ended(ctl: Ctl, daemon: FakeDaemon) -> None:
    for name in ("docs", "shop-api"):
        daemon.declare(name)
        daemon.wait(name, text=f"make {name} " * 20, held=True)
    numbers = [agent.item.id for agent in daemon.state.agents.values() if agent.item is not None]
    for name, number in zip(("docs", "shop-api"), numbers, strict=True):
        waits = await ctl("inbox", str(number), "--closed")
        assert (waits.code, waits.out) == (4, "")
        assert f"#{number} has not ended: it waits" in waits.err
        assert f"phoenixctl inbox {number}" in waits.err
        daemon.happen(AnswerRequested(name, number, allow=True, by="uid 7"))
    for number in numbers:
        (one,) = (await ctl("inbox", str(number), "--closed", "--json")).json["closed"]
        assert (one["id"], one["by"]) == (number, "uid 7")
    told = " ".join((await ctl("inbox", str(numbers[0]), "--closed")).out.split())
    assert f"#{numbers[0]} permission of docs" in told
    assert "by uid 7" in told
    both = await ctl("inbox", *map(str, numbers), "--closed")
    assert (both.code, [f"#{number} " in both.out for number in numbers]) == (0, [True, True]), both.err
    told_both = (await ctl("inbox", *map(str, numbers), "--closed", "--json")).json
    assert [one["id"] for one in told_both["closed"]] == numbers
    torn = await ctl("inbox", str(numbers[0]), "99999", "--closed")
    assert (torn.code, torn.out) == (4, "")
    assert "has the number 99999" in torn.err
    never = await ctl("inbox", "99999", "--closed")
    assert (never.code, never.out) == (4, "")
    assert "nothing that ended within 7 days has the number 99999" in never.err
    assert "phoenixctl inbox --closed" in never.err
    assert "there is no agent 7" in (await ctl("inbox", "7", "docs", "--closed")).err


async def test_inbox_of_several_numbers_tells_of_what_waits_under_each(ctl: Ctl, daemon: FakeDaemon) -> None:
    for name in ("docs", "shop-api"):
        daemon.declare(name)
        daemon.wait(name, text=f"make {name}", held=True)
    numbers = [str(agent.item.id) for agent in daemon.state.agents.values() if agent.item is not None]

    both = await ctl("inbox", *numbers)
    assert (both.code, [f"make {name}" in both.out for name in ("docs", "shop-api")]) == (0, [True, True]), both.err
    gone = await ctl("inbox", numbers[0], "99999")
    assert (gone.code, gone.out) == (4, "")
    assert "nothing waits under #99999" in gone.err


@pytest.mark.parametrize(
    ("words", "operation", "given"),
    [
        ("status", "list_agents", {}),
        ("status a", "show_agent", {"name": "a"}),
        ("status a !b", "list_agents", {"select": "a !b"}),
        ("inbox", "inbox", {}),
        ("inbox 71", "show_item", {"id": "71"}),
        ("inbox p:web", "inbox", {"select": "p:web"}),
        ("inbox a b", "inbox", {"select": "a b"}),
        ("events a --all", "list_events", {"agent": "a", "all": True}),
        ("events a !b", "list_events", {"select": "a !b"}),
        ("breaker show a", "breaker_show", {"name": "a"}),
        ("breaker show k:loop", "list_breakers", {"select": "k:loop"}),
        ("resonance status", "list_resonance", {}),
        ("cleanup x-* --dry-run", "clean_fleet", {"select": "x-*", "dry_run": True}),
    ],
)
def test_a_name_goes_the_short_way_and_selectors_the_lists(
    words: str, operation: str, given: dict[str, object]
) -> None:
    command = parse(words.split())
    assert command.operation.name in LISTS
    found = chosen(command)
    assert (found.operation.name, found.given) == (operation, given)
