"""Builder, Criticizer, Planner: turns one after the other, conditions, one judgement for them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import LookForFile, MeasureWork, SeeAttendance, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Quarantined, Running, Stopped, Stopping
from phoenixd.core.breaker import Open
from phoenixd.core.events.aftermath import AttendanceSeen
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, StartRequested, StopRequested, UndoRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.events.work import FileLooked, MeasurementLost
from phoenixd.core.facts import RunEnded
from phoenixd.core.iteration import Closing, Passing
from phoenixd.core.rules import BreakerRules, LoopRules, Member
from phoenixd.core.spec import Kind
from phoenixd.core.undo.telling import told
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, spec


class SequenceStory(Story):
    def __init__(self, *turns: Member, **lead: object) -> None:
        turns = turns or (Member("criticizer"), Member("planner"))
        loop = replace(LoopRules(**lead), sequence=turns)  # type: ignore[arg-type]
        others = {name for turn in turns for name in (turn.agent, turn.when_agent) if name}
        super().__init__(
            spec("builder", kind=Kind.LOOP, loop=loop),
            *(
                spec(name, kind=Kind.LOOP, turn_of="builder", autostart=False, is_question=name.endswith("-when"))
                for name in sorted(others)
            ),
        )
        self.work = "git:dirt"
        self.tell(StartRequested("builder"))

    def of_name(self, name: str) -> Agent:
        return self.fleet.agents[name]

    def has_run(self, name: str, code: int = 0, work: str | None = None) -> None:
        """The agent that was ordered to start ran and ended."""
        run = self.of_name(name).run
        assert run is not None, f"{name} was not started: {self.of_name('builder').reason}"
        self.tell(AgentStarted(name, run.incarnation, run.run_id, 5, 50))
        self.pass_over(400)
        self.work = work or self.work
        self.tell(AgentExited(name, run.incarnation, run.run_id, code, None))

    def order(self) -> list[str]:
        return [action.agent for action in self.actions if isinstance(action, Spawn)]


def test_g36_each_has_its_turn_in_order_and_the_next_iteration_follows_the_pause() -> None:
    story = SequenceStory()
    for name in ("builder", "criticizer", "planner"):
        story.has_run(name)
    assert story.order() == ["builder", "criticizer", "planner"]
    assert isinstance(story.of_name("planner").state, Stopped)
    story.wait(9)
    assert len(story.order()) == 3
    story.wait(1)

    assert story.order() == ["builder", "criticizer", "planner", "builder"]


def test_only_one_of_them_runs_at_a_time() -> None:
    story = SequenceStory()
    story.has_run("builder")

    assert isinstance(story.of_name("builder").state, BackingOff)
    story.wait(5000)
    assert story.order() == ["builder", "criticizer"], "the first one waits for the turn of the second"


@pytest.mark.parametrize("worker", ["builder", "criticizer", "planner"])
def test_g49_x8b_whoever_changes_the_work_it_is_one_iteration_with_progress(worker: str) -> None:
    story = SequenceStory()
    for iteration in range(3):
        for name in ("builder", "criticizer", "planner"):
            story.has_run(name, work=f"git:{iteration}" if name == worker else None)
        story.wait(10)
    tally = story.of_name("builder").breaker.tally

    assert (tally.iterations, tally.no_progress) == (3, 0)


def test_g49_five_idle_rounds_and_not_five_idle_turns_open_the_breaker() -> None:
    story = SequenceStory()
    for _ in range(5):
        for name in ("builder", "criticizer", "planner"):
            story.has_run(name)
        story.wait(10)

    assert isinstance(story.of_name("builder").state, Quarantined)
    assert story.of_name("builder").breaker.tally.no_progress == 5
    assert len(story.order()) == 15
    assert [order.agent for order in story.of(MeasureWork)] == ["builder"] * 10


@pytest.mark.parametrize("exists", [True, False, None])
def test_g36_a_turn_that_depends_on_a_file(exists: bool | None) -> None:
    story = SequenceStory(Member("criticizer", when_exists="src/*.py"), Member("planner"))
    story.has_run("builder")
    (look,) = story.of(LookForFile)
    assert (look.directory, look.pattern) == ("/srv/shop", "src/*.py")
    story.tell(FileLooked("builder", look.number, look.turn, exists))

    assert story.order()[-1] == ("criticizer" if exists else "planner")


def test_a_look_without_an_answer_is_repeated_once_and_then_the_turn_is_left_out() -> None:
    story = SequenceStory(Member("criticizer", when_exists="x"), Member("planner"))
    story.has_run("builder")
    story.wait(61)

    assert len(story.of(LookForFile)) == 2
    assert story.order()[-1] == "planner"


@pytest.mark.parametrize("code", [0, 1, None])
def test_g36_a_turn_that_depends_on_a_command(code: int | None) -> None:
    story = SequenceStory(Member("criticizer", when_agent="criticizer-when"), Member("planner"))
    story.has_run("builder")
    assert story.order()[-1] == "criticizer-when"
    run = story.of_name("criticizer-when").run
    assert run is not None
    story.tell(AgentStarted("criticizer-when", run.incarnation, run.run_id, 5, 50))
    story.tell(AgentExited("criticizer-when", run.incarnation, run.run_id, code, 9 if code is None else None))

    assert story.order()[-1] == ("criticizer" if code == 0 else "planner")
    assert "no turn for criticizer" in " ".join(one.reason for one in story.decisions) or code == 0


def asked(story: SequenceStory, code: int | None) -> None:
    """The question whether the second one's turn comes ended so."""
    run = story.of_name("criticizer-when").run
    assert run is not None
    story.tell(AgentStarted("criticizer-when", run.incarnation, run.run_id, 5, 50))
    story.tell(AgentExited("criticizer-when", run.incarnation, run.run_id, code, 9 if code is None else None))


@pytest.mark.parametrize("code", [0, 1, 2, 101, 130, None])
def test_g36_an_answer_whether_a_turn_comes_is_no_death_and_another_end_is_told_as_none(code: int | None) -> None:
    story = SequenceStory(Member("criticizer", when_agent="criticizer-when"))
    story.has_run("builder")
    asked(story, code)
    question, is_answer = story.of_name("criticizer-when"), code in (0, 1)
    ends = [
        fact for one in story.decisions for fact in one.facts
        if isinstance(fact, RunEnded) and one.agent is not None and one.agent.name == question.name
    ]  # fmt: skip
    assert [end.meaning for end in ends] == ["answer" if is_answer else "no answer"]
    assert question.state == Stopped(failed=not is_answer)
    assert [alert.kind for alert in question.alerts] == ([] if is_answer else ["question failed"])
    assert bool(story.fleet.cases.cases) is not is_answer
    told = " ".join(story.reasons)
    assert ("no turn for criticizer: criticizer-when says no" in told) == (code == 1)
    assert ("no turn for criticizer: nobody can tell" in told) == (not is_answer)


def test_g36_that_a_question_has_no_answer_is_over_with_its_next_answer() -> None:
    story = SequenceStory(Member("criticizer", when_agent="criticizer-when"))
    story.has_run("builder")
    asked(story, 2)
    assert story.of_name("criticizer-when").alerts
    story.wait(10)
    story.has_run("builder")
    asked(story, 1)

    assert not story.of_name("criticizer-when").alerts


def test_a_member_that_crashes_has_had_its_turn() -> None:
    story = SequenceStory()
    story.has_run("builder", code=1)
    story.has_run("criticizer", code=1)
    story.has_run("planner", code=1)
    story.wait(10)

    assert story.order() == ["builder", "criticizer", "planner", "builder"]


def test_a_member_that_cannot_run_is_left_out_and_somebody_is_told() -> None:
    story = SequenceStory()
    story.has_run("builder")
    story.has_run("criticizer", code=127)

    assert story.order()[-1] == "criticizer" or story.order()[-1] == "planner"
    story.wait(10)
    assert "planner" in story.order()


def test_a_member_that_is_not_there_is_left_out() -> None:
    story = SequenceStory()
    story.tell(AgentWithdrawn("criticizer"))
    story.has_run("builder")

    assert story.order() == ["builder", "planner"]


def test_a_member_that_is_removed_during_its_turn_holds_up_nothing() -> None:
    story = SequenceStory()
    story.has_run("builder")
    run = story.of_name("criticizer").run
    assert run is not None
    story.tell(AgentStarted("criticizer", run.incarnation, run.run_id, 5, 50))
    story.tell(AgentWithdrawn("criticizer"))
    story.tell(AgentExited("criticizer", run.incarnation, run.run_id, 143, None))

    assert story.order()[-1] == "planner"


def test_a_stop_of_the_first_stops_whoever_has_its_turn() -> None:
    story = SequenceStory()
    story.has_run("builder")
    run = story.of_name("criticizer").run
    assert run is not None
    story.tell(AgentStarted("criticizer", run.incarnation, run.run_id, 5, 50))
    story.tell(StopRequested("builder"))
    story.tell(AgentExited("criticizer", run.incarnation, run.run_id, 143, None))
    story.wait(5000)

    assert {agent.state.name for agent in story.fleet.agents.values()} == {"stopped"}
    assert story.order() == ["builder", "criticizer"]
    assert story.of_name("builder").breaker.tally.iterations == 0


def test_g45_a_stop_after_the_iteration_waits_for_all_turns() -> None:
    story = SequenceStory()
    story.has_run("builder")
    story.tell(StopRequested("builder", after_iteration=True))
    assert story.of_name("builder").desired is Desired.STOPPED
    story.has_run("criticizer")
    story.has_run("planner", work="git:new")
    story.wait(5000)

    assert story.order() == ["builder", "criticizer", "planner"]
    assert isinstance(story.of_name("builder").state, Stopped)
    assert story.of_name("builder").breaker.tally.iterations == 1


def test_p54_a_member_that_was_stopped_on_purpose_has_no_turn_until_somebody_starts_it_or_all() -> None:
    story = SequenceStory()
    story.tell(StopRequested("criticizer"))
    said = "it is stopped already, and has no turns in the sequence of builder until it, or builder, is started"
    assert story.reasons[-1].endswith(said)
    story.tell(StopRequested("criticizer"))
    assert story.reasons[-1].endswith("it is stopped already"), "this one changed nothing"
    for name in ("builder", "planner", "builder"):
        story.has_run(name)
        story.wait(10 if name == "planner" else 0)
    assert story.order() == ["builder", "planner", "builder", "planner"]
    story.tell(StartRequested("builder"))
    story.has_run("planner")
    story.wait(10)
    story.has_run("builder")

    assert story.order()[-1] == "criticizer"


def test_a_stop_that_left_a_member_out_is_taken_back_and_it_has_its_turns_again() -> None:
    """Between two turns it is down and wanted down, so that the stop changed nothing but this."""
    story = SequenceStory()
    story.tell(StopRequested("criticizer", "ada", act="1"))
    (act,) = story.fleet.undoable
    assert story.tell(UndoRequested("criticizer", "1", "ada")) is None
    assert told(story.of_name("criticizer"), act, story.now) == (
        "criticizer has its turns in the sequence of builder again"
    )
    story.has_run("builder")
    assert story.order() == ["builder", "criticizer"]


@pytest.mark.parametrize("was_left_out", [True, False])
def test_promise_3_a_member_that_had_no_turns_has_none_after_its_removal_was_taken_back(was_left_out: bool) -> None:
    story = SequenceStory()
    declared = story.of_name("criticizer").spec
    if was_left_out:
        story.tell(StopRequested("criticizer", "ada", act="1"))
    story.tell(AgentWithdrawn("criticizer", "ada", act="2"))
    story.tell(AgentDeclared(declared))
    assert story.tell(UndoRequested("criticizer", "2", "ada")) is None
    story.has_run("builder")
    assert story.order() == ["builder", "planner" if was_left_out else "criticizer"]


def test_p54_for_a_member_that_was_stopped_on_purpose_no_file_is_looked_for() -> None:
    story = SequenceStory(Member("criticizer", when_exists="x"), Member("planner"))
    story.tell(StopRequested("criticizer"))
    story.has_run("builder")

    assert story.of(LookForFile) == []
    assert story.order() == ["builder", "planner"]


def test_a_member_started_by_hand_runs_once() -> None:
    story = SequenceStory()
    story.tell(StartRequested("planner"))
    story.has_run("planner")
    story.wait(5000)

    assert story.order() == ["builder", "planner"]


def test_a_member_that_runs_already_is_waited_for() -> None:
    story = SequenceStory()
    story.tell(StartRequested("criticizer"))
    run = story.of_name("criticizer").run
    assert run is not None
    story.tell(AgentStarted("criticizer", run.incarnation, run.run_id, 5, 50))
    story.has_run("builder")
    assert isinstance(story.of_name("criticizer").state, Running)
    story.tell(AgentExited("criticizer", run.incarnation, run.run_id, 0, None))

    assert story.order()[-1] == "planner"


def test_f_cb_10_a_member_may_say_that_all_is_done() -> None:
    story = SequenceStory()
    agents = dict(story.fleet.agents)
    agents["criticizer"] = replace(
        agents["criticizer"], spec=replace(agents["criticizer"].spec, loop=LoopRules(done_code=10))
    )
    story.fleet = replace(story.fleet, agents=agents)
    story.has_run("builder")
    story.has_run("criticizer", code=10)
    story.wait(5000)

    assert story.order() == ["builder", "criticizer"]
    assert story.of_name("builder").reason.startswith("done: criticizer ended with exit 10")


def test_a_daemon_that_dies_in_between_goes_on_with_the_same_turn() -> None:
    story = SequenceStory(Member("criticizer", when_exists="x"), Member("planner"))
    story.has_run("builder")
    assert isinstance(story.of_name("builder").iteration, Passing)
    story.tell(MeasurementLost("builder"))
    assert len(story.of(LookForFile)) == 2
    story.tell(FileLooked("builder", 1, 0, True))
    story.has_run("criticizer")
    story.work = "late"
    story.has_run("planner")

    assert isinstance(story.of_name("builder").iteration, Closing)


def begun(story: SequenceStory, name: str) -> None:
    run = story.of_name(name).run
    assert run is not None
    story.tell(AgentStarted(name, run.incarnation, run.run_id, 5, 50))


def test_what_somebody_stopped_on_purpose_decides_and_says_nothing_by_its_last_end() -> None:
    """A stopped condition's old yes is no yes, and a stopped member's old word that all is done is not said again."""
    story = SequenceStory(Member("criticizer", when_agent="criticizer-when"), Member("planner", when_exists="x"))
    agents = dict(story.fleet.agents)
    agents["planner"] = replace(agents["planner"], spec=replace(agents["planner"].spec, loop=LoopRules(done_code=10)))
    story.fleet = replace(story.fleet, agents=agents)
    for name, code in (("criticizer-when", 0), ("planner", 10)):
        story.tell(StartRequested(name))
        story.has_run(name, code=code)
    story.tell(StopRequested("criticizer-when"))
    story.has_run("builder")
    (look,) = story.of(LookForFile)
    story.tell(StopRequested("planner"))
    story.tell(FileLooked("builder", look.number, look.turn, True))

    assert "criticizer" not in story.order()
    assert story.of_name("builder").breaker.tally.iterations == 1
    assert not story.of_name("builder").reason.startswith("done")


def test_a_condition_that_is_gone_leaves_the_turn_out() -> None:
    story = SequenceStory(Member("criticizer", when_agent="criticizer-when"), Member("planner"))
    story.tell(AgentWithdrawn("criticizer-when"))
    story.has_run("builder")

    assert story.order() == ["builder", "planner"]
    told = [reason for reason in story.reasons if "criticizer-when" in reason and "iteration" in reason]
    assert told == ["iteration 1: no turn for criticizer: nobody can tell, criticizer-when is gone"]


@pytest.mark.parametrize("left", [("planner",), ("planner", "criticizer"), ()])
def test_a_sequence_that_is_declared_anew_during_a_turn_ends_the_turn_and_is_judged(left: tuple[str, ...]) -> None:
    story = SequenceStory()
    story.has_run("builder", work="git:new")
    begun(story, "criticizer")
    builder = story.of_name("builder").spec
    turns = tuple(Member(name) for name in left)
    story.tell(AgentDeclared(replace(builder, loop=replace(builder.loop, sequence=turns))))
    assert isinstance(story.of_name("criticizer").state, Stopping), "it would work on beside the next iteration"
    run = story.of_name("criticizer").run
    assert run is not None
    story.tell(AgentExited("criticizer", run.incarnation, run.run_id, 143, None))
    story.wait(10)

    assert story.order() == ["builder", "criticizer", "builder"]
    assert story.of_name("builder").breaker.tally.last_progress == 1
    story.has_run("builder")
    assert story.order()[3:] == list(left[:1])


def test_g60_g49_a_limit_or_a_question_of_any_member_holds_the_counter() -> None:
    for hooks in (("stop-failure",), ("permission-request",)):
        story = SequenceStory()
        story.has_run("builder")
        begun(story, "criticizer")
        run = story.of_name("criticizer").run
        assert run is not None
        for kind in hooks:
            story.tell(hook_of("criticizer", run.incarnation, kind, error="rate_limit", tool="Bash"))
        story.tell(AgentExited("criticizer", run.incarnation, run.run_id, 0, None))
        story.has_run("planner")

        tally = story.of_name("builder").breaker.tally
        assert (tally.iterations, tally.no_progress) == (1, 0), hooks


def test_x8b_a_worktree_that_a_member_entered_is_a_place_of_the_first_ones_work() -> None:
    story = SequenceStory()
    story.has_run("builder")
    begun(story, "criticizer")
    run = story.of_name("criticizer").run
    assert run is not None
    story.tell(hook_of("criticizer", run.incarnation, "tool-start", tool="Bash", cwd="/srv/side"))

    assert story.of_name("builder").workplaces == ("/srv/side",)


def test_g56_denials_and_errors_of_any_member_reach_the_rules() -> None:
    for signal, rules in ((None, BreakerRules(permission_denials=2)), (9, BreakerRules(same_error=2))):
        story = SequenceStory()
        builder = story.of_name("builder").spec
        story.tell(AgentDeclared(replace(builder, breaker=rules)))
        story.work = "new"
        for _ in range(2):
            story.has_run("builder")
            begun(story, "criticizer")
            run = story.of_name("criticizer").run
            assert run is not None
            if signal is None:
                story.tell(hook_of("criticizer", run.incarnation, "permission-denied", tool="Bash"))
            story.tell(AgentExited("criticizer", run.incarnation, run.run_id, None if signal else 0, signal))
            story.has_run("planner")
            story.wait(10)

        assert isinstance(story.of_name("builder").breaker, Open), rules


def test_an_answer_about_another_turn_changes_nothing() -> None:
    story = SequenceStory(Member("criticizer", when_exists="x"), Member("planner", when_exists="y"))
    story.has_run("builder")
    story.tell(FileLooked("builder", 1, 1, True))
    story.tell(FileLooked("builder", 7, 0, True))

    assert story.order() == ["builder"]


@pytest.mark.parametrize("attended", [True, False])
def test_ctrl_c_at_a_members_terminal_leaves_it_out_and_the_others_go_on(attended: bool) -> None:
    story = SequenceStory()
    story.has_run("builder")
    story.has_run("criticizer", 130)
    assert story.of(SeeAttendance) == [SeeAttendance("criticizer", 1)]
    story.tell(AttendanceSeen("criticizer", 1, attended))
    member = story.of_name("criticizer")
    assert member.left_out is attended
    assert (member.item.kind if member.item else None) == ("stopped" if attended else None)
    story.has_run("planner")
    story.wait(10)
    story.has_run("builder")
    assert story.order()[-1] == ("planner" if attended else "criticizer")
    story.tell(StartRequested("criticizer"))
    assert not story.of_name("criticizer").left_out, "until somebody starts it"
