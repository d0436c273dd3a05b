"""session.json of an orchestrator's session: there from its start, and with how full its context is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from phoenixd.core.agent import Agent
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.seat.state import Seat
from phoenixd.core.spec import Kind
from phoenixd.documents.project import layout
from phoenixd.documents.transcript import Used
from phoenixd.drivers.files.session_files import ProjectFiles
from phoenixd.memory.held_sessions import HeldSessions
from phoenixd.memory.session_records import SessionRecords, holders_session
from tests.core.story import Story, claude

WINDOW = 200_000


def used(tokens: int, at: float | None = 1.79e9) -> Used:
    """Nine tenths of it stand in the cache, as they do."""
    return Used("r", 1_000, tokens - 3_000, 500, 1_500, "opus", at)


@dataclass
class Scene:
    """The orchestrator `a` of the project `shop` at work, and the keeper of its record."""

    work: Path
    story: Story = field(init=False)
    files: ProjectFiles = field(default_factory=ProjectFiles)

    def __post_init__(self) -> None:
        self.work.mkdir()
        self.story = Story(claude(kind=Kind.ORCHESTRATOR, project="shop", cwd=str(self.work))).works()
        self.begun()

    def begun(self) -> None:
        """A new daemon's."""
        records = SessionRecords(self.files, self.find, lambda: 1.8e9)
        self.sessions = HeldSessions(self.find, self.agents, self.seat_of, records)

    def find(self, name: str) -> Agent | None:
        return self.story.fleet.agents.get(name)

    def agents(self) -> list[Agent]:
        return list(self.story.fleet.agents.values())

    def seat_of(self, name: str) -> Seat | None:
        return self.story.fleet.seats.get(name)

    @property
    def seat(self) -> Seat:
        return self.story.fleet.seats["a"]

    def change(self, **details: Any) -> None:
        self.story.fleet = replace(self.story.fleet, seats={"a": replace(self.seat, **details)})

    def meters(self, read: Used | None, window: int | None = WINDOW) -> None:
        agent = self.story.agent
        agent = replace(agent, meter=replace(agent.meter, status_line=window))
        self.story.fleet = replace(self.story.fleet, agents=self.story.fleet.roster.taking(agent))
        self.sessions.note(agent, read)

    def places(self) -> list[Path]:
        return sorted((self.work / layout.SESSIONS).glob("*"))

    def record(self) -> dict[str, Any]:
        (place,) = self.places()
        found: dict[str, Any] = json.loads((place / "session.json").read_text())
        return found


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "work")


async def test_e11_e12_a_session_has_its_directory_and_its_record_from_its_start(scene: Scene) -> None:
    scene.sessions.hear(scene.agents())
    await scene.sessions.look()

    told, session = scene.record(), scene.story.agent.session
    assert session is not None
    assert scene.places()[0].name == told["sessionId"] == holders_session(scene.seat, session)
    assert told["sessionId"].startswith("orchestrator-")
    assert (told["status"], told["generation"], told["agent"], told["projectName"]) == ("running", 1, "a", "shop")
    assert told["nativeSessionId"] == session.session_id
    assert told["createdAt"].endswith("Z")


async def test_e18_a_record_has_what_the_context_holds_and_what_is_unknown_is_null(scene: Scene) -> None:
    await scene.sessions.look()
    keys = ("inputTokens", "outputTokens", "totalTokens", "percentage", "lastUpdated")
    assert scene.record()["contextUsage"] == dict.fromkeys(keys)

    scene.meters(used(179_995))
    await scene.sessions.look()
    told = scene.record()["contextUsage"]
    assert [told[key] for key in keys] == [178_495, 1_500, 179_995, 89.9, "2026-09-21T14:13:20Z"]

    scene.meters(used(180_000, None), window=None)
    await scene.sessions.look()
    told = scene.record()["contextUsage"]
    assert [told[key] for key in keys] == [178_500, 1_500, 180_000, None, None]

    scene.meters(None)
    await scene.sessions.look()
    assert scene.record()["contextUsage"] == dict.fromkeys(keys), "right after a compaction nobody knows"


async def test_e18_what_another_session_held_is_not_told_of_this_one(scene: Scene) -> None:
    scene.meters(used(150_000))
    agent = scene.story.agent
    assert agent.session is not None
    other = replace(agent, session=replace(agent.session, session_id="another"))
    scene.story.fleet = replace(scene.story.fleet, agents=scene.story.fleet.roster.taking(other))

    await scene.sessions.look()

    assert scene.record()["contextUsage"]["totalTokens"] is None


async def test_e18_what_did_not_change_is_not_written_again(scene: Scene) -> None:
    scene.meters(used(150_000))
    await scene.sessions.look()
    (place,) = scene.places()
    (place / "session.json").unlink()

    await scene.sessions.look()
    assert not (place / "session.json").exists()
    scene.meters(used(151_000))
    await scene.sessions.look()
    assert scene.record()["contextUsage"]["totalTokens"] == 151_000


async def test_e12_keys_that_another_hand_added_stay(scene: Scene) -> None:
    await scene.sessions.look()
    (place,) = scene.places()
    (place / "session.json").write_text(json.dumps({**scene.record(), "note": "mine"}))
    scene.meters(used(150_000))

    await scene.sessions.look()

    assert (scene.record()["note"], scene.record()["contextUsage"]["totalTokens"]) == ("mine", 150_000)


@pytest.mark.parametrize("step", [Step.FREEZE, Step.SNAPSHOT, Step.AWAIT_ACK, Step.SHUTDOWN])
async def test_e12_the_records_of_a_handoff_that_goes_on_are_left_alone(scene: Scene, step: Step) -> None:
    scene.change(handoff=Handoff("h1", "a", "shop", 1, "operator", "", 0.0, step, 0.0, 0.0))
    await scene.sessions.look()
    assert scene.places() == []

    over = Handoff(
        "h1", "a", "shop", 1, "operator", "", 0.0, Step.ROLLED_BACK, 0.0, 0.0, previous_session="orchestrator-x"
    )
    scene.change(handoff=over)
    await scene.sessions.look()
    assert scene.record()["sessionId"] == "orchestrator-x", "by the id that its package named"


async def test_e12_a_generation_that_does_not_hold_its_seat_has_no_record_of_ours(scene: Scene) -> None:
    scene.change(generation=2)
    scene.sessions.hear(scene.agents())
    await scene.sessions.look()

    assert scene.places() == []


async def test_e11_an_agent_that_leads_no_project_has_none(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "work")
    agent = replace(scene.story.agent, spec=replace(scene.story.agent.spec, kind=Kind.RESIDENT))
    scene.story.fleet = replace(scene.story.fleet, agents=scene.story.fleet.roster.taking(agent))
    scene.sessions.hear([agent])
    await scene.sessions.look()

    assert scene.places() == []


async def test_e12_the_record_of_an_earlier_session_of_the_seat_is_closed(scene: Scene) -> None:
    await scene.sessions.look()
    agent = scene.story.agent
    assert agent.session is not None
    fresh = replace(agent, session=replace(agent.session, session_id="another", created_wall=1.795e9))
    scene.story.fleet = replace(scene.story.fleet, agents=scene.story.fleet.roster.taking(fresh))

    scene.sessions.hear([fresh])
    await scene.sessions.look()

    told = [json.loads((place / "session.json").read_text()) for place in scene.places()]
    assert sorted((one["nativeSessionId"], one["status"]) for one in told) == sorted(
        [(agent.session.session_id, "shutdown"), ("another", "running")]
    )
    assert next(one for one in told if one["status"] == "shutdown")["shutdownAt"].endswith("Z")


async def test_e11_of_many_sessions_of_a_seat_the_newest_stay(scene: Scene) -> None:
    agent = scene.story.agent
    assert agent.session is not None
    keep = agent.spec.handoff.keep + 1
    for number in range(keep + 5):
        one = replace(agent, session=replace(agent.session, session_id=f"s{number}", created_wall=1.79e9 + number))
        scene.story.fleet = replace(scene.story.fleet, agents=scene.story.fleet.roster.taking(one))
        await scene.sessions.look()

    assert len(scene.places()) == keep


async def test_a_workspace_that_takes_no_record_is_told_once_and_tried_again(scene: Scene) -> None:
    (scene.work / ".claude").write_text("no directory")
    with capture_logs() as logs:
        for _ in range(3):
            await scene.sessions.look()
    assert len([one for one in logs if one["event"] == "session_record_failed"]) == 1

    (scene.work / ".claude").unlink()
    await scene.sessions.look()
    assert scene.record()["status"] == "running"
