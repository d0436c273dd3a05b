"""Cases (C2, X12): what fails opens or joins one, what other rules do about it is noted, and its outcome is judged."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core import hearing
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Starting
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import StartRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted, StartFailed
from phoenixd.core.facts import CaseNoted, MarkerNoted
from phoenixd.core.fleet import Step
from phoenixd.core.handoff.state import Step as HandoffStep
from phoenixd.core.rules import LoopRules
from phoenixd.core.spec import Kind
from phoenixd.core.step import step
from phoenixd.core.treatment import acting, casebook, outcome
from phoenixd.core.treatment.authority import AuthorityRules, ClinicRules
from phoenixd.core.treatment.case import JOINS_WITHIN, Treated
from phoenixd.core.treatment.outcome import OPEN_TIME, TURNS, Trial, figures, interval
from phoenixd.documents.hooks import hook_of
from tests.core.handing import HandoffStory
from tests.core.patients import back, case, cases, turn
from tests.core.story import Story, claude, spec


def treated(story: Story) -> list[tuple[str, str]]:
    return [(one.treatment, one.outcome) for one in case(story).treated]


class Two(Story):
    """All shortcuts speak of the agent of this name."""

    name = "a"

    @property
    def agent(self) -> Agent:
        return self.fleet.agents[self.name]


OBSERVING = AuthorityRules(**dict.fromkeys(AuthorityRules.__slots__, "observe"))  # type: ignore[arg-type]


def test_c2_a_crash_opens_a_case_and_what_the_restart_rules_did_is_noted(story: Story) -> None:
    """C3, C6: one id over what was noticed, the diagnosis, and the run that followed."""
    story.pass_over(400)
    story.exited(signal=9)
    assert (case(story).cause, case(story).detail, case(story).incidents) == (None, "killed", 1)

    back(story)

    assert treated(story) == [("resume", "open")]
    assert case(story).treated[0].run == story.run.incarnation
    assert case(story).id == "c1"


def test_a_treatment_held_after_a_productive_run_and_five_further_turns(story: Story) -> None:
    story.pass_over(400)
    story.exited(signal=9)
    back(story)
    turn(story)
    assert treated(story) == [("resume", "open")], "counted before it is known"

    for _ in range(TURNS - 1):
        turn(story)
        assert treated(story) == [("resume", "open")], "counted before it is known"
    turn(story)

    assert treated(story) == [("resume", "held")]
    assert case(story).closed is not None
    assert case(story).outcome == "held"


def test_a_treatment_held_after_an_hour_of_open_turns(story: Story) -> None:
    story.exited(signal=9)
    back(story)
    turn(story)
    story.hook("prompt-submit", text="a long one")
    story.pass_over(OPEN_TIME + 1)
    story.hook("stop")

    assert treated(story) == [("resume", "held")]


def test_a_loop_between_two_iterations_keeps_no_treatment_of_another_agent_open() -> None:
    story = Two(claude("a", kind=Kind.LOOP, loop=LoopRules(pause=3 * OPEN_TIME)), claude("b"))
    for name in ("a", "b"):
        story.name = name
        story.works()
        story.pass_over(400)
        story.exited(signal=9)
        back(story)
        turn(story)
        if name == "a":
            story.exited(0)
            assert story.agent.activity is None
    story.hook("prompt-submit", text="a long one")
    story.pass_over(OPEN_TIME + 1)
    story.hook("tool-start", tool="Bash", tool_use_id="t")
    story.tell(Tick())

    came = [(one.agent, one.productive is not None, one.outcome) for found in cases(story) for one in found.treated]
    assert came == [("a", True, "open"), ("b", True, "held")]


def test_a_treatment_failed_when_the_cause_came_back(story: Story) -> None:
    """F-CL-7: the same cause within the hour joins the Case, and what was done is known not to have helped."""
    story.pass_over(400)
    story.exited(1)
    back(story)
    turn(story)
    story.exited(1)

    assert treated(story) == [("resume", "failed"), ("fresh", "open")]
    assert case(story).incidents == 2


def test_an_agent_that_is_killed_again_is_resumed_once_more_with_advice_and_begun_fresh_after_that(
    story: Story,
) -> None:
    """F-CL-7, P45: who kills it says nothing of its session, and yet no try is made a third time."""
    for _ in range(3):
        story.pass_over(20)
        story.exited(signal=9)
        back(story)

    assert [one for one, _ in treated(story)] == ["resume", "advise", "resume", "fresh"]
    assert case(story).incidents == 3


@pytest.mark.parametrize("order", ["stop", "restart"])
def test_a_treatment_is_moot_when_an_operator_came_between(story: Story, order: str) -> None:
    story.pass_over(400)
    story.exited(signal=9)
    back(story)
    getattr(story, order)()

    assert treated(story) == [("resume", "moot")]
    assert "operator" in case(story).treated[0].why


def test_a_treatment_is_moot_when_another_cause_came_between(story: Story) -> None:
    story.pass_over(400)
    story.exited(signal=9)
    back(story)
    story.hook("stop-failure", error="max_output_tokens")

    first, second = cases(story)
    assert [one.outcome for one in first.treated] == ["moot"]
    assert second.detail == "output_limit"


def test_an_hour_later_the_same_failure_is_a_case_of_its_own(story: Story) -> None:
    story.pass_over(400)
    story.exited(signal=9)
    back(story)
    for _ in range(TURNS + 1):
        turn(story)
    story.pass_over(JOINS_WITHIN + 1)
    story.exited(signal=9)

    assert [one.id for one in cases(story)] == ["c2"], "the first one is in the journal's tables alone"


def test_f_cl_9_a_login_that_is_refused_is_asked_about_and_its_end_is_the_same_case(story: Story) -> None:
    """C13, C42: logic_error with a detail; the run that ends by it is not restarted, and is no second failure."""
    story.hook("stop-failure", error="authentication_failed", text="Invalid API key")
    assert (case(story).cause, case(story).detail) == ("logic_error", "login")
    assert treated(story) == [("ask", "open")]

    story.exited(1)

    assert case(story).incidents == 1
    assert treated(story) == [("ask", "open"), ("abort", "open")]
    assert story.state.name == "quarantined"


def test_c28_a_limit_is_parked_and_held_after_turns_of_the_same_run(story: Story) -> None:
    story.hook("stop-failure", error="rate_limit", text="429")

    assert (case(story).cause, case(story).detail) == ("transient_error", "limit")
    assert treated(story) == [("park", "open")]

    for _ in range(TURNS + 1):
        turn(story)

    assert treated(story) == [("park", "held")]


def test_the_limit_of_an_account_is_one_case_of_all_its_agents() -> None:
    story = Story(claude("a", account="team"), claude("b", account="team"))
    for agent in ("a", "b"):
        Sub(story, agent).runs()
    Sub(story, "a").hook("stop-failure", error="rate_limit", text="429")
    Sub(story, "b").hook("stop-failure", error="rate_limit", text="429")

    assert case(story).scope == "account team"
    assert set(case(story).agents) == {"a", "b"}
    assert {one.agent for one in case(story).treated} == {"a", "b"}


def test_a_full_context_comes_back_fresh(story: Story) -> None:
    """C24, F-CL-4: the rule that ends such a session is noted as what was done."""
    story.hook("tool-end", tool="Bash")
    story.hook("stop-failure", error="invalid_request", text="Prompt is too long")
    assert case(story).cause == "context_length_exceeded"
    story.exited(signal=15)
    story.respawned()

    assert treated(story) == [("fresh", "open")]
    assert case(story).incidents == 1


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ({}, ["crash"]),
        ({"fresh_args": ("--new",)}, ["crash"]),
        ({"resume_args": ("--go-on",)}, ["crash", "resume_refused"]),
        ({"argv": ("agent", "{session_id}")}, ["crash", "resume_refused"]),
        ({"harness": "claude"}, ["crash", "resume_refused"]),
    ],
)
def test_a_program_that_keeps_no_session_never_refused_a_resume(keys: dict[str, Any], found: list[str]) -> None:
    """A plain command that ends within seconds of each start had a second Case: it had refused to be resumed."""
    story = Story(spec(**keys))
    story.start()
    for _ in range(2):
        story.started()
        story.pass_over(1)
        story.exited(1)

    assert [one.detail for one in cases(story)] == found


def test_a_command_that_tells_of_its_work_by_hooks_can_refuse_a_resume() -> None:
    story = Story(spec()).works()
    for lived in (600, 1):
        story.pass_over(lived)
        story.exited(1)
        story.started()

    assert [one.detail for one in cases(story)] == ["crash", "resume_refused"]


def test_a_refused_resume_opens_a_case(story: Story) -> None:
    story.pass_over(400)
    story.exited(signal=9)
    story.respawned()
    story.tell(StartFailed(story.agent.name, story.run.incarnation, 0, "no such session", "resume refused"))

    assert [one.detail for one in cases(story)] == ["killed", "resume_refused"]
    story.respawned()
    assert [one.treatment for one in cases(story)[1].treated] == ["fresh"]


def test_a_command_that_cannot_be_executed_is_given_up() -> None:
    story = Story(spec())
    story.start()
    story.tell(StartFailed("a", story.run.incarnation, 127, "no such program"))

    assert (case(story).cause, case(story).detail) == ("logic_error", "configuration")
    assert treated(story) == [("abort", "open")]


def test_what_ends_as_it_should_opens_no_case(story: Story) -> None:
    story.hook("stop")
    story.stop()
    story.exited(signal=15)
    story.start()
    story.works()
    story.hook("stop")
    story.pass_over(400)
    story.exited(0)

    assert cases(story) == ()


def test_a_person_who_leaves_in_the_middle_of_a_turn_opens_no_case(story: Story) -> None:
    """Claude Code tells of no end of a turn that a person interrupted."""
    story.pass_over(20)
    story.hook("session-end", source="prompt_input_exit", by_person=True)
    story.exited(0)
    assert story.fleet.cases.cases == ()


def test_a_hook_that_is_heard_twice_is_one_failure(story: Story) -> None:
    story.hook("stop-failure", error="max_output_tokens", seq=7)
    story.hook("stop-failure", error="max_output_tokens", seq=7)

    assert case(story).incidents == 1


def test_the_clinic_orders_nothing_and_changes_no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """It must be no second restart policy: without authority it only watches, and the fleet decides alike."""
    watched = storm()
    clinic = (casebook.follow, acting.act)
    rows = {event: tuple(part for part in row if part not in clinic) for event, row in hearing.TABLE.items()}
    monkeypatch.setattr(hearing, "TABLE", rows)
    alone = storm()

    decided = [_without_notes(one) for one in watched.decisions if "its authority is observe" not in one.reason]
    assert alone.decisions == [one for one in decided if one is not None]
    assert replace(alone.fleet, cases=watched.fleet.cases) == watched.fleet
    assert len(cases(watched)) > 2
    assert cases(alone) == ()


def _without_notes(decision: Decision) -> Decision | None:
    """Without what the clinic noted; None for a row that holds nothing else."""
    facts = tuple(one for one in decision.facts if not isinstance(one, CaseNoted))
    is_a_note = not facts and not decision.actions and decision.facts and decision.reason.startswith("Case ")
    return None if is_a_note else replace(decision, facts=facts)


def storm() -> Story:
    """Deaths, hangs, limits and failed turns of one agent, until it is given up."""
    story = Story(claude(clinic=ClinicRules(OBSERVING))).works()
    story.hook("stop-failure", error="rate_limit", text="429")
    story.wait(7200)
    story.hook("stop-failure", error="max_output_tokens")
    for signal in (9, 11, 9, 9, 6):
        if story.agent.run is None:
            break
        turn(story)
        story.exited(signal=signal)
        story.wait(600)
        if story.agent.run is not None:
            story.works()
    return story


def test_what_an_event_changed_of_cases_is_told_for_the_tables(story: Story) -> None:
    story.hook("stop")
    ended = AgentExited(story.agent.name, story.run.incarnation, story.run.run_id, 1, None)
    told = step(story.fleet, ended, story.now)

    assert [noticed.occasion for kept in told.kept for noticed in kept.noticed] == ["crash"]
    assert all(noticed.case == kept.case.id for kept in told.kept for noticed in kept.noticed)


class Sub:
    """The story of one agent of several."""

    def __init__(self, story: Story, name: str) -> None:
        self.story, self.name = story, name

    def runs(self) -> None:
        self.story.tell(StartRequested(self.name))
        run = self.story.fleet.agents[self.name].run
        assert run is not None
        self.story.tell(AgentStarted(self.name, run.incarnation, run.run_id, 100, 1000))
        self.hook("session-start", session_id=run.session_id, source="startup")
        self.hook("prompt-submit", text="Build the shop.")

    def hook(self, kind: str, **details: Any) -> None:
        run = self.story.fleet.agents[self.name].run
        assert run is not None
        self.story.tell(hook_of(self.name, run.incarnation, kind, **details))


@pytest.mark.parametrize(
    ("held", "tried", "low", "high"), [(0, 8, 0.0, 0.3244), (8, 8, 0.6756, 1.0), (5, 10, 0.2366, 0.7634)]
)
def test_the_interval_is_wilsons_at_95_percent(held: int, tried: int, low: float, high: float) -> None:
    found = interval(held, tried)

    assert found == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))


def test_figures_count_what_is_known_alone() -> None:
    """Planted treatments that never help reach "held 0 of N"; what is open or moot is in no share."""
    group = ("transient_error", "killed", "retry", "resume", "claude")
    trials = [Trial(group, word, 2.0) for word in ("failed", "failed", "open", "moot")]  # type: ignore[arg-type]

    (found,) = figures(trials)

    assert (found.tried, found.held, found.open, found.moot, found.seconds) == (2, 0, 1, 1, 2.0)
    assert interval(0, 0) == (None, None)


def test_an_outcome_that_is_known_stays_as_it_is(story: Story) -> None:
    one = Treated(1, "a", 1, "resume", "restart", 0.0, 0.0, 2)
    failed = outcome.decided(one, "failed", "it came back", story.now)

    assert outcome.decided(failed, "held", "no", story.now) == failed
    assert outcome.turn_ends(failed, story.at, story.now) == failed
    assert outcome.turn_ends(one, story.at, story.now).outcome == "open", "no turn counts before a productive one"


def test_a_handoff_that_was_rolled_back_opens_a_case() -> None:
    story = HandoffStory()
    story.works()
    story.begins()
    story.comes_to_nothing()

    assert story.step is HandoffStep.ROLLED_BACK
    assert (case(story).detail, case(story).agents) == ("rolled_back", ("o",))
    story.hook("stop")
    assert case(story).incidents == 1, "it is told once"


def test_a_marker_that_was_lost_opens_a_case(story: Story) -> None:
    lost = MarkerNoted(story.run.incarnation, "checked", verdict="lost")
    decided = Step(story.fleet, (Decision(story.agent, reason="its marker is lost", facts=(lost,)),))

    after = casebook.follow(story.fleet, decided, Tick(), story.now)

    (found,) = after.fleet.cases.cases
    assert (found.detail, found.cause) == ("lost_marker", None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_in_any_storm_no_treatment_is_of_an_older_run_and_none_is_open_after_a_stop(seed: int) -> None:
    """F-CL-7: quarantine ends what it ended before, and what is known to have failed is never counted as held."""
    story, dice = Story(claude()), random.Random(seed)
    story.works()
    for _ in range(60):
        if story.agent.run is None:
            story.wait(dice.choice([1, 700, 7200]))
            if story.agent.run is None:
                story.start()
            if isinstance(story.state, Starting) and story.run.pid is None:
                story.works()
            continue
        strike(story, dice)
        for one in (one for found in cases(story) for one in found.treated):
            assert one.run == 0 or one.run >= one.incarnation
            assert (one.decided is None) == (one.outcome == "open")
            assert one.outcome != "held" or (one.productive is not None and one.turns > 0)
    if story.agent.run is not None:
        story.stop()
    elif story.state.name != "stopped":
        story.stop()

    assert story.fleet.cases.open_of("a") == ()
    assert story.fleet.cases.patient("a") is None


def strike(story: Story, dice: random.Random) -> None:
    """Something happens to the run."""
    story.pass_over(dice.choice([1, 30, 400]))
    match dice.choice(["turn", "turn", "death", "limit", "failed", "hang"]):
        case "turn":
            turn(story)
        case "death":
            story.exited(signal=dice.choice([6, 9, 11, 15]))
        case "limit":
            story.hook("stop-failure", error=dice.choice(["rate_limit", "server_error"]), text="no")
        case "failed":
            story.hook("stop-failure", error=dice.choice(["max_output_tokens", "odd", "billing_error"]), text="no")
        case _:
            story.wait(3600)
