"""Cases stand in the journal: those that go on with the fleet, what was noticed and treated in tables of their own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.treatment.case import Kept, Noticed
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.triage import diagnose
from phoenixd.drivers.journal import retention
from phoenixd.drivers.journal.lives import incident_id
from phoenixd.drivers.journal.rows import sealed
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.journal.tables import INSERT_META, SCHEMA_KEY, SCHEMA_VERSION, SCHEMAS, THIRD
from phoenixd.ports.journal import Batch, KeptIncident, KeptTreatment
from phoenixd.runtime import cases
from tests.core.story import Story, claude
from tests.waiting import eventually

DAY = 24 * 3600.0
WALL = 1.7e9
TREATED = KeptTreatment(
    "c1", 1, "agent a", None, "killed", "it was killed", 0.4, "claude", "a", 1, "retry", "resume", "restart", WALL,
    WALL + 1, 2, None, 0, "open", "", None,
)  # fmt: skip
NOTICED = KeptIncident("a", 1, "crash", WALL, "", "c1", "transient_error", "a rule", '{"code":1}')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite3"


async def test_c2_what_goes_on_and_what_was_kept_are_there_after_a_restart(path: Path) -> None:
    story = Story(claude()).works()
    story.exited(signal=9)
    kept = story.fleet.cases
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL, cases=kept, incidents=(NOTICED,), treatments=(TREATED,)))
    with SqliteJournal(path) as journal:
        assert journal.load().cases == kept
        found = await journal.case("c1")
        assert await journal.treatments() == [TREATED]
        assert await journal.case("c2") is None

    assert found is not None
    assert found.incidents == (NOTICED,)
    assert found.treatments == (TREATED,)


async def test_a_newer_state_of_a_treatment_takes_the_place_of_the_older_one(path: Path) -> None:
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL, treatments=(TREATED,)))
        held = replace(TREATED, outcome="held", productive=WALL + 9, turns=5, decided=WALL + 99)
        await journal.commit(Batch(2.0, WALL, treatments=(held,)))

        assert await journal.treatments() == [held]


async def test_the_copy_and_the_evidence_of_one_incident_come_together_in_either_order(path: Path) -> None:
    """The file of a hung run is begun before its end, which opens its Case."""
    copy = KeptIncident("a", 1, "hung", WALL, '{"pane":[]}')
    told = KeptIncident("a", 1, "hung", WALL + 5, "", "c1", None, "it hung", "{}")
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL, incidents=(copy,)))
        await journal.commit(Batch(2.0, WALL, incidents=(told,)))
        found = await journal.case("c1")

    assert found is not None
    (one,) = found.incidents
    assert (one.body, one.rule, one.opened) == ('{"pane":[]}', "it hung", WALL)


async def test_a_failure_that_is_judged_anew_loses_a_cause_that_is_not_claimed_any_more(path: Path) -> None:
    """Its copy, which has no diagnosis, takes nothing from it."""
    anew = replace(NOTICED, cause=None, rule="another rule")
    copy = replace(NOTICED, body='{"pane":[]}', cause=None, rule="", evidence="")
    with SqliteJournal(path) as journal:
        for at, row in enumerate((NOTICED, copy, anew)):
            await journal.commit(Batch(float(at), WALL, incidents=(row,)))
            found = await journal.case("c1")
            assert found is not None
            assert found.incidents[0].cause == (None if row is anew else "transient_error")

    (one,) = found.incidents
    assert (one.cause, one.rule, one.body) == (None, "another rule", '{"pane":[]}')


async def test_two_failures_of_one_kind_in_one_run_are_a_row_each_and_their_copies_come_to_them(path: Path) -> None:
    second = replace(NOTICED, opened=WALL + 60, evidence='{"code":2}', number=2)
    bodies = [replace(one, body=f'{{"pane":[{one.number}]}}', evidence="", rule="") for one in (NOTICED, second)]
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL, incidents=(NOTICED, second)))
        await journal.commit(Batch(2.0, WALL, incidents=tuple(bodies)))
        found = await journal.case("c1")

    assert found is not None
    assert [(one.body, one.evidence) for one in found.incidents] == [
        ('{"pane":[1]}', '{"code":1}'), ('{"pane":[2]}', '{"code":2}'),
    ]  # fmt: skip


async def test_a_row_that_an_older_version_wrote_of_a_failure_stays_beside_those_that_follow(path: Path) -> None:
    """It gave all failures of one kind in one run and Case one row, and that has the first one's name today."""
    assert incident_id(NOTICED) == "a-1-crash-c1"
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL, incidents=(NOTICED,)))
        await journal.commit(Batch(2.0, WALL, incidents=(replace(NOTICED, opened=WALL + 9, number=4),)))
        found = await journal.case("c1")

    assert found is not None
    assert [one.opened for one in found.incidents] == [WALL, WALL + 9]


async def test_a_treatment_past_thirty_days_is_removed(path: Path) -> None:
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(0.0, WALL, treatments=(TREATED,)))
        await journal.commit(Batch(31.5 * DAY, WALL, treatments=(replace(TREATED, case_id="c2"),)))
        await journal.commit(Batch(31.5 * DAY + retention.RETENTION_INTERVAL, WALL))
        await eventually(lambda: kept_ids(path) == ["c2"], 60)


def kept_ids(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [row[0] for row in connection.execute("SELECT case_id FROM treatments")]


async def test_a_row_that_is_damaged_is_not_believed(path: Path) -> None:
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1.0, WALL, treatments=(TREATED,)))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE treatments SET outcome = 'held'")
    with SqliteJournal(path) as journal:
        assert await journal.treatments() == []


async def test_a_journal_of_the_version_before_keeps_its_incidents(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    row = sealed("incidents", "a-1-hung", "a", 1, "hung", 1.0, WALL, None, '{"pane":[]}')
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in (*THIRD.tables.values(), *THIRD.indexes.values()):
            connection.execute(statement)
        connection.execute(f"INSERT INTO incidents VALUES ({', '.join('?' * len(row))})", row)
        connection.execute(INSERT_META, sealed("meta", SCHEMA_KEY, "3"))
        connection.execute("PRAGMA user_version = 3")
    path.chmod(0o600)
    with SqliteJournal(path) as journal:
        assert journal.damage is None
        assert journal.migrated is not None
        assert journal.load().cases.cases == ()
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute("SELECT id, body, case_id FROM incidents").fetchall()

    assert found == ("a-1-hung", '{"pane":[]}', "")
    assert set(SCHEMAS[SCHEMA_VERSION].tables) >= {"treatments"}


def test_evidence_is_stored_without_secrets() -> None:
    """C36: what a CLI said of a failure may hold a key."""
    story = Story(claude()).works()
    story.hook("stop-failure", error="odd", text="no")
    (found,) = story.fleet.cases.cases
    evidence = Evidence(occasion="failed_turn", failure="other", said="the key sk-1 failed")
    noticed = Noticed(found.id, "a", 1, "failed_turn", WALL, evidence, diagnose(evidence))
    told = list(cases.incidents((Kept(found, (noticed,)),), lambda agent, text: text.replace("sk-1", "[redacted]")))

    assert "sk-1" not in told[0].evidence
    assert "[redacted]" in told[0].evidence
