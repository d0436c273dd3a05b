"""Resonance in the core: when codes are planted and asked for, and what of it outlives the daemon."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import armed
from phoenixd.core.actions import Alert, Disarm, PlantCodes, Spawn
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.orders import (
    AgentDeclared,
    RestartRequested,
    UndoRequested,
)
from phoenixd.core.events.resonance import CheckRequested, CodesPlanted, CodesSeen, FooterSeen
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.hooks import SessionStarted
from phoenixd.core.projection import row
from phoenixd.core.resonance.checks import hear
from phoenixd.core.rules import ResonanceRules
from phoenixd.core.spec import Kind
from phoenixd.documents.hooks import hook_of
from phoenixd.planting import Planting
from phoenixd.runtime.describe import describe_event
from tests.core.resonating import PERSONA, ResonanceStory, hexes_in, resonant
from tests.core.story import Story, claude, spec
from tests.journaled import dump_agent, load_agent


def story(**rules: Any) -> ResonanceStory:
    return ResonanceStory(resonant(**{"interval_turns": 3, **rules})).begins()


def until_asked(told: ResonanceStory, **how: Any) -> str:
    """Turns until one's end is held up."""
    for _ in range(20):
        if (question := told.turn(**how)) is not None:
            return question
    raise AssertionError("nothing was asked in 20 turns")


# When codes are planted, and asked for.


def test_r43_r45_codes_are_planted_before_the_session_begins() -> None:
    told = ResonanceStory()
    told.start()

    kinds = [type(action) for action in told.actions if isinstance(action, PlantCodes | Spawn)]
    assert kinds == [PlantCodes, Spawn]
    assert told.known.planting is not None
    assert told.known.state == "unverifiable"
    assert told.known.last_verified_wall is None, "F-RE-14: nothing was verified so far"


@pytest.mark.parametrize(
    ("declared", "is_on"),
    [
        (claude(kind=Kind.ORCHESTRATOR), True),
        (resonant(overflow="reject"), True),
        (resonant(overflow="compaction"), False),
        (resonant(enabled="off"), False),
        (resonant(overflow="compaction", enabled="on"), True),
        (replace(resonant(), kind=Kind.EPHEMERAL), False),
    ],
    ids=["orchestrator", "reject", "compaction", "off", "on", "ephemeral"],
)
def test_x14_it_is_on_for_orchestrators_and_where_an_overflow_is_not_told(declared: Any, is_on: bool) -> None:
    told = Story(declared)
    told.start()

    assert bool(told.of(PlantCodes)) is is_on


def test_nothing_of_it_for_an_agent_that_bears_no_marker() -> None:
    told = Story(claude()).works()
    told.hook("stop")

    assert told.agent.resonance is None
    assert not told.of(PlantCodes)


def test_r4_r33_a_code_is_asked_for_every_ten_turns_and_at_a_turns_end_alone() -> None:
    told = ResonanceStory().begins()

    asked = [bool(told.turn()) for _ in range(29)]

    assert [number for number, was in enumerate(asked, 2) if was] == [10, 20, 30]
    assert (told.known.state, told.known.last_verified_wall) == ("intact", told.wall)


@pytest.mark.parametrize("mode", ["one_time", "classic"])
def test_r64_r16_no_question_holds_a_code_and_each_addresses_the_role(mode: str) -> None:
    told = story(interval_turns=1, mode=mode)
    for number in range(40):
        told.turn(answer="No." if number % 5 == 3 else None)

    questions = [text for text in told.sent() if "take the place of" not in text]
    assert len(questions) >= 30
    assert not any(hexes_in(text, *told.plantings) for text in questions)
    assert all(PERSONA in text for text in questions)


def test_f_re_4_in_one_time_each_code_is_asked_for_once_and_new_ones_are_told_when_they_are_spent() -> None:
    told = story(interval_turns=1, codes=4)
    questions = [told.turn() for _ in range(12)]

    numbers = [question.split("code number ")[1].split()[0] for question in questions[:2] if question]
    assert numbers == ["2", "3"], "the first one was asked for in its first turn"
    spent, after = questions[2], questions[3]
    assert spent is not None
    assert hexes_in(spent, told.plantings[1]) == set(told.plantings[1].hexes())
    assert not hexes_in(spent, told.plantings[0])
    assert after is not None
    assert "code number 1 " in after
    assert [order.why for order in told.of(PlantCodes)][:2] == ["start", "spent"]
    assert "lost" not in told.verdicts


def test_x13b_what_was_answered_once_is_no_crib_in_one_time_and_is_one_in_classic() -> None:
    for mode, state in (("one_time", "missed"), ("classic", "intact")):
        told = story(mode=mode)
        until_asked(told)
        assert told.known.asked is not None
        echo = told.known.asked.code
        told.memory = None

        until_asked(told, answer=f"It is {echo}.")

        assert told.known.state == state, mode


@pytest.mark.parametrize(
    ("happens", "why"),
    [("compacted", "compaction"), ("stop-failure", "error")],
)
def test_r15_r17_a_check_comes_after_a_compaction_and_after_an_error(happens: str, why: str) -> None:
    told = story(interval_turns=50)
    told.hook("prompt-submit", text="Go on.")
    told.hook(happens, **({"error": "unknown"} if why == "error" else {}))

    assert told.known.due == why
    assert (told.ends_turn() if why == "compaction" else told.turn()) is not None
    assert (told.known.state, told.known.due) == ("intact", "")


def test_r18_x19_a_resumed_session_is_asked_at_boot_for_what_it_has_and_a_fresh_one_begins_anew() -> None:
    told = story(interval_turns=50)
    told.exited(1)
    told.respawned()
    assert told.spawn.mode.value == "resume"
    assert len(told.plantings) == 1
    told.up()
    assert told.turn() is not None
    assert told.known.state == "intact"

    told.restart(fresh=True)
    told.exited(143)
    assert len(told.plantings) == 2
    assert told.plantings[1].marker != told.plantings[0].marker
    assert (told.known.state, told.known.due) == ("unverifiable", "")


def in_two_sessions(**rules: Any) -> tuple[ResonanceStory, Planting]:
    """An agent that a fresh start led away from its session, and what that one was told."""
    told = story(**rules)
    told.turn()
    first = told.plantings[-1]
    told.tell(RestartRequested("a", fresh=True, act="1"))
    told.exited(signal=15)
    return told.begins(), first


def goes_back(told: ResonanceStory, memory: Planting) -> None:
    assert told.tell(UndoRequested("a", "1")) is None
    told.exited(signal=15)
    told.up()
    assert told.run.mode is Mode.RESUME
    told.memory = memory


def test_r43_x19_a_session_that_an_undo_gives_back_is_not_asked_for_the_codes_of_the_one_it_leaves() -> None:
    told, first = in_two_sessions()
    second = told.plantings[-1]
    goes_back(told, first)

    assert "take the place of" in until_asked(told), "it is told new ones at a turn's end"
    assert told.plantings[-1] not in (first, second)
    for _ in range(3):
        until_asked(told)
    assert set(told.verdicts) == {"intact"}
    assert told.steps == []
    assert "marker lost" not in told.alerts()


def test_r38_what_the_session_lost_that_an_undo_leaves_is_not_lost_in_the_one_that_it_gives_back() -> None:
    told, first = in_two_sessions(restore=False)
    told.memory = None
    until_asked(told)
    until_asked(told)
    assert told.known.lost
    goes_back(told, first)

    assert told.known.lost == ""
    until_asked(told)
    until_asked(told)
    assert told.known.state == "intact"


def test_no_fresh_start_is_taken_back_while_a_restoration_begins_its_session() -> None:
    told, _ = in_two_sessions()
    told.memory = None
    until_asked(told)
    until_asked(told)
    told.exited(signal=15)
    assert isinstance(told.state, Starting)
    assert told.known.is_restoring

    refused = told.tell(UndoRequested("a", "1"))
    assert refused is not None
    assert "is being restored" in refused.message
    told.up()
    told.turn()
    assert told.steps[-1] == 6


def test_r33_work_that_is_flagged_as_key_is_preceded_by_a_check() -> None:
    told = story(interval_turns=50)

    assert told.tell(CheckRequested("a", "operator", "the release")) is None
    assert told.known.due == "key"
    assert told.ready is not None
    assert told.turn() is not None
    assert told.known.state == "intact"


def test_a_check_is_refused_with_the_reason_where_none_can_be_made() -> None:
    off = Story(claude()).works()
    refusal = off.tell(CheckRequested("a"))
    assert refusal is not None
    assert "enabled = true" in refusal.remedy

    down = ResonanceStory()
    refusal = down.tell(CheckRequested("a"))
    assert refusal is not None
    assert refusal.remedy == "phoenixctl start a"

    told = ResonanceStory()
    told.start()
    told.up(link=1)
    refusal = told.tell(CheckRequested("a"))
    assert refusal is not None
    assert "older version" in refusal.message


def test_where_an_agent_cannot_be_asked_the_core_says_why_and_takes_nothing_for_a_loss() -> None:
    told = ResonanceStory(resonant(interval_turns=2))
    told.start()
    told.up(link=1)
    told.hook("prompt-submit", text="Build the shop.")
    for _ in range(5):
        assert told.turn() is None

    assert told.known.state == "unverifiable"
    assert "older version" in told.known.note
    assert sum("it cannot be checked" in reason for reason in told.reasons) == 1, "told once"
    assert told.steps == []


# Footers.


def test_r35_r21_a_footer_that_says_degraded_leads_to_a_check_and_another_role_is_told() -> None:
    told = story(interval_turns=50)
    told.tell(FooterSeen("a", 1, "7f3a9c", PERSONA, "Stable", told.wall))
    assert told.known.due == ""
    told.tell(FooterSeen("a", 1, "7f3a9c", PERSONA, "Degraded", told.wall))
    assert told.known.due == "footer"
    assert told.turn() is not None
    told.decisions.clear()
    told.tell(FooterSeen("a", 1, "7f3a9c", "Somebody", "Stable", told.wall))
    assert "names the role 'Somebody'" in told.reasons[-1]
    told.decisions.clear()
    told.tell(FooterSeen("a", 1, "7f3a9c", "Somebody", "Stable", told.wall))
    assert told.reasons == [], "the same again is no news"


# The daemon, the journal, and what people see.


def test_what_is_known_survives_the_journal_and_no_row_holds_a_code() -> None:
    told = story()
    until_asked(told)
    agent = told.agent
    text = dump_agent(agent)

    assert load_agent(text).resonance == agent.resonance
    assert told.memory is not None
    planted = CodesPlanted("a", 1, told.memory, told.wall, PERSONA)
    seen = CodesSeen("a", 1, told.memory.codes, "a file", told.wall)
    footer = FooterSeen("a", 1, told.memory.marker.code, PERSONA, "Stable", told.wall)
    for event in (planted, seen, footer):
        assert not hexes_in(f"{describe_event(event)} {event!r}", told.memory)
    said = " ".join(f"{one.reason} {one.readings} {one.facts}" for one in told.decisions)
    assert not hexes_in(said, *told.plantings)
    assert not hexes_in(repr(row(agent, told.now)), *told.plantings)
    assert not any(hexes_in(one.text, *told.plantings) for one in told.of(Alert))


def test_an_older_journal_knows_nothing_of_it_and_loads() -> None:
    import json

    data = json.loads(dump_agent(story().agent))
    del data["resonance"], data["spec"]["resonance"]

    assert load_agent(json.dumps(data)).resonance is None


def test_a_daemon_that_begins_orders_codes_again_that_did_not_come() -> None:
    told = ResonanceStory(papers="never")
    told.start()
    told.up()
    told.decisions.clear()
    told.tell(RunAdopted("a", 1, 100, 1000, link=armed.LINK, armed=()))

    assert [order.why for order in told.of(PlantCodes)] == ["missing"]


def test_a_resumed_session_that_has_no_anchor_is_told_one_at_a_turns_end_and_is_not_lost() -> None:
    """What a resumed session prints at its start holds no anchor (X19)."""
    told = ResonanceStory(resonant(interval_turns=2), papers="never").begins()
    told.papers = "well"
    told.exited(1)
    told.respawned()
    assert told.spawn.mode.value == "resume"
    assert told.of(PlantCodes)[-1].why == "missing"
    told.up()
    for _ in range(5):
        told.turn()

    assert "lost" not in told.verdicts
    assert told.known.state == "intact"


def test_a_check_that_stands_ready_is_taken_back_where_resonance_is_switched_off() -> None:
    told = story(interval_turns=2)
    assert told.ready is not None
    told.tell(AgentDeclared(replace(told.agent.spec, resonance=ResonanceRules(enabled="off"))))

    assert told.ready is None
    assert told.of(Disarm)
    assert told.turn() is None


def test_an_answer_that_comes_after_resonance_was_switched_off_is_not_judged() -> None:
    told = story()
    told.turn()
    told.hook("prompt-submit", text="Go on.")
    assert told.asked() is not None
    told.tell(AgentDeclared(replace(told.agent.spec, resonance=ResonanceRules(enabled="off"))))
    told.hook("stop", text="No.")

    assert told.verdicts == []
    assert told.known.misses == 0


@pytest.mark.parametrize("how", ["fresh", "clear", "compacted"])
def test_what_a_session_was_not_told_while_resonance_was_off_is_no_loss_once_it_is_on_again(how: str) -> None:
    told = story(interval_turns=1)
    on, plantings = told.agent.spec, len(told.plantings)
    told.tell(AgentDeclared(replace(on, resonance=ResonanceRules(enabled="off"))))
    if how == "fresh":
        told.restart(fresh=True)
        told.exited(None, 15)
        told.up()
    else:
        told.hook(*(("session-start",) if how == "clear" else ("compacted",)), source=how)
    told.memory = None
    told.turn()
    assert len(told.plantings) == plantings, "nothing is planted for one that bears no marker now"
    told.tell(AgentDeclared(on))
    for _ in range(6):
        told.turn()

    assert told.steps == []
    assert told.known.misses == 0
    assert told.known.state == "intact", "it was told new codes at a turn's end, and knows them"


def test_a_check_that_was_answered_while_no_daemon_lived_is_judged() -> None:
    told = story()
    told.turn()
    told.hook("prompt-submit", text="Go on.")
    ready = told.ready
    assert ready is not None
    told.tell(RunAdopted("a", 1, 100, 1000, link=armed.LINK, armed=((ready.id, 1),)))
    told.hook("stop-blocked", text="Done.")
    told.hook("stop", text=told.recited(ready.text))

    assert told.known.state == "intact"


def test_a_command_that_reports_by_the_hook_program_is_checked_too() -> None:
    told = ResonanceStory(spec(resonance=resonant(interval_turns=2).resonance, prompt="go"))
    told.start()
    told.up()
    told.hook("prompt-submit", text="go")
    told.ends_turn()

    assert told.turn() is not None
    assert told.known.state == "intact"


@pytest.mark.parametrize(
    ("run", "known", "told_anew"),
    [
        ({}, {}, True),
        ({"mode": Mode.RESUME}, {}, False),
        ({}, {"planting": None}, False),
        ({}, {"told": False}, False),
        ({}, {"state": "intact"}, False),
    ],
)
def test_a_fresh_session_that_began_unheard_is_told_its_codes_where_nothing_shows_that_it_knows_them(
    run: dict[str, Any], known: dict[str, Any], told_anew: bool
) -> None:
    told = ResonanceStory(resonant()).begins()
    assert isinstance(told.state, Running)
    knows = replace(told.known, **{"state": "not_applicable", "misses": 1, **known})
    agent = replace(
        told.agent, resonance=knows, state=replace(told.state, run=replace(told.run, **{"mode": Mode.FRESH, **run}))
    )
    for source, unheard, anew in (
        ("startup", True, told_anew), ("compact", True, told_anew), ("startup", False, False), ("resume", True, False),
    ):  # fmt: skip
        began = hook_of("a", 1, "session-start", source=source)
        assert isinstance(began, SessionStarted)
        found = hear(agent, replace(began, unheard=unheard), Seen(agent, Decision(agent)), told.now).agent
        assert found is not None
        assert found.resonance == (replace(knows, told=False, misses=0) if anew else knows), source
