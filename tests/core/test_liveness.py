"""When silence means hung: an open turn, and no kind of main-thread evidence for `stale` (G4, G50, G54, X7, X7b)."""

from __future__ import annotations

from typing import Any

import pytest

from phoenixd.core.actions import LookAtScreen, RecordIncident, Terminate
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import Running, Starting, Stopping
from phoenixd.core.condition import activity_word
from phoenixd.core.events.evidence import EvidenceSeen, ScreenSeen
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.rules import HOUR, LivenessRules, LoopRules
from phoenixd.core.spec import Kind
from phoenixd.core.turn.due import untouched_by
from tests.core.story import EPOCH, Story, claude, spec

MINUTE = 60.0


def hung(story: Story) -> bool:
    return bool(story.of(Terminate))


def dies_after(story: Story, seconds: float) -> None:
    """The run is left alone for just under `seconds`, and ended at that moment."""
    story.wait(seconds - 0.5)
    assert not hung(story), story.agent.reason
    story.wait(0.5)
    assert hung(story)


def test_g4_fifteen_minutes_of_silence_in_an_open_turn_are_a_hang() -> None:
    story = Story(claude()).works()
    dies_after(story, 15 * MINUTE)
    assert isinstance(story.state, Stopping)
    assert "hung" in story.agent.reason
    assert story.alerts() == ["hung"]
    readings = dict(story.decisions[-1].readings)
    assert readings["silent_for"] == 900
    assert readings["liveness.stale"] == 900


def test_f_proc_11_a_hang_is_recorded_as_124_whatever_the_kill_makes_of_it() -> None:
    for code, signal in ((143, None), (None, 9), (0, None)):
        story = Story(claude()).works()
        story.wait(15 * MINUTE)
        story.exited(code, signal)
        assert story.agent.last_exit is not None
        assert (story.agent.last_exit.code, story.agent.last_exit.signal) == (124, None)
        assert story.run.incarnation == 2


def test_f_proc_11_a_hang_that_had_to_be_fenced_is_recorded_as_124_too() -> None:
    story = Story(claude()).works()
    story.wait(15 * MINUTE + 10)
    story.tree_gone()
    assert story.agent.last_exit is not None
    assert story.agent.last_exit.code == 124
    assert story.run.incarnation == 2


def test_f_proc_11_a_last_word_under_sigterm_does_not_make_the_work_done() -> None:
    story = Story(claude()).works()
    story.wait(15 * MINUTE)
    assert hung(story)
    story.hook("tool-failure", tool="Bash")
    story.hook("stop", text="Done.")
    story.exited(143)
    story.respawned()

    assert (story.run.mode, story.run.prompt) == (Mode.RESUME, PromptKind.CONTINUE)


@pytest.mark.parametrize("again", ["restart", "death", "start"])
@pytest.mark.parametrize("kind", [Kind.RESIDENT, Kind.ORCHESTRATOR])
def test_f_proc_14_a_program_that_nobody_prompts_has_no_open_turn_until_it_tells_of_a_prompt(
    kind: Kind, again: str
) -> None:
    """What it was at when its run before ended, nobody tells it to go on with."""
    story = Story(spec(kind=kind)).runs()
    story.hook("session-start")
    story.hook("prompt-submit", text="go on")
    story.hook("notification", notice="permission", text="May I?")
    next_run(story, again)
    assert story.run.prompt is PromptKind.CONTINUE
    story.runs()
    story.hook("session-start")
    assert activity_word(story.agent) == "idle"
    story.wait(7 * 24 * 3600)
    assert not hung(story)

    story.hook("prompt-submit", text="go on")
    assert activity_word(story.agent) == "working"
    dies_after(story, 15 * MINUTE)


@pytest.mark.parametrize(
    "told",
    [
        {"prompt_via": "paste"},
        {"argv": ("agent", "{prompt}")},
        {"fresh_args": ("{prompt}",)},
        {"resume_args": ("--go-on", "{prompt}")},
        {"prompt": "Build the shop."},
        {"harness": "claude"},
    ],
)
def test_g50_an_open_turn_is_taken_over_into_a_run_that_is_told_to_go_on_with_it(told: dict[str, Any]) -> None:
    story = Story(spec(**told)).works()
    next_run(story, "death")
    story.runs()
    story.hook("session-start")
    assert activity_word(story.agent) == "working"
    dies_after(story, 15 * MINUTE)


def test_f_proc_14_a_resume_whose_arguments_hold_no_prompt_is_told_none() -> None:
    story = Story(spec(fresh_args=("{prompt}",), resume_args=("--go-on",))).works()
    next_run(story, "death")
    story.runs()
    story.hook("session-start")
    assert activity_word(story.agent) == "idle"


def next_run(story: Story, again: str) -> None:
    """End a run in its turn, and begin the next one."""
    story.wait(5)
    if again == "restart":
        story.restart()
        story.exited(signal=15)
    elif again == "start":
        story.stop()
        story.exited(signal=15)
        story.start()
    else:
        story.exited(signal=9)
    if not isinstance(story.state, Starting):
        story.respawned()
    story.decisions.clear()


def test_g34_the_limit_is_the_agents_own() -> None:
    dies_after(Story(claude(liveness=LivenessRules(stale=40 * MINUTE))).works(), 40 * MINUTE)


@pytest.mark.parametrize(
    "kind",
    ["prompt-submit", "tool-start", "tool-end", "tool-failure", "pre-compact", "compacted", "permission-denied"],
)
def test_x7_every_main_thread_hook_is_evidence(kind: str) -> None:
    story = Story(claude()).works()
    story.wait(14 * MINUTE)
    story.hook(kind)
    dies_after(story, 15 * MINUTE)


def test_f_proc_15_a_growing_transcript_is_evidence() -> None:
    story = Story(claude()).works()
    for _ in range(20):
        story.wait(14 * MINUTE)
        story.tell(EvidenceSeen("a", 1, "transcript"))
    dies_after(story, 15 * MINUTE)


def test_f_proc_17_failing_tools_are_evidence() -> None:
    story = Story(claude()).works()
    for _ in range(20):
        story.wait(10 * MINUTE)
        story.hook("tool-failure", tool="Bash")
    assert not hung(story)


@pytest.mark.parametrize("ending", ["stop", "stop-failure"])
def test_f_proc_14_idle_is_never_stuck(ending: str) -> None:
    story = Story(claude()).works()
    story.hook(ending)
    story.wait(7 * 24 * 3600)
    assert isinstance(story.state, Running)


def test_f_proc_16_waiting_for_a_person_is_never_stuck() -> None:
    story = Story(claude()).works()
    story.hook("permission-request", tool="Bash")
    story.wait(7 * 24 * 3600)
    assert isinstance(story.state, Running)
    story.hook("tool-end", tool="Bash")
    dies_after(story, 15 * MINUTE)


def test_g50_f_hb_1_an_agent_that_never_says_anything_is_judged_from_its_start() -> None:
    story = Story(spec(prompt="goal", heartbeat_file="/srv/beat.json")).runs()
    dies_after(story, 15 * MINUTE)


def test_g1_silence_is_not_judged_where_that_is_switched_off() -> None:
    story = Story(claude(liveness=LivenessRules(enabled=False))).works()
    story.wait(100 * HOUR)

    assert isinstance(story.state, Running)


def test_g63_an_old_heartbeat_ends_no_session_while_its_process_lives() -> None:
    story = Story(claude()).works()
    story.hook("stop")
    story.tell(EvidenceSeen("a", story.run.incarnation, "heartbeat", 10 * HOUR))
    story.wait(10 * HOUR)
    assert isinstance(story.state, Running)
    session = story.run.session_id
    story.exited(None, 9)
    story.respawned()

    assert (story.run.session_id, story.run.mode) == (session, Mode.RESUME)


def test_p56_without_any_kind_of_evidence_silence_means_nothing() -> None:
    story = Story(spec(prompt="goal")).runs()
    story.wait(7 * 24 * 3600)
    assert isinstance(story.state, Running)


@pytest.mark.parametrize("changes", [{"transcript": "/srv/*.jsonl"}, {"heartbeat_file": "/srv/b"}, {"kind": Kind.LOOP}])
def test_an_agent_whose_evidence_is_declared_is_judged(changes: dict[str, object]) -> None:
    story = Story(spec(prompt="goal", loop=LoopRules(max_runtime=0), **changes)).runs()
    dies_after(story, 15 * MINUTE)


# Tool leases (G37, X7b).


@pytest.mark.parametrize(
    ("declared", "limit"),
    [
        (None, 15 * MINUTE),
        (2 * MINUTE, 15 * MINUTE),
        (14 * MINUTE, 15 * MINUTE),
        (40 * MINUTE, 41 * MINUTE),
        (119 * MINUTE, 120 * MINUTE),
        (10_000 * MINUTE, 121 * MINUTE),
    ],
)
def test_g37_x7b_a_declared_timeout_extends_the_deadline_to_itself_and_a_minute(
    declared: float | None, limit: float
) -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Bash", tool_use_id="t1", lease=declared)
    dies_after(story, limit)


def test_g37_the_lease_ends_with_its_call() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Bash", tool_use_id="t1", lease=3600)
    story.wait(60)
    story.hook("tool-end", tool="Bash", tool_use_id="t1")
    dies_after(story, 15 * MINUTE)


def test_g37_a_neighbours_end_does_not_end_the_lease() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Bash", tool_use_id="t1", lease=3600)
    story.hook("tool-start", tool="Read", tool_use_id="t2")
    story.hook("tool-end", tool="Read", tool_use_id="t2")
    dies_after(story, 3660)


@pytest.mark.parametrize("ending", ["stop", "prompt-submit"])
def test_a_turn_takes_its_leases_with_it(ending: str) -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Bash", tool_use_id="t1", lease=7200)
    story.hook(ending)
    story.hook("prompt-submit")
    dies_after(story, 15 * MINUTE)


# Subagents (G54, F-PROC-18).


@pytest.mark.parametrize("kind", ["tool-start", "tool-end", "tool-failure", "subagent-start", "subagent-stop", "stop"])
def test_g54_f_proc_18_subagents_do_not_keep_a_dead_main_thread_alive(kind: str) -> None:
    story = Story(claude()).works()
    for _ in range(3):
        story.wait(5 * MINUTE - 1)
        story.hook(kind, sub=True, tool="Read", tool_use_id="s")
    story.wait(3)
    assert hung(story)


def test_g54_while_a_task_call_is_open_its_subagents_renew_it_up_to_the_cap() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Task", tool_use_id="task", is_subagent_call=True)
    for _ in range(17):
        story.hook("tool-end", sub=True, tool="Read")
        story.wait(7 * MINUTE)
    assert not hung(story)
    story.hook("tool-end", sub=True, tool="Read")
    dies_after(story, 1 * MINUTE)


def test_g54_a_task_call_without_a_word_of_its_subagents_is_silence() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Task", tool_use_id="task", is_subagent_call=True)
    dies_after(story, 15 * MINUTE)


def test_g54_after_the_task_call_its_subagents_count_no_more() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Task", tool_use_id="task", is_subagent_call=True)
    story.hook("tool-end", tool="Task", tool_use_id="task")
    story.wait(10 * MINUTE)
    story.hook("tool-end", sub=True, tool="Read")
    dies_after(story, 5 * MINUTE)


def test_g37_a_subagents_declared_timeout_renews_the_task_call_for_as_long() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Task", tool_use_id="task", is_subagent_call=True)
    story.hook("tool-start", tool="Bash", tool_use_id="s1", sub=True, lease=40 * MINUTE)
    dies_after(story, 41 * MINUTE)


def test_a_subagents_lease_is_not_the_main_threads() -> None:
    story = Story(claude()).works()
    story.hook("tool-start", tool="Bash", tool_use_id="s1", sub=True, lease=40 * MINUTE)
    dies_after(story, 15 * MINUTE)


# Heartbeats that say when they were written (G29, F-HB-3).


def test_g29_an_old_timestamp_is_believed_while_a_turn_is_open() -> None:
    story = Story(claude()).works()
    story.tell(EvidenceSeen("a", 1, "heartbeat", age=20 * MINUTE))
    dies_after(story, 60)


def test_g29_an_old_timestamp_is_overruled_by_newer_evidence() -> None:
    story = Story(claude()).works()
    story.tell(EvidenceSeen("a", 1, "heartbeat", age=14 * MINUTE))
    story.hook("tool-end")
    dies_after(story, 15 * MINUTE)


def test_g29_an_idle_agent_may_have_an_old_timestamp() -> None:
    story = Story(claude()).works()
    story.hook("stop")
    story.tell(EvidenceSeen("a", 1, "heartbeat", age=20 * MINUTE))
    story.wait(24 * 3600)
    assert not hung(story)


@pytest.mark.parametrize("age", [0.0, 0.3, 5.0, 59.0])
def test_a_heartbeat_is_evidence_of_the_time_that_it_names(age: float) -> None:
    story = Story(spec(prompt="goal", heartbeat_file="/srv/beat.json")).runs()
    for _ in range(10):
        story.wait(10 * MINUTE)
        story.tell(EvidenceSeen("a", 1, "heartbeat", age=age))
        assert story.run.evidence
    dies_after(story, 15 * MINUTE - age)


@pytest.mark.parametrize("age", [-1.0, -3600.0, -1e12])
def test_f_hb_3_a_timestamp_in_the_future_is_that_of_receipt(age: float) -> None:
    story = Story(claude()).works()
    story.wait(10 * MINUTE)
    story.tell(EvidenceSeen("a", 1, "heartbeat", age=age))
    dies_after(story, 15 * MINUTE)


@pytest.mark.parametrize("stale", [10.0, 30.0])
def test_a_claim_never_puts_off_a_hang_beyond_its_silence(stale: float) -> None:
    story = Story(claude(liveness=LivenessRules(stale=stale, check_interval=60))).works()
    story.pass_over(5)
    story.tell(EvidenceSeen("a", 1, "heartbeat", age=40.0))
    dies_after(story, stale - 5)


@pytest.mark.parametrize("age", [3600.0, -8 * HOUR, 10 * HOUR])
def test_f_hb_3_a_wrong_clock_is_told_once_in_each_run(age: float) -> None:
    story = Story(claude()).works()
    for _ in range(5):
        story.wait(60)
        story.tell(EvidenceSeen("a", story.run.incarnation, "heartbeat", age))
    assert story.alerts() == ["clock"]
    assert not story.agent.item
    rows = sum("clock" in reason for reason in story.reasons)
    assert rows == 1
    story.exited(None, 9)
    story.respawned()
    story.works()
    for _ in range(5):
        story.wait(60)
        story.tell(EvidenceSeen("a", story.run.incarnation, "heartbeat", age))
    assert story.alerts() == ["clock", "clock"]


def test_g5_an_operators_claim_is_believed_at_once_however_old() -> None:
    story = Story(claude()).works()
    story.tell(EvidenceSeen("a", 1, "simulated", 10 * HOUR, ordered=True))
    story.wait(0)
    assert hung(story)


def test_a_hang_that_an_operator_simulated_says_so_and_the_next_one_does_not() -> None:
    """Of a run that was two minutes old it was told that nothing was heard for 15."""
    story = Story(claude()).works()
    story.tell(EvidenceSeen("a", 1, "simulated by ada", 1200, ordered=True))
    story.wait(0)
    why = "hung: a turn is open, and nothing was heard for 15 min"
    assert story.agent.incident is not None
    assert story.agent.incident.reason == f"{why} (simulated by ada)"
    assert [one.text for one in story.agent.alerts if one.kind == "hung"] == [f"{why} (simulated by ada)"]

    story = Story(claude()).works()
    story.tell(EvidenceSeen("a", 1, "simulated by ada", 800, ordered=True))
    story.hook("tool-start", tool="Bash", tool_use_id="t1")
    story.hook("tool-end", tool="Bash", tool_use_id="t1")
    story.tell(EvidenceSeen("a", 1, "heartbeat", 1200))
    story.wait(3600)
    assert story.agent.incident is not None
    assert story.agent.incident.reason == why


def test_a_heartbeat_from_before_this_run_is_no_work_of_it() -> None:
    story = Story(claude(prompt=None)).runs()
    story.tell(EvidenceSeen("a", 1, "heartbeat", age=600))
    assert not story.run.evidence


# Time (F-HB-4): only supervised time counts.


@pytest.mark.parametrize("jump", [3600.0, 10 * 365 * 24 * 3600.0, -3600.0, -EPOCH])
def test_f_hb_4_a_jump_of_the_wall_clock_ends_nobody(jump: float) -> None:
    story = Story(claude("a"), claude("b")).works()
    story.wait(14 * MINUTE)
    story.wall += jump
    story.tell(Tick())
    assert not hung(story)
    dies_after(story, 1 * MINUTE)


def test_f_hb_4_a_suspend_stands_still_and_adoption_gives_a_free_interval() -> None:
    story = Story(claude()).works()
    story.wait(14 * MINUTE)
    story.wall += 24 * 3600
    story.tell(RunAdopted("a", 1, 100, 1000))
    dies_after(story, 15 * MINUTE)


def test_a_late_tick_judges_by_the_evidence_that_came_meanwhile() -> None:
    story = Story(claude()).works()
    story.pass_over(20 * MINUTE)
    story.hook("tool-end")
    story.tell(Tick())
    assert not hung(story)


# The longest that an iteration may take (G38, F-PROC-13).


def test_f_proc_13_a_busy_iteration_ends_at_its_maximum() -> None:
    story = Story(claude(kind=Kind.LOOP)).works()
    for _ in range(44):
        story.wait(MINUTE)
        story.hook("tool-end")
    assert not hung(story)
    dies_after(story, MINUTE)
    assert story.alerts() == ["overtime"]
    story.exited(143)
    assert story.agent.last_exit is not None
    assert story.agent.last_exit.code == 125


@pytest.mark.slow
def test_f_proc_13_zero_means_no_maximum() -> None:
    story = Story(claude(kind=Kind.LOOP, loop=LoopRules(max_runtime=0))).works()
    for _ in range(1000):
        story.wait(10 * MINUTE)
        story.hook("tool-end")
    assert not hung(story)


def test_x7_a_turn_that_a_person_broke_off_without_a_hook_is_idle_not_hung() -> None:
    story = Story(claude()).runs()
    story.hook("prompt-submit", text="go on")
    story.screen = "idle"
    story.wait(16 * 60)
    assert isinstance(story.state, Running)
    assert not story.state.activity.turn_open
    assert not story.of(Terminate)


def test_f_proc_16_a_dialog_of_which_no_hook_told_is_a_wait_not_a_hang() -> None:
    story = Story(claude()).runs()
    story.hook("prompt-submit", text="go on")
    story.screen = "question"
    story.wait(16 * 60)
    assert isinstance(story.state, Running)
    assert story.state.activity.waiting is not None
    assert story.alerts() == ["dialog"]


def test_f_proc_11_a_screen_that_cannot_be_read_does_not_save_a_hang() -> None:
    story = Story(claude()).runs()
    story.hook("prompt-submit", text="go on")
    story.screen = "unknown"
    story.wait(16 * 60)
    assert story.of(Terminate)


@pytest.mark.parametrize("verdict", ["working", "unknown", "idle", "question"])
def test_a_look_that_comes_after_new_evidence_judges_nothing(verdict: str) -> None:
    story = Story(claude()).works()
    story.screen = None
    story.wait(15 * MINUTE)
    assert story.of(LookAtScreen)
    story.hook("tool-end")
    story.tell(ScreenSeen("a", 1, verdict))
    assert isinstance(story.state, Running)
    assert story.state.activity.turn_open
    assert story.state.activity.waiting is None
    assert not hung(story)


@pytest.mark.parametrize("source", ["hook", "transcript", "adoption"])
def test_each_silence_has_a_look_of_its_own(source: str) -> None:
    story = Story(claude()).works()
    story.screen = None
    story.wait(15 * MINUTE)
    if source == "hook":
        story.hook("tool-end")
    elif source == "transcript":
        story.tell(EvidenceSeen("a", 1, "transcript"))
    else:
        story.tell(RunAdopted("a", 1, 100, 1000))
    story.wait(15 * MINUTE)
    assert sum("looking at the screen first" in reason for reason in story.reasons) == 2
    assert not hung(story)
    story.wait(10)
    assert hung(story)


def test_a_look_does_not_overrule_a_subagent_that_spoke_meanwhile() -> None:
    story = Story(claude(kind=Kind.LOOP)).works()
    story.screen = None
    story.hook("tool-start", tool="Task", tool_use_id="task", is_subagent_call=True)
    story.wait(15 * MINUTE)
    story.hook("tool-end", tool="Read", sub=True)
    story.tell(ScreenSeen("a", 1, "working"))
    assert not hung(story)


@pytest.mark.parametrize("kind", [Kind.RESIDENT, Kind.LOOP])
def test_g43_an_end_of_ours_is_an_incident_that_is_recorded_before_the_kill(kind: Kind) -> None:
    story = Story(claude(kind=kind)).works()
    story.wait(15 * MINUTE)
    actions = [type(action) for action in story.decisions[-1].actions]
    assert actions.index(RecordIncident) < actions.index(Terminate)
    incident = story.agent.incident
    assert incident is not None
    assert (incident.incarnation, incident.kind, incident.file) == (1, "hung", "incidents/1-hung.json")
    story.exited(143)
    assert story.agent.incident == incident


@pytest.mark.parametrize(
    ("what", "age", "why"),
    [
        ("works", 1200.0, None),
        ("works", 300.0, "liveness.stale"),
        ("idle", 1200.0, "no open turn"),
        ("asks", 1200.0, "waits for a person"),
        ("in a call", 1200.0, "1 h 1 min more"),
    ],
)
def test_a_simulated_hang_is_told_beforehand_as_it_comes(what: str, age: float, why: str | None) -> None:
    story = Story(claude()).works()
    match what:
        case "idle":
            story.hook("stop")
        case "asks":
            story.hook("permission-request", tool="Bash")
        case "in a call":
            story.hook("tool-start", tool="Bash", tool_use_id="t1", lease=3600)
    assert isinstance(story.state, Running)
    told = untouched_by(story.state.activity, story.agent.view(), age, story.now)
    assert (told is None) == (why is None)
    assert why is None or why in (told or "")
    story.tell(EvidenceSeen("a", 1, "simulated", age, ordered=True))
    story.wait(0)
    assert hung(story) == (told is None)


def test_f_hb_11_a_loop_that_only_keeps_its_heartbeat_alive_ends_at_its_maximum_run_time() -> None:
    story = Story(claude(kind=Kind.LOOP)).works()
    for _ in range(60):
        story.wait(60)
        if story.agent.run is None or not isinstance(story.state, Running):
            break
        story.tell(EvidenceSeen("a", story.run.incarnation, "heartbeat", 0.0))

    assert story.agent.incident is not None
    assert story.agent.incident.kind == "overtime"
