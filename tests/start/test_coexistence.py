"""Somebody else in an agent's session: found by what runs, waited for by a resume, told while both run."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.core.spec import AgentSpec
from phoenixd.drivers.files import plain as files
from phoenixd.drivers.processes.proc import read_stat
from phoenixd.drivers.processes.sessions import CommandLine, command_lines
from phoenixd.errors import LaunchFailed
from phoenixd.harness import HARNESSES
from phoenixd.start import coexistence
from phoenixd.start.coexistence import KIND, Coexistence
from tests.start.places import RUN_ID, SESSION_ID, Room
from tests.waiting import eventually

OTHER = "88888888-2222-4333-8444-555555555555"


@contextmanager
def running(directory: Path, name: str, *arguments: str, **variables: str) -> Iterator[int]:
    """A program of that name, alive until the block ends; its number."""
    program = directory / name
    program.write_text("#!/bin/sh\necho up; read word\n")
    program.chmod(0o755)
    environment = {**{key: value for key, value in os.environ.items() if key != "PHOENIX_RUN_ID"}, **variables}
    pipe = subprocess.PIPE
    with subprocess.Popen([program, *arguments], stdin=pipe, stdout=pipe, env=environment) as child:
        assert child.stdout is not None
        child.stdout.readline()
        try:
            yield child.pid
        finally:
            child.kill()


@pytest.mark.parametrize(
    ("harness", "argv", "works"),
    [
        ("claude", ["claude", "--resume", SESSION_ID], True),
        ("claude", ["/opt/bin/claude", "-r", SESSION_ID, "go on"], True),
        ("claude", ["node", "/opt/lib/claude.js", f"--resume={SESSION_ID}"], True),
        ("claude", ["claude", "--session-id", SESSION_ID, "--", "Build"], True),
        ("claude", ["claude-next", "--resume", SESSION_ID], True),
        ("claude", ["claude", "--resume", SESSION_ID, "--fork-session"], False),
        ("claude", ["claude", "--resume", OTHER], False),
        ("claude", ["claude", "--", f"Look at {SESSION_ID}"], False),
        ("claude", ["tmux", "new-session", "claude", "--resume", SESSION_ID], False),
        ("claude", ["vim", f"{SESSION_ID}.jsonl"], False),
        ("claude", ["grep", "-r", SESSION_ID], False),
        ("codex", ["node", "/usr/bin/codex", "resume", SESSION_ID], True),
        ("codex", ["codex", "-m", "x", "resume", SESSION_ID], True),
        ("codex", ["codex", "fork", SESSION_ID], False),
        ("gemini", ["node", "--max-old-space-size=8000", "/usr/bin/gemini", "--resume", SESSION_ID], True),
        ("gemini", ["node", "/usr/bin/gemini", f"--session-id={SESSION_ID}"], True),
        ("gemini", ["gemini", "--list-sessions"], False),
        ("command", ["claude-next", "-s", SESSION_ID], True),
        ("command", ["phoenixctl", "tokens", "check", "--session-id", SESSION_ID], False),
    ],
)
def test_who_works_in_a_session_is_told_by_its_command_line(harness: str, argv: list[str], works: bool) -> None:
    spec = AgentSpec("a", ("/opt/claude-next",), "/srv/shop", harness=harness)

    assert HARNESSES[harness].runs_session(spec, argv, SESSION_ID) == works


async def test_a_burst_of_resumes_shares_looks_and_none_relies_on_one_that_began_before_it_asked(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[set[str]] = []
    goes_on = threading.Event()

    def lines(sessions: set[str]) -> list[CommandLine]:
        looks.append(sessions)
        assert goes_on.wait(60)
        return []

    monkeypatch.setattr(coexistence, "command_lines", lines)
    alone = Coexistence(tuple, lambda event: None, files, lambda agent: None)
    agents = []
    for number in range(100):
        starting = room.starting(room.agent(room.spec(harness="claude", argv=("claude",))), Mode.RESUME)
        assert starting.run is not None
        run = replace(starting.run, session_id=f"{number:08}{SESSION_ID[8:]}")
        agents.append(replace(starting, state=replace(starting.state, run=run)))  # type: ignore[type-var]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(alone.require_alone, agents[0])
        await eventually(lambda: looks)
        for agent in agents[1:]:
            tasks.start_soon(alone.require_alone, agent)
        await anyio.wait_all_tasks_blocked()
        goes_on.set()

    assert looks == [{agents[0].run.session_id}, {agent.run.session_id for agent in agents[1:]}]


def test_processes_are_found_by_the_session_that_they_name(tmp_path: Path) -> None:
    with (
        running(tmp_path, "claude", "--resume", SESSION_ID, PHOENIX_RUN_ID=RUN_ID) as ours,
        running(tmp_path, "codex", "resume", SESSION_ID) as stranger,
        running(tmp_path, "gemini", "--resume", OTHER),
    ):
        found = {line.pid: line for line in command_lines([SESSION_ID])}

    assert (found[ours].run_id, found[stranger].run_id) == (RUN_ID, None)
    assert found[stranger].argv[-2:] == ("resume", SESSION_ID)
    assert len(found) == 2
    assert list(command_lines([])) == []


def claude_room(tmp_path: Path, told: list[Event]) -> Room:
    room = Room(tmp_path)
    room.options = {"tell": told.append}
    room.restarted()
    return room


def claude_spec(room: Room) -> AgentSpec:
    return room.spec(harness="claude", argv=("claude",), env=(("HOME", str(room.home)),))


async def test_f_proc_15_a_resume_waits_for_whoever_is_in_the_session(tmp_path: Path) -> None:
    told: list[Event] = []
    room = claude_room(tmp_path, told)
    agent = room.agent(claude_spec(room))
    room.write_down(room.starting(agent), b'{"type":"user","message":{"content":"x"}}\n')

    with running(tmp_path, "claude", "--resume", SESSION_ID) as pid:
        with pytest.raises(LaunchFailed, match=f"^resume held back: process {pid} ") as held:
            await room.order(agent, Mode.RESUME, PromptKind.CONTINUE)
        await room.order(agent)  # a fresh session is nobody else's

    assert (held.value.code, "--fresh" in held.value.remedy) == (0, True)
    assert [(type(event), event.kind) for event in told if isinstance(event, TroubleSeen)] == [(TroubleSeen, KIND)]
    assert SESSION_ID in (await room.order(agent, Mode.RESUME, PromptKind.CONTINUE))["argv"]


def standing(kind: str = KIND) -> tuple[StandingAlert, ...]:
    return (StandingAlert(1, kind, "process 7 works in the same session", 0.0, watched=True),)


async def look(room: Room, agents: Sequence[object]) -> list[Event]:
    told: list[Event] = []
    files_of = room.variables.session_files
    await Coexistence(lambda: agents, told.append, files, files_of).look()  # type: ignore[arg-type, return-value]
    return told


async def test_f_proc_15_two_processes_in_one_session_are_told_until_one_leaves(tmp_path: Path) -> None:
    room = claude_room(tmp_path, [])
    agent = room.running(room.agent(claude_spec(room)))
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()

    with running(ours, "claude", "--session-id", SESSION_ID, PHOENIX_RUN_ID=RUN_ID):
        assert await look(room, [agent]) == []
        with running(theirs, "claude", "--resume", SESSION_ID, PHOENIX_RUN_ID="another") as pid:
            [seen] = await look(room, [agent])
            idle = room.agent(claude_spec(room), session=agent.session)
            assert await look(room, [idle]) == []
        gone = await look(room, [replace(agent, alerts=standing())])

    assert isinstance(seen, TroubleSeen)
    assert (seen.agent, seen.kind) == ("a", KIND)
    assert f"process {pid} works in the same session" in seen.text
    assert [type(event) for event in gone] == [TroubleGone]


async def test_f_proc_15_a_session_that_was_picked_from_a_list_is_noticed_by_the_clis_own_word(tmp_path: Path) -> None:
    room = claude_room(tmp_path, [])
    agent = room.agent(claude_spec(room), session=room.starting(room.agent()).session)
    room.write_down(room.starting(agent), b'{"type":"user","message":{"content":"x"}}\n')
    sessions = room.home / ".claude" / "sessions"
    sessions.mkdir()

    with running(tmp_path, "claude", "--resume") as pid:
        stat = read_stat(pid)
        assert stat is not None
        own = {"pid": pid, "procStart": str(stat.start_time), "sessionId": SESSION_ID}
        (sessions / f"{pid}.json").write_text(json.dumps(own))
        (sessions / "garbage.json").write_text("[1")
        (sessions / "other.json").write_text(json.dumps({**own, "sessionId": OTHER}))
        with pytest.raises(LaunchFailed, match=f"^resume held back: process {pid} "):
            await room.order(agent, Mode.RESUME, PromptKind.CONTINUE)

        (sessions / f"{pid}.json").write_text(json.dumps({**own, "procStart": str(stat.start_time + 1)}))
        assert SESSION_ID in (await room.order(agent, Mode.RESUME, PromptKind.CONTINUE))["argv"]


async def test_a_stopped_agents_session_is_anybodys(tmp_path: Path) -> None:
    room = claude_room(tmp_path, [])
    stopped = room.agent(claude_spec(room), session=room.starting(room.agent()).session, alerts=standing())

    with running(tmp_path, "claude", "--resume", SESSION_ID):
        assert [type(event) for event in await look(room, [stopped])] == [TroubleGone]
