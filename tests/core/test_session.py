"""Session, turn and prompts, as hooks tell of them (P70, F-RES, P8)."""

from __future__ import annotations

import pytest

from phoenixd.core.actions import LookAtScreen
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running, Stopped, Stopping
from phoenixd.core.spec import Kind
from phoenixd.core.turn.calls import MAX_LEASES
from phoenixd.core.waiting import MAX_TEXT
from tests.core.story import Story, claude, spec


def activity(story: Story):
    assert isinstance(story.state, Running | Stopping)
    return story.state.activity


def waits(story: Story) -> str | None:
    """What the agent waits for; its inbox item must say the same."""
    waiting = activity(story).waiting
    item = story.agent.item
    assert (item and item.kind) == (waiting and waiting.kind)
    return waiting.kind if waiting else None


# Turns (P70): working only during a turn.


@pytest.mark.parametrize(
    ("hooks", "open_"),
    [
        ((), False),
        (("prompt-submit",), True),
        (("prompt-submit", "tool-start"), True),
        (("prompt-submit", "tool-start", "tool-end"), True),
        (("prompt-submit", "stop"), False),
        (("prompt-submit", "stop-failure"), False),
        (("prompt-submit", "stop", "tool-start"), True),
        (("prompt-submit", "pre-compact", "compacted"), True),
        (("stop", "prompt-submit"), True),
        (("prompt-submit", "session-end"), True),
    ],
)
def test_p70_a_turn_is_open_from_prompt_to_stop(hooks: tuple[str, ...], open_: bool) -> None:
    story = Story(claude(prompt=None)).runs()
    for kind in hooks:
        story.hook(kind)
    assert activity(story).turn_open is open_


@pytest.mark.parametrize(
    ("prompt", "kind", "open_"),
    [(None, "resident", False), ("goal", "resident", True), (None, "loop", True), (None, "ephemeral", True)],
)
def test_g50_a_run_that_was_told_something_begins_with_an_open_turn(prompt: str | None, kind: str, open_: bool) -> None:
    story = Story(spec(prompt=prompt, kind=Kind(kind))).runs()
    assert activity(story).turn_open is open_


def test_f_proc_14_the_idle_prompt_ends_a_turn_that_a_person_broke_off() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Bash", tool_use_id="t1", lease=3600)
    # Esc: no tool-end, no stop; a minute later the prompt waits.
    story.hook("notification", notification="idle_prompt")
    assert not activity(story).turn_open
    story.wait(24 * 3600)
    assert isinstance(story.state, Running)


def test_a_subagents_stop_does_not_end_the_turn() -> None:
    story = Story(claude()).works()
    for kind in ("stop", "prompt-submit", "session-start", "subagent-stop"):
        story.hook(kind, sub=True, session_id="another")
    assert activity(story).turn_open
    assert story.run.session_id != "another"


def test_hooks_that_the_shim_sends_again_change_nothing() -> None:
    """After a daemon restart all that was not acknowledged comes again, and a prompt must not reopen a closed turn."""
    story = Story(claude()).runs()
    sent = [("prompt-submit", "Build the shop."), ("stop", ""), ("prompt-submit", "Now the tests."), ("stop", "")]
    for seq, (kind, text) in enumerate(sent, start=7):
        story.hook(kind, text=text, seq=seq)
    before = story.fleet
    story.pass_over(60)
    for seq, (kind, text) in enumerate(sent, start=7):
        story.hook(kind, text=text, seq=seq)
        assert story.fleet == before
    story.hook("prompt-submit", text="And now?", seq=11)
    assert story.agent.last_prompt == "And now?"


# The session.


def test_f_res_5_a_new_session_id_is_the_one_to_resume() -> None:
    story = Story(claude()).works()
    story.hook("session-end", source="clear")
    story.hook("session-start", session_id="new-id", source="clear")
    story.pass_over(600)
    story.exited(signal=9)
    assert (story.spawn.mode, story.spawn.session_id) == (Mode.RESUME, "new-id")


def test_f_res_5_of_two_sessions_that_began_in_one_run_the_one_that_takes_a_prompt_is_resumed() -> None:
    """A Left arrow starts two more in the CLI's own daemon, one of them a spare; a new renderer starts one."""
    story = Story(claude()).works()
    own = story.run.session_id
    story.hook("stop")
    looks = len(story.of(LookAtScreen))
    for other in ("moved", "spare"):
        story.hook("session-start", session_id=other, source="startup")
    assert len(story.of(LookAtScreen)) == looks + 2
    assert "a second session began beside its own, which has not ended: spare" in story.reasons
    assert (story.run.session_id, story.agent.session and story.agent.session.session_id) == (own, own)
    story.hook("prompt-submit", session_id="moved", text="Go on.")
    story.pass_over(600)
    story.exited(signal=9)
    assert (story.spawn.mode, story.spawn.session_id) == (Mode.RESUME, "moved")


def test_f_res_5_clear_ends_the_turn_and_compaction_does_not() -> None:
    story = Story(claude()).works()
    story.hook("session-start", session_id=story.run.session_id, source="compact")
    assert activity(story).turn_open
    story.hook("session-start", session_id="new-id", source="clear")
    assert not activity(story).turn_open
    story.pass_over(600)
    story.exited(signal=9)
    assert story.spawn.prompt is PromptKind.NONE


def test_f_res_3_the_same_context_under_another_id_keeps_its_record() -> None:
    story = Story(claude()).works()
    story.wait(900)
    story.exited(143)
    story.started()
    story.hook("session-start", session_id="forked", source="resume")
    assert story.agent.session is not None
    assert (story.agent.session.session_id, story.agent.session.hangs) == ("forked", 1)


def test_what_is_said_during_a_stop_counts_for_the_session() -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.stop()
    story.hook("session-start", session_id="own-id", source="startup")
    story.hook("prompt-submit")
    story.hook("stop")
    story.exited(143)
    story.start()
    assert (story.spawn.mode, story.spawn.session_id) == (Mode.RESUME, "own-id")
    assert story.spawn.prompt is PromptKind.NONE


def test_a_first_hook_that_comes_during_a_stop_shows_that_hooks_arrive() -> None:
    story = Story(claude())
    story.start()
    story.started()
    story.stop()
    assert isinstance(story.state, Stopping)
    assert not story.agent.hooks_seen
    story.hook("session-start", session_id="own-id", source="startup")
    assert story.agent.hooks_seen


def test_activity_keeps_a_session_young() -> None:
    story = Story(claude()).works()
    for _ in range(30):
        story.pass_over(3600)
        story.hook("tool-end")
    story.stop()
    story.exited(143)
    story.start()
    assert story.spawn.mode is Mode.RESUME


# The task in hand: the operator's goal until a person or `send` submits a prompt (P8, design section 5).


def test_p8_the_goal_stands_until_somebody_submits_a_prompt() -> None:
    story = Story(claude()).runs()
    story.hook("prompt-submit", text="Build the shop.")
    assert story.agent.last_prompt is None
    story.hook("stop")
    story.hook("prompt-submit", text="Now the tests.")
    assert story.agent.last_prompt == "Now the tests."
    story.hook("prompt-submit", text="a subagent's", sub=True)
    assert story.agent.last_prompt == "Now the tests."


def test_p8_the_word_to_continue_is_not_a_persons_prompt() -> None:
    story = Story(claude()).works()
    story.pass_over(600)
    story.exited(signal=9)
    story.started()
    story.hook("session-start")
    story.hook("prompt-submit", text="You were restarted at noon; continue.")
    assert story.agent.last_prompt is None
    story.hook("prompt-submit", text="Stop that.")
    assert story.agent.last_prompt == "Stop that."


def test_p8_without_a_goal_the_first_prompt_is_a_persons() -> None:
    story = Story(claude(prompt=None)).runs()
    story.hook("prompt-submit", text="Fix the build.")
    assert story.agent.last_prompt == "Fix the build."


def test_p8_after_an_idle_resume_the_first_prompt_is_a_persons() -> None:
    story = Story(claude()).works()
    story.hook("stop")
    story.pass_over(600)
    story.exited(signal=9)
    assert story.spawn.prompt is PromptKind.NONE
    story.started()
    story.hook("session-start")
    story.hook("prompt-submit", text="Next.")
    assert story.agent.last_prompt == "Next."


def test_an_agents_words_cannot_fill_the_state() -> None:
    story = Story(claude(prompt=None)).runs()
    story.hook("prompt-submit", text="x" * 1_000_000)
    assert len(story.agent.last_prompt or "") == MAX_TEXT
    story.hook("permission-request", tool="Bash", text="y" * 1_000_000)
    waiting = activity(story).waiting
    assert waiting is not None
    assert len(waiting.text) == MAX_TEXT
    for number in range(1000):
        story.hook("tool-start", tool_use_id=str(number), lease=60)
    assert len(activity(story).leases) == MAX_LEASES


@pytest.mark.parametrize(("reason", "down"), [("prompt_input_exit", True), ("other", False)])
def test_p53_a_person_may_leave_at_once_and_that_is_no_failed_start(reason: str, down: bool) -> None:
    story = Story(claude()).works()
    story.pass_over(2)
    story.hook("session-end", source=reason)
    story.exited(0)
    assert isinstance(story.state, Stopped) is down
