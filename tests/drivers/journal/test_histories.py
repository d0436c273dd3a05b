"""Lives and incidents stand in tables of their own, written with the decision, and kept for thirty days."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import LastExit, Mode, Run
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.facts import Fact, RunBegan, RunEnded, RunProductive
from phoenixd.drivers.journal import retention
from phoenixd.drivers.journal.lives import Life, lives_of
from phoenixd.drivers.journal.rows import SpecRows, batch_rows
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.ports.journal import Batch, Entry, KeptIncident
from tests.agents import an_agent
from tests.waiting import eventually

DAY = 24 * 3600.0
WALL = 1.7e9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite3"


def rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def an_entry(at: float, reason: str, *facts: Fact, agent: str = "a") -> Entry:
    return Entry(at, WALL + at, agent, 1, "tree_gone", {}, "running", reason, facts=facts)


def a_run(number: int, at: float, **changes: Any) -> Run:
    return Run(number, f"run-{number}", Mode.RESUME, f"session-{number}", PromptKind.CONTINUE, at, WALL + at, **changes)


def living(number: int, at: float, *, evidence: bool = False, **changes: Any) -> Agent:
    activity = Activity(turn_open=True, evidence_at=at, evidence_wall=WALL + at + 0.5)
    state = Running(a_run(number, at, evidence=evidence), activity)
    return an_agent("a", state=state, incarnation=number, **changes)


def test_a_life_is_told_from_its_spawn_to_its_end_each_fact_once() -> None:
    starting = Starting(a_run(1, 10.0), Activity(False, 10.0, WALL + 10.0), 40.0)
    born = an_agent("a", state=starting, incarnation=1)
    began = Batch(
        10.0, WALL + 10, (an_entry(10.0, "asked for", RunBegan(1, Mode.FRESH, PromptKind.GOAL)),), (born,)
    )  # fmt: skip
    at_work = living(1, 10.0, evidence=True)
    heard = Batch(12.0, WALL + 12, (), (at_work,))
    proved = Batch(30.0, WALL + 30, (an_entry(30.0, "the turn ended", RunProductive(1)),), (at_work,))
    end = LastExit(1, None, 9, "exit", 40.0, WALL + 50)
    facts = RunEnded(1, "death", "restart", "exit", None, 9), RunBegan(2, Mode.RESUME, PromptKind.CONTINUE)
    killed = an_entry(50.0, "killed; resumed", *facts)
    ended = Batch(50.0, WALL + 50.2, (killed,), (living(2, 50.0, last_exit=end),))

    known: dict[int, Life] = {}
    for batch in (began, heard, proved, ended, replace(ended, entries=(), wall=WALL + 99)):
        for life in lives_of(batch):
            known[life.incarnation] = life.merged(known.get(life.incarnation))

    assert known[1] == Life(
        "a", 1, "run-1", "session-1", "resume", WALL + 10, "asked for", WALL + 10.5, WALL + 30,
        WALL + 50, None, 9, "exit", "killed; resumed", "death",
    )  # fmt: skip
    assert known[2] == Life("a", 2, "run-2", "session-2", "resume", WALL + 50, "killed; resumed")


def test_a_run_that_began_and_ended_between_two_commits_is_told_all_the_same() -> None:
    """Where the journal failed, many turns are one batch, and only the newest snapshot of them is left."""
    entries = (
        an_entry(1.0, "asked for", RunBegan(1, Mode.FRESH, PromptKind.GOAL)),
        an_entry(2.0, "exit 1", RunEnded(1, "death", "restart", "exit", 1), RunBegan(2, Mode.FRESH, PromptKind.GOAL)),
        an_entry(3.0, "exit 2", RunEnded(2, "death", "restart", "exit", 2), RunBegan(3, Mode.FRESH, PromptKind.GOAL)),
    )
    last = LastExit(2, 2, None, "exit", 1.0, WALL + 3)
    one, two, three = sorted(lives_of(Batch(3.0, WALL + 3, entries, (living(3, 3.0, last_exit=last),))))

    assert (one.incarnation, one.mode, one.ended, one.code, one.how) == (1, "fresh", WALL + 2, 1, "death")
    assert (two.incarnation, two.ended, two.code, two.how) == (2, WALL + 3, 2, "death")
    assert (three.incarnation, three.run_id, three.ended) == (3, "run-3", None)


def test_a_life_ends_as_the_row_of_its_end_says_and_not_as_alerts_and_cases_of_that_run_do() -> None:
    """Newcomer's list, 7: an alert's row has no reason, and that of a Case tells what is done about it."""
    died = an_entry(2.0, "died, exit 1: 5 crashes", RunEnded(1, "death", "quarantine", "exit", 1))
    alert, case = an_entry(2.0, ""), an_entry(2.0, "Case c14, crash: advise")
    agent = an_agent("a", incarnation=1, last_exit=LastExit(1, 1, None, "exit", 1.0, WALL + 2))
    for after in ((alert,), (case,), (alert, case)):
        (life,) = lives_of(Batch(2.0, WALL + 2, (died, *after), (agent,)))
        assert life.end_reason == "died, exit 1: 5 crashes"


def test_a_run_whose_start_failed_without_an_end_runs_no_more() -> None:
    """Newcomer's list, 7: a resume that was refused before it began."""
    refused = replace(an_entry(3.0, "no such session; fresh at once"), event="start_failed", detail={"incarnation": 4})
    down = an_agent("a", incarnation=4, last_exit=LastExit(3, 1, None, "exit", 1.0, WALL + 2))
    begun = an_entry(3.0, "fresh", RunBegan(5, Mode.FRESH, PromptKind.GOAL))
    for entries, agent in (((refused,), down), ((refused, begun), living(5, 3.0, last_exit=down.last_exit))):
        known = {life.incarnation: life for life in lives_of(Batch(3.0, WALL + 3, entries, (agent,)))}
        assert (known[4].ended, known[4].how, known[4].end_reason) == (WALL + 3, "unstarted", refused.reason)
    # An order that was given twice is refused the second time, and the run lives.
    (life,) = lives_of(Batch(3.0, WALL + 3, (refused,), (living(4, 1.0),)))
    assert life.ended is None


async def test_lives_stand_in_the_order_in_which_they_began(path: Path) -> None:
    """Whatever is learnt of an older run later."""
    with SqliteJournal(path) as journal:
        for number in (1, 2, 3):
            await journal.commit(Batch(float(number), WALL + number, (), (living(number, float(number)),)))
        late = an_entry(9.0, "run 1 was productive", RunProductive(1))
        await journal.commit(Batch(9.0, WALL + 9, (late,), ()))
        other = replace(late, agent="a-g2", facts=(RunBegan(1, Mode.FRESH, PromptKind.GOAL),))
        await journal.commit(Batch(10.0, WALL + 10, (other,), ()))
        assert [one.incarnation for one in await journal.lives(("a",), 9)] == [3, 2, 1]
        assert [(one.agent, one.incarnation) for one in await journal.lives(("a", "a-g2"), 9)] == [
            ("a", 3), ("a", 2), ("a", 1), ("a-g2", 1),
        ]  # fmt: skip


def test_an_agent_that_is_removed_while_it_runs_ends_its_life() -> None:
    gone = an_entry(9.0, "removed", RunEnded(4, "asked", "remove", "removed"))
    (life,) = lives_of(Batch(9.0, WALL + 9, (gone,), (), (("a", 4),)))

    assert (life.incarnation, life.ended, life.how, life.end_reason) == (4, WALL + 9, "asked", "removed")


async def test_a_specification_is_written_once_for_each_change_and_not_with_each_snapshot(path: Path) -> None:
    agent = living(1, 1.0)
    written: list[str] = []
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL, (), (agent,)))
        assert journal._writer._connection is not None
        journal._writer._connection.set_trace_callback(
            lambda text: written.append(text) if "INTO specs" in text else None
        )
        for number in range(5):
            await journal.commit(Batch(2.0, WALL, (), (replace(agent, restarts=number),)))
        assert written == []
        changed = replace(agent, spec=replace(agent.spec, prompt="another one"))
        await journal.commit(Batch(3.0, WALL, (), (changed,)))
        await journal.commit(Batch(3.0, WALL, (), (replace(changed, restarts=9),)))
        assert len(written) == 1
        assert journal.load().agents == (replace(changed, restarts=9),)
        await journal.commit(Batch(4.0, WALL, (), (), (("a", 1),)))
        await journal.commit(Batch(5.0, WALL, (), (changed,)))
        assert journal.load().agents == (changed,)
    with SqliteJournal(path) as journal:
        assert journal.load().agents == (changed,)


def test_a_snapshot_holds_no_specification() -> None:
    known = SpecRows()
    ((name, snapshot, _),) = batch_rows(Batch(1.0, WALL, (), (living(1, 1.0),)), known).agents
    ((same, spec, number),) = batch_rows(Batch(1.0, WALL, (), (living(1, 1.0),)), known).specs

    assert (name, same, json.loads(snapshot)["spec"]) == ("a", "a", number)
    assert json.loads(spec)["argv"] == ["sleep", "60"]
    assert "sleep" not in snapshot


async def test_of_an_agent_that_dies_for_weeks_two_lives_are_remembered_and_none_is_read_again(path: Path) -> None:
    read: list[str] = []
    with SqliteJournal(path) as journal:
        for number in range(1, 51):
            end = LastExit(number - 1, 1, None, "exit", float(number), WALL + number) if number > 1 else None
            await journal.commit(Batch(number, WALL + number, (), (living(number, number, last_exit=end),)))
        assert journal._writer._connection is not None
        journal._writer._connection.set_trace_callback(lambda text: read.append(text) if "FROM lives" in text else None)
        await journal.commit(Batch(51.0, WALL + 51, (), (living(50, 50, evidence=True, last_exit=end),)))

        assert {name: sorted(lives) for name, lives in journal._writer._histories._known.items()} == {"a": [49, 50]}
        assert read == []


async def test_a_life_is_one_row_over_restarts_of_the_daemon(path: Path) -> None:
    began = an_entry(1.0, "asked for", RunBegan(1, Mode.RESUME, PromptKind.CONTINUE))
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL + 1, (began,), (living(1, 1.0),)))
    end = LastExit(1, 3, None, "exit", 4.0, WALL + 5)
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(5.0, WALL + 5, (), (an_agent("a", reason="down", last_exit=end, incarnation=1),)))
        (life,) = await journal.lives(("a", "b"), 10)

    told = (life.incarnation, life.run_id, life.mode, life.reason, life.started, life.ended, life.code, life.end_reason)
    assert told == (1, "run-1", "resume", "asked for", WALL + 1, WALL + 5, 3, "down")
    assert rows(path, "SELECT incarnation, run_id, reason, started, ended, code, end_reason FROM lives") == [
        (1, "run-1", "asked for", WALL + 1, WALL + 5, 3, "down")
    ]


async def test_an_incident_is_closed_by_the_next_productive_run_or_by_the_end_of_its_agent(path: Path) -> None:
    def incident(agent: str, number: int) -> KeptIncident:
        return KeptIncident(agent, number, "hung", WALL + number, json.dumps({"pane": ["waiting"]}))

    async def closed() -> list[tuple[Any, ...]]:
        return rows(path, "SELECT id, closed FROM incidents ORDER BY id")

    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL + 1, incidents=(incident("a", 1), incident("b", 7))))
        await journal.commit(Batch(2.0, WALL + 2, (an_entry(2.0, "late", RunProductive(1)),)))
        assert await closed() == [("a-1-hung", None), ("b-7-hung", None)]
        await journal.commit(Batch(3.0, WALL + 3, (an_entry(3.0, "the turn ended", RunProductive(2)),)))
        assert await closed() == [("a-1-hung", WALL + 3), ("b-7-hung", None)]
        await journal.commit(Batch(4.0, WALL + 4, removed=(("b", 7),)))
        assert await closed() == [("a-1-hung", WALL + 3), ("b-7-hung", WALL + 4)]
    assert json.loads(rows(path, "SELECT body FROM incidents")[0][0]) == {"pane": ["waiting"]}


async def test_lives_and_incidents_past_thirty_days_are_removed_and_a_run_that_goes_on_is_kept(path: Path) -> None:
    """By supervised time: a wall clock that jumps a year ahead removes nothing."""
    ended = tuple(
        an_entry(1.0, "over", RunEnded(number, "death", "restart", "exit", 1), agent="b") for number in range(1, 1201)
    )
    old = KeptIncident("a", 1, "hung", WALL, "{}")
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL, ended, (living(5, 1.0),), incidents=(old,)))
        await journal.commit(Batch(20 * DAY, WALL + 400 * DAY))
        assert rows(path, "SELECT count(*) FROM lives") == [(1201,)]
        await journal.commit(Batch(31 * DAY, WALL + 401 * DAY, incidents=(replace(old, incarnation=2),)))

        await eventually(lambda: rows(path, "SELECT agent, incarnation FROM lives") == [("a", 5)], timeout=60)
        await eventually(lambda: rows(path, "SELECT incarnation FROM incidents") == [(2,)], timeout=60)


async def test_a_loop_without_a_pause_costs_its_own_lives_and_nobody_elses(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "LIVES_PER_AGENT", 700)
    with SqliteJournal(path) as journal:
        for first in (1, 1001):
            loud = [an_entry(1.0, "over", RunEnded(first + n, "iteration", "restart", "exit", 0)) for n in range(1000)]
            await journal.commit(Batch(1.0, WALL, tuple(loud)))
        await journal.commit(Batch(1.0, WALL, (), (replace(living(3, 1.0), spec=an_agent("b").spec),)))
        await journal.commit(Batch(4000.0, WALL))

        newest = "SELECT count(*), min(incarnation), max(incarnation) FROM lives WHERE agent = 'a'"
        await eventually(lambda: rows(path, newest) == [(700, 1301, 2000)], timeout=60)
    assert rows(path, "SELECT count(*) FROM lives WHERE agent = 'b'") == [(1,)]
