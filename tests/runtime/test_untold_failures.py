"""The end of a transcript is read before a death is judged that no hook explains (F-PROC-26, EXI-10)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Parked, Stopped
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import Rebooted
from phoenixd.core.events.runs import AgentExited, ShimLost, TreeGone
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.unproven import weighed
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.drivers.transcripts.sessions import TranscriptFiles
from phoenixd.harness.screens import Screens
from phoenixd.runtime.cleaning import cleaned
from phoenixd.runtime.describe import describe_event
from phoenixd.runtime.untold_failures import UntoldFailures
from tests.core.story import Story, spec

LIMIT = {
    "message": "You’ve hit your usage limit. Visit the settings to purchase more credits or try again at 11:59 PM.",
    "codex_error_info": "usage_limit_exceeded",
}
FULL = {
    "message": "Codex ran out of room in the model's context window. Start a new thread or clear earlier history.",
    "codex_error_info": "context_window_exceeded",
}
OVERLOAD = {"message": "Selected model is at capacity.", "codex_error_info": "server_overloaded"}
LOGIN = {
    "message": "unexpected status 401 Unauthorized: Incorrect API key provided",
    "codex_error_info": {"http_connection_failed": {"http_status_code": 401}},
}


class House:
    """One run in its first turn, with the transcript of its session in a real file."""

    def __init__(self, file: Path, harness: str = "codex") -> None:
        self.file = file
        self.story = Story(spec(harness=harness, prompt="Build the shop.")).works()
        self.told: list[Event] = []
        self.files: Any = TranscriptFiles(lambda agent: str(self.file))
        self.untold = self.made()

    def made(self, patience: float = 60.0) -> UntoldFailures:
        return UntoldFailures(self.find, self.tell, self.files, Screens(lambda: self.story.wall), patience)

    def find(self, name: str) -> Agent | None:
        return self.story.fleet.agents.get(name)

    def tell(self, event: Event) -> None:
        self.told.append(event)
        self.story.tell(event)

    def wrote(self, error: dict[str, Any] | None, after: float = 5.0) -> None:
        """The turn has ended so, that many seconds after the run began."""
        at = datetime.fromtimestamp(self.story.run.began_wall + after, UTC).isoformat().replace("+00:00", "Z")
        payload = {"type": "task_complete", "turn_id": "t", "last_agent_message": None, "error": error}
        began = {"timestamp": at, "type": "event_msg", "payload": {"type": "task_started", "turn_id": "t"}}
        lines = [began, {"timestamp": at, "type": "event_msg", "payload": payload}]
        with self.file.open("a") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in lines)

    def end(self, code: int | None = 1, **more: Any) -> AgentExited:
        self.story.pass_over(6.0)
        run = self.story.run
        return AgentExited("a", run.incarnation, run.run_id, code, more.pop("signal", None), **more)

    async def ends(self, code: int | None = 1, **more: Any) -> None:
        ended = self.end(code, **more)
        if self.untold.may_be(ended):
            await self.untold.tell(ended)
        else:
            self.tell(ended)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "rollout.jsonl")


async def test_f_proc_26_a_limit_that_the_transcripts_end_alone_tells_parks_until_its_reset(house: House) -> None:
    house.wrote(LIMIT)
    await house.ends()

    assert [type(event) for event in house.told] == [TurnFailed, AgentExited]
    agent = house.story.agent
    assert isinstance(agent.state, Parked), agent.reason
    assert agent.parking is not None
    assert agent.parking.kind is ParkingKind.LIMIT
    at = datetime.fromtimestamp(agent.parking.until_wall).astimezone()
    assert (at.hour, at.minute) in ((23, 59), (0, 0), (0, 1)), "in the zone of the host"
    assert (agent.crashes, agent.short_runs) == ((), 0)
    assert agent.session is not None
    assert agent.session.turn_open, "it is gone on with"


@pytest.mark.parametrize(("error", "state"), [(OVERLOAD, "parked"), (LOGIN, "quarantined")])
async def test_f_proc_26_other_failures_are_what_a_hook_would_have_told(
    house: House, error: dict[str, Any], state: str
) -> None:
    house.wrote(error)
    await house.ends()

    assert house.story.agent.view().state == state, house.story.agent.reason
    assert house.story.agent.crashes == ()


class Lost(House):
    """Its end is found when its run is looked for."""

    async def is_found(self, how: str, code: int = 1) -> None:
        """Whichever way: a fence proves it or does not, a shim that was met again tells it, or the host was booted."""
        if how == "booted":
            ended = self.end(code)
            self.tell(Rebooted("another boot", (await self.untold.explained(ended),)))
            return
        self.tell(ShimLost("a", self.story.run.incarnation))
        ended = self.end(code)
        if how == "told late":
            assert self.untold.may_be(ended)
            await self.untold.tell(ended)
            return
        gone = TreeGone("a", ended.incarnation, unproven=how == "unproven")
        found = weighed(gone, await self.untold.explained(ended), begun=True)
        self.tell(found)
        if how == "unproven":
            self.story.wait(self.story.agent.spec.stop.unproven)
            self.tell(found)


FOUND = pytest.mark.parametrize("how", ["proven", "unproven", "told late", "booted"])


@FOUND
async def test_f_proc_26_a_limit_before_an_end_that_is_found_when_its_run_is_looked_for_is_waited_out(
    tmp_path: Path, how: str
) -> None:
    house = Lost(tmp_path / "rollout.jsonl")
    house.wrote(LIMIT)
    await house.is_found(how)

    agent = house.story.agent
    assert isinstance(agent.state, Parked), agent.reason
    assert agent.parking is not None
    assert (agent.parking.kind, agent.crashes, agent.short_runs) == (ParkingKind.LIMIT, (), 0)
    assert agent.last_exit is not None
    assert (agent.last_exit.limited, agent.last_exit.until_wall) == (True, agent.parking.until_wall)
    assert agent.session is not None
    assert (agent.session.turn_open, agent.session.spoiled) == (True, None)
    assert not any(isinstance(one, TurnFailed) for one in house.told), "of a run that is over no hook is heard"


@FOUND
@pytest.mark.parametrize(("error", "state"), [(OVERLOAD, "parked"), (LOGIN, "quarantined")])
async def test_f_proc_26_so_is_any_other_failure_before_such_an_end(
    tmp_path: Path, error: dict[str, Any], state: str, how: str
) -> None:
    house = Lost(tmp_path / "rollout.jsonl")
    house.wrote(error)
    await house.is_found(how)

    assert house.story.agent.view().state == state, house.story.agent.reason
    assert house.story.agent.crashes == ()


@FOUND
async def test_f_ho_1_a_full_context_before_such_an_end_goes_fresh(tmp_path: Path, how: str) -> None:
    house = Lost(tmp_path / "rollout.jsonl")
    house.story.hook("tool-start", tool="Bash", tool_use_id="t1")
    house.story.hook("tool-end", tool="Bash", tool_use_id="t1")
    house.story.hook("stop")
    house.story.hook("prompt-submit", text="And the till.")
    house.wrote(FULL)
    await house.is_found(how)

    assert house.story.respawned().spawn.mode.value == "fresh", house.story.agent.reason
    assert house.story.agent.crashes == ()


@FOUND
async def test_such_an_end_without_a_failure_in_its_transcript_is_judged_as_before(tmp_path: Path, how: str) -> None:
    house = Lost(tmp_path / "rollout.jsonl")
    house.wrote(None)
    await house.is_found(how)

    assert len(house.story.agent.crashes) == (how != "booted"), house.story.agent.reason
    assert house.story.agent.parking is None


async def test_an_end_that_was_ordered_is_not_explained_and_what_failed_is_told_without_secrets(house: House) -> None:
    house.wrote(LOGIN)
    ended = house.end()
    explained = await house.untold.explained(ended)
    found = cleaned(TreeGone("a", 1, ended=explained), lambda agent, text: text.replace("Incorrect", "[secret]"))
    assert isinstance(found, TreeGone)
    assert found.ended is not None
    assert found.ended.failed is not None
    assert "[secret] API key" in found.ended.failed.text
    assert "Incorrect" not in str(describe_event(found))

    house.story.stop()
    assert await house.untold.explained(ended) == ended


async def test_f_ho_1_a_full_context_at_the_end_of_a_run_goes_fresh(house: House) -> None:
    house.story.hook("tool-start", tool="Bash", tool_use_id="t1")
    house.story.hook("tool-end", tool="Bash", tool_use_id="t1")
    house.story.hook("stop")
    house.story.hook("prompt-submit", text="And the till.")
    house.wrote(FULL)
    await house.ends()

    assert house.story.respawned().spawn.mode.value == "fresh", house.story.agent.reason
    assert house.story.agent.crashes == ()


async def test_what_the_run_before_wrote_is_not_why_this_one_ended(house: House) -> None:
    house.wrote(LIMIT, after=-3.0)
    await house.ends()

    assert [type(event) for event in house.told] == [AgentExited]
    assert len(house.story.agent.crashes) == 1


async def test_without_a_transcript_and_with_one_of_rubbish_the_end_is_told_as_it_is(house: House) -> None:
    await house.ends()
    house.file.write_bytes(b"\x00\xff{[" * 1000)
    house.story.respawned().works()
    await house.ends()

    assert [type(event) for event in house.told] == [AgentExited, AgentExited]


@pytest.mark.parametrize(
    ("harness", "code", "more"),
    [
        ("codex", 0, {}),
        ("codex", None, {"signal": 9}),
        ("codex", 143, {"cause": "terminal_lost"}),
        ("claude", 1, {}),
        ("gemini", 1, {}),
        ("command", 1, {}),
    ],
)
def test_promise_1_no_other_death_waits_for_a_look(
    tmp_path: Path, harness: str, code: int | None, more: dict[str, Any]
) -> None:
    other = House(tmp_path / "transcript.jsonl", harness)

    assert not other.untold.may_be(other.end(code, **more))


def test_an_end_that_was_ordered_and_one_of_another_run_wait_for_no_look(house: House) -> None:
    ended = house.end()
    other = AgentExited("a", 1, "another", 1, None)
    assert house.untold.may_be(ended)
    assert not house.untold.may_be(other)
    house.story.stop()
    assert not house.untold.may_be(ended)
    house.story.tell(ended)
    assert isinstance(house.story.state, Stopped)
    assert not house.untold.may_be(ended)


class Hung:
    """A disk that answers when the test is over."""

    def __init__(self) -> None:
        self.answers = threading.Event()

    def end_now(self, agent: Agent) -> SessionFacts | None:
        self.answers.wait(300)
        return None


@pytest.fixture
def hung() -> Iterator[Hung]:
    made = Hung()
    yield made
    made.answers.set()


async def test_a_disk_that_hangs_keeps_no_end_back_for_long(house: House, hung: Hung) -> None:
    house.files, ended = hung, house.end()

    await house.made(patience=0.05).tell(ended)

    assert house.told == [ended]


async def test_a_fault_in_the_look_keeps_no_end_back(house: House) -> None:
    class Broken:
        def end_now(self, agent: Agent) -> SessionFacts | None:
            raise RuntimeError("what nobody thought of")

    house.files, ended = Broken(), house.end()

    await house.made().tell(ended)

    assert house.told == [ended]
