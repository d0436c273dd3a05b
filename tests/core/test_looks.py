"""Looks at the screen of a run that no hook tells of: when, and what becomes of a dialog that somebody read there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import DismissDialog, LookAtScreen
from phoenixd.core.agent.activity import Activity
from phoenixd.core.agent.state import Running, Starting
from phoenixd.core.condition import is_settled, needs_person
from phoenixd.core.dialogs import SCREEN_DIALOGS, UNREAD
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.spec import PreparedAnswer
from tests.core.story import Story, claude, spec
from tests.journaled import dump_agent, load_agent

CLIS = ("claude", "codex", "gemini")
DAY = 24 * 3600.0


def looked_at(story: Story, seconds: float) -> list[float]:
    """The instants of the looks in this time."""
    found: list[float] = []
    until = story.at + seconds
    while story.at < until:
        seen = len(story.of(LookAtScreen))
        story.wait(min(0.5, until - story.at))
        found += [story.at] * (len(story.of(LookAtScreen)) - seen)
    return found


def activity(story: Story) -> Activity:
    assert isinstance(story.state, Running)
    return story.state.activity


def asked(story: Story) -> str | None:
    """What stands in the inbox of it, and what the run waits for: never two different things."""
    item, waiting = story.agent.item, activity(story).waiting
    assert (item and (item.kind, item.text)) == (waiting and (waiting.kind, waiting.text))
    return item.text if item else None


def idle(harness: str = "claude") -> Story:
    """A run without a prompt, at its empty input line since its start."""
    story = Story(spec(harness=harness, prompt=None))
    story.screen = "idle"
    story.start()
    story.started()
    story.hook("session-start", session_id=story.run.session_id, source="startup")
    return story


@pytest.mark.parametrize("harness", ["claude", "gemini"])
def test_f_proc_16_a_start_without_a_hook_is_looked_at_after_2_4_8_and_16_s(harness: str) -> None:
    story = Story(claude(harness=harness))
    story.start()
    story.started()
    assert looked_at(story, 29) == [2, 4, 8, 16]


@pytest.mark.parametrize("harness", CLIS)
@pytest.mark.parametrize("verdict", ["trust", "login", "hooks", "dialog", "renderer", "away"])
def test_f_proc_16_a_dialog_of_a_start_is_an_item_within_4_s(harness: str, verdict: str) -> None:
    story = Story(claude(harness=harness))
    story.start()
    story.started()
    story.wait(4)
    story.tell(ScreenSeen("a", 1, verdict))
    assert asked(story) == SCREEN_DIALOGS[verdict]
    assert story.alerts() == ["dialog"]


@pytest.mark.parametrize("verdict", ["idle", "working"])
def test_f_hb_7_an_early_look_takes_no_agent_for_one_without_hooks(verdict: str) -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.wait(2)
    story.tell(ScreenSeen("a", 1, verdict))
    assert story.state.name == "starting"
    assert story.alerts() == []


@pytest.mark.parametrize("harness", CLIS)
def test_an_idle_run_is_looked_at_ever_less_often_until_its_first_prompt_and_then_every_5_minutes(harness: str) -> None:
    story = idle(harness)
    assert looked_at(story, 300) == [2, 4, 8, 16, 32, 64, 128, 256]
    story.wait(DAY)
    story.hook("prompt-submit", text="Go.")
    story.hook("stop")
    ended = story.at
    assert looked_at(story, 1000) == [ended + 2, ended + 302, ended + 602, ended + 902]


def test_an_idle_fleet_is_looked_at_no_more_than_every_5_minutes() -> None:
    story = idle()
    story.wait(3600)
    before = len(story.of(LookAtScreen))
    story.wait(DAY)
    assert len(story.of(LookAtScreen)) - before <= DAY / 300


def test_a_program_of_which_no_screen_is_known_is_never_looked_at() -> None:
    story = Story(spec(prompt=None)).runs()
    story.wait(DAY)
    assert not story.of(LookAtScreen)


@pytest.mark.parametrize("harness", CLIS)
@pytest.mark.parametrize("verdict", sorted(SCREEN_DIALOGS))
def test_what_any_look_finds_at_an_idle_run_is_an_item_until_it_has_left_the_screen(harness: str, verdict: str) -> None:
    story = idle(harness)
    story.screen = verdict
    story.wait(2)
    assert asked(story) == SCREEN_DIALOGS[verdict]
    story.wait(600)
    assert story.alerts() == ["dialog"]
    story.screen = "idle"
    story.wait(300)
    assert asked(story) is None
    assert not activity(story).turn_open


def test_what_is_found_after_hours_is_watched_as_closely_as_what_is_found_at_once() -> None:
    story = idle()
    story.wait(DAY)
    story.tell(ScreenSeen("a", 1, "away", reader="send"))
    assert asked(story) == SCREEN_DIALOGS["away"]
    story.wait(3)
    assert asked(story) is None


@pytest.mark.parametrize("verdict", sorted(SCREEN_DIALOGS))
def test_what_send_reads_is_an_item_although_nobody_ordered_a_look(verdict: str) -> None:
    story = idle()
    story.wait(5)
    story.hook("notification", notification="idle_prompt")
    story.tell(ScreenSeen("a", 1, verdict, reader="send"))
    assert asked(story) == SCREEN_DIALOGS[verdict]


def test_of_two_dialogs_one_after_the_other_each_is_an_item_of_its_own() -> None:
    story = idle()
    story.screen = "trust"
    story.wait(2)
    first = story.agent.item
    story.screen = "api-key"
    story.wait(2)
    assert asked(story) == SCREEN_DIALOGS["api-key"]
    assert first is not None
    assert story.agent.item is not None
    assert story.agent.item.id != first.id


def test_a_person_who_has_a_menu_open_is_not_told_of_it() -> None:
    story = idle()
    for verdict, told in (("dialog", None), ("trust", SCREEN_DIALOGS["trust"])):
        story.tell(ScreenSeen("a", 1, verdict, reader="send", attended=True))
        assert asked(story) == told


def test_a_dialog_that_stands_after_a_turn_is_an_item_two_seconds_later() -> None:
    """2.1.330 offers another renderer when the prompt that it was started with has been worked through."""
    story = Story(claude()).works()
    story.wait(600)
    story.screen = "renderer"
    story.hook("stop")
    story.wait(2)
    assert asked(story) == SCREEN_DIALOGS["renderer"]


def test_a_prompt_that_nobody_took_is_told_when_the_start_is_long_over() -> None:
    """Enter on a dialog over the input line can eat the prompt that a run was started with."""
    story = Story(claude()).runs()
    story.screen = "idle"
    story.wait(20)
    assert activity(story).turn_open
    story.wait(300)
    assert not activity(story).turn_open
    assert story.alerts() == ["prompt"]
    story.hook("prompt-submit", text="Build the shop.")
    assert story.agent.alerts == ()


def test_a_parked_run_with_a_dialog_on_its_screen_needs_a_person() -> None:
    story = Story(claude()).works()
    story.hook("stop-failure", error="rate_limit", reset_wall=story.wall + 60)
    story.screen = "trust"
    story.wait(120)
    assert asked(story) == SCREEN_DIALOGS["trust"]
    assert "dialog" in story.alerts()


def test_an_idle_run_is_believed_once_its_input_line_was_seen() -> None:
    """Its first hook comes some time before a dialog of its start is drawn, and a wait for idle must not end there."""
    story = idle()
    story.screen = "unknown"
    assert not is_settled(story.agent, story.now)
    story.wait(2)
    assert not is_settled(story.agent, story.now)
    story.screen = "idle"
    story.wait(2)
    assert is_settled(story.agent, story.now)


def test_an_idle_run_whose_screen_cannot_be_read_is_believed_after_the_window_of_a_start() -> None:
    story = idle()
    story.screen = "unknown"
    story.wait(29)
    assert not is_settled(story.agent, story.now)
    story.wait(1)
    assert is_settled(story.agent, story.now)


SAYS_NO = (PreparedAnswer("offer of another renderer", allow=False, dialog="dialog"),)


def test_a_dialog_that_the_operator_said_no_to_beforehand_calls_nobody() -> None:
    story = Story(claude(answers=SAYS_NO)).works()
    story.wait(600)
    story.screen = None
    story.hook("stop")
    story.wait(2)
    story.tell(ScreenSeen("a", 1, "renderer"))
    assert story.of(DismissDialog) == [DismissDialog("a", 1, "offer of another renderer")]
    assert (story.agent.item, story.alerts()) == (None, [])
    assert not needs_person(story.agent)
    story.screen = "idle"
    story.wait(3)
    assert activity(story).waiting is None
    assert len(story.of(DismissDialog)) == 1


def test_a_dialog_that_was_said_no_to_calls_nobody_before_escape_has_its_verdict() -> None:
    """A busy machine looks at the screen, or has looked, before Claude Code has taken Escape."""
    story = Story(claude(answers=SAYS_NO)).works()
    story.screen = "renderer"
    story.hook("stop")
    story.wait(3)
    assert len(story.of(DismissDialog)) == 1
    looks = len(story.of(LookAtScreen))
    story.wait(6)
    assert len(story.of(LookAtScreen)) > looks
    assert (story.agent.item, story.alerts()) == (None, [])

    story.tell(ScreenSeen("a", 1, "renderer", "escape"))

    assert asked(story) == "offer of another renderer"
    assert story.alerts() == ["dialog"]
    assert len(story.of(DismissDialog)) == 1


def test_a_dialog_that_stays_after_a_no_is_an_item_and_is_not_pressed_at_again() -> None:
    story = Story(claude(answers=SAYS_NO)).works()
    story.screen = "renderer"
    story.hook("stop")
    story.wait(60)
    assert asked(story) == "offer of another renderer"
    assert story.alerts() == ["dialog"]
    assert len(story.of(DismissDialog)) == 1


def test_a_dialog_at_which_the_daemon_died_while_it_said_no_is_a_persons_and_not_pressed_at_again() -> None:
    """Nobody knows whether Escape went out: a second one might do more than to say no."""
    story = Story(claude(answers=SAYS_NO)).works()
    story.screen = None
    story.hook("stop")
    story.wait(2)
    story.tell(ScreenSeen("a", 1, "renderer"))
    assert len(story.of(DismissDialog)) == 1
    story.fleet = replace(story.fleet, agents={"a": load_agent(dump_agent(story.agent))})
    story.screen = "renderer"
    story.tell(RunAdopted("a", 1, 5, 50))
    story.wait(5)

    assert asked(story) == "offer of another renderer"
    assert story.alerts() == ["dialog"]
    assert len(story.of(DismissDialog)) == 1


def test_another_dialog_than_the_one_that_was_said_no_to_is_an_item() -> None:
    story = Story(claude(answers=SAYS_NO)).works()
    story.screen = "dialog"
    story.hook("stop")
    story.wait(2)
    assert asked(story) == "dialog"
    assert not story.of(DismissDialog)


def unread(harness: str = "claude", seconds: float = 32) -> Story:
    """A start that no hook tells of, with a screen that nobody knows, and how long it has stood so."""
    story = Story(spec(harness=harness, prompt="Go on."))
    story.screen = "unknown"
    story.start()
    story.started()
    until = story.at + seconds
    while story.at < until:
        seen = len(story.of(LookAtScreen))
        story.wait(min(0.5, until - story.at))
        # A story answers the looks at a running one by itself.
        if isinstance(story.state, Starting) and len(story.of(LookAtScreen)) > seen:
            story.tell(ScreenSeen("a", 1, "unknown"))
    return story


@pytest.mark.parametrize("harness", CLIS)
def test_f_hb_7_a_start_whose_screen_nobody_knows_is_asked_of_a_person_after_its_window(harness: str) -> None:
    """It was "starting" for ever, without an alert and with an empty inbox."""
    assert isinstance(unread(harness, 29).state, Starting), "its hooks may still come"

    story = unread(harness)

    assert asked(story) == UNREAD
    assert needs_person(story.agent)
    assert story.alerts() == ["dialog"]
    (item,) = story.agent.items
    assert item.answer_by == "attach"
    story.tell(ScreenSeen("a", 1, "unknown"))
    assert len(story.of(LookAtScreen)) > 3
    assert (asked(story), story.alerts()) == (UNREAD, ["dialog"]), "told once"


@pytest.mark.parametrize(
    "proof", ["session-start", "prompt-submit", "stop", "tool-end", "idle", "working", "transcript"]
)
def test_what_proves_that_it_is_at_work_closes_the_question(proof: str) -> None:
    story = unread()
    assert asked(story) == UNREAD
    if proof in ("idle", "working"):
        story.wait(10)
        story.tell(ScreenSeen("a", 1, proof))
    elif proof == "transcript":
        story.tell(EvidenceSeen("a", 1, "transcript"))
    else:
        story.hook(proof)
    assert asked(story) is None
    assert isinstance(story.state, Running)


def test_a_dialog_that_can_be_read_takes_the_place_of_a_screen_that_could_not() -> None:
    story = unread()
    story.wait(10)
    story.tell(ScreenSeen("a", 1, "trust"))
    assert asked(story) == "trust dialog"


def test_whoever_sits_before_such_a_screen_sees_it_himself() -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.wait(31)
    story.tell(ScreenSeen("a", 1, "unknown", attended=True))
    assert isinstance(story.state, Starting)


def test_the_end_of_such_a_run_closes_its_question() -> None:
    story = unread()
    story.stop()
    story.exited(signal=15)
    assert story.agent.items == ()


def test_f_res_5_a_session_that_begins_beside_its_own_answers_nothing_that_is_on_the_screen() -> None:
    """The spare that a moved session leaves closed the item of the move, which the next look opened again."""
    story = idle()
    story.hook("session-start", session_id="moved", source="startup")
    story.screen = "away"
    story.wait(3)
    story.hook("session-start", session_id="spare", source="startup")
    assert asked(story) == SCREEN_DIALOGS["away"]
    story.wait(60)
    assert story.alerts() == ["dialog"], "one cause, one alert"
    story.screen = "idle"
    story.wait(60)
    assert asked(story) is None


def test_a_reason_that_is_told_of_a_dialog_is_true_when_it_was_answered() -> None:
    """It said "waits for a person: permission" of an agent that rested, until its run ended."""
    story = Story(claude())
    story.start()
    story.started()
    story.tell(ScreenSeen("a", 1, "permission"))
    assert asked(story) is not None
    story.hook("session-start", session_id=story.run.session_id, source="startup")
    story.hook("tool-end", tool="Bash")
    story.hook("stop")
    assert asked(story) is None
    assert story.agent.reason == "ready without a hook: a person was asked (permission)"
