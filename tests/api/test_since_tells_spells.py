"""`since` tells what began and ended, one line for a cause: limits, quarantines, handoffs, reboots, a full disk."""

from __future__ import annotations

from itertools import takewhile
from typing import Any, NoReturn

import pytest

from phoenixd.api.spells import MOST, Spell, Spells
from phoenixd.core.facts import (
    BeganParking,
    EndedParking,
    Fact,
    Ordered,
    ProgressMade,
    PutInQuarantine,
    RunProductive,
)
from phoenixd.core.limits.state import ParkingKind
from phoenixd.ports.journal import Entry
from tests.api.nights.playing import Told, told
from tests.api.nights.reading import Read, Step, wall_of

NOW = "08:14"


async def night(*steps: tuple[Any, ...], **agents: dict[str, Any]) -> Told:
    """From 18:00 to 08:14."""
    played = [Step(wall_of(at, NOW), verb, name, *more) for at, verb, name, *more in steps]
    return await told(Read("18:00", wall_of(NOW, NOW), wall_of("18:00", NOW), agents, played, []))


def line(page: str, label: str) -> str:
    """The line of a label with what goes on below it; empty where there is none."""
    lines = page.splitlines()
    at = next((number for number, one in enumerate(lines) if one.startswith(f"  {label} ")), None)
    if at is None:
        return ""
    below = (one.strip() for one in takewhile(lambda one: one.startswith(" " * 17), lines[at + 1 :]))
    return " ".join((lines[at].strip(), *below))


async def test_f_proc_26_g60_a_limit_of_an_account_is_one_line_however_many_wait_for_it() -> None:
    account = {"account": "work"}
    found = await night(
        ("01:00", "limit", "", {"resets": "04:00", "names": ["api", "web"]}),
        ("04:10", "works", "api"),
        ("04:10", "works", "web"),
        ("06:40", "limit", "", {"resets": "09:30", "names": ["api"]}),
        api=account, web=account,
    )  # fmt: skip

    (over, goes_on) = found.since["limits"]
    assert (over["of"], over["agents"], over["parked"]) == ("account work", ["api", "web"], [])
    assert (goes_on["to"], goes_on["parked"]) == (None, ["api", "web"])
    assert goes_on["due"].startswith("2026-11-29T09:30")
    said = line(found.page, "limits")
    assert said.startswith(
        "limits       2 account work 01:00 to 04:00, 2 agents parked (api, web), all back; account work"
    )
    assert "since 06:40, 2 agents parked (api, web), goes on by itself at 09:30" in said
    assert found.since["deaths"]["total"] == 0


@pytest.mark.parametrize("ends", [EndedParking(), Ordered("remove", "ben")])
def test_g60_of_an_agent_that_went_on_or_was_removed_nobody_says_that_it_waits_for_its_limit(ends: Fact) -> None:
    spells = Spells()
    for at, fact in ((1.0, BeganParking(ParkingKind.LIMIT, 9.0)), (2.0, ends)):
        spells.hear(Entry(at, at, "a", 1, "tick", {}, facts=(fact,)), "tick")

    (one,) = spells.of("limit")
    assert (one.of, one.begins, one.until, one.waiting) == ("a", 1.0, 2.0, set())


def test_g60_who_goes_on_is_found_without_a_look_at_all_that_stands() -> None:
    """100,000 rows beside 1,000 waits took seconds, for each row looked through all of them."""
    spells = Spells()

    class Standing(dict[tuple[str, str], Spell]):
        def values(self) -> NoReturn:
            raise AssertionError("all that stands is looked through for one row")

    spells._standing = Standing()
    for name in ("a", "b"):
        facts = (BeganParking(ParkingKind.LIMIT, 9.0), BeganParking(ParkingKind.OVERLOAD, 9.0))
        spells.hear(Entry(1.0, 1.0, name, 1, "tick", {}, facts=facts), "tick")
    for at, name in ((2.0, "a"), (3.0, "b")):
        spells.hear(Entry(at, at, name, 1, "tick", {}, facts=(EndedParking(),)), "tick")

    # An overload has no owner but its service, so one spell is both agents'.
    assert [(one.of, one.until) for one in spells.known] == [("a", 2.0), ("", 3.0), ("b", 3.0)]
    assert spells._waits == {}


def test_g60_what_goes_on_is_told_however_much_began_and_ended_since() -> None:
    spells = Spells()
    spells.hear(Entry(0.0, 0.0, "a", 1, "tick", {}, facts=(PutInQuarantine("it crashed"),)), "tick")
    for at in range(1, 8 * MOST):
        event = "alertraised" if at % 2 else "alertover"
        spells.hear(Entry(at, at, None, 0, event, {"kind": "slow disk"}), event)

    (one,) = spells.of("quarantine")
    assert (one.of, one.until) == ("a", None)
    assert MOST <= len(spells.of("alert")) <= 2 * MOST + 2
    assert spells.of("alert")[-1].until is None


async def test_f_proc_8_a_quarantine_that_is_over_is_told_with_who_ended_it_and_what_came_of_that() -> None:
    found = await night(
        ("22:41", "dies", "docs", {"times": 5, "code": 1}),
        ("23:10", "start", "docs", {"by": "ben"}),
        ("23:25", "works", "docs"),
        docs={},
    )

    said = line(found.page, "quarantine")
    assert said == "quarantine   1 docs 28 Nov 22:41 to 23:10, started by ben, productive since"
    assert found.since["waiting"] == []


@pytest.mark.parametrize(("verb", "done"), [("stop", "stopped"), ("restart", "restarted"), ("start", "started")])
async def test_f_proc_8_a_quarantine_is_told_with_the_order_that_ended_it(verb: str, done: str) -> None:
    """Whoever stopped a loop in quarantine read that he had started it."""
    found = await night(
        ("22:41", "dies", "docs", {"times": 5, "code": 1}), ("23:10", verb, "docs", {"by": "ben"}), docs={}
    )

    assert line(found.page, "quarantine") == f"quarantine   1 docs 28 Nov 22:41 to 23:10, {done} by ben"


async def test_f_proc_8_quarantines_of_one_agent_that_ended_alike_are_one_entry_with_their_number() -> None:
    """A loop that was tried again by itself gave 21 entries on one line."""
    again = [(f"23:{at + more}", verb, "docs", given) for at in (10, 20, 30) for more, verb, given in (
        (0, "dies", {"times": 5, "code": 1}), (5, "start", {"by": "ben"}),
    )]  # fmt: skip
    found = await night(*again, docs={})

    assert len(found.since["quarantines"]) == 3
    said = line(found.page, "quarantine")
    assert said == "quarantine   3 docs 3 times 28 Nov 23:10 to 23:35, started by ben"


@pytest.mark.parametrize(
    ("by_breaker", "fact", "is_told"),
    [
        (True, RunProductive(2), False),
        (True, ProgressMade(2), True),
        (False, RunProductive(2), True),
        (False, ProgressMade(2), False),
    ],
)
def test_x8_progress_is_what_the_breaker_calls_progress(by_breaker: bool, fact: Fact, is_told: bool) -> None:
    """An iteration that ended with 0 and changed nothing is no word against its breaker."""
    spells = Spells()
    spells.hear(Entry(1.0, 1.0, "a", 1, "tick", {}, "quarantined", facts=(PutInQuarantine("x", by_breaker),)), "tick")
    spells.hear(Entry(2.0, 2.0, "a", 2, "tick", {}, "starting"), "tick")
    spells.hear(Entry(3.0, 3.0, "a", 2, "tick", {}, "running", facts=(fact,)), "tick")

    (one,) = spells.of("quarantine")
    assert (one.until, one.productive) == (2.0, is_told)


async def test_f_proc_8_a_quarantine_that_stands_is_told_as_what_waits_and_no_more() -> None:
    found = await night(("22:41", "dies", "docs", {"times": 5, "code": 1}), docs={})

    assert [one["kind"] for one in found.since["waiting"]] == ["quarantined"]
    assert [one["to"] for one in found.since["quarantines"]] == [None]
    assert line(found.page, "quarantine") == ""


async def test_f_proc_5_who_left_an_agent_at_its_terminal_is_told_as_the_one_who_ended_it() -> None:
    found = await night(("23:15", "left", "notes"), notes={})

    assert found.since["finished_agents"] == [{"agent": "notes", "at": "2026-11-28T23:15:00.000Z", "by_person": True}]
    assert line(found.page, "finished").endswith("with exit 0 notes 28 Nov 23:15 by a person at its terminal")
    assert found.since["deaths"]["total"] == 0


async def test_f_sy_5_a_reboot_is_told_as_one_cause_with_how_many_runs_it_ended_and_are_back() -> None:
    found = await night(("23:15", "left", "notes"), ("04:00", "reboot", ""), notes={}, one={}, two={})

    (reboot,) = found.since["reboots"]
    assert (reboot["ended"], reboot["back"]) == (["one", "two"], ["one", "two"])
    said = line(found.page, "reboots")
    assert said == "reboots      1 the host was booted anew by 04:00; 2 runs ended with it, all back"


async def test_f_sy_1_what_ran_on_without_a_daemon_is_counted_and_the_healed_are_named() -> None:
    found = await night(
        ("02:00", "daemon dies", ""),
        ("02:10", "dies", "web", {"signal": 9}),
        ("02:40", "daemon begins", ""),
        ("03:00", "works", "web"),
        web={}, one={}, two={},
    )  # fmt: skip

    assert found.since["ran_on"] == ["one", "two"]
    assert line(found.page, "no daemon").endswith("2 agents ran on, and were adopted")
    assert "healed 1 (web): resumed 1" in line(found.page, "deaths")
    assert found.since["deaths"]["healed_agents"] == ["web"]


async def test_f_sy_1_a_run_that_the_newest_daemon_started_did_not_run_on_though_it_is_looked_at_again() -> None:
    """`watchdog` has every run adopted once more, and then all of them had lived through the time without a daemon."""
    found = await night(
        ("01:00", "stop", "late"),
        ("02:00", "daemon dies", ""),
        ("02:40", "daemon begins", ""),
        ("03:00", "dies", "one", {"signal": 9}),
        ("03:01", "start", "late"),
        ("04:00", "link back", "one"),
        ("04:00", "link back", "two"),
        ("04:00", "link back", "late"),
        one={}, two={}, late={},
    )  # fmt: skip

    assert found.since["ran_on"] == ["one", "two"]


async def test_f_st_3_a_full_disk_is_told_while_it_lasts_as_what_waits_and_afterwards_with_its_time() -> None:
    stands = await night(("23:00", "degraded", ""), etl={})
    over = await night(("23:00", "degraded", ""), ("23:40", "well again", ""), etl={})

    assert [one["kind"] for one in stands.since["alerts"]] == ["degraded"]
    assert line(stands.page, "waiting") == "waiting      1 phoenixd 9h14m (degraded)"
    assert line(stands.page, "alerts") == "alerts       1 degraded since 28 Nov 23:00"
    assert over.since["alerts"] == []
    said = "alerts       1 degraded 28 Nov 23:00 to 23:40, over, and nothing was started meanwhile"
    assert line(over.page, "alerts") == said


async def test_f_ho_9_a_handoff_is_told_by_its_seat_and_its_predecessors_end_is_no_death() -> None:
    leads = {"kind": "orchestrator"}
    found = await night(
        ("02:00", "handoff", "planner", {"acks": True}),
        ("03:00", "handoff", "docs", {"acks": False}),
        planner=leads, docs=leads,
    )  # fmt: skip

    passed = [(one["name"], one["generation"], one["done"]) for one in found.since["handoffs"]]
    assert passed[0] == ("planner", 2, True)
    assert set(passed[1:]) == {("docs", 1, False)}
    said = line(found.page, "handoffs")
    assert "planner 02:00 to 02:00, confirmed by generation 2; docs 03:00 to 03:10, rolled back" in said
    assert {one["agent"] for one in found.since["waiting"]} == {"docs"}
    assert found.since["deaths"]["total"] == 0


async def test_promise_2_10_of_an_agent_that_cannot_be_heard_nobody_says_that_it_is_idle_or_alive() -> None:
    """Its alert made it one that needs a person, and then it was `idle` and alive."""
    found = await night(("07:30", "link lost", "web"), web={})

    assert found.status_page.startswith("1 needs you. 0 of 1 alive, 0 healing, 1 unknown.")
    (row,) = (one for one in found.status_page.splitlines() if one.startswith("! web"))
    assert row.split()[3] == "deaf"
    assert [one["agent"] for one in found.since["waiting"]] == ["web"]


async def test_promise_7_behind_the_words_of_who_asks_nothing_stands_on_its_line() -> None:
    words = "make ok), #9 other 2h (quarantined"
    found = await night(
        ("05:10", "asks", "shop", {"tool": "Bash", "text": words}),
        ("05:20", "asks", "till", {"tool": "Bash", "text": "npm publish"}),
        shop={}, till={},
    )  # fmt: skip

    told_of = [one.strip() for one in found.page.splitlines() if "(permission)" in one]
    assert [one.endswith(end) for one, end in zip(told_of, (words, "npm publish"), strict=True)] == [True, True]
    assert "answer: phoenixctl answer NUMBER" in found.page
