"""A context in which nothing more can be asked: an orchestrator with a project is handed over from files (F-HO-1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.actions import Arm, Deliver, Spawn
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Desired, Running, Stopped, Stopping
from phoenixd.core.events.evidence import AnswerCut
from phoenixd.core.events.handoffs import PapersFailed
from phoenixd.core.events.orders import StopRequested
from phoenixd.core.events.runs import ShimLost, TreeGone
from phoenixd.core.handoff.holding import predecessor_lost
from phoenixd.core.handoff.state import Step
from phoenixd.core.rules import ContextRules, RestartPolicy, RestartRules
from phoenixd.documents.hooks import hook_event
from tests.core.handing import HandoffStory, orchestrator
from tests.core.story import Story, spec
from tests.journaled import dump_agent, load_agent

TOO_LONG = {"error": "invalid_request", "error_details": "Prompt is too long"}
EXCEEDED = {"error": "max_output_tokens", "last_assistant_message": "API Error: model_context_window_exceeded"}


def working(**changes: Any) -> HandoffStory:
    given = {"project": "shop", "context": ContextRules(predict=False), **changes}
    story = HandoffStory(orchestrator(**given))
    story.works()
    story.hook("stop")
    story.hook("prompt-submit", text="Go on.")
    return story


def refused(story: HandoffStory, name: str = "", said: dict[str, str] | None = None) -> None:
    """After a call, what was asked of it is refused, for nothing more fits into its context."""
    agent = story.fleet.agents[name or story.seat.holder]
    story.tell(hook_event(agent.name, agent.incarnation, "tool-end", {"tool_name": "Read"}, story.wall))
    story.tell(hook_event(agent.name, agent.incarnation, "stop-failure", said or TOO_LONG, story.wall))


def spawned(story: HandoffStory, name: str) -> list[str]:
    return [one.mode.value for one in story.of(Spawn) if one.agent == name]


@pytest.mark.parametrize("said", [TOO_LONG, EXCEEDED], ids=["refused", "window exceeded"])
def test_f_ho_1_a_dead_end_is_handed_over_from_files_and_the_package_says_so(said: dict[str, str]) -> None:
    story = working()
    refused(story, said=said)
    assert isinstance(story.fleet.agents["o"].state, Stopping)
    story.exits("o", None, 15)

    assert (story.handoff.trigger, "context is full" in story.handoff.why) == ("full", True)
    assert story.step is Step.SPAWN
    (degraded,) = story.handoff.degraded
    assert "could say nothing any more" in degraded
    assert [one.step.value for one in story.handoff.times] == ["freeze", "update", "snapshot"], "nothing is drained"
    assert story.of(Deliver) == [], "nobody is there to be told to finish"
    assert [one.answer.purpose for one in story.of(Arm)] == []
    assert spawned(story, "o") == ["fresh"], "the full session is not started again"
    story.started_of("o-g2")
    assert story.ack() is None
    assert story.step is Step.DONE
    assert list(story.fleet.agents) == ["o-g2"]
    assert story.alerts() == [], "nobody has to do anything"


def test_f_ho_1_an_answer_that_ended_at_the_windows_end_is_a_dead_end_too() -> None:
    story = working()
    story.hook("stop", text="The till is half")
    story.tell(AnswerCut("o", 1, "window", story.wall))
    story.exits("o", None, 15)
    assert (story.handoff.trigger, story.step) == ("full", Step.SPAWN)


def test_f_ho_1_where_the_words_say_nothing_the_meter_does() -> None:
    story = working()
    story.uses(176_500)
    story.uses(176_500)
    refused(story, said={"error": "invalid_request", "error_details": "the request was refused"})
    story.exits("o", None, 15)
    assert (story.handoff.trigger, "88" in story.handoff.why) == ("full", True)


def test_f_ho_1_without_a_project_there_is_nothing_to_hand_over_and_it_goes_fresh() -> None:
    story = working(project=None)
    refused(story)
    story.exits("o", None, 15)
    assert story.seat.handoff is None
    assert spawned(story, "o") == ["fresh", "fresh"]


def test_f_ho_1_a_lost_shim_does_not_make_it_anything_else() -> None:
    story = working()
    refused(story)
    story.tell(ShimLost("o", 1))
    story.tell(TreeGone("o", 1))
    assert (story.handoff.trigger, story.step) == ("full", Step.SPAWN)


def test_f_ho_6_a_daemon_that_dies_meanwhile_knows_it_from_the_journal() -> None:
    story = working()
    refused(story)
    agents = {name: load_agent(dump_agent(agent)) for name, agent in story.fleet.agents.items()}
    story.fleet = story.fleet.__class__(agents, seats=story.fleet.seats)
    story.exits("o", None, 15)
    assert story.handoff.trigger == "full"


def test_promise_3_a_stop_meanwhile_begins_none() -> None:
    story = working()
    refused(story)
    story.tell(StopRequested("o"))
    story.exits("o", None, 15)
    assert story.seat.handoff is None
    assert isinstance(story.agent.state, Stopped)


def test_f_ho_1_rolled_back_the_predecessor_goes_on_in_a_fresh_session_and_never_in_the_full_one() -> None:
    story = working()
    refused(story)
    story.exits("o", None, 15)
    for _ in range(2):
        story.started_of("o-g2")
        story.exits("o-g2", 1)
    assert story.step is Step.ROLLED_BACK
    story.wait(5)
    assert spawned(story, "o") == ["fresh", "fresh"]
    assert "handoff" in story.alerts()


def test_f_ho_1_in_the_turn_in_which_it_is_to_finish_the_handoff_goes_on_from_files() -> None:
    story = working()
    story.hook("stop")
    story.begins()
    text = story.of(Deliver)[-1]
    story.hook("prompt-submit", text=text.text)
    refused(story)
    story.exits("o", None, 15)
    assert (story.handoff.trigger, story.step) == ("operator", Step.SPAWN)
    assert any("could say nothing any more" in one for one in story.handoff.degraded)
    assert spawned(story, "o") == ["fresh"]


def test_f_ho_1_a_successor_whose_context_is_full_before_its_ack_has_used_a_try() -> None:
    story = HandoffStory(orchestrator(project="shop")).awaiting()
    refused(story, "o-g2")
    story.exits("o-g2", None, 15)
    assert (story.handoff.tries, story.handoff.trigger) == (2, "operator")


def over_from_files(story: HandoffStory, old: str, new: str) -> None:
    refused(story)
    story.exits(old, None, 15)
    story.started_of(new)
    assert story.ack(new) is None
    assert story.step is Step.DONE


def test_f_ho_21_what_fills_each_session_at_once_is_not_handed_over_for_ever() -> None:
    story = working()
    over_from_files(story, "o", "o-g2")
    story.pass_over(60)
    refused(story)
    story.exits("o-g2", None, 15)
    assert story.step is Step.DONE
    assert spawned(story, "o-g2") == ["fresh", "fresh"], "fresh, with its brief"


def test_f_ho_21_a_full_context_waits_for_no_spacing_after_another_handoff_and_does_after_a_rollback() -> None:
    story = HandoffStory(orchestrator(project="shop")).awaiting()
    story.ack()
    story.exits("o", None, 15)
    first = story.handoff.id
    refused(story)
    story.exits("o-g2", None, 15)
    assert (story.handoff.id != first, story.handoff.trigger) == (True, "full")
    for _ in range(2):
        story.started_of("o-g3")
        story.exits("o-g3", 1)
    assert story.step is Step.ROLLED_BACK
    second = story.handoff.id
    story.started_of("o-g2")
    refused(story)
    story.exits("o-g2", None, 15)
    assert story.handoff.id == second, "what came to nothing a moment ago would do so again"
    assert spawned(story, "o-g2")[-1] == Mode.FRESH.value


@pytest.mark.parametrize("finally_", [False, True], ids=["twice", "for good"])
def test_x30_from_files_alone_a_failed_update_leads_on_unless_the_project_is_gone(finally_: bool) -> None:
    story = working()
    story.files = "never"
    refused(story)
    story.exits("o", None, 15)
    for _ in range(1 if finally_ else 2):
        story.tell(PapersFailed("o", story.handoff.id, "plan.md is a pipe", final=finally_))
    if finally_:
        assert story.step is Step.ROLLED_BACK
        story.wait(5)
        assert spawned(story, "o") == ["fresh", "fresh"]
        return
    assert story.step is Step.SNAPSHOT
    assert "plan.md is a pipe" in story.handoff.degraded


def test_a_refusal_of_a_subagents_is_no_dead_end() -> None:
    story = working()
    story.tell(hook_event("o", 1, "stop-failure", {"agent_id": "sub", **TOO_LONG}, story.wall))
    assert isinstance(story.agent.state, Running)


def test_a_lost_predecessors_last_end_is_the_reason_and_without_one_that_it_does_not_run() -> None:
    story = working()
    story.begins()
    down = Story(spec(restart=RestartRules(policy=RestartPolicy.NEVER))).lives(20, 3).agent
    assert down.last_exit is not None
    down = replace(down, desired=Desired.RUNNING)
    for old, how in ((down, down.last_exit.text), (None, "it does not run")):
        move = predecessor_lost(story.handoff, old, None, story.now)
        assert move is not None
        assert move.reason == f"its predecessor is down ({how}): the handoff goes on from files"
        assert move.handoff.degraded[-1] == f"the predecessor ended before the fence: {how}"
