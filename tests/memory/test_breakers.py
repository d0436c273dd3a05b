"""`.circuit_breaker.json`: what stands in it, and what an operator may do to it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.breaker import Breaker, Closed, HalfOpen, Open, Tally
from phoenixd.core.events.orders import BreakerCorrupt, BreakerEdited, BreakerReset
from phoenixd.core.spec import Kind
from phoenixd.directories import Directories
from phoenixd.documents.breaker_file import NAME, BreakerFile, read_breaker, render_breaker
from phoenixd.drivers.files import plain as files
from phoenixd.memory import breakers
from phoenixd.memory.breakers import BreakerFiles, make_file
from tests.agents import an_agent

OPEN = Open(Tally(5, 5, 0, ("git:1",), opens=1), "5 iterations without progress", 1.0, 1_800_000_000.0)
WARNED = HalfOpen(Tally(3, 3, seen=("git:1",)), "warning", "3 iterations without progress")


def loop(breaker: Breaker | None = None) -> Agent:
    agent = an_agent(breaker=breaker or Closed())
    return replace(agent, spec=replace(agent.spec, kind=Kind.LOOP))


class Room:
    def __init__(self, state: Path) -> None:
        self.directories = Directories(None, state, state / "run")
        self.path = self.directories.agent_state("a") / NAME
        self.path.parent.mkdir(parents=True)
        self.reborn()

    def reborn(self) -> None:
        """Another daemon, which remembers nothing."""
        self.files = BreakerFiles(self.directories, files)

    async def holds(self, breaker: Breaker) -> None:
        """The file was made, and then written with this."""
        await self.files.publish(loop())
        await self.files.publish(loop(breaker))

    @property
    def written(self) -> dict[str, Any]:
        return dict(json.loads(self.path.read_text()))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    monkeypatch.setattr(breakers, "PATIENCE", 0.01)
    return Room(tmp_path)


async def test_g18_g31_the_file_is_made_closed_and_has_the_seeds_keys(room: Room) -> None:
    assert await room.files.publish(loop()) is None
    assert room.written["state"] == "CLOSED"
    assert {"state", "no_progress_count", "last_progress_iteration", "reason", "opened_at", "fingerprint",
            "total_opens"} <= room.written.keys()  # fmt: skip

    await room.files.publish(loop(OPEN))

    assert (room.written["state"], room.written["no_progress_count"]) == ("OPEN", 5)
    assert room.written["opened_at"] == "2027-01-15T08:00:00Z"


async def test_g64_f_cb_9_judgements_before_the_first_publication_are_no_deletion(room: Room) -> None:
    """Iterations of a tenth of a second are counted before any document is written, also by a daemon that is killed."""
    make_file(an_agent(), room.path.parent, files)
    assert not room.path.exists(), "only loops have one"
    make_file(loop(), room.path.parent, files)
    room.reborn()

    assert await room.files.publish(loop(OPEN)) is None
    assert room.written["state"] == "OPEN"

    room.path.unlink()
    make_file(loop(OPEN), room.path.parent, files)
    assert isinstance(await room.files.publish(loop(OPEN)), BreakerReset), "that was a deletion"


async def test_only_loops_have_the_file(room: Room) -> None:
    await room.files.publish(an_agent())

    assert not room.path.exists()


@pytest.mark.parametrize("remembers", [True, False])
async def test_g33_deleting_the_file_is_a_reset_told_once_also_to_another_daemon(room: Room, remembers: bool) -> None:
    await room.holds(OPEN)
    if not remembers:
        room.reborn()
    room.path.unlink()

    assert await room.files.look(loop(OPEN)) == BreakerReset("a", f"the deletion of {NAME}")
    assert await room.files.look(loop(OPEN)) is None
    assert await room.files.publish(loop()) is None
    assert room.written["state"] == "CLOSED"


async def test_a_deletion_is_seen_before_the_file_is_written_again(room: Room) -> None:
    await room.holds(WARNED)
    room.path.unlink()

    assert await room.files.publish(loop(OPEN)) == BreakerReset("a", f"the deletion of {NAME}")
    assert not room.path.exists()


class BusyHand:
    """Files, under which somebody does something just after the daemon has looked."""

    def __init__(self, does: Callable[[], object]) -> None:
        self.does: list[Callable[[], object]] = [does]

    def __getattr__(self, name: str) -> Any:
        return getattr(files, name)

    def read_plain(self, path: str, limit: int) -> bytes:
        content = files.read_plain(path, limit)
        while self.does:
            self.does.pop()()
        return content


async def test_g33_a_deletion_just_before_the_file_is_rewritten_is_not_lost(room: Room) -> None:
    await room.holds(WARNED)
    room.files = BreakerFiles(room.directories, BusyHand(room.path.unlink))

    assert await room.files.publish(loop(OPEN)) == BreakerReset("a", f"the deletion of {NAME}")
    assert not room.path.exists()


async def test_an_edit_just_before_the_file_is_rewritten_is_not_lost(room: Room) -> None:
    await room.holds(WARNED)
    room.files = BreakerFiles(room.directories, BusyHand(lambda: room.path.write_text('{"state": "CLOSED"}')))

    assert await room.files.publish(loop(OPEN)) == BreakerEdited("a", "CLOSED", 0)
    assert room.written == {"state": "CLOSED"}


@pytest.mark.parametrize("remembers", [True, False])
async def test_an_edit_is_told_and_other_keys_are_kept(room: Room, remembers: bool) -> None:
    await room.holds(WARNED)
    if not remembers:
        room.reborn()
    room.path.write_text(json.dumps({**room.written, "state": "CLOSED", "no_progress_count": 1, "mine": "x"}))

    assert await room.files.look(loop(WARNED)) == BreakerEdited("a", "CLOSED", 1)
    await room.files.publish(loop(Closed(Tally(no_progress=1))))
    assert (room.written["no_progress_count"], room.written["mine"]) == (1, "x")


async def test_a_file_by_hand_needs_the_state_alone(room: Room) -> None:
    await room.holds(WARNED)
    room.path.write_text('{"state": "OPEN"}')

    assert await room.files.look(loop(WARNED)) == BreakerEdited("a", "OPEN", 0)


async def test_f_cb_9_a_file_that_a_crash_left_behind_is_no_edit(room: Room) -> None:
    """The journal is the truth: kill -9 came between the decision and the file."""
    await room.holds(WARNED)
    room.reborn()

    assert await room.files.publish(loop(OPEN)) is None
    assert room.written["state"] == "OPEN"


@pytest.mark.parametrize("content", [b"", b"{", b'"OPEN"', b'{"state": "AJAR"}', b"\xff\xfe", b"[" * 10_000,
                                     b'{"state": "OPEN", "no_progress_count": -1}',
                                     b'{"state": "OPEN", "no_progress_count": 1e999}'])  # fmt: skip
async def test_g58_f_cb_8_a_corrupt_file_is_told_kept_and_replaced(room: Room, content: bytes) -> None:
    await room.holds(WARNED)
    room.path.write_bytes(content)

    assert isinstance(await room.files.look(loop(WARNED)), BreakerCorrupt)
    if content:
        assert (room.path.parent / f"{NAME}.damaged").read_bytes() == content
    assert await room.files.publish(loop(WARNED)) is None
    assert room.written["state"] == "HALF_OPEN"


async def test_a_link_a_fifo_or_a_huge_file_is_never_followed_nor_waited_for(room: Room, tmp_path: Path) -> None:
    await room.holds(WARNED)
    secret = tmp_path / "secret"
    secret.write_text('{"state": "CLOSED"}')

    for put in (lambda: room.path.symlink_to(secret), lambda: os.mkfifo(room.path),
                lambda: room.path.write_bytes(b" " * 1_000_000)):  # fmt: skip
        room.path.unlink()
        put()
        assert isinstance(await room.files.look(loop(WARNED)), BreakerCorrupt)
        assert await room.files.publish(loop(WARNED)) is None
        assert room.written["state"] == "HALF_OPEN"
    assert secret.read_text() == '{"state": "CLOSED"}'


@pytest.mark.parametrize("breaker", [Closed(), WARNED, OPEN, HalfOpen(OPEN.tally, "trial", "started\n\0")])
def test_what_is_rendered_is_read_back_as_the_daemons(breaker: Breaker) -> None:
    reading = read_breaker(render_breaker(breaker, {"mine": [1]}))

    assert reading == BreakerFile(breaker.name, breaker.tally.no_progress, "daemon", {"mine": [1]})


def test_a_file_that_an_older_phoenixd_wrote_is_no_edit() -> None:
    """Its seal covers the keys that it knew."""
    written = (
        '{"state": "HALF_OPEN", "no_progress_count": 3, "last_progress_iteration": 0, "iteration": 3, "reason": "r", '
        '"opened_at": null, "fingerprint": "git:1", "total_opens": 0, "seal": "SEAL"}'
    )
    plain = {key: value for key, value in json.loads(written).items() if key != "seal"}
    seal = sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]

    assert read_breaker(written.replace("SEAL", seal).encode()) == BreakerFile("HALF_OPEN", 3, "daemon", {})
    edited = written.replace("SEAL", seal).replace('"iteration": 3', '"iteration": 4').encode()
    assert read_breaker(edited) == BreakerFile("HALF_OPEN", 3, "hand", {})
