"""What the clinic notes of Cases stands as facts on the journal's rows: diagnosis, prescription and outcome (C40)."""

from __future__ import annotations

import pytest

from phoenixd.core.events.evidence import FailureStatusSeen
from phoenixd.core.events.orders import AgentWithdrawn
from phoenixd.core.facts import CaseNoted
from phoenixd.core.treatment.outcome import TURNS
from phoenixd.documents.hooks import hook_of
from tests.core.story import Story, all_work, claude, spec


@pytest.fixture
def story() -> Story:
    return Story(claude()).works()


def noted(story: Story) -> list[tuple[str, CaseNoted]]:
    """In the order of the rows, each with whose row it is; every one of these is journaled."""
    found = []
    for one in story.decisions:
        for fact in one.facts:
            if isinstance(fact, CaseNoted):
                assert one.agent is not None
                assert one.is_worth_keeping
                assert one.weight != "noise"
                found.append((one.agent.name, fact))
    return found


def rows(story: Story, what: str) -> list[tuple[int, str]]:
    """The rows on which that was noted: of which run, and why."""
    return [
        (one.agent.incarnation, one.reason) for one in story.decisions for fact in one.facts
        if isinstance(fact, CaseNoted) and fact.what == what and one.agent is not None
    ]  # fmt: skip


def words(story: Story) -> list[str]:
    return [f"{fact.what} {fact.detail or fact.treatment} {fact.outcome}".strip() for _, fact in noted(story)]


def turn(story: Story) -> None:
    """A turn that holds a completed call and ends well; the one that is open, where one is."""
    if story.agent.activity is None or not story.agent.activity.turn_open:
        story.hook("prompt-submit", text="and now this")
    story.hook("tool-start", tool="Bash", tool_use_id="t")
    story.hook("tool-end", tool="Bash", tool_use_id="t")
    story.hook("stop")


def test_c40_a_failure_its_treatment_and_what_came_of_that_are_each_noted_once(story: Story) -> None:
    story.pass_over(400)
    story.exited(signal=9)
    story.respawned().works().pass_over(60)
    for _ in range(TURNS + 3):
        turn(story)

    assert words(story) == ["diagnosis killed", "prescription resume", "outcome resume held"]
    (_, seen), (_, done), (_, came) = noted(story)
    ((of_failed, why),) = rows(story, "diagnosis")
    assert (of_failed, why.partition(",")[0]) == (1, "died")
    assert rows(story, "prescription")[0][0] == 2, "with the start that was ordered"
    assert (seen.case, seen.occasion, seen.cause, seen.confidence, seen.incarnation) == ("c1", "crash", None, 0.4, 1)
    assert "signal 9" in seen.why
    assert (done.number, done.by, done.incarnation) == (1, "restart", 1)
    assert (came.number, came.run, came.why[:10], came.incarnation) == (1, 2, "productive", 1)
    assert came.seconds is not None
    assert came.seconds >= 60


def test_c40_what_no_decision_tells_of_has_a_row_of_its_own() -> None:
    """An hour of life is over, which decides nothing else: a command without hooks shows no turns."""
    story = Story(spec()).runs()
    story.pass_over(400)
    story.exited(1)
    story.respawned().started()
    story.wait(300 + 3599)
    story.decisions.clear()
    story.wait(2)

    (row,) = [one for one in story.decisions if any(isinstance(fact, CaseNoted) for fact in one.facts)]
    assert words(story) == ["outcome resume held"]
    assert row.reason == "Case c1: resume held: productive, and an hour of life without it since; it shows no turns"
    assert (row.weight, row.actions) == ("detail", ())


def test_c40_a_cause_that_comes_back_is_noted_as_a_failed_treatment_beside_the_next_one(story: Story) -> None:
    for _ in range(2):
        story.pass_over(400)
        story.exited(signal=9)
        story.respawned().works()

    assert words(story)[2:4] == ["diagnosis killed", "outcome resume failed"]
    assert len([one for one in words(story) if one.startswith("prescription")]) >= 2


def test_c40_what_is_known_later_is_noted_again_only_where_the_case_claims_something_else(story: Story) -> None:
    story.hook("stop-failure", error="invalid_request", text="Request too large")
    story.tell(FailureStatusSeen("a", 1, 400))
    story.tell(FailureStatusSeen("a", 1, 413))

    assert [one for one in words(story) if one.startswith("diagnosis")] == ["diagnosis request", "diagnosis window"]


def test_c40_a_limit_that_all_of_an_account_share_is_noted_of_each_of_them() -> None:
    story = all_work(claude("a", account="team"), claude("b", account="team"))
    story.tell(hook_of("b", 1, "stop"))
    story.tell(hook_of("a", 1, "stop-failure", error="rate_limit", text="429"))

    told = [(name, fact.what, fact.detail or fact.treatment) for name, fact in noted(story)]
    assert sorted(told) == [
        (name, what, word) for name in ("a", "b") for what, word in (("diagnosis", "limit"), ("prescription", "park"))
    ]


def test_c40_what_a_removal_leaves_open_is_noted_with_the_row_that_removes_the_agent(story: Story) -> None:
    story.pass_over(400)
    story.exited(signal=9)
    story.respawned().works()
    story.tell(AgentWithdrawn("a"))
    story.exited(signal=15)

    assert not story.fleet.agents
    assert words(story) == ["diagnosis killed", "prescription resume", "outcome resume moot"]
