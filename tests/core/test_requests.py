"""What operators ask: idempotent in every state, remembered, and answered by a refusal that says what to do instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import requests
from phoenixd.core.actions import Deliver, Kill, Release, Spawn, Terminate
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Desired, Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.events import Event
from phoenixd.core.events.fleet import Rebooted, TerminalSeen, Tick
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    RestartRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.runs import (
    AgentStarted,
    AgentVanished,
    Delivered,
    RunAdopted,
    RunMissing,
    ShimLost,
    StartFailed,
)
from phoenixd.core.hooks import TurnFailed
from phoenixd.core.merit import Record
from phoenixd.core.rules import LoopRules, RestartPolicy, RestartRules
from phoenixd.core.spec import Kind
from tests.core.states import SITUATIONS
from tests.core.story import Story, claude, spec

AFTERMATH: list[Event] = [
    Tick(),
    Rebooted("other"),
    TerminalSeen(True),
    TerminalSeen(False),
    ShimLost("a", 1),
    RunMissing("a", 1),
    RunAdopted("a", 1, 5, 50),
    AgentVanished("a", 1),
    AgentDeclared(spec(cwd="/elsewhere")),
    AgentDeclared(spec(), start=True),
]


def brought(situation: str) -> Story:
    story = Story(spec())
    SITUATIONS[situation](story)
    story.decisions.clear()
    return story


def end_the_run(story: Story) -> None:
    if isinstance(story.state, Stopping):
        story.exited(143)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_p54_f_proc_4_a_deliberate_stop_stays_stopped_whatever_comes(situation: str) -> None:
    story = brought(situation)
    assert story.stop() is None
    end_the_run(story)
    assert isinstance(story.state, Stopped)
    assert story.agent.desired is Desired.STOPPED
    assert story.agent.item is None
    spawned = len(story.of(Spawn))
    for event in AFTERMATH:
        story.tell(event)
        story.wait(600)
        assert isinstance(story.state, Stopped), event
    assert len(story.of(Spawn)) == spawned


@pytest.mark.parametrize("event", AFTERMATH)
def test_p54_a_stop_that_is_under_way_is_not_undone(event: Event) -> None:
    story = Story().runs()
    story.stop()
    story.tell(event)
    if isinstance(story.state, Stopping):
        story.wait(10)
        story.tree_gone()
    assert isinstance(story.state, Stopped)
    assert len(story.of(Spawn)) == 1


@pytest.mark.parametrize("situation", SITUATIONS)
def test_start_and_stop_are_idempotent(situation: str) -> None:
    story = brought(situation)
    for _ in range(3):
        assert story.start() is None
        assert story.agent.desired is Desired.RUNNING
    assert isinstance(story.state, Starting | Running | Stopping | BackingOff)
    for _ in range(3):
        assert story.stop() is None
        assert story.agent.desired is Desired.STOPPED
    end_the_run(story)
    assert isinstance(story.state, Stopped)
    assert len(story.of(Terminate)) <= 1


@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_request_and_every_refusal_is_journaled_with_a_reason(situation: str) -> None:
    for event in (
        StartRequested("a"),
        StartRequested("a", fresh=True),
        StopRequested("a"),
        StopRequested("a", after_iteration=True),
        RestartRequested("a"),
        SendRequested("a", "m", "hello"),
        AgentWithdrawn("a"),
        AgentDeclared(spec(cwd="/elsewhere")),
    ):
        story = brought(situation)
        refusal = story.tell(event)
        assert story.decisions[0].reason, event
        if refusal is not None:
            assert refusal.message
            assert story.decisions[0].reason.startswith("refused: ")


@pytest.mark.parametrize("request_", ["start", "restart"])
def test_p57_a_cleanly_stopped_agent_starts_again_on_request(request_: str) -> None:
    story = Story().lives(60, 0)
    assert getattr(story, request_)() is None
    assert isinstance(story.state, Starting)
    assert story.run.incarnation == 2


@pytest.mark.parametrize("request_", ["start", "restart"])
def test_p59_only_a_request_lifts_a_quarantine_and_it_forgives_the_crashes(request_: str) -> None:
    rules = RestartRules(max_crashes=2)
    story = Story(spec(restart=rules))
    story.lives(1, 1).respawned().lives(1, 1)
    assert isinstance(story.state, Quarantined)
    another = AgentDeclared(spec(restart=rules, prompt="Another goal."))
    for event in (Tick(), Rebooted("b"), another, TerminalSeen(True)):
        story.tell(event)
        assert isinstance(story.state, Quarantined)
    getattr(story, request_)()
    assert isinstance(story.state, Starting)
    assert story.agent.item is None
    story.lives(1, 1)
    assert isinstance(story.state, Starting)


def test_a_start_during_a_stop_starts_once_the_tree_is_gone() -> None:
    story = Story().runs()
    story.stop()
    assert story.start() is None
    story.wait(60)
    assert len(story.of(Spawn)) == 1
    story.tree_gone()
    assert len(story.of(Spawn)) == 2


def test_a_stop_during_a_restart_leaves_the_run_its_time_to_end() -> None:
    """The SIGKILL comes when it would have come."""
    story = Story().runs()
    story.restart()
    assert isinstance(story.state, Stopping)
    deadline = story.state.deadline
    story.pass_over(1)
    story.stop()
    assert isinstance(story.state, Stopping)
    assert story.state.deadline == deadline
    assert not story.of(Kill)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_restart_gives_one_new_incarnation_from_every_state(situation: str) -> None:
    story = brought(situation)
    before = story.agent.incarnation
    assert story.restart() is None
    if isinstance(story.state, Stopping):
        assert not story.of(Spawn)
        story.exited(143)
    assert isinstance(story.state, Starting)
    assert story.agent.incarnation == before + 1


def test_fresh_is_refused_on_a_running_agent_with_the_command_that_does_it() -> None:
    story = Story().runs()
    refusal = story.start(fresh=True)
    assert refusal is not None
    assert refusal.code == "conflict"
    assert refusal.remedy == "phoenixctl restart a --fresh"
    assert story.agent.desired is Desired.RUNNING


# Stop after this iteration.


def loop(**changes: float) -> Story:
    return Story(spec(kind=Kind.LOOP, loop=LoopRules(**changes)))


@pytest.mark.parametrize("code", [0, 1, 127])
def test_stop_after_iteration_lets_it_end_and_starts_no_other(code: int) -> None:
    story = loop().runs()
    story.stop(after_iteration=True)
    story.wait(600)
    assert isinstance(story.state, Running)
    assert not story.of(Terminate)
    story.exited(code)
    assert isinstance(story.state, Stopped)
    story.wait(24 * 3600)
    assert len(story.of(Spawn)) == 1


def test_stop_after_iteration_in_the_pause_stops_at_once() -> None:
    story = loop().lives(60, 0)
    assert isinstance(story.state, BackingOff)
    story.stop(after_iteration=True)
    assert isinstance(story.state, Stopped)


def test_a_start_takes_a_stop_after_iteration_back() -> None:
    story = loop().runs()
    story.stop(after_iteration=True)
    story.start()
    story.pass_over(60)
    story.exited(0)
    story.respawned()


@pytest.mark.parametrize("trouble", ["apply", "overtime", "shim lost", "vanished", "reboot", "terminal lost"])
def test_f_proc_4_whatever_ends_the_last_iteration_it_was_the_last(trouble: str) -> None:
    story = loop(max_runtime=60).runs()
    story.stop(after_iteration=True)
    match trouble:
        case "apply":
            story.tell(AgentDeclared(replace(story.agent.spec, cwd="/elsewhere")))
            story.exited(143)
        case "overtime":
            story.wait(60)
            story.exited(143)
        case "shim lost":
            story.tell(ShimLost("a", 1))
            story.tree_gone()
        case "vanished":
            story.tell(AgentVanished("a", 1))
            story.wait(5)
            story.tree_gone()
        case "reboot":
            story.tell(Rebooted("other"))
        case "terminal lost":
            story.exited(signal=9, cause="terminal_lost")
    assert isinstance(story.state, Stopped)
    story.wait(24 * 3600)
    assert len(story.of(Spawn)) == 1


# Removing.


@pytest.mark.parametrize("situation", SITUATIONS)
def test_f_sy_12_a_removed_agent_is_ended_first_and_then_gone(situation: str) -> None:
    story = brought(situation)
    lived = story.agent.run is not None
    assert story.tell(AgentWithdrawn("a")) is None
    if lived:
        assert not story.of(Release)
        story.exited(143)
    assert story.of(Release) == [Release("a")]
    assert not story.fleet.agents
    assert story.decisions[-1].removed


def test_incarnations_are_never_given_twice_also_when_an_agent_is_removed_and_added_again() -> None:
    story = Story()
    story.lives(400, 1)
    story.respawned()
    story.tell(AgentWithdrawn("a"))
    story.exited(143)
    late = AgentStarted("a", 1, "an old run", 77, 770)
    story.tell(AgentDeclared(spec()))
    assert (story.agent.incarnation, story.agent.restarts) == (2, 0)

    story.start()
    assert story.run.incarnation == 3
    before = story.agent
    story.tell(late)
    assert story.agent == before, "a word of the first life says nothing about the second"
    assert story.agent.restarts == 0


@pytest.mark.parametrize("answer", ["started", "failed"])
def test_a_remove_while_starting_waits_for_the_spawns_outcome(answer: str) -> None:
    story = Story()
    story.start()
    story.tell(AgentWithdrawn("a"))
    if answer == "started":
        story.started()
        assert "a" in story.fleet.agents
        story.exited(143)
    else:
        story.tell(StartFailed("a", 1, 0, "it was no longer wanted"))
    assert not story.fleet.agents


@pytest.mark.parametrize(
    "event",
    [StartRequested("a"), RestartRequested("a"), AgentDeclared(spec()), AgentDeclared(spec(cwd="/new"), start=True)],
)
def test_what_is_being_removed_can_be_neither_started_nor_declared_anew(event: Event) -> None:
    """A declaration that was taken now would vanish with the agent, without a word."""
    story = Story().runs()
    story.tell(AgentWithdrawn("a"))
    refusal = story.tell(event)
    assert refusal is not None
    assert refusal.code == "conflict"
    assert story.tell(StopRequested("a")) is None
    assert story.tell(AgentWithdrawn("a")) is None
    story.exited(143)
    assert not story.fleet.agents


# Declaring anew.


def test_add_declares_and_does_not_start() -> None:
    story = Story()
    assert isinstance(story.state, Stopped)
    assert story.agent.desired is Desired.STOPPED
    story.wait(3600)
    assert not story.of(Spawn)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_an_unchanged_declaration_changes_nothing(situation: str) -> None:
    story = brought(situation)
    before = story.fleet
    story.tell(AgentDeclared(spec(), start=True))
    assert story.fleet == before
    assert not story.decisions


@pytest.mark.parametrize(
    ("changes", "restarts"),
    [
        ({"argv": ("agent", "--other")}, True),
        ({"cwd": "/elsewhere"}, True),
        ({"env": (("KEY", "value"),)}, True),
        ({"env_from": "login"}, True),
        ({"fresh_args": ("--new",)}, True),
        ({"resume_args": ("--again",)}, True),
        ({"prompt_via": "paste"}, True),
        ({"heartbeat_file": "/srv/beat.json"}, True),
        ({"harness": "codex"}, True),
        ({"prompt": "Another goal."}, False),
        ({"restart": RestartRules(max_crashes=9)}, False),
        ({"autostart": False}, False),
        ({"source": "elsewhere.toml"}, False),
    ],
)
def test_a_reload_restarts_only_what_needs_a_new_process(changes: dict[str, object], restarts: bool) -> None:
    story = Story().runs()
    story.tell(AgentDeclared(spec(**changes)))
    assert isinstance(story.state, Stopping if restarts else Running)
    if restarts:
        assert next(iter(changes)) in story.agent.reason
        story.exited(143)
        assert story.run.incarnation == 2


def test_a_change_while_stopping_takes_effect_at_the_next_start() -> None:
    story = Story().runs()
    story.stop()
    story.tell(AgentDeclared(spec(cwd="/elsewhere")))
    story.exited(143)
    assert isinstance(story.state, Stopped)
    assert story.agent.spec.cwd == "/elsewhere"


def given_up(by: str, **declared: Any) -> Story:
    story = Story(spec(**declared))
    story.start()
    if by == "no command":
        story.tell(StartFailed("a", 1, 127, "not found"))
    elif by == "no fence":
        story.tell(StartFailed("a", 1, 126, "fence: /srv: no such file; not started without it"))
    elif by == "its own 127":
        story.started()
        story.exited(127)
    elif by == "nothing achieved":
        record = Record(unproductive=tuple(float(number) for number in range(8)))
        given = replace(story.agent, state=Quarantined("8 runs had nothing to show", counted=True), record=record)
        story.fleet = replace(story.fleet, agents={"a": given})
    elif by == "refused":
        story.started()
        story.tell(TurnFailed("a", 1, text="Please run /login", failure="login"))
        story.exited(1)
    elif by == "no directory":
        for incarnation in range(1, 6):
            story.tell(StartFailed("a", incarnation, 1, "no such directory", "no directory"))
            if incarnation < 5:
                story.respawned()
    else:
        for _ in range(5):
            story.respawned().started()
            story.pass_over(1)
            story.exited(1)
    assert isinstance(story.state, Quarantined)
    return story


@pytest.mark.parametrize(
    ("by", "changes"),
    [
        ("no command", {"argv": ("other", "--new")}),
        ("no command", {"env": (("PATH", "/opt/agent"),)}),
        ("no command", {"env_from": "login"}),
        ("no directory", {"cwd": "/elsewhere"}),
        ("no fence", {"fence": "none"}),
        ("its own 127", {"env": (("NODE_PATH", "/opt/lib"),)}),
        ("its own 127", {"fresh_args": ("--new",)}),
        ("crashes", {"argv": ("other", "--new")}),
        ("crashes", {"env": (("KEY", "value"),)}),
        ("crashes", {"restart": RestartRules(max_crashes=9)}),
        ("crashes", {"restart": RestartRules(period=3.0)}),
        ("refused", {"env": (("KEY", "value"),)}),
        ("nothing achieved", {"argv": ("other", "--new")}),
        ("nothing achieved", {"restart": RestartRules(max_unproductive=0)}),
        ("nothing achieved", {"restart": RestartRules(max_unproductive=9)}),
    ],
)
def test_f_proc_9_what_could_not_be_run_is_started_once_a_person_has_corrected_it(
    by: str, changes: dict[str, Any]
) -> None:
    """A person changed what was wrong, and nobody had said that it is to be down."""
    story = given_up(by)
    story.tell(AgentDeclared(spec(**changes)))
    assert isinstance(story.state, Starting)
    assert next(iter(changes)) in story.reasons[-2]
    assert "quarantine" not in story.agent.reason
    story.started()
    assert not [one for one in story.agent.alerts if one.kind == "quarantined"]
    assert not story.agent.items
    assert not story.agent.crashes
    assert story.spawn.incarnation == (6 if by in {"no directory", "crashes"} else 2)


@pytest.mark.parametrize(
    ("by", "changes"),
    [
        ("crashes", {"prompt": "Another goal."}),
        ("crashes", {"heartbeat_file": "/srv/beat.json"}),
        ("crashes", {"restart": RestartRules(backoff_max=9.0)}),
        ("crashes", {"restart": RestartRules(max_crashes=4)}),
        ("crashes", {"restart": RestartRules(policy=RestartPolicy.NEVER, max_crashes=9)}),
        ("refused", {"restart": RestartRules(max_crashes=9)}),
        ("nothing achieved", {"restart": RestartRules(max_crashes=9)}),
        ("no command", {"prompt": "Another goal."}),
        ("no command", {"argv": ("agent", "--other")}),
        ("no command", {"env": (("KEY", "value"),)}),
        ("no command", {"cwd": "/elsewhere"}),
        ("no command", {"fresh_args": ("--new",)}),
        ("no directory", {"argv": ("other",)}),
        ("no directory", {"env": (("PATH", "/opt/agent"),)}),
        ("its own 127", {"heartbeat_file": "/srv/beat.json"}),
        ("no directory", {"restart": RestartRules(max_crashes=9)}),
    ],
)
def test_a_quarantine_of_another_cause_stays_and_a_changed_declaration_says_what_ends_it(
    by: str, changes: dict[str, Any]
) -> None:
    story = given_up(by)
    why = story.agent.reason
    story.tell(AgentDeclared(spec(**changes)))
    assert isinstance(story.state, Quarantined)
    assert story.agent.reason == why
    assert story.reasons[-1].endswith("it stays in quarantine until: phoenixctl start a")


@pytest.mark.parametrize(
    ("command", "changes", "is_tried"),
    [
        ("/opt/agent", {"argv": ("/opt/other",)}, True),
        ("/opt/agent", {"env": (("PATH", "/opt/agent"),)}, False),
        ("/opt/agent", {"env_from": "login"}, False),
        ("/opt/agent", {"cwd": "/elsewhere"}, False),
        ("bin/agent", {"cwd": "/elsewhere"}, True),
        ("bin/agent", {"env": (("PATH", "/opt/agent"),)}, False),
        ("bin/agent", {"argv": ("agent",)}, True),
    ],
)
def test_f_proc_9_where_a_program_is_looked_for_says_what_can_make_it_be_found(
    command: str, changes: dict[str, Any], is_tried: bool
) -> None:
    story = given_up("no command", argv=(command,))
    story.tell(AgentDeclared(spec(**{"argv": (command,), **changes})))
    assert isinstance(story.state, Starting if is_tried else Quarantined)


def test_f_proc_9_two_changes_of_which_one_can_cure_it_are_a_correction() -> None:
    story = given_up("no command")
    story.tell(AgentDeclared(spec(cwd="/elsewhere", env=(("KEY", "value"),))))
    assert isinstance(story.state, Quarantined)
    story.tell(AgentDeclared(spec(cwd="/elsewhere", argv=("other",))))
    assert isinstance(story.state, Starting)


def test_promise_3_what_was_stopped_in_quarantine_is_not_started_by_a_correction() -> None:
    story = given_up("no command")
    story.stop()
    story.tell(AgentDeclared(spec(argv=("other",))))
    assert isinstance(story.state, Stopped)
    assert story.reasons[-1] == "its configuration changed: argv; its next start takes that up"


def test_a_member_of_a_sequence_is_not_begun_out_of_its_turn_by_a_correction() -> None:
    story = given_up("no command", turn_of="first")
    story.tell(AgentDeclared(spec(argv=("other",), turn_of="first")))
    assert isinstance(story.state, Quarantined)


def test_another_harness_inherits_neither_hooks_nor_session() -> None:
    story = Story(claude()).works()
    story.tell(AgentDeclared(claude(harness="command")))
    story.exited(143)
    assert not story.agent.hooks_seen
    assert story.spawn.mode.value == "fresh"


# Sending.


def test_a_text_goes_to_the_running_incarnation_and_its_words_into_no_journal() -> None:
    story = Story(claude()).works()
    assert story.tell(SendRequested("a", "m1", "a secret plan", by="ann")) is None
    (order,) = story.of(Deliver)
    assert (order.incarnation, order.message_id, order.text) == (1, "m1", "a secret plan")
    assert "secret" not in repr(order)
    assert "secret" not in story.reasons[-1]


def test_a_text_that_waits_for_the_next_step_is_the_task_in_hand() -> None:
    """No prompt hook tells of a text that a busy harness reads in the middle of its turn."""
    story = Story(claude()).works()
    story.tell(Delivered("a", 1, "m", "queued", queued="And close the till."))
    assert story.agent.last_prompt == "And close the till."
    story.tell(Delivered("a", 1, "m", "the agent took the prompt"))
    assert story.agent.last_prompt == "And close the till."


@pytest.mark.parametrize("situation", [*sorted(set(SITUATIONS) - {"running"}), "waiting", "vanished"])
def test_f_tmux_9_nothing_is_typed_where_nobody_reads_or_where_enter_would_answer(situation: str) -> None:
    if situation in SITUATIONS:
        story = brought(situation)
    else:
        story = Story(claude()).works()
        if situation == "waiting":
            story.hook("permission-request", tool="Bash", text="rm -rf build")
        else:
            story.tell(AgentVanished("a", 1))
    refusal = story.tell(SendRequested("a", "m1", "hello"))
    assert refusal is not None
    assert refusal.code == "conflict"
    assert refusal.remedy.startswith("phoenixctl ")
    assert not story.of(Deliver)


def test_an_agent_that_waits_for_a_login_or_a_payment_can_be_told_to_go_on() -> None:
    """No dialog stands then, and the next prompt is what shows whether all is well again."""
    story = Story(claude()).works()
    story.hook("stop-failure", error="billing_error")
    assert story.tell(SendRequested("a", "m1", "go on")) is None
    assert story.of(Deliver)


@pytest.mark.parametrize(
    "event",
    [StartRequested("x"), StopRequested("x"), RestartRequested("x"), AgentWithdrawn("x"), SendRequested("x", "m", "t")],
)
def test_a_request_about_an_unknown_agent_says_so(event: Event) -> None:
    story = Story()
    refusal = story.tell(event)
    assert refusal is not None
    assert refusal.code == "not_found"
    assert "x" in refusal.message


@pytest.mark.parametrize(("asked", "mode"), [({}, Mode.RESUME), ({"fresh": True}, Mode.FRESH)])
def test_who_is_queued_goes_on_with_the_session_unless_it_is_asked_to_be_fresh(
    asked: dict[str, bool], mode: Mode
) -> None:
    """As the one that tries whether an outage is over."""
    story = Story(claude()).works()
    story.pass_over(600)
    story.stop()
    story.exited(0)

    queued = requests.queue(story.agent, "its time has come", story.now, **asked).agent

    assert queued is not None
    assert isinstance(queued.state, BackingOff)
    assert queued.state.mode is mode


@pytest.mark.parametrize("fills", [True, False])
def test_an_environment_that_was_only_not_read_restarts_nobody(fills: bool) -> None:
    """The journal has none: a daemon that began without the configuration learns of it when that is back."""
    story = Story(spec()).runs()
    found = replace(story.agent.spec, env=(("KEY", "1"),))

    story.tell(AgentDeclared(found, fills_env=fills))

    assert story.agent.spec == found
    assert isinstance(story.state, Running) is fills
