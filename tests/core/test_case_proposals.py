"""Treatments that are proposed: how they count, wait for a person, are allowed and dropped."""

from __future__ import annotations

import pytest

from phoenixd.core.events.fleet import LimitsDeclared
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.facts import Treating, TreatmentDropped
from phoenixd.core.spec import FleetLimits
from phoenixd.core.treatment import gather
from phoenixd.core.treatment.authority import AuthorityRules, Caps, ClinicRules
from phoenixd.core.treatment.case import JOINS_WITHIN
from tests.core.handing import HandoffStory
from tests.core.patients import CONTEXT, case, cases, dies
from tests.core.story import Story, claude


def asked(story: Story) -> int:
    return next(one.id for one in story.agent.items if one.kind == "proposal")


def test_a_handoff_that_is_proposed_at_the_first_failure_of_its_case_is_counted() -> None:
    story = HandoffStory()
    story.works()
    story.begins()
    story.comes_to_nothing()
    story.hook("stop")
    story.pass_over(JOINS_WITHIN + 1)
    story.begins()
    story.comes_to_nothing()

    assert any(one.kind == "proposal" for agent in story.fleet.agents.values() for one in agent.items)
    assert [one.treatment for one in story.fleet.cases.prescribed] == ["handoff"]


def test_the_cap_of_an_agent_holds_for_handoffs_that_are_proposed() -> None:
    story = HandoffStory()
    story.tell(LimitsDeclared(FleetLimits(), clinic=Caps(per_agent=1)))
    story.works()
    for _ in range(5):
        story.begins()
        story.comes_to_nothing()
        story.hook("stop")
        story.pass_over(JOINS_WITHIN + 1)

    proposed = [
        fact for decision in story.decisions for fact in decision.facts if isinstance(fact, Treating) and fact.proposed
    ]
    assert len(proposed) == 1


def proposing(monkeypatch: pytest.MonkeyPatch) -> Story:
    story = Story(claude(clinic=ClinicRules(AuthorityRules(summarise="propose", fresh="propose")))).works()
    monkeypatch.setattr(gather, "of_end", lambda *_: CONTEXT)
    dies(story)
    return story


def test_what_is_allowed_and_then_dropped_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent was stopped meanwhile: who answers hears so, and the Case says what became of it."""
    story = proposing(monkeypatch)
    story.works()
    number = asked(story)
    story.stop(after_iteration=True)
    refused = story.tell(AnswerRequested("a", number, True, words=("allow",), by="maria"))

    assert refused is not None
    assert refused.code == "conflict"
    assert "summarise" in refused.message
    assert "is to be down" in refused.message
    assert refused.remedy == "phoenixctl explain a"
    told = [
        decision for decision in story.decisions if any(isinstance(one, TreatmentDropped) for one in decision.facts)
    ]
    assert [one.weight for one in told] == ["story"]
    newest = case(story).treated[-1]
    assert (newest.treatment, newest.by, newest.outcome) == ("summarise", "clinic", "moot")
    assert "maria" in newest.why
    assert "is to be down" in newest.why
    assert not any(one.kind == "proposal" for one in story.agent.items)


def test_an_answer_about_an_older_run_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    story = proposing(monkeypatch)
    story.works()
    number = asked(story)
    for _ in range(2):
        story.restart()
        story.exited(signal=15)
        story.works()
    refused = story.tell(AnswerRequested("a", number, True, words=("allow",)))

    assert refused is not None
    assert refused.code == "conflict"


def test_a_case_whose_proposal_waits_for_a_person_stays_open() -> None:
    """What would be allowed days later must not be dropped because nobody waits for its Case any more."""
    story = HandoffStory()
    story.works()
    for _ in range(2):
        story.begins()
        story.comes_to_nothing()
    item = next(one for one in story.agent.items if one.kind == "proposal")
    story.hook("prompt-submit", text="go on")
    story.pass_over(3 * 24 * 3600)
    assert [one.closed for one in cases(story)] == [None]

    assert story.tell(AnswerRequested(story.agent.name, item.id, True, words=("allow",), by="maria")) is None
    seat = story.fleet.seats["o"]
    assert seat.handoff is not None
    assert not seat.handoff.is_over


def test_a_case_closes_when_its_proposal_is_denied() -> None:
    story = HandoffStory()
    story.works()
    for _ in range(2):
        story.begins()
        story.comes_to_nothing()
    item = next(one for one in story.agent.items if one.kind == "proposal")
    assert story.tell(AnswerRequested(story.agent.name, item.id, False, words=("deny",))) is None
    story.hook("stop")

    assert [one.closed is not None for one in cases(story)] == [True]
