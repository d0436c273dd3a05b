"""Facts and weight of a decision: what follows from before and after, so that no face has to read prose."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import pytest

from phoenixd.core import weights
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import LastExit, Mode
from phoenixd.core.agent.state import BackingOff, Desired, Quarantined, Stopped
from phoenixd.core.events import is_journaled
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.facts import (
    Asked,
    AskingOver,
    BeganParking,
    EndedParking,
    Fact,
    Ordered,
    PutInQuarantine,
    RunBegan,
    RunEnded,
    RunProductive,
)
from phoenixd.core.rules import LoopRules, RestartPolicy, RestartRules
from phoenixd.core.spec import Kind
from tests.core.story import Story, claude, spec

F = TypeVar("F", bound=Fact)


def facts(story: Story, kind: type[F]) -> list[F]:
    """The facts of one kind that a story's decisions established so far."""
    return [fact for decision in story.decisions for fact in decision.facts if isinstance(fact, kind)]


def test_a_death_and_its_resume_are_told_by_facts_and_not_by_words() -> None:
    story = Story(claude()).lives(900, signal=9).respawned()
    (ended,) = facts(story, RunEnded)
    assert (ended.meaning, ended.then, ended.signal, ended.lived) == ("death", "restart", 9, 900.0)
    first, second = facts(story, RunBegan)
    assert (first.mode, second.mode, second.incarnation) == (Mode.FRESH, Mode.RESUME, 2)
    assert all(d.weight == "story" for d in story.decisions if any(isinstance(f, RunEnded) for f in d.facts))


@pytest.mark.parametrize(
    ("declared", "code", "meaning", "then"),
    [
        (spec(), 0, "finished", "stay"),
        (spec(), 1, "death", "restart"),
        (spec(kind=Kind.LOOP, loop=LoopRules(pause=1.0)), 0, "iteration", "restart"),
        (spec(kind=Kind.LOOP, loop=LoopRules(pause=1.0)), 1, "death", "restart"),
        (spec(kind=Kind.ORCHESTRATOR), 100, "recycled", "restart"),
        (spec(restart=RestartRules(policy=RestartPolicy.ALWAYS)), 0, "finished", "restart"),
        (spec(restart=RestartRules(policy=RestartPolicy.NEVER)), 1, "death", "stay"),
    ],
)
def test_an_end_says_what_it_was_and_what_follows(declared: object, code: int, meaning: str, then: str) -> None:
    story = Story(declared).lives(900, code)  # type: ignore[arg-type]
    (ended,) = facts(story, RunEnded)
    assert (ended.meaning, ended.then, ended.code) == (meaning, then, code)


@pytest.mark.parametrize("code", [0, 1, 100, 130])
@pytest.mark.parametrize("kind", [Kind.RESIDENT, Kind.LOOP, Kind.EPHEMERAL, Kind.ORCHESTRATOR])
def test_an_end_by_a_lost_terminal_says_nothing_of_the_agent_whatever_its_exit_code(kind: Kind, code: int) -> None:
    story = Story(spec(kind=kind, loop=LoopRules(pause=1.0))).lives(1, 1).respawned()
    story.started()
    story.pass_over(30)
    story.exited(code, cause="terminal_lost")
    lost = facts(story, RunEnded)[-1]
    assert (lost.meaning, lost.then) == ("death", "restart")
    assert lost.incarnation not in [one.incarnation for one in facts(story, RunProductive)]
    assert story.agent.last_exit is not None
    assert story.agent.last_exit.proof == ""


def test_the_open_turn_of_a_loop_that_lost_its_terminal_is_gone_on_with() -> None:
    story = Story(claude(kind=Kind.LOOP, loop=LoopRules(session="resume"))).works()
    story.pass_over(60)
    story.exited(0, cause="terminal_lost")
    assert story.agent.session is not None
    assert story.agent.session.turn_open


def test_a_run_that_is_over_its_time_is_an_iteration_of_a_loop_and_the_death_of_any_other_agent() -> None:
    over = LastExit(1, None, 15, "overtime", 900.0, 0.0)
    for kind, meaning in ((Kind.LOOP, "iteration"), (Kind.RESIDENT, "death"), (Kind.ORCHESTRATOR, "death")):
        agent = Story(claude(kind=kind)).works().agent
        goes_on = replace(agent, state=BackingOff(1.0, Mode.FRESH, PromptKind.GOAL))
        assert weights._meaning(agent, goes_on, over) == meaning
        assert weights._meaning(agent, goes_on, replace(over, limited=True)) == "limit"
        assert weights._meaning(agent, goes_on, replace(over, ran=False)) == "unstarted"
    stays = replace(agent, state=Stopped(), desired=Desired.STOPPED)
    assert weights._meaning(agent, stays, replace(over, code=0, signal=None, cause="exit")) == "finished"


def test_an_end_that_somebody_asked_for_is_no_death() -> None:
    story = Story().runs()
    story.stop()
    story.exited(None, 15)
    (ended,) = facts(story, RunEnded)
    assert (ended.meaning, ended.then) == ("asked", "stay")
    orders = [(order.verb, order.taken, order.moved) for order in facts(story, Ordered)]
    assert orders == [("start", True, True), ("stop", True, True)]


def test_an_order_that_changes_nothing_or_is_refused_says_so() -> None:
    story = Story(claude()).works()
    story.start()
    story.start(fresh=True)
    assert [(order.taken, order.moved) for order in facts(story, Ordered)][1:] == [(True, False), (False, False)]
    assert [d.weight for d in story.decisions[-2:]] == ["story", "story"]


def test_a_quarantine_is_a_fact_of_its_own() -> None:
    story = Story(spec(restart=RestartRules(max_crashes=2)))
    story.lives(1, 1).respawned().lives(1, 1)
    assert isinstance(story.state, Quarantined)
    assert [ended.then for ended in facts(story, RunEnded)] == ["restart", "quarantine"]
    (put,) = facts(story, PutInQuarantine)
    assert put.cause == story.state.cause


def test_questions_open_and_close_by_number() -> None:
    story = Story(claude()).works()
    story.hook("permission-request", tool="Bash", text="rm -r build")
    story.hook("tool-end", tool="Bash")
    (asked,), (over,) = facts(story, Asked), facts(story, AskingOver)
    assert asked.kind == over.kind == "permission"
    assert asked.item == over.item > 0


def test_parking_begins_and_ends_as_a_fact() -> None:
    story = Story(claude()).works()
    story.hook("stop-failure", error="rate_limit", text="limit reached", reset_wall=story.wall + 600)
    (parked,) = facts(story, BeganParking)
    assert parked.until_wall >= story.wall + 600
    assert not facts(story, EndedParking)
    story.wait(900)
    story.hook("prompt-submit", text="go on")
    assert facts(story, EndedParking)


def test_notes_are_detail() -> None:
    story = Story(claude()).works()
    story.hook("stop")
    assert [decision.weight for decision in story.decisions if decision.reason][-1] == "detail"


def test_a_look_that_changes_nothing_is_noise_and_counted() -> None:
    story = Story(claude())
    story.screen = "unknown"
    story.start()
    story.started()
    story.wait(120)
    looks = [decision for decision in story.decisions if decision.weight == "noise"]
    assert len(looks) >= 3
    assert story.agent.looks == len(looks)
    assert not is_journaled(ScreenSeen("a", 1, "unknown"))
    story.hook("session-start", session_id="s", source="startup")
    assert story.agent.looks == 0, "a new state begins to count anew"


@pytest.mark.parametrize("harness", ["claude", "gemini"])
def test_a_hook_that_calls_for_a_look_keeps_its_own_row(harness: str) -> None:
    """Gemini's turns end with a look, and a second session in one run does: neither row may go with the looks."""
    story = Story(claude(harness=harness)).works()
    story.screen = None
    story.hook("stop")
    story.pass_over(1)
    story.hook("session-start", session_id="beside", source="startup")
    told = [decision.reason for decision in story.decisions if decision.weight != "noise"]
    assert any("the turn ended" in reason for reason in told)
    assert any("a second session began" in reason for reason in told)
