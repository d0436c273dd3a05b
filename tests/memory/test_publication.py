"""The documents that people and agents read, kept up to date: what they tell, and when they are written."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import LastExit, Mode
from phoenixd.core.agent.state import Quarantined
from tests.documents.test_state import SEED_EXAMPLE
from tests.memory.desk import LOOP, place
from tests.start.places import NOW, Room, entry
from tests.transcripts.samples import answer, prompt


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
