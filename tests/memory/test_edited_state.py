"""state.json under other hands: edited by an operator, torn, broken, taken away, or of another version."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from phoenixd.core.events import Event
from phoenixd.core.events.fleet import StateEdited
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.files.changes import DirectoryChanges
from phoenixd.errors import LaunchFailed
from phoenixd.memory import publication, shelf
from tests.memory.desk import LOOP, edit, place
from tests.start.places import Room
from tests.waiting import eventually


async def test_f_st_5_an_operators_edit_is_kept(room: Room) -> None:
    agent = room.running(room.agent())
    await room.papers.publish(agent, [])
    edit(room, open_loops=[LOOP], numbers={"n": 5}, current_task="What I want", owner="me", status="error")

    await room.papers.publish(agent, [])

    state = room.document()
    assert [loop["id"] for loop in state["open_loops"]] == ["auth-flow"]
    assert (state["numbers"], state["owner"]) == ({"n": "5"}, "me")
    assert state["current_task"] == "What I want"
    assert state["status"] == "working"
    room.restarted()
    await room.papers.publish(agent, [])
    assert room.document()["current_task"] == "What I want"
    await room.papers.publish(replace(agent, last_prompt="Something new"), [])
    assert room.document()["current_task"] == "Something new"


async def test_f_st_5_an_edit_in_the_moment_of_our_own_write_is_merged_and_a_torn_one_kept_aside(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at state.json and its replacement stands a wait for the disk."""
    agent = room.running(room.agent())
    await room.papers.publish(agent, [])
    write, torn = plain_files.replace_unchanged, '{"agent": "a", "open_'

    def edited_first(edit_it: Callable[[], object]) -> None:
        def wait_for_the_disk(*given: Any, **more: Any) -> bool:
            monkeypatch.setattr(plain_files, "replace_unchanged", write)
            edit_it()
            return write(*given, **more)

        monkeypatch.setattr(plain_files, "replace_unchanged", wait_for_the_disk)

    edited_first(lambda: edit(room, numbers={"n": "5"}))
    await room.papers.publish(replace(agent, last_prompt="Something new"), [])
    assert room.document()["numbers"] == {"n": "5"}, "their edit stands"
    await room.papers.publish(replace(agent, last_prompt="Something new"), [])
    assert (room.document()["numbers"], room.document()["current_task"]) == ({"n": "5"}, "Something new")

    edited_first(lambda: (room.state / "state.json").write_text(torn))
    await room.papers.publish(replace(agent, last_prompt="And more"), [])
    await room.papers.publish(replace(agent, last_prompt="And more"), [])
    assert [path.read_text() for path in room.state.glob("state.json.damaged-*")] == [torn]
    assert (room.document()["numbers"], room.document()["current_task"]) == ({"n": "5"}, "And more")


async def test_f_st_3_what_could_not_be_written_is_merged_with_an_edit_made_meanwhile(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = room.running(room.agent())
    place(room, open_loops=[LOOP, {**LOOP, "id": "other"}])
    await room.papers.publish(agent, [])
    with monkeypatch.context() as full:
        full.setattr(shelf.Shelf, "write", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left")))
        assert await room.papers.resolve(room.agent(), "auth-flow", "done") == "resolved", "the log has it for good"
    before = room.document()
    edit(room, numbers={"n": "1"})
    assert len(before["open_loops"]) == 2

    await room.papers.publish(agent, [])

    state = room.document()
    assert [loop["id"] for loop in state["open_loops"]] == ["other"]
    assert state["numbers"] == {"n": "1"}


async def test_unknown_keys_survive(room: Room) -> None:
    place(room, open_loops=[{**LOOP, "priority": 1}], extra={"x": [1]})

    await room.papers.publish(room.agent(), [])

    assert room.document()["extra"] == {"x": [1]}
    assert room.document()["open_loops"][0]["priority"] == 1


async def test_p78_a_broken_state_is_kept_aside_and_rebuilt_from_memory(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "TORN_PATIENCE", 0.05)
    place(room, open_loops=[LOOP], numbers={"n": "1"})
    agent = room.running(room.agent())
    await room.papers.publish(agent, [])
    (room.state / "state.json").write_bytes(b'{"agent": "a", "open_lo')

    await room.papers.publish(agent, [])

    assert room.document()["open_loops"][0]["id"] == "auth-flow"
    assert [path.read_bytes() for path in room.state.glob("state.json.damaged-*")] == [b'{"agent": "a", "open_lo']


async def test_p78_after_a_daemon_restart_it_is_rebuilt_from_the_brief(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publication, "TORN_PATIENCE", 0.05)
    place(room, open_loops=[LOOP], numbers={"n": "1"}, current_task="x")
    await room.papers.publish(room.running(room.agent(room.spec(prompt=None))), [])
    room.restarted()
    (room.state / "state.json").write_bytes(b"\0" * 100)

    await room.papers.publish(room.running(room.agent(room.spec(prompt=None))), [])

    state = room.document()
    assert [(loop["id"], loop["added"]) for loop in state["open_loops"]] == [("auth-flow", "2026-11-15")]
    assert (state["numbers"], state["current_task"]) == ({"n": "1"}, "x")


async def test_a_torn_write_of_another_hand_is_waited_for(room: Room) -> None:
    agent = room.running(room.agent())
    await room.papers.publish(agent, [])
    whole = json.dumps({**room.document(), "numbers": {"n": "9"}})
    (room.state / "state.json").write_text(whole[:40])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.papers.publish, agent, [])
        await anyio.sleep(0.05)
        (room.state / "state.json").write_text(whole)

    assert room.document()["numbers"] == {"n": "9"}
    assert list(room.state.glob("state.json.damaged-*")) == []


async def test_copies_of_broken_states_do_not_pile_up(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publication, "TORN_PATIENCE", 0.0)
    agent = room.running(room.agent())
    for number in range(8):
        await room.papers.publish(agent, [])
        (room.state / "state.json").write_text(f"broken {number}")
    await room.papers.publish(agent, [])

    kept = {path.read_text() for path in room.state.glob("state.json.damaged-*")}
    assert kept == {f"broken {number}" for number in range(3, 8)}


async def test_p6_a_state_of_another_agent_is_not_taken(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publication, "TORN_PATIENCE", 0.0)
    place(room, open_loops=[LOOP])
    edit_text = (room.state / "state.json").read_text().replace('"agent": "a"', '"agent": "b"')
    (room.state / "state.json").write_text(edit_text)

    await room.papers.publish(room.agent(), [])

    assert room.document()["agent"] == "a"
    assert room.document()["open_loops"] == []
    assert len(list(room.state.glob("state.json.damaged-*"))) == 1


async def test_f_st_11_a_newer_version_is_left_alone(room: Room) -> None:
    place(room, version=3, open_loops=[LOOP])
    before = (room.state / "state.json").read_bytes()

    await room.papers.publish(room.running(room.agent()), [])

    assert (room.state / "state.json").read_bytes() == before
    assert "auth-flow" in room.text("brief.md")


@pytest.mark.parametrize("kind", ["symlink", "fifo"])
async def test_something_else_in_the_place_of_the_state_is_not_read_and_no_hang(
    room: Room, tmp_path: Path, kind: str
) -> None:
    room.state.mkdir(parents=True)
    victim = tmp_path / "victim"
    victim.write_text('{"agent": "a", "current_task": "stolen"}')
    path = room.state / "state.json"
    if kind == "symlink":
        path.symlink_to(victim)
    else:
        os.mkfifo(path)

    await room.papers.publish(room.agent(room.spec(prompt=None)), [])

    assert room.document()["current_task"] is None
    assert not path.is_symlink()
    assert "stolen" in victim.read_text()


async def test_f_st_5_an_edit_is_taken_up_and_stale_flagged_without_any_event(room: Room) -> None:
    await room.papers.publish(room.agent(), [])

    async with anyio.create_task_group() as tasks:
        edit(room, open_loops=[{**LOOP, "added": "2026-11-06"}])
        tasks.start_soon(room.papers.run)
        with anyio.fail_after(10):
            while not any(loop.get("stale") for loop in room.document()["open_loops"]):
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()

    assert (room.papers.loops("a").open, room.papers.loops("a").stale) == (1, 1)
    assert room.papers.stale_loops(["a", "b"]) == {"a": 1}
    assert "`auth-flow` is stale" in room.text("brief.md")


async def test_a_directory_that_was_taken_away_in_the_middle_of_a_write_is_put_back_without_any_event(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look for news failed at what stood in its place, and nothing was written until the agent's next event."""
    await room.papers.publish(room.running(room.agent()), [])
    write = plain_files.replace_unchanged

    def taken_away(*given: Any, **more: Any) -> bool:
        monkeypatch.setattr(plain_files, "replace_unchanged", write)
        shutil.rmtree(room.state)
        os.mkfifo(room.state)
        return write(*given, **more)

    monkeypatch.setattr(plain_files, "replace_unchanged", taken_away)
    (room.state / "state.json").unlink()
    await room.papers.publication.look_for_edit("a")
    assert stat.S_ISFIFO(room.state.stat().st_mode), "the write failed, and who took it away is not heard of again"

    (desk,) = publication._due(room.papers.publication.desks.each(), room.clock.wall)
    assert desk.agent is not None
    await room.papers.publish(desk.agent, [])

    assert room.document()["agent"] == "a"
    assert "# a" in room.text("brief.md")
    assert stat.S_ISFIFO(room.state.with_name("a.aside-1").stat().st_mode)


async def test_f_st_5_an_operators_edit_is_taken_over_while_nothing_else_happens(tmp_path: Path) -> None:
    """It waited for the next write, or the look each minute, which is off here; `stale` comes with it (P28)."""
    told: list[StateEdited] = []
    room = Room(tmp_path)

    def hear(event: Event) -> None:
        # The loop that is stale is told beside it.
        if isinstance(event, StateEdited):
            told.append(event)

    room.options = {"changes": DirectoryChanges(), "tell": hear}
    room.restarted()
    await room.papers.publish(room.agent(), [])
    room.clock.stands_still = True
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.papers.run)
        edit(room, open_loops=[{**LOOP, "added": "2026-01-02"}], numbers={"tests": "47/52"})
        await eventually(lambda: told == [StateEdited("a")])
        assert room.document()["open_loops"][0]["stale"] is True
        assert room.document()["numbers"] == {"tests": "47/52"}
        (room.state / "state.json").unlink()
        await eventually(lambda: told == [StateEdited("a")] * 2)
        assert room.document()["numbers"] == {"tests": "47/52"}, "what was deleted is written anew from memory"
        await room.papers.publish(room.running(room.agent()), [])
        await anyio.wait_all_tasks_blocked()
        assert len(told) == 2, "our own writes are no edits"
        tasks.cancel_scope.cancel()


async def test_f_st_5_an_edit_that_another_look_took_over_is_told_as_well(room: Room) -> None:
    """A publication under way, or a face that asks for the loops, reads the file before the watch does."""
    told: list[Event] = []
    room.papers.publication.edited = lambda name: told.append(StateEdited(name))
    agent = room.running(room.agent())
    await room.papers.publish(agent, [])
    await room.papers.publication.look_for_edit("a")
    assert told == [], "our own writes are no edits"
    edit(room, open_loops=[LOOP])
    await room.papers.publish(agent, [])
    await room.papers.publication.look_for_edit("a")
    await room.papers.publication.look_for_edit("a")
    assert told == [StateEdited("a")]


async def test_f_st_4_documents_that_may_not_be_written_are_a_fault_and_the_start_is_refused(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    await room.papers.publish(room.agent(), [])

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "state.json")

    monkeypatch.setattr(plain_files, "replace", refused)
    with pytest.raises(PermissionError):
        await room.papers.publish(room.running(room.agent(room.spec(prompt="Else."))), [])
    with pytest.raises(LaunchFailed, match="could not be written") as failed:
        await room.order(room.agent(room.spec(prompt="Else.")))
    assert failed.value.remedy


async def test_f_st_5_an_edit_of_the_very_moment_of_a_write_is_not_taken_for_ours(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was overwritten by the next write, and nobody heard of it."""
    write = plain_files.replace_unchanged

    def replace_and_be_overtaken(path: Any, *given: Any, **named: Any) -> bool:
        written = write(path, *given, **named)
        if Path(path).name == "state.json":
            monkeypatch.setattr(plain_files, "replace_unchanged", write)
            edit(room, numbers={"tests": "47/52"})
        return written

    monkeypatch.setattr(plain_files, "replace_unchanged", replace_and_be_overtaken)
    await room.papers.publish(room.agent(), [])
    await room.papers.publish(room.agent(room.spec(prompt="Else.")), [])

    assert room.document()["numbers"] == {"tests": "47/52"}
    assert room.document()["current_task"] == "Else."
