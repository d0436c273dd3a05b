"""What `since`, `status` and top say of deaths, starts and orders is what is true now, and counts never shrink."""

from __future__ import annotations

import re
from typing import Any

import pytest

from phoenixd.core.events.fleet import EpochBegun
from phoenixd.core.events.orders import (
    AgentWithdrawn,
    BreakerCorrupt,
    BreakerReset,
    MuteRequested,
    RestartRequested,
    StartRequested,
    StopRequested,
    UndoRequested,
    UnmuteRequested,
)
from phoenixd.core.rules import RestartRules
from tests.api.conftest import Live
from tests.api.daemon import FIXTURE_EPOCH, FakeDaemon

CLASSES = ("healed", "repeated", "running_again", "healing", "quarantined", "returned", "released", "ended")


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = FakeDaemon(stands_at=FIXTURE_EPOCH)
    daemon.declare("docs")
    return daemon


def give_up(daemon: FakeDaemon, name: str = "docs") -> None:
    for _ in range(5):
        daemon.die(name)
        daemon.pass_time(30)
    assert daemon.state.agents[name].state_name == "quarantined"


async def told(live: Live) -> tuple[dict[str, Any], str, str]:
    """The classes of deaths that are not empty, the page, and the line of status."""
    deaths = (await live.ask("GET", "/v1/since?time=8h")).json["deaths"]
    assert deaths["total"] == sum(deaths[one] for one in CLASSES)
    page = (await live.ask("GET", "/v1/since?time=8h", text=True)).text
    status = (await live.ask("GET", "/v1/agents", text=True)).text
    return {one: deaths[one] for one in CLASSES if deaths[one]}, page, status.splitlines()[1]


async def test_nobody_is_in_quarantine_whose_agent_was_stopped(live: Live, daemon: FakeDaemon) -> None:
    """A newcomer read "9 quarantined" when nobody was in quarantine any more."""
    give_up(daemon)
    assert (await told(live))[0] == {"quarantined": 5}
    daemon.happen(StopRequested("docs"))

    classes, page, line = await told(live)

    assert classes == {"ended": 5}
    assert "not healed: docs 5 (stopped)\n" in page
    assert "5 stopped (docs)." in line
    assert "quarantined" not in page + line


async def test_deaths_before_somebody_began_the_agent_anew_are_no_part_of_its_next_story(
    live: Live, daemon: FakeDaemon
) -> None:
    """Neither does phoenixd claim as healed what a person has started, nor is it quarantined or stopped any more."""
    give_up(daemon)
    daemon.happen(StartRequested("docs"))
    classes, page, line = await told(live)
    assert classes == {"released": 5}
    assert "not healed: 5 of agents that were down and started since\n" in page
    assert "5 were down, started since." in line

    daemon.produce("docs")
    assert (await told(live))[0] == {"released": 5}
    daemon.pass_time(600)
    daemon.die("docs")
    daemon.produce("docs")
    assert (await told(live))[0] == {"healed": 1, "released": 5}


async def test_a_death_after_which_the_agent_ran_again_is_never_of_one_that_was_down(
    live: Live, daemon: FakeDaemon
) -> None:
    """A newcomer killed an agent, saw it back within a second, and read "not healed", and later "1 were down"."""
    daemon.die("docs")
    daemon.pass_time(30)
    classes, page, line = await told(live)
    assert classes == {"running_again": 1}
    assert "deaths       1 of 1 agent, which is back\n" in page
    assert "  back and running, not yet productive: docs 1 (running)\n" in page
    assert "not healed" not in page

    daemon.happen(StopRequested("docs"))
    daemon.happen(StartRequested("docs"))

    classes, page, line = await told(live)
    assert classes == {"returned": 1}
    assert "deaths       1 of 1 agent, which is back\n" in page
    assert "  came back, and were stopped and started since: 1\n" in page
    assert "1 death: 1 came back, stopped and started since." in line


async def test_a_removal_that_was_taken_back_leaves_who_was_back_one_who_was_back(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.die("docs")
    daemon.pass_time(30)
    await live.ask("DELETE", "/v1/agents/docs")
    await live.ask("POST", "/v1/undo", {})

    daemon.happen(StartRequested("docs"))

    assert (await told(live))[0] == {"returned": 1}


async def test_one_death_before_an_agent_was_back_was_down(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("fragile", restart=RestartRules(max_crashes=1))
    daemon.die("fragile")
    assert (await told(live))[0] == {"quarantined": 1}
    daemon.happen(StartRequested("fragile"))

    classes, _, line = await told(live)

    assert classes == {"released": 1}
    assert "1 death: 1 was down, started since." in line


async def test_stopped_is_said_of_no_agent_that_runs(live: Live, daemon: FakeDaemon) -> None:
    daemon.die("docs")
    daemon.happen(StopRequested("docs", act="a1"))
    assert (await told(live))[0] == {"ended": 1}
    daemon.happen(StartRequested("docs"))
    assert (await told(live))[0] == {"returned": 1}


async def test_a_quarantine_that_an_undo_brought_back_is_one(live: Live, daemon: FakeDaemon) -> None:
    give_up(daemon)
    daemon.happen(StopRequested("docs", act="a1"))
    daemon.happen(UndoRequested("docs", "a1"))

    assert (await told(live))[0] == {"quarantined": 5}


async def test_deaths_of_a_removed_agent_are_said_to_be_of_one(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("other")
    give_up(daemon)
    daemon.happen(AgentWithdrawn("docs"))

    classes, page, line = await told(live)

    assert classes == {"ended": 5}
    assert "5 of agents that were removed since\n" in page
    assert "5 removed since." in line


async def test_a_healed_death_stays_healed_whatever_becomes_of_its_agent(live: Live, daemon: FakeDaemon) -> None:
    daemon.die("docs")
    daemon.produce("docs")
    for happens in (StopRequested("docs"), StartRequested("docs"), AgentWithdrawn("docs")):
        daemon.happen(happens)
        daemon.declare("other")
        assert (await told(live))[0] == {"healed": 1}


async def test_failed_starts_are_counted_for_good_and_who_is_not_up_so_far_is_told(
    live: Live, daemon: FakeDaemon
) -> None:
    """A newcomer read fewer failed starts the second time, although nobody had looked in between."""
    daemon.fails_with = 127
    daemon.declare("noexec")
    daemon.declare("gone")
    daemon.fails_with = None
    daemon.happen(StartRequested("noexec"))
    daemon.happen(AgentWithdrawn("gone"))

    found = (await live.ask("GET", "/v1/since?time=8h")).json
    _, page, line = await told(live)

    assert (found["failed_starts"], found["unstarted"]) == (2, [])
    assert "  starts       2 failed: gone 1, noexec 1\n" in page
    assert "could not be started" not in line, "that one runs, and the other one is gone"


async def test_every_order_of_a_person_is_counted(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("shop")
    for order in (
        RestartRequested("docs"), StopRequested("docs", act="a1"), UndoRequested("docs", "a1"),
        MuteRequested("docs", 60.0), UnmuteRequested("docs"), BreakerReset("docs"), AgentWithdrawn("shop"),
        StopRequested("docs"), StopRequested("docs"), StartRequested("docs"), StartRequested("docs"),
        BreakerCorrupt("docs", "no JSON"),
    ):  # fmt: skip
        assert daemon.happen(order) is None

    found = (await live.ask("GET", "/v1/since?time=8h")).json

    assert {verb: count for verb, count in found["orders"].items() if count} == {
        "declare": 2, "restart": 1, "stop": 2, "undo": 1, "mute": 1, "unmute": 1, "breaker": 1, "remove": 1, "start": 1,
    }  # fmt: skip
    assert (found["started"], found["stopped"], found["sent"]) == (1, 2, 0)
    _, page, _ = await told(live)
    said = " ".join(page[page.index("  orders") :].split())
    assert said.startswith(
        "orders declared 2, started 1, stopped 2, restarted 1, removed 1, undone 1, muted 1, unmuted 1, breakers set 1"
    )


async def test_of_several_deaths_it_is_said_how_many_agents_died_and_how_many_of_them_are_back(
    live: Live, daemon: FakeDaemon
) -> None:
    """A newcomer read "deaths 7 back and running", and took it that seven were back."""
    for name in ("api", "etl", "web"):
        daemon.declare(name)
    give_up(daemon)

    async def head() -> tuple[str, list[str], list[str]]:
        _, page, _ = await told(live)
        deaths = (await live.ask("GET", "/v1/since?time=8h")).json["deaths"]
        (line,) = [one for one in page.splitlines() if one.startswith("  deaths ")]
        return line, deaths["died"], deaths["back"]

    assert await head() == ("  deaths       5 of 1 agent, not back", ["docs"], [])
    for name in ("api", "api", "web"):
        daemon.die(name)
        daemon.pass_time(30)
    daemon.produce("web")
    assert await head() == ("  deaths       8 of 3 agents: 2 back, 1 not back", ["api", "docs", "web"], ["api", "web"])
    daemon.happen(StopRequested("web"))
    daemon.happen(StartRequested("docs"))
    line, died, back = await head()
    assert line == "  deaths       8 of 3 agents: 2 back, 1 started by somebody since"
    assert (died, back) == (["api", "docs", "web"], ["api", "web"])
    await live.ask("DELETE", "/v1/agents/api")
    await live.ask("DELETE", "/v1/agents/web")
    assert (await head())[0] == "  deaths       8 of 3 agents: 1 started by somebody since, 2 not back"


async def test_several_times_without_a_daemon_are_counted_in_words(live: Live, daemon: FakeDaemon) -> None:
    """A newcomer read "unwatched 3", and asked: 3 what?"""
    daemon.stands_at = FIXTURE_EPOCH
    for epoch in (1, 2, 3):
        daemon.happen(EpochBegun(epoch, 0, daemon.now().wall - 20, "SIGTERM"))
    page = " ".join((await told(live))[1].split())
    assert "no daemon 3 times, the last time: nobody watched for 20 s: the daemon was down" in page


@pytest.mark.parametrize(("begins", "until"), [(0.6, 5.1), (0.1, 4.9), (0.4, 63.2), (0.9, 700.2), (0.0, 4000.0)])
async def test_one_time_without_a_daemon_has_one_length_in_since_and_in_events(
    live: Live, daemon: FakeDaemon, begins: float, until: float
) -> None:
    """The row of the daemon that began said 5 s, `since` 4 s, of which the clock times told neither."""
    daemon.stands_at = FIXTURE_EPOCH + until
    daemon.happen(EpochBegun(1, 0, FIXTURE_EPOCH + begins, "SIGTERM"))

    rows = (await live.ask("GET", "/v1/events")).json["events"]
    page = " ".join((await told(live))[1].split())
    (length,) = re.findall(r"nobody watched for (.+?): the one before", "\n".join(row["reason"] for row in rows))
    assert f"nobody watched for {length}: the daemon was down from " in page
    if until < 60:
        from_, to = re.findall(r"\d\d:\d\d:(\d\d)", page.partition("down from ")[2])[:2]
        assert length == f"{int(to) - int(from_)} s"


@pytest.mark.parametrize(("ended", "told"), [("", "killed, or died, after"), ("SIGTERM", "ended by SIGTERM")])
async def test_a_time_without_a_daemon_is_said(live: Live, daemon: FakeDaemon, ended: str, told: str) -> None:
    """A daemon was killed, and the next one said: complete, no gap."""
    daemon.stands_at = FIXTURE_EPOCH
    daemon.happen(EpochBegun(1, 0, daemon.now().wall - 20, ended))

    page = " ".join((await live.ask("GET", "/v1/since?time=8h", text=True)).text.split())
    (one,) = (await live.ask("GET", "/v1/since?time=8h")).json["unwatched"]

    assert "no daemon 1 time: nobody watched for 20 s" in page
    assert told in page
    assert one["ended_by"] == (ended or None)
    assert one["from"] < one["to"]


async def test_deaths_of_an_agent_whose_removal_was_taken_back_are_of_one_that_is_there(
    live: Live, daemon: FakeDaemon
) -> None:
    give_up(daemon)
    await live.ask("DELETE", "/v1/agents/docs")
    assert (await told(live))[0] == {"ended": 5}
    assert "5 of agents that were removed since" in (await told(live))[1]

    undone = await live.ask("POST", "/v1/undo", {})

    assert undone.exit == 0, undone.text
    classes, page, line = await told(live)
    assert classes == {"quarantined": 5}, "it is in quarantine again"
    assert "not healed: docs 5 (quarantined)\n" in page
    assert "removed since" not in page + line


async def test_a_pipe_is_told_of_every_agent_that_is_not_healed_and_a_terminal_how_many_more(
    live: Live, daemon: FakeDaemon
) -> None:
    for name in ("a", "b", "c", "d", "e"):
        daemon.declare(name)
        daemon.die(name)
    daemon.die("docs")

    narrow = (await live.ask("GET", "/v1/since?time=8h&width=80", text=True)).text
    wide = (await live.ask("GET", "/v1/since?time=8h&width=1000", text=True)).text

    assert "and 1 more agent (phoenixctl status)" in " ".join(narrow.split())
    assert "e 1 (running)" not in narrow
    assert "not yet productive: a 1 (running)" in wide
    assert "docs 1 (running), e 1 (running)" in wide
    assert "more agent" not in wide


async def test_a_time_that_is_yet_to_come_is_refused_with_the_time_that_it_is(live: Live, daemon: FakeDaemon) -> None:
    answer = await live.ask("GET", "/v1/since?time=2030-01-01&zone=UTC")
    assert (answer.status, answer.exit) == (400, 2)
    assert answer.json["detail"] == "2030-01-01 is yet to come: it is 2026-11-20 18:40:00", answer.text
