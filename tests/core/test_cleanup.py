"""Cleanup around runs: what it ended is told with its reason, and a stranger at a port is an alert until it left."""

from __future__ import annotations

from phoenixd.core.actions import Alert, CleanUp, Fence, Reassure
from phoenixd.core.events.aftermath import CleanedUp
from phoenixd.core.events.orders import AgentWithdrawn
from phoenixd.core.rules import CleanupRules
from tests.core.story import Story, spec

RULES = CleanupRules(match=("server.main",), ports=(8080,))
STRANGER = "port 8080 is held by pid 77 (nginx)"


def running(rules: CleanupRules = RULES) -> Story:
    story = Story(spec(cleanup=rules))
    story.runs()
    story.decisions.clear()
    return story


def test_g15_g41_each_end_of_a_run_is_followed_by_a_cleanup_of_that_run() -> None:
    story = running()
    story.exited(1)
    assert CleanUp("a", 1) in story.actions

    story = running()
    story.stop()
    story.exited(143)
    assert CleanUp("a", 1) in story.actions


def test_where_no_rules_are_set_the_fence_is_enough() -> None:
    story = running(CleanupRules())
    story.exited(1)
    assert not story.of(CleanUp)


def test_the_cleanup_of_an_agent_that_is_removed_is_its_fence() -> None:
    story = running()
    story.tell(AgentWithdrawn("a"))
    story.exited(143)
    assert not story.fleet.agents
    assert not story.of(CleanUp)


def test_g66_a_cleanup_names_what_it_ended_and_what_it_could_not() -> None:
    story = running()
    killed = tuple(f"{pid} server: left over (run 1)" for pid in range(10, 18))
    story.tell(CleanedUp("a", 1, "after run 1", killed, (9,)))
    reason = story.decisions[-1].reason
    assert reason.startswith("cleanup after run 1: ended 8 processes (10 server: left over (run 1), 11 ")
    assert "and 3 more); could not end 1 process (9)" in reason
    assert not story.of(Fence)


def test_g17_f_proc_20_a_stranger_at_a_port_is_one_alert_until_it_left() -> None:
    story = running()
    for _ in range(2):
        story.tell(CleanedUp("a", 1, "before run 1", foreign=(STRANGER,)))
    assert [alert.text for alert in story.of(Alert)] == [STRANGER]
    assert "none of ours and was left alone" in story.decisions[-1].reason
    assert [alert.kind for alert in story.agent.alerts] == ["port held"]

    # A sweep for strays looks at no port.
    story.tell(CleanedUp("a", 1, "after run 1", ("10 server",), looked_at_ports=False))
    assert [alert.kind for alert in story.agent.alerts] == ["port held"]

    story.tell(CleanedUp("a", 1, "before run 2"))
    assert story.agent.alerts == ()
    assert [told.kind for told in story.of(Reassure)] == ["port held"]
    assert "free of strangers" in story.decisions[-1].reason


def test_a_cleanup_that_found_nothing_is_not_worth_a_word() -> None:
    story = running()
    story.tell(CleanedUp("a", 1, "after run 1"))
    story.tell(CleanedUp("gone", 1, "after run 1", ("9 x",)))
    assert not [decision for decision in story.decisions if decision.is_worth_keeping]
