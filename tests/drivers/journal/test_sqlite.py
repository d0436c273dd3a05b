"""The journal keeps what it acknowledged, whole and in order, for one writer and any number of readers."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import stat
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity, PromptKind
from phoenixd.core.agent.run import Giving, LastExit, Mode, Run
from phoenixd.core.agent.state import Running
from phoenixd.core.facts import RunBegan, RunEnded
from phoenixd.documents.codec import load_snapshot
from phoenixd.drivers.journal import schema
from phoenixd.drivers.journal.rows import DETAIL_LIMIT, batch_rows, sealed, sealed_entry, stored_entry
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.drivers.journal.tables import SCHEMA_VERSION
from phoenixd.errors import ConfigurationError, JournalFailed, UnsafeFile
from phoenixd.ports.journal import Batch, Entry, Journal
from tests.agents import an_agent
from tests.drivers.journal.journal_script import last_whole_batch, numbered_batch
from tests.waiting import eventually

DAY = 24 * 3600.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite3"


@pytest.fixture
def journal(path: Path) -> Iterator[SqliteJournal]:
    with SqliteJournal(path) as opened:
        yield opened


@pytest.mark.parametrize("length", [1, 3_000])
async def test_an_answer_under_way_stands_in_no_file_of_the_journal_once_its_verdict_is_saved(
    path: Path, journal: SqliteJournal, length: int
) -> None:
    """Neither in the free part of a page nor in a free page, and the log is moved into the file."""

    def kept() -> bool:
        with closing(sqlite3.connect(path)) as other:
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        return any(b"canary" in one.read_bytes() for one in path.parent.glob(f"{path.name}*"))

    run = Run(1, "run-1", Mode.FRESH, "session-1", PromptKind.GOAL, 0.0, 1e9)
    state = Running(run, Activity(turn_open=True, evidence_at=0.0, evidence_wall=0.0))
    giving = Giving(7, 3, "answered", updated="canary" * length)
    answering = replace(state, run=replace(run, giving=(giving,)))
    await journal.commit(Batch(1.0, 1e9, changed=(an_agent("a", state=answering), an_agent("b"))))
    assert kept()

    await journal.commit(Batch(2.0, 1e9, changed=(an_agent("a", state=state),)))

    assert not kept()


def an_entry(**changes: object) -> Entry:
    return replace(Entry(1.5, 1e9, "a", 7, "AgentExited", {"code": 1}), **changes)  # type: ignore[arg-type]


def rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


async def test_a_new_journal_is_empty_and_says_so(journal: Journal) -> None:
    saved = journal.load()

    assert saved.agents == ()
    assert (saved.at, saved.boot_id, saved.next_item) == (0.0, "", 1)
    assert await journal.read() == []
    assert await journal.recall("boot_id") is None


async def test_a_batch_is_there_after_the_journal_was_closed(path: Path) -> None:
    entry = an_entry(
        state="backing_off",
        reason="exit 1 after 3 s",
        readings=(("lived", 3.0), ("code", 1), ("by", None)),
        actions=("Spawn",),
    )
    agents = (an_agent("a", restarts=2), an_agent("b", reason="naïve ☃ \udc80"))
    with SqliteJournal(path) as journal:
        assert await journal.commit(Batch(9.5, 1e9, (entry, an_entry(agent=None)), agents, (), 4)) == (1, 2)
        await journal.remember("boot_id", "b-1")

    with SqliteJournal(path) as journal:
        saved = journal.load()
        read = await journal.read()

        assert journal.damage is None
        assert saved.agents == agents
        assert (saved.at, saved.wall, saved.next_item, saved.boot_id) == (9.5, 1e9, 4, "b-1")
        assert [(stored.seq, stored.entry) for stored in read] == [(1, entry), (2, an_entry(agent=None))]
        assert await journal.recall("boot_id") == "b-1"


async def test_a_start_reads_each_agent_once_and_keeps_nothing_of_that(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are looked through before a journal is believed, and loaded a moment later: they are decoded once."""
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(9.5, 1e9, (), tuple(map(an_agent, "abc")), (), 1))
    decoded: list[str] = []

    def load(snapshot: str, number: int | None, spec: str) -> Agent:
        decoded.append(spec)
        return load_snapshot(snapshot, number, spec)

    monkeypatch.setattr("phoenixd.drivers.journal.schema.load_snapshot", load)
    with SqliteJournal(path) as journal:
        assert [agent.name for agent in journal.load().agents] == ["a", "b", "c"]
        assert len(decoded) == 3
        assert schema._read.cache_info().currsize == 0


async def test_a_removed_agent_is_gone_and_its_entries_stay(journal: SqliteJournal) -> None:
    await journal.commit(Batch(1, 1, (an_entry(),), (an_agent("a"), an_agent("b"))))
    await journal.commit(Batch(2, 2, (), (), (("a", 7),)))

    assert [agent.name for agent in journal.load().agents] == ["b"]
    assert len(await journal.read(agent="a")) == 1


async def test_the_last_incarnation_of_a_removed_agent_is_kept(journal: SqliteJournal) -> None:
    await journal.commit(Batch(1, 1, (), (), (("a", 7), ("b", 1))))
    await journal.commit(Batch(2, 2, (), (), (("a", 9),)))

    assert journal.load().retired == {"a": 9, "b": 1}


async def test_reads_select_by_agent_row_time_and_end(journal: SqliteJournal) -> None:
    await journal.commit(
        Batch(1, 1, tuple(an_entry(agent="ab"[n % 2], wall=100.0 + n, incarnation=n) for n in range(10)))
    )

    async def found(**selection: object) -> list[int]:
        return [stored.entry.incarnation for stored in await journal.read(**selection)]  # type: ignore[arg-type]

    assert await found(agent="b") == [1, 3, 5, 7, 9]
    assert await found(after=8) == [8, 9]
    assert await found(since_wall=107.0) == [7, 8, 9]
    assert await found(limit=2) == [0, 1]
    assert await found(limit=2, newest=True) == [8, 9]
    assert await found(agent="a", after=3, since_wall=103.0, limit=2, newest=True) == [6, 8]
    assert await found(agent="nobody") == []


async def test_row_numbers_are_never_used_twice(path: Path) -> None:
    """They are the ids of the event stream: a client that comes back must not see other rows under them."""
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1, 1, (an_entry(), an_entry())))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM entries")
    with SqliteJournal(path) as journal:
        assert await journal.commit(Batch(2, 2, (an_entry(),))) == (3,)


async def test_row_numbers_that_are_skipped_are_never_given(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite3"
    with SqliteJournal(path) as journal:
        assert await journal.commit(Batch(1, 1, (an_entry(),))) == (1,)
        assert await journal.commit(Batch(2, 2, (an_entry(), an_entry()), after_row=500)) == (501, 502)
        assert await journal.commit(Batch(3, 3, (an_entry(), an_entry()), after_row=500)) == (503, 504)
    with SqliteJournal(path) as journal:
        assert await journal.commit(Batch(4, 4, (an_entry(),))) == (505,)


async def test_batches_that_wait_together_are_saved_in_their_order(path: Path) -> None:
    with SqliteJournal(path) as journal:
        numbers = await asyncio.gather(*[journal.commit(numbered_batch(n)) for n in range(1, 201)])

        assert [seq for group in numbers for seq in group] == list(range(1, 1 + sum(1 + n % 4 for n in range(1, 201))))
        assert last_whole_batch(journal, await journal.read()) == 200


async def test_a_cancelled_commit_is_whole_or_absent(journal: SqliteJournal) -> None:
    for number in range(1, 30):
        committing = asyncio.create_task(journal.commit(numbered_batch(number)))
        await asyncio.sleep(0)
        committing.cancel()
        await asyncio.gather(committing, return_exceptions=True)

    await journal.commit(numbered_batch(30))

    assert last_whole_batch(journal, await journal.read()) == 30


async def test_a_run_has_one_row_from_its_spawn_to_its_end(path: Path) -> None:
    started = numbered_batch(1).changed[0]
    ended = an_agent("a", reason="stays down", last_exit=LastExit(1, None, 9, "exit", 12.0, 2e9))
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1, 1, changed=(started,)))
        await journal.commit(Batch(2, 2, (an_entry(incarnation=1, reason="killed by signal 9"),), (ended,)))
        await journal.commit(Batch(3, 3, (an_entry(incarnation=1, reason="something later"),), (ended,)))

    columns = "agent, incarnation, run_id, mode, session_id, started, ended, code, signal, cause, end_reason"
    assert rows(path, f"SELECT {columns} FROM lives")[0] == (
        "a", 1, "run-1", "fresh", "session-1", 1e9 + 1, 2e9, None, 9, "exit", "killed by signal 9",
    )  # fmt: skip


async def test_an_exit_code_beyond_64_bits_is_left_out(path: Path) -> None:
    """An exit record is a file that an agent can reach."""
    with SqliteJournal(path) as journal:
        await journal.commit(
            Batch(1, 1, changed=(an_agent("a", last_exit=LastExit(1, 2**80, None, "exit", 1.0, 1.0)),))
        )
        await journal.commit(Batch(2, 2))

    assert rows(path, "SELECT ended, code FROM lives") == [(1.0, None)]


@pytest.mark.parametrize(
    "detail",
    [
        {"text": "x" * 1_000_000, "code": 1},
        {"text": "\u2603" * 100_000, "code": 1},
        {"text": '"\\' * 100_000, "code": 1},
        {"list": ["y" * 100] * 10_000, "code": 1},
        {f"key{n}": "z" * 100 for n in range(10_000)},
        {"x" * 1_000_000: 1},
    ],
)
async def test_a_detail_too_long_is_cut_and_marked(path: Path, detail: dict[str, object]) -> None:
    with SqliteJournal(path) as journal:
        await journal.commit(Batch(1, 1, (an_entry(detail=detail, reason="r" * 100_000),)))
        (stored,) = await journal.read()

    assert len(json.dumps(stored.entry.detail)) <= DETAIL_LIMIT
    assert "truncated" in json.dumps(stored.entry.detail)
    assert stored.entry.detail.get("code", 1) == 1
    assert len(stored.entry.reason) <= 4096


async def test_values_that_json_does_not_know_are_kept_as_text(journal: SqliteJournal) -> None:
    await journal.commit(Batch(1, 1, (an_entry(detail={"path": Path("/srv"), "text": "\ud800\x00"}),)))

    (stored,) = await journal.read()
    assert stored.entry.detail == {"path": "/srv", "text": "\ud800\x00"}


@pytest.mark.parametrize("put", [None, b"", b"garbage" * 9000], ids=["gone", "empty", "garbage"])
async def test_a_file_that_is_taken_away_under_an_open_journal_is_written_anew_and_nothing_is_lost(
    path: Path, put: bytes | None
) -> None:
    with SqliteJournal(path) as journal:
        for number in range(1, 200):
            await journal.commit(numbered_batch(number))
        await journal.remember("boot_id", "this one")
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        if put is not None:
            path.write_bytes(put)
        assert last_whole_batch(journal, await journal.read(limit=5000)) == 199 or put is not None
        await journal.commit(numbered_batch(200))
        assert last_whole_batch(journal, await journal.read(limit=5000)) == 200
        assert journal.damage is not None
        assert "taken away" in journal.damage.why
        await journal.commit(numbered_batch(201))
    with SqliteJournal(path) as journal:
        assert journal.damage is None
        assert last_whole_batch(journal, await journal.read(limit=5000)) == 201
        assert await journal.recall("boot_id") == "this one"


@pytest.mark.parametrize(
    "question",
    [
        lambda journal: journal.recall("boot_id"),
        lambda journal: journal.read(newest=True),
        lambda journal: journal.lives(["a"], 5),
        lambda journal: journal.usage(["a"], None, 5),
        lambda journal: journal.treatments(),
        lambda journal: journal.case("of-nobody"),
        lambda journal: journal.marks(["a"], 5),
        lambda journal: journal.handoffs("a", 5),
    ],
    ids=["recall", "read", "lives", "usage", "treatments", "case", "marks", "handoffs"],
)
async def test_promise_1_whoever_asks_first_has_a_file_put_back_that_was_taken_away(
    path: Path, journal: SqliteJournal, question: Callable[[SqliteJournal], Awaitable[object]]
) -> None:
    """Two questions went by the file that was gone, and `status` failed until the next decision, which may be hours."""
    await journal.commit(numbered_batch(1))
    await journal.remember("boot_id", "this one")
    before = await question(journal)
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)

    assert await question(journal) == before
    assert path.exists()


def put(kind: str, path: Path) -> None:
    path.unlink(missing_ok=True)
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            path.symlink_to("/dev/zero")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["fifo", "directory", "link"])
@pytest.mark.parametrize("beside", ["-wal", "-shm", "-journal", ".new"])
async def test_promise_1_what_an_agent_puts_beside_the_journal_neither_hangs_nor_stops_a_daemon(
    path: Path, beside: str, kind: str
) -> None:
    """SQLite opens a FIFO at -journal and waits for ever, before the daemon has begun."""
    with SqliteJournal(path) as journal:
        await journal.commit(numbered_batch(1))
    put(kind, Path(f"{path}{beside}"))

    with SqliteJournal(path) as journal:
        await journal.commit(numbered_batch(2))
        assert last_whole_batch(journal, await journal.read(limit=5000)) == 2
        assert journal.damage is None


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["fifo", "directory", "link"])
@pytest.mark.parametrize("beside", ["", "-wal", "-shm", "-journal", ".copy"])
async def test_promise_1_nor_does_it_keep_a_journal_from_being_put_back(path: Path, beside: str, kind: str) -> None:
    with SqliteJournal(path) as journal:
        await journal.commit(numbered_batch(1))
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        put(kind, Path(f"{path}{beside}"))
        await journal.commit(numbered_batch(2))
        assert last_whole_batch(journal, await journal.read(limit=5000)) == 2
    with SqliteJournal(path) as journal:
        assert last_whole_batch(journal, await journal.read(limit=5000)) == 2


async def test_an_agent_that_talks_without_end_costs_its_own_past_and_nobody_elses(path: Path) -> None:
    with SqliteJournal(path, entries_per_agent=700) as journal:
        quiet = tuple(an_entry(agent="quiet", detail={"n": n}) for n in range(5))
        await journal.commit(Batch(at=1.0, wall=1e9, entries=quiet))
        for number in range(3):
            loud = tuple(an_entry(agent="loud", detail={"n": 1000 * number + n}) for n in range(1000))
            await journal.commit(Batch(at=2.0, wall=1e9, entries=loud))
        # Housekeeping is due once an hour of supervised time.
        await journal.commit(Batch(at=4000.0, wall=1e9))

        await eventually(lambda: rows(path, "SELECT count(*) FROM entries WHERE agent = 'loud'") == [(700,)])
        kept = [stored.entry.detail["n"] for stored in await journal.read(agent="loud")]
        assert kept == list(range(2300, 3000))
        assert len(await journal.read(agent="quiet")) == 5


async def test_entries_past_thirty_days_are_removed_by_supervised_time(path: Path, journal: SqliteJournal) -> None:
    """A wall clock that jumps a year ahead removes nothing."""
    old = Batch(0.0, 0.0, tuple(an_entry(at=1.0) for _ in range(1700)))
    await journal.commit(old)
    await journal.commit(Batch(20 * DAY, 400 * DAY, (an_entry(at=20 * DAY, wall=400 * DAY),)))
    assert len(await journal.read(limit=5000)) == 1701

    await journal.commit(Batch(31 * DAY, 401 * DAY, (an_entry(at=31 * DAY),)))

    await eventually(lambda: rows(path, "SELECT seq FROM entries") == [(1701,), (1702,)])


async def test_journal_keep_says_how_long_entries_are_kept(path: Path) -> None:
    """`[journal] keep` was checked and ignored. Steps are small, and nobody waits for them."""
    with SqliteJournal(path, keep_seconds=2 * DAY) as journal:
        await journal.commit(Batch(0.0, 0.0, tuple(an_entry(at=1.0) for _ in range(1200))))
        await journal.commit(Batch(DAY, DAY, (an_entry(at=DAY),)))
        assert len(await journal.read(limit=5000)) == 1201

        await journal.commit(Batch(2.5 * DAY, 2.5 * DAY, (an_entry(at=2.5 * DAY),)))

        await eventually(lambda: rows(path, "SELECT seq FROM entries") == [(1201,), (1202,)])


async def test_a_reader_that_dawdles_holds_nobody_up(path: Path, journal: SqliteJournal) -> None:
    await journal.commit(numbered_batch(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as dawdler:
        dawdler.execute("BEGIN")
        before = dawdler.execute("SELECT count(*) FROM entries").fetchone()

        for number in range(2, 400):
            await journal.commit(numbered_batch(number))

        assert dawdler.execute("SELECT count(*) FROM entries").fetchone() == before
    assert last_whole_batch(journal, await journal.read()) == 399
    assert journal.trouble is None


async def test_readers_see_whole_batches_while_others_are_written(journal: SqliteJournal) -> None:
    async def keep_reading() -> int:
        rounds = 0
        while True:
            entries = await journal.read(limit=10_000)
            numbers = [stored.entry.detail["batch"] for stored in entries]
            assert numbers == [n for n in range(1, max(numbers, default=0) + 1) for _ in range(1 + n % 4)]
            rounds += 1
            if numbers and numbers[-1] == 300:
                return rounds

    reading = asyncio.create_task(keep_reading())
    for number in range(1, 301):
        await journal.commit(numbered_batch(number))
    assert await reading > 1


async def test_the_log_is_emptied_into_the_file_between_commits(path: Path, journal: SqliteJournal) -> None:
    for number in range(1, 1500):
        await journal.commit(numbered_batch(number))

    assert path.with_name(path.name + "-wal").stat().st_size < 8 * 1024 * 1024


def test_files_are_private(path: Path) -> None:
    path.parent.mkdir(mode=0o755)
    previous = os.umask(0)
    try:
        with SqliteJournal(path) as journal:
            asyncio.run(journal.commit(numbered_batch(1)))
            modes = {found.name: stat.S_IMODE(found.stat().st_mode) for found in path.parent.iterdir()}
    finally:
        os.umask(previous)

    assert set(modes) == {path.name + suffix for suffix in ("", "-wal", "-shm", ".reserve")}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_links_and_other_kinds_of_file_are_refused(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"")
    path.symlink_to(elsewhere)
    with pytest.raises(UnsafeFile, match="not a regular file"):
        SqliteJournal(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(UnsafeFile, match="not a regular file"):
        SqliteJournal(path)
    assert elsewhere.read_bytes() == b""


def test_a_journal_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    with SqliteJournal(path) as journal:
        asyncio.run(journal.commit(numbered_batch(1)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        connection.execute("REPLACE INTO meta VALUES (?, ?, ?)", sealed("meta", "#schema", str(SCHEMA_VERSION + 1)))
        connection.execute("ALTER TABLE agents ADD COLUMN mood TEXT")
    before = path.read_bytes()

    with pytest.raises(ConfigurationError, match=f"schema {SCHEMA_VERSION + 1}") as refusal:
        SqliteJournal(path)

    assert "newer version" in refusal.value.remedy
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*corrupt*"))


def test_an_agent_in_an_unknown_form_is_refused_and_left_alone(path: Path) -> None:
    with SqliteJournal(path) as journal:
        asyncio.run(journal.commit(numbered_batch(1)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("REPLACE INTO agents VALUES (?, ?, ?)", sealed("agents", "a", '{"state":{"name":"flying"}}'))

    with pytest.raises(ConfigurationError, match="agent a"):
        SqliteJournal(path)

    assert not list(path.parent.glob("*corrupt*"))


async def test_a_closed_journal_fails_by_its_name(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.close()

    with pytest.raises(JournalFailed, match="closed"):
        await journal.commit(numbered_batch(1))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_dead_thread_fails_whoever_waits(journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody may wait for ever on a thread that has a bug."""
    monkeypatch.setattr(journal._writer, "_write_one", lambda *_: 1 / 0)

    for _ in range(2):
        with pytest.raises(JournalFailed, match="ZeroDivisionError"):
            await journal.commit(numbered_batch(1))

    await eventually(lambda: not [thread for thread in threading.enumerate() if thread.name == "journal-writer"])


async def test_facts_and_weight_come_back_and_an_older_row_tells_as_story(journal: Journal) -> None:
    facts = (RunBegan(3, Mode.RESUME, PromptKind.CONTINUE), RunEnded(3, "death", "restart", "exit", 1, None, 2.5))
    told = an_entry(readings=(("lived", 2.5),), weight="story", facts=facts)
    await journal.commit(Batch(9.5, 1e9, (told, an_entry(weight="detail"))))
    first, second = await journal.read()

    assert first.entry == told
    assert (second.entry.weight, second.entry.facts) == ("detail", ())


@pytest.mark.parametrize(
    "readings",
    ['[["lived",2.5]]', '[["#weight","story"],["#facts",[{"name":"run_dreamt","of":1}]],["lived",2.5]]'],
)
def test_a_row_of_another_version_is_read_without_the_facts_that_are_not_known(readings: str) -> None:
    columns = batch_rows(Batch(9.5, 1e9, (an_entry(),))).entries[0]
    read = stored_entry(sealed_entry(1, (*columns[:8], readings, *columns[9:])))

    assert read is not None
    assert (read.entry.weight, read.entry.facts, read.entry.readings) == ("story", (), (("lived", 2.5),))


def test_a_journal_whose_tables_cannot_be_read_is_not_opened_and_says_which(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("phoenixd.drivers.journal.writer.bring_up", fails)
    with pytest.raises(JournalFailed, match=f"the journal at {path} cannot be read: disk I/O error"):
        SqliteJournal(path)


async def test_a_journal_that_is_opened_again_and_lacks_nothing_is_not_damaged(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    await journal.commit(numbered_batch(1))
    with monkeypatch.context() as patch:
        patch.setattr(journal._writer, "_sound", journal._writer._connection.close)
        await journal.commit(numbered_batch(2))

    assert journal.damage is None
    assert last_whole_batch(journal, await journal.read(limit=5000)) == 2
