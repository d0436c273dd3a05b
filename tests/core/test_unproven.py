"""A lost shim without a control group: nothing is seen of the run, and nothing proves it gone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.api.pages import agent_lines
from phoenixd.core import glance, projection
from phoenixd.core.actions import CleanUp, Fence
from phoenixd.core.agent.state import Afterwards, BackingOff, Desired, Running, Starting, Stopped, Stopping
from phoenixd.core.events.orders import AgentWithdrawn
from phoenixd.core.events.runs import AgentExited, RunMissing, ShimLost, TreeGone
from phoenixd.core.moment import Moment
from phoenixd.core.rules import RestartRules, StopRules
from phoenixd.core.unproven import wait, weighed
from tests.api.test_text import HERE
from tests.core.story import Story, spec


def lost(**changes: object) -> Story:
    story = Story(spec(**changes)).runs()
    story.tell(ShimLost("a", 1))
    story.decisions.clear()
    return story


def looked(story: Story, unread: tuple[int, ...] = (), killed: tuple[str, ...] = ()) -> None:
    story.tell(TreeGone("a", story.run.incarnation, killed, unproven=True, unread=unread))


def looks(story: Story, seconds: float, unread: tuple[int, ...] = ()) -> None:
    """Let time pass; each fence is answered with a look that finds nothing."""
    until = story.at + seconds
    while story.fleet.agents and isinstance(story.state, Stopping) and story.state.deadline <= until:
        before = len(story.of(Fence))
        story.wait(story.state.deadline - story.at)
        assert len(story.of(Fence)) == before + 1
        looked(story, unread)
    if story.at < until:
        story.pass_over(until - story.at)


def test_promise_2_what_nothing_proves_gone_is_waited_for_and_the_next_run_is_told_to_be_unfenced() -> None:
    story = lost()
    looked(story)
    assert isinstance(story.state, Stopping), "a start at once may be a second one"
    assert not story.alerts()
    looks(story, 29.9)
    assert isinstance(story.state, Stopping)
    assert not story.alerts()
    looks(story, 0.2)
    assert isinstance(story.state, BackingOff | Starting)
    assert story.alerts() == ["unfenced"]
    assert "nothing proves that run 1 is gone" in story.agent.alerts[0].text
    story.respawned().runs()
    assert [one.kind for one in story.agent.alerts] == []


def test_promise_10_a_run_of_which_nothing_is_seen_is_not_alive_and_is_told_until_when_it_is_waited_for() -> None:
    story = lost()
    assert glance.headcount(glance.glances(story.fleet, story.now)).alive == 1
    looked(story)
    looks(story, 12)
    shown = projection.row(story.agent, story.now)
    assert (shown.pid, shown.is_unseen, shown.due) == (None, True, 18.0)
    assert shown.reason.endswith("nothing of the run is seen, and after 30 s of that it counts as ended")
    assert agent_lines.reason(shown, HERE).endswith(f"({HERE.clock(HERE.now + 18)})")
    assert glance.headcount(glance.glances(story.fleet, story.now)).alive == 0


def interrupted(**changes: object) -> Story:
    """Its start was ordered, perhaps, and nobody heard of it any more."""
    story = Story(spec(**changes))
    story.start()
    story.tell(RunMissing("a", 1))
    story.decisions.clear()
    return story


def untold(story: Story, unproven: bool = True, unread: tuple[int, ...] = ()) -> None:
    """Look, and again whenever that is asked for, while no file tells that it was begun."""
    gone = weighed(TreeGone("a", 1, unproven=unproven, unread=unread), None, begun=False)
    story.tell(gone)
    while isinstance(story.state, Stopping):
        assert story.at < 1000
        story.wait(story.state.deadline - story.at)
        story.tell(gone)


@pytest.mark.parametrize("unread", [(), (88,)])
def test_promise_2_that_no_file_tells_of_a_begin_is_no_proof_that_there_was_none(unread: tuple[int, ...]) -> None:
    """The agent is the user whose file that is; and one that kills its shim at once is quicker than its shim's pen."""
    story = interrupted()
    untold(story, unread=unread)
    assert story.at >= 30, "a start before that may be a second one"
    assert isinstance(story.state, BackingOff | Starting)
    assert story.alerts() == ["unfenced"], "who cannot be read is named, and holds nobody that perhaps never was"
    (alert,) = story.agent.alerts
    assert "nothing tells whether run 1 was begun" in alert.text
    assert ("process 88 could not be read" in alert.text) is bool(unread)


def test_a_start_of_which_nothing_tells_and_nothing_can_be_left_is_tried_again_at_once() -> None:
    story = interrupted()
    untold(story, unproven=False)
    assert story.at < 1
    assert isinstance(story.state, BackingOff | Starting)
    assert not story.alerts()


def test_what_is_proven_gone_is_started_at_once_as_ever() -> None:
    story = lost()
    story.tell(TreeGone("a", 1))
    assert isinstance(story.state, BackingOff | Starting)
    assert not story.alerts()


@pytest.mark.parametrize("unproven", [True, False], ids=["unproven", "proven"])
def test_promise_2_an_exit_record_is_no_proof_of_an_end_that_nothing_else_proves(unproven: bool) -> None:
    """The agent may have written it, before or after it killed its shim."""
    story = lost()
    record = AgentExited("a", 1, story.run.run_id, 3, None)

    def look() -> None:
        story.tell(weighed(TreeGone("a", 1, unproven=unproven), record, begun=True))

    look()
    assert isinstance(story.state, Stopping) is unproven
    while isinstance(story.state, Stopping):
        assert story.at < 1000
        story.wait(story.state.deadline - story.at)
        look()
    assert story.alerts() == (["unfenced"] if unproven else [])
    assert story.agent.last_exit is not None
    assert (story.agent.last_exit.code, story.agent.last_exit.cause) == (3, "exit")


def test_an_exit_record_of_another_run_says_nothing_of_this_one() -> None:
    story = lost()
    looks_at = TreeGone("a", 1, unproven=True, ended=AgentExited("a", 1, "another", 0, None))
    story.tell(looks_at)
    while isinstance(story.state, Stopping):
        story.wait(story.state.deadline - story.at)
        story.tell(looks_at)
    assert story.agent.last_exit is not None
    assert story.agent.last_exit.cause == "fenced"


def test_what_is_found_and_ended_meanwhile_begins_the_wait_anew() -> None:
    story = lost()
    looked(story)
    looks(story, 25)
    looked(story, killed=("77 server",))
    looks(story, 29.9)
    assert isinstance(story.state, Stopping)
    looks(story, 0.2)
    assert not isinstance(story.state, Stopping)


def test_only_what_cannot_be_read_waits_for_a_person_who_is_told_once() -> None:
    story = lost()
    looked(story, unread=(88,))
    looks(story, 4000, unread=(88,))
    assert isinstance(story.state, Stopping)
    assert story.alerts() == ["unread"]
    assert "process 88 cannot be read" in story.agent.alerts[0].text
    assert len(story.reasons) < 200, "a wait of an hour is no flood in the journal"
    looked(story)
    assert isinstance(story.state, BackingOff | Starting)
    assert [one.kind for one in story.agent.alerts] == ["unfenced"]


def test_a_person_says_that_they_are_strangers_by_stop_and_start() -> None:
    story = lost()
    looked(story, unread=(88,))
    looks(story, 300, unread=(88,))
    story.stop()
    looks(story, 1, unread=(88,))
    assert isinstance(story.state, Stopped)
    assert [one.kind for one in story.agent.alerts] == ["unfenced"], "who stops it learns what may be left"
    story.start()
    assert isinstance(story.state, Starting)
    story.started()
    assert isinstance(story.state, Running)
    assert not story.agent.alerts


def test_a_removal_waits_no_longer_than_the_rule_for_what_cannot_be_read() -> None:
    story = lost()
    story.tell(AgentWithdrawn("a"))
    looked(story, unread=(88,))
    looks(story, 31, unread=(88,))
    assert "a" not in story.fleet.agents


@pytest.mark.parametrize("seconds", [0.0, 300.0])
def test_how_long_is_waited_is_the_operators_to_say(seconds: float) -> None:
    story = lost(stop=StopRules(unproven=seconds))
    looked(story)
    looks(story, seconds - 0.1)
    assert isinstance(story.state, Stopping) is (seconds > 0)
    looks(story, 0.2)
    assert not isinstance(story.state, Stopping)


def test_the_wait_goes_on_over_a_restart_of_the_daemon() -> None:
    story = lost()
    looked(story)
    looks(story, 20)
    before = story.state
    story.tell(RunMissing("a", 1))
    assert isinstance(before, Stopping)
    assert isinstance(story.state, Stopping)
    assert story.state == replace(before, deadline=story.state.deadline)
    looked(story)
    looks(story, 10.1)
    assert not isinstance(story.state, Stopping)


def test_what_may_be_left_of_a_lost_shims_run_is_swept_at_every_later_end_and_stop() -> None:
    story = lost(restart=RestartRules(productive=0))
    looked(story)
    looks(story, 30.1)
    assert len(story.of(CleanUp)) == 1
    story.respawned().runs()
    story.stop()
    story.exited(0)
    assert isinstance(story.state, Stopped)
    assert len(story.of(CleanUp)) == 2
    story.stop()
    assert len(story.of(CleanUp)) == 3, "also of one that is stopped already: whoever asks again has seen something"


@pytest.mark.parametrize(
    ("then", "desired", "is_held"),
    [
        (Afterwards.STAY, Desired.RUNNING, False),
        (Afterwards.JUDGE, Desired.STOPPED, False),
        (Afterwards.JUDGE, Desired.RUNNING, True),
        (Afterwards.RESTART, Desired.STOPPED, True),
    ],
)
def test_promise_2_what_could_not_be_read_holds_up_only_what_is_to_start(
    then: Afterwards, desired: Desired, is_held: bool
) -> None:
    story = lost()
    assert isinstance(story.state, Stopping)
    state = replace(story.state, then=then, unseen_since=0.0)
    gone = TreeGone("a", 1, unproven=True, unread=(88,))
    decision = wait(replace(story.agent, desired=desired), state, gone, Moment(1000.0, 1000.0))
    assert (decision is not None) is is_held
