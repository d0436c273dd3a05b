"""Which run was productive, and which end counts: judged by progress, never by age (design section 3)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.actions import MeasureWork, Spawn
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Quarantined, Starting, Stopping
from phoenixd.core.events.evidence import ScreenSeen
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import SendRequested
from phoenixd.core.events.runs import Delivered, ShimLost
from phoenixd.core.events.work import MeasurementLost, WorkMeasured
from phoenixd.core.facts import RunEnded, RunProductive
from phoenixd.core.merit import Merit, Record
from phoenixd.core.rules import BreakerRules, LivenessRules, LoopRules, RestartPolicy, RestartRules
from phoenixd.core.spec import Kind
from tests.core.story import Story, claude, spec
from tests.journaled import dump_agent, load_agent

DAY = 24 * 3600.0
LONG = 600.0
PROMPT, CALL, DONE = ("prompt-submit", {"text": "go on"}), ("tool-end", {"tool": "Bash"}), ("stop", {})


class Lives(Story):
    """An agent whose work never changes unless it is said to."""

    def __init__(self, *specs: Any) -> None:
        super().__init__(*specs)
        self.work = "git:same"

    def died(self, *hooks: tuple[str, dict[str, Any]], lived: float = LONG, **exit: Any) -> Lives:
        """One run, whatever starts it: these hooks, and then this end."""
        self.started()
        self.hook("session-start", session_id=self.run.session_id)
        for kind, details in hooks:
            self.hook(kind, **details)
        self.pass_over(lived)
        self.exited(**(exit or {"signal": 9}))
        if isinstance(self.state, BackingOff):
            self.respawned()
        return self

    @property
    def count(self) -> int:
        return len(self.agent.record.unproductive)


def dying(**changes: Any) -> Lives:
    """An agent whose newest run died in an open turn and had nothing to show: the count is at one."""
    lives = Lives(claude(**changes))
    lives.start()
    lives.died(PROMPT)
    assert lives.count == 1
    return lives


@pytest.mark.parametrize(
    ("hooks", "proof"),
    [
        ((PROMPT,), ""),
        ((PROMPT, CALL), ""),
        ((PROMPT, DONE), ""),
        ((PROMPT, ("tool-start", {"tool": "Bash"}), DONE), ""),
        ((PROMPT, ("tool-failure", {"tool": "Bash"}), DONE), ""),
        ((PROMPT, ("tool-end", {"tool": "Read", "sub": True}), DONE), ""),
        ((PROMPT, CALL, ("stop-failure", {"error": "max_output_tokens"})), ""),
        ((PROMPT, CALL, ("stop", {"sub": True})), ""),
        ((PROMPT, CALL, DONE), "turn"),
        # A person asks for the second turn, and it needs no tool.
        ((PROMPT, DONE, ("prompt-submit", {"text": "why?"}), DONE), "turn"),
        # Another turn's call does not speak for a note of its own about background work.
        ((PROMPT, CALL, ("stop-failure", {"error": "x"}), ("prompt-submit", {"source": "machine"}), DONE), ""),
    ],
)
def test_after_a_death_a_turn_proves_something_by_a_call_or_a_person(hooks: Any, proof: str) -> None:
    lives = dying()
    lives.died(*hooks)
    assert lives.agent.last_exit is not None
    assert lives.agent.last_exit.proof == proof
    # A refused word is a person's matter as well, but an end is an end.
    asked_by_a_person = sum(1 for kind, _ in hooks if kind == "prompt-submit") > 1
    assert lives.count == (0 if proof else 1 if asked_by_a_person and proof else 2)


def test_before_any_death_a_turn_that_ended_well_is_enough() -> None:
    lives = Lives(claude())
    lives.start()
    lives.died(PROMPT, DONE)
    assert lives.count == 0
    assert lives.agent.last_exit is not None
    assert lives.agent.last_exit.proof == "turn"


def test_the_moment_at_which_a_run_becomes_productive_is_marked_and_told() -> None:
    lives = dying()
    lives.started()
    lives.hook("session-start", session_id=lives.run.session_id)
    lives.hook("prompt-submit", text="continue")
    lives.hook("tool-end", tool="Bash")
    assert lives.run.merit.at is None
    lives.pass_over(30)
    lives.hook("stop")
    assert (lives.run.merit.proof, lives.run.merit.at) == ("turn", lives.at)
    assert "productive: its turn ended well" in lives.reasons[-1]
    assert lives.count == 0


def test_a_cli_that_ends_its_turns_either_way_is_looked_at_first() -> None:
    lives = dying(harness="gemini")
    lives.screen = None
    for hook, proof in (("stop-failure", ""), (None, "turn")):
        lives.started()
        lives.hook("session-start", session_id=lives.run.session_id)
        lives.hook("prompt-submit", text="continue")
        lives.hook("tool-end", tool="Bash")
        lives.hook("stop")
        assert lives.run.merit.proof == ""
        if hook is not None:
            lives.hook(hook, error="max_output_tokens")
        lives.tell(ScreenSeen("a", lives.run.incarnation, "idle"))
        assert lives.run.merit.proof == proof
        lives.pass_over(LONG)
        lives.exited(signal=9)
        lives.respawned()


@pytest.mark.parametrize(
    ("end", "counts"),
    [
        ({"signal": 9}, True),
        ({"code": 1}, True),
        ({"code": 100}, True),
        ({"signal": 9, "cause": "terminal_lost"}, False),
        ({"signal": 9, "cause": "shim_terminated"}, False),
        ({"signal": 9, "oom": "host"}, False),
        ({"signal": 9, "oom": "agent"}, True),
    ],
)
def test_ends_that_say_nothing_about_the_agent_never_count(end: dict[str, Any], counts: bool) -> None:
    lives = dying()
    lives.died(PROMPT, **end)
    assert lives.count == (2 if counts else 1)


def test_an_operators_restart_and_a_reboot_and_a_limit_never_count() -> None:
    lives = dying()
    lives.started()
    lives.hook("prompt-submit", text="go on")
    lives.hook("stop-failure", error="rate_limit")
    lives.exited(signal=9)
    assert lives.count == 1
    lives = dying()
    lives.started()
    lives.hook("prompt-submit", text="go on")
    lives.restart()
    lives.exited(signal=15)
    assert lives.count == 0, "who restarts it forgives"


def test_an_end_counts_if_it_had_a_turn_or_came_before_its_first_evidence() -> None:
    lives = dying()
    # Idle, with evidence and no turn.
    lives.hook("session-start", session_id=lives.run.session_id)
    lives.died(("permission-request", {"tool": "Bash", "text": "make"}))
    assert lives.count == 2, "it was told to continue, so its turn was open"
    lives = Lives(claude(prompt=None))
    lives.start()
    lives.died()
    assert lives.count == 1, "it died before its first evidence"
    lives.died(("compacted", {}))
    assert lives.count == 1, "it had evidence, and no turn"


def test_after_a_death_a_text_of_send_makes_the_turn_that_it_reached_one_that_was_asked_for() -> None:
    """Also where it was read in the middle of a turn: no hook tells of that."""
    lives = dying()
    lives.started()
    lives.hook("session-start", session_id=lives.run.session_id)
    lives.hook("prompt-submit", text="continue")
    lives.tell(SendRequested("a", "m1", "why?"))
    lives.tell(Delivered("a", lives.run.incarnation, "m1", "the transcript shows it"))
    lives.hook("stop")
    assert lives.run.merit.proof == "turn"


def test_the_count_goes_to_zero_with_a_persons_prompt_with_send_and_after_a_day() -> None:
    lives = dying()
    lives.started()
    lives.hook("session-start", session_id=lives.run.session_id)
    lives.hook("prompt-submit", text="continue")
    assert lives.count == 1
    lives.hook("prompt-submit", text="a person's own words")
    assert lives.count == 0
    lives.exited(signal=9)
    assert lives.count == 1
    lives.respawned().started()
    lives.hook("session-start", session_id=lives.run.session_id)
    lives.tell(Delivered("a", lives.run.incarnation, "ours", "a text of our own, to go on"))
    assert lives.count == 1
    lives.tell(SendRequested("a", "m1", "do it"))
    lives.tell(Delivered("a", lives.run.incarnation, "m1", "the transcript shows it"))
    assert lives.count == 0
    lives = dying()
    lives.died(PROMPT, lived=DAY - 1)
    assert lives.count == 2
    lives.died(PROMPT, lived=DAY + 1)
    assert lives.count == 1


@pytest.mark.parametrize("argv", [("claude", "-p", "Do the next item."), ("sh", "item.sh")])
def test_a_prompt_that_the_command_brings_along_is_nobodys(argv: tuple[str, ...]) -> None:
    """`argv = ["claude", "-p", "..."]` without `prompt`: its every run begins with the same words."""
    lives = Lives(claude(argv=argv, prompt=None))
    lives.start()
    lives.died(("prompt-submit", {"text": "Do the next item."}), lived=LONG)
    for count in (2, 3):
        lives.died(("prompt-submit", {"text": "Do the next item."}), DONE)
        assert lives.count == count
    lives.started()
    lives.hook("prompt-submit", text="Do the next item.")
    lives.hook("prompt-submit", text="Do the next item.")
    assert lives.count == 0, "the second time a person said it"


# Work that changed.


def test_work_that_changed_between_two_deaths_takes_the_count_back() -> None:
    lives = dying()
    assert len(lives.of(MeasureWork)) == 1, "the first has nothing to be compared to"
    lives.died(PROMPT)
    assert lives.count == 2
    lives.work = "git:other"
    lives.died(PROMPT)
    assert lives.count == 0
    assert lives.agent.last_exit is not None
    assert lives.agent.last_exit.proof == "work"
    lives.died(PROMPT)
    assert lives.count == 1, "the same work as at the death before"


@pytest.mark.parametrize("work", [None, "files:other"])
def test_work_of_which_nobody_can_tell_proves_nothing(work: str | None) -> None:
    lives = dying()
    lives.work = work
    lives.died(PROMPT)
    assert lives.count == 2


def test_the_restart_does_not_wait_for_the_work_to_be_measured() -> None:
    lives = dying()
    lives.work = "late"
    lives.started()
    lives.hook("prompt-submit", text="go on")
    lives.pass_over(LONG)
    lives.exited(signal=9)
    assert isinstance(lives.state, Starting)
    lives.tell(WorkMeasured("a", 2, True, "git:other"))
    assert lives.count == 0


def test_an_end_is_told_once_though_its_work_is_judged_beside_the_next_run() -> None:
    """`since` counts each end that is told: said again, one death would be two."""
    lives = dying()
    lives.work = "late"
    lives.died(PROMPT)
    for _ in range(2):
        lives.tell(WorkMeasured("a", 2, True, "git:other"))
    ends = [fact.incarnation for one in lives.decisions for fact in one.facts if isinstance(fact, RunEnded)]
    assert ends == [1, 2]


def limit(**changes: Any) -> Lives:
    """An agent whose last run that may be unproductive is about to begin."""
    lives = dying(restart=RestartRules(max_unproductive=3), **changes)
    lives.died(PROMPT)
    return lives


def test_before_it_is_given_up_its_work_is_looked_at() -> None:
    lives = limit()
    lives.work = "git:other"
    lives.died(PROMPT)
    assert isinstance(lives.state, Starting)
    assert (lives.count, lives.alerts()) == (0, [])
    assert (lives.spawn.mode, lives.spawn.prompt) == (Mode.RESUME, PromptKind.CONTINUE)


def test_who_cannot_be_measured_is_given_up_all_the_same() -> None:
    lives = limit()
    lives.work = "late"
    lives.started()
    lives.hook("prompt-submit", text="go on")
    lives.pass_over(LONG)
    lives.exited(signal=9)
    assert isinstance(lives.state, BackingOff)
    lives.fleet = type(lives.fleet)(
        agents={"a": load_agent(dump_agent(lives.agent))}, limits=lives.fleet.limits, next_item=lives.fleet.next_item
    )
    lives.wait(60)
    assert isinstance(lives.state, Quarantined)
    assert lives.alerts() == ["quarantined"]
    assert len(lives.of(Spawn)) == 3
    lives.start()
    assert (lives.count, type(lives.state)) == (0, Starting)


@pytest.mark.parametrize("per_turn", [False, True])
def test_a_daemon_start_asks_once_more_for_the_work_before_it_is_given_up(per_turn: bool) -> None:
    lives = limit(breaker=BreakerRules(per_turn=per_turn))
    lives.work = "late"
    lives.started()
    lives.hook("prompt-submit", text="go on")
    lives.hook("tool-end", tool="Bash")
    lives.pass_over(LONG)
    if per_turn:
        lives.hook("stop-failure", error="x")
        assert lives.agent.turns
    lives.exited(signal=9)
    lives.fleet = replace(lives.fleet, agents={"a": load_agent(dump_agent(lives.agent))})
    lives.wait(20)
    lives.work = "git:other"
    lives.tell(MeasurementLost("a"))
    assert lives.alerts().count("quarantined") == 0
    assert (lives.count, lives.agent.record.weighing) == (0, 0)
    assert isinstance(lives.state, Starting)


def unmeasured(died: int = 1, lived: float = LONG) -> Lives:
    """A run that achieved nothing has died, and what it did to the work was asked for and not answered."""
    lives = Lives(claude(restart=RestartRules(max_unproductive=3, early_exit=60, backoff_initial=20)))
    lives.start()
    for _ in range(died):
        lives.died(PROMPT, lived=lived)
    lives.work = "late"
    lives.started()
    lives.hook("prompt-submit", text="go on")
    lives.pass_over(lived)
    lives.exited(signal=9)
    assert lives.agent.record.weighing > 0
    return lives


def test_a_daemon_start_puts_off_no_start_of_one_that_is_not_to_be_given_up() -> None:
    """What its last run did is asked for once more beside its next start, and not before it."""
    lives = unmeasured(lived=5)
    assert isinstance(lives.state, BackingOff)
    due, asked, spawned = lives.state.until, len(lives.of(MeasureWork)), len(lives.of(Spawn))
    lives.tell(MeasurementLost("a"))
    assert len(lives.of(MeasureWork)) == asked + 1
    assert lives.state.until == due
    lives.wait(due - lives.at)
    assert len(lives.of(Spawn)) == spawned + 1


def test_a_daemon_start_waits_for_the_work_of_one_that_is_to_be_given_up() -> None:
    lives = unmeasured(2)
    assert isinstance(lives.state, BackingOff)
    due = lives.state.until
    lives.pass_over(due - lives.at)
    lives.tell(MeasurementLost("a"))
    assert isinstance(lives.state, BackingOff)
    assert lives.state.until > lives.at
    lives.wait(lives.agent.spec.breaker.time_limit)
    assert isinstance(lives.state, BackingOff)
    lives.tell(WorkMeasured("a", lives.agent.incarnation, True, "git:same"))
    assert isinstance(lives.state, Quarantined)


def test_a_daemon_start_leaves_a_run_alone_whose_predecessor_is_being_measured() -> None:
    lives = unmeasured().respawned()
    asked = len(lives.of(MeasureWork))
    lives.tell(MeasurementLost("a"))
    assert isinstance(lives.state, Starting)
    assert len(lives.of(MeasureWork)) == asked + 1
    lives.tell(WorkMeasured("a", lives.agent.record.weighing, True, "git:same"))
    asked = len(lives.of(MeasureWork))
    lives.tell(MeasurementLost("a"))
    assert len(lives.of(MeasureWork)) == asked, "what was answered is not asked again"


def test_a_loop_is_productive_by_the_work_of_its_iteration() -> None:
    lives = Lives(claude(kind=Kind.LOOP, loop=LoopRules(pause=1)))
    lives.start()
    for expected in (1, 2, 0, 1):
        lives.started()
        lives.hook("prompt-submit", text="go on")
        lives.pass_over(LONG)
        lives.work = "git:other" if expected == 0 else lives.work
        lives.exited(signal=9)
        assert lives.count == expected
        lives.respawned()


@pytest.mark.parametrize("changes", [True, False])
def test_before_a_loop_is_given_up_the_work_of_its_last_iteration_is_measured(changes: bool) -> None:
    lives = Lives(claude(kind=Kind.LOOP, loop=LoopRules(pause=1), restart=RestartRules(max_unproductive=3)))
    lives.start()
    lives.died(PROMPT)
    lives.died(PROMPT)
    lives.works()
    lives.pass_over(LONG)
    lives.work = "git:other" if changes else lives.work
    lives.exited(signal=9)
    lives.wait(5)
    if changes:
        assert (lives.count, lives.alerts()) == (0, [])
        assert isinstance(lives.state, Starting)
    else:
        assert isinstance(lives.state, Quarantined)
        assert "max_unproductive" in lives.state.cause
        assert lives.alerts().count("quarantined") == 1


# Commands, and ends that were meant.


def test_a_command_without_hooks_is_productive_after_five_minutes() -> None:
    story = Story(spec())
    for lived, count in ((299, 1), (300, 0), (600, 0)):
        story.lives(lived, 1).respawned()
        assert len(story.agent.record.unproductive) == count


def test_a_command_that_lives_differently_long_raises_no_alert() -> None:
    story = Story(spec())
    for lived in (400, 600, 500, 900, 420, 700) * 3:
        story.lives(lived, 1).respawned()
    assert story.alerts() == []


def test_the_alert_of_steady_deaths_is_over_when_they_are_not_steady_any_more() -> None:
    story = Story(spec())
    for _ in range(9):
        story.lives(360, 1).respawned()
    assert story.alerts() == ["steady deaths"]
    assert [one.kind for one in story.agent.alerts] == ["steady deaths"]
    story.lives(5000, 1).respawned()
    assert story.agent.alerts == ()


def test_who_is_restarted_whatever_its_end_is_braked_as_well() -> None:
    """restart.policy = "always": exit 0 every ten minutes, and nothing done, is a slow death too."""
    lives = Lives(claude(restart=RestartRules(policy=RestartPolicy.ALWAYS)))
    lives.start()
    lives.died(PROMPT, code=0)
    for _ in range(7):
        lives.died(PROMPT, code=0)
    assert isinstance(lives.state, Quarantined)


def test_a_lost_shim_counts_like_any_death() -> None:
    lives = dying()
    lives.started()
    lives.hook("prompt-submit", text="go on")
    lives.tell(ShimLost("a", lives.run.incarnation))
    lives.tree_gone()
    assert lives.count == 2


def test_a_resume_that_never_comes_alive_counts_though_we_end_it() -> None:
    lives = dying(restart=RestartRules(max_unproductive=3))
    for count in (2, 3):
        lives.started()
        lives.wait(31)
        assert isinstance(lives.state, Stopping)
        lives.exited(143)
        assert lives.count == count
        if count == 2:
            # The fresh one comes alive, and the terminal is lost: the next one resumes again.
            lives.started()
            lives.hook("session-start", session_id=lives.run.session_id)
            lives.hook("prompt-submit", text="continue")
            lives.tell(ScreenSeen("a", lives.run.incarnation, "working"))
            lives.exited(signal=9, cause="terminal_lost")
            if isinstance(lives.state, BackingOff):
                lives.respawned()
    assert isinstance(lives.state, Quarantined)


def test_hangs_count() -> None:
    lives = dying(liveness=LivenessRules(stale=60, check_interval=10))
    lives.started()
    lives.hook("prompt-submit", text="go on")
    lives.wait(61)
    lives.tell(Tick())
    lives.exited(signal=15)
    assert lives.count == 2


# The fact, once for each run.


def told_productive(story: Story) -> list[int]:
    facts = [fact for decision in story.decisions for fact in decision.facts]
    return [fact.incarnation for fact in facts if isinstance(fact, RunProductive)]


def test_the_fact_is_told_once_for_each_run_by_whatever_proves_it() -> None:
    lives = dying()
    lives.died(PROMPT, CALL, DONE, ("prompt-submit", {"text": "more"}), CALL, DONE)
    assert told_productive(lives) == [2], "a turn"
    lives.work = "git:other"
    lives.died(PROMPT)
    lives.work = "git:third"
    lives.died(PROMPT)
    assert told_productive(lives) == [2, 4], "the work, which run 3 had nothing to be compared to"
    story = Story(spec()).runs()
    story.wait(1000)
    story.exited(1)
    assert told_productive(story) == [1], "its age, known at its end"
    story.runs()
    story.wait(1000)
    assert told_productive(story) == [1, 2], "its age, while it lives: it makes up for a death"
    loop = Story(spec(kind=Kind.LOOP)).lives(20, 0)
    assert told_productive(loop) == [1], "its end"


def test_a_state_that_an_older_version_saved_has_nothing_against_anybody() -> None:
    lives = dying()
    older = json.loads(dump_agent(lives.agent))
    del older["record"], older["outage"], older["state"]["run"]["merit"]
    del older["last_exit"]["oom"], older["last_exit"]["proof"]
    loaded = load_agent(json.dumps(older))
    assert (loaded.record, loaded.outage) == (Record(), None)
    assert loaded.run is not None
    assert loaded.run.merit == Merit()


@pytest.mark.parametrize(("verdict", "proof"), [("limit", ""), ("login", ""), ("unknown", ""), ("idle", "turn")])
def test_a_turn_whose_end_says_little_is_good_only_if_its_screen_is(verdict: str, proof: str) -> None:
    """Gemini tells of the end of a turn also where a limit ended it."""
    story = Story(spec(harness="gemini", prompt="Build the shop."))
    story.screen = None
    story.works()
    story.hook("tool-end", tool="Bash")
    story.hook("stop")
    story.tell(ScreenSeen("a", 1, verdict))
    assert story.run.merit.proof == proof
