"""Mutes, alerts that were seen, how far an operator has looked; and what has ended, by whom and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.api.closed_items import Closing
from phoenixd.api.handlers import past
from phoenixd.api.pages.layout import Page
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.core.events.orders import AnswerRequested, MuteRequested, StartRequested, StopRequested
from phoenixd.core.facts import AnswerJudged, Asked, AskingOver, Fact, Ordered
from phoenixd.core.inbox import inbox
from phoenixd.core.meter.reading import WORDING, UsageSample
from phoenixd.documents.turn_rows import TurnRow
from phoenixd.ports.journal import Entry, StoredEntry
from tests.api.conftest import Live, serving
from tests.api.daemon import FIXTURE_EPOCH, FakeDaemon
from tests.api.feeding import Model, frames
from tests.api.fleets import FLEETS


def fleet(daemon: FakeDaemon) -> None:
    for name in ("shop-api", "shop-web", "docs"):
        daemon.declare(name)


async def row(live: Live, name: str) -> dict[str, object]:
    found = (await live.ask("GET", f"/v1/agents/{name}")).json["agents"][0]
    assert isinstance(found, dict)
    return found


async def test_a_mute_of_a_selector_is_shown_everywhere_and_undo_takes_it_back_as_a_whole(
    live: Live, daemon: FakeDaemon
) -> None:
    fleet(daemon)
    answer = await live.ask("POST", "/v1/act", {"verb": "mute", "select": "shop-*", "for": "2h"})
    assert answer.exit == 0, answer.text
    daemon.wait("shop-api", text="npm publish", held=True)

    told = await row(live, "shop-api")
    assert str(told["muted_until"]).endswith("Z")
    assert told["alerts"][0]["held"] is True  # type: ignore[index]
    assert told["group"] == "needs_you", "it is counted all the same"
    assert (await row(live, "docs"))["muted_until"] is None
    text = (await live.ask("GET", "/v1/agents", text=True)).text
    assert text.splitlines()[0].startswith("1 needs you (1 muted). 3 of 3 alive")
    assert "muted until" in text
    assert "held back" in (await live.ask("GET", "/v1/agents/shop-api", text=True)).text
    assert [item["agent"] for item in (await live.ask("GET", "/v1/inbox")).json["items"]] == ["shop-api"]

    shown = await live.ask("POST", "/v1/undo", {"dry_run": True})
    assert [(one["name"], one["message"].partition(",")[0]) for one in shown.json["agents"]] == [
        ("shop-api", "mute by operator"), ("shop-web", "mute by operator")
    ]  # fmt: skip
    done = await live.ask("POST", "/v1/undo", {})
    assert [one["message"] for one in done.json["agents"]] == [
        "shop-api is not muted any more", "shop-web is not muted any more"
    ]  # fmt: skip
    assert daemon.state.mutes == {}
    assert (await row(live, "shop-api"))["alerts"][0]["held"] is False  # type: ignore[index]


async def test_a_row_of_the_inbox_says_until_when_its_agent_is_muted(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    daemon.wait("shop-api", text="npm publish", held=True)
    await live.ask("POST", "/v1/agents/shop-api/mute", {"for": "2h"})
    daemon.wait("docs", text="npm test", held=True)
    until = f"muted until {Page(daemon.now().wall).minute(daemon.state.mutes['shop-api'].until_wall)}"
    first, _ = inbox(daemon.state)

    for path in ("/v1/inbox?width=200", "/v1/items?width=200"):
        waits = (await live.ask("GET", path, text=True)).text
        assert f"{until}: permission: " in waits
        assert waits.count("muted until") == 1, "the other one is told"
    assert f"; {until}" in (await live.ask("GET", f"/v1/inbox/{first.id}?width=200", text=True)).text
    await live.ask("POST", f"/v1/alerts/{first.id}/ack")
    assert f"{until}: seen by operator 0s ago: " in (await live.ask("GET", "/v1/inbox?width=200", text=True)).text


async def test_one_agent_is_muted_and_unmuted_and_no_time_is_no_mute(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    for given, length in (("90s", "1m30s"), ("1m59s", "1m59s"), ("1s", "1s"), (None, "1h")):
        body = {"for": given} if given is not None else {}
        message = (await live.ask("POST", "/v1/agents/docs/mute", body)).json["message"]
        mute = daemon.state.mutes["docs"]
        until = Page(daemon.now().wall).start(mute.until_wall)
        assert message.startswith(f"docs is muted for {length}, until {until}: its alerts stand")
        assert message.endswith("See: phoenixctl status docs"), "which shows that it is muted"
    daemon.happen(TroubleSeen("docs", "brief", "it is old"))
    assert "told now: 1 that was held back" in (await live.ask("POST", "/v1/agents/docs/unmute")).json["message"]
    assert (await live.ask("POST", "/v1/agents/docs/unmute")).json["message"] == "docs is not muted"
    for short in ("0s", "500ms"):
        refused = await live.ask("POST", "/v1/agents/docs/mute", {"for": short})
        assert (refused.status, refused.json["remedy"]) == (400, "phoenixctl mute docs --for 1h")
    assert (await live.ask("POST", "/v1/agents/docs/mute", {"for": "8d"})).status == 400
    assert (await live.ask("POST", "/v1/agents/nobody/mute", {})).status == 404


async def test_an_acknowledged_alert_is_shown_apart(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    daemon.happen(TroubleSeen("docs", "brief", "it is old"))
    daemon.wait("shop-api", text="npm publish", held=True)
    number = daemon.state.agents["docs"].alerts[0].id
    assert (await live.ask("POST", f"/v1/alerts/{number}/ack")).exit == 0

    items = {item["agent"]: item for item in (await live.ask("GET", "/v1/inbox")).json["items"]}
    assert items["docs"]["acknowledged"]["by"] == "operator"
    assert items["shop-api"]["acknowledged"] is None
    assert (await row(live, "docs"))["alerts"][0]["acknowledged"]["by"] == "operator"  # type: ignore[index]
    lines = (await live.ask("GET", "/v1/inbox", text=True)).text.splitlines()
    assert lines[0] == "2 need you (1 acknowledged): 1 thing waits, oldest first."
    assert "1 acknowledged, and not over:" in lines
    (seen,) = [line for line in lines if "seen by operator " in line]
    assert "docs" in seen
    assert " ago: " in seen
    assert "; seen by operator " in (await live.ask("GET", f"/v1/inbox/{number}", text=True)).text
    text = (await live.ask("GET", "/v1/agents", text=True)).text
    assert [line.split()[1] for line in text.splitlines() if " acknowledged: " in line] == ["docs"]
    assert text.splitlines()[0].startswith("2 need you (1 acknowledged).")
    for word, status in (("999", 404), ("docs", 404)):
        assert (await live.ask("POST", f"/v1/alerts/{word}/ack")).status == status


async def test_what_is_to_be_typed_is_for_what_nobody_has_acknowledged(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    for name in ("shop-api", "docs"):
        daemon.happen(TroubleSeen(name, "brief", "it is old"))
    assert "explain shop-api" in (await live.ask("GET", "/v1/agents", text=True)).text
    number = daemon.state.agents["shop-api"].alerts[0].id
    assert (await live.ask("POST", f"/v1/alerts/{number}/ack")).exit == 0

    text = (await live.ask("GET", "/v1/agents", text=True)).text

    assert "explain docs" in text
    assert "explain shop-api" not in text


async def test_since_begins_where_an_operator_said_to_have_looked(live: Live, daemon: FakeDaemon) -> None:
    daemon.stands_at = FIXTURE_EPOCH
    fleet(daemon)
    daemon.pass_time(10)
    daemon.die("docs")
    seen = len(daemon.journal.rows)
    daemon.pass_time(10)
    daemon.happen(StopRequested("shop-web"))
    assert (await live.ask("GET", "/v1/since")).json["deaths"]["total"] == 1

    told = (await live.ask("POST", "/v1/looked", {"upto": str(seen)})).json
    assert told["row"] == seen
    since = (await live.ask("GET", "/v1/since")).json
    assert (since["deaths"]["total"], since["stopped"]) == (0, 1)
    cursor = (await live.ask("GET", "/v1/agents?after=")).json["cursor"]
    assert (await live.ask("POST", "/v1/looked", {"upto": cursor})).json["row"] == len(daemon.journal.rows)
    assert (await live.ask("GET", "/v1/since")).json["stopped"] == 0
    await live.ask("POST", "/v1/looked", {"upto": "1"})
    assert (await live.ask("GET", "/v1/since")).json["stopped"] == 0, "what was seen stays seen"
    for wrong in ("x", "99999", "-1"):
        assert (await live.ask("POST", "/v1/looked", {"upto": wrong})).status == 400


async def test_what_ended_is_told_with_who_ended_it_and_how(live: Live, daemon: FakeDaemon) -> None:
    daemon.stands_at = FIXTURE_EPOCH
    fleet(daemon)
    daemon.wait("shop-api", text="npm publish", held=True)
    daemon.happen(TroubleSeen("docs", "brief", "it is old"))
    daemon.pass_time(60)
    item = daemon.state.agents["shop-api"].item
    assert item is not None
    daemon.happen(AnswerRequested("shop-api", item.id, allow=True, by="uid 7"))
    daemon.happen(TroubleGone("docs", "brief", "it was written anew"))

    closed = (await live.ask("GET", "/v1/items?state=closed")).json["closed"]
    told = {one["id"]: one for one in closed}
    assert (told[item.id]["agent"], told[item.id]["kind"]) == ("shop-api", "permission")
    assert told[item.id]["opened"] is not None
    assert told[item.id]["how"]
    assert told[item.id]["by"] == "uid 7"
    assert (await live.ask("GET", "/v1/items")).json["items"] == []
    only = (await live.ask("GET", "/v1/items?state=closed&select=docs")).json["closed"]
    assert {one["agent"] for one in only} <= {"docs"}
    text = (await live.ask("GET", "/v1/items?state=closed", text=True)).text
    assert "shop-api" in text
    daemon.pass_time(8 * 86400)
    assert (await live.ask("GET", "/v1/items?state=closed")).json["closed"] == []


def stored(seq: int, event: str, reason: str = "", facts: tuple[Fact, ...] = (), **detail: object) -> StoredEntry:
    return StoredEntry(
        seq, Entry(seq, float(seq), "docs", 1, event, detail, reason=reason, weight="story", facts=facts)
    )


def test_an_alert_that_is_over_is_told_with_its_text_and_the_reason_of_the_row_before() -> None:
    rows = [
        stored(1, "trouble_seen", "brief: it is old"),
        stored(2, "alert_raised", kind="brief", text="it is old", alert=7),
        stored(3, "start_requested", "started by ada", (Ordered("start", "ada", moved=True),)),
        stored(4, "alert_over", kind="brief", text="it is older", alert=7),
        stored(5, "alert_over", kind="hung", text="it heals by itself", alert=8),
    ]
    whole, pages = Closing(), Closing()
    whole.hear(rows)
    for row in reversed(rows):
        pages.hear([row] if row.seq != 4 else rows[2:4])
    (one,) = whole.newest(10)
    assert (one.id, one.text, one.how, one.by, one.opened, one.closed) == (
        7,
        "it is older",
        "started by ada",
        "ada",
        2,
        4,
    )
    assert pages.newest(10) == [one]


def test_what_was_asked_is_told_in_the_words_of_its_hook_and_not_of_another_row_that_opened_it() -> None:
    """An operator's text may find a dialog on the screen: its own words are no question."""
    closing = Closing()
    closing.hear(
        [
            stored(1, "send_requested", "a dialog is open", (Asked(7, "dialog"),), text="go on"),
            stored(2, "hook_seen", "it asks", (Asked(8, "permission"),), text="npm publish"),
            stored(3, "tick", "both have left", (AskingOver(7, "dialog"), AskingOver(8, "permission"))),
        ]
    )
    assert {one.id: (one.text, one.opened) for one in closing.newest(10)} == {7: ("", 1), 8: ("npm publish", 2)}


@pytest.mark.parametrize("is_over", [True, False])
def test_an_end_that_was_taken_back_is_none(is_over: bool) -> None:
    rows = [
        stored(1, "hook_seen", "it asks", (Asked(7, "permission"),), text="npm publish"),
        stored(2, "screen_seen", "no longer waits", (AskingOver(7, "permission"),)),
        stored(3, "screen_seen", "it waits after all", (Asked(7, "permission"),)),
        *([stored(4, "hook_seen", "tool-end", (AskingOver(7, "permission"),))] if is_over else []),
    ]
    whole, pages = Closing(), Closing()
    whole.hear(rows)
    for row in reversed(rows):
        pages.hear([row])
    told = [(one.id, one.how, one.closed, one.opened, one.text) for one in whole.newest(10)]
    assert told == ([(7, "tool-end", 4, 1, "npm publish")] if is_over else [])
    assert pages.newest(10) == whole.newest(10)


@pytest.mark.parametrize(("taken", "by"), [(True, "ada"), (False, None)])
@pytest.mark.parametrize("is_open", [True, False])
def test_who_ended_it_is_told_by_the_verdict_on_the_answer_and_not_by_the_screen_that_was_first(
    taken: bool, by: str | None, is_open: bool
) -> None:
    answered = stored(2, "answer_requested", "ada answers #7", (Ordered("answer", "ada"),), item=7)
    over = stored(4 if is_open else 3, "screen_seen", "the dialog has left its screen", (AskingOver(7, "permission"),))
    judged = stored(3 if is_open else 4, "hold_answered", "the verdict", (AnswerJudged(7, taken),))
    rows = sorted([stored(1, "hook_seen", "", (Asked(7, "permission"),)), answered, over, judged], key=lambda r: r.seq)
    whole, pages = Closing(), Closing()
    whole.hear(rows)
    for row in reversed(rows):
        pages.hear([row])
    (one,) = whole.newest(10)
    assert (one.by, one.how) == (by, "the dialog has left its screen" if is_open else "the verdict")
    assert pages.newest(10) == [one]


def ask_and_answer(daemon: FakeDaemon, name: str) -> None:
    daemon.wait(name, text="npm publish", held=True)
    item = daemon.state.agents[name].item
    assert item is not None
    daemon.happen(AnswerRequested(name, item.id, allow=True, by="uid 7"))


async def test_what_ended_for_any_generation_is_told_under_the_name_of_its_seat(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("lead", kind="orchestrator")
    agent, seat = daemon.state.agents["lead"], daemon.state.seats["lead"]
    later = replace(agent, spec=replace(agent.spec, name="lead-g2", generation=2))
    daemon.state = replace(
        daemon.state, agents={"lead-g2": later}, seats={"lead": replace(seat, generation=2, fenced=1)}
    )
    ask_and_answer(daemon, "lead-g2")
    assert daemon.journal.rows[-1].entry.agent == "lead-g2"

    for path in ("/v1/items?state=closed", "/v1/items?state=closed&select=lead"):
        (one,) = (await live.ask("GET", path)).json["closed"]
        assert (one["agent"], one["kind"]) == ("lead", "permission")


async def test_what_ended_of_a_quiet_agent_is_found_behind_all_that_ended_of_a_busy_one(
    live: Live, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "PAGE_ROWS", 2)
    fleet(daemon)
    for name in ("docs", *["shop-api"] * 9):
        ask_and_answer(daemon, name)

    found = (await live.ask("GET", "/v1/items?state=closed&select=docs&limit=1")).json["closed"]
    assert [one["agent"] for one in found] == ["docs"]


async def test_selectors_choose_events_items_breakers_and_what_is_cleaned(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    daemon.declare("loops", kind="loop", harness="claude", prompt="next")
    for name in ("shop-api", "docs"):
        daemon.wait(name, text="make", held=True)

    events = (await live.ask("GET", "/v1/events?select=shop-*&weight=detail")).json["events"]
    assert {one["agent"] for one in events} == {"shop-api", "shop-web"}
    story = (await live.ask("GET", "/v1/events?select=shop-*")).json["events"]
    assert {one["weight"] for one in story} == {"story"}
    items = (await live.ask("GET", "/v1/inbox?select=shop-*")).json["items"]
    assert [item["agent"] for item in items] == ["shop-api"]
    assert [one["name"] for one in (await live.ask("GET", "/v1/breakers?select=k:loop")).json["agents"]] == ["loops"]
    assert "loops" in (await live.ask("GET", "/v1/breakers", text=True)).text
    cleaned = (await live.ask("POST", "/v1/cleanup", {"select": "shop-*", "dry_run": True})).json["agents"]
    assert [one["name"] for one in cleaned] == ["shop-api", "shop-web"]
    reset = await live.ask("POST", "/v1/act", {"verb": "breaker_reset", "select": "k:loop"})
    assert reset.exit == 0, reset.text
    assert "the breaker of loops is CLOSED" in reset.json["agents"][0]["message"]
    counted = (await live.ask("GET", "/v1/since?time=8h")).json["orders"]
    without = await live.ask("POST", "/v1/agents/docs/breaker/reset")
    assert (without.exit, without.json["message"]) == (
        0,
        "docs is no loop, and its turns are not judged (breaker.per_turn): there is no breaker to reset. "
        "See: phoenixctl status docs",
    )
    shown = await live.ask("GET", "/v1/agents/docs/breaker", text=True)
    assert (shown.exit, shown.text.partition(" (")[0]) == (0, "docs is no loop, and its turns are not judged")
    assert (await live.ask("GET", "/v1/since?time=8h")).json["orders"] == counted, "nothing was set"
    for path in (
        "/v1/events?select=x-*",
        "/v1/inbox?select=x-*",
        "/v1/breakers?select=x-*",
        "/v1/resonance?select=x-*",
    ):
        refused = await live.ask("GET", path)
        assert (refused.status, refused.json["detail"]) == (404, "x-*: nothing matches; 4 agents are there")
    assert (await live.ask("GET", "/v1/events?select=x-*", accept="text/event-stream")).status == 404


async def test_turns_and_samples_are_told_as_they_are_known(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    daemon.turned = [
        TurnRow(1.7e9, 1.7e9 + 41, "done", "Fix the login", 1, (("Bash", 2), ("Edit", 1)), 1, 45_000, 900),
        TurnRow(None, None, None, "", 0, (), 0, None, None),
    ]
    daemon.journal.samples = [
        UsageSample("docs", 1, "s", tokens, None, "model", FIXTURE_EPOCH + tokens) for tokens in (10, 20, 30)
    ]
    first, second = (await live.ask("GET", "/v1/agents/docs/turns")).json["turns"]
    assert (first["tools"], first["failed_calls"], first["how"]) == (
        [{"name": "Bash", "calls": 2}, {"name": "Edit", "calls": 1}], 1, "done",
    )  # fmt: skip
    assert (second["started"], second["tokens"], second["output"]) == (None, None, None), "unknown is never 0"
    text = (await live.ask("GET", "/v1/agents/docs/turns", text=True)).text
    assert "Fix the login" in text
    assert "Bash 2, Edit; 1 failed; 45000 tokens taken; 900 written" in text
    daemon.journal.samples.insert(2, UsageSample("docs", 1, "h1", 900, None, WORDING, FIXTURE_EPOCH + 25))
    told = (await live.ask("GET", "/v1/agents/docs/usage?limit=3")).json
    assert [one["tokens"] for one in told["samples"]] == [20, 30]
    assert [(one["handoff"], one["tokens"]) for one in told["spent"]] == [("h1", 900)], "no context was that full"
    assert (await live.ask("GET", "/v1/agents/docs/usage?since=soon")).status == 400


async def test_the_feed_tells_of_a_mute_its_end_and_an_acknowledgement(live: Live, daemon: FakeDaemon) -> None:
    daemon.stands_at = FIXTURE_EPOCH
    live.api.beat = 0.05
    fleet(daemon)
    model, heard = Model(), frames(live.socket)
    told: list[object] = []
    async for frame in heard:
        model.hear(frame)
        known = model.agents.get("docs", {})
        match len(told):
            case 0 if model.change >= 0:
                daemon.happen(MuteRequested("docs", 60.0))
                told.append("muted")
            case 1 if known.get("muted_until"):
                daemon.happen(TroubleSeen("docs", "brief", "it is old"))
                told.append("raised")
            case 2 if any(one["held"] for one in model.alerts.values()):
                (alert,) = model.alerts
                assert (await live.ask("POST", f"/v1/alerts/{alert}/ack")).exit == 0
                told.append("acknowledged")
            case 3 if any(one["acknowledged"] for one in model.alerts.values()):
                daemon.pass_time(61)
                told.append("over")
            case 4 if known.get("muted_until") is None:
                break
            case _:
                pass
    await heard.aclose()  # type: ignore[attr-defined]
    assert model.items


async def test_an_undone_start_is_no_undone_mute(live: Live, daemon: FakeDaemon) -> None:
    fleet(daemon)
    daemon.happen(StopRequested("docs", act="1"))
    daemon.happen(MuteRequested("docs", 60.0, act="2"))
    daemon.happen(StartRequested("docs"))
    assert (await live.ask("POST", "/v1/undo", {})).json["agents"][0]["message"] == "docs is not muted any more"


@pytest.mark.parametrize("fleet", FLEETS, ids=lambda fleet: fleet.__name__)
async def test_status_prompt_and_inbox_count_alike_before_and_after_an_ack(
    runtime: Path, fleet: Callable[[], FakeDaemon]
) -> None:
    daemon = fleet.__wrapped__()  # type: ignore[attr-defined]  # A fleet that is made once is others' as well.
    raised = [StandingAlert(900 + one, kind, "a text", 0.0) for one, kind in enumerate(("journal", "journal behind"))]
    daemon.state = replace(daemon.state, alerts=(*daemon.state.alerts, *raised))
    async with serving(daemon, runtime) as live:
        numbers = [one.id for one in inbox(daemon.state)][:2]
        for acknowledged in (None, 900, *numbers):
            if acknowledged is not None:
                assert (await live.ask("POST", f"/v1/alerts/{acknowledged}/ack")).exit == 0
            waits = (await live.ask("GET", "/v1/inbox")).json
            prompt = (await live.ask("GET", "/v1/prompt")).json["needs_you"]
            in_status = (await live.ask("GET", "/v1/agents", text=True)).text
            in_inbox = (await live.ask("GET", "/v1/inbox", text=True)).text

            said = in_status.partition(". ")[0]
            assert " ".join(in_inbox.split()).startswith(f"{said}: "), in_inbox
            assert said.startswith(f"{prompt} need")
            assert len({one["agent"] for one in waits["items"]}) + len(waits["alerts"]) == prompt
            apart = [one for one in (*waits["items"], *waits["alerts"]) if one["acknowledged"] is not None]
            if apart:
                assert f"{len(apart)} acknowledged, and not over:" in in_inbox
        refused = await live.ask("GET", "/v1/inbox/900")
        assert (refused.exit, refused.json["remedy"]) == (4, "phoenixctl doctor")
        assert "is of no agent" in refused.json["detail"]
