"""What a shim holds and tells again is heard once, of its own run, and never without bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Waiting
from phoenixd.core.agent.state import Running
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello
from phoenixd.runtime.open_questions import MOST_HELD, REMEMBERED, OpenQuestions
from tests.core.story import EPOCH, Story, claude

AGENT = Story(claude()).works().agent
assert AGENT.run is not None
RUN_ID = AGENT.run.run_id


def hook(seq: int, run_id: str = RUN_ID) -> dict[str, Any]:
    return {"seq": str(seq), "run_id": run_id}


def hello(*held: int) -> ShimHello:
    return ShimHello("a", ProcessIdentity("boot", 5, 50), 3, "1", 0, None, None, held)


def forgotten(questions: OpenQuestions, *held: int, agent: Agent = AGENT) -> list[int]:
    return [int(one["seq"]) for one in questions.forgotten(agent, hello(*held))]


def test_promise_11_what_is_held_of_this_run_and_nobody_knows_of_is_heard_once_in_its_order() -> None:
    questions = OpenQuestions()
    for seq in (7, 3, 5):
        questions.keep("a", hook(seq))
    questions.keep("b", hook(4))

    assert forgotten(questions, 3, 4, 7) == [3, 7], "5 is held no more, and 4 is another agent's"
    assert forgotten(questions, 3, 4, 7) == []


@pytest.mark.parametrize("why", ["another run", "no run", "heard"])
def test_promise_11_what_is_of_another_run_or_was_heard_as_any_hook_is_not_heard_again(why: str) -> None:
    questions = OpenQuestions()
    questions.keep("a", hook(3, "other" if why == "another run" else RUN_ID))
    if why == "heard":
        questions.note("a", 3)
    agent = Story(claude()).agent if why == "no run" else AGENT
    assert forgotten(questions, 3, agent=agent) == []


def test_promise_11_a_question_that_stands_is_known() -> None:
    state = AGENT.state
    assert isinstance(state, Running)
    asks = replace(state.activity, waiting=Waiting("permission", "make", EPOCH, hold=3))
    questions = OpenQuestions()
    for seq in (3, 4):
        questions.keep("a", hook(seq))
    assert forgotten(questions, 3, 4, agent=replace(AGENT, state=replace(state, activity=asks))) == [4]


def test_of_one_agent_so_many_are_kept_the_newest_ones_and_so_many_that_were_heard() -> None:
    questions = OpenQuestions()
    for seq in range(MOST_HELD + 2):
        questions.keep("a", hook(seq))
    assert forgotten(questions, *range(MOST_HELD + 2)) == list(range(2, MOST_HELD + 2))

    for seq in range(REMEMBERED + 1):
        questions.note("a", seq)
    for seq in (0, 1, REMEMBERED):
        questions.keep("a", hook(seq))
    assert forgotten(questions, 0, 1, REMEMBERED) == [0]
