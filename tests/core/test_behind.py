"""Promises 3 and 9: a journal that is behind the world kills nobody, starts nothing that was stopped, and is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.actions import PlantCodes, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Quarantined, Running, Stopped, Stopping
from phoenixd.core.behind.epochs import moves
from phoenixd.core.behind.verdicts import judge
from phoenixd.core.behind.world import GivenUp, KeptBreaker, Trace, Wish
from phoenixd.core.decision import Decision
from phoenixd.core.events.fleet import JournalBehind, Tick
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.fleet import Fleet
from phoenixd.core.iteration import Turn, Underway
from phoenixd.core.lifecycle import ends
from phoenixd.core.rules import ResonanceRules
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.step import step
from tests.core.behind import NEW, NOW, OLD, SPEC, R, S, agent, world
from tests.core.lost_journals import play_many
from tests.core.story import claude

ROUNDS = 200
"""`./dev proof journals` plays 10,000."""


@pytest.mark.slow
def test_promise_9_lost_journals_in_a_virtual_world() -> None:
    met = play_many(ROUNDS)
    assert len(met) == 5, met


CASES = [
    # What the journal has, the traces, and the verdict, state and wish that follow.
    ("it lives, a newer run", agent(), Trace("a", Wish("running", 18), "runs", NEW, NEW, 3), "adopt", Running, R),
    ("it lives, nobody knows it", None, Trace("a", None, "runs", NEW, NEW, 3), "adopt", Running, R),
    ("it lives, and its iteration is its last", agent(), Trace("a", Wish("ending", 21), "runs", NEW, NEW, 3), "adopt",
     Running, S),
    ("it lives, and was asked to stop", agent(), Trace("a", Wish("stopped", 21), "runs", NEW, NEW, 3), "stop",
     Stopping, S),
    ("it lives, and began after the stop", agent(), Trace("a", Wish("stopped", 19), "runs", NEW, NEW, 3), "adopt",
     Running, R),
    ("it was stopped", agent(2, R), Trace("a", Wish("stopped", 18), "idle", None, NEW, 3), "down", Stopped, S),
    ("it was stopped, without a shim", agent(2, R), Trace("a", Wish("stopped", 18), "none", None, NEW, 3), "down",
     Stopping, S),
    ("it was stopped, and its shim had recorded the end", agent(2, R),
     Trace("a", Wish("stopped", 18), "none", None, NEW, 3, ended=True), "down", Stopped, S),
    ("it is wanted, and what its shim recorded alone proves no end", agent(),
     Trace("a", Wish("running", 18), "none", None, NEW, 3, ended=True), "heal", Running, R),
    ("nothing is known, and its shim had recorded the end", None,
     Trace("a", None, "none", None, NEW, 3, ended=True), "wait", Stopping, S),
    ("it was stopped, on another boot", agent(2, R),
     Trace("a", Wish("stopped", 18), "none", None, replace(NEW, boot_id="older"), 3), "down", Stopped, S),
    ("it was stopped, nobody knows it", None, Trace("a", Wish("stopped", 18), "idle", None, NEW, 3), "down",
     Stopped, S),
    ("it was started, and died", agent(), Trace("a", Wish("running", 18), "idle", None, NEW, 3), "heal", Running, R),
    ("it was started, and never ran", agent(3), Trace("a", Wish("running", 18), "idle", None, NEW, 3), "heal",
     BackingOff, R),
    ("it was wanted before the reboot", None,
     Trace("a", Wish("running", 18), "none", None, replace(NEW, boot_id="older"), 3), "heal", BackingOff, R),
    ("nothing is known", agent(2, R), Trace("a", None, "idle", None, NEW, 3), "wait", Stopped, S),
    ("nothing is known, not even it", None, Trace("a"), "wait", Stopped, S),
    ("the journal has it stopped", agent(), Trace("a", None, "idle", None, OLD, 2), "keep", Stopped, S),
    ("its wish is older than the journal", agent(2, R), Trace("a", Wish("stopped", 12), "idle", None, OLD, 2), "keep",
     BackingOff, R),
    ("its shim is silent", agent(2, R), Trace("a", Wish("stopped", 18), "silent", None, OLD, 2), "keep", BackingOff, S),
    ("its shim is silent, and nobody knows it", None, Trace("a", Wish("running", 18), "silent", None, OLD, 2), "wait",
     Stopping, S),
    ("a silent shim, and it is to end", agent(2, R), Trace("a", Wish("ending", 18), "silent", None, OLD, 2), "keep",
     BackingOff, S),
    ("a silent shim, and it is wanted", agent(2, R), Trace("a", Wish("running", 18), "silent", None, OLD, 2), "keep",
     BackingOff, R),
    ("its shim is silent, and no wish is known", agent(2, R), Trace("a", None, "silent", None, OLD, 2), "wait",
     Stopping, S),
    ("it lives, after an older stop", agent(), Trace("a", Wish("stopped", 12), "runs", NEW, NEW, 3), "adopt",
     Running, R),
    ("the whole directory went back", agent(2, R), Trace("a", Wish("running", 18), "idle", None, OLD, 2, told=30),
     "wait", Stopped, S),
]  # fmt: skip


GIVEN_UP = Wish("running", 18, 3, given_up=GivenUp("5 crashes in 84 s", counted=True))


@pytest.mark.parametrize("known", [None, agent(2, R), agent(3, R)])
def test_promise_3_an_agent_that_was_given_up_waits_for_a_person_also_after_its_journal_was_lost(
    known: Agent | None,
) -> None:
    trace = Trace("a", GIVEN_UP, "idle", None, NEW, 3)
    judged = judge(world(trace), trace, known, SPEC, NOW)
    assert judged is not None
    assert judged.agent is not None
    after = judged.agent
    assert (judged.finding.verdict, after.state) == ("quarantine", Quarantined("5 crashes in 84 s", counted=True))
    assert after.desired is R
    assert [item.kind for item in after.items] == ["quarantined"]
    assert "it had been given up (5 crashes in 84 s), and waits until: phoenixctl start a" in after.reason

    fleet = Fleet(agents={"a": known} if known is not None else {})
    found = step(fleet, JournalBehind("it is lost", world(trace), (SPEC,)), NOW)
    later = step(found.fleet, Tick(), replace(NOW, at=NOW.at + 3600))
    assert not [
        one for out in (found, later) for made in out.decisions for one in made.actions if isinstance(one, Spawn)
    ]
    assert "1 given up before" in found.fleet.alerts[0].text


def test_promise_9_a_run_that_began_after_an_agent_was_given_up_is_healed_as_ever() -> None:
    trace = Trace("a", replace(GIVEN_UP, incarnation=2), "idle", None, NEW, 3)
    judged = judge(world(trace), trace, None, SPEC, NOW)
    assert judged is not None
    assert judged.finding.verdict == "heal"


def test_promise_9_a_quarantine_moves_the_epoch_so_that_a_journal_from_before_it_is_known_as_old() -> None:
    before, after = agent(2, R), replace(agent(2, R), state=Quarantined("5 crashes"))
    assert moves({"a": before}, [Decision(after)], Tick())
    assert not moves({"a": after}, [Decision(after)], Tick())


@pytest.mark.parametrize(("state", "verdict"), [("OPEN", "quarantine"), ("HALF_OPEN", "heal"), ("CLOSED", "heal")])
def test_g64_f_cb_9_the_breaker_is_as_its_file_says_where_the_journal_is_lost(state: str, verdict: str) -> None:
    spec = AgentSpec("a", ("x",), "/", kind=Kind.LOOP)
    kept = KeptBreaker(state, 4, 9, 5, 1, 2, "4 iterations did nothing")  # type: ignore[arg-type]
    trace = Trace("a", Wish("running", 18, 3), "idle", None, NEW, 3, breaker=kept)
    judged = judge(world(trace), trace, None, spec, NOW)
    assert judged is not None
    assert judged.agent is not None
    breaker = judged.agent.breaker
    assert (judged.finding.verdict, breaker.name) == (verdict, state)
    tally = breaker.tally
    assert (tally.no_progress, tally.iterations, tally.last_progress, tally.opens, tally.notes) == (4, 9, 5, 1, 2)
    if state == "OPEN":
        assert judged.agent.state == Quarantined("the breaker is open: 4 iterations did nothing")


def test_f_re_7_a_living_session_whose_marker_stands_on_the_disk_gets_new_codes_after_a_lost_journal() -> None:
    bears = claude("a", resonance=ResonanceRules(overflow="silent"))
    for anchored, expected in (("s", True), ("another", False), ("", False)):
        trace = Trace("a", Wish("running", 18), "runs", NEW, NEW, 3, anchored=anchored)
        fleet = step(Fleet(), JournalBehind("it is lost", world(trace), (bears,)), NOW).fleet
        known = fleet.agents["a"].resonance
        assert (known is not None) is expected
        if known is not None:
            assert known.state == "unverifiable"
            assert "which of its codes prove something is not known" in known.note
        adopted = step(fleet, RunAdopted("a", 3, 30, 1, unwatched=True), NOW)
        planted = [one for made in adopted.decisions for one in made.actions if isinstance(one, PlantCodes)]
        assert [one.why for one in planted] == (["missing"] if expected else [])


def test_promise_3_what_comes_after_a_run_that_the_journal_did_not_know_goes_back_to_that_runs_session() -> None:
    for living in (NEW, None):
        trace = Trace("a", Wish("running", 18), "runs" if living else "idle", living, NEW, 3)
        found = judge(world(trace), trace, agent(), SPEC, NOW).agent
        assert found is not None
        assert isinstance(found.state, Running)
        assert (found.state.run.run_id, found.session and found.session.session_id) == ("run-3", "s")


@pytest.mark.parametrize(
    ("known", "trace", "verdict", "state", "desired"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_promise_3_what_becomes_of_an_agent(
    known: Agent | None, trace: Trace, verdict: str, state: type[object], desired: Desired
) -> None:
    judged = judge(world(trace), trace, known, SPEC, NOW)
    assert judged is not None
    assert judged.agent is not None
    after = judged.agent
    assert (judged.finding.verdict, type(after.state), after.desired) == (verdict, state, desired)
    assert after.incarnation >= trace.incarnation
    assert after.found == judged.finding
    assert judged.finding.reason


def alive(known: Agent, wish: Wish | None) -> tuple[str, Agent]:
    trace = Trace("a", wish, "runs", NEW, NEW, 3)
    judged = judge(world(trace), trace, known, SPEC, NOW)
    assert judged is not None
    assert judged.agent is not None
    return judged.finding.verdict, judged.agent


def test_promise_3_a_run_that_journal_and_world_know_goes_on_as_it_is_wanted() -> None:
    """Also where it is being stopped, which a start that the journal lost takes back."""
    _, runs = alive(agent(), None)
    _, stops = alive(agent(), Wish("stopped", 21))
    assert isinstance(stops.state, Stopping)

    verdict, kept = alive(runs, Wish("running", 18))
    assert (verdict, kept.state, kept.desired) == ("keep", runs.state, R)
    verdict, kept = alive(runs, Wish("ending", 18))
    assert (verdict, kept.state, kept.desired) == ("keep", runs.state, S)
    verdict, kept = alive(stops, Wish("stopped", 21))
    assert (verdict, kept.state, kept.desired) == ("keep", stops.state, S)
    verdict, kept = alive(stops, Wish("ending", 21))
    assert (verdict, kept.state, kept.desired) == ("keep", stops.state, S)
    verdict, kept = alive(stops, Wish("running", 21))
    assert (verdict, type(kept.state), kept.desired, kept.run) == ("adopt", Running, R, stops.run)
    verdict, kept = alive(runs, Wish("stopped", 21))
    assert (verdict, type(kept.state), kept.run) == ("stop", Stopping, runs.run)
    at_it = replace(agent(), turns=(Turn(1, False),), iteration=Underway(1, None))
    _, adopted = alive(at_it, None)
    assert (adopted.turns, adopted.iteration) == ((), None), "nothing is known of the turns of another run"


def test_promise_9_a_session_that_the_journal_knows_is_as_new_as_its_newest_run() -> None:
    _, runs = alive(agent(), None)
    assert runs.session is not None
    for began, newest in ((NOW.wall - 50.0, NOW.wall - 50.0), (NOW.wall - 150.0, NOW.wall - 100.0)):
        known = replace(agent(), session=replace(runs.session, active_wall=NOW.wall - 100.0))
        run = replace(NEW, session_id=runs.session.session_id, began_wall=began)
        trace = Trace("a", None, "runs", run, run, 3)
        judged = judge(world(trace), trace, known, SPEC, NOW)
        assert judged is not None
        assert judged.agent is not None
        assert judged.agent.session is not None
        assert judged.agent.session.active_wall == newest


def test_what_nobody_declares_is_left_alone_and_what_was_removed_is_forgotten() -> None:
    stranger = Trace("a", None, "runs", NEW, NEW, 3)
    judged = judge(world(stranger), stranger, None, None, NOW)
    assert judged is not None
    assert (judged.finding.verdict, judged.agent) == ("leave", None)
    removed = Trace("a", Wish("removed", 18, 3), "none", None, NEW, 3)
    judged = judge(world(removed), removed, agent(2, R), None, NOW)
    assert judged is not None
    assert judged.forgotten
    assert judge(world(removed), removed, None, None, NOW) is None


def test_promise_9_whether_it_is_to_run_is_asked_until_somebody_says_it() -> None:
    """Also where what its run may have left is fenced first, and where all of that turns out to be gone."""
    trace = Trace("a", None, "none", None, NEW, 3)
    judged = judge(world(trace), trace, agent(3, R), SPEC, NOW)
    assert judged is not None
    assert judged.agent is not None
    assert isinstance(judged.agent.state, Stopping)
    down = ends.after_reboot(judged.agent, None, NOW).agent
    assert down is not None
    assert isinstance(down.state, Stopped)
    assert [item.kind for item in down.items] == ["recover"]


def test_promise_9_what_nobody_declares_and_what_does_not_live_is_not_started_by_an_old_journal() -> None:
    trace = Trace("a", Wish("running", 18, 3), "none", None, NEW, 3)
    for known in (agent(2, R), agent(3, R)):
        judged = judge(world(trace), trace, known, None, NOW)
        assert judged is not None
        assert judged.agent is not None
        assert (judged.finding.verdict, judged.agent.desired) == ("wait", Desired.STOPPED)
