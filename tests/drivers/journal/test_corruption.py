"""Whatever becomes of the journal's files: it opens, believes nothing that was not written, and says what it lost."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from phoenixd.core.agent import Agent
from phoenixd.drivers.journal.sqlite import SqliteJournal
from phoenixd.errors import JournalFailed
from phoenixd.ports.journal import Entry
from tests.drivers.journal.journal_script import numbered_batch

NAME = "journal.sqlite3"
BATCHES = 60


@dataclass(frozen=True)
class Original:
    """A sound journal, all that was ever true of its agents, and all entries under their numbers."""

    directory: Path
    agents: dict[str, list[Agent]]
    entries: dict[int, Entry]


def make_original(directory: Path, *, with_log: bool) -> Original:
    """A journal of 60 batches; with a log of its newest ones, as a kill leaves it, or without, as a close does."""
    agents: dict[str, list[Agent]] = {"a": [], "b": []}
    journal = SqliteJournal(directory / "live" / NAME, reserve_bytes=4096)

    async def fill() -> dict[int, Entry]:
        for number in range(1, BATCHES + 1):
            batch = numbered_batch(number)
            await journal.commit(batch)
            for agent in batch.changed:
                agents[agent.name].append(agent)
            if number == BATCHES // 2:
                with closing(sqlite3.connect(directory / "live" / NAME)) as other:
                    other.execute("PRAGMA wal_checkpoint")
        return {stored.seq: stored.entry for stored in await journal.read(limit=10_000)}

    entries = asyncio.run(fill())
    if with_log:
        shutil.copytree(directory / "live", directory / "original")
        journal.close()
    else:
        journal.close()
        shutil.copytree(directory / "live", directory / "original")
    return Original(directory / "original", agents, entries)


def truncated(data: bytearray, dice: random.Random) -> None:
    del data[dice.randrange(len(data)) :]


def emptied(data: bytearray, dice: random.Random) -> None:
    data.clear()


def bit_flipped(data: bytearray, dice: random.Random) -> None:
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def header_bit_flipped(data: bytearray, dice: random.Random) -> None:
    data[dice.randrange(min(100, len(data)))] ^= 1 << dice.randrange(8)


def zeroed(data: bytearray, dice: random.Random) -> None:
    start = dice.randrange(len(data))
    length = min(dice.choice([1, 16, 512, 4096, 20_000]), len(data) - start)
    data[start : start + length] = bytes(length)


def overwritten(data: bytearray, dice: random.Random) -> None:
    start = dice.randrange(len(data))
    length = min(dice.choice([1, 16, 512, 4096]), len(data) - start)
    data[start : start + length] = dice.randbytes(length)


def inserted(data: bytearray, dice: random.Random) -> None:
    start = dice.randrange(len(data))
    data[start:start] = dice.randbytes(dice.choice([1, 100, 4096]))


def page_swapped(data: bytearray, dice: random.Random) -> None:
    pages = len(data) // 4096
    if pages > 1:
        one, other = (4096 * dice.randrange(pages) for _ in range(2))
        data[one : one + 4096], data[other : other + 4096] = data[other : other + 4096], data[one : one + 4096]


def replaced(data: bytearray, dice: random.Random) -> None:
    data[:] = dice.randbytes(dice.randrange(1, 20_000))


KINDS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    truncated, emptied, bit_flipped, bit_flipped, header_bit_flipped, zeroed, overwritten, inserted, page_swapped,
    replaced,
)  # fmt: skip


def damage_files(directory: Path, dice: random.Random) -> list[str]:
    """One to four random injuries, mostly to the database; what was done."""
    names = [path.name for path in directory.iterdir() if not path.name.endswith(".reserve")]
    done = []
    for _ in range(dice.randrange(1, 5)):
        path = directory / (NAME if dice.random() < 0.6 else dice.choice(sorted(names)))
        data = bytearray(path.read_bytes())
        if data:
            kind = dice.choice(KINDS)
            kind(data, dice)
            path.write_bytes(data)
            done.append(f"{kind.__name__} {path.name}")
    return done


def assert_only_the_truth(original: Original, path: Path, injuries: list[str]) -> bool:
    """Open it, and compare all that it says with what was written; whether damage was reported."""
    with SqliteJournal(path, reserve_bytes=4096) as journal:
        saved = journal.load()
        for agent in saved.agents:
            assert agent in original.agents[agent.name]
        # Damage to the log alone can hide its newest batches: then the state is an older one, as a whole.
        log_injured = any(done.endswith("-wal") for done in injuries)
        if journal.damage is None:
            assert {agent.name for agent in saved.agents} == {"a", "b"}
            assert log_injured or saved.agents == (original.agents["a"][-1], original.agents["b"][-1])
            assert len({agent.restarts for agent in saved.agents}) == 1
        else:
            assert journal.damage.agents == tuple(agent.name for agent in saved.agents)
            assert os.path.exists(journal.damage.kept_as) or os.path.exists(journal.damage.kept_as + "-wal")
        entries = asyncio.run(journal.read(limit=10_000))
        for stored in entries:
            assert original.entries[stored.seq] == stored.entry

        # And it is a journal again: what is committed now is there, under a number that was not used before.
        (seq, *_) = asyncio.run(journal.commit(numbered_batch(1000)))
        assert seq > max((stored.seq for stored in entries), default=0)
        assert [agent.restarts for agent in journal.load().agents] == [1000, 1000]
        assert asyncio.run(journal.read(after=seq - 1))[0].entry.detail["batch"] == 1000
        return journal.damage is not None


def injure(tmp_path: Path, count: int, seed: int, first: int = 0) -> tuple[int, int]:
    reported = 0
    originals = [make_original(tmp_path / str(with_log), with_log=with_log) for with_log in (True, False)]
    for number in range(first, first + count):
        dice = random.Random(f"{seed} {number}")
        original = originals[number % 2]
        patient = tmp_path / "patient"
        shutil.copytree(original.directory, patient)
        injuries = damage_files(patient, dice)
        try:
            reported += assert_only_the_truth(original, patient / NAME, injuries)
        except BaseException as error:
            error.add_note(f"seed {seed} {number}: {injuries}")
            raise
        shutil.rmtree(patient)
    return count, reported


@pytest.mark.slow
def test_twenty_injured_journals_tell_only_the_truth(tmp_path: Path) -> None:
    injure(tmp_path, 20, seed=1)


@pytest.mark.slow
@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(0, 5000, 500))
def test_five_thousand_injured_journals_tell_only_the_truth(tmp_path: Path, first: int) -> None:
    """In parts: a disk that others use as well takes half a second for one."""
    count, reported = injure(tmp_path, 500, seed=2, first=first)
    print(f"{count} injured journals opened, {reported} reported damage")


def test_what_can_be_read_lives_on(tmp_path: Path) -> None:
    """One agent's row is spoilt: it is named, the other one and the entries are kept, the old file too."""
    original = make_original(tmp_path, with_log=False)
    path = original.directory / NAME
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE specs SET spec = replace(spec, 'sleep', 'sweep') WHERE name = 'a'")
    spoilt = path.read_bytes()

    with SqliteJournal(path) as journal:
        assert journal.damage is not None
        assert journal.damage.lost == ("a",)
        assert journal.damage.agents == ("b",)
        assert "checksum" in journal.damage.why
        assert Path(journal.damage.kept_as).read_bytes() == spoilt
        assert journal.load().agents == (original.agents["b"][-1],)
        assert journal.load().at == float(BATCHES)
        assert {stored.seq: stored.entry for stored in asyncio.run(journal.read(limit=10_000))} == original.entries
    with SqliteJournal(path) as journal:
        assert journal.damage is None


def test_supervised_time_goes_on_when_its_row_is_lost(tmp_path: Path) -> None:
    """Deadlines of saved states are instants of it: beginning again at 0 would put them off by weeks."""
    original = make_original(tmp_path, with_log=False)
    path = original.directory / NAME
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE meta SET value = '{}' WHERE key = '#saved'")

    with SqliteJournal(path) as journal:
        assert journal.damage is not None
        assert journal.load().at == float(BATCHES)


def test_damage_met_while_running_is_healed_while_running(tmp_path: Path) -> None:
    path = make_original(tmp_path, with_log=False).directory / NAME

    async def run_into_it() -> None:
        with SqliteJournal(path) as journal:
            with open(path, "r+b") as file:
                file.seek(4096)
                file.write(os.urandom(path.stat().st_size - 4096))
            failures = 0
            while True:
                try:
                    await journal.commit(numbered_batch(1000))
                    break
                except JournalFailed:
                    failures += 1
                    assert failures < 3
            assert journal.damage is not None
            assert [agent.restarts for agent in journal.load().agents] == [1000, 1000]
            assert (await journal.read(newest=True, limit=1))[0].entry.detail["batch"] == 1000

    asyncio.run(run_into_it())


@pytest.mark.parametrize("stage", ["before the old one is moved", "after the database", "after its log"])
def test_a_salvage_that_was_cut_off_is_finished_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    original = make_original(tmp_path, with_log=True)
    path = original.directory / NAME
    path.write_bytes(b"")
    log = path.with_name(NAME + "-wal").read_bytes()
    renames = {"before the old one is moved": 1, "after the database": 2, "after its log": 3}[stage]
    made: list[object] = []

    class PowerCut(BaseException):
        pass

    def rename(source: object, target: object) -> None:
        if len(made) == renames:
            raise PowerCut
        made.append(target)
        os.replace(source, target)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr("phoenixd.drivers.journal.salvage.os.rename", rename)
        with pytest.raises(PowerCut):
            SqliteJournal(path)

    with SqliteJournal(path) as journal:
        assert journal.damage is not None
        assert not Path(journal.damage.kept_as).read_bytes().strip(b"\0")
        assert Path(journal.damage.kept_as + "-wal").read_bytes() == log
