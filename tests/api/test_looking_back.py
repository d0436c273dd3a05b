"""What happened: deaths and what became of them, times as people write them, and when somebody last looked."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from signal import SIGINT
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phoenixd.api.chronicle import SITTING, Chronicle
from phoenixd.api.event_names import event_key
from phoenixd.api.history import Digest, Stretch
from phoenixd.api.pages import status as text
from phoenixd.api.pages.history import since
from phoenixd.api.pages.layout import Page
from phoenixd.api.times import ago, parse_past, rfc3339
from phoenixd.core import projection
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.durations import parse_duration
from phoenixd.core.events.fleet import TerminalSeen
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, RestartRequested, StartRequested, StopRequested
from phoenixd.core.events.runs import AgentVanished
from phoenixd.core.facts import RunBegan
from tests.api.conftest import Live
from tests.api.daemon import FIXTURE_EPOCH, FakeDaemon

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()


@pytest.fixture
def daemon() -> FakeDaemon:
    daemon = FakeDaemon(stands_at=FIXTURE_EPOCH)
    daemon.declare("docs")
    return daemon


async def digest(daemon: FakeDaemon) -> Digest:
    return await Chronicle(daemon.journal).digest(0.0)


async def test_a_death_that_was_healed(daemon: FakeDaemon) -> None:
    daemon.pass_time(600)
    daemon.die("docs")
    assert (await digest(daemon)).healed == 0, "that it runs again is no proof of anything"
    daemon.pass_time(60)
    daemon.produce("docs")
    daemon.produce("docs")

    found = await digest(daemon)

    assert (found.deaths, found.healed, found.unhealed, found.resumed, found.slowest) == (1, 1, 0, 1, 60.0)


async def test_a_death_that_is_being_healed(daemon: FakeDaemon) -> None:
    daemon.die("docs")

    found = await digest(daemon)

    assert (found.deaths, found.healed, found.unhealed) == (1, 0, 1)
    assert found.unhealed_agents == {"docs": 1}


async def test_the_inner_restarts_of_a_crash_loop_are_one_story_that_is_not_healed(daemon: FakeDaemon) -> None:
    for _ in range(5):
        daemon.die("docs")
        daemon.pass_time(30)

    found = await digest(daemon)

    assert daemon.state.agents["docs"].state.name == "quarantined"
    assert (found.deaths, found.healed, found.quarantined, found.quarantined_agents) == (5, 0, 5, {"docs": 5})


async def test_a_story_of_several_deaths_is_healed_once(daemon: FakeDaemon) -> None:
    for _ in range(3):
        daemon.die("docs")
        daemon.pass_time(30)
    daemon.produce("docs")
    daemon.pass_time(600)
    daemon.die("docs")

    found = await digest(daemon)

    assert (found.deaths, found.healed, found.repeated, found.unhealed) == (4, 1, 2, 1)


async def test_a_run_whose_work_is_known_after_its_death_heals_what_came_before_and_not_itself(
    daemon: FakeDaemon,
) -> None:
    daemon.pass_time(600)
    daemon.die("docs")
    daemon.pass_time(600)
    daemon.die("docs")
    daemon.produce("docs", incarnation=2)
    found = await digest(daemon)

    assert (found.deaths, found.healed, found.resumed, found.unhealed) == (2, 1, 1, 1)


async def test_the_mode_of_a_healing_run_is_a_fact_and_not_a_word(daemon: FakeDaemon) -> None:
    """A death whose reason speaks of a resume, and whose next run is fresh; and the other way round."""
    daemon.pass_time(600)
    daemon.die("docs")
    daemon.produce("docs")
    daemon.pass_time(2)
    daemon.die("docs")
    daemon.pass_time(30)
    daemon.die("docs")
    daemon.pass_time(30)
    run = daemon.state.agents["docs"].run
    assert run is not None
    daemon.produce("docs")

    found = await digest(daemon)

    modes = [fact.mode for row in daemon.journal.rows for fact in row.entry.facts if isinstance(fact, RunBegan)]
    assert modes[1] is Mode.RESUME
    assert (found.resumed + found.fresh, found.healed) == (2, 2)
    assert found.fresh == (run.mode is Mode.FRESH)


async def test_no_count_hangs_on_the_words_of_a_reason(daemon: FakeDaemon) -> None:
    daemon.pass_time(600)
    daemon.die("docs")
    daemon.produce("docs")
    as_told = await digest(daemon)
    daemon.journal.rows = [replace(row, entry=replace(row.entry, reason="resume")) for row in daemon.journal.rows]

    assert await digest(daemon) == as_told


async def test_rows_of_an_older_version_are_not_counted_and_said_to_be_there(daemon: FakeDaemon) -> None:
    daemon.die("docs")
    daemon.journal.rows = [
        replace(row, entry=replace(row.entry, facts=(), is_weighed=False)) for row in daemon.journal.rows
    ]

    found = await digest(daemon)

    assert (found.deaths, found.untyped_until) == (0, FIXTURE_EPOCH)


async def test_what_others_decide_when_a_run_ends_is_no_row_of_an_older_version(daemon: FakeDaemon) -> None:
    """As a handoff's successor does, or the first member of a sequence: such a row has a state and no facts."""
    daemon.declare("lead")
    daemon.die("docs")
    end = next(row for row in daemon.journal.rows if event_key(row.entry.event) == "agentexited")
    heard = replace(end.entry, agent="lead", state="running", reason="noted of the turn of docs: its end", facts=())
    daemon.journal.rows.append(replace(end, seq=daemon.journal.rows[-1].seq + 1, entry=heard))

    found = await digest(daemon)

    assert (found.deaths, found.untyped_until, found.complete) == (1, None, True)


async def test_deaths_that_ended_in_quarantine(daemon: FakeDaemon) -> None:
    daemon.fails_with = 127
    daemon.die("docs")

    found = await digest(daemon)

    assert (found.quarantined, found.unhealed, found.quarantined_agents) == (1, 0, {"docs": 1})
    assert found.failed_starts == {"docs": 1}, "the start that followed is no death"


async def test_what_was_asked_for_is_no_death(daemon: FakeDaemon) -> None:
    daemon.happen(RestartRequested("docs"))
    daemon.happen(StopRequested("docs"))
    daemon.declare("shop")
    daemon.pass_time(60)
    daemon.die("shop", 0)
    daemon.happen(AgentWithdrawn("docs"))

    found = await digest(daemon)

    assert (found.deaths, found.orders["stop"], found.finished) == (0, 1, 1)


async def test_an_end_on_purpose_is_told_by_what_happened(live: Live, daemon: FakeDaemon) -> None:
    """A newcomer read "2 ended by themselves with exit 0" where Ctrl-C had ended one of them."""
    daemon.declare("shop")
    daemon.pass_time(60)
    daemon.die("shop", 0)
    assert "1 ended by themselves with exit 0\n" in (await live.ask("GET", "/v1/since?time=8h", text=True)).text

    daemon.die("docs", None, SIGINT)

    told = (await live.ask("GET", "/v1/since?time=8h", text=True)).text
    assert "2 ended by themselves: 1 by SIGINT, 1 with exit 0\n" in told


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ((True,), "answer: phoenixctl answer 1\n"),
        ((True, False), "answer: phoenixctl answer NUMBER\n"),
        ((False,), "answer: phoenixctl attach docs\n"),
        ((False, False), "answer: phoenixctl inbox NUMBER\n"),
        ((), "\n\neach event: "),
    ],
)
async def test_since_names_the_terminal_where_nothing_that_waits_can_be_answered_from_afar(
    daemon: FakeDaemon, held: tuple[bool, ...], told: str
) -> None:
    now = daemon.now().wall
    items = tuple(
        InboxItem(number, "docs", 1, "permission", "May I?", "", now, "answer" if one else "attach")
        for number, one in enumerate(held, 1)
    )
    page = since(Stretch(await digest(daemon), now, items), Page(now))

    assert told in page, page


async def test_iterations_of_a_loop_are_no_deaths_and_its_crashes_are(daemon: FakeDaemon) -> None:
    daemon.declare("loop", kind="loop")
    for _ in range(3):
        daemon.pass_time(60)
        daemon.die("loop", 0)
        daemon.pass_time(60)

    found = await digest(daemon)
    assert (found.deaths, found.iterations, found.finished) == (0, 3, 0)
    told = since(Stretch(found, daemon.now().wall), Page(daemon.now().wall))
    assert "iterations   3 of loops ended as they should\n" in told, "after the last one a breaker may have opened"
    daemon.die("loop", 1)
    found = await digest(daemon)
    assert (found.deaths, found.iterations) == (1, 3)


async def test_a_failed_start_is_a_death_also_with_exit_0(daemon: FakeDaemon) -> None:
    daemon.pass_time(2)
    daemon.die("docs", 0)

    assert ((await digest(daemon)).deaths, (await digest(daemon)).iterations) == (1, 0)


async def test_what_never_began_is_no_death_and_is_told_until_it_begins(live: Live, daemon: FakeDaemon) -> None:
    daemon.fails_with = 127
    daemon.declare("noexec")

    found = await digest(daemon)
    assert (found.deaths, found.quarantined, found.unstarted) == (0, 0, {"noexec"})
    assert "noexec could not be started." in (await live.ask("GET", "/v1/agents", text=True)).text
    assert (await live.ask("GET", "/v1/since?time=8h")).json["unstarted"] == ["noexec"]
    assert (
        "starts       1 failed: noexec 1 (not up so far)"
        in (await live.ask("GET", "/v1/since?time=8h", text=True)).text
    )

    daemon.fails_with = None
    daemon.happen(StartRequested("noexec"))
    assert (await digest(daemon)).unstarted == set()


async def test_what_was_given_up_is_not_held_against_the_next_agent_of_that_name(daemon: FakeDaemon) -> None:
    for _ in range(5):
        daemon.die("docs")
        daemon.pass_time(30)
    daemon.fails_with = 127
    daemon.declare("noexec")
    for name in ("docs", "noexec"):
        daemon.happen(AgentWithdrawn(name))
        daemon.declare(name, start=False)

    found = await digest(daemon)
    assert (found.deaths, found.quarantined, found.quarantined_agents, found.unstarted) == (5, 0, {}, set())
    assert found.ended == 5


async def test_a_restart_for_a_changed_configuration_is_no_death(daemon: FakeDaemon) -> None:
    daemon.pass_time(60)
    daemon.happen(AgentDeclared(replace(daemon.state.agents["docs"].spec, argv=("other",))))

    found = await digest(daemon)
    assert (found.deaths, daemon.state.agents["docs"].incarnation) == (0, 2)
    daemon.pass_time(60)
    daemon.happen(AgentDeclared(replace(daemon.state.agents["docs"].spec, prompt="other")))
    daemon.die("docs")
    assert (await digest(daemon)).deaths == 1, "a change that ended nothing excuses nothing"


async def test_a_removed_agent_is_not_healing_any_more(daemon: FakeDaemon) -> None:
    daemon.die("docs")
    daemon.die("docs")
    assert (await digest(daemon)).unhealed == 2
    daemon.happen(AgentWithdrawn("docs"))

    found = await digest(daemon)
    assert (found.deaths, found.unhealed, found.ended, found.unhealed_agents) == (2, 0, 2, {})
    daemon.declare("docs")
    daemon.happen(AgentWithdrawn("docs"))
    daemon.declare("docs")
    daemon.die("docs")
    assert (await digest(daemon)).deaths == 3, "what was removed excuses no death of a later agent of that name"


async def test_an_outage_is_told_once_however_often_it_was_looked_at(daemon: FakeDaemon) -> None:
    for alive in (False, False, True, False):
        daemon.happen(TerminalSeen(alive))

    assert (await digest(daemon)).outages == 2


async def test_a_digest_goes_on_where_it_stopped(daemon: FakeDaemon) -> None:
    chronicle = Chronicle(daemon.journal)
    first = await chronicle.digest(0.0)
    counted = first.events
    daemon.die("docs")

    again = await chronicle.digest(0.0)

    assert again is first
    assert again.events > counted
    assert again.deaths == 1


async def test_rows_that_are_missing_are_said_to_be(live: Live, daemon: FakeDaemon) -> None:
    daemon.die("docs")
    del daemon.journal.rows[2]

    assert ": at least 1 death: " in (await live.ask("GET", "/v1/agents", text=True)).text
    assert not (await digest(daemon)).complete
    assert await Chronicle(daemon.journal).begins(0.0) is None
    daemon.journal.rows = daemon.journal.rows[3:]
    assert await Chronicle(daemon.journal).begins(0.0) == FIXTURE_EPOCH
    assert await Chronicle(daemon.journal).begins(FIXTURE_EPOCH + 1) is None, "what is asked for is all there"


async def test_a_stretch_from_before_the_journal_says_when_that_began(live: Live, daemon: FakeDaemon) -> None:
    """`since 99999d` said: 1 Jan 1970 00:00 to now, complete."""
    daemon.pass_time(3600)
    daemon.die("docs")
    began = float(int(daemon.now().wall)) - 600
    daemon.journal.rows = [replace(row, entry=replace(row.entry, wall=began)) for row in daemon.journal.rows]

    told = (await live.ask("GET", "/v1/since?time=9999d", text=True)).text
    assert re.match(r"[^,]+, when the journal began, to .*, complete \(no gap in the journal\)", told)
    assert "1999" not in told.splitlines()[0]
    body = (await live.ask("GET", "/v1/since?time=9999d")).json
    assert (body["journal_begins"], body["complete"]) == (rfc3339(began), True), "as the text says it"
    later = (await live.ask("GET", f"/v1/since?time={rfc3339(began + 1)}", text=True)).text
    assert "when the journal began" not in later
    assert (await live.ask("GET", f"/v1/since?time={rfc3339(began + 1)}")).json["journal_begins"] is None


async def test_when_somebody_looked_outlives_the_daemon(daemon: FakeDaemon) -> None:
    await Chronicle(daemon.journal).look(1000, NOON)

    assert await Chronicle(daemon.journal).last_look(1000, NOON + 7200) == NOON
    assert await Chronicle(daemon.journal).last_look(1001, NOON + 7200) < NOON, "another operator has looked at nothing"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("45s", 45), ("15m", 900), ("2h", 7200), ("1h30m", 5400), ("1.5h", 5400), ("2d", 172800)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8h", "2026-11-21T04:00:00.000Z"), ("11:30", "2026-11-21T11:30:00.000Z"),
        ("18:00", "2026-11-20T18:00:00.000Z"),
        ("today", "2026-11-21T00:00:00.000Z"), ("yesterday", "2026-11-20T00:00:00.000Z"),
        ("2026-11-19", "2026-11-19T00:00:00.000Z"), ("2026-11-19T10:00:00+02:00", "2026-11-19T08:00:00.000Z"),
        ("9999d", "1999-07-07T12:00:00.000Z"),
    ],
)  # fmt: skip
def test_points_in_the_past(text: str, expected: str) -> None:
    assert rfc3339(parse_past(text, NOON, UTC)) == expected


@pytest.mark.parametrize("day", ["2026-03-29", "2026-03-30", "2026-10-25"])
@pytest.mark.parametrize("text", ["today", "yesterday", "00:30", "18:00", "2026-03-01"])
def test_a_day_begins_at_its_own_midnight_also_where_the_clocks_were_changed_since(
    text: str, day: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon reads times without a zone: in its own."""
    berlin = ZoneInfo("Europe/Berlin")
    wall = datetime.fromisoformat(day).replace(hour=12, tzinfo=berlin).timestamp()
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert parse_past(text, wall, None) == parse_past(text, wall, berlin)
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.text(max_size=30))
def test_what_is_no_time_is_refused_and_nothing_else_happens(words: str) -> None:
    for parse in (parse_duration, lambda said: parse_past(said, NOON, UTC)):
        try:
            parse(words)
        except ValueError as error:
            assert str(error)  # noqa: PT017 - any text may be a time by chance


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_a_time_that_no_calendar_holds_is_unknown(wall: float) -> None:
    told = rfc3339(wall)
    assert told is None or told.endswith("Z")


@given(st.integers(0, 99 * 86400))
def test_an_age_fits_its_column(seconds: int) -> None:
    assert len(ago(seconds)) <= 6


async def test_a_refused_order_is_counted_nowhere(daemon: FakeDaemon) -> None:
    daemon.happen(replace(daemon.start_requested("docs"), fresh=True))  # type: ignore[type-var]

    assert "start" not in (await digest(daemon)).orders


Happening = Callable[[FakeDaemon], object]


def at_rest(daemon: FakeDaemon) -> None:
    daemon.hook("docs", "session-start")


def at_work(daemon: FakeDaemon) -> None:
    daemon.hook("docs", "prompt-submit", text="write the manual")


def asking(daemon: FakeDaemon) -> None:
    daemon.wait("docs")


def dead_and_unanswered(daemon: FakeDaemon) -> None:
    daemon.performs = False
    daemon.die("docs")


def vanished(daemon: FakeDaemon) -> None:
    daemon.happen(AgentVanished("docs", daemon.state.agents["docs"].incarnation))


CLASSES = ("healed", "repeated", "running_again", "healing", "quarantined", "returned", "released", "ended")
"""What became of a death, each of one."""
LOOKS = st.sampled_from(["status", "status in a pipe", "looked", "since 15:03", "death", "healed", "new daemon"])
FIRST_LOOK = datetime(2026, 11, 21, 15, 3, 5, tzinfo=UTC).timestamp()
HEADING = re.compile(r"Since (.+?): (\d+|no|nothing) ", re.ASCII)


@given(st.lists(st.tuples(LOOKS, st.sampled_from([1, 7, 20, 61, 640, 86400])), max_size=12))
@example([("death", 1), ("since 15:03", 1), ("looked", 1), ("status in a pipe", 1)])
@example([("looked", 20), ("death", 1), ("death", 20), ("status", 640), ("status in a pipe", 1)])
def test_of_two_counts_with_the_same_start_the_later_one_is_never_smaller(steps: list[tuple[str, float]]) -> None:
    """A newcomer read "Since 15:03: 4 deaths", and later "Since 15:03: 2 deaths": the starts were seconds apart."""
    daemon = FakeDaemon(stands_at=FIRST_LOOK)
    daemon.declare("docs")
    chronicle = Chronicle(daemon.journal)
    counted: dict[str, int] = {}

    async def told(start: float) -> None:
        digest = await chronicle.digest(start)
        assert await Chronicle(daemon.journal).digest(start) == digest, "what was kept is what stands in the journal"
        here = Page(daemon.now().wall, 80, UTC)
        rows = projection.project(daemon.state, daemon.now())
        heading = HEADING.match(text.status(rows, daemon.facts(), digest, here).splitlines()[1])
        assert heading is not None
        whole_start, count = f"{here.local(start):%F} {heading[1]}", int(heading[2]) if heading[2].isdecimal() else 0
        assert count >= counted.get(whole_start, 0), (whole_start, count, counted)
        counted[whole_start] = count

    async def play() -> None:
        nonlocal chronicle
        for what, seconds in steps:
            now = daemon.now().wall
            match what:
                case "status" | "status in a pipe":
                    await told(await chronicle.last_look(1000, now))
                    if what == "status":
                        await chronicle.look(1000, now)
                case "looked":
                    await chronicle.saw(1000, now)
                case "since 15:03":
                    await told(parse_past("15:03", now, UTC))
                case "death" if daemon.state.agents["docs"].run is not None:
                    daemon.die("docs")
                case "healed":
                    daemon.produce("docs")
                case "new daemon":
                    chronicle = Chronicle(daemon.journal)
                case _:
                    pass
            daemon.pass_time(seconds)

    asyncio.run(play())


@pytest.mark.parametrize(
    ("happens", "words", "in_short", "running"),
    [
        ([], "back and running, not yet productive: docs 1 (running)", "1 running again (docs)", 1),
        ([at_rest], "back and running, not yet productive: docs 1 (idle)", "1 running again (docs)", 1),
        ([at_work], "back and running, not yet productive: docs 1 (working)", "1 running again (docs)", 1),
        ([asking], "back and running, not yet productive: docs 1 (waiting)", "1 running again (docs)", 1),
        ([dead_and_unanswered], "not healed: docs 2 (not back)", "2 not back (docs)", 0),
        ([vanished], "not healed: docs 1 (not back)", "1 not back (docs)", 0),
    ],
)
async def test_healing_is_what_an_agent_is_at_and_never_said_of_one_that_runs(
    live: Live, daemon: FakeDaemon, happens: list[Happening], words: str, in_short: str, running: int
) -> None:
    """A newcomer read "0 healing" in one line of status and "2 healing" in the next."""
    daemon.die("docs")
    daemon.pass_time(5)
    for happen in happens:
        happen(daemon)

    page = (await live.ask("GET", "/v1/agents", text=True)).text
    back = await live.ask("GET", "/v1/since?time=8h")

    first, second = page.splitlines()[:2]
    assert in_short in second
    assert "healing" not in second, "the first line counts those"
    assert words in (await live.ask("GET", "/v1/since?time=8h", text=True)).text
    deaths = back.json["deaths"]
    assert deaths["running_again"] == running
    assert deaths["total"] == sum(deaths[key] for key in CLASSES)
    assert ("1 healing" in first) <= (deaths["healing"] > 0)


async def test_a_status_of_some_agents_counts_their_deaths_alone_and_is_no_look_at_the_others(
    live: Live, daemon: FakeDaemon
) -> None:
    """A newcomer read the whole fleet's deaths above the one agent that had had none."""
    daemon.declare("calm")
    daemon.die("docs")
    daemon.pass_time(5)

    async def second_line(query: str) -> str:
        return (await live.ask("GET", f"/v1/agents?look=1{query}", text=True)).text.splitlines()[1]

    assert "no deaths." in await second_line("&select=calm")
    assert "1 death:" in await second_line("&select=docs")
    daemon.pass_time(SITTING + 1)
    assert "1 death:" in await second_line(""), "what nobody has seen is told"
    daemon.pass_time(SITTING + 1)
    assert "no deaths." in await second_line("")


async def test_of_an_agent_that_was_removed_the_journal_still_tells_and_undo_is_named(
    live: Live, daemon: FakeDaemon
) -> None:
    daemon.declare("docs")
    await live.ask("DELETE", "/v1/agents/docs")
    assert "docs" not in daemon.fleet().agents

    rows = await live.ask("GET", "/v1/events?agent=docs")
    assert (rows.exit, {one["agent"] for one in rows.json["events"]}) == (0, {"docs"})
    text = " ".join((await live.ask("GET", "/v1/events?agent=docs", text=True)).text.split())
    assert "docs was removed 0s ago by" in text
    assert text.endswith("phoenixctl undo docs")
    assert "phoenixctl explain" not in text
    told = await live.ask("GET", "/v1/agents/docs/explain")
    assert (told.exit, told.json["remedy"]) == (4, "phoenixctl undo docs")
    assert "docs was removed 0s ago by" in told.json["detail"]
    assert told.json["detail"].endswith("phoenixctl events docs --all")

    daemon.state = replace(daemon.fleet(), undoable=())
    told = await live.ask("GET", "/v1/agents/docs/explain")
    again = "put [agent.docs] back into its file, then: phoenixctl apply; or phoenixctl add docs -- COMMAND"
    assert (told.exit, told.json["remedy"]) == (4, again)
    assert told.json["detail"].startswith("docs was removed by a change of the configuration or over 7 days ago;")
    text = (await live.ask("GET", "/v1/events?agent=docs", text=True)).text
    assert text.rstrip().endswith("docs was removed by a change of the configuration or over 7 days ago.")
    assert (await live.ask("GET", "/v1/agents/nobody/explain")).json["detail"].startswith("there is no agent nobody")
