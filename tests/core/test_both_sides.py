"""Plain rules on both sides of each of their edges, a small table for each."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from phoenixd.core import breaker as breakers
from phoenixd.core.actions import Alert, CleanUp
from phoenixd.core.agent.activity import Lease, WorkWatch
from phoenixd.core.agent.run import Giving
from phoenixd.core.agent.standing import StandingAlert
from phoenixd.core.agent.state import Afterwards, Desired, Running, Stopped, Stopping, StopStep
from phoenixd.core.answers import answer
from phoenixd.core.behind.verdicts import judge
from phoenixd.core.behind.world import SeenRun, Trace, Wish, World
from phoenixd.core.breaker import Signals, Tally
from phoenixd.core.cleanup import sweep
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.orders import AgentDeclared, AnswerRequested, StopRequested
from phoenixd.core.events.runs import TreeGone
from phoenixd.core.facts import MarkerNoted
from phoenixd.core.handoff import verdict
from phoenixd.core.handoff.state import Step
from phoenixd.core.hooks import ToolStarted, TurnFailed
from phoenixd.core.marks import MARKER
from phoenixd.core.meter import dead_end
from phoenixd.core.moment import Moment
from phoenixd.core.roster import BLOCK, Roster
from phoenixd.core.rules import BreakerRules
from phoenixd.core.seat.finding import seated
from phoenixd.core.treatment.evidence import cited
from phoenixd.core.treatment.examined import DAY, UNSURE, Examinations, Opinion, why_not_believed
from phoenixd.core.turn import calls
from phoenixd.core.turn.call_work import readings
from phoenixd.core.typing import escaping
from phoenixd.core.typing.clearing import CLEARS, hear_clearing
from phoenixd.core.typing.delivery import CLEARS_WITHIN, Clearing, begin
from phoenixd.core.typing.orders import ClearLine, Done
from phoenixd.core.typing.seen import Screen, Sight
from phoenixd.core.unproven import LOOK_EVERY, UNREAD, wait
from phoenixd.documents.hooks import hook_of
from tests.agents import an_agent
from tests.core.handing import FACTS, HASH, WORD, HandoffStory, orchestrator
from tests.core.story import EPOCH, Story, claude, spec
from tests.core.test_roster import marks_anew

NOW = Moment(10_000.0, EPOCH, 0.5)
STORY = Story(claude()).works()
STORY.hook("tool-end", tool="Bash")
WORKS = STORY.agent
RUN, ACTIVITY = WORKS.run, WORKS.activity
assert RUN is not None
assert ACTIVITY is not None
UNPROVEN = TreeGone("a", RUN.incarnation, unproven=True, unread=(7,))


def gone(since: float | None, then: Afterwards = Afterwards.RESTART, **changes: Any) -> Stopping:
    ends = Stopping(RUN, ACTIVITY, StopStep.FENCE, NOW.at, then, "its shim is lost", asked=9_000.0)  # type: ignore[arg-type]
    return replace(ends, unseen_since=since, **changes)


@pytest.mark.parametrize(
    ("since", "pause", "says"),
    [
        (None, LOOK_EVERY, True),  # seen for the first time
        (NOW.at - 15.0, LOOK_EVERY, False),
        (NOW.at - 25.0, 5.0, False),  # the rule's 30 seconds end before the next look
        (NOW.at - 29.9, 0.1, False),
        (NOW.at - 30.0, LOOK_EVERY, True),  # and then a person is asked, at first as often
        (NOW.at - 40.0, LOOK_EVERY, True),
        (NOW.at - 100.0, 25.0, True),
        (NOW.at - 240.0, 60.0, True),
        (NOW.at - 4_000.0, 60.0, True),  # and never more seldom than each minute
    ],
)
def test_promise_2_what_cannot_be_read_is_looked_at_again_ever_more_seldom(
    since: float | None, pause: float, says: bool
) -> None:
    found = wait(WORKS, gone(since), UNPROVEN, NOW)
    assert found is not None
    assert found.agent is not None
    assert isinstance(found.agent.state, Stopping)
    assert (round(found.agent.state.deadline - NOW.at, 6), bool(found.reason)) == (pause, says)
    assert bool(found.actions) is (since is not None and NOW.at - since >= 30.0)


def test_promise_2_a_person_is_told_once_of_each_run_that_cannot_be_read() -> None:
    def told_of(*runs: int) -> str:
        alerts = tuple(StandingAlert(n, UNREAD, "it may be alive", EPOCH, incarnation=n) for n in runs)
        found = wait(replace(WORKS, alerts=alerts), gone(NOW.at - 60.0), UNPROVEN, NOW)
        assert found is not None
        return found.reason

    assert told_of()
    assert told_of(UNPROVEN.incarnation) == ""
    assert told_of(UNPROVEN.incarnation + 1), "that was another run"
    assert told_of(UNPROVEN.incarnation + 1, UNPROVEN.incarnation) == ""


@pytest.mark.parametrize(
    ("then", "desired", "changes", "waits"),
    [
        (Afterwards.RESTART, Desired.RUNNING, {}, True),
        (Afterwards.STAY, Desired.RUNNING, {}, False),
        (Afterwards.REMOVE, Desired.RUNNING, {}, False),
        (Afterwards.JUDGE, Desired.RUNNING, {}, True),
        (Afterwards.JUDGE, Desired.STOPPED, {}, False),
        (Afterwards.RESTART, Desired.STOPPED, {}, True),
        (Afterwards.RESTART, Desired.RUNNING, {"unread": ()}, False),
        (Afterwards.RESTART, Desired.RUNNING, {"untold": True}, False),
        (Afterwards.RESTART, Desired.RUNNING, {"unproven": False}, False),
    ],
)
def test_promise_2_a_person_is_waited_for_only_where_something_is_to_start_and_may_be_doubled(
    then: Afterwards, desired: Desired, changes: dict[str, Any], waits: bool
) -> None:
    found = wait(replace(WORKS, desired=desired), gone(NOW.at - 60.0, then), replace(UNPROVEN, **changes), NOW)
    assert (found is not None) is waits


@pytest.mark.parametrize("many", [3 * BLOCK, 5 * BLOCK])
def test_a_roster_from_which_most_were_taken_holds_the_others_in_their_order(many: int) -> None:
    roster = Roster.of(MARKER, [an_agent(spec=spec(f"a{number}")) for number in range(many)])
    left = [f"a{number}" for number in range(many)]
    for number in range(many):
        if number % 7:
            roster = roster.without(f"a{number}")
            left.remove(f"a{number}")
    assert list(roster) == left
    assert list(roster.marks.between((0,), (99,))) == list(marks_anew(roster).between((0,), (99,)))
    assert list(roster.without("nobody")) == left


SURE = Opinion("logic_error", "A library is missing.", 0.9, "modify_prompt", "Install it.")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"cause": "a curse"}, "a cause that there is not"),
        ({"action": "pray"}, "an action that there is not"),
        ({"confidence": True}, "is no number"),
        ({"confidence": math.nan}, "is no number"),
        ({"confidence": -0.01}, "not between 0 and 1"),
        ({"confidence": 1.01}, "not between 0 and 1"),
        ({"confidence": 2}, "not between 0 and 1"),
        ({"confidence": 1}, ""),
        ({"confidence": UNSURE}, ""),
        ({"confidence": UNSURE - 0.001}, "it guesses"),
        ({"confidence": 0}, "it guesses"),
        ({"explanation": " "}, "explains nothing"),
        ({"note": " "}, "prescribes another prompt, and names none"),
        ({"note": "", "action": "retry"}, None),
    ],
)
def test_an_opinion_counts_within_its_bounds_and_nowhere_else(changes: dict[str, Any], words: str | None) -> None:
    found = why_not_believed(replace(SURE, **changes))
    if words is not None:
        assert (words in found) if words else found == ""


@pytest.mark.parametrize(("day", "kept"), [(9, True), (10, True), (11, True), (8, False), (12, False)])
def test_a_clock_that_is_set_back_over_midnight_gives_no_new_budget_and_one_that_was_wrong_does(
    day: int, kept: bool
) -> None:
    counted = Examinations(day=10, questions=3, tokens=500)
    found = counted.of_the_day(day * DAY)
    assert found == (counted if kept and day != 11 else replace(counted, day=day, questions=0, tokens=0))


def test_of_what_is_known_of_a_failure_words_and_numbers_are_told_and_a_yes_or_no() -> None:
    facts: Any = SimpleNamespace(yes=True, no=False, word="exit", number=1.5, many=("a", "b"), nothing=None)
    told = {"yes": "yes", "no": "no", "word": "exit", "number": 1.5, "many": None, "nothing": None}
    assert dict(cited(facts, tuple(told))) == told


@pytest.mark.parametrize(
    ("failure", "tokens", "ends"),
    [
        ("full", 1_000, True),
        ("request", 170_000, True),
        ("request", 169_999, False),
        ("length", 170_000, True),
        ("limit", 199_000, False),
        ("request", None, False),
    ],
)
def test_f_ho_a_refusal_that_names_no_reason_is_for_a_full_context_from_85_percent_on(
    failure: str, tokens: int | None, ends: bool
) -> None:
    full = replace(WORKS, meter=replace(WORKS.meter, tokens=tokens, status_line=200_000))
    heard = hook_of("a", full.incarnation, "stop-failure", text="prompt is too long")
    assert isinstance(heard, TurnFailed)
    event = replace(heard, failure=failure)  # type: ignore[arg-type]
    known = Decision(
        full,
        (Alert("a", dead_end.FAILED_TURN, "its turn failed"), Alert("a", "other", "x")),
        "its turn failed",
        (("status", 400),),
        facts=(MarkerNoted(1, "checked"),),
    )
    found = dead_end.hear(full, event, Seen(full, known), NOW)
    assert found.agent is not None
    assert isinstance(found.agent.state, Stopping) is ends
    assert found.facts == known.facts
    assert [one.kind for one in found.actions if isinstance(one, Alert)] == (
        ["other"] if ends else [dead_end.FAILED_TURN, "other"]
    )


def test_what_was_known_of_a_calls_work_is_told_to_the_tenth_of_a_second() -> None:
    assert isinstance(WORKS.state, Running)
    call = Lease("t1", 9_950.0, 9_700.0, tool="Bash", command="make", ticks=970_000, most=12_000.0)
    watch = WorkWatch(970_000, 9_899.96, worked=9_800.04, cpu=1.234, io=7, processes=2, unread=1)
    state = replace(WORKS.state, activity=replace(WORKS.state.activity, turn_open=True, leases=(call,), work=watch))

    assert dict(readings(state, NOW)) == {
        "call_cpu": 1.23, "call_io": 7, "call_processes": 2, "call_unreadable": 1, "call_looked_at": 100.0,
        "call_worked": 200.0,
    }  # fmt: skip


def test_p14_an_answer_leaves_those_to_other_questions_under_way() -> None:
    story = Story(claude()).works()
    for seq in (3, 4):
        story.hook("permission-request", tool="Bash", text=f"make {seq}", held=True, seq=seq)
    assert isinstance(story.state, Running)
    item = story.agent.item
    assert item is not None
    assert item.hold == 4
    others = tuple(Giving(hold, 90 + hold, "allow") for hold in (3, 4))
    giving = replace(story.agent, state=replace(story.state, run=replace(story.state.run, giving=others)))
    found = answer(giving, AnswerRequested("a", item.id, allow=False), story.now).agent
    assert found is not None
    assert isinstance(found.state, Running)
    assert [(one.hold, one.answer) for one in found.state.run.giving] == [(3, "allow"), (4, "deny")]


def test_a_stop_that_is_said_again_leaves_the_first_one_the_newest_act() -> None:
    story = Story(claude()).works()
    at, wall = story.at, story.wall
    story.tell(StopRequested("a", act="u1"))
    story.exited(signal=15)
    story.pass_over(100)
    story.tell(StopRequested("a", by="anna", act="u2"))
    newest = story.fleet.undoable[-1]
    assert (newest.act, newest.by, newest.at, newest.at_wall) == ("u1", "operator", at, wall)


ACK = "Read. HANDOFF-ACK " + json.dumps({"package": HASH, "word": WORD, **dict(FACTS)})


@pytest.mark.parametrize(
    ("who", "changes", "counts"),
    [
        ("o-g2", {}, True),
        ("o", {}, False),
        ("o-g2", {"sub": True}, False),
        ("o-g2", {"incarnation": 9}, False),
        ("o-g2", {"text": f"{ACK}; and now?"}, False),
    ],
)
def test_f_ho_last_words_acknowledge_a_package_only_where_its_successor_ends_with_them(
    who: str, changes: dict[str, Any], counts: bool
) -> None:
    assert verdict.in_last_words(ACK) is not None
    story = HandoffStory().awaiting()
    run = story.fleet.agents[who].run
    assert run is not None
    event = hook_of(who, run.incarnation, "stop", text=ACK)
    story.tell(replace(event, **changes))
    assert (story.step is Step.AWAIT_ACK and not story.handoff.acked) is not counts


def test_f_ho_last_words_acknowledge_nothing_before_and_after_it_is_waited_for() -> None:
    story = HandoffStory().drained()
    before = story.handoff
    story.tell(hook_of("o-g2", story.fleet.agents["o-g2"].incarnation, "stop", text=ACK))
    assert story.handoff == before
    story = HandoffStory().awaiting()
    story.ack()
    told = story.handoff
    story.hook_of("o-g2", "stop", text=ACK)
    assert story.handoff == told


def test_of_a_second_seat_of_a_project_the_story_has_the_refusal() -> None:
    story = HandoffStory(orchestrator(project="shop"))
    refusal = story.tell(AgentDeclared(orchestrator("other", project="shop")))
    assert refusal is not None
    assert refusal.code == "conflict"
    newest = story.decisions[-1]
    assert (newest.agent, newest.reason, newest.weight) == (None, f"refused: {refusal.message}", "story")
    assert "other" not in story.fleet.agents


@pytest.mark.parametrize(
    ("last", "becomes"), [(None, Stopped), (RUN.incarnation, Stopping), (RUN.incarnation + 1, Stopping)]
)
def test_promise_3_who_is_put_down_has_its_newest_run_fenced(last: int | None, becomes: type) -> None:
    down = replace(WORKS, state=Stopped(), desired=Desired.RUNNING)
    seen = SeenRun(last, "run-x", "s", "fresh", 20, 1, 9e8, 10, "boot") if last is not None else None
    trace = Trace("a", Wish("stopped", 18), "none", None, seen, last or 0)
    found = judge(World("boot", 15, 20, (trace,)), trace, down, WORKS.spec, NOW).agent
    assert found is not None
    assert isinstance(found.state, becomes)
    running = judge(World("boot", 15, 20, (trace,)), trace, WORKS, WORKS.spec, NOW).agent
    assert running is not None
    assert isinstance(running.state, Stopping)
    expected = "run-x" if last is not None and last > WORKS.incarnation else RUN.run_id
    assert running.state.run.run_id == expected


def test_promise_3_a_run_that_was_being_stopped_and_is_wanted_again_goes_on_as_it_was() -> None:
    seen = SeenRun(RUN.incarnation, RUN.run_id, "s", "fresh", 20, 1, 9e8, 10, "boot")
    trace = Trace("a", Wish("running", 18), "runs", seen, seen, RUN.incarnation)
    for before, kept in ((WORKS, True), (replace(WORKS, state=gone(None)), False)):
        judged = judge(World("boot", 15, 20, (trace,)), trace, before, WORKS.spec, NOW)
        assert judged is not None
        assert judged.agent is not None
        assert isinstance(judged.agent.state, Running)
        assert judged.agent.state.run == RUN, "the run is that of the journal"
        assert judged.finding.verdict == ("keep" if kept else "adopt")


def test_g54_a_subagents_call_is_a_promise_of_as_much_silence_as_is_allowed() -> None:
    rules = WORKS.spec.liveness
    for is_subagent, until in ((True, NOW.at + rules.stale), (False, NOW.at)):
        event = hook_of("a", 1, "tool-start", tool="Task", tool_use_id="t1", is_subagent_call=is_subagent)
        assert isinstance(event, ToolStarted)
        assert [lease.until for lease in calls.begin((), event, rules, NOW)] == [until]


@pytest.mark.parametrize(
    ("presses", "after", "line", "changes", "order"),
    [
        (0, 0.0, "go on", {}, ClearLine),
        (CLEARS - 1, 0.0, "go on", {}, ClearLine),
        (CLEARS, 0.0, "go on", {}, Done),
        (1, CLEARS_WITHIN - 0.1, "go on", {}, ClearLine),
        (1, CLEARS_WITHIN, "go on", {}, Done),
        (1, 0.0, "something else", {}, Done),
        (1, 0.0, "go on", {"touched": True}, Done),
        (1, 0.0, "go on", {"asked": True}, Done),
    ],
)
def test_f_tmux_9_what_nothing_took_is_taken_out_line_by_line_within_its_bounds(
    presses: int, after: float, line: str, changes: dict[str, Any], order: type
) -> None:
    step = Clearing(NOW.at + CLEARS_WITHIN, "back", "go on", presses)
    delivery = replace(begin("go on", 0.0), step=step, **changes)
    now = replace(NOW, at=NOW.at + after)
    found = hear_clearing(delivery, step, Sight(Screen(line)), now)
    assert isinstance(found.order, order)
    if order is ClearLine:
        assert isinstance(found.delivery.step, Clearing)
        assert found.delivery.step.presses == presses + 1


def test_g60_an_excused_iteration_opens_no_breaker_whatever_was_counted_before() -> None:
    rules = BreakerRules(permission_denials=2, same_error=2, token_ceiling=100)
    for tally in (Tally(denied=2), Tally(same_error=2, error="429"), Tally(tokens=100)):
        for excuse, name in (("rate limit", "CLOSED"), ("", "OPEN")):
            signals = Signals(excuse=excuse, error=tally.error, denials=tally.denied)
            judged = breakers.judge(breakers.Closed(tally), "same", "same", signals, rules, NOW)
            assert judged.breaker.name == name


def test_g66_a_cleanup_is_ordered_once_and_of_no_agent_none() -> None:
    once = sweep(Decision(WORKS))
    assert once.actions == (CleanUp("a", WORKS.incarnation),)
    assert sweep(once) == once
    assert sweep(Decision(None)) == Decision(None)


def test_an_orchestrator_that_knows_no_seat_is_seated_also_where_its_seat_is_known() -> None:
    seats = HandoffStory().works().fleet
    holder = seats.agents["o"]
    bare = replace(holder, spec=replace(holder.spec, seat=None, generation=1))
    older = replace(seats, agents={"o": bare})
    assert seated(older).agents["o"].spec.seat == "o"
    assert seated(replace(older, seats={})).seats.keys() == {"o"}
    assert seated(seats) is seats


@pytest.mark.parametrize(
    ("step", "after", "screen", "why"),
    [
        (escaping.Ending(NOW.at + 10.0), 9.9, "idle", ""),
        (escaping.Ending(NOW.at + 10.0), 10.0, "idle", escaping.GOES_ON),
        (escaping.Ending(NOW.at + 10.0, "idle"), 1.0, "idle", escaping.ENDED),
        (escaping.Ending(NOW.at + 10.0, "working"), 1.0, "working", ""),
        (escaping.Ending(NOW.at + 10.0, "limit"), 1.0, "idle", ""),
        (escaping.Leaving(NOW.at + 10.0), 9.9, "permission", ""),
        (escaping.Leaving(NOW.at + 10.0), 10.0, "permission", escaping.STANDS),
        (escaping.Leaving(NOW.at + 10.0), 1.0, "idle", escaping.SAID_NO),
    ],
)
def test_after_escape_two_looks_agree_that_a_turn_ended_and_one_that_a_dialog_left(
    step: escaping.Ending | escaping.Leaving, after: float, screen: str, why: str
) -> None:
    dialog = "permission" if isinstance(step, escaping.Leaving) else None
    under_way = escaping.Escaping(dialog, step, pressed=True)
    found = escaping.hear(under_way, escaping.Looked(screen), replace(NOW, at=NOW.at + after))
    assert (found.order.why if isinstance(found.order, escaping.Verdict) else "") == why
