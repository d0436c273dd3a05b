"""The real CLIs as writers of a brief: nothing of the user's acts, nothing stays behind, each failure has a remedy."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.core.spec import AgentSpec
from phoenixd.directories import Directories
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.conversation import Conversation, Utterance
from phoenixd.documents.state import StateDocument
from phoenixd.drivers.files import plain as plain_files
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.writers.cli import CliWriter
from phoenixd.drivers.writers.job import AGENT
from phoenixd.errors import WriterFailed
from phoenixd.installed import SOURCE, interpreter
from phoenixd.start.job_place import JobPlaces
from tests.e2e.census import survivors
from tests.real.clis import CONTRACTED, Claude, Codex, Gemini
from tests.real.installed import require
from tests.real.planted import MODEL, OWN_WAY, PLANT, WORD, Planted
from tests.stub.recorded import RecordedRequest
from tests.stub.scenario import Scenario, Step
from tests.waiting import eventually

pytestmark = pytest.mark.real_claude

SAID = "the canary of the session is 8d1f2c7be0"
ANSWER = '{"agent": "a", "resolved": [], "open_loops": []}'
PINNED = [("claude", "2.1.197"), ("claude", "2.1.332"), ("codex", "0.169.0"), ("gemini", "0.61.0")]


def rooms(*gate: str) -> pytest.MarkDecorator:
    """A room of each CLI; those that the gate does not name are for `./dev proof claude`."""
    each = [PINNED[0], PINNED[2], PINNED[3]]
    chosen = [pytest.param(one, marks=() if one[0] in gate else pytest.mark.proof, id=one[0]) for one in each]
    return pytest.mark.parametrize("room", chosen, indirect=True)


class Room:
    """A CLI with a HOME of its own, a stub for its vendor, and the writer as the daemon makes it."""

    def __init__(self, harness: str, pin: str | None, root: Path) -> None:
        self.cli: Claude | Codex | Gemini = CONTRACTED[harness](require(harness, pin))
        self.home, self.harness = root / "home", harness
        self.home.mkdir()
        self.replies: list[Step] = []
        self.stub = self.cli.stub(Scenario())
        self.stub._responder = self._reply
        self.cli.prepare(self.home, self.stub)
        # Below HOME, as for most users: then the user's own files lie above the call's directory.
        self.directories = Directories(None, self.home / "state", self.home / "run")
        self.environment = self.cli.variables(self.home, self.stub)
        processes = Processes(leaves=None, reaper_of=lambda name: None)
        places = JobPlaces(self.directories, plain_files, None, None)
        runner = (interpreter(), "-I", "-S", str(SOURCE), "--job")

        async def environment_of(_: Agent) -> dict[str, str]:
            return self.environment

        self.writer = CliWriter(
            lambda: runner,
            environment_of,
            lambda run_id: processes.fence(AGENT, 0, run_id, None),
            places.place,
            places.users_file,
        )

    def _reply(self, request: RecordedRequest) -> Step:
        return self.replies.pop(0) if self.replies else Step(text=ANSWER)

    @property
    def agent(self) -> Agent:
        rules = BriefRules(writer=WriterKind.AUTO, timeout=60.0)
        spec = AgentSpec("a", (str(self.cli.binary),), str(self.home), harness=self.harness, brief=rules)
        return Agent(spec, Desired.STOPPED, Stopped(), 0.0, "")

    @property
    def asked(self) -> list[RecordedRequest]:
        return [request for request in self.stub.requests if request.is_message]

    def holders(self) -> list[str]:
        """Files below HOME that hold words of the session, or an answer."""
        files = [path for path in self.home.rglob("*") if path.is_file() and not path.is_symlink()]
        return [
            str(path) for path in files if any(word in path.read_bytes() for word in (SAID.encode(), b"open_loops"))
        ]


def material() -> BriefMaterial:
    said = Conversation("s", (Utterance("user", SAID),), is_whole=True)
    return BriefMaterial("a", 1.8e9, StateDocument(agent="a"), said, nonce="5c1f0e6b9a7d4c3e8f2b1a0d9c8e7f6a")


@pytest.fixture
def room(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[Room]:
    harness, pin = request.param
    made = Room(harness, pin, short_tmp)
    with made.stub:
        yield made
    assert survivors(short_tmp) == {}


def tools(request: RecordedRequest) -> list[object]:
    """What the model is given to act with, in the shape of any vendor."""
    declared = [one for tool in request.body.get("tools", []) for one in tool.get("functionDeclarations", [tool])]
    return declared + [item for item in request.body.get("input", []) if "tools" in item]


@pytest.mark.parametrize(
    "room",
    [pytest.param(one, marks=pytest.mark.proof if one == PINNED[0] else (), id="-".join(one)) for one in PINNED],
    indirect=True,
)
async def test_nothing_of_the_users_acts_and_no_session_stays(room: Room) -> None:
    planted = Planted(room.home)
    PLANT[room.harness](planted)
    room.replies = [Step(text="Hello.") for _ in range(5)]
    line = [str(room.cli.binary), *OWN_WAY[room.harness]]
    work = room.home / "work"
    work.mkdir()
    subprocess.run(line, input=b"hello", cwd=work, env=room.environment, timeout=60, capture_output=True, check=False)
    assert planted.ran == {"hook", "server"}, "what is planted acts where a person asks"
    assert any(WORD in json.dumps(request.body) for request in room.asked)
    planted.forget()
    room.replies.clear()
    before = len(room.asked)

    answer = await room.writer.write(room.agent, material())

    assert (answer.text, answer.tokens > 100) == (ANSWER, True)
    assert planted.ran == set()
    (asked,) = room.asked[before:]
    assert SAID in json.dumps(asked.body)
    assert WORD not in json.dumps(asked.body)
    assert tools(asked) == []
    assert MODEL not in json.dumps([asked.body, asked.path])
    assert len(json.dumps(asked.body)) < 12_000, "neither a system prompt of the CLI's nor a skill"
    assert room.holders() == []
    assert list((room.directories.runtime / "writers").iterdir()) == []


@rooms("claude")  # The fence is the same for each.
async def test_a_call_that_is_broken_off_leaves_no_process_and_no_file(room: Room) -> None:
    room.replies = [Step(fault="hang") for _ in range(9)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(room.writer.write, room.agent, material())
        await eventually(lambda: bool(room.asked), 60, "the CLI asks")
        tasks.cancel_scope.cancel()

    assert survivors(room.home) == {}
    assert room.holders() == []
    assert list((room.directories.runtime / "writers").iterdir()) == []


@rooms("claude", "codex")
async def test_a_login_that_is_refused_and_a_limit_are_told_with_what_to_do(room: Room) -> None:
    for refusal, told in ((room.cli.refused, "is not logged in"), (room.cli.limited, "met a limit of its account")):
        room.replies = [Step(error=refusal) for _ in range(20)]
        with pytest.raises(WriterFailed, match=told) as failed:
            await room.writer.write(room.agent, material())
        assert failed.value.remedy
        assert failed.value.message.startswith(room.harness)


@rooms("claude")
async def test_a_flag_that_a_release_does_not_know_is_named(room: Room) -> None:
    """An older release, played by the CLI itself, which is given one more flag."""
    program = room.home / room.harness
    program.write_text(f'#!/bin/sh\nexec {room.cli.binary} "$@" --of-next-year\n')
    program.chmod(0o700)
    room.cli.binary = program

    with pytest.raises(WriterFailed, match=r"is too old: it does not know -{0,2}of-next-year") as failed:
        await room.writer.write(room.agent, material())

    assert failed.value.remedy.startswith("npm install -g @")
    assert room.asked == []
    assert os.listdir(room.directories.runtime / "writers") == []
