"""The documents that people and agents read: kept up to date, merged with an operator's hand, rebuilt when broken."""

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

from phoenixd.core.actions import RecordIncident
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Incident, LastExit, Mode
from phoenixd.core.agent.state import Quarantined
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import StateEdited
from phoenixd.documents.workspace import Commit, GitSummary
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.files.changes import DirectoryChanges
from phoenixd.errors import LaunchFailed
from phoenixd.memory import ops_log, publication, shelf
from tests.documents.test_state import SEED_EXAMPLE
from tests.start.places import NOW, Room, entry
from tests.transcripts.samples import answer, prompt
from tests.waiting import eventually

LOOP = {"id": "auth-flow", "text": "OAuth redirect not tested", "added": "2026-11-15"}


def place(room: Room, **fields: Any) -> None:
    """Write a state.json as an operator would."""
    room.state.mkdir(parents=True, exist_ok=True)
    (room.state / "state.json").write_text(json.dumps({"agent": "a", **fields}))


def edit(room: Room, **fields: Any) -> None:
    place(room, **{**room.document(), **fields})


async def test_p5_p7_p8_state_json_tells_agent_status_and_task(room: Room) -> None:
    agent = room.running(room.agent())

    await room.papers.publish(agent, [])

    state = room.document()
    assert (state["agent"], state["status"], state["current_task"]) == ("a", "working", "Do it.")
    assert state["last_active"] == "2026-11-21T10:00:00Z"
    assert stat.S_IMODE((room.state / "state.json").stat().st_mode) == 0o600
    await room.papers.publish(room.running(room.agent(), turn_open=False), [])
    assert room.document()["status"] == "idle"
    await room.papers.publish(room.agent(state=Quarantined("crash loop")), [])
    assert room.document()["status"] == "error"


async def test_the_task_is_the_goal_until_a_prompt_is_submitted_then_the_prompt(room: Room) -> None:
    agent = room.running(room.agent())
    await room.papers.publish(agent, [])
    await room.papers.publish(replace(agent, last_prompt="Fix the \x1b[31mlogin, password=hunter2"), [])

    assert room.document()["current_task"] == "Fix the login, password=[redacted]"


async def test_p8_an_agent_without_hooks_is_read_by_its_transcript(room: Room) -> None:
    """Its task and its last sign of life (F-HB-7); a time that lies in the future is none (F-HB-3)."""
    agent = room.running(room.agent(room.spec(harness="claude")))
    room.write_down(agent, prompt("Do it.", timestamp="2026-11-21T10:00:00Z"))
    room.write_down(agent, prompt("Fix the login, password=hunter2", timestamp="2026-11-21T10:00:30Z"))
    await room.papers.publish(agent, [])
    assert room.document()["current_task"] == "Fix the login, password=[redacted]"

    room.clock.wall = NOW + 60
    room.write_down(agent, answer(timestamp="2026-11-21T10:00:40Z"))
    await room.papers.publish(agent, [])
    assert room.document()["last_active"] == "2026-11-21T10:00:40Z"

    room.write_down(agent, answer(timestamp="2031-01-01T00:00:00Z"))
    await room.papers.publish(agent, [])
    assert room.document()["last_active"] == "2026-11-21T10:00:40Z"


async def test_p8_a_lost_prompt_hook_is_noticed_without_any_event(room: Room) -> None:
    """The fold of every minute reads what the transcripts got since."""
    agent = room.running(room.agent(room.spec(harness="claude")))
    await room.papers.publish(agent, [])
    room.write_down(agent, prompt("Fix the login.", timestamp="2026-11-21T09:00:00Z"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.papers.run)
        with anyio.fail_after(10):
            while room.document()["current_task"] != "Fix the login.":
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()


async def test_p79_what_begins_with_an_operators_mark_is_taken_out_of_the_task(tmp_path: Path) -> None:
    room = Room(tmp_path, redaction={"marks": ["acme_"]})
    await room.papers.publish(room.agent(room.spec(prompt="Use acme_a1b2c3d4 to log in.")), [])

    assert room.document()["current_task"] == "Use [redacted] to log in."
    assert room.papers.clean(None, "acme_a1b2c3d4") == room.papers.clean("nobody", "acme_a1b2c3d4") == "[redacted]"


async def test_p87_the_seeds_quick_start_file_is_taken_over(room: Room) -> None:
    room.state.mkdir(parents=True)
    (room.state / "state.json").write_bytes(SEED_EXAMPLE.replace(b"myagent", b"a"))
    agent = room.agent(room.spec(prompt=None))

    await room.order(agent)

    state = room.document()
    assert state["current_task"] == "Implementing feature X"
    assert state["numbers"] == {"tests_passing": "47/52"}
    told = room.text("session-start.1.txt")
    assert told.startswith("RECOVERY DETECTED - Last task: Implementing feature X\n")
    assert "Open loops: 1" in told


async def test_p3_a_run_that_was_never_before_is_told_its_goal_and_no_recovery(room: Room) -> None:
    await room.order(room.agent())

    told = room.text("session-start.1.txt")
    assert "RECOVERY" not in told
    assert "Do it." in told
    answer = room.document("session-start.1.json")
    assert answer["hookSpecificOutput"]["additionalContext"] == told
    assert told == room.text("brief.md")


async def test_f_sy_1_a_daemon_that_finds_a_run_at_work_writes_none_of_its_documents_anew(room: Room) -> None:
    agent = room.running(room.agent())
    await room.order(agent)
    await room.papers.publish(agent, [entry("agent_started", reason="exec succeeded, pid 7")])

    def written() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in room.state.iterdir() if path.name != "ops.jsonl"}

    before = written()
    await room.restarted().publish(agent, [entry("run_adopted", reason="adopted, pid 7", pid=7)])

    assert {"brief.md", "session-start.1.txt", "session-start.1.json", "state.json"} <= before.keys()
    assert written() == before
    assert '"event": "run_adopted"' in room.text("ops.jsonl")


@pytest.mark.parametrize(("passed", "named"), [(250, "2026-11-21T10:00:00Z"), (350, "2026-11-21T10:05:45Z")])
async def test_p9_a_daemon_that_begins_writes_a_newer_sign_of_life_once_what_stands_there_is_old(
    room: Room, passed: float, named: str
) -> None:
    agent = room.running(room.agent())
    await room.order(agent)
    await room.papers.publish(agent, [entry("agent_started", reason="exec succeeded, pid 7")])
    assert room.document()["last_active"] == "2026-11-21T10:00:00Z"

    room.clock.wall = NOW + passed
    (room.state / "heartbeat.json").write_text(json.dumps({"timestamp": room.clock.wall - 5}))
    await room.restarted().publish(agent, [entry("run_adopted", reason="adopted, pid 7", pid=7)])

    assert room.document()["last_active"] == named


async def test_p15_a_run_after_an_interrupted_one_is_told_so_until_it_is_at_work(room: Room) -> None:
    agent = room.crashed(room.running(room.agent()))
    await room.order(agent, Mode.RESUME, PromptKind.CONTINUE)
    assert "in the middle of its work at 2026-11-21T10:00:00Z (SIGKILL)" in room.text("session-start.2.txt")

    await room.papers.publish(room.starting(agent), [])
    assert "RECOVERY" in room.text("session-start.2.txt")
    await room.papers.publish(room.running(agent), [])
    assert "RECOVERY" not in room.text("session-start.2.txt")


@pytest.mark.parametrize(
    ("state", "code", "signal", "told"),
    [
        ("backing_off", None, 9, True),
        ("backing_off", 1, None, True),
        ("stopped", None, 9, False),
        ("stopped", 0, None, False),
    ],
)
async def test_p15_an_idle_run_that_failed_is_worded_as_an_error_and_a_stop_is_silent(
    room: Room, state: str, code: int | None, signal: int | None, told: bool
) -> None:
    agent = room.agent(last_exit=LastExit(1, code, signal, "exit", 9.0, NOW), incarnation=1)
    await room.papers.publish(agent, [entry("agent_exited", state, "it ended", code=code, signal=signal)])

    await room.order(agent, Mode.RESUME, PromptKind.NONE)

    assert ("ended with an error" in room.text("session-start.2.txt")) is told


async def test_p2_p86_a_new_daemon_goes_on_with_what_the_files_say(room: Room) -> None:
    place(room, open_loops=[LOOP])
    await room.papers.publish(room.running(room.agent()), [entry("agent_started", reason="exec succeeded, pid 7")])

    room.restarted()
    await room.order(room.agent())

    brief = room.text("brief.md")
    assert "- `auth-flow`: OAuth redirect not tested (open since 2026-11-15)" in brief
    assert "run start: exec succeeded, pid 7" in brief


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


async def test_p28_p29_stale_loops_are_flagged_as_the_day_turns(room: Room) -> None:
    place(room, open_loops=[{**LOOP, "added": "2026-11-07"}])
    await room.papers.publish(room.agent(), [])
    assert room.document()["open_loops"][0]["stale"] is False
    assert room.papers.loops("a").stale == 0
    assert room.papers.stale_loops(["a", "b"]) == {}

    async with anyio.create_task_group() as tasks:
        room.clock.wall = NOW + 86400
        tasks.start_soon(room.papers.run)
        with anyio.fail_after(10):
            while not room.document()["open_loops"][0]["stale"]:
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()

    assert (room.papers.loops("a").open, room.papers.loops("a").stale) == (1, 1)
    assert room.papers.stale_loops(["a", "b"]) == {"a": 1}
    assert "is stale" in room.text("brief.md")


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


async def test_f_hb_3_a_heartbeat_ahead_of_the_clock_counts_once_the_clock_is_there(room: Room) -> None:
    """One that did not change is not read again, unless time alone makes a difference."""
    await room.papers.publish(room.running(room.agent()), [])
    shelf, file = room.papers.publication.desks.desk("a").shelf, room.state / "heartbeat.json"

    file.write_text(json.dumps({"timestamp": NOW + 100}))
    assert [shelf.heartbeat_time(NOW), shelf.heartbeat_time(NOW + 90)] == [None, NOW + 90]
    assert [shelf.heartbeat_time(NOW + 130), shelf.heartbeat_time(NOW + 140)] == [NOW + 100, NOW + 100]
    file.write_text(json.dumps({"timestamp": NOW + 150, "tool": "Bash"}))
    assert shelf.heartbeat_time(NOW + 200) == NOW + 150
    file.unlink()
    assert shelf.heartbeat_time(NOW + 200) is None


async def test_p36_a_heartbeat_moves_last_active_without_any_event(room: Room) -> None:
    await room.papers.publish(room.running(room.agent()), [])
    beat = {"timestamp": "2026-11-21T10:00:30.000Z", "tool": "Bash", "run_id": "r"}
    (room.state / "heartbeat.json").write_text(json.dumps(beat))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.papers.run)
        with anyio.fail_after(10):
            while room.document()["last_active"] != "2026-11-21T10:00:30Z":
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert room.papers.heartbeat("a") == beat


async def test_loops_are_counted_for_an_agent_that_nobody_published_yet(room: Room) -> None:
    place(room, open_loops=[LOOP, {**LOOP, "id": "old", "added": "2026-01-01"}])

    counts = room.papers.loops("a")

    assert (counts.open, counts.stale) == (2, 1)
    assert room.papers.loops("b").open == 0


async def test_counting_loops_touches_nothing(room: Room) -> None:
    """A request for the status holds no lock, and must not repair what somebody else may be writing."""
    place(room, open_loops=[LOOP, 5])
    before = sorted(room.state.iterdir())

    assert room.papers.loops("a").open == 1

    assert sorted(room.state.iterdir()) == before
    await room.papers.publish(room.agent(), [])
    assert list(room.state.glob("state.json.damaged-*")), "what a writer makes of it"


class TestResolve:
    async def test_p26_p50_p51_it_is_in_the_log_and_in_the_state_at_once(self, room: Room) -> None:
        place(room, open_loops=[LOOP, {**LOOP, "id": "other"}])
        await room.papers.publish(room.running(room.agent()), [])

        assert await room.papers.resolve(room.agent(), "auth-flow", "tested") == "resolved"

        state = room.document()
        assert [loop["id"] for loop in state["open_loops"]] == ["other"]
        assert state["resolved"] == [{"id": "auth-flow", "reason": "tested", "resolved_date": "2026-11-21"}]
        assert json.loads(room.text("resolved.jsonl"))["domain"] == "a"
        assert "auth-flow" not in room.text("brief.md").split("## Next")[0]

    async def test_p26_a_repeat_writes_nothing_and_an_unknown_id_neither(self, room: Room) -> None:
        place(room, open_loops=[LOOP])
        await room.papers.resolve(room.agent(), "auth-flow", "tested")
        before = room.text("resolved.jsonl")

        assert await room.papers.resolve(room.agent(), "auth-flow", "again") == "already"
        assert await room.papers.resolve(room.agent(), "nothing", "again") == "unknown"
        assert room.text("resolved.jsonl") == before

    async def test_p38_p77_fifty_at_once_are_fifty_and_the_log_only_grows(self, room: Room) -> None:
        place(room, open_loops=[{**LOOP, "id": f"loop-{n}"} for n in range(50)])
        (room.state / "resolved.jsonl").write_text('{"id": "before"}\n')
        inode = (room.state / "resolved.jsonl").stat().st_ino

        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(room.papers.resolve, room.agent(), f"loop-{number}", "done")

        lines = room.text("resolved.jsonl").splitlines()
        assert len(lines) == 51
        assert lines[0] == '{"id": "before"}'
        assert (room.state / "resolved.jsonl").stat().st_ino == inode
        assert room.document()["open_loops"] == []

    async def test_p13_p26_a_repeat_is_known_after_it_has_left_the_state(self, room: Room) -> None:
        place(room, open_loops=[LOOP])
        await room.papers.resolve(room.agent(), "auth-flow", "tested")
        room.clock.wall = NOW + 8 * 86400
        await room.papers.publish(room.agent(), [])
        assert room.document()["resolved"] == []

        assert await room.papers.resolve(room.agent(), "auth-flow", "again") == "already"
        assert len(room.text("resolved.jsonl").splitlines()) == 1

    async def test_f_st_11_nothing_is_promised_where_the_state_may_not_be_written(self, room: Room) -> None:
        place(room, version=3, open_loops=[LOOP])

        assert await room.papers.resolve(room.agent(), "auth-flow", "tested") == "frozen"
        assert not (room.state / "resolved.jsonl").exists()

    async def test_p76_a_crash_between_the_log_and_the_state_closes_the_loop_at_the_next_start(
        self, room: Room, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place(room, open_loops=[LOOP])
        await room.papers.publish(room.agent(), [])
        with monkeypatch.context() as crash:
            crash.setattr(room.papers.publication, "publish", lambda *_: anyio.sleep(0))
            await room.papers.resolve(room.agent(), "auth-flow", "tested")
        assert [loop["id"] for loop in room.document()["open_loops"]] == ["auth-flow"]

        room.restarted()
        assert await room.papers.resolve(room.agent(), "auth-flow", "again") == "already"
        assert (room.document()["open_loops"], len(room.text("resolved.jsonl").splitlines())) == ([], 1)

    async def test_a_line_of_another_hand_behind_ours_is_not_passed_over(self, room: Room) -> None:
        """phoenixctl writes while no daemon runs; what any other program appended meanwhile is heard too."""
        place(room, open_loops=[LOOP, {**LOOP, "id": "other"}, {**LOOP, "id": "third"}])
        await room.papers.publish(room.agent(), [])
        with (room.state / "resolved.jsonl").open("a") as log:
            log.write('{"id": "other", "reason": "by hand", "ts": "2026-11-21T10:00:00Z", "domain": "a"}\n')

        await room.papers.resolve(room.agent(), "auth-flow", "tested")

        assert [loop["id"] for loop in room.document()["open_loops"]] == ["third"]

    async def test_f_st_10_what_was_resolved_while_the_daemon_was_down_is_applied_once(self, room: Room) -> None:
        place(room, open_loops=[LOOP, {**LOOP, "id": "other"}])
        await room.papers.publish(room.agent(), [])
        with (room.state / "resolved.jsonl").open("a") as log:
            log.write(
                '{"id": "auth-flow", "reason": "by hand", "ts": "2026-11-20T10:00:00Z", "domain": "a"}\n{"id": "ot'
            )
        room.restarted()

        await room.papers.publish(room.agent(), [])
        assert [loop["id"] for loop in room.document()["open_loops"]] == ["other"]
        assert room.document()["resolved"][0]["resolved_date"] == "2026-11-20"

        with (room.state / "resolved.jsonl").open("a") as log:
            log.write('her", "reason": "the rest of a torn line"}\n')
        edit(room, open_loops=[LOOP])
        room.restarted()
        await room.papers.publish(room.agent(), [])
        assert [loop["id"] for loop in room.document()["open_loops"]] == ["auth-flow"], "reopened by the operator"


class TestBriefVerbs:
    async def test_p41_p42_documents_are_judged_as_they_stand(self, room: Room) -> None:
        assert [fault.kind for fault in await room.papers.check_brief("a")] == ["missing", "missing"]
        await room.papers.publish(room.agent(), [])
        os.utime(room.state / "brief.md", (NOW, NOW))
        assert await room.papers.check_brief("a") == ()

        room.clock.wall = NOW + 36 * 3600
        (old,) = await room.papers.check_brief("a")
        assert (old.document, old.kind) == ("brief.md", "age")
        (room.state / "state.json").write_text('{"agent": "b", "open_loops": []}')
        assert [(fault.kind, fault.field) for fault in await room.papers.check_brief("a")] == [
            ("schema", "agent"),
            ("age", ""),
        ]

    async def test_p20_a_brief_is_written_anew_also_where_nothing_changed(self, room: Room) -> None:
        await room.papers.publish(room.agent(), [])
        os.utime(room.state / "brief.md", (NOW - 9e5, NOW - 9e5))
        await room.papers.publish(room.agent(), [])
        assert await room.papers.check_brief("a"), "nothing changed, so nothing was written"

        page = await room.papers.generate_brief(room.agent())

        assert page == await room.papers.brief("a")
        assert page.text == room.text("brief.md")
        assert page.written > NOW - 9e5
        assert await room.papers.check_brief("a") == ()

    async def test_what_is_no_plain_file_is_no_brief(self, room: Room, tmp_path: Path) -> None:
        await room.papers.publish(room.agent(), [])
        (tmp_path / "victim").write_text("secret")
        (room.state / "brief.md").unlink()
        (room.state / "brief.md").symlink_to(tmp_path / "victim")

        assert await room.papers.brief("a") is None
        assert "secret" not in (await room.papers.generate_brief(room.agent())).text


class TestOps:
    async def test_p37_p72_each_happening_is_a_line(self, room: Room) -> None:
        entries = [
            entry("hook_seen", kind="session-start", reason="session startup"),
            entry("hook_seen", kind="prompt-submit", text="password=hunter2"),
            entry("agent_exited", "backing_off", "died, signal 9", signal=9),
        ]

        await room.papers.publish(room.agent(), entries)

        lines = [json.loads(line) for line in room.text("ops.jsonl").splitlines()]
        assert [(line["event"], line["status"]) for line in lines] == [
            ("session_start", "ok"),
            ("task_started", "ok"),
            ("run_end", "error"),
        ]
        assert "hunter2" not in room.text("ops.jsonl")
        assert "died, signal 9" in room.text("brief.md")

    async def test_f_st_13_rotated_and_four_old_ones_are_kept(
        self, room: Room, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ops_log, "OPS_LIMIT", 200)
        for number in range(30):
            await room.papers.publish(room.agent(), [entry("agent_started", reason=f"number {number}")])

        logs = sorted(path.name for path in room.state.glob("ops.jsonl*"))
        assert logs == ["ops.jsonl", "ops.jsonl.1", "ops.jsonl.2", "ops.jsonl.3", "ops.jsonl.4"]
        assert "number 29" in room.text("ops.jsonl")


async def test_p79_values_of_secret_variables_reach_no_document(tmp_path: Path) -> None:
    secret = "an unremarkable value"
    room = Room(tmp_path, {"MY_TOKEN": secret})
    place(room, open_loops=[{**LOOP, "text": f"use {secret}"}], numbers={"n": secret})
    agent = replace(room.running(room.agent()), last_prompt=f"try {secret}", reason=f"said {secret}")

    await room.papers.publish(agent, [entry("hook_seen", reason=f"it printed {secret}", kind="stop", text=secret)])
    await room.order(agent)

    for path in room.state.rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes(), path.name
    assert "[redacted]" in room.text("brief.md")


class TestGit:
    SUMMARY = GitSummary("main", (Commit("abc1234", "2026-11-21", "Fix password=hunter2"),), 2, 1)

    async def test_the_first_brief_waits_a_second_for_git_and_no_start_after_it_does(self, room: Room) -> None:
        room.git.summary = self.SUMMARY

        for _ in range(3):
            await room.order(room.agent())

        assert room.git.asked == [(str(room.work), 1.0)]
        assert "- Branch: main" in room.text("brief.md")
        assert "hunter2" not in room.text("brief.md")

    async def test_it_is_refreshed_when_a_turn_ended_and_not_more_often_than_due(self, room: Room) -> None:
        room.git.summary = self.SUMMARY
        stop = [entry("hook_seen", kind="stop", reason="the turn ended")]
        for _ in range(3):
            await room.papers.publish(room.agent(), stop)
        assert len(room.git.asked) == 1

        room.clock.wall += 31
        await room.papers.publish(room.agent(), [entry("hook_seen", kind="notification")])
        assert len(room.git.asked) == 1
        await room.papers.publish(room.agent(), stop)
        assert len(room.git.asked) == 2

    async def test_a_repository_that_fails_is_left_alone_for_a_while_and_the_last_good_summary_stays(
        self, room: Room
    ) -> None:
        room.git.summary = self.SUMMARY
        stop = [entry("hook_seen", kind="stop", reason="the turn ended")]
        await room.papers.publish(room.agent(), stop)
        room.git.summary = GitSummary(problem="git did not answer in time")
        for _ in range(4):
            room.clock.wall += 60
            await room.papers.publish(room.agent(), stop)

        assert len(room.git.asked) == 2
        assert "- Branch: main" in room.text("brief.md")

    async def test_git_can_be_switched_off(self, tmp_path: Path) -> None:
        room = Room(tmp_path, brief={"git": False})

        await room.order(room.agent())

        assert room.git.asked == []


async def test_f_st_2_a_start_waits_for_no_disk_and_the_next_publication_makes_up_for_it(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    await room.papers.publish(room.running(room.agent()), [])
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)

    await room.bare_order(room.agent())
    assert synced == []
    await room.papers.publish(room.starting(room.agent()), [])
    assert room.document()["status"] == "idle"
    assert len(synced) == 2, "the file and its directory"
    await room.papers.publish(room.starting(room.agent()), [])
    assert len(synced) == 2


async def test_nothing_is_written_when_nothing_changed(room: Room) -> None:
    agent = room.running(room.agent())
    await room.papers.publish(agent, [])
    before = {path.name: path.stat().st_mtime_ns for path in room.state.iterdir()}

    await room.papers.publish(agent, [])

    assert {path.name: path.stat().st_mtime_ns for path in room.state.iterdir()} == before


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


HUNG = Incident(1, "hung", "silent for 15 minutes", NOW)


def record(room: Room) -> RecordIncident:
    return RecordIncident("a", 1, HUNG, (("silent_for", 900.0),))


async def test_g43_incidents_stand_in_a_directory_of_their_own(room: Room) -> None:
    """agents/NAME/incidents/*.json (requirements 4.3), the newest twenty."""
    agent = room.running(room.agent())
    for number in range(1, 23):
        incident = replace(HUNG, incarnation=number)
        await room.papers.record_incident(agent, replace(record(room), incident=incident), "waiting for pytest")

    kept = {path.name for path in (room.state / "incidents").iterdir()}
    assert len(kept) == 20
    assert {"1-hung.json", "2-hung.json"} & kept == set()
    assert room.document("incidents/22-hung.json")["pane"] == ["waiting for pytest"]
    assert stat.S_IMODE((room.state / "incidents").stat().st_mode) == 0o700


async def test_g43_what_an_older_version_left_is_found_in_the_new_place(room: Room) -> None:
    room.state.mkdir(parents=True)
    (room.state / "incident-7-overtime.json").write_text("{}")
    await room.papers.publish(room.agent(), [])

    assert replace(HUNG, incarnation=7, kind="overtime").file == "incidents/7-overtime.json"
    assert room.text("incidents/7-overtime.json") == "{}"
    assert not list(room.state.glob("incident-*"))


async def test_g43_a_link_in_the_place_of_the_incidents_leads_nowhere(room: Room, tmp_path: Path) -> None:
    room.state.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (room.state / "incidents").symlink_to(tmp_path / "elsewhere")
    await room.papers.record_incident(room.running(room.agent()), record(room), "screen")

    assert not list((tmp_path / "elsewhere").iterdir())
    assert room.document("incidents/1-hung.json")["kind"] == "hung"


async def test_promise_11_last_active_is_utc_and_moves_with_a_hook(room: Room) -> None:
    agent = room.running(room.agent())
    await room.papers.publish(agent, [])
    before = room.document()["last_active"]
    room.clock.wall = NOW + 90
    await room.papers.publish(room.running(room.agent()), [entry("hook_seen", kind="stop")])

    assert (before, room.document()["last_active"]) == ("2026-11-21T10:00:00Z", "2026-11-21T10:01:30Z")


async def test_p21_p46_a_state_file_that_says_working_is_no_proof_of_life(room: Room) -> None:
    """The process table decides, and nothing that a file says."""
    place(room, status="working", current_task="Implementing feature X", last_active="2026-11-21T09:59:59Z")
    await room.papers.publish(room.agent(), [])

    assert room.document()["status"] == "idle"
    await room.papers.publish(room.crashed(room.running(room.agent())), [])
    assert room.document()["status"] == "error"


async def test_p68_the_state_stands_over_a_brief_that_says_otherwise(room: Room) -> None:
    place(room, current_task="Fix the login", status="working", open_loops=[LOOP])
    (room.state / "brief.md").write_text("# a\n\n## Task\n\nWrite the manual\n")
    await room.order(room.agent(room.spec(prompt=None)))

    told = room.text("session-start.1.txt")
    assert "Fix the login" in told
    assert "Write the manual" not in told + room.text("brief.md")


async def test_f_st_6_a_stale_loop_is_flagged_and_told_in_the_brief(room: Room) -> None:
    place(room, open_loops=[{**LOOP, "added": "2026-10-01"}])
    await room.papers.publish(room.agent(), [])

    assert room.document()["open_loops"][0]["stale"] is True
    assert room.papers.loops("a").stale == 1
    assert "stale" in room.text("brief.md")


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
