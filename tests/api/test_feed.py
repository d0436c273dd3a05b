"""The feed: a client that hears nothing but the stream knows what a fresh snapshot says, whatever breaks in between."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from phoenixd.api.feed import live as noticing
from phoenixd.api.feed import notes
from phoenixd.api.feed.following import Follower
from phoenixd.api.feed.ledger import subject_of
from phoenixd.api.feed.live import Feed
from phoenixd.api.openapi import STREAMED
from phoenixd.api.schemas import SCHEMAS
from phoenixd.core.behind.world import Finding
from phoenixd.core.events.evidence import KeysRead, ScreenSeen
from phoenixd.core.events.fleet import AlertAcknowledged, TerminalSeen
from phoenixd.core.events.orders import (
    AgentWithdrawn,
    AnswerRequested,
    MuteRequested,
    StartRequested,
    StopRequested,
    UnmuteRequested,
)
from phoenixd.core.events.runs import HoldAnswered
from phoenixd.core.selection import NAME, Selector, Subject, parse
from phoenixd.core.sight import Doing, Sight, Words
from tests.api.conftest import Live, serving
from tests.api.daemon import FIXTURE_EPOCH, FakeDaemon
from tests.api.feeding import Frame, Model, comparable, frame_of, frames

PATIENCE = 60.0


async def until(model: Model, heard: AsyncIterator[Frame], met: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        async for frame in heard:
            model.hear(frame)
            if met():
                return
    raise AssertionError("the stream ended")


async def same_as_a_snapshot(live: Live, model: Model, heard: AsyncIterator[Frame]) -> None:
    """Once the client stands where the snapshot stood, both say the same."""
    told = (await live.ask("GET", "/v1/stream")).json
    await until(model, heard, lambda: model.change >= told["as_of"]["change"] and model.boot == told["as_of"]["boot"])
    assert {name: comparable(row) for name, row in model.agents.items()} == {
        row["name"]: comparable(row) for row in told["agents"]
    }
    assert model.items == {item["id"]: item for item in told["items"]}
    assert model.alerts == {alert["id"]: alert for alert in told["alerts"]}
    assert model.is_as_top()


@pytest.fixture
async def quick(daemon: FakeDaemon, runtime: Path) -> AsyncIterator[Live]:
    async with serving(daemon, runtime, beat=0.05) as running:
        yield running


async def test_a_client_hears_each_change_of_a_row_an_item_and_an_alert(quick: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    model, heard = Model(), frames(quick.socket)
    await until(model, heard, lambda: "docs" in model.agents and model.change >= 0)
    assert model.agents["docs"]["state"] == "running"
    daemon.declare("asks")
    daemon.wait("asks", text="npm test", held=True)
    await until(model, heard, lambda: bool(model.items))
    (item,) = model.items.values()
    assert (item["agent"], item["title"]) == ("asks", "Bash npm test")
    daemon.happen(TerminalSeen(alive=False))
    await until(model, heard, lambda: bool(model.alerts))
    daemon.happen(AnswerRequested("asks", item["id"], allow=True, by="uid 7"))
    await until(model, heard, lambda: not model.items)
    assert model.closed[item["id"]][0] == "uid 7"
    assert model.closed[item["id"]][1]
    daemon.happen(AgentWithdrawn("docs"))
    await until(model, heard, lambda: "docs" not in model.agents)
    await same_as_a_snapshot(quick, model, heard)


@pytest.mark.parametrize(("taken", "by"), [(True, "uid 7"), (False, None)])
async def test_who_ended_an_item_that_its_screen_closed_is_told_again_with_the_verdict(
    quick: Live, daemon: FakeDaemon, taken: bool, by: str | None
) -> None:
    daemon.is_slow, daemon.stands_at = True, FIXTURE_EPOCH
    daemon.declare("asks", harness="claude")
    daemon.report("asks")
    daemon.wait("asks", text="npm test", held=True)
    model, heard = Model(), frames(quick.socket)
    await until(model, heard, lambda: bool(model.items))
    (item,) = model.items.values()
    daemon.pass_time(0.5)
    daemon.happen(ScreenSeen("asks", 1, "permission"))
    daemon.happen(AnswerRequested("asks", item["id"], allow=True, by="uid 7"))
    daemon.pass_time(0.5)
    daemon.happen(ScreenSeen("asks", 1, "working"))
    await until(model, heard, lambda: item["id"] in model.closed)
    daemon.happen(HoldAnswered("asks", 1, 1, taken, "" if taken else "the terminal was first"))
    word = "taken" if taken else "the terminal was first"
    await until(model, heard, lambda: word in model.closed[item["id"]][1])
    assert model.closed[item["id"]][0] == by
    await same_as_a_snapshot(quick, model, heard)


async def test_an_item_whose_dialog_is_drawn_late_comes_again_under_its_number(quick: Live, daemon: FakeDaemon) -> None:
    daemon.stands_at = FIXTURE_EPOCH
    daemon.declare("asks", harness="claude")
    daemon.report("asks")
    daemon.wait("asks", text="npm test", held=True)
    model, heard = Model(), frames(quick.socket)
    await until(model, heard, lambda: bool(model.items and model.alerts))
    before, alerts = dict(model.items), dict(model.alerts)
    daemon.happen(KeysRead("asks", 1))
    daemon.pass_time(0.3)
    daemon.happen(ScreenSeen("asks", 1, "working"))
    await until(model, heard, lambda: not model.items and not model.alerts)
    daemon.happen(ScreenSeen("asks", 1, "permission"))
    await until(model, heard, lambda: bool(model.items and model.alerts))
    assert (model.items.keys(), model.alerts.keys()) == (before.keys(), alerts.keys())
    assert not model.top.closed
    await same_as_a_snapshot(quick, model, heard)


async def test_who_answers_an_item_that_came_again_between_two_looks_is_told_as_who_ended_it(
    quick: Live, daemon: FakeDaemon
) -> None:
    daemon.is_slow, daemon.stands_at = True, FIXTURE_EPOCH
    daemon.declare("asks", harness="claude")
    daemon.report("asks")
    daemon.wait("asks", text="npm test", held=True)
    model, heard = Model(), frames(quick.socket)
    await until(model, heard, lambda: bool(model.items))
    (item,) = model.items.values()
    daemon.happen(KeysRead("asks", 1))
    daemon.pass_time(0.3)
    daemon.happen(ScreenSeen("asks", 1, "working"))
    daemon.happen(ScreenSeen("asks", 1, "permission"))
    daemon.happen(AnswerRequested("asks", item["id"], allow=True, by="uid 7"))
    daemon.happen(HoldAnswered("asks", 1, 1, taken=True))
    await until(model, heard, lambda: item["id"] in model.closed)
    assert model.closed[item["id"]][0] == "uid 7"


async def test_an_answer_that_came_too_late_ended_no_item(quick: Live, daemon: FakeDaemon) -> None:
    daemon.terminal_first = True
    daemon.declare("asks", harness="claude")
    daemon.report("asks")
    daemon.wait("asks", text="npm test", held=True)
    model, heard = Model(), frames(quick.socket)
    await until(model, heard, lambda: bool(model.items))
    (item,) = model.items.values()
    daemon.happen(AnswerRequested("asks", item["id"], allow=True, by="uid 7"))
    daemon.happen(ScreenSeen("asks", 1, "working"))
    await until(model, heard, lambda: item["id"] in model.closed)
    assert model.closed[item["id"]] == (None, "no longer waits: the dialog has left its screen")


async def test_doing_and_said_come_without_an_id_and_without_a_row_of_the_journal(
    quick: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    model, heard = Model(), frames(quick.socket)
    await until(model, heard, lambda: model.change >= 0)
    daemon.hook("docs", "tool-start", tool="Bash")
    rows, incarnation = len(daemon.journal.rows), daemon.state.agents["docs"].incarnation
    came: list[Frame] = []
    for number in range(20):
        doing = Doing("Bash", f"make {number}", 0.0)
        daemon.see("docs", Sight(incarnation, doing=doing, said=Words(f"now {number}", 1.0), has_calls=True))
        async with asyncio.timeout(PATIENCE):
            async for frame in heard:
                model.hear(frame)
                came.append(frame)
                if frame.event == "agent" and (frame.data["said"] or {}).get("text") == f"now {number}":
                    break
    assert [frame.id for frame in came if frame.event == "agent"][1:] == [None] * 19
    assert len(daemon.journal.rows) == rows
    assert model.agents["docs"]["said"]["text"] == "now 19"


async def test_every_frame_is_as_its_schema_says(quick: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.declare("asks")
    daemon.wait("asks", text="npm test", held=True)
    daemon.happen(TerminalSeen(alive=False))
    seen: dict[str, Frame] = {}
    wanted = set(STREAMED["follow_feed"])
    last: int | None = 999_999
    heard = frames(quick.socket, last_id=last)
    async with asyncio.timeout(PATIENCE):
        async for frame in heard:
            if frame.event not in seen:
                seen[frame.event] = frame
            if frame.event == "beat":
                daemon.hook("asks", "tool-end", tool="Bash")
                daemon.happen(AgentWithdrawn("docs"))
            if set(seen) == wanted:
                break
    for event, frame in seen.items():
        schema = {"$ref": f"#/components/schemas/{STREAMED['follow_feed'][event]}", "components": {"schemas": SCHEMAS}}
        jsonschema.validate(frame.data, schema, format_checker=jsonschema.FormatChecker())


async def test_a_selector_leaves_one_agent_after_the_other(quick: Live, daemon: FakeDaemon) -> None:
    daemon.declare("shop-a")
    daemon.declare("shop-b")
    daemon.declare("docs")
    model, heard = Model(), frames(quick.socket, "/v1/stream?select=shop-*%20s:running")
    await until(model, heard, lambda: model.change >= 0)
    assert set(model.agents) == {"shop-a", "shop-b"}
    daemon.happen(StopRequested("shop-a"))
    await until(model, heard, lambda: "shop-a" not in model.agents)
    daemon.happen(StartRequested("shop-a"))
    await until(model, heard, lambda: "shop-a" in model.agents)
    assert "docs" not in model.agents
    refused = await quick.ask("GET", "/v1/stream?select=x:1", accept="text/event-stream")
    assert (refused.status, refused.json["code"]) == (400, "invalid")


async def test_what_an_agent_asks_comes_with_it_when_it_is_chosen_and_goes_with_it(daemon: FakeDaemon) -> None:
    """A face that shows whom a person has to help lacks neither the question nor how it came about."""
    daemon.declare("asks")
    daemon.declare("docs")
    feed, model = Feed(daemon), Model()
    found = parse("needs:you")
    assert isinstance(found, Selector)
    follower = Follower(feed, daemon, found)
    await told(follower, model, await follower.begin(None), 10_000)
    assert (model.agents, model.items, model.notes) == ({}, {}, [])
    daemon.wait("asks", text="npm test", held=True)
    frames_of = [frame_of(text) for text in await follower._next()]
    for frame in frames_of:
        assert frame is not None
        model.hear(frame)
    (item,) = model.items.values()
    assert (set(model.agents), item["title"]) == ({"asks"}, "Bash npm test")
    last = [row.seq for row in daemon.journal.rows if row.entry.agent == "asks" and row.entry.weight == "story"][-1]
    assert last in model.notes, "the row that tells of the question"
    daemon.see("docs", Sight(1, said=Words("hello", 1.0)))
    daemon.happen(StopRequested("docs"))
    assert await follower._next() == []
    daemon.happen(AnswerRequested("asks", item["id"], allow=True, by="uid 7"))
    await told(follower, model, await follower._next(), 10_000)
    assert (model.agents, model.items, model.alerts) == ({}, {}, {})


async def test_a_foreign_cursor_with_a_selector_is_told_so_and_all_that_is_chosen(daemon: FakeDaemon) -> None:
    for name in ("asks", "docs"):
        daemon.declare(name)
    daemon.wait("asks", text="npm test", held=True)
    found, model = parse("needs:you"), Model()
    assert isinstance(found, Selector)
    follower = Follower(Feed(daemon), daemon, found)
    await told(follower, model, await follower.begin(10_000), 10_000)
    assert (model.resyncs, set(model.agents), len(model.items)) == (1, {"asks"}, 1)


async def test_a_seats_rows_are_told_to_whom_chose_the_seat_whatever_generation_wrote_them() -> None:
    daemon = standing()
    daemon.declare("lead", kind="orchestrator")
    agent, seat = daemon.state.agents["lead"], daemon.state.seats["lead"]
    later = replace(agent, spec=replace(agent.spec, name="lead-g2", generation=2))
    seats = {"lead": replace(seat, generation=2, fenced=1)}
    daemon.state = replace(daemon.state, agents={"lead-g2": later}, seats=seats)
    feed, model = Feed(daemon), Model()
    found = parse("lead")
    assert isinstance(found, Selector)
    follower = Follower(feed, daemon, found)
    await told(follower, model, await follower.begin(None), 10_000)
    daemon.happen(StopRequested("lead-g2"))
    await told(follower, model, await follower._next(), 10_000)
    assert daemon.journal.rows[-1].entry.agent == "lead-g2"
    assert model.notes[-1] == daemon.journal.rows[-1].seq


async def test_what_a_lost_handoff_left_over_has_a_row_that_goes_with_it() -> None:
    daemon = standing()
    daemon.declare("lead", kind="orchestrator")
    agent, seat = daemon.state.agents["lead"], daemon.state.seats["lead"]
    found = Finding("adopt", "nothing", "none", "it runs", "lost", "end")
    over = replace(agent, spec=replace(agent.spec, name="lead-g2", generation=2), found=found)
    daemon.state = replace(daemon.state, agents={"lead": agent, "lead-g2": over}, seats={"lead": seat})
    feed = Feed(daemon)
    await feed.begin()
    assert feed.ledger.keys("agent") == {"lead", "lead-g2"}
    daemon.state = replace(daemon.state, agents={"lead": agent, "lead-g2": replace(over, found=None, removing=True)})
    feed.seen("lead-g2")
    feed.refresh()
    assert feed.ledger.keys("agent") == {"lead"}


async def test_a_row_of_the_story_is_read_and_written_down_once_for_all_followers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    daemon = standing()
    for number in range(5):
        daemon.declare(f"a{number}")
    feed = Feed(daemon)
    followers = [Follower(feed, daemon) for _ in range(50)]
    for follower in followers:
        await follower.begin(None)
    made: list[int] = []
    monkeypatch.setattr(notes.representation, "event", lambda row: made.append(row.seq) or {"id": row.seq})
    for _ in range(3):
        for number in range(5):
            name = f"a{number}"
            up = daemon.state.agents[name].run is not None
            daemon.happen(StopRequested(name) if up else StartRequested(name))
        texts = [[text for text in await follower._next() if "event: note" in text] for follower in followers]
        assert all(one == texts[0] and one for one in texts)
    assert made == sorted(set(made))


@pytest.mark.parametrize(
    ("followers", "told", "gathers"),
    [
        (1, -1.0, 0.0),
        (1, 0.0, noticing.LEAST_GATHER),
        (50, -1.0, 49 * noticing.EACH_GATHER),
        (1000, 0.0, noticing.MOST_GATHER),
    ],
)
async def test_who_follows_alone_is_told_at_once_and_many_let_news_gather(
    followers: int, told: float, gathers: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = standing()
    feed = Feed(daemon)
    await feed.begin()
    feed.followers = followers
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    daemon.declare("a")
    loop = asyncio.get_running_loop()
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    assert await feed.news(0, 0, 60.0, looked=now + told)

    assert slept == ([pytest.approx(gathers)] if gathers else [])


async def test_who_is_far_behind_has_the_rows_read_for_him_alone() -> None:
    daemon = standing()
    daemon.declare("a")
    kept = notes.Notes(daemon.journal, str)
    story = [row.seq for row in daemon.journal.rows if row.entry.weight == "story"]
    newest = len(daemon.journal.rows)
    assert await kept.between(newest, newest) == []
    assert [note.row for note in await kept.between(0, newest)] == story
    for _ in range(40):
        up = daemon.state.agents["a"].run is not None
        daemon.happen(StopRequested("a") if up else StartRequested("a"))
    newest = len(daemon.journal.rows)
    story = [row.seq for row in daemon.journal.rows if row.entry.weight == "story"]
    for after in (0, 1, 3, newest - 4, newest):
        assert [note.row for note in await kept.between(after, newest)] == [one for one in story if one > after]
    assert [note.row for note in await kept.between(2, 9)] == [one for one in story if 2 < one <= 9]


async def test_rows_of_a_long_time_in_which_nobody_followed_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "FAR", 10)
    daemon = standing()
    daemon.declare("a")
    kept = notes.Notes(daemon.journal, str)
    assert await kept.between(2, 2) == []
    for _ in range(40):
        up = daemon.state.agents["a"].run is not None
        daemon.happen(StopRequested("a") if up else StartRequested("a"))
    newest = len(daemon.journal.rows)
    story = [row.seq for row in daemon.journal.rows if row.entry.weight == "story"]
    read, began = daemon.journal.read, []
    monkeypatch.setattr(daemon.journal, "read", lambda **how: began.append(how["after"]) or read(**how))

    assert [note.row for note in await kept.between(newest - 4, newest)] == [one for one in story if one > newest - 4]
    assert began
    assert min(began) >= newest - 4
    assert [note.row for note in await kept.between(0, newest)] == story, "who asks for them is told all the same"


async def test_who_comes_back_is_told_what_is_new_and_a_foreign_cursor_is_told_so(
    quick: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    model, heard = Model(), frames(quick.socket)
    await until(model, heard, lambda: model.change >= 0)
    daemon.declare("more")
    await until(model, heard, lambda: "more" in model.agents and len(model.notes) > 0)
    await heard.aclose()  # type: ignore[attr-defined]
    told = list(model.notes)
    daemon.declare("later")
    again = frames(quick.socket, last_id=model.last_id)
    await until(model, again, lambda: "later" in model.agents and model.notes[-1] == len(daemon.journal.rows))
    assert model.resyncs == 0
    assert model.notes[: len(told)] == told
    assert model.notes == sorted(set(model.notes))
    other = Model()
    await until(other, frames(quick.socket, last_id=10_000), lambda: bool(other.resyncs) and other.change >= 0)
    assert set(other.agents) == set(model.agents)
    wrong = await quick.ask("GET", "/v1/stream", accept="text/event-stream", last_event_id="x")
    assert wrong.status == 400


async def test_an_answer_that_changed_nothing_is_not_sent_again(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    first = await live.ask("GET", "/v1/agents")
    again = await live.ask("GET", "/v1/agents", if_none_match=first.headers["etag"])
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
    daemon.happen(StopRequested("docs"))
    after = await live.ask("GET", "/v1/agents", if_none_match=first.headers["etag"])
    assert after.status == 200
    assert after.headers["etag"] != first.headers["etag"]


async def test_a_cursor_brings_only_what_changed(live: Live, daemon: FakeDaemon) -> None:
    for name in ("a", "b", "c"):
        daemon.declare(name)
    first = (await live.ask("GET", "/v1/agents?after=")).json
    assert (first["whole"], [row["name"] for row in first["agents"]]) == (True, ["a", "b", "c"])
    daemon.happen(StopRequested("b"))
    daemon.happen(AgentWithdrawn("c"))
    second = (await live.ask("GET", f"/v1/agents?after={first['cursor']}")).json
    assert (second["whole"], [row["name"] for row in second["agents"]], second["gone"]) == (False, ["b"], ["c"])
    third = (await live.ask("GET", f"/v1/agents?after={second['cursor']}")).json
    assert (third["agents"], third["gone"], third["as_of"]) == ([], [], second["as_of"])
    other = (await live.ask("GET", f"/v1/agents?after={'0' * 16}-1-1")).json
    assert other["whole"]
    assert (await live.ask("GET", "/v1/agents?after=nonsense")).status == 400
    chosen = (await live.ask("GET", "/v1/agents?select=a")).json
    assert [row["name"] for row in chosen["agents"]] == ["a"]
    nobody = await live.ask("GET", "/v1/agents?select=p:none")
    assert (nobody.status, nobody.json["detail"]) == (404, "p:none: nothing matches; 2 agents are there")


def standing() -> FakeDaemon:
    daemon = FakeDaemon()
    daemon.stands_at = FIXTURE_EPOCH
    return daemon


def any_step(daemon: FakeDaemon, chance: random.Random) -> None:
    """Something happens to one of a few agents."""
    name = f"a{chance.randrange(6)}"
    agent = daemon.state.agents.get(name)
    assert daemon.stands_at is not None
    if agent is None:
        daemon.declare(name, harness="claude", start=chance.random() < 0.8)
        return
    match chance.randrange(13):
        case 0:
            daemon.happen(AgentWithdrawn(name))
        case 1:
            daemon.happen(StopRequested(name))
        case 2:
            daemon.happen(StartRequested(name))
        case 3 if agent.run is not None:
            daemon.die(name, chance.choice((0, 1, 137)))
        case 4 | 5 if agent.run is not None:
            daemon.hook(name, "prompt-submit", text="go")
        case 6 if agent.run is not None:
            daemon.wait(name, text=f"npm {chance.randrange(3)}", held=True)
        case 7 if agent.run is not None:
            daemon.hook(name, chance.choice(("tool-start", "tool-end", "stop")), tool="Bash")
        case 10:
            daemon.happen(MuteRequested(name, chance.choice((1.0, 60.0))))
        case 11:
            daemon.happen(UnmuteRequested(name))
        case 12 if agent.alerts:
            daemon.happen(AlertAcknowledged(agent.alerts[0].id))
        case 8:
            doing = Doing("Bash", f"make {chance.randrange(9)}", daemon.stands_at)
            daemon.see(name, Sight(agent.incarnation, doing=doing, has_calls=True))
        case _:
            daemon.pass_time(chance.choice((0.5, 5.0, 400.0)))


async def told(follower: Follower, model: Model, texts: list[str], most: int) -> bool:
    """Have the client hear `most` of these frames; whether that were all."""
    heard = [frame for text in texts if (frame := frame_of(text)) is not None]
    for frame in heard[:most]:
        model.hear(frame)
    return len(heard) <= most


@pytest.mark.parametrize("seed", range(2))
async def test_kill_the_daemon_or_the_link_between_any_two_frames(seed: int) -> None:
    """Issue 15: the client's model equals a fresh snapshot. The long run is tests/proof."""
    await play(seed, steps=250)


@pytest.mark.parametrize("select", ["needs:you", "s:running", "a1 a2", "a* !a3", "s:idle,waiting,quarantined a[0-3]"])
async def test_a_client_that_chose_agents_knows_all_of_these_and_nothing_of_others(select: str) -> None:
    await play(7, steps=200, select=select)


async def play(seed: int, steps: int, select: str = "") -> tuple[int, int]:
    """Play `steps` steps; returns how often the link was cut, and how often the daemon died of it."""
    cuts = deaths = 0
    chance, daemon, model = random.Random(seed), standing(), Model()
    found = parse(select)
    assert isinstance(found, Selector)
    selector = found if select else None
    feed = Feed(daemon)
    follower = Follower(feed, daemon, selector)
    texts = await follower.begin(None)
    for _ in range(steps):
        for _ in range(chance.randrange(1, 4)):
            any_step(daemon, chance)
            if chance.random() < 0.4:
                feed.refresh()  # As another follower would.
        whole = await told(follower, model, texts, chance.choice((10_000, 10_000, 0, 1, 2, 3, 5)))
        if not whole:
            # The link is cut in the middle; in half of the cases because the daemon died.
            cuts += 1
            if chance.random() < 0.5:
                deaths += 1
                daemon.attendants.clear()
                feed = Feed(daemon)
            follower = Follower(feed, daemon, selector)
            texts = await follower.begin(model.last_id)
            continue
        texts = await follower._next()
        if chance.random() < 0.3:
            texts.append(follower.beat())
        if chance.random() < 0.2:
            await told(follower, model, texts, 10_000)
            feed.refresh(everyone=True)
            await told(follower, model, await follower._next(), 10_000)
            texts = []
            require_equal(daemon, model, selector)
    await told(follower, model, [*texts, *await follower._next()], 10_000)
    rows = [row for row in daemon.journal.rows if row.entry.weight == "story"]
    if selector is not None:
        rows = [row for row in rows if row.entry.agent and selector.takes(Subject(row.entry.agent, "", "", ()))]
    wanted = [row.seq for row in rows if row.seq >= model.notes[0]]
    if selector is None or all(term.key == NAME for term in selector.terms):
        assert wanted == sorted(set(model.notes))
    return cuts, deaths


def require_equal(daemon: FakeDaemon, model: Model, selector: Selector | None = None) -> None:
    fresh = Feed(replace(daemon, attendants=[]))
    fresh.refresh(everyone=True)
    if selector is not None:
        chosen = {row["name"]: row for row in fresh.ledger.bodies("agent") if selector.takes(subject_of(row))}
        assert {name: comparable(row) for name, row in model.agents.items()} == {
            name: comparable(row) for name, row in chosen.items()
        }
        for kind, known in (("item", model.items), ("alert", model.alerts)):
            bodies = fresh.ledger.bodies(kind)  # type: ignore[arg-type]
            assert known == {one["id"]: one for one in bodies if one["agent"] in chosen}
        return
    assert {name: comparable(row) for name, row in model.agents.items()} == {
        row["name"]: comparable(row) for row in fresh.ledger.bodies("agent")
    }
    assert model.items == {item["id"]: item for item in fresh.ledger.bodies("item")}
    assert model.alerts == {alert["id"]: alert for alert in fresh.ledger.bodies("alert")}
    assert model.is_as_top()


def test_where_nobody_follows_a_turn_costs_a_name() -> None:
    """Nothing is projected, encoded or compared until a client asks."""
    daemon = standing()
    daemon.declare("docs")
    feed = Feed(daemon)
    for _ in range(50):
        daemon.hook("docs", "prompt-submit", text="go")
        daemon.see("docs", Sight(1))
    assert (feed.ledger.number, feed._dirty) == (0, {"docs"})


async def test_a_slow_follower_gets_each_thing_once_and_costs_no_memory() -> None:
    daemon = standing()
    daemon.declare("docs")
    feed = Feed(daemon)
    follower = Follower(feed, daemon)
    await follower.begin(None)
    for number in range(500):
        daemon.see("docs", Sight(1, said=Words(f"word {number}", 1.0)))
        feed.refresh()
    told_now: list[Any] = [frame_of(text) for text in await follower._next()]
    assert [frame.data["said"]["text"] for frame in told_now if frame and frame.event == "agent"] == ["word 499"]
    assert len(feed.ledger._changes) == 1


async def test_a_frame_with_an_id_comes_after_everything_of_an_older_row() -> None:
    """So a client that has that id, and lost the link then, lacks nothing older."""
    daemon = standing()
    for name in ("a", "b"):
        daemon.declare(name)
    feed = Feed(daemon)
    follower = Follower(feed, daemon)
    await follower.begin(None)
    for name in ("a", "b", "a", "b"):
        daemon.happen(StopRequested(name) if daemon.state.agents[name].run is not None else StartRequested(name))
        feed.refresh()
    heard = [frame for text in await follower._next() if (frame := frame_of(text)) is not None]
    ids = [frame.id for frame in heard if frame.id is not None]
    assert ids == sorted(ids)
    assert [frame.data["name"] for frame in heard if frame.event == "agent"] == ["a", "b"]
    first = next(place for place, frame in enumerate(heard) if frame.event == "agent")
    assert any(frame.event == "note" for frame in heard[first:])


async def test_events_are_paged_forwards_and_backwards_without_a_gap(live: Live, daemon: FakeDaemon) -> None:
    for name in ("a", "b", "c"):
        daemon.declare(name)
        daemon.happen(StopRequested(name))
    everything = [one["id"] for one in (await live.ask("GET", "/v1/events?all=true")).json["events"]]
    forwards: list[int] = []
    while page := (await live.ask("GET", f"/v1/events?all=true&limit=2&after={forwards[-1] if forwards else 0}")).json:
        if not page["events"]:
            assert page["next"] == everything[-1]
            break
        forwards += [one["id"] for one in page["events"]]
    backwards: list[int] = []
    while found := (
        await live.ask("GET", f"/v1/events?all=true&limit=2&before={backwards[0] if backwards else 10**6}")
    ).json["events"]:
        backwards = [*(one["id"] for one in found), *backwards]
    assert forwards == backwards == everything == sorted(everything)
