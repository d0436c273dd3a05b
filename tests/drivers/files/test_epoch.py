"""Epoch and wishes on disk: whole or nothing, in place, and never an older one over a newer one."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from phoenixd.core.behind.world import GivenUp, KeptBreaker, Wish, cause_of
from phoenixd.core.breaker import Open, Tally
from phoenixd.documents.breaker_file import render_breaker
from phoenixd.documents.epoch import LENGTH, parse_epoch, parse_wish, render_epoch, render_wish
from phoenixd.documents.resonance.anchor import Anchor, render_anchor
from phoenixd.drivers.files import epoch
from phoenixd.drivers.files.epoch import EpochFiles
from phoenixd.errors import UnsafeFile
from phoenixd.planting import Marker


async def test_what_was_kept_is_read_again_and_an_older_one_never_takes_its_place(tmp_path: Path) -> None:
    files = EpochFiles(tmp_path)
    assert (files.epoch(), files.names()) == (0, frozenset())
    await files.keep_epoch(7)
    await files.keep_wish("a", Wish("stopped", 7, 3))
    await files.keep_epoch(6)
    await files.keep_wish("a", Wish("running", 6, 2))
    again = EpochFiles(tmp_path)
    assert again.epoch() == 7
    assert again.run_files("a").wish == Wish("stopped", 7, 3)
    assert again.names() == {"a"}
    assert (tmp_path / "epoch").stat().st_mode & 0o777 == 0o600


async def test_promise_3_a_wish_says_that_a_member_of_a_sequence_has_no_turns_and_an_older_one_says_nothing_of_it(
    tmp_path: Path,
) -> None:
    files = EpochFiles(tmp_path)
    await files.keep_wish("a", Wish("stopped", 7, 3, left_out=True))
    assert EpochFiles(tmp_path).run_files("a").wish == Wish("stopped", 7, 3, left_out=True)
    assert b"left_out" not in render_wish(Wish("stopped", 7, 3)), "what an older version wrote, byte by byte"
    assert len(render_wish(Wish("running", 2**62 - 1, 2**62 - 1, left_out=True))) == LENGTH


@pytest.mark.parametrize("text", ["5 crashes in 84 s", '"\\' * 200, "Verzeichnis \u00fcberschrieben\x1b[2J", ""])
async def test_promise_3_a_wish_says_that_an_agent_was_given_up_in_a_record_of_the_same_length(
    tmp_path: Path, text: str
) -> None:
    wish = Wish("running", 2**62 - 1, 10**15, True, GivenUp(cause_of(text), True, True, True))
    await EpochFiles(tmp_path).keep_wish("a", wish)
    assert (tmp_path / "agents/a/wish.json").stat().st_size == LENGTH
    assert EpochFiles(tmp_path).run_files("a").wish == wish
    assert b"given_up" not in render_wish(Wish("running", 7, 3)), "what an older version wrote, byte by byte"


def test_the_breaker_and_the_session_that_bears_a_marker_are_read_of_their_files(tmp_path: Path) -> None:
    place, memory = tmp_path / "agents/lead-g2", tmp_path / "memory"
    place.mkdir(parents=True)
    memory.mkdir()
    found = EpochFiles(tmp_path).run_files("lead-g2")
    assert (found.breaker, found.anchored) == (None, "")
    tally = Tally(iterations=9, no_progress=5, last_progress=4, opens=2, notes=1)
    (place / ".circuit_breaker.json").write_bytes(render_breaker(Open(tally, "5 iterations did nothing", 1.0, 2.0)))
    anchor = Anchor(Marker("AMBER", "7f3a9c"), "2026-01-01-001", 1.0, others={"native_session_id": "s-1"})
    (memory / "resonance_anchor_lead.json").write_text(render_anchor(anchor))
    found = EpochFiles(tmp_path).run_files("lead-g2")
    assert found.breaker == KeptBreaker("OPEN", 5, 9, 4, 2, 1, "5 iterations did nothing")
    assert found.anchored == "s-1"
    (place / ".circuit_breaker.json").write_text('{"state": "AJAR"}')
    (memory / "resonance_anchor_lead.json").write_text("torn")
    found = EpochFiles(tmp_path).run_files("lead-g2")
    assert (found.breaker, found.anchored) == (None, "")


async def test_a_full_disk_has_room_for_it_because_it_keeps_its_place_and_size(tmp_path: Path) -> None:
    files = EpochFiles(tmp_path)
    await files.keep_epoch(1)
    before = (tmp_path / "epoch").stat()
    await files.keep_epoch(2**40)
    after = (tmp_path / "epoch").stat()
    assert (before.st_ino, before.st_size, before.st_blocks) == (after.st_ino, after.st_size, after.st_blocks)


async def test_a_record_that_has_its_size_waits_for_its_own_bytes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An order waits for that: the log of the file system, in which every document stands, is not synced for it."""
    synced: list[str] = []
    for name in ("fsync", "fdatasync", "ftruncate"):
        monkeypatch.setattr(os, name, partial(_noted, synced, name, getattr(os, name)))
    files = EpochFiles(tmp_path)
    await files.keep_epoch(1)
    assert synced == ["ftruncate", "fsync", "fsync"], "its size, and its name in the directory"
    synced.clear()
    await files.keep_epoch(2)
    assert synced == ["fdatasync"]
    (tmp_path / "epoch").write_bytes(b"cut")
    synced.clear()
    await files.keep_epoch(3)
    assert synced == ["ftruncate", "fsync"]
    assert EpochFiles(tmp_path).epoch() == 3


def _noted(calls: list[str], name: str, call: Callable[..., None], *given: int) -> None:
    calls.append(name)
    call(*given)


@pytest.mark.parametrize("cut", [0, 1, 100, LENGTH - 20])
def test_a_torn_record_is_none(cut: int) -> None:
    assert parse_epoch(render_epoch(123456)[: min(cut, 20)]) is None
    assert parse_wish(render_wish(Wish("running", 5))[: min(cut, 20)]) is None


def test_every_flipped_bit_of_a_record_is_noticed() -> None:
    whole = render_wish(Wish("stopped", 5, 2)).rstrip()
    for at in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[at // 8] ^= 1 << at % 8
        assert parse_wish(bytes(flipped)) in (None, Wish("stopped", 5, 2))


@pytest.mark.parametrize(
    "content", [b"[]", b"{}", b'{"epoch": true, "crc": 1}', b"\xff", b'{"wish": ["a"], "epoch": 1}']
)
def test_what_an_agent_writes_there_is_none(content: bytes) -> None:
    assert (parse_epoch(content), parse_wish(content)) == (None, None)


async def test_a_link_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    (tmp_path / "agents" / "a").mkdir(parents=True)
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "agents" / "a" / "wish.json").symlink_to(tmp_path / "victim")
    files = EpochFiles(tmp_path)
    with pytest.raises(OSError, match="symbolic"):
        await files.keep_wish("a", Wish("stopped", 1))
    os.link(tmp_path / "victim", tmp_path / "epoch")
    with pytest.raises(UnsafeFile):
        await files.keep_epoch(1)
    assert (tmp_path / "victim").read_text() == "mine"
    assert (files.run_files("a").wish, files.epoch()) == (None, 0)


def test_a_run_that_an_agent_made_up_is_read_within_bounds(tmp_path: Path) -> None:
    place = tmp_path / "agents" / "a"
    place.mkdir(parents=True)
    wrong = {"incarnation": 10**40, "run_id": 5, "child": [], "started_at": "x" * 10**4, "session_id": {"a": 1}}
    (place / "run.json").write_text(json.dumps(wrong))
    (place / "exit.json").write_text("[" * 10_000)
    found = EpochFiles(tmp_path).run_files("a")
    assert (found.last, found.incarnation) == (None, 0)
    (place / "run.json").write_text(json.dumps({**wrong, "incarnation": 4, "run_id": "r" * 100}))
    found = EpochFiles(tmp_path).run_files("a")
    assert found.last is not None
    assert (found.last.incarnation, found.last.pid, found.incarnation) == (4, None, 4)


async def test_no_table_by_names_grows_with_the_agents_that_were(tmp_path: Path) -> None:
    """Each worker has a name of its own."""
    files = EpochFiles(tmp_path)
    await files.keep_epoch(1)
    for number in range(20):
        await files.keep_wish(f"w{number}", Wish("running", number + 2, 1))
        await files.keep_wish(f"w{number}", Wish("removed", number + 2, 1))

    assert set(files._written) == {tmp_path / "epoch"}
    assert files._locks == {}


async def test_an_older_wish_that_waits_for_its_turn_never_takes_the_place_of_a_removal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written is remembered for as long as anybody has something to write there."""
    files, begun, go_on = EpochFiles(tmp_path), threading.Event(), threading.Event()

    def render(wish: Wish) -> bytes:
        if wish.word == "running":
            begun.set()
            assert go_on.wait(60)
        return render_wish(wish)

    monkeypatch.setattr(epoch, "render_wish", render)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(files.keep_wish, "a", Wish("running", 5, 1))
        await anyio.to_thread.run_sync(begun.wait)
        tasks.start_soon(files.keep_wish, "a", Wish("removed", 6, 1))
        tasks.start_soon(files.keep_wish, "a", Wish("stopped", 4, 1))
        await anyio.lowlevel.checkpoint()
        go_on.set()

    assert files.run_files("a").wish == Wish("removed", 6, 1)
    assert (files._written, files._locks) == ({}, {})
