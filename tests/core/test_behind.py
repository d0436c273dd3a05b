"""Promises 3 and 9: a journal that is behind the world kills nobody, starts nothing that was stopped, and is told."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from phoenixd.core import projection
from phoenixd.core.actions import PlantCodes, Spawn, Terminate
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Desired, Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.behind.epochs import moves
from phoenixd.core.behind.plan import ITEM_GAP, ROW_GAP, first_row_after
from phoenixd.core.behind.verdicts import judge, lag
from phoenixd.core.behind.world import GivenUp, KeptBreaker, SeenRun, Trace, Wish, Word, World
from phoenixd.core.condition import activity_word, group
from phoenixd.core.decision import Decision
from phoenixd.core.declarations import declared
from phoenixd.core.events.fleet import EpochBegun, JournalBehind, RecoveryConfirmed, Tick
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    OperatorEvent,
    RestartRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.runs import AgentExited, AgentStarted, RunAdopted
from phoenixd.core.events.tasks import TaskCollected
from phoenixd.core.fleet import Fleet
from phoenixd.core.iteration import Turn, Underway
from phoenixd.core.lifecycle import ends
from phoenixd.core.moment import Moment
from phoenixd.core.rules import LoopRules, Member, ResonanceRules
from phoenixd.core.spec import AgentSpec, Kind
from phoenixd.core.step import step
from phoenixd.core.tasks.state import Tasks
from tests.core.lost_journals import play_many
from tests.core.story import Story, claude
from tests.core.workers import DONE, Works

ROUNDS = 200
"""`./dev proof journals` plays 10,000."""

NOW = Moment(100.0, 1e9)
SPEC = AgentSpec("a", ("x",), "/")
OLD = SeenRun(2, "run-2", "s", "fresh", 20, 1, 9e8, 10, "boot")
NEW = SeenRun(3, "run-3", "s", "resume", 30, 1, 9e8, 20, "boot")


@pytest.mark.slow
def test_promise_9_lost_journals_in_a_virtual_world() -> None:
    met = play_many(ROUNDS)
    assert len(met) == 5, met


def agent(incarnation: int = 2, desired: Desired = Desired.STOPPED) -> Agent:
    """As a journal has it: down, or about to start."""
    known = replace(declared(SPEC, NOW, incarnation), desired=desired)
    return known if desired is Desired.STOPPED else replace(known, state=BackingOff(1, Mode.FRESH, PromptKind.GOAL))


def world(trace: Trace, journal: int = 15, epoch: int = 20) -> World:
    return World("boot", journal, epoch, (trace,))


R, S = Desired.RUNNING, Desired.STOPPED
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


CLAUDE = replace(SPEC, harness="claude", prompt="Build the shop.")


@pytest.mark.parametrize(
    ("declared", "heard", "word", "is_guessed"),
    [
        (SPEC, "", None, False),
        (SPEC, "session-start", "idle", False),
        (SPEC, "stop", "idle", False),
        (SPEC, "tool-end", "working", False),
        (SPEC, "notification", None, True),
        (CLAUDE, "", None, True),
        (CLAUDE, "session-start", None, True),
        (CLAUDE, "stop", "idle", False),
        (CLAUDE, "stop-failure", "idle", False),
        (CLAUDE, "prompt-submit", "working", False),
        (CLAUDE, "of a subagent", None, True),
    ],
)
def test_x9_what_an_adopted_agent_is_at_is_what_its_shim_last_heard_and_unknown_where_that_does_not_tell(
    declared: AgentSpec, heard: str, word: str | None, is_guessed: bool
) -> None:
    """A program that never tells of its turns is no idle one because the journal was lost."""
    trace = Trace("a", Wish("running", 18), "runs", replace(NEW, heard=heard), NEW, 3)
    judged = judge(world(trace), trace, None, declared, NOW)
    assert judged is not None
    assert judged.agent is not None
    assert isinstance(judged.agent.state, Running)
    assert (activity_word(judged.agent), judged.agent.state.run.guessed) == (word, is_guessed)
    assert judged.agent.hooks_seen is bool(heard)
    assert group(judged.agent) == ("resting" if word == "idle" else "working")


@pytest.mark.parametrize(("screen", "word"), [("working", "working"), ("idle", "idle")])
def test_an_adopted_agent_of_which_nothing_is_known_is_looked_at_and_is_then_what_its_screen_says(
    screen: str, word: str
) -> None:
    trace = Trace("a", Wish("running", 18), "runs", NEW, NEW, 3)
    story = Story()
    story.fleet = Fleet()
    story.screen = None
    story.tell(JournalBehind("it is lost", world(trace), (CLAUDE,)))
    story.tell(RunAdopted("a", 3, 30, 1, True))
    assert activity_word(story.agent) is None
    story.screen = "unknown"
    story.wait(30)
    assert activity_word(story.agent) is None, "a look that tells nothing is no look"
    story.screen = screen
    story.wait(60)
    assert activity_word(story.agent) == word
    assert not projection.row(story.agent, story.now).is_guessed


def test_a_hook_tells_what_an_adopted_agent_is_at_before_any_look() -> None:
    trace = Trace("a", Wish("running", 18), "runs", NEW, NEW, 3)
    for kind, word in (("tool-end", None), ("tool-start", "working"), ("stop", "idle"), ("prompt-submit", "working")):
        story = Story()
        story.fleet = Fleet()
        story.screen = None
        story.tell(JournalBehind("it is lost", world(trace), (CLAUDE,)))
        story.hook(kind, **({"text": "on"} if kind == "prompt-submit" else {}))
        assert activity_word(story.agent) == word, kind


MEMBER = replace(SPEC, turn_of="first")


def member(*, left_out: bool) -> Agent:
    return replace(agent(), spec=MEMBER, left_out=left_out)


@pytest.mark.parametrize(
    ("known", "wish", "is_left_out"),
    [
        (None, Wish("stopped", 18, 2, left_out=True), True),
        (None, Wish("stopped", 18, 2), False),
        (member(left_out=False), Wish("stopped", 18, 2, left_out=True), True),
        (member(left_out=True), Wish("stopped", 18, 2), False),
        (member(left_out=False), Wish("stopped", 12, 2, left_out=True), False),
        (member(left_out=True), Wish("stopped", 12, 2), True),
        (member(left_out=True), None, True),
    ],
)
def test_promise_3_a_member_of_a_sequence_that_was_stopped_between_turns_has_none_after_a_lost_journal(
    known: Agent | None, wish: Wish | None, is_left_out: bool
) -> None:
    """The newer of wish and journal says it; both have it down in any case."""
    trace = Trace("a", wish, "idle", None, OLD, 2)
    judged = judge(world(trace), trace, known, MEMBER, NOW)
    assert judged is not None
    assert judged.agent is not None
    assert (type(judged.agent.state), judged.agent.left_out) == (Stopped, is_left_out)


def test_promise_3_a_wish_that_is_older_than_the_shims_says_nothing_of_turns() -> None:
    trace = Trace("a", Wish("stopped", 18, 2, left_out=True), "idle", None, OLD, 2, told=30)
    judged = judge(world(trace), trace, member(left_out=False), MEMBER, NOW)
    assert judged is not None
    assert judged.agent is not None
    assert not judged.agent.left_out


def test_promise_3_no_turn_begins_a_member_of_which_a_person_has_yet_to_say_whether_it_is_to_run() -> None:
    """Journal and wishes are lost, and the first member of its sequence lives."""
    lead = replace(SPEC, name="first", kind=Kind.LOOP, loop=LoopRules(sequence=(Member("a"),)))
    later = replace(MEMBER, kind=Kind.LOOP, autostart=False)
    story = Story()
    story.fleet = Fleet()
    traces = (Trace("first", None, "runs", replace(NEW, epoch=20), NEW, 3), Trace("a", None, "idle", None, OLD, 2))
    story.tell(JournalBehind("it was lost", World("boot", 0, 20, traces), (lead, later)))
    story.tell(AgentExited("first", 3, "run-3", 0, None))

    def iterates() -> None:
        story.wait(60)
        run = story.fleet.agents["first"].run
        assert run is not None
        story.tell(AgentStarted("first", run.incarnation, run.run_id, 5, 50))
        story.pass_over(400)
        story.tell(AgentExited("first", run.incarnation, run.run_id, 0, None))

    iterates()
    assert isinstance(story.fleet.agents["a"].state, Stopped)
    assert any("no turn for a: whether it was stopped is not known" in reason for reason in story.reasons)
    story.tell(RecoveryConfirmed())
    iterates()
    assert isinstance(story.fleet.agents["a"].state, Starting)


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


def faced(*names: str, stranger: str = "") -> Fleet:
    """After a lost journal: agents that wait, and maybe one that lives and that nobody declares."""
    specs = tuple(replace(SPEC, name=name, autostart=True) for name in names)
    traces = [Trace(name) for name in names]
    if stranger:
        traces.append(Trace(stranger, None, "runs", NEW, NEW, 3))
    event = JournalBehind("it is lost", World("boot", 0, 5, tuple(traces)), specs)
    return step(Fleet(), event, NOW).fleet


def test_rows_are_numbered_anew_each_time_also_where_the_same_copy_comes_back_twice() -> None:
    """Who follows them knows those of the first time."""
    world, floors = World("boot", 0, 5), [0]
    for _ in range(3):
        faced = step(Fleet(), JournalBehind("it is lost", world, ()), NOW).fleet
        floors.append(first_row_after(faced.epoch))
        world = replace(world, epoch=faced.epoch)
    assert all(later - earlier >= ROW_GAP for earlier, later in pairwise(floors))
    # An agent may have written an epoch of any size, and readers of JSON have no more digits.
    assert first_row_after(2**60) + ROW_GAP // 10 < 2**53


def told(fleet: Fleet) -> str:
    return " ".join(one.text for one in fleet.alerts)


@pytest.mark.parametrize(
    "order", [StartRequested("a"), StopRequested("a"), RestartRequested("a"), AgentWithdrawn("a")], ids=str
)
def test_what_an_operator_ordered_since_is_not_proposed_any_more(order: OperatorEvent) -> None:
    fleet = faced("a", "b", stranger="c")
    assert "waiting for you: a, b" in told(fleet)
    fleet = step(fleet, order, NOW).fleet
    assert "a" not in fleet.agents or fleet.agents["a"].found is None
    assert not any(item.kind == "recover" for name in fleet.agents if name != "b" for item in fleet.agents[name].items)
    assert "waiting for you: b, alive, and declared by nobody: c. Do: phoenixctl recover" in told(fleet)
    seen = World("boot", 0, 5, (Trace("c", None, "runs", NEW, NEW, 3),))
    fleet = step(fleet, AgentDeclared(replace(SPEC, name="c"), world=seen), NOW).fleet
    assert "waiting for you: b. Do: phoenixctl recover" in told(fleet)
    assert "nobody" not in told(fleet)
    wanted = {name: agent.desired for name, agent in fleet.agents.items() if name != "b"}
    after = step(fleet, RecoveryConfirmed(), NOW).fleet
    assert {name: agent.desired for name, agent in after.agents.items() if name != "b"} == wanted
    assert after.agents["b"].desired is Desired.RUNNING
    # Who decides on each of them has nothing left to confirm.
    assert told(step(fleet, StopRequested("b"), NOW).fleet) == told(after) == ""


def test_an_order_that_was_refused_settles_nothing() -> None:
    fleet = faced("a")
    refused = step(fleet, SendRequested("a", "hi", "m"), NOW)
    assert refused.refusal is not None
    assert refused.fleet == fleet


@pytest.mark.parametrize("start", [False, True])
@pytest.mark.parametrize(
    ("wish", "state", "desired"),
    [(None, Running, R), (Wish("running", 18), Running, R), (Wish("removed", 25), Running, R),
     (Wish("stopped", 25), Stopping, S)],
)  # fmt: skip
def test_promise_2_what_lives_is_adopted_when_it_is_declared_and_nothing_is_started_over_it(
    start: bool, wish: Wish | None, state: type[object], desired: Desired
) -> None:
    seen = world(Trace("a", wish, "runs", NEW, NEW, 3))
    result = step(Fleet(retired={"a": 7}), AgentDeclared(SPEC, start, seen), NOW)
    after = result.fleet.agents["a"]
    assert (type(after.state), after.desired, after.incarnation, after.found) == (state, desired, 7, None)
    assert after.run is not None
    assert after.run.run_id == NEW.run_id
    assert not any(isinstance(action, Spawn) for one in result.decisions for action in one.actions)
    dead = step(Fleet(), AgentDeclared(SPEC, world=world(Trace("a", wish, "idle", None, NEW, 3))), NOW)
    assert type(dead.fleet.agents["a"].state) is Stopped


PAST, PAST_NEW = replace(OLD, epoch=0), replace(NEW, epoch=0)
LAGS = [
    ("as it was", World("b", 5, 5, (Trace("a", Wish("stopped", 5), "idle", None, PAST, 2),)), False),
    ("of an older version", World("b", 0, 0, (Trace("a", None, "idle", None, PAST, 2),)), False),
    ("of an older version, a run more", World("b", 0, 0, (Trace("a", None, "runs", PAST_NEW, PAST_NEW, 3),)), True),
    ("behind the file", World("b", 4, 5, ()), True),
    ("behind a wish", World("b", 4, 4, (Trace("a", Wish("stopped", 5)),)), True),
    ("behind a run", World("b", 4, 4, (Trace("a", None, "runs", replace(OLD, epoch=5), PAST, 2),)), True),
    ("behind what a shim was told", World("b", 4, 4, (Trace("a", None, "idle", None, OLD, 2, told=5),)), True),
    ("behind a run that ended", World("b", 4, 4, (Trace("a", None, "idle", None, replace(OLD, epoch=5), 2),)), True),
    ("ahead, as after a kill before the epoch", World("b", 6, 5, (Trace("a", Wish("running", 5)),)), False),
    ("salvaged, and an agent lacks", World("b", 5, 5, (), is_damaged=True), True),
]


@pytest.mark.parametrize(("seen", "is_behind"), [one[1:] for one in LAGS], ids=[one[0] for one in LAGS])
def test_promise_9_a_journal_is_old_only_if_it_is_behind(seen: World, is_behind: bool) -> None:
    known = {"a": agent()}
    assert (lag(seen, known, {}, {"a", "b"} if seen.is_damaged else {"a"}) is not None) is is_behind


def test_a_wish_that_was_left_by_a_removal_is_no_news_and_one_without_an_agent_is() -> None:
    left = World("b", 5, 5, (Trace("a", Wish("stopped", 4), "none", None, PAST, 2),))
    assert lag(left, {}, {"a": 2}, set()) is None
    assert lag(left, {}, {"a": 2}, {"a"}) is not None
    assert lag(left, {}, {}, set()) is not None


def test_the_epoch_moves_with_orders_and_starts_and_with_nothing_else() -> None:
    fleet = step(Fleet(), EpochBegun(4), NOW).fleet
    assert fleet.epoch == 5
    fleet = replace(fleet, agents={"a": agent()})
    assert step(fleet, Tick(), NOW).fleet.epoch == 5
    started = step(fleet, StartRequested("a"), NOW)
    assert started.fleet.epoch == 6
    assert step(started.fleet, Tick(), NOW).fleet.epoch == 6


def test_a_journal_that_is_old_or_new_gives_no_task_a_number_that_another_has_had() -> None:
    fleet = Fleet(tasks=Tasks(next=4))
    behind = step(fleet, JournalBehind("it is old", World("b", 4, 5)), NOW).fleet
    assert behind.tasks.next == 4 + ITEM_GAP
    # The same old copy comes back a second time: now only the directories tell.
    begun = step(behind, EpochBegun(5, tasks=20_007), NOW).fleet
    assert begun.tasks.next == 20_008
    assert step(begun, EpochBegun(6, tasks=3), NOW).fleet.tasks.next == 20_008


def put_back(works: Works, *traces: Trace, journal: int = 15) -> Works:
    """The journal of these tasks is an older copy now."""
    works.decisions.clear()
    shop = works.fleet.agents["shop"]
    traces = (Trace("shop", Wish("running", 18, shop.incarnation), incarnation=shop.incarnation), *traces)
    works.tell(JournalBehind("it is old", World("boot", journal, 20, traces), (shop.spec,)))
    return works


def begun(works: Works) -> list[str]:
    return [one.agent for one in works.of(Spawn) if one.agent != "shop"]


def test_promise_9_a_task_that_waits_in_an_old_journal_begins_once_that_is_confirmed() -> None:
    works = Works()
    works.ask()
    works.ask()
    works.ask(after=("t2",))
    put_back(works, Trace("shop-t1", Wish("running", 12, 1), "runs", OLD, OLD, 1))
    works.finishes("t1")
    works.wait(600)
    assert (works.states(), begun(works)) == ({"t1": "done", "t2": "waiting", "t3": "waiting"}, [])
    assert "phoenixctl recover" in works.task("t2").why
    assert "tasks that wait for you: t2, t3. Do: phoenixctl recover" in told(works.fleet)
    works.tell(RecoveryConfirmed())
    assert (begun(works), told(works.fleet)) == (["shop-t2"], "")
    works.finishes("t2")
    assert works.states()["t3"] == "running"


def test_promise_9_a_task_of_an_old_journal_that_is_canceled_is_not_proposed_any_more() -> None:
    works = Works()
    works.ask()
    works.ask()
    works.ask()
    put_back(works, Trace("shop-t1", None, "idle", None, OLD, 2))
    works.tell(StopRequested("shop"))
    works.cancel("t1")
    works.cancel("t2")
    assert "tasks that wait for you: t3. Do" in told(works.fleet)
    works.cancel("t3")
    assert (told(works.fleet), begun(works)) == ("", [])


def test_promise_9_a_worker_that_ran_in_an_old_journal_and_is_gone_begins_once_that_is_confirmed() -> None:
    works = Works()
    works.ask(tries=1)
    works.begins("t1")
    put_back(works, Trace("shop-t1", None, "idle", None, OLD, 2))
    works.wait(600)
    assert (works.states(), begun(works)) == ({"t1": "waiting"}, [])
    assert "tasks that wait for you: t1" in told(works.fleet)
    assert works.worker("t1").items == ()
    works.tell(RecoveryConfirmed())
    assert (works.states(), begun(works)) == ({"t1": "running"}, ["shop-t1"])
    works.finishes("t1", 1)
    assert works.task("t1").why.endswith("(run 1 of 1)")


def test_promise_2_a_worker_that_an_old_journal_does_not_know_is_adopted_and_none_starts_beside_it() -> None:
    works = Works()
    works.ask()
    works.ask()
    lives = Trace("shop-t2", Wish("running", 18, 3), "runs", NEW, NEW, 3)
    put_back(works, Trace("shop-t1", Wish("running", 12, 1), "runs", OLD, OLD, 1), lives)
    assert (works.states(), works.worker("t2").incarnation) == ({"t1": "running", "t2": "running"}, 3)
    works.finishes("t2")
    works.wait(600)
    assert (works.states()["t2"], begun(works), "declared by nobody" in told(works.fleet)) == ("done", [], False)


def test_promise_9_a_worker_that_was_stopped_since_stays_so_and_one_that_is_wanted_is_looked_for() -> None:
    cases: tuple[tuple[Word, str], ...] = (("stopped", "canceled"), ("running", "running"))
    for wish, state in cases:
        works = Works()
        works.ask()
        works.begins("t1")
        put_back(works, Trace("shop-t1", Wish(wish, 18, 2), "idle", None, NEW, 3))
        if state == "canceled":
            works.collected("t1")
        assert (works.states(), begun(works)) == ({"t1": state}, []), works.worker("t1").reason


def test_promise_9_what_is_collected_when_the_journal_is_put_back_is_not_begun_again_unasked() -> None:
    works = Works()
    works.ask()
    works.ends("t1", 1)
    put_back(works, Trace("shop-t1", Wish("stopped", 12, 1), "idle", None, OLD, 1))
    works.tell(TaskCollected("t1", 1, DONE))
    works.wait(600)
    assert (works.states(), begun(works)) == ({"t1": "waiting"}, [])
    assert "phoenixctl recover" in works.task("t1").why
    works.tell(RecoveryConfirmed())
    works.wait(600)
    assert begun(works) == ["shop-t1"]


def test_promise_2_a_later_run_of_a_task_that_an_old_journal_collects_is_not_ended_by_what_is_collected() -> None:
    works = Works()
    works.ask()
    works.ends("t1", 1)
    put_back(works, Trace("shop-t1", Wish("running", 18, 3), "runs", NEW, NEW, 3))
    works.tell(TaskCollected("t1", 1, DONE))
    works.wait(600)
    assert (works.states(), works.of(Terminate)) == ({"t1": "running"}, [])
    works.finishes("t1")
    assert works.states() == {"t1": "done"}
