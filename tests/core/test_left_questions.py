"""A question whose run died is told again, and its answer goes with the next words that the agent is told (P14)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.actions import Deliver
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Running
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.events.runs import AgentVanished, Delivered, HoldAnswered, NotDelivered, RunAdopted, StartFailed
from phoenixd.core.inbox import inbox
from phoenixd.core.question import leftover
from phoenixd.core.rules import ResumeRules
from phoenixd.documents.state import StateDocument
from phoenixd.memory.brief.composition import first_words
from tests.core.handing import HandoffStory
from tests.core.story import Story, claude
from tests.journaled import dump_agent, load_agent

ASKED = {"questions": [{"question": "Which database?", "options": [{"label": "SQLite"}, {"label": "Postgres"}]}]}


def asks(story: Story, given: dict[str, Any] = ASKED, seq: int = 1) -> None:
    story.hook("permission-request", tool="AskUserQuestion", text=json.dumps(given), held=True, seq=seq)


def asking(**changes: Any) -> Story:
    story = Story(claude(**changes)).works()
    asks(story)
    story.decisions.clear()
    return story


def dead(lived: float = 400.0, **changes: Any) -> Story:
    """The agent was killed with its question open."""
    story = asking(**changes)
    story.pass_over(lived)
    story.exited(signal=9)
    return story


def down(story: Story | None = None) -> Story:
    """It could not be started again, and its next start waits."""
    story = story or dead()
    story.tell(StartFailed("a", story.run.incarnation, 0, "the disk is full"))
    return story


def at_work(story: Story) -> Story:
    """Its next run was told to go on, and is idle."""
    story.respawned()
    story.runs()
    story.hook("prompt-submit", text=words(story))
    story.hook("stop")
    return story


def number(story: Story) -> int:
    assert len(story.agent.items) == 1
    return story.agent.items[0].id


def words(story: Story) -> str:
    """What its present run is told first."""
    return first_words(story.agent, story.run.mode, story.run.prompt, StateDocument(agent="a")) or ""


def say(story: Story, *answer: str) -> str | None:
    refusal = story.tell(AnswerRequested(story.agent.name, number(story), words=answer))
    return refusal.message if refusal else None


def test_p14_a_question_that_was_open_at_death_stays_and_its_agent_is_reminded() -> None:
    story = asking()
    before = story.agent.items[0]

    story.pass_over(400)
    story.exited(signal=9)

    (left,) = story.agent.items
    assert (left.id, left.incarnation, left.left, left.answer_by) == (before.id, 1, True, "answer")
    assert [item.id for item in inbox(story.fleet)] == [before.id]
    assert story.alerts() == [], "it has been told once"
    story.respawned()
    assert "you had asked a person: Which database? Nobody has answered yet" in words(story)


def test_p14_a_fresh_session_is_told_to_go_on_with_the_turn_that_asked_and_the_answer_with_it() -> None:
    story = down(dead(resume=ResumeRules(enabled=False)))
    assert say(story, "2") is None
    story.respawned()
    assert (story.run.mode, story.run.prompt) == (Mode.FRESH, PromptKind.CONTINUE)
    told = words(story)
    assert told.endswith("you had asked a person: Which database? The answer is: Postgres")
    assert "ontinue" in told


def test_p14_an_answer_that_comes_before_the_next_start_goes_with_its_prompt_and_closes_the_item() -> None:
    story = down()
    assert isinstance(story.state, BackingOff)

    assert say(story, "2") is None

    assert [item.answer for item in story.agent.items] == ["Postgres"]
    assert load_agent(dump_agent(story.agent)).items == story.agent.items
    story.respawned()
    assert story.spawn.prompt is PromptKind.CONTINUE
    assert words(story).endswith("you had asked a person: Which database? The answer is: Postgres")
    story.runs()
    assert number(story) > 0, "nobody has heard it yet"
    story.hook("prompt-submit", text=words(story))
    assert story.agent.items == ()
    assert story.agent.last_prompt is None


def test_p14_a_run_that_dies_before_it_heard_the_answer_leaves_it_to_the_next() -> None:
    story = down()
    say(story, "2")
    story.respawned()
    story.runs()

    story.pass_over(400)
    story.exited(signal=9)

    story.respawned()
    assert "The answer is: Postgres" in words(story)
    story.runs()
    story.hook("prompt-submit", text=words(story))
    assert story.agent.items == ()


def test_p79_an_answer_that_holds_a_secret_is_typed_and_kept_nowhere() -> None:
    story = at_work(dead())
    story.decisions.clear()

    assert story.tell(AnswerRequested("a", number(story), words=("hush",), secret=True)) is None

    (order,) = story.of(Deliver)
    assert order.text.endswith("The answer is: hush")
    assert "hush" not in dump_agent(story.agent)
    story.tell(Delivered("a", story.run.incarnation, order.message_id, "prompt-submit"))
    assert story.agent.items == ()


def test_p79_an_answer_that_holds_a_secret_is_not_kept_for_the_next_start() -> None:
    story = down()

    refusal = story.tell(AnswerRequested("a", number(story), words=("hush",), secret=True))

    assert refusal is not None
    assert "holds a secret, and is kept nowhere" in refusal.message
    assert "hush" not in dump_agent(story.agent) + refusal.message
    assert say(story, "2") is None


def test_p14_an_agent_that_is_back_and_idle_is_typed_the_answer_like_send() -> None:
    story = at_work(dead())
    story.decisions.clear()

    assert say(story, "a text of mine") is None

    (order,) = story.of(Deliver)
    assert order.text == f"{leftover.ASKED}Which database? The answer is: a text of mine"
    assert "being typed" in (say(story, "1") or "")
    story.hook("prompt-submit", text=order.text)
    assert story.agent.last_prompt is None, "an answer is no new task"
    story.tell(Delivered("a", story.run.incarnation, order.message_id, "prompt-submit"))
    assert story.agent.items == ()


def test_p14_an_answer_that_could_not_be_typed_leaves_the_question_open() -> None:
    story = at_work(dead())
    say(story, "1")
    order = story.of(Deliver)[-1]

    story.tell(NotDelivered("a", story.run.incarnation, order.message_id, "a dialog is open"))

    assert [(item.answering, item.answer) for item in story.agent.items] == [("", "")]
    say(story, "1")
    # A daemon that starts meanwhile types nothing that an earlier one began to.
    story.tell(RunAdopted("a", story.run.incarnation, 5, 50))
    assert say(story, "1") is None


def test_p14_what_cannot_be_typed_into_now_says_what_to_do_first() -> None:
    story = dead()
    story.respawned()
    assert "still starting" in (say(story, "1") or "")

    at = at_work(dead())
    at.hook("prompt-submit", text="go")
    at.hook("permission-request", tool="Bash", text="make", held=True, seq=9)
    left = next(item for item in at.agent.items if item.left)
    refusal = at.tell(AnswerRequested("a", left.id, words=("1",)))
    asked = at.agent.item
    assert asked is not None
    assert not asked.left, "what it asks now comes first"
    assert refusal is not None
    assert refusal.remedy == f"phoenixctl answer {asked.id}"


def test_p14_the_same_question_asked_again_takes_the_place_of_the_one_that_was_left() -> None:
    story = at_work(dead())
    story.hook("prompt-submit", text="go on")

    asks(story, seq=5)

    (item,) = story.agent.items
    assert (item.left, item.hold, item.incarnation) == (False, 5, 2)


def test_p14_another_question_is_an_item_beside_it_and_each_has_its_own_answer() -> None:
    story = at_work(dead())
    story.hook("prompt-submit", text="go on")
    asks(story, {"questions": [{"question": "Ship?", "options": [{"label": "yes"}]}]}, seq=5)

    left, asked = story.agent.items
    assert (left.left, asked.left, left.id != asked.id) == (True, False, True)
    story.tell(AnswerRequested("a", asked.id, words=("1",)))
    story.tell(HoldAnswered("a", 2, 5, taken=True))
    assert [item.id for item in story.agent.items] == [left.id]


def test_p14_a_question_of_an_agent_that_was_stopped_on_purpose_is_nobodys_any_more() -> None:
    story = asking()
    story.stop()
    story.exited(signal=15)

    assert story.agent.items == ()


def test_p14_a_permission_is_asked_again_by_its_agent_and_so_ends_with_its_run() -> None:
    story = Story(claude()).works()
    story.hook("permission-request", tool="Bash", text="make", held=True, seq=1)
    story.pass_over(400)
    story.exited(signal=9)

    assert story.agent.items == ()


def test_p14_a_quarantined_agent_keeps_its_question_beside_the_quarantine() -> None:
    story = dead(1.0, restart=replace(claude().restart, max_crashes=1))

    assert sorted(item.kind for item in story.agent.items) == ["quarantined", "question"]
    question = next(item for item in story.agent.items if item.left)
    assert story.tell(AnswerRequested("a", question.id, words=("1",))) is None
    story.start()
    assert [item.kind for item in story.agent.items] == ["question"]


def test_p14_an_answer_starts_a_turn_even_where_the_resume_would_say_nothing() -> None:
    story = at_work(dead())
    story.pass_over(400)
    story.exited(signal=9)
    down(story)
    assert isinstance(story.state, BackingOff)

    say(story, "1")
    story.respawned()

    assert story.spawn.prompt is PromptKind.CONTINUE
    assert words(story) == f"{leftover.ASKED}Which database? The answer is: SQLite"


def test_a_state_saved_when_an_agent_had_one_item_still_loads() -> None:
    story = asking()
    data = json.loads(dump_agent(story.agent))
    (item,) = data.pop("items")
    new = ("tool", "whole", "left", "answer", "carried")
    data["item"] = {key: value for key, value in item.items() if key not in new}

    loaded = load_agent(json.dumps(data))

    assert [(one.id, one.hold, one.text_hash) for one in loaded.items] == [(item["id"], 1, item["text_hash"])]
    assert load_agent(json.dumps({**data, "item": None})).items == ()
    assert isinstance(loaded, Agent)
    assert isinstance(loaded.state, Running)


@pytest.mark.parametrize("harness", ["claude", "command"])
def test_p14_a_question_whose_program_died_under_its_answer_is_not_lost(harness: str) -> None:
    """The shim says first that nobody took the answer, and then that the run is over."""
    story = asking(harness=harness, hold_permissions=True)
    story.screen = "idle"
    say(story, "1")
    story.pass_over(400)
    story.tell(AgentVanished("a", story.run.incarnation))

    story.tell(HoldAnswered("a", story.run.incarnation, 1, taken=False, why="the agent no longer waited"))
    story.exited(signal=9)

    assert [(item.left, item.answering) for item in story.agent.items] == [(True, "")]


def test_p14_an_answer_on_its_way_with_the_first_prompt_is_not_given_again() -> None:
    story = down()
    say(story, "2")
    story.respawned()
    story.runs()
    story.decisions.clear()

    assert "told with its first prompt" in (say(story, "1") or "")

    assert story.of(Deliver) == []
    story.hook("prompt-submit", text=words(story))
    assert story.agent.items == ()


def test_p14_an_answer_whose_first_prompt_was_eaten_by_a_dialog_can_be_given_again() -> None:
    story = down()
    say(story, "2")
    story.respawned()
    story.runs()

    story.pass_over(61)

    assert say(story, "1") is None


def test_p14_an_answer_that_was_typed_while_the_daemon_died_is_known_by_the_agents_word() -> None:
    story = at_work(dead())
    say(story, "1")
    order = story.of(Deliver)[-1]
    story.tell(RunAdopted("a", story.run.incarnation, 5, 50))

    story.hook("prompt-submit", text=order.text)

    assert story.agent.items == (), "it is not told a second time"


@pytest.mark.parametrize("is_answered", [True, False])
def test_p14_an_answer_that_waits_for_a_predecessor_which_is_not_started_again_goes_to_its_successor(
    is_answered: bool,
) -> None:
    story = HandoffStory()
    story.works()
    asks(story)
    assert story.begins() is None
    story.pass_over(400)
    story.exits("o", None, 9)
    if is_answered:
        assert say(story, "1") is None
    story.started_of("o-g2")
    assert story.ack() is None
    assert story.agent.name == "o-g2"

    told = [one for one in story.of(Deliver) if one.agent == "o-g2"]
    if not is_answered:
        assert told == [], "that it was asked stands in the package"
        return
    (text,) = told
    assert text.text == f"{leftover.ASKED}Which database? The answer is: SQLite"
    story.hook_of("o-g2", "prompt-submit", text=text.text)
    story.tell(Delivered("o-g2", text.incarnation, text.message_id, "prompt"))
    assert (story.handoff.letters, story.handoff.posted) == ((), None)
    assert story.agent.last_prompt is None, "it is no task in hand"
