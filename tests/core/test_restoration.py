"""Restoration in the core: the seed's seven steps, who may break them off, and when it is given up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from phoenixd.core.actions import PlantCodes, ReadSeed, Spawn, Terminate
from phoenixd.core.agent.state import Quarantined, Running, Starting, Stopped
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import AgentDeclared, AgentWithdrawn, RestartRequested, StopRequested
from phoenixd.core.events.resonance import CodesPlanted, RestorationRequested, SeedRead
from phoenixd.core.events.runs import AgentStarted, RunAdopted
from phoenixd.core.hooks import SessionStarted
from phoenixd.core.projection import row
from phoenixd.core.resonance import restoring
from phoenixd.core.resonance.state import Step
from phoenixd.core.rules import LimitRules, ResonanceRules, ResumeRules
from phoenixd.core.spec import Kind
from phoenixd.core.treatment.outcome import TURNS
from phoenixd.documents.hooks import hook_of
from tests.core.resonating import PERSONA, ResonanceStory, hexes_in, resonant
from tests.journaled import dump_agent, load_agent


def forgetful(papers: str = "well", **rules: object) -> ResonanceStory:
    """An agent that has lost the front of its context, which two checks in a row have shown."""
    told = ResonanceStory(resonant(**{"interval_turns": 2, **rules})).begins()
    told.turn()
    told.memory = None
    told.papers = papers
    lose(told)
    return told


def lose(told: ResonanceStory) -> None:
    """Turns until its context is known to be lost."""
    told.memory = None
    before = told.verdicts.count("lost")
    for _ in range(20):
        told.turn()
        if told.verdicts.count("lost") > before:
            return
    raise AssertionError(f"no loss was found: {told.verdicts}")


def ended(told: ResonanceStory) -> None:
    """The run that is being ended is over, and the next one begins."""
    told.exited(143)
    told.respawned()


def renewed(told: ResonanceStory) -> None:
    """Bring the restoration to its verification."""
    ended(told)
    told.up()
    told.hook("prompt-submit", text="continue")


def test_r36_r41_r48_the_seven_steps_come_in_their_order_and_the_work_goes_on() -> None:
    told = forgetful()
    lost_in = told.agent.session
    assert told.steps == [1, 2, 3]
    assert lost_in is not None
    assert told.of(ReadSeed)
    assert told.of(Terminate)

    renewed(told)
    assert told.steps == [1, 2, 3, 4, 5]
    assert told.spawn.mode.value == "fresh"
    assert told.spawn.session_id != lost_in.session_id, "R38: never the session that was cut"
    assert row(told.agent, told.now).state == "restoring"
    assert told.ready is not None
    told.ends_turn("I go on.")

    assert told.steps == [1, 2, 3, 4, 5, 6]
    assert (told.known.state, told.known.step) == ("intact", 0)
    assert row(told.agent, told.now).state == "running"
    assert not told.agent.alerts, "the alert of the loss is over"


def test_r41_an_agent_whose_turn_had_ended_comes_back_idle_and_is_told_nothing_to_do_again() -> None:
    found, ordered = forgetful(), ResonanceStory(replace(resonant(), prompt="Build the shop.")).begins()
    assert ordered.tell(RestorationRequested("a")) is None
    for told in (found, ordered):
        assert told.agent.spec.prompt is not None or told.agent.last_prompt is not None
        told.exited(143)
        told.respawned()
        assert (told.spawn.mode.value, told.spawn.prompt.value) == ("fresh", "none")
    assert found.agent.last_exit is not None
    assert found.agent.last_exit.ordered, "no failure: phoenixd itself ended it"


def test_r41_a_turn_that_was_open_or_work_in_the_background_is_gone_on_with() -> None:
    told = forgetful(papers="never")
    told.papers = "well"
    told.hook("prompt-submit", text="One more thing.")
    told.exited(1)
    told.respawned()
    assert (told.spawn.mode.value, told.spawn.prompt.value) == ("fresh", "continue")

    told = forgetful(papers="never")
    told.papers = "well"
    told.hook("prompt-submit", text="One more thing.")
    told.hook("stop", text="It runs.", jobs=("make world",))
    told.tell(SeedRead("a", 1))
    told.exited(143)
    told.respawned()
    assert (told.spawn.mode.value, told.spawn.prompt.value) == ("fresh", "continue")


def test_r50_what_is_gone_on_from_is_noted_by_the_time_of_its_seed() -> None:
    told = forgetful(papers="never")
    told.tell(SeedRead("a", 1, words="It builds the shop.", checkpoint=told.wall - 90))
    told.papers = "well"
    read_at = told.wall - 90
    renewed(told)
    told.ends_turn("I go on.")

    assert told.steps[-1] == 6
    assert [fact.checkpoint for fact in told.facts if fact.what == "restoration"] == [None] * 5 + [read_at]


def test_r39_r54_the_new_session_has_a_new_marker_and_is_told_before_it_begins() -> None:
    told = forgetful()
    old = told.plantings[-1]
    told.decisions.clear()
    ended(told)

    orders = [action for action in told.actions if isinstance(action, PlantCodes | Spawn)]
    assert [type(one) for one in orders] == [PlantCodes, Spawn]
    assert isinstance(orders[0], PlantCodes)
    assert orders[0].why == "restoration"
    new = told.plantings[-1]
    assert not hexes_in(" ".join(new.hexes()), old)


def test_r40_a_miss_in_the_new_session_is_asked_again_and_is_no_escalation() -> None:
    told = forgetful()
    renewed(told)
    told.ends_turn(answer="No.")
    assert told.steps == [1, 2, 3, 4, 5]
    told.turn()

    assert told.steps[-1] == 6


def test_r42_a_new_session_that_does_not_know_its_marker_either_is_paused_and_a_person_is_called() -> None:
    told = forgetful()
    renewed(told)
    told.memory = None
    told.ends_turn()
    told.turn()
    assert told.steps == [1, 2, 3, 4, 5, 7]
    told.exited(143)

    assert isinstance(told.state, Quarantined)
    assert told.state.cause.startswith("marker lost: ")
    assert [item.kind for item in told.agent.items] == ["quarantined"]
    told.wait(7200)
    assert isinstance(told.state, Quarantined)


def test_f_re_9_at_most_two_in_an_hour_then_it_is_given_up_and_start_re_arms() -> None:
    told = forgetful()
    for _ in range(2):
        renewed(told)
        told.ends_turn()
        assert told.steps[-1] == 6
        lose(told)
    assert told.steps == [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 7]
    told.exited(143)
    assert isinstance(told.state, Quarantined)
    assert "3 times within an hour" in told.state.cause

    told.start()
    assert told.spawn.mode.value == "fresh"
    told.up()
    told.hook("prompt-submit", text="continue")
    told.ends_turn()
    told.turn()
    assert (told.known.state, told.known.lost) == ("intact", "")
    lose(told)
    assert told.steps[-3:] == [1, 2, 3], "the count begins anew"


def test_two_restorations_that_lie_an_hour_apart_are_no_loop() -> None:
    told = forgetful(max_per_hour=1)
    renewed(told)
    told.ends_turn()
    told.wait(3601)
    lose(told)

    assert told.steps[-3:] == [1, 2, 3]


STOPS: dict[str, Callable[[ResonanceStory], object]] = {
    "stop": lambda told: told.tell(StopRequested("a")),
    "restart": lambda told: told.tell(RestartRequested("a")),
    "remove": lambda told: told.tell(AgentWithdrawn("a")),
}


def at(step: Step) -> ResonanceStory:
    """A restoration that waits in this step."""
    told = forgetful(papers="never" if step is Step.SEED else "well")
    if step in (Step.LOG, Step.SEED):
        return told
    if step is Step.SESSION:
        return told
    if step is Step.INJECT:
        told.papers = "never"
        ended(told)
        told.up()
        return told
    renewed(told)
    if step is Step.ESCALATE:
        told.memory = None
        told.ends_turn()
        told.turn()
    if step is Step.RESUME:
        told.ends_turn()
    return told


def test_promise_8_a_turn_is_told_as_endless_by_its_own_age_and_not_by_that_of_a_limit_before_it() -> None:
    told = at(Step.VERIFY)
    told.hook("prompt-submit", text="Go on.")
    told.hook("stop-failure", error="rate_limit", reset_wall=told.wall + 2 * 3600)
    while told.agent.parking is not None:
        told.wait(60)
    assert told.alerts().count("resonance") == 0, "its turn has just begun"
    for _ in range(61):
        told.hook("tool-start", tool="Bash")
        told.hook("tool-end", tool="Bash")
        told.wait(60)
    assert told.alerts().count("resonance") == 1


@pytest.mark.parametrize("order", STOPS)
@pytest.mark.parametrize("step", [one for one in Step if one is not Step.LOG])
def test_an_operators_order_wins_at_every_step(step: Step, order: str) -> None:
    told = at(step)
    assert told.known.restoration is not None
    assert told.known.restoration.step is step
    assert STOPS[order](told) is None
    for _ in range(3):
        if told.fleet.agents and told.agent.run is not None and not isinstance(told.state, Running):
            told.exited(143) if told.state.name == "stopping" else told.up()

    if order == "remove":
        assert not told.fleet.agents
        return
    if order == "stop":
        assert isinstance(told.state, Stopped)
        told.wait(7200)
        assert isinstance(told.state, Stopped)
        return
    assert isinstance(told.state, Running), told.agent.reason
    assert not told.known.is_restoring
    assert not told.known.lost


@pytest.mark.parametrize("step", [Step.SEED, Step.SESSION, Step.INJECT, Step.VERIFY])
def test_an_agent_whose_resonance_is_switched_off_meanwhile_is_left_at_work(step: Step) -> None:
    """Nothing can verify it any more: it was ended and paused as one whose new session does not know its marker."""
    told = at(step)
    told.tell(AgentDeclared(replace(told.agent.spec, resonance=ResonanceRules(enabled="off"))))
    if told.state.name == "stopping":
        ended(told)
        told.up()
    told.hook("stop")
    told.wait(2 * 3600)

    assert isinstance(told.state, Running), told.agent.reason
    assert not told.known.is_restoring
    assert told.agent.alerts == ()


@pytest.mark.parametrize("step", [Step.SEED, Step.SESSION, Step.INJECT, Step.VERIFY])
def test_a_daemon_that_begins_in_any_step_goes_on_with_it(step: Step) -> None:
    told = at(step)
    loaded = load_agent(dump_agent(told.agent))
    assert loaded.resonance == told.agent.resonance
    told.fleet = replace(told.fleet, agents={"a": loaded})
    told.papers = "well"
    if told.agent.run is not None:
        held = tuple((one.answer.id, 0) for one in told.agent.armed if not one.over)
        told.tell(RunAdopted("a", told.run.incarnation, 100, 1000, link=2, armed=held))
    told.wait(61)
    for _ in range(4):
        if told.state.name == "stopping":
            ended(told)
        if told.state.name == "starting":
            told.up()
        if isinstance(told.state, Running) and told.steps[-1] != 6:
            told.turn()

    assert told.steps[-1] == 6, told.steps


def test_a_seed_that_is_not_read_holds_it_up_for_a_minute_alone() -> None:
    told = forgetful(papers="never")
    assert told.steps == [1, 2]
    told.wait(30)
    assert told.steps == [1, 2]
    told.wait(31)

    assert told.steps == [1, 2, 3]
    assert told.known.restoration is not None
    assert "could not be read in time" in told.known.restoration.rebuilt


def test_a_daemon_that_begins_reads_the_seed_that_the_one_before_did_not() -> None:
    told = forgetful(papers="never")
    told.papers = "well"
    told.tell(RunAdopted("a", 1, 100, 1000, link=2, armed=()))

    assert told.steps == [1, 2, 3]
    assert told.known.restoration is not None
    assert told.known.restoration.rebuilt == ""


def test_f_re_8_a_seed_that_was_made_anew_is_said_to_be() -> None:
    told = forgetful(papers="never")
    told.tell(SeedRead("a", 1, "it was torn: made of state and brief"))

    assert told.steps == [1, 2, 3]
    assert any("it was torn" in reason for reason in told.reasons)


def test_nothing_is_ended_inside_a_turn() -> None:
    told = forgetful(papers="never")
    told.hook("prompt-submit", text="One more thing.")
    told.tell(SeedRead("a", 1))
    assert told.steps == [1, 2]
    told.hook("stop", text="Done.")

    assert told.steps == [1, 2, 3]


def test_a_limit_owns_the_run_first() -> None:
    told = forgetful(papers="never")
    told.hook("prompt-submit", text="One more thing.")
    told.hook("stop-failure", error="rate_limit", reset_wall=told.wall + 7200)
    assert told.agent.state_name == "parked"
    told.tell(SeedRead("a", 1))

    assert told.steps == [1, 2]


def test_a_run_that_dies_meanwhile_is_followed_by_a_new_session_and_not_by_the_lost_one() -> None:
    told = forgetful(papers="never")
    told.papers = "well"
    told.exited(1)
    told.respawned()
    assert told.spawn.mode.value == "fresh"
    told.up()
    told.hook("prompt-submit", text="continue")
    told.ends_turn()

    assert told.steps == [1, 2, 3, 4, 5, 6]


def test_a_new_session_that_cannot_be_asked_is_an_escalation_at_once() -> None:
    told = forgetful()
    ended(told)
    told.up(link=1)

    assert told.steps[-1] == 7
    assert "older version" in told.known.lost


def test_a_new_session_whose_shim_has_not_said_yet_what_it_can_do_is_waited_for() -> None:
    told = forgetful()
    ended(told)
    told.up(link=0)
    told.hook("prompt-submit", text="continue")
    assert told.steps[-1] == 5
    told.tell(RunAdopted("a", told.run.incarnation, 100, 1000, link=2, armed=()))
    told.ends_turn("I go on.")

    assert told.steps[-1] == 6


def test_codes_that_never_come_for_the_new_session_are_an_escalation() -> None:
    told = forgetful()
    told.papers = "never"
    ended(told)
    told.up()
    told.hook("prompt-submit", text="continue")
    told.hook("stop", text="I go on.")
    assert told.steps == [1, 2, 3, 4]
    told.wait(601)

    assert told.steps[-1] == 7
    told.exited(143)
    assert isinstance(told.state, Quarantined)


def test_a_limit_in_the_new_session_is_waited_out_before_its_codes_are_given_up() -> None:
    told = forgetful()
    told.papers = "never"
    ended(told)
    told.up()
    told.hook("prompt-submit", text="continue")
    told.hook("stop-failure", error="rate_limit", reset_wall=told.wall + 1500)
    told.wait(1200)

    assert told.steps == [1, 2, 3, 4]
    assert (told.known.lost, told.agent.parking is not None) == ("", True)
    told.wait(2000)
    assert told.steps[-1] == 7, "the limit is over"


def test_r42_a_new_session_that_a_limit_keeps_down_has_its_whole_time_afterwards() -> None:
    """Its run tells of the limit by how it ends, and the next one begins long after the codes were to be there."""
    told = forgetful()
    told.tell(AgentDeclared(replace(told.agent.spec, limits=LimitRules(exit_codes=(75,)))))
    ended(told)
    told.pass_over(5)
    told.exited(75)
    assert told.agent.parking is not None
    told.wait(told.agent.parking.until_wall - told.wall + 1)
    assert told.at > restoring.INJECT_WITHIN
    assert isinstance(told.state, Starting), told.agent.reason

    told.up()
    told.hook("prompt-submit", text="continue")
    told.ends_turn()
    assert told.steps == [1, 2, 3, 4, 5, 6]


def test_where_it_is_switched_off_a_loss_is_told_and_the_agent_is_left_alone() -> None:
    told = forgetful(restore=False)

    assert told.steps == []
    assert isinstance(told.state, Running)
    assert "resonance" in told.alerts()
    assert told.turn() is None
    told.restart()
    told.exited(143)
    assert told.known.lost == ""


def test_an_operator_can_order_one_and_it_needs_no_loss() -> None:
    told = ResonanceStory(resonant(interval_turns=50)).begins()
    assert told.tell(RestorationRequested("a")) is None
    assert told.steps == [1, 2, 3]
    refusal = told.tell(RestorationRequested("a"))
    assert refusal is not None
    renewed(told)
    refusal = told.tell(RestorationRequested("a"))
    assert refusal is not None
    assert "already" in refusal.message
    told.ends_turn()

    assert told.steps == [1, 2, 3, 4, 5, 6]
    assert "marker lost" not in told.alerts()


def test_a_codes_word_that_comes_late_belongs_to_an_older_run() -> None:
    told = forgetful()
    renewed(told)
    planting = told.known.planting
    told.tell(CodesPlanted("a", 1, told.minted(), told.wall, PERSONA))

    assert told.known.planting == planting


def test_an_orchestrator_with_a_project_is_handed_over_instead() -> None:
    spec = replace(resonant(interval_turns=2), kind=Kind.ORCHESTRATOR, project="shop")
    told = ResonanceStory(spec).begins()
    lose(told)

    assert told.steps == []
    assert told.known.lost
    assert any("its seat is handed over" in reason for reason in told.reasons)


def test_the_lost_holder_of_a_seat_hands_it_over_degraded() -> None:
    spec = replace(resonant("o", interval_turns=2), kind=Kind.ORCHESTRATOR, project="shop")
    told = ResonanceStory(spec).begins()
    lose(told)
    handoff = told.fleet.seats["o"].handoff

    assert handoff is not None
    assert handoff.trigger == "marker"
    assert "lost the front of its context" in handoff.degraded[0]
    assert told.verdicts[-1] == "lost"
    assert told.turn(words="Finished.") is None or told.ready is None, "a handoff's freeze owns the run"


def test_a_new_session_that_dies_before_its_check_is_asked_at_the_first_turns_end_of_the_next() -> None:
    told = forgetful(interval_turns=9)
    told.fleet = replace(
        told.fleet, agents={"a": replace(told.agent, spec=replace(told.agent.spec, resume=ResumeRules(enabled=False)))}
    )
    renewed(told)
    told.exited(1)
    told.respawned()
    assert told.spawn.mode.value == "fresh"
    told.up()
    told.hook("prompt-submit", text="continue")
    told.ends_turn()

    assert told.steps[-1] == 6


def test_codes_that_an_older_daemon_ordered_for_the_new_session_are_told_at_a_turns_end() -> None:
    """The session may have begun with others, or with none: what nobody told it is no loss."""
    told = forgetful()
    told.papers = "never"
    ended(told)
    told.up()
    told.papers, told.memory = "well", None
    told.tell(RunAdopted("a", told.run.incarnation, 100, 1000, link=2, armed=()))
    assert told.of(PlantCodes)[-1].why == "missing"
    told.hook("prompt-submit", text="continue")
    told.ends_turn()
    told.turn()

    assert told.steps == [1, 2, 3, 4, 5, 6]


def test_a_session_that_began_while_no_daemon_lived_is_told_its_codes_and_is_no_loss() -> None:
    """kill -9 between the spawn and the first words of the session: nobody wrote them, and it knows no code."""
    told = forgetful()
    ended(told)
    run = told.run
    told.tell(AgentStarted("a", run.incarnation, run.run_id, 100, 1000, 2))
    began = hook_of("a", run.incarnation, "session-start", session_id=run.session_id, source="startup")
    assert isinstance(began, SessionStarted)
    told.tell(replace(began, unheard=True))
    told.memory = None
    told.hook("prompt-submit", text="continue")
    told.hook("stop", text="I go on.")
    told.tell(RunAdopted("a", run.incarnation, 100, 1000, link=2, armed=()))
    told.turn()
    told.turn()

    assert told.steps == [1, 2, 3, 4, 5, 6]
    assert "lost" not in told.verdicts[told.verdicts.index("lost") + 1 :]


def test_a_session_whose_beginning_was_heard_is_told_nothing_anew_by_a_daemon_that_begins() -> None:
    told = ResonanceStory(resonant(interval_turns=2)).begins()
    told.memory = None
    told.tell(RunAdopted("a", 1, 100, 1000, link=2, armed=()))
    for _ in range(3):
        told.turn()

    assert "lost" in told.verdicts


def test_a_start_of_an_agent_that_is_lost_and_left_alone_changes_nothing() -> None:
    told = forgetful(restore=False)
    lost = told.known.lost
    assert told.start() is None
    assert told.known.lost == lost, "it still runs in the lost session"


def test_r38_a_lost_session_is_never_gone_back_to_where_nothing_restores_it() -> None:
    told = forgetful(restore=False)
    told.exited(1)
    told.respawned()

    assert told.spawn.mode.value == "fresh"
    assert told.known.lost == ""
    told.up()
    told.hook("prompt-submit", text="continue")
    told.ends_turn()
    told.turn()
    assert told.known.state == "intact"


def test_resonance_that_is_switched_off_hands_nothing_over_and_ends_the_alert() -> None:
    told = forgetful(restore=False)
    assert told.agent.alerts
    off = replace(told.agent.spec, resonance=ResonanceRules(enabled="off"))
    told.tell(AgentDeclared(off))
    told.tell(Tick())

    assert not told.agent.alerts
    assert restoring.hands_over(replace(told.agent, spec=replace(off, kind=Kind.ORCHESTRATOR, project="shop"))) == ""


def treated(told: ResonanceStory) -> list[tuple[str, str, str]]:
    (case,) = told.fleet.cases.cases
    return [(one.treatment, one.by, one.outcome) for one in case.treated]


def test_c2_the_case_of_a_lost_marker_says_that_the_context_was_restored_and_what_came_of_it() -> None:
    told = forgetful()
    assert treated(told) == [("restore", "resonance", "open")]
    renewed(told)
    assert treated(told) == [("restore", "resonance", "open")], "the run that ends for it is no other order's"
    told.ends_turn("I go on.")
    assert treated(told) == [("restore", "resonance", "open")], "no outcome is known before the work goes on"

    for _ in range(TURNS + 1):
        told.turn()

    assert treated(told) == [("restore", "resonance", "held")]
    (case,) = told.fleet.cases.cases
    assert (case.outcome, case.closed is not None) == ("held", True)


def test_c2_a_restoration_that_ends_with_a_person_has_failed() -> None:
    told = forgetful()
    renewed(told)
    told.memory = None
    told.ends_turn()
    told.turn()

    assert treated(told)[0] == ("restore", "resonance", "failed")


def test_c2_a_stop_in_the_middle_of_a_restoration_leaves_its_outcome_open_to_nobody() -> None:
    told = forgetful()
    told.tell(StopRequested("a", "operator"))
    told.exited(143)

    assert treated(told) == [("restore", "resonance", "moot")]
