"""The book of Cases over weeks: what joins, what closes, what is let go of, what it costs, and which clock counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.agent.state import Quarantined, Running
from phoenixd.core.events.evidence import EvidenceSeen, FailureStatusSeen, ScreenSeen
from phoenixd.core.events.fleet import EpochBegun, LimitsDeclared, Tick
from phoenixd.core.events.orders import AgentWithdrawn, AnswerRequested
from phoenixd.core.events.runs import StartFailed
from phoenixd.core.facts import Treating, TreatmentDropped
from phoenixd.core.rules import LivenessRules
from phoenixd.core.spec import FleetLimits, Kind
from phoenixd.core.step import step
from phoenixd.core.tasks.state import Outcome
from phoenixd.core.treatment import acting, casebook, gather
from phoenixd.core.treatment.authority import AGENT_PERIOD, AuthorityRules, Caps, ClinicRules
from phoenixd.core.treatment.case import JOINS_WITHIN, MOST_CASES, MOST_TREATED, Case, Cases, Patient, Treated
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.opening import Book, notice
from phoenixd.core.treatment.outcome import OPEN_TIME, TURNS
from phoenixd.documents.codec import decode, encode
from phoenixd.documents.hooks import hook_of
from tests.core.handing import HandoffStory
from tests.core.story import Story, claude, spec
from tests.core.workers import Works

CONTEXT = Evidence(occasion="crash", harness="claude", code=1, cause="exit", failure="full", said="Prompt is too long")


@pytest.fixture
def story() -> Story:
    return Story(claude()).works()


def cases(story: Story) -> tuple[Case, ...]:
    return story.fleet.cases.cases


def case(story: Story) -> Case:
    assert len(cases(story)) == 1, cases(story)
    return cases(story)[0]


def back(story: Story) -> Story:
    """The next run begins and works."""
    return story.respawned().works()


def turn(story: Story) -> None:
    """A turn that holds a completed call and ends well; the one that is open, where one is."""
    if not (isinstance(story.state, Running) and story.state.activity.turn_open):
        story.hook("prompt-submit", text="and now this")
    story.hook("tool-start", tool="Bash", tool_use_id="t")
    story.hook("tool-end", tool="Bash", tool_use_id="t")
    story.hook("stop")


def dies(story: Story, signal: int = 9) -> None:
    story.pass_over(400)
    story.exited(signal=signal)


# What joins.


def test_a_cause_that_comes_back_after_more_than_an_hour_has_failed_its_treatment(story: Story) -> None:
    """An hour of an idle agent is no hour of work: the treatment of the older Case is judged, and not left to hold."""
    dies(story)
    back(story)
    turn(story)
    story.pass_over(JOINS_WITHIN + 1)
    dies(story)

    older, newer = cases(story)
    assert [(one.treatment, one.outcome) for one in older.treated] == [("resume", "failed")]
    assert (older.closed is not None, older.outcome) == (True, "failed")
    assert (newer.id, newer.closed) == ("c2", None)


def test_a_failure_joins_the_newest_case_of_its_cause(story: Story) -> None:
    """Two Cases of one cause stand in the book where an hour lay between; the third failure is the newer one's."""
    dies(story)
    back(story)
    turn(story)
    story.pass_over(JOINS_WITHIN + 1)
    dies(story)
    back(story)
    turn(story)
    dies(story)

    assert (cases(story)[-1].id, cases(story)[-1].incidents) == ("c2", 2)
    assert cases(story)[-1].treated[0].outcome == "failed"
    assert story.fleet.cases.next == 3


def test_the_end_of_a_run_by_what_its_turn_failed_for_is_the_same_case_hours_later(story: Story) -> None:
    story.hook("stop-failure", error="authentication_failed", text="Invalid API key")
    story.pass_over(3 * JOINS_WITHIN)
    story.exited(1)

    assert case(story).incidents == 1
    assert [one.outcome for one in case(story).treated] == ["open", "open"]


# What closes, and what is let go of.


def test_an_agent_that_is_removed_is_no_patient_and_what_was_done_is_moot(story: Story) -> None:
    dies(story)
    back(story)
    dies(story)
    story.tell(AgentWithdrawn("a"))
    story.exited(signal=15)

    assert not story.fleet.agents
    assert story.fleet.cases.patients == ()
    assert {one.outcome for one in case(story).treated} <= {"failed", "moot"}
    assert case(story).closed is not None


def test_a_worker_that_ended_badly_and_was_collected_is_no_patient() -> None:
    works = Works()
    works.start()
    works.ask()
    while "t1" not in {one.id for one in works.fleet.tasks.ended}:
        if works.fleet.agents["shop-t1"].run is None:
            works.wait(60)
        works.finishes("t1", code=1, outcome=Outcome())

    assert "shop-t1" not in works.fleet.agents
    assert works.fleet.cases.cases
    assert works.fleet.cases.patients == ()
    assert all(one.closed is not None for one in works.fleet.cases.cases)


def test_patients_that_an_older_version_left_behind_are_let_go_of_when_a_daemon_begins(story: Story) -> None:
    gone = Treated(1, "gone", 3, "abort", "restart", 0.0, 0.0)
    left = Case("c7", "agent gone", "k", None, "crash", "r", 0.3, "claude", 0.0, 0.0, ("gone",), 1, (gone,), 1)
    book = Cases(8, (left,), (Patient("gone", 3, "c7", 0.0),))
    story.fleet = replace(story.fleet, cases=book)
    story.tell(EpochBegun(0))

    assert story.fleet.cases.patients == ()
    assert all(one.closed is not None for one in cases(story))


def test_a_case_without_any_treatment_closes_when_its_agent_is_back_at_work(story: Story) -> None:
    """A handoff that was rolled back: nothing is done about it, and its holder goes on."""
    handing = HandoffStory()
    handing.works()
    handing.begins()
    handing.comes_to_nothing()
    assert case(handing).closed is None
    handing.hook("stop")

    assert (case(handing).treated, case(handing).closed is not None, case(handing).outcome) == ((), True, "moot")


def test_two_failures_of_one_kind_in_one_run_are_told_each_by_its_number(story: Story) -> None:
    for _ in range(2):
        story.hook("prompt-submit", text="on")
        story.hook("stop-failure", error="odd", text="what nobody knows")

    told = [one for kept in story.kept for one in kept.noticed]
    assert [(one.case, one.incarnation, one.occasion, one.number) for one in told] == [
        ("c1", 1, "failed_turn", 1), ("c1", 1, "failed_turn", 2),
    ]  # fmt: skip


def test_the_status_of_the_api_completes_the_failure_that_it_belongs_to(story: Story) -> None:
    """Claude Code tells it in its transcript alone, a moment after the hook."""
    story.hook("stop-failure", error="authentication_failed", text="401")
    story.kept.clear()
    story.tell(FailureStatusSeen("a", 1, 401))
    story.tell(FailureStatusSeen("a", 1, 401))

    (told,) = [one for kept in story.kept for one in kept.noticed]
    assert (told.evidence.status, told.evidence.failure, told.number, told.is_more) == (401, "login", 1, True)
    assert case(story).incidents == 1


def test_a_status_that_shows_another_cause_changes_what_the_case_claims(story: Story) -> None:
    story.hook("stop-failure", error="invalid_request", text="Request too large")
    assert case(story).detail == "request"
    story.tell(FailureStatusSeen("a", 1, 413))

    assert (case(story).detail, case(story).cause) == ("window", "context_length_exceeded")
    assert (case(story).rule, case(story).key) == (
        "the window cannot hold what was asked", "context_length_exceeded: window",
    )  # fmt: skip


def test_a_code_in_the_transcript_shows_what_a_class_without_one_was_for(story: Story) -> None:
    """Claude Code 2.1.330 writes the API's own type there; the hook's class is one for whatever it does not know."""
    story.hook("stop-failure", error="unknown", text="API Error: 400 zu lang")
    assert (case(story).detail, case(story).cause) == ("request", None)
    story.tell(FailureStatusSeen("a", 1, 400, "full"))

    assert (case(story).detail, case(story).cause) == ("window", "context_length_exceeded")


def test_what_a_transcript_names_counts_for_the_end_of_the_run_too(story: Story) -> None:
    story.hook("stop-failure", error="unknown", text="API Error: 400 nein")
    story.tell(FailureStatusSeen("a", 1, 400, "request", "request"))
    story.kept.clear()

    story.exited(1)

    told = [one for kept in story.kept for one in kept.noticed][-1]
    assert (told.evidence.named, told.diagnosis.cause, told.diagnosis.detail) == ("request", "logic_error", "request")


def test_a_death_on_a_full_disk_is_known_by_what_the_kernel_counted_whatever_it_printed(story: Story) -> None:
    story.exited(1, full_disks=("home", "tmp"))

    assert (case(story).detail, case(story).rule) == ("disk_full", "the disk was full")
    (told,) = [one for kept in story.kept for one in kept.noticed]
    assert (told.evidence.disk_full, told.evidence.disks) == (True, "home, tmp")


def test_a_death_with_room_on_its_disks_is_no_full_disk_whatever_it_printed(story: Story) -> None:
    story.exited(1, note="No space left on device")

    assert case(story).detail == "crash"


def test_a_turn_that_failed_for_an_unknown_reason_on_a_full_disk_failed_for_that(story: Story) -> None:
    story.hook("stop-failure", error="odd", text="what nobody knows", full_disks=("cwd",))

    assert case(story).detail == "disk_full"


def test_a_status_that_comes_later_does_not_hide_that_the_disk_was_full(story: Story) -> None:
    story.hook("stop-failure", error="odd", text="what nobody knows", full_disks=("cwd",))
    story.tell(FailureStatusSeen("a", 1, 500))

    assert [one.detail for one in cases(story)] == ["disk_full"]
    assert story.kept[-1].noticed[-1].evidence.disks == "cwd"


def test_a_start_whose_files_could_not_be_written_for_want_of_room_failed_for_that(story: Story) -> None:
    dies(story)
    story.wait(1)
    story.tell(StartFailed("a", story.agent.incarnation, 0, "the files of a start could not be written", "disk full"))

    assert "disk_full" in [one.detail for one in cases(story)]


def test_a_status_of_an_older_run_or_of_no_failure_changes_nothing(story: Story) -> None:
    story.tell(FailureStatusSeen("a", 1, 500))
    dies(story)
    back(story)
    known = story.fleet.cases
    story.tell(FailureStatusSeen("a", 1, 500))
    story.tell(FailureStatusSeen("a", 2, 500))

    assert story.fleet.cases == known


def test_the_end_of_a_run_keeps_the_status_that_its_turn_failed_with(story: Story) -> None:
    story.hook("stop-failure", error="invalid_request", text="Request too large")
    story.tell(FailureStatusSeen("a", 1, 413))
    story.kept.clear()
    story.exited(1)

    (told,) = [one for kept in story.kept for one in kept.noticed]
    assert (told.occasion, told.evidence.status, told.diagnosis.detail) == ("crash", 413, "window")


def test_a_case_without_any_treatment_closes_with_a_stop(story: Story) -> None:
    story.hook("stop-failure", error="odd", text="what nobody knows")
    story.stop()

    assert case(story).closed is not None


def full_book(story: Story, **of_oldest: Any) -> None:
    """As many Cases as the book holds: the oldest is as said, and the others are over."""
    others = [
        Case(f"c{number}", f"agent x{number}", "k", None, "crash", "r", 0.3, "claude", story.wall, story.wall,
             seen=story.at, closed=story.wall, outcome="moot")
        for number in range(2, MOST_CASES + 5)
    ]  # fmt: skip
    known = case(story)
    story.fleet = replace(
        story.fleet, cases=replace(story.fleet.cases, next=MOST_CASES + 5, cases=(replace(known, **of_oldest), *others))
    )


def test_a_full_book_lets_go_of_what_is_over_and_keeps_what_is_open(story: Story) -> None:
    dies(story)
    back(story)
    full_book(story)
    story.fleet = replace(story.fleet, cases=story.fleet.cases.without_patient("a"))
    other = Story(claude("b")).works()
    other.fleet = replace(other.fleet, cases=story.fleet.cases)
    other.at, other.wall = story.at, story.wall
    other.exited(signal=9)

    kept = {one.id for one in cases(other)}
    assert "c1" in kept, "the treatment of an open Case is lost, and nobody hears what came of it"
    assert len(kept) <= MOST_CASES


def test_open_cases_beyond_what_the_book_holds_are_told_as_moot(story: Story) -> None:
    dies(story)
    back(story)
    treated = Treated(1, "b", 1, "resume", "restart", 0.0, 0.0, 2)
    left = Case("c2", "agent b", "k", None, "crash", "r", 0.3, "claude", 0.0, 0.0, ("b",), 1, (treated,), 1)
    open_ones = tuple(
        replace(left, id=f"c{number}", key=f"k{number}")
        for number in range(2, MOST_CASES + 2)
    )  # fmt: skip
    story.fleet = replace(story.fleet, cases=replace(story.fleet.cases, next=999, cases=(*cases(story), *open_ones)))
    told = step(story.fleet, hook_of("a", story.run.incarnation, "stop-failure", error="odd", text="?"), story.now)

    assert len(told.fleet.cases.cases) <= MOST_CASES
    left = {one.id for one in story.fleet.cases.cases} - {one.id for one in told.fleet.cases.cases}
    moot = {kept.case.id for kept in told.kept for one in kept.treated if one.outcome == "moot"}
    assert left
    assert left <= moot, "a row of the journal says open for ever"


def test_no_open_treatment_of_a_shared_case_is_forgotten_by_many_agents() -> None:
    """A limit of an account is one Case: 70 agents that are parked by it are 70 treatments, each with its outcome."""
    names = [f"a{number}" for number in range(MOST_TREATED + 10)]
    story = Story(*(claude(name, account="team") for name in names), limits=FleetLimits(max_starting=99))
    for name in names:
        story.fleet = replace(story.fleet, agents=story.fleet.agents)
        story.tell(_started(story, name))
    for name in names:
        run = story.fleet.agents[name].run
        assert run is not None
        story.tell(hook_of(name, run.incarnation, "session-start", session_id=run.session_id, source="startup"))
        story.tell(hook_of(name, run.incarnation, "prompt-submit", text="go"))
        story.tell(hook_of(name, run.incarnation, "stop-failure", error="rate_limit", text="429"))

    found = next(one for one in cases(story) if one.detail == "limit")
    assert {one.agent for one in found.treated if one.is_open} == set(names)


def _started(story: Story, name: str) -> Any:
    from phoenixd.core.events.orders import StartRequested
    from phoenixd.core.events.runs import AgentStarted

    story.tell(StartRequested(name))
    run = story.fleet.agents[name].run
    assert run is not None
    return AgentStarted(name, run.incarnation, run.run_id, 100 + int(name[1:]), 1000)


# What it costs.


def test_no_prompt_writes_the_book_and_the_ends_of_few_turns_do(story: Story) -> None:
    """The whole book is one value in the journal: an agent that talks must not have it written at each prompt."""
    dies(story)
    back(story)
    story.hook("stop", text="Understood.")
    written = 0
    for _ in range(50):
        before = story.fleet.cases
        story.hook("prompt-submit", text="go on")
        assert story.fleet.cases is before, "a prompt has written the book"
        story.hook("stop", text="Understood.")
        written += story.fleet.cases is not before

    assert case(story).outcome == "held"
    assert written <= TURNS + 1


# Which turn counts.


def gemini(name: str = "a", **changes: Any) -> Story:
    return Story(claude(name, **{"harness": "gemini", **changes})).works()


def test_a_turn_of_gemini_counts_once_its_screen_shows_that_it_ended_well() -> None:
    """Its hook comes at the end of a turn that failed as well."""
    story = gemini()
    dies(story)
    back(story)
    turn(story)
    story.screen = None
    for _ in range(TURNS + 2):
        turn(story)
    assert case(story).outcome == "open", "held by turns of which nobody knows whether they ended well"

    for verdict in ("login", "limit-dialog", "dialog"):
        turn(story)
        story.tell(ScreenSeen("a", story.run.incarnation, verdict))
    assert case(story).treated[0].turns == 0

    story.screen = "idle"
    for _ in range(TURNS - 1):
        turn(story)
    assert case(story).outcome == "open"
    turn(story)
    assert [one.outcome for one in case(story).treated] == ["held"]


def test_the_run_of_gemini_that_failed_is_productive_once_its_screen_says_so() -> None:
    story = gemini()
    story.hook("stop-failure", error="max_output_tokens")
    story.screen = None
    turn(story)

    assert story.fleet.cases.patient("a") is not None
    assert all(one.productive is None for one in case(story).treated)


def test_the_time_that_a_turn_waits_for_a_person_is_no_work(story: Story) -> None:
    dies(story)
    back(story)
    turn(story)
    story.hook("prompt-submit", text="a long one")
    story.hook("permission-request", tool="Bash", text="make deploy")
    story.pass_over(OPEN_TIME + 60)
    story.hook("tool-start", tool="Bash", tool_use_id="t")
    story.hook("tool-end", tool="Bash", tool_use_id="t")
    story.hook("stop")

    assert case(story).outcome == "open"


@pytest.mark.parametrize(("asks", "expected"), [("", "held"), ("leave that, and do this", "moot")])
def test_what_a_person_asks_for_in_the_middle_of_the_first_turn_makes_it_moot(
    story: Story, asks: str, expected: str
) -> None:
    """What comes later is talk: an agent that people speak to is treated like any other."""
    dies(story)
    back(story)
    if asks:
        story.hook("prompt-submit", text=asks)
    for _ in range(TURNS + 1):
        turn(story)

    assert case(story).treated[0].outcome == expected


# Which clock counts.


@pytest.mark.parametrize("stepped", [-7200.0, 7200.0])
def test_a_clock_that_is_set_neither_joins_nor_parts_failures(story: Story, stepped: float) -> None:
    dies(story)
    back(story)
    turn(story)
    story.wall += stepped
    dies(story)
    assert [one.incidents for one in cases(story)] == [2]

    story.wall -= stepped
    back(story)
    for _ in range(TURNS + 1):
        turn(story)
    story.pass_over(JOINS_WITHIN + 1)
    story.wall -= JOINS_WITHIN + 400
    dies(story)
    assert [one.id for one in cases(story)] == ["c2"]


@pytest.mark.parametrize("stepped", [-AGENT_PERIOD, AGENT_PERIOD])
def test_a_clock_that_is_set_neither_frees_nor_fills_a_cap(stepped: float) -> None:
    from phoenixd.core.treatment import choosing
    from phoenixd.core.treatment.case import Prescribed

    book = Cases(prescribed=tuple(Prescribed(f"c{n}", "a", 1, "advise", 1e9 + stepped, 100.0) for n in range(5)))

    assert "per_agent" in choosing.over_a_cap(book, "c9", "a", Caps(), 200.0)
    assert choosing.over_a_cap(book, "c9", "a", Caps(), 200.0 + AGENT_PERIOD) == ""


def test_caps_hold_over_a_restart_of_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was ordered is part of the book, which the journal keeps."""
    story = Story(claude()).works()
    story.tell(LimitsDeclared(FleetLimits(), clinic=Caps(per_agent=1)))
    monkeypatch.setattr(gather, "of_end", lambda *_: CONTEXT)
    dies(story)
    assert len(story.fleet.cases.prescribed) == 1
    story.fleet = replace(story.fleet, cases=decode(Cases, encode(story.fleet.cases)))
    story.tell(EpochBegun(0))
    back(story)
    monkeypatch.setattr(gather, "of_end", lambda *_: replace(CONTEXT, failure="request", word="model_not_found"))
    for _ in range(3):
        dies(story)
        if isinstance(story.state, Quarantined):
            break
        back(story)

    assert len(story.fleet.cases.prescribed) == 1
    assert any("clinic.per_agent" in reason for reason in story.reasons)


# Proposals.


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


# What the clinic answers.


def test_c43_six_same_crashes_get_different_answers_or_an_end(story: Story) -> None:
    """F-CL-7: of six tries each gets an answer that the Case has not had, or it is the end."""
    answers: list[frozenset[tuple[str, str]]] = []
    for _ in range(6):
        known = {one.number for one in cases(story)[-1].treated} if cases(story) else set()
        story.pass_over(60)
        story.exited(1)
        if not isinstance(story.state, Quarantined):
            back(story)
        answers.append(
            frozenset((one.treatment, one.by) for one in cases(story)[-1].treated if one.number not in known)
        )
        if isinstance(story.state, Quarantined):
            break

    assert isinstance(story.state, Quarantined), "the same crash goes on for ever"
    assert len(set(answers[:3])) == 3, answers
    assert all(answers)


def test_of_two_failures_that_one_event_tells_of_the_older_case_treats_the_run(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One owner of a run at a time, so one treatment of it."""
    dies(story)
    back(story)
    reads = casebook.read

    def both(*given: Any) -> Book:
        book = reads(*given)
        if not any(kept.noticed for kept in book.kept):
            return book
        agent = story.agent
        full = replace(gather.of_other(agent, "crash"), failure="full")
        return notice(book, agent, agent.incarnation, full, story.now)

    monkeypatch.setattr(acting.casebook, "read", both)
    dies(story)

    ordered = [fact for one in story.decisions for fact in one.facts if isinstance(fact, Treating)]
    assert len(ordered) == 1, ordered
    assert any(f"Case {ordered[0].case}, which is older, treats this run" in reason for reason in story.reasons)


def test_evidence_of_an_older_incarnation_opens_no_case_and_judges_no_treatment(story: Story) -> None:
    older = story.run.incarnation
    dies(story)
    back(story)
    turn(story)
    before = story.fleet.cases
    for kind, more in (("stop-failure", {"error": "odd", "text": "?"}), ("stop", {}), ("prompt-submit", {"text": "x"})):
        story.tell(hook_of("a", older, kind, **more))
    story.tell(ScreenSeen("a", older, "idle"))

    assert story.fleet.cases is before
    assert isinstance(story.state, Running)


# Commands, which no hook tells of (design section 3).


def comes_back(**changes: Any) -> Story:
    """A command that has died once, and runs again."""
    story = Story(spec(**changes))
    story.start()
    story.started()
    story.pass_over(400)
    story.exited(1)
    story.respawned().started()
    return story


def test_a_treatment_of_a_command_without_hooks_held_after_an_hour_of_life_since_it_was_productive() -> None:
    story = comes_back()
    story.wait(300 + 3599)
    (one,) = case(story).treated
    assert (one.productive is not None, one.outcome) == (True, "open")
    story.wait(2)

    (one,) = case(story).treated
    assert (one.outcome, one.why) == ("held", "productive, and an hour of life without it since; it shows no turns")
    assert case(story).closed is not None


def test_a_command_that_dies_again_within_the_hour_was_not_held() -> None:
    story = comes_back()
    story.wait(300 + 3000)
    story.exited(1)

    assert cases(story)[0].treated[0].outcome == "failed"


def test_the_silence_of_a_command_whose_heartbeat_is_watched_counts_for_nothing() -> None:
    story = comes_back(heartbeat_file="beat.json", liveness=LivenessRules(stale=10 * 3600))
    story.wait(2 * 3600)
    assert case(story).treated[0].outcome == "open"
    story.tell(EvidenceSeen("a", story.agent.incarnation, "heartbeat"))
    story.tell(Tick())

    assert case(story).treated[0].outcome == "held"


def test_five_iterations_of_a_loop_without_hooks_that_ended_well_are_five_turns() -> None:
    story = Story(spec(kind=Kind.LOOP))
    story.start()
    story.started()
    story.pass_over(60)
    story.exited(1)
    for number in range(1 + TURNS):
        story.respawned().started()
        assert case(story).treated[0].outcome == "open", number
        story.pass_over(60)
        story.exited(0)

    assert case(story).treated[0].outcome == "held"
