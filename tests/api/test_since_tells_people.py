"""`since` tells by name what people ordered and answered, and the end of the tmux server as one cause."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.api.by_hand import MOST, ByHand
from phoenixd.api.chronicle import Chronicle
from phoenixd.api.history import Digest
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.facts import (
    AnswerJudged,
    Asked,
    AskingOver,
    Fact,
    Meaning,
    Ordered,
    RunBegan,
    RunEnded,
    RunProductive,
)
from phoenixd.core.terminal.state import LATEST
from phoenixd.ports.journal import Entry, StoredEntry
from tests.api.daemon import MemoryJournal
from tests.api.test_since_tells_spells import line, night

MANY = [f"agent{number:02}" for number in range(12)]


def row(at: float, agent: str | None, event: str, *facts: Fact, run: int = 1, **more: Any) -> Entry:
    state = more.pop("state", None)
    return Entry(at, at, agent, run, event, more, state, facts=facts)


def lost(at: float, agent: str, run: int = 1, *, lived: float = 3600.0, meaning: Meaning = "death") -> Entry:
    """A shim tells that its terminal has gone."""
    end = RunEnded(run, meaning, "restart", "terminal_lost", None, 9, lived)
    return row(at, agent, "agent_exited", end, run=run, state="backing_off")


def digest(*entries: Entry) -> Digest:
    found = Digest(0.0)
    found.feed(StoredEntry(number, entry) for number, entry in enumerate(entries, 1))
    return found


# Who was stopped, started and removed.


async def test_p54_who_was_stopped_by_whom_and_when_is_told_by_name() -> None:
    found = await night(("19:30", "stop", "infra", {"by": "anna"}), infra={})

    assert found.since["ordered"] == [
        {"agent": "infra", "verb": "stop", "by": "anna", "at": "2026-11-28T19:30:00.000Z"}
    ]
    assert line(found.page, "orders").endswith("stopped 1 infra stopped by anna 28 Nov 19:30")


async def test_f_sy_20_what_one_person_orders_of_many_is_one_line() -> None:
    stops = [("01:00", "stop", name, {"by": "anna"}) for name in MANY]
    found = await night(*stops, ("02:00", "start", MANY[0], {"by": "ben"}), **{name: {} for name in MANY})

    below = line(found.page, "orders")
    assert below.endswith("12 agents stopped by anna 01:00 agent00 started by ben 02:00")
    assert len(found.since["ordered"]) == 13


async def test_f_sy_20_what_one_person_orders_again_and_again_is_counted() -> None:
    again = [(f"0{hour}:00", "restart", "etl", {"by": "anna"}) for hour in range(1, 4)]
    found = await night(*again, ("04:00", "remove", "etl", {"by": "ben"}), etl={})

    said = line(found.page, "orders")
    assert said.endswith("etl restarted by anna 3 times, 01:00 to 03:00 etl removed by ben 04:00")


async def test_f_sy_20_a_start_that_ends_a_quarantine_is_told_there_and_nowhere_else() -> None:
    found = await night(
        ("22:41", "dies", "docs", {"times": 5, "code": 1}), ("23:10", "start", "docs", {"by": "ben"}), docs={}
    )

    assert "started by ben" in line(found.page, "quarantine")
    assert line(found.page, "orders").endswith("started 1")


async def test_s21_orders_of_more_people_than_a_page_holds_are_the_newest_and_a_number() -> None:
    stops = [(f"01:{number:02}", "stop", name, {"by": f"person{number}"}) for number, name in enumerate(MANY)]
    found = await night(*stops, **{name: {} for name in MANY})

    said = line(found.page, "orders")
    assert "7 more before agent07 stopped by person7 01:07" in said
    assert max(len(one) for one in found.page.splitlines()) <= 100


def test_s21_of_orders_and_questions_the_newest_are_kept() -> None:
    heard = ByHand()
    for number in range(MOST + 5):
        heard.hear("a", row(number, "a", "stop_requested", Ordered("stop", "anna", moved=True)))
        heard.hear("a", row(number, "a", "hook_seen", Asked(number + 1, "permission")))

    assert (len(heard.orders), len(heard.asked)) == (MOST, MOST)
    assert (heard.orders[0].at, heard.asked[0].id) == (5.0, 6)


@pytest.mark.parametrize("order", [Ordered("stop", "anna"), Ordered("restart", "anna", taken=False)])
def test_p54_an_order_that_was_refused_or_changed_nothing_is_not_told(order: Ordered) -> None:
    assert digest(row(1, "a", "stop_requested", order)).by_hand.orders == []


def test_f_ho_9_an_order_to_the_holder_of_a_seat_is_told_by_the_name_of_the_seat() -> None:
    found = digest(row(1, "planner-g2", "stop_requested", Ordered("stop", "anna", moved=True)))

    assert [one.agent for one in found.by_hand.orders] == ["planner"]


# The tmux server.


async def test_f_tmux_2_the_end_of_the_server_is_one_line_and_no_death_of_anybody() -> None:
    found = await night(
        ("03:02", "terminal ends", ""), *(("03:05", "works", name) for name in MANY), **{name: {} for name in MANY}
    )

    (end,) = found.since["terminal_ends"]
    assert (end["fell"], end["back"]) == (MANY, MANY)
    assert end["back_by"] == "2026-11-29T03:02:00.000Z"
    said = line(found.page, "tmux")
    assert said == "tmux         1 the server ended 03:02: 12 agents fell with it, all back by 03:02:00"
    assert found.since["deaths"]["total"] == 0
    assert "no deaths" in found.status_page


async def test_f_tmux_2_who_is_not_back_since_the_server_ended_is_named() -> None:
    found = await night(
        ("03:01", "loses its directory", "etl", {"path": "/data/etl"}), ("03:02", "terminal ends", ""), etl={}, web={}
    )

    said = line(found.page, "tmux")
    assert said == "tmux         1 the server ended 03:02: 2 agents fell with it, 1 back by 03:02:00, not back: etl"
    assert [one["agent"] for one in found.since["waiting"]] == ["etl"]


async def test_f_tmux_2_who_comes_back_and_dies_at_once_again_and_again_is_not_back() -> None:
    found = await night(
        ("03:02", "terminal ends", ""), ("03:03", "dies", "etl", {"times": 5, "code": 1}), etl={}, web={}
    )

    assert line(found.page, "tmux").endswith("1 back by 03:02:00, not back: etl")
    assert found.since["deaths"]["total"] == 5


async def test_f_tmux_2_who_was_productive_since_was_back_whatever_comes_later() -> None:
    found = await night(
        ("03:02", "terminal ends", ""), ("03:05", "works", "etl"), ("03:06", "dies", "etl", {"times": 5, "code": 1}),
        etl={}, web={},
    )  # fmt: skip

    assert line(found.page, "tmux").endswith("2 agents fell with it, all back by 03:02:00")


@pytest.mark.parametrize("first", ["the server", "the shims"])
def test_f_tmux_2_whichever_tells_first_the_shims_or_the_daemon_no_run_is_counted_as_a_death(first: str) -> None:
    ends, shims = row(10.0, None, "terminal_ended"), [lost(10.0, "a"), lost(10.0, "b")]
    found = digest(*([ends, *shims] if first == "the server" else [*shims, ends]))

    (end,) = found.terminals.told
    assert (found.deaths, found.unhealed, end.fell) == (0, 0, {"a": 1, "b": 1})


def test_f_sy_20_a_server_that_ended_and_does_not_answer_yet_is_no_second_outage() -> None:
    seen = [
        row(at, None, "terminal_seen", **({"alive": True} if alive else {}))
        for at, alive in ((11, 0), (12, 1), (13, 0))
    ]
    raised = row(10.0, None, "alert_raised", kind="terminal")

    assert digest(row(10.0, None, "terminal_ended"), raised, seen[0]).outages == 0
    assert digest(*seen).outages == 2


@pytest.mark.parametrize("at", [10.0 - LATEST, 10.0 + LATEST])
def test_f_tmux_2_a_pane_that_is_lost_at_another_time_is_a_death(at: float) -> None:
    rows = sorted((row(10.0, None, "terminal_ended"), lost(at, "a")), key=lambda one: one.wall)
    found = digest(*rows)

    assert (found.deaths, found.terminals.told) == (1, [])


def test_f_tmux_2_who_lost_its_pane_and_is_back_before_the_server_ends_has_died() -> None:
    began = row(9.5, "a", "agent_started", run=2)
    found = digest(lost(9.0, "a"), began, row(10.0, None, "terminal_ended"), lost(10.0, "a", 2))

    assert found.deaths == 1
    assert [one.fell for one in found.terminals.told] == [{"a": 2}]


def test_f_tmux_2_who_was_started_since_the_server_ended_and_loses_its_pane_has_died() -> None:
    """It falls with a server once."""
    again = row(11.0, "a", "agent_exited", RunBegan(2, Mode.RESUME, PromptKind.NONE), run=2, state="starting")
    began = row(11.5, "a", "agent_started", run=2)
    found = digest(row(10.0, None, "terminal_ended"), lost(10.0, "a"), again, began, lost(12.0, "a", 2, lived=0.5))

    (end,) = found.terminals.told
    assert (found.deaths, end.fell, end.missing) == (1, {"a": 1}, ["a"])


async def test_f_tmux_2_of_one_agent_alone_what_fell_with_the_server_is_no_death_either() -> None:
    """The row that tells of the server is of no agent."""
    journal = MemoryJournal()
    for entry in (row(10.0, None, "terminal_ended"), lost(10.0, "a"), lost(90.0, "a", 2), lost(10.0, "b")):
        journal.append(entry)

    found = await Chronicle(journal).digest_of(0.0, ["a"])

    assert (found.deaths, found.unhealed_agents) == (1, {"a": 1})


def test_f_tmux_2_a_death_before_the_server_ended_is_healed_by_the_run_after_it() -> None:
    died = row(1.0, "a", "agent_exited", RunEnded(1, "death", "restart", "exit", 1), state="backing_off")
    productive = row(20.0, "a", "hook_seen", RunProductive(3), run=3, state="running")
    found = digest(died, row(10.0, None, "terminal_ended"), lost(10.0, "a", 2), productive)

    assert (found.deaths, found.healed, found.repeated) == (1, 1, 0)


def test_p54_a_run_that_a_person_had_ended_does_not_fall_with_the_server() -> None:
    found = digest(row(10.0, None, "terminal_ended"), lost(10.0, "a", meaning="asked"))

    assert found.terminals.told == []


# Questions.


async def test_f_ask_a_question_that_somebody_answered_is_told_with_how_long_it_waited_and_by_whom() -> None:
    found = await night(
        ("05:10", "asks", "shop", {"tool": "Bash", "text": "make"}),
        ("05:40", "answer", "shop", {"allow": True, "by": "ben"}),
        shop={},
    )

    (asked,) = found.since["questions"]
    assert (asked["agent"], asked["kind"], asked["answered_by"], asked["verdict"]) == (
        "shop",
        "permission",
        "ben",
        "allow",
    )
    assert (asked["from"], asked["to"]) == ("2026-11-29T05:10:00.000Z", "2026-11-29T05:40:00.000Z")
    said = line(found.page, "asked")
    assert said == "asked        1 shop waited 30m for a permission (05:10 to 05:40), answered by ben: allow"


async def test_f_ask_a_question_that_ended_with_its_run_is_told_as_never_answered() -> None:
    found = await night(
        ("05:10", "asks", "shop", {"tool": "Bash", "text": "make"}),
        ("05:30", "dies", "shop", {"signal": 9}),
        ("05:45", "works", "shop"),
        shop={},
    )

    (asked,) = found.since["questions"]
    assert (asked["answered_by"], asked["ended_with_run"]) == (None, True)
    said = line(found.page, "asked")
    assert said == "asked        1 shop waited 20m for a permission (05:10 to 05:30), never answered: its run ended"
    assert found.since["waiting"] == []
    assert found.status["agents"][0]["activity"] == "idle"


async def test_f_sy_20_questions_of_one_agent_that_one_person_answers_alike_are_one_line() -> None:
    steps = [
        step
        for hour in (1, 2, 3)
        for step in (
            (f"0{hour}:00", "asks", "shop", {"tool": "Bash", "text": "make"}),
            (f"0{hour}:10", "answer", "shop", {"allow": True, "by": "ben"}),
        )
    ]
    found = await night(*steps, shop={})

    said = line(found.page, "asked")
    assert said == "asked        3 shop waited 3 times for a permission (01:00 to 03:10), answered by ben: allow"


def test_f_ask_an_answer_that_came_too_late_is_no_answer() -> None:
    answer = row(2.0, "a", "answer_requested", Ordered("answer", "ben", moved=True), item=1, allow=True)
    over = row(3.0, "a", "hold_answered", AnswerJudged(1, taken=False), AskingOver(1, "permission"))
    (asked,) = digest(row(1.0, "a", "hook_seen", Asked(1, "permission")), answer, over).by_hand.asked

    assert (asked.by, asked.until, asked.with_run) == ("", 3.0, False)


def test_f_ask_of_a_question_from_before_the_stretch_its_answer_is_told_all_the_same() -> None:
    answer = row(2.0, "a", "answer_requested", Ordered("answer", "ben", moved=True), item=1, words=["deny", "no"])
    over = row(3.0, "a", "hold_answered", AskingOver(1, "permission"))
    (asked,) = digest(answer, over).by_hand.asked

    assert (asked.begins, asked.by, asked.verdict) == (None, "ben", "deny")


def test_promise_7_words_of_an_answer_are_no_part_of_the_sum() -> None:
    asks = row(1.0, "a", "hook_seen", Asked(1, "question"))
    answer = row(2.0, "a", "answer_requested", Ordered("answer", "ben", moved=True), item=1, words=["the blue one"])
    (asked,) = digest(asks, answer, row(3.0, "a", "hold_answered", AskingOver(1, "question"))).by_hand.asked

    assert (asked.by, asked.verdict) == ("ben", None)
