"""Which prompt is the task in hand: the hooks' word comes first, the transcript's where no hook told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.handoff import words as handover
from phoenixd.core.limits.parking import CONTINUE
from phoenixd.core.question import leftover
from phoenixd.documents.banner import interruption_sentence, tasks_told
from phoenixd.documents.brief.around import Around
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.state import StateDocument
from phoenixd.documents.transcript import Prompted, Record
from phoenixd.memory.brief.composition import first_words
from phoenixd.memory.brief.task_in_hand import POINTER, TaskInHand, goal_digests, going_on, is_ours
from tests.agents import an_agent


def agent_with(goal: str | None = "The goal.", last_prompt: str | None = None, resume: str | None = None) -> Agent:
    agent = an_agent()
    rules = replace(agent.spec.resume, prompt=resume)
    return replace(agent, spec=replace(agent.spec, prompt=goal, resume=rules), last_prompt=last_prompt)


def session(text: str, at: float | None = 100.0) -> SessionFacts:
    return SessionFacts(prompt=Prompted(text, at))


def test_p8_a_prompt_of_which_no_hook_told_is_the_task() -> None:
    """F-HB-7: an agent without hooks, or whose hook was lost."""
    task = TaskInHand()

    assert task.words(agent_with(), None, 90.0) == "The goal."
    assert task.words(agent_with(), session("The goal.", 95.0), 99.0) == "The goal."
    assert task.words(agent_with(), session("Something else."), 101.0) == "Something else."


def test_p8_the_hooks_word_comes_first_while_the_transcript_lags_behind() -> None:
    task = TaskInHand()
    task.words(agent_with(), session("Old.", 50.0), 90.0)

    assert task.words(agent_with(last_prompt="New."), session("Old.", 50.0), 100.0) == "New."
    assert task.words(agent_with(last_prompt="New."), session("New.", 99.9), 102.0) == "New."
    assert task.words(agent_with(last_prompt="New."), session("Newer.", 110.0), 112.0) == "Newer."
    assert task.words(agent_with(last_prompt="Newest."), session("Newer.", 110.0), 120.0) == "Newest."


def test_f_hb_12_a_daemon_that_starts_believes_the_transcript() -> None:
    """It heard the last prompt itself, or it was not there when the next one came."""
    assert TaskInHand().words(agent_with(last_prompt="Heard."), session("Missed."), 200.0) == "Missed."
    assert TaskInHand().words(agent_with(last_prompt="Heard."), None, 200.0) == "Heard."


def test_what_the_daemon_itself_told_is_no_task() -> None:
    """Neither the goal, nor how a run is told to go on; then the task on record stays."""
    task = TaskInHand()
    task.words(agent_with(), session("Fix it."), 101.0)
    went_on = interruption_sentence(StateDocument(agent="a", current_task="Fix it."), 1e9, "killed")

    assert task.words(agent_with(), session(went_on, 110.0), 111.0) == "Fix it."
    assert TaskInHand().words(agent_with(), session(went_on, 110.0), 111.0) is None


@pytest.mark.parametrize("words", [*handover.KNOWN, f"{handover.ADDENDUM}2 files changed."])
def test_e5_what_is_said_for_a_handoff_is_no_task(words: str) -> None:
    """The brief goes to the successor, and was to tell it what its predecessor had been asked."""
    task, agent = TaskInHand(), agent_with(last_prompt="Write the changelog.")
    task.words(agent, session("Write the changelog.", 95.0), 96.0)

    assert task.words(agent, session(words, 110.0), 111.0) == "Write the changelog."
    assert TaskInHand().words(agent, session(words, 110.0), 111.0) == "Write the changelog.", "after another daemon"
    assert TaskInHand().words(agent_with(), session(words, 110.0), 111.0) is None, "the one on record stays"


@pytest.mark.parametrize("goal", ["The goal.", "The goal.\n\nIn two parts.\n", None])
@pytest.mark.parametrize("resume", [None, "Carry on, please."])
@pytest.mark.parametrize("kind", [PromptKind.GOAL, PromptKind.CONTINUE])
def test_every_first_word_is_known_as_ours(goal: str | None, resume: str | None, kind: PromptKind) -> None:
    agent = agent_with(goal, resume=resume)
    for mode in Mode:
        words = first_words(agent, mode, kind, StateDocument(agent="a", current_task="x"))
        assert words is None or is_ours(agent, words.strip())
    assert all(is_ours(agent, words) for words in CONTINUE.values())
    assert is_ours(agent, f"{POINTER}/srv/brief.md: read it there.")
    assert not is_ours(agent, "Do something.")


@pytest.mark.parametrize("goal", ["The goal.", "The goal.\n\nIn two parts.\n", None])
@pytest.mark.parametrize("mode", Mode)
def test_p24_the_words_to_go_on_are_known_behind_a_goal_and_name_the_task_in_hand(goal: str | None, mode: Mode) -> None:
    state = StateDocument(agent="a", current_task="Fix it. Continue. Then rest")
    agent, own = agent_with(goal), agent_with(goal, resume="Carry on, please.")

    told, short = (first_words(one, mode, PromptKind.CONTINUE, state) for one in (agent, own))

    assert told is not None
    assert short is not None
    assert tasks_told(going_on(agent, told)) == ("Fix it.", "Fix it. Continue. Then rest.")
    assert going_on(own, short) == "Carry on, please."
    assert tasks_told(going_on(own, short)) == ()


@pytest.mark.parametrize(
    "words",
    [
        "The goal.",
        f"The goal.\n\n{leftover.ASKED}Which? The answer is: a",
        "phoenixd: task t3 is done",
        *handover.KNOWN,
        f"{POINTER}/srv/brief.md: read it there.",
        "Do it.",
        "",
    ],
)
def test_p24_goals_news_and_a_persons_prompts_tell_nobody_to_go_on(words: str) -> None:
    assert going_on(agent_with("The goal."), words) == ""


def test_p24_the_words_to_go_on_are_known_behind_a_goal_of_which_the_ledger_keeps_the_ends() -> None:
    goal = "\n\n".join(f"Part {number} of it. " + "Do the thing. " * 20 for number in range(40))
    agent, state = agent_with(goal), StateDocument(agent="a", current_task="Fix it.")
    words = first_words(agent, Mode.FRESH, PromptKind.CONTINUE, state)
    assert words is not None
    ledger = SessionLedger()
    for text in (goal, words):
        ledger.hear(Record("prompt", 1.0, (Prompted(text, 1.0),)))
    around = Around(
        is_ours=lambda text: is_ours(agent, text), going_on=lambda text: going_on(agent, text), goal=goal_digests(agent)
    )

    kept = [around.goes_on(one) for one in ledger.speech.person]

    assert kept[0] == ""
    assert tasks_told(kept[1]) == ("Fix it.",)
