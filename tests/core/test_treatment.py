"""The clinic treats (issue 14, step 3): within its authority and its caps, and only what other rules leave out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import Kill, Spawn, Terminate
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.agent.state import Quarantined, Running
from phoenixd.core.events.fleet import LimitsDeclared
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.facts import Treating
from phoenixd.core.fleet import Step
from phoenixd.core.inbox import inbox
from phoenixd.core.question.reply import is_reachable, limits
from phoenixd.core.spec import FleetLimits
from phoenixd.core.treatment import acting, choosing
from phoenixd.core.treatment.authority import AuthorityRules, Caps, ClinicRules
from phoenixd.core.treatment.case import Case, Cases, Prescribed
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.triage import diagnose
from phoenixd.core.treatment.words import ACTION_OF
from phoenixd.documents.codec import decode, encode
from phoenixd.documents.last_failure import last_failure
from tests.core.handing import HandoffStory
from tests.core.story import Story, claude
from tests.journaled import dump_agent, load_agent


def treatings(story: Story) -> list[str]:
    return [
        one.treatment for decision in story.decisions for one in decision.facts
        if isinstance(one, Treating) and not one.proposed
    ]  # fmt: skip


def dies(story: Story, lived: float = 400) -> None:
    """A crash that nothing explains, in an open turn that achieved nothing."""
    story.pass_over(lived)
    story.exited(1)
    again(story)


def again(story: Story) -> None:
    """The next run begins and works, where there is one."""
    if isinstance(story.state, Quarantined):
        return
    story.respawned()
    story.works()


def case(story: Story) -> Case:
    return story.fleet.cases.cases[-1]


def item(story: Story, kind: str) -> InboxItem:
    return next(one for one in story.agent.items if one.kind == kind)


def test_c43_the_same_crash_gets_three_different_answers_or_an_end(story: Story) -> None:
    """F-CL-7: resume, then facts beside whatever the restart rules do, and nothing twice; quarantine is the end."""
    dies(story)
    assert treatings(story) == []
    dies(story)
    dies(story)
    dies(story)

    assert treatings(story) == ["advise"], "never the same prescription twice for the same cause of one Case"
    done = {(one.treatment, one.by) for one in case(story).treated}
    assert ("resume", "restart") in done
    assert ("advise", "clinic") in done


def test_c43_advice_is_facts_until_it_is_known_what_came_of_it(story: Story) -> None:
    dies(story)
    dies(story)
    lines = last_failure(story.agent.advice, lambda text: text)

    assert lines[0].startswith("Run 2 failed at 2027-")
    assert "it ended, and nothing says why (Case c1, noticed 2 times since" in lines[0]
    assert lines[-1] == "Tried before: resume (failed)."
    for number in range(7):
        if number:
            story.hook("prompt-submit", text="and now this")
        story.hook("tool-start", tool="Bash", tool_use_id="t")
        story.hook("tool-end", tool="Bash", tool_use_id="t")
        story.hook("stop")
    assert case(story).outcome == "held"
    assert story.agent.advice is None


def test_the_first_failure_is_the_restart_rules_alone(story: Story) -> None:
    story.pass_over(400)
    story.exited(1)

    assert treatings(story) == []
    assert story.fleet.cases.prescribed == ()


def test_the_clinic_ends_no_run_and_starts_none() -> None:
    """It must be no second restart policy: with full authority and with none, the same runs begin at the same time."""
    told = []
    for authority in (AuthorityRules(), AuthorityRules(**dict.fromkeys(AuthorityRules.__slots__, "observe"))):  # type: ignore[arg-type]
        story = Story(claude(clinic=ClinicRules(authority))).works()
        for _ in range(12):
            if story.agent.run is None:
                break
            dies(story, 30)
        told.append([type(one) for one in story.actions if isinstance(one, Spawn | Terminate | Kill)])
        assert isinstance(story.state, Quarantined)
    assert told[0] == told[1]


def ends(story: Story, evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends, and this is what is known of it."""
    from phoenixd.core.treatment import gather

    monkeypatch.setattr(gather, "of_end", lambda *_: evidence)
    story.pass_over(400)
    story.exited(1)


MODEL = Evidence(occasion="crash", harness="claude", code=1, cause="exit", failure="request", word="model_not_found")
CONTEXT = Evidence(occasion="crash", harness="claude", code=1, cause="exit", failure="full", said="Prompt is too long")


def test_a_context_that_is_full_is_not_resumed(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """X12: the next start is fresh with the brief, which is the summary."""
    ends(story, CONTEXT, monkeypatch)

    assert story.of(Spawn)[-1].mode is Mode.FRESH
    assert treatings(story) == ["summarise"]
    assert [(one.treatment, one.by, one.run) for one in case(story).treated] == [("summarise", "clinic", 2)]
    assert case(story).cause == "context_length_exceeded"


def test_what_comes_back_although_it_was_treated_meets_the_cap_of_its_case(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third of the clinic's own treatments in one Case is dropped, with the reason."""
    for _ in range(4):
        ends(story, CONTEXT, monkeypatch)
        again(story)

    assert treatings(story) == ["summarise", "advise"]
    dropped = [one for one in story.reasons if "is dropped" in one]
    assert dropped
    assert "clinic.per_case" in dropped[0]


def test_c42_what_fails_alike_again_is_asked_about_and_then_started_no_more(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(story, MODEL, monkeypatch)
    again(story)
    assert treatings(story) == [], "once alone it is the restart rules'"
    ends(story, MODEL, monkeypatch)
    assert item(story, "case").text.startswith("there is no such model, noticed 2 times in Case c1")
    again(story)
    ends(story, MODEL, monkeypatch)

    assert treatings(story) == ["ask", "abort"]
    assert isinstance(story.state, Quarantined)
    assert [story.alerts().count(kind) for kind in ("case", "quarantined")] == [1, 1]
    assert [one.treatment for one in case(story).treated if one.by == "clinic"] == ["ask", "abort"]


def test_an_operator_who_only_watches_is_told_what_would_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(claude(clinic=ClinicRules(AuthorityRules(summarise="observe")))).works()
    ends(story, CONTEXT, monkeypatch)

    assert treatings(story) == []
    assert any("Case c1, window: summarise is not ordered: its authority is observe" in one for one in story.reasons)


def proposing(monkeypatch: pytest.MonkeyPatch) -> Story:
    story = Story(claude(clinic=ClinicRules(AuthorityRules(summarise="propose", fresh="propose")))).works()
    ends(story, CONTEXT, monkeypatch)
    return story


def test_a_proposal_is_an_item_whose_effect_is_shown_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    story = proposing(monkeypatch)
    asked = item(story, "proposal")

    assert asked in inbox(story.fleet)
    assert asked.answer_by == "answer"
    assert is_reachable(asked)
    assert limits(asked) == ""
    assert "the next start of a is fresh with its brief" in asked.text
    assert story.of(Spawn)[-1].mode is Mode.RESUME, "nothing waits for the answer"
    assert story.alerts().count("proposal") == 1
    assert len(story.fleet.cases.prescribed) == 1


def test_an_allowed_proposal_is_done_and_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    story = proposing(monkeypatch)
    story.works()
    number = item(story, "proposal").id

    assert story.tell(AnswerRequested("a", number, False, words=("allow",), by="maria")) is None

    assert treatings(story) == ["summarise"]
    assert story.agent.session is not None
    assert story.agent.session.spoiled
    assert isinstance(story.state, Running), "no run is ended for it"
    assert len(story.fleet.cases.prescribed) == 1
    assert all(one.kind != "proposal" for one in story.agent.items)
    again = story.tell(AnswerRequested("a", number, False, words=("allow",), by="maria"))
    assert again is not None
    assert again.code == "conflict"


def test_a_denied_proposal_does_nothing_and_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    story = proposing(monkeypatch)
    story.works()
    assert story.tell(AnswerRequested("a", item(story, "proposal").id, False, words=("deny",))) is None
    assert treatings(story) == []
    ends(story, CONTEXT, monkeypatch)

    assert all(one.kind != "proposal" for one in story.agent.items), "a fresh session is what a summary goes into"
    assert treatings(story) == ["advise"]


def test_a_proposal_about_an_older_run_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """No treatment on an older incarnation."""
    story = proposing(monkeypatch)
    story.works()
    number = item(story, "proposal").id
    story.restart()
    story.exited(signal=15)
    story.works()
    story.restart()
    story.exited(signal=15)
    refused = story.tell(AnswerRequested("a", number, True, words=("allow",)))

    assert refused is not None
    assert refused.code == "conflict"
    assert treatings(story) == []


def test_answers_to_proposals_are_read_strictly(monkeypatch: pytest.MonkeyPatch) -> None:
    story = proposing(monkeypatch)
    number = item(story, "proposal").id

    for words in (("yes",), ("allow", "please")):
        refused = story.tell(AnswerRequested("a", number, False, words=words))
        assert refused is not None
        assert refused.code == "invalid"
    refused = story.tell(AnswerRequested("a", number, True, words=("allow",), text_hash="another"))
    assert refused is not None
    assert treatings(story) == []


@pytest.mark.parametrize("order", ["stop", "start"])
def test_an_operator_comes_first(story: Story, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    """One owner of a run at a time: after a stop nothing is treated."""
    dies(story)
    if order == "stop":
        story.stop(after_iteration=True)
    story.pass_over(400)
    story.exited(1)

    assert treatings(story) == ([] if order == "stop" else ["advise"])


def test_a_limit_comes_before_a_treatment(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    story.hook("stop-failure", error="rate_limit", text="429")
    ends(story, CONTEXT, monkeypatch)

    assert story.agent.state_name == "parked"
    assert treatings(story) == []


def test_the_caps_of_an_agent_and_of_the_fleet_hold(story: Story) -> None:
    cases = Cases(prescribed=tuple(Prescribed(f"c{n}", f"a{n % 4}", 1, "advise", 1000.0) for n in range(20)))
    caps = Caps()

    assert "per_fleet" in choosing.over_a_cap(cases, "c99", "b", caps, 1000.0)
    assert choosing.over_a_cap(cases, "c99", "b", caps, 1000.0 + 3601) == ""
    assert "per_agent" in choosing.over_a_cap(cases, "c99", "a1", caps, 1000.0 + 3601)
    assert choosing.over_a_cap(cases, "c99", "a1", caps, 1000.0 + 6 * 3601) == ""
    assert "per_case" in choosing.over_a_cap(Cases(prescribed=cases.prescribed[:1] * 2), "c0", "b", caps, 9e9)


def test_caps_of_zero_leave_the_rules_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(claude())
    story.tell(LimitsDeclared(FleetLimits(), clinic=Caps(per_case=0)))
    story.works()
    ends(story, CONTEXT, monkeypatch)

    assert story.of(Spawn)[-1].mode is Mode.RESUME
    assert treatings(story) == []


def test_of_two_cases_that_race_for_one_run_the_older_one_owns_it(story: Story) -> None:
    from phoenixd.core.treatment.case import Noticed, Treated

    treated = Treated(1, "a", 3, "advise", "clinic", 0.0, 0.0)
    older = Case("c1", "agent a", "k", None, "crash", "r", 0.3, "claude", 0.0, 0.0, ("a",), 1, (treated,), 1)
    noticed = Noticed("c2", "a", 3, "crash", 1.0, Evidence(), diagnose(Evidence()))

    assert choosing.rival(Cases(cases=(older,)), noticed) is older
    assert choosing.rival(Cases(cases=(older,)), replace(noticed, case="c1")) is None
    assert choosing.rival(Cases(cases=(replace(older, closed=2.0),)), noticed) is None
    other = (replace(treated, agent="b"), replace(treated, incarnation=2), replace(treated, by="restart"))
    for one in (*other, replace(treated, outcome="held")):
        assert choosing.rival(Cases(cases=(replace(older, treated=(one,)),)), noticed) is None

    newer = replace(older, id="c2", treated=())
    ended = Step(replace(story.fleet, cases=Cases(cases=(older, newer))))
    after = acting.prescribe(ended, story.agent, ended.fleet.cases, newer, noticed, "advise", story.now)
    (dropped,) = after.decisions
    assert dropped.facts == ()
    assert "is dropped: Case c1, which is older, treats this run" in dropped.reason
    assert dropped.weight == "detail"


def test_a_word_that_is_not_listed_is_observed() -> None:
    assert AuthorityRules().over("a new one") == "observe"  # type: ignore[arg-type]
    known = {one: AuthorityRules().over(one) for one in ACTION_OF}
    assert {one: word for one, word in known.items() if word != "act"} == {
        "lower_output": "propose",
        "handoff": "propose",
        "restore": "observe",
    }, "the clinic orders no restoration, so there is no authority over it"


def test_an_older_journal_still_loads_and_advice_survives_it(story: Story) -> None:
    dies(story)
    dies(story)
    assert load_agent(dump_agent(story.agent)).advice == story.agent.advice
    data = encode(story.fleet.cases)
    assert decode(Cases, data) == story.fleet.cases
    data.pop("prescribed")
    assert decode(Cases, data).prescribed == ()


def test_a_handoff_that_no_rule_takes_up_again_is_proposed() -> None:
    story = HandoffStory()
    story.works()
    for _ in range(2):
        story.begins()
        story.comes_to_nothing()
    asked = item(story, "proposal")

    assert "handed over to its next generation" in asked.text
    assert story.tell(AnswerRequested(asked.agent, asked.id, True, words=("allow",), by="maria")) is None
    assert treatings(story) == ["handoff"]
    seat = story.fleet.seats["o"]
    assert seat.handoff is not None
    assert not seat.handoff.is_over
