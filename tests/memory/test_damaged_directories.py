"""F-ST-1: whatever became of an agent's directory, its documents are rebuilt: no exception, no bad record, no loss."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.drivers.files.plain import read_plain
from phoenixd.drivers.shims.records import ExitRecords
from phoenixd.memory import publication
from tests.memory.damages import GOOD, GOOD_NUMBERS, OTHER, Vandal
from tests.start.places import Room, entry

RECORDED = [entry("agent_started", reason="exec succeeded"), entry("agent_exited", reason="exit 1", code=1)]


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody here is in the middle of a write."""
    monkeypatch.setattr(publication, "TORN_PATIENCE", 0.0)
    monkeypatch.setattr(publication, "TORN_PAUSE", 0.0)


async def strike(room: Room, pristine: Path, seed: int) -> str:
    """Damage a copy of the directory, let a new daemon publish into it, and return what went wrong."""
    shutil.rmtree(room.state, ignore_errors=True)
    shutil.copytree(pristine, room.state)
    damage = Vandal(room.state, random.Random(seed)).strike()
    papers = room.restarted()
    agent = room.running(room.agent(incarnation=3))
    ExitRecords(room.directories.state, read_plain).exit_record("a")
    papers.heartbeat("a")
    for _ in range(2):
        await papers.publish(agent, RECORDED)
    found = {loop["id"] for loop in room.document()["open_loops"]}
    loops = {name for name in found if name in (GOOD["id"], OTHER["id"])}
    problems = []
    if loops != damage.open:
        problems.append(f"open are {sorted(found)}, not {sorted(damage.open)}")
    if found - loops:
        problems.append(f"accepted {sorted(found - loops)}")
    if (numbers := room.document()["numbers"]) != GOOD_NUMBERS:
        problems.append(f"the numbers are {numbers}")
    if not room.text("brief.md").startswith("# a ") or not (room.state / "ops.jsonl").read_bytes().endswith(b"}\n"):
        problems.append("brief or ops were not written")
    return f"seed {seed}: {problems} after {damage.done}" if problems else ""


async def damage_many(room: Room, count: int, first: int = 0) -> list[str]:
    await room.papers.publish(room.running(room.agent()), RECORDED)
    state = room.document()
    (room.state / "state.json").write_text(json.dumps(state | {"open_loops": [GOOD, OTHER], "numbers": GOOD_NUMBERS}))
    await room.restarted().publish(room.running(room.agent()), RECORDED)
    pristine = room.state.with_name("pristine")
    shutil.copytree(room.state, pristine)
    return [found for seed in range(first, first + count) if (found := await strike(room, pristine, seed))]


async def test_f_st_1_damaged_directories_lose_nothing_and_take_nothing_in(room: Room) -> None:
    """A sample; `./dev proof` runs ten thousand."""
    assert await damage_many(room, 25) == []


@pytest.mark.proof
@pytest.mark.timeout(1800)
async def test_f_st_1_ten_thousand_damaged_directories_lose_nothing_and_take_nothing_in(room: Room) -> None:
    found = await damage_many(room, 10_000, first=1000)
    assert found == [], f"{len(found)} of 10,000"


@pytest.mark.parametrize("name", ["state.json", "ops.jsonl", "brief.md", "session.json", "resolved.jsonl"])
async def test_a_directory_in_a_documents_place_is_moved_aside_and_told_once(room: Room, name: str) -> None:
    agent = room.running(room.agent())
    await room.papers.publish(agent, RECORDED)
    (room.state / name).unlink(missing_ok=True)
    (room.state / name / "kept").mkdir(parents=True)
    papers = room.restarted()
    await papers.publish(replace(agent, reason="again"), RECORDED)
    await room.order(agent)
    assert (room.state / f"{name}.aside-1" / "kept").is_dir(), "nothing of it is deleted"
    assert not list(room.state.glob("*.aside-2"))


async def test_what_is_moved_aside_again_and_again_does_not_pile_up(room: Room) -> None:
    agent = room.running(room.agent())
    for number in range(12):
        (room.state / "ops.jsonl").unlink(missing_ok=True)
        room.state.mkdir(parents=True, exist_ok=True)
        (room.state / "ops.jsonl").symlink_to(f"nowhere{number}")
        await room.papers.publish(agent, RECORDED)
    assert len(list(room.state.glob("ops.jsonl.aside-*"))) == 5
