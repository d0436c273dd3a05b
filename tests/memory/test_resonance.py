"""The papers of an agent's marker: written before it is told, kept up to date, and made anew where they are damaged."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from phoenixd.core.actions import PlantCodes, ReadSeed
from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import TroubleSeen
from phoenixd.core.events.resonance import CodesPlanted, PlantingFailed
from phoenixd.core.facts import MarkerNoted, RunEnded
from phoenixd.core.resonance.state import Resonance, Restoration, Step
from phoenixd.core.rules import ResonanceRules
from phoenixd.documents.resonance import footer
from phoenixd.documents.resonance.anchor import parse_anchor
from phoenixd.documents.resonance.session_seed import parse_seed
from phoenixd.memory.resonance.store import MarkerPapers
from phoenixd.planting import CODES, parse
from phoenixd.ports.journal import Entry, StoredEntry
from phoenixd.runtime.publisher import Publisher
from tests.clocks import FastClock
from tests.start.places import NOW, Room, entry
from tests.transcripts.samples import answer, prompt, tool_result


def bearing(room: Room, planted: CodesPlanted | None = None, **keys: Any) -> Agent:
    """An agent at work that bears a marker, or is about to."""
    spec = room.spec(harness="claude", project="shop", resonance=ResonanceRules(enabled="on", **keys))
    agent = room.running(room.agent(spec))
    known = Resonance(ordered="start") if planted is None else told(planted)
    return replace(agent, resonance=known)


def told(planted: CodesPlanted) -> Resonance:
    return Resonance(planting=planted.planting, told=True, persona=planted.persona, project=planted.project)


async def plant(room: Room, agent: Agent) -> CodesPlanted:
    found = await room.papers.resonance.plant(agent, PlantCodes("a", agent.incarnation, "start"))
    assert isinstance(found, CodesPlanted), found
    return found


def memory(room: Room) -> Path:
    return room.directories.state / "memory"


def anchor(room: Room) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((memory(room) / "resonance_anchor_a.json").read_text())
    return found


def checked(verdict: str) -> Entry:
    return replace(entry("hook_seen"), facts=(MarkerNoted(1, "checked", verdict=verdict, number=1),))


async def test_r25_r26_r30_r45_r46_anchor_seed_and_ledger_stand_before_the_codes_are_told(room: Room) -> None:
    agent = bearing(room)

    planted = await plant(room, agent)

    found, seed = anchor(room), json.loads((memory(room) / "session_seed_a.json").read_text())
    rows = [json.loads(line) for line in (memory(room) / "marker_ledger.jsonl").read_text().splitlines()]
    assert parse(found["marker"]) == planted.planting.marker
    assert (found["session_id"], found["created_at"]) == ("2026-11-21-001", "2026-11-21T10:00:00Z")
    assert (found["last_verified"], found["verifications"]) == (None, [])
    assert (seed["persona"], seed["active_tasks"]) == ("a", ["Do it."])
    assert seed["resonance_marker"] == found["marker"]
    assert {row["hex"] for row in rows} == set(planted.planting.hexes())
    assert len(planted.planting.codes) == 24
    assert planted.planting.fault() == ""
    assert (planted.persona, planted.project, planted.rebuilt) == ("a", "shop", "")
    assert {stat.S_IMODE(path.stat().st_mode) for path in memory(room).iterdir()} == {0o600}


async def test_r26_sessions_are_numbered_by_agent_and_by_day_in_utc_also_by_the_next_daemon(room: Room) -> None:
    """A session that gets new codes in mid-way stays the same one."""
    told = []
    midnight = NOW - NOW % 86400 + 86400
    for wall in (NOW, NOW + 60, midnight - 1, midnight, midnight + 60):
        room.clock.wall = wall
        room.restarted()
        agent = bearing(room)
        assert agent.session is not None
        assert agent.run is not None
        native = f"native-{wall}"
        fresh = replace(agent, session=replace(agent.session, session_id=native))
        await plant(room, fresh)
        await plant(room, fresh)
        told.append((anchor(room)["session_id"], anchor(room)["native_session_id"] == native))

    assert told == [
        ("2026-11-21-001", True), ("2026-11-21-002", True), ("2026-11-21-003", True), ("2026-11-22-001", True),
        ("2026-11-22-002", True),
    ]  # fmt: skip


async def test_r42_r48_a_restoration_that_came_to_nothing_ends_in_ops_jsonl_with_its_seventh_step(room: Room) -> None:
    agent = bearing(room, await plant(room, bearing(room)))
    facts = [MarkerNoted(1, "restoration", step=step) for step in (1, 2, 3, 4, 5, 7)]

    await room.papers.publish(agent, [replace(entry("tick"), facts=(fact,)) for fact in facts])

    rows = [json.loads(line) for line in room.text("ops.jsonl").splitlines()]
    named = [row["event"] for row in rows if row["event"].startswith(("marker", "restore"))]
    assert named == ["marker_lost", *(f"restore_{step}" for step in (1, 2, 3, 4, 5, 7))]
    assert all(row["ts"].endswith("Z") for row in rows)


async def test_r54_a_code_is_never_given_twice_also_by_the_next_daemon(room: Room) -> None:
    first = await plant(room, bearing(room))
    drawn = iter([*first.planting.hexes(), "aaaa1b"])
    papers = MarkerPapers.below(room.directories.state, room.restarted().publication.desks._files)
    papers.draw = lambda size: "0000" if size == 2 else next(drawn)

    assert papers.mint(None, NOW).code == "aaaa1b"


async def test_f_re_5_a_ledger_that_is_lost_is_written_again_with_what_this_daemon_gave(room: Room) -> None:
    agent = bearing(room)
    first = await plant(room, agent)
    (memory(room) / "marker_ledger.jsonl").unlink()

    second = await plant(room, agent)

    lines = (memory(room) / "marker_ledger.jsonl").read_text()
    assert not set(first.planting.hexes()) & set(second.planting.hexes())
    assert all(code in lines for code in (*first.planting.hexes(), *second.planting.hexes()))


async def test_a_disk_that_takes_nothing_gives_no_codes(room: Room) -> None:
    memory(room).parent.mkdir(parents=True, exist_ok=True)
    agent = bearing(room)
    await plant(room, agent)
    room.papers.resonance.papers.files.replace = refuse  # type: ignore[method-assign]

    found = await room.papers.resonance.plant(agent, PlantCodes("a", 1, "spent"))

    assert isinstance(found, PlantingFailed)
    assert "No space" in found.why


def refuse(*args: object, **keys: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    "phrase", ["the 7f3a9c gate", "a well-known gate", 'the "gate"', "the \u202egate", "x" * 10_240]
)
async def test_f_re_13_a_phrase_that_would_break_each_check_is_refused_at_minting(room: Room, phrase: str) -> None:
    with pytest.raises(ValueError, match="the phrase"):
        await room.papers.resonance.mint(phrase)
    assert parse(str(await room.papers.resonance.mint("the orchard gate"))) is not None


async def test_r27_r28_r29_a_check_is_appended_and_only_success_moves_last_verified(room: Room) -> None:
    agent = bearing(room, await plant(room, bearing(room)))

    room.clock.wall = NOW + 60
    await room.papers.publish(agent, [replace(checked("intact"), wall=NOW + 50)])
    await room.papers.publish(agent, [replace(checked("missed"), wall=NOW + 60)])
    await room.papers.publish(agent, [replace(checked("lost"), wall=NOW + 70)])

    found = anchor(room)
    assert found["created_at"] <= found["last_verified"] == "2026-11-21T10:00:50Z"
    assert [(one["success"], one.get("action")) for one in found["verifications"]] == [
        (True, None), (False, "asked_again"), (False, "restoration_triggered"),
    ]  # fmt: skip


async def test_a_clock_that_was_set_back_dates_no_check_before_the_one_before(room: Room) -> None:
    agent = bearing(room, await plant(room, bearing(room)))

    await room.papers.publish(agent, [replace(checked("intact"), wall=NOW + 50)])
    await room.papers.publish(agent, [replace(checked("intact"), wall=NOW - 5000)])

    assert [one["time"] for one in anchor(room)["verifications"]] == ["2026-11-21T10:00:50Z"] * 2


async def test_r47_r48_r50_the_steps_of_a_restoration_stand_in_ops_jsonl_in_their_order(room: Room) -> None:
    agent = bearing(room, await plant(room, bearing(room)))
    facts = [MarkerNoted(1, "restoration", step=step, checkpoint=NOW if step == 6 else None) for step in range(1, 7)]

    await room.papers.publish(agent, [replace(entry("tick"), facts=(fact,)) for fact in facts])

    rows = [json.loads(line) for line in room.text("ops.jsonl").splitlines()]
    named = [row for row in rows if row["event"].startswith(("marker", "restore"))]
    assert [row["event"] for row in named] == ["marker_lost", *(f"restore_{step}" for step in range(1, 7))]
    assert [row["meta"].get("checkpoint") for row in named] == [None] * 6 + ["2026-11-21T10:00:00Z"]


CHECKPOINTS = [
    entry("hook_seen", kind="stop"),
    replace(entry("agent_exited"), facts=(RunEnded(1, "finished", "stay", "exit", 0),)),
    replace(entry("agent_exited"), facts=(RunEnded(1, "recycled", "stay", "exit", 0),)),
]


@pytest.mark.parametrize("seen", CHECKPOINTS)
async def test_r34_a_turns_end_a_runs_end_and_a_handoff_bring_the_seed_up_to_date(room: Room, seen: Entry) -> None:
    agent = bearing(room, await plant(room, bearing(room)))
    room.clock.wall = NOW + 600

    await room.papers.publish(replace(agent, last_prompt="Mend the roof."), [seen])

    seed = json.loads((memory(room) / "session_seed_a.json").read_text())
    assert (seed["last_checkpoint"], seed["recent_exchange"]) == ("2026-11-21T10:10:00Z", ["Mend the roof."])
    assert (await room.papers.resonance.read_seed(agent, ReadSeed("a", 1))).checkpoint == NOW + 600


async def test_r34_r50_a_seed_that_is_read_as_a_turn_ends_is_of_that_turn(room: Room) -> None:
    """A check that fails at a turn's end has the seed read at once, before any document of that turn is written."""
    agent = bearing(room, await plant(room, bearing(room)))
    publisher = Publisher(room.papers, cast(Any, SimpleNamespace(follow=lambda agent: None)), FastClock())
    room.papers.resonance.catch_up = publisher.catch_up
    later = replace(agent, last_prompt="Mend the roof.")
    publisher.hear([StoredEntry(7, entry("hook_seen", kind="stop"))], [later])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(publisher.run)
        read = await room.papers.resonance.read_seed(later, ReadSeed("a", 1))
        tasks.cancel_scope.cancel()

    assert "Mend the roof." in read.words


async def test_r51_r52_r53_a_session_ends_with_a_checkpoint_a_summary_and_its_anchor_kept(room: Room) -> None:
    agent = bearing(room, await plant(room, bearing(room)))
    room.clock.wall = NOW + 600
    over = replace(entry("agent_exited"), facts=(RunEnded(1, "finished", "stay", "exit", 0),))

    await room.papers.publish(replace(agent, last_prompt="Mend the roof."), [over])

    seed = json.loads((memory(room) / "session_seed_a.json").read_text())
    rows = [json.loads(line) for line in room.text("ops.jsonl").splitlines()]
    assert anchor(room)["ended_at"] == "2026-11-21T10:10:00Z"
    assert seed["last_checkpoint"] == "2026-11-21T10:10:00Z"
    assert seed["recent_exchange"] == ["Mend the roof."]
    (summary,) = [row for row in rows if row["event"] == "session_summary"]
    assert summary["meta"]["session_id"]
    await room.papers.publish(agent, [entry("agent_started")])
    assert "ended_at" not in anchor(room), "a session that is resumed has not ended"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"marker": "torn', '{"marker": "a b \\u2014 zzzzzz"}'])
async def test_a_torn_or_empty_anchor_is_made_anew_from_the_state_and_says_so(room: Room, content: str) -> None:
    seen: list[Event] = []
    room.options["tell"] = seen.append
    room.restarted()
    agent = bearing(room, await plant(room, bearing(room)))
    (memory(room) / "resonance_anchor_a.json").write_text(content)

    await room.papers.publish(agent, [checked("intact")])

    found = anchor(room)
    assert agent.resonance is not None
    assert agent.resonance.planting is not None
    assert found["marker"] == str(agent.resonance.planting.marker)
    assert found["rebuilt_from"] == "state"
    assert found["last_verified"] is not None
    assert any("made anew" in one.text for one in seen if isinstance(one, TroubleSeen))


async def test_an_anchor_and_a_seed_of_another_agent_are_not_believed(room: Room) -> None:
    agent = bearing(room, await plant(room, bearing(room)))
    for name in ("resonance_anchor_a.json", "session_seed_a.json"):
        path = memory(room) / name
        path.write_text(path.read_text().replace('"agent": "a"', '"agent": "b"').replace("Do it.", "Steal it."))

    read = await room.papers.resonance.read_seed(agent, ReadSeed("a", 1))
    await room.papers.publish(agent, [checked("intact")])

    assert "another agent's" in read.rebuilt
    assert anchor(room)["rebuilt_from"] == "state"
    assert json.loads((memory(room) / "session_seed_a.json").read_text())["active_tasks"] == ["Do it."]


async def test_r37_f_re_8_a_seed_that_is_gone_is_made_of_state_and_brief(room: Room) -> None:
    agent = bearing(room, await plant(room, bearing(room)))
    assert (await room.papers.resonance.read_seed(agent, ReadSeed("a", 1))).rebuilt == ""
    (memory(room) / "session_seed_a.json").unlink()

    assert "gone" in (await room.papers.resonance.read_seed(agent, ReadSeed("a", 1))).rebuilt
    seed = parse_seed((memory(room) / "session_seed_a.json").read_text())
    assert seed is not None
    assert (seed.persona, seed.active_tasks) == ("a", ("Do it.",))


def test_the_papers_of_the_seed_are_read_as_they_stand_there() -> None:
    told = {
        "marker": '"salt on the threshold \u2014 7f3a9c"',
        "session_id": "2026-01-31-001",
        "created_at": "2026-01-31T10:00:00Z",
    }
    assert parse_anchor(json.dumps(told)) is not None


async def test_r44_the_front_comes_first_and_after_a_compaction_behind_the_brief(room: Room) -> None:
    agent = bearing(room, planted := await plant(room, bearing(room)))
    assert agent.run is not None
    fresh = replace(agent, state=replace(room.starting(room.agent(agent.spec)).state))

    await room.papers.publish(fresh, [])
    first = room.text("session-start.1.txt")
    await room.papers.publish(agent, [])
    later = room.text("session-start.1.txt")

    assert first.startswith("You are a in the project shop.\nResonance marker: ")
    assert first.count(str(planted.planting.marker)) == 1
    assert all(code in first for code in planted.planting.codes)
    assert later.startswith("# a ")
    assert later.index("## Task") < later.index("Resonance marker")
    assert planted.planting.marker.code not in room.text("brief.md")


async def test_x19_a_session_that_is_resumed_is_not_told_its_anchor_again(room: Room) -> None:
    agent = bearing(room, await plant(room, bearing(room)))
    resumed = replace(room.starting(room.agent(agent.spec), Mode.RESUME), resonance=agent.resonance)

    await room.papers.publish(resumed, [])

    assert "Resonance" not in room.text("session-start.1.txt")


@pytest.mark.parametrize("begins", [True, False], ids=["a session that begins", "one that is compacted"])
async def test_no_session_of_an_agent_whose_resonance_is_switched_off_is_told_an_anchor(
    room: Room, begins: bool
) -> None:
    agent = bearing(room, await plant(room, bearing(room)))
    off = replace(agent, spec=replace(agent.spec, resonance=ResonanceRules(enabled="off")))
    fresh = replace(off, state=room.starting(room.agent(off.spec)).state)

    await room.papers.publish(fresh if begins else off, [])

    assert "Resonance" not in room.text("session-start.1.txt")


async def test_a_session_that_waits_for_its_first_words_is_told_them_as_such(room: Room) -> None:
    """Its start was heard of before the page was written, for the hook that tells of it waits for that page."""
    agent = bearing(room, await plant(room, bearing(room)))
    assert isinstance(agent.state, Running)
    waits = replace(agent, state=replace(agent.state, run=replace(agent.state.run, evidence=False)))
    lost = Restoration(Step.VERIFY, "two misses", NOW, NOW, base=0)

    await room.papers.publish(waits, [])
    assert room.text("session-start.1.txt").startswith("You are a in the project shop.")
    assert waits.resonance is not None
    await room.papers.publish(replace(waits, resonance=replace(waits.resonance, restoration=lost)), [])
    assert room.text("session-start.1.txt").startswith("[CONTEXT SEED]")


async def test_codes_that_are_just_being_given_are_waited_for(room: Room) -> None:
    """The core hears of them a moment later; the hook program prints what stands there now."""
    agent = bearing(room)
    await plant(room, agent)

    await room.papers.publish(agent, [])

    assert "Resonance codes: 1: " in room.text("session-start.1.txt")


async def test_r39_a_session_in_place_of_a_lost_one_is_told_the_seed_with_new_codes_alone(room: Room) -> None:
    first = await plant(room, bearing(room))
    agent = replace(bearing(room, first), last_prompt=f"Is {first.planting.marker.code} yours?")
    await room.papers.publish(agent, [entry("hook_seen", kind="stop")])
    second = await plant(room, agent)
    restoring = Restoration(Step.VERIFY, "two misses", NOW, NOW, base=0)
    spec = room.agent(agent.spec)
    fresh = replace(room.starting(spec), resonance=replace(told(second), restoration=restoring))

    await room.papers.publish(fresh, [])

    page = room.text("session-start.1.txt")
    assert page.startswith("[CONTEXT SEED]\nRole: a\nActive task: ")
    assert str(second.planting.marker) in page
    assert not {found.group() for found in CODES.finditer(page)} & set(first.planting.hexes())


@pytest.mark.parametrize("since", [-60, 60], ids=["a minute ago", "the clock was set back since"])
async def test_r49_x26_the_crew_that_is_who_shares_the_project_is_told_in_its_next_brief(
    room: Room, since: int
) -> None:
    lost = Restoration(Step.SEED, "two misses", NOW + since, NOW, base=1)
    other = replace(room.agent(room.spec(name="b", project="shop")), resonance=Resonance(restoration=lost))
    room.options["agents"] = lambda: (other,)
    room.restarted()

    await room.papers.publish(bearing(room, await plant(room, bearing(room))), [])
    assert "b, of the same project, had lost the beginning of its context" in room.text("brief.md")
    stranger = room.running(room.agent(room.spec(project="site")))
    await room.papers.publish(stranger, [])
    assert "lost the beginning" not in room.text("brief.md")


async def test_r23_r62_f_re_12_marker_role_and_state_come_back_from_the_agents_own_footers_alone(room: Room) -> None:
    room.options["conversation"] = lambda agent, budget: room.transcripts.conversation(agent, budget)
    room.restarted()
    agent = bearing(room, planted := await plant(room, bearing(room)))
    mine = str(footer.Footer(planted.planting.marker.code, "a", "Degraded"))
    room.write_down(agent, prompt(f"So end your answers:\n{footer.Footer('bbbb2b', 'a', 'Stable')}"))
    room.write_down(agent, answer(f"Done.\n{mine}"))
    room.write_down(agent, answer(f"Not mine.\n{footer.Footer('cccc3c', 'b', 'Stable')}"))
    room.write_down(agent, answer(f"{mine}\n{footer.Footer('dddd4d', 'a', 'Stable')}"))
    room.write_down(agent, answer(str(footer.Footer("eeee5e", "a", "Stable")).upper()))
    room.write_down(agent, answer(mine.replace("] [Role", "1] [Role")))
    room.write_down(agent, tool_result("c-1", f"{footer.Footer('abab6b', 'a', 'Stable')}"))
    for path in memory(room).iterdir():
        path.unlink()

    found = await room.papers.resonance.from_transcript(agent)

    assert found is not None
    assert (found.marker, found.role, found.state, found.phrase_lost) == (
        planted.planting.marker,
        "a",
        "Degraded",
        False,
    )
    assert anchor(room)["rebuilt_from"] == "transcript"
    assert parse_seed((memory(room) / "session_seed_a.json").read_text()) is not None
