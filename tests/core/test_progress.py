"""A loop's iterations in virtual time: measured, judged once, stopped when they are in vain, ended when all is done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.actions import Alert, MeasureWork, Spawn
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import Desired, Parked, Quarantined, Stopped
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import Rebooted
from phoenixd.core.events.orders import BreakerCorrupt, BreakerEdited, BreakerReset
from phoenixd.core.events.runs import RunMissing, StartFailed
from phoenixd.core.events.work import MeasurementLost, WorkMeasured
from phoenixd.core.facts import ProgressMade, PutInQuarantine, RunProductive
from phoenixd.core.iteration import Closing, Opening, Underway
from phoenixd.core.progress import close
from phoenixd.core.rules import HOUR, BreakerRules, LoopRules
from phoenixd.core.spec import Kind
from phoenixd.core.work import Place, Survey
from tests.core.story import EPOCH, Story, claude, spec


class LoopStory(Story):
    """A loop agent whose pause is 10 s and whose work stays as it is, unless a test says otherwise."""

    def __init__(self, harness: str = "command", **changes: Any) -> None:
        made = claude if harness == "claude" else spec
        super().__init__(made(kind=Kind.LOOP, **changes))
        self.work = "git:dirt"
        self.start()

    def iterates(self, code: int = 0, work: str | None = None) -> LoopStory:
        """One whole iteration, and the pause after it."""
        self.runs()
        self.pass_over(400)
        if work is not None:
            self.work = work
        self.exited(code)
        self.wait(10)
        return self

    @property
    def breaker(self) -> tuple[str, int]:
        return self.agent.breaker.name, self.agent.breaker.tally.no_progress


def test_g10_g30_five_idle_iterations_stop_the_loop_and_there_is_no_sixth() -> None:
    story = LoopStory()
    seen = [story.iterates().breaker for _ in range(5)]

    assert seen == [("CLOSED", 1), ("CLOSED", 2), ("HALF_OPEN", 3), ("HALF_OPEN", 4), ("OPEN", 5)]
    story.wait(1e6)
    assert isinstance(story.state, Quarantined)
    assert (story.agent.incarnation, story.agent.desired) == (5, Desired.RUNNING)
    assert "5 iterations without progress, the limit is 5" in story.agent.reason
    assert story.agent.item is not None
    assert [alert.kind for alert in story.of(Alert)] == ["breaker", "quarantined"]


def test_g47_the_work_is_measured_before_the_run_is_ordered_and_after_its_end() -> None:
    story = LoopStory().iterates()
    orders = [type(action).__name__ for action in story.actions if isinstance(action, MeasureWork | Spawn)]

    assert orders == ["MeasureWork", "Spawn", "MeasureWork", "MeasureWork", "Spawn"]


def test_nothing_starts_before_the_work_is_measured() -> None:
    story = Story(spec(kind=Kind.LOOP))
    story.work = "late"
    story.start()
    story.wait(29)

    assert isinstance(story.agent.iteration, Opening)
    assert story.of(Spawn) == []
    story.tell(WorkMeasured("a", 1, False, "git:1"))
    assert isinstance(story.agent.iteration, Underway)
    assert len(story.of(Spawn)) == 1


def test_f_cb_6_a_measurement_without_an_answer_is_asked_for_again_and_then_given_up() -> None:
    story = Story(spec(kind=Kind.LOOP))
    story.work = "late"
    story.start()
    story.wait(61)

    assert len(story.of(MeasureWork)) == 2
    story.started()
    story.exited(0)
    story.wait(200)
    assert [order.at_end for order in story.of(MeasureWork)] == [False, False, True, True, False, False]
    assert story.agent.breaker.tally.no_progress == 0


def test_g59_an_agent_that_asks_a_question_holds_the_counter_and_the_operator_is_told() -> None:
    story = LoopStory(harness="claude").iterates().iterates()
    assert story.breaker == ("CLOSED", 2)
    for _ in range(4):
        story.works()
        story.hook("permission-request", tool="Bash", text="npm publish")
        story.pass_over(400)
        story.exited(0)
        story.wait(10)

    assert story.breaker == ("CLOSED", 2), "neither counted nor forgiven"
    assert story.alerts().count("permission") == 4
    story.iterates()
    assert story.breaker == ("HALF_OPEN", 3)


def test_g60_x8b_unknown_work_holds_the_counter_and_somebody_is_told_once() -> None:
    story = LoopStory()
    story.iterates().iterates()
    story.work = None
    for _ in range(4):
        story.iterates()

    assert story.breaker == ("CLOSED", 2)
    assert len(story.of(Alert)) == 1
    assert "git is slow" in story.of(Alert)[0].text


def test_work_that_becomes_another_kind_of_thing_cannot_be_compared() -> None:
    story = LoopStory().iterates()
    story.iterates(work="files:1")

    assert story.breaker == ("CLOSED", 1)
    reasons = [decision.reason for decision in story.decisions]
    assert any("no judgement: the work was git before, and is files now" in reason for reason in reasons)


def test_what_others_change_in_the_pause_is_not_the_loops_progress() -> None:
    story = LoopStory()
    for number in range(5):
        story.runs()
        story.pass_over(400)
        story.exited(0)
        story.work = f"git:a person's commit {number}"
        story.wait(10)

    assert story.breaker == ("OPEN", 5)


def test_g64_x8c_a_death_that_is_nobodys_fault_goes_on_with_the_iteration() -> None:
    story = LoopStory().iterates().iterates()
    story.started()
    story.tell(Rebooted("another boot"))
    story.wait(60)

    assert story.agent.breaker.tally.iterations == 2
    assert isinstance(story.agent.iteration, Underway)
    assert story.iterates().breaker == ("HALF_OPEN", 3)
    assert len(story.of(MeasureWork)) == 7, "the work before it was measured before the reboot"


def test_g64_a_daemon_that_dies_between_two_iterations_loses_neither_count_nor_measurement() -> None:
    story = LoopStory()
    for _ in range(4):
        story.iterates()
    story.started()
    story.work = "late"
    story.pass_over(400)
    story.exited(0)
    assert isinstance(story.agent.iteration, Closing)
    story.work = "git:dirt"
    story.tell(MeasurementLost("a"))

    assert story.breaker == ("OPEN", 5)
    assert isinstance(story.state, Quarantined)


def test_f_cb_13_g6_a_killed_run_counts_by_what_it_changed() -> None:
    story = LoopStory(loop=LoopRules(max_runtime=600))
    story.runs().wait(601)
    story.exited(143)
    story.wait(10)
    assert story.breaker == ("CLOSED", 1)
    story.started()
    story.work = "git:half done"
    story.wait(601)
    story.exited(143)

    assert story.breaker == ("CLOSED", 0)


def test_a_run_that_never_came_about_is_no_iteration() -> None:
    story = LoopStory()
    story.tell(StartFailed("a", 1, 0, "no space left on device"))
    story.wait(60)
    story.tell(RunMissing("a", story.run.incarnation))
    story.tree_gone()
    story.wait(60)

    assert story.agent.breaker.tally.iterations == 0


def test_an_iteration_that_somebody_broke_off_is_not_judged() -> None:
    story = LoopStory().iterates()
    story.started()
    story.stop()
    story.exited(143)

    assert (story.breaker, story.agent.iteration) == (("CLOSED", 1), None)
    story.start()
    assert story.iterates().breaker == ("CLOSED", 2)


def test_g45_a_stop_after_the_iteration_lets_it_be_judged() -> None:
    story = LoopStory().iterates()
    story.started()
    story.stop(after_iteration=True)
    story.pass_over(400)
    story.exited(0)

    assert isinstance(story.state, Stopped)
    assert story.breaker == ("CLOSED", 2)
    assert story.agent.incarnation == 2


def test_x8_g32_start_rearms_an_open_breaker_as_a_trial_and_one_miss_opens_it() -> None:
    story = LoopStory()
    for _ in range(5):
        story.iterates()
    story.start()
    assert story.breaker == ("HALF_OPEN", 5)
    assert story.iterates().breaker == ("OPEN", 6)
    assert isinstance(story.state, Quarantined)
    story.start()
    assert story.iterates(work="git:changed").breaker == ("CLOSED", 0)
    assert story.agent.incarnation == 8


def test_g57_after_the_cooldown_it_tries_once_by_itself() -> None:
    story = LoopStory(breaker=BreakerRules(warn=1, stop=2, cooldown=1800))
    story.iterates().iterates()
    assert story.breaker == ("OPEN", 2)
    story.wait(1770)
    assert story.agent.incarnation == 2
    story.wait(30)
    assert story.breaker == ("HALF_OPEN", 2)
    assert story.agent.incarnation == 3
    assert story.iterates().breaker == ("OPEN", 3)


@pytest.mark.parametrize(
    ("rules", "how"),
    [
        (LoopRules(done_code=42), "code"),
        (LoopRules(done_text="ALL DONE"), "text"),
        (LoopRules(done_file="DONE"), "file"),
        (LoopRules(max_iterations=1), "count"),
    ],
)
def test_f_cb_10_a_loop_with_nothing_left_to_do_ends_as_done(rules: LoopRules, how: str) -> None:
    story = LoopStory(loop=rules, harness="claude" if how == "text" else "command")
    story.runs()
    if how == "text":
        story.hook("stop", text="That was all.\n  ALL DONE\n")
    story.pass_over(2)
    if how == "file":
        story.work = "late"
        story.exited(0)
        story.tell(WorkMeasured("a", 1, True, "git:dirt", done=True))
    else:
        story.exited(42 if how == "code" else 0)
    story.wait(1000)

    assert (story.state, story.agent.desired) == (Stopped(), Desired.STOPPED)
    assert story.agent.reason.startswith("done: ")
    assert story.breaker == ("CLOSED", 0)


def test_what_it_says_in_the_middle_of_a_line_is_not_done() -> None:
    story = LoopStory(harness="claude", loop=LoopRules(done_text="ALL DONE"))
    story.runs()
    story.hook("stop", text="I will say ALL DONE when it is.")
    story.exited(0)
    story.wait(1000)

    assert story.agent.incarnation == 2


def test_g60_rate_limits_are_never_counted_unless_it_went_on() -> None:
    story = LoopStory(harness="claude")
    story.runs()
    story.hook("stop-failure", error="rate_limit")
    story.exited(0)
    story.wait(30)
    assert story.breaker == ("CLOSED", 0)
    story.runs()
    story.hook("stop-failure", error="rate_limit")
    story.hook("prompt-submit")
    story.hook("stop", text="done")
    story.exited(0)
    assert story.breaker == ("CLOSED", 1)


def test_f_cb_11_asking_a_person_holds_the_counter() -> None:
    story = LoopStory(harness="claude")
    story.runs()
    story.hook("permission-request", tool="Bash")
    story.exited(0)

    assert story.breaker == ("CLOSED", 0)
    assert "waited for a person (permission)" in story.decisions[-1].reason


def test_g56_denials_and_errors_reach_the_rules() -> None:
    story = LoopStory(harness="claude", breaker=BreakerRules(permission_denials=2))
    story.work = "new"
    for _ in range(2):
        story.runs()
        story.hook("permission-denied", tool="Bash")
        story.hook("stop", text="could not")
        story.pass_over(400)
        story.exited(0)
        story.wait(10)
    assert story.breaker[0] == "OPEN"

    failing = LoopStory(breaker=BreakerRules(same_error=3))
    failing.work = "new"
    for _ in range(3):
        failing.iterates(code=7)
    assert failing.breaker[0] == "OPEN"
    assert "the same error: exit 7" in failing.agent.reason


def test_tokens_that_were_measured_reach_the_ceiling() -> None:
    story = LoopStory(breaker=BreakerRules(token_ceiling=1000))
    for _ in range(2):
        story.started()
        story.pass_over(400)
        story.work = "late"
        story.exited(0)
        story.work = "git:dirt"
        story.tell(WorkMeasured("a", story.agent.incarnation, True, "git:dirt", tokens=600))
        story.wait(10)

    assert story.breaker == ("OPEN", 2)
    assert "1200 tokens" in story.agent.reason


def test_g1_a_breaker_that_is_off_never_opens() -> None:
    story = LoopStory(breaker=BreakerRules(enabled=False))
    for _ in range(20):
        story.iterates()

    assert story.agent.incarnation == 21


def test_g33_a_reset_releases_the_quarantine_and_a_start_begins_closed() -> None:
    story = LoopStory()
    for _ in range(5):
        story.iterates()
    story.tell(BreakerReset("a"))
    assert isinstance(story.state, Stopped)
    assert story.agent.item is None
    story.start()
    assert story.iterates().breaker == ("CLOSED", 1)


def test_what_somebody_writes_into_the_file_holds() -> None:
    story = LoopStory().iterates()
    story.tell(BreakerEdited("a", "HALF_OPEN", 4))
    assert story.iterates().breaker == ("OPEN", 5)
    story.tell(BreakerEdited("a", "CLOSED", 0))
    assert isinstance(story.state, Stopped)


def test_an_open_breaker_written_into_the_file_stops_a_pausing_loop() -> None:
    story = LoopStory()
    story.runs()
    story.exited(0)
    story.tell(BreakerEdited("a", "OPEN", 9))

    assert isinstance(story.state, Quarantined)


def test_an_open_breaker_written_into_the_file_during_an_iteration_outlives_its_progress() -> None:
    story = LoopStory().iterates()
    story.started()
    story.tell(BreakerEdited("a", "OPEN", 9))
    story.pass_over(400)
    story.work = "git:new"
    story.exited(0)

    assert isinstance(story.state, Quarantined)
    assert "set by hand" in story.agent.reason


def test_an_open_breaker_written_into_the_file_during_an_iteration_that_nobody_can_judge_is_told_with_that() -> None:
    story = LoopStory().iterates()
    story.started()
    story.tell(BreakerEdited("a", "OPEN", 9))
    story.pass_over(400)
    story.work = None
    story.exited(0)

    assert isinstance(story.state, Quarantined)
    assert [alert.kind for alert in story.of(Alert)] == ["breaker", "quarantined"]
    assert "no judgement: nobody can tell what it changed (git is slow)" in story.of(Alert)[0].text


def test_a_loop_whose_iteration_nobody_opened_and_one_that_is_removed_are_not_measured_at_their_end() -> None:
    """As where it was declared another kind while it ran."""
    story = LoopStory()
    story.runs()
    end = LastExit(1, 0, None, "exit", 100.0, EPOCH)
    waits = Decision(story.agent, reason="it ended")

    assert close(story.agent, waits, end, story.now) != waits
    assert close(replace(story.agent, iteration=None), waits, end, story.now) is waits
    for over in (Decision(None, reason="it ended"), replace(waits, removed=True)):
        assert close(story.agent, over, end, story.now) is over


def test_an_open_breaker_written_into_the_file_stops_a_loop_that_waits_for_a_limit() -> None:
    story = LoopStory(harness="claude")
    story.runs()
    story.hook("stop-failure", error="rate_limit", reset_wall=story.wall + 3600)
    story.exited(1)
    assert isinstance(story.state, Parked)
    story.tell(BreakerEdited("a", "OPEN", 9))

    assert isinstance(story.state, Quarantined)


def test_g46_the_pause_lies_between_two_iterations_however_the_first_one_ended() -> None:
    for code, signal in ((0, None), (1, None), (None, 9)):
        story = LoopStory(loop=LoopRules(pause=10))
        story.runs()
        story.pass_over(400)
        story.exited(code, signal)
        story.wait(9)
        assert story.agent.incarnation == 1, (code, signal)
        story.wait(1)
        assert story.agent.incarnation == 2, (code, signal)


def test_g61_an_hour_has_as_many_iterations_as_it_may_and_the_next_waits_for_its_end() -> None:
    story = LoopStory(loop=LoopRules(pause=10, max_per_hour=3))
    story.work = "new"
    began = []
    for _ in range(6):
        began.append(story.at)
        story.started()
        story.pass_over(60)
        story.exited(0)
        story.wait(10)
        if story.agent.run is None:
            assert "3 iterations began within an hour" in story.agent.reason
            story.wait(HOUR)
    spans = [later - earlier for earlier, later in zip(began, began[3:], strict=False)]

    assert spans
    assert all(span >= HOUR for span in spans)
    assert len(story.agent.begun) == 3


def test_g61_an_operators_start_does_not_lift_the_limit_of_the_hour() -> None:
    story = LoopStory(loop=LoopRules(max_per_hour=1))
    story.runs()
    story.stop()
    story.exited(143)
    story.start()
    assert story.agent.run is None
    story.wait(HOUR)

    assert story.agent.incarnation == 2


def test_g32_f_cb_12_a_start_with_unchanged_work_is_a_trial_that_says_so() -> None:
    story = LoopStory()
    for _ in range(5):
        story.iterates()
    story.start()
    told = [reason for reason in story.reasons if "nothing has changed since the breaker opened" in reason]
    assert len(told) == 1
    story.iterates()
    story.work = "git:by a person"
    story.start()

    assert [reason for reason in story.reasons if "nothing has changed" in reason] == told
    assert story.breaker == ("HALF_OPEN", 6)


def test_f_cb_8_a_corrupt_file_means_one_iteration_on_trial_and_an_alert() -> None:
    story = LoopStory().iterates()
    story.tell(BreakerCorrupt("a", "not JSON"))

    assert story.of(Alert)[-1].kind == "breaker"
    assert story.iterates().breaker == ("OPEN", 2)


def test_residents_are_not_measured() -> None:
    story = Story(spec()).runs()
    story.exited(0)

    assert story.of(MeasureWork) == []


def test_x8b_the_worktrees_that_hooks_tell_of_are_places_of_its_work_until_a_look_says_otherwise() -> None:
    story = LoopStory("claude", prompt=None)
    story.runs()
    for cwd in ("/srv/shop", "/srv/shop-side", "/tmp", "/srv/shop-side", "relative", "/srv/no\0place"):
        story.hook("tool-start", cwd=cwd)
    story.hook("tool-end", cwd="/srv/subagents", sub=True)
    assert story.agent.workplaces == ("/srv/shop-side", "/tmp", "/srv/subagents")
    story.work = "late"
    story.exited(0)
    number = story.agent.incarnation
    found = Survey(places=(Place("/srv/shop-side"),), entered=("/srv/shop-side",))
    story.tell(WorkMeasured("a", number, True, "git:dirt", survey=found))

    assert story.agent.workplaces == ("/srv/shop-side",)


def test_x8b_what_was_seen_before_an_iteration_is_told_to_the_look_after_it() -> None:
    story = Story(spec(kind=Kind.LOOP))
    story.work = "late"
    story.start()
    seen = Survey(at=5.0, notes="n", places=(Place("/srv/shop", "c0ffee"),))
    story.tell(WorkMeasured("a", 1, False, "git:1", survey=seen))
    story.started()
    story.exited(0)

    assert [order.since for order in story.of(MeasureWork)] == [None, seen]


def test_f_cb_9_an_iteration_that_an_older_phoenixd_measured_is_unknown_and_not_progress() -> None:
    story = LoopStory()
    story.runs()
    story.work = "late"
    story.exited(0)
    story.tell(WorkMeasured("a", 1, True, "git:of-another-kind", survey=Survey()))

    assert story.breaker == ("CLOSED", 0)
    assert "an older phoenixd measured the work before it" in story.reasons[-1]


@pytest.mark.parametrize("rules", [LoopRules(), LoopRules(max_iterations=1)])
def test_the_work_that_proves_a_run_is_noted_also_where_its_loop_ends_with_it(rules: LoopRules) -> None:
    story = LoopStory(harness="claude", loop=rules)
    story.works()
    story.pass_over(60)
    story.work = "git:other"
    story.exited(1)
    story.wait(1)

    facts = [fact for decision in story.decisions for fact in decision.facts]
    assert [fact for fact in facts if isinstance(fact, RunProductive)] == [RunProductive(1)]


def test_x8_what_closed_a_breaker_that_was_on_trial_is_a_fact_and_an_end_with_0_is_none() -> None:
    story = LoopStory(breaker=BreakerRules(cooldown=60.0))
    for _ in range(5):
        story.iterates()
    facts = [fact for decision in story.decisions for fact in decision.facts]
    assert [one.by_breaker for one in facts if isinstance(one, PutInQuarantine)] == [True]
    story.wait(60)
    story.iterates()
    assert story.breaker[0] == "OPEN"
    story.wait(60)
    assert not [one for one in facts if isinstance(one, ProgressMade)]
    story.iterates(work="git:new")
    assert story.breaker == ("CLOSED", 0)
    facts = [fact for decision in story.decisions for fact in decision.facts]
    assert [one.incarnation for one in facts if isinstance(one, ProgressMade)] == [story.agent.breaker.tally.iterations]
