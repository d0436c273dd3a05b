"""The circuit breaker, judged as a plain function: thresholds, trials, what counts as progress and what holds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from phoenixd.core import breaker as breakers
from phoenixd.core.breaker import Breaker, Closed, HalfOpen, Judgement, Open, Signals, Tally
from phoenixd.core.moment import Moment
from phoenixd.core.rules import BreakerRules
from phoenixd.core.work import Deed, Findings

NOW = Moment(1000.0, 1_800_000_000.0)
NOTHING = Signals()
RATE_LIMIT = Signals(excuse="rate limit")


@dataclass
class Loop:
    """A loop whose work is a word; each iteration leaves it at another word, or at the same."""

    rules: BreakerRules = field(default_factory=BreakerRules)
    breaker: Breaker = field(default_factory=Closed)
    work: str | None = "dirty from before"

    def runs(self, after: str | None = "same", signals: Signals = NOTHING) -> Judgement:
        before = self.work
        self.work = before if after == "same" else after
        judgement = breakers.judge(self.breaker, before, self.work, signals, self.rules, NOW)
        self.breaker = judgement.breaker
        return judgement

    def finds(self, **found: Any) -> Judgement:
        """An iteration that leaves the fingerprint of the work as it was, and something beside it."""
        work, rules = self.work, self.rules
        judgement = breakers.judge(self.breaker, work, work, NOTHING, rules, NOW, Findings(**found))
        self.breaker = judgement.breaker
        return judgement

    def states(self, *works: str | None) -> list[str]:
        return [self.runs(work).breaker.name for work in works]


def test_g9_g10_f_cb_1_old_dirt_is_no_progress_half_open_at_3_and_open_at_5() -> None:
    assert Loop().states(*["same"] * 5) == ["CLOSED", "CLOSED", "HALF_OPEN", "HALF_OPEN", "OPEN"]


@pytest.mark.parametrize("seen", [Signals(tokens=10**9), Signals(error="exit 1"), Signals(denials=50)])
def test_an_optional_rule_is_off_where_nobody_sets_its_number(seen: Signals) -> None:
    assert [Loop().runs(signals=seen).breaker.name for _ in range(2)] == ["CLOSED", "CLOSED"]


@pytest.mark.parametrize(("warn", "stop"), [(2, 4), (1, 2), (3, 10)])
def test_g21_g22_the_thresholds_are_configurable(warn: int, stop: int) -> None:
    found = Loop(BreakerRules(warn=warn, stop=stop)).states(*["same"] * stop)

    assert (found.index("HALF_OPEN") + 1, found.index("OPEN") + 1) == (warn, stop)


def test_g8_progress_closes_it_and_counts_from_nothing() -> None:
    loop = Loop()
    loop.states("same", "same", "same", "same")

    assert loop.runs("new").breaker.name == "CLOSED"
    assert loop.breaker.tally.no_progress == 0
    assert loop.states("same", "same", "same", "same")[-1] == "HALF_OPEN"


def test_g14_f_cb_2_whatever_is_new_each_time_never_opens_it() -> None:
    assert set(Loop().states(*[f"commit {number}" for number in range(50)])) == {"CLOSED"}


def made(key: object, notes: bool = False) -> dict[str, Any]:
    return {"deeds": (Deed("commit", f"commit:{key}", notes),)}


def test_x8b_what_was_committed_is_progress_though_the_worktree_is_as_it_was() -> None:
    loop = Loop()

    assert {loop.finds(**made(number)).breaker.name for number in range(20)} == {"CLOSED"}
    assert loop.breaker.tally.no_progress == 0
    assert loop.breaker.tally.verdict == "work: 1 commit"


def test_f_cb_3_the_same_commit_once_more_is_no_progress() -> None:
    loop = Loop()

    assert [loop.finds(**made(number % 3)).progress for number in range(8)] == [True] * 3 + [False] * 5
    assert loop.breaker.name == "OPEN"


def test_x8b_notes_alone_open_it_at_notes_stop_and_never_before() -> None:
    loop = Loop()
    states = [loop.finds(**made(number, notes=True)).breaker.name for number in range(15)]

    assert states == ["CLOSED"] * 14 + ["OPEN"]
    assert breakers.reason_of(loop.breaker) == "15 iterations left nothing but notes, the limit is 15"
    assert Loop(BreakerRules(notes_stop=0)).finds(**made(1, notes=True)).breaker.name == "CLOSED"


def test_x8b_notes_neither_reset_nor_advance_the_count_and_work_resets_both() -> None:
    loop = Loop()
    loop.runs("same")
    loop.finds(notes=("a", "b"))
    assert (loop.breaker.tally.no_progress, loop.breaker.tally.notes) == (1, 1)
    loop.finds(notes=("b", "a"))
    assert (loop.breaker.tally.no_progress, loop.breaker.tally.notes) == (2, 1), "it goes back to notes that were seen"
    loop.runs("new")

    assert (loop.breaker.tally.no_progress, loop.breaker.tally.notes) == (0, 0)


def test_x8b_one_that_takes_notes_now_and_then_opens_too() -> None:
    loop = Loop()
    for number in range(5):
        assert loop.finds(**made(number, notes=True)).breaker.name != "OPEN"
        loop.runs("same")

    assert loop.breaker.name == "OPEN"


def test_x8b_a_trial_after_notes_alone_fails_with_notes_alone() -> None:
    loop = Loop(BreakerRules(notes_stop=2))
    for number in range(2):
        loop.finds(**made(number, notes=True))
    loop.breaker = breakers.opened_on_trial(loop.breaker, "started")

    assert loop.finds(**made(9, notes=True)).breaker.name == "OPEN"


def test_x8b_commits_that_cannot_be_told_hold_the_counter_and_what_is_known_still_counts() -> None:
    loop = Loop()
    loop.runs("same")
    held = loop.finds(lost="the reflog was rewritten")

    assert (held.held, loop.breaker.tally.no_progress, loop.breaker.tally.unknown) == (True, 1, 1)
    assert "the reflog was rewritten" in held.reason
    assert loop.finds(lost="the reflog was rewritten", **made(1)).progress


def test_x8b_it_says_whose_work_cannot_be_told_apart() -> None:
    judged = Loop().finds(shared=("b", "c"), **made(1))

    assert "cannot be told apart from the work of b, c" in judged.reason
    assert judged.breaker.tally.shared == ("b", "c")


@pytest.mark.parametrize("period", range(2, breakers.REMEMBERED + 1))
def test_f_cb_3_going_round_in_a_circle_of_up_to_ten_is_no_progress(period: int) -> None:
    found = Loop(work="0").states(*[str(number % period) for number in range(1, 40)])

    assert "OPEN" in found[: period + 5]


def test_f_cb_6_what_nobody_can_tell_holds_the_counter() -> None:
    loop = Loop()
    loop.states("same", "same")
    held = loop.runs(None)

    assert (held.held, held.progress, held.breaker.tally.no_progress) == (True, False, 2)
    assert loop.runs("dirty from before").held, "it began unknown, so nobody can tell what it changed"
    assert loop.breaker.tally.unknown == 2
    assert loop.runs("same").breaker.name == "HALF_OPEN"
    assert loop.breaker.tally.unknown == 0


def test_g60_rate_limit_waits_are_never_counted() -> None:
    loop = Loop(BreakerRules(same_error=2))
    for _ in range(20):
        assert loop.runs("same", replace(RATE_LIMIT, error="429", denials=1)).held

    assert (loop.breaker.name, loop.breaker.tally.no_progress, loop.breaker.tally.same_error) == ("CLOSED", 0, 0)


def test_f_cb_13_an_excused_iteration_that_changed_the_work_is_progress() -> None:
    loop = Loop()
    loop.states("same", "same")

    assert loop.runs("same", replace(NOTHING, tokens=700)).breaker.tally.tokens == 700
    assert loop.runs("half done", RATE_LIMIT).progress
    assert (loop.breaker.tally.no_progress, loop.breaker.tally.tokens) == (0, 0)


def test_g48_last_progress_only_moves_on_progress() -> None:
    loop = Loop()
    loop.states("same", "new", "same", "same")

    assert (loop.breaker.tally.last_progress, loop.breaker.tally.iterations) == (2, 4)


def test_g48_a_reset_forgets_the_misses_and_no_more() -> None:
    loop = Loop()
    loop.states("same", "new", *["same"] * 6)
    before = loop.breaker.tally
    assert (before.last_progress, before.opens) == (2, 1)

    after = breakers.reset(loop.breaker).tally

    assert (after.last_progress, after.opens, after.iterations) == (2, 1, before.iterations)
    assert after.no_progress == 0


def test_x8_from_a_trial_one_miss_opens_it_again_and_progress_closes_it() -> None:
    loop = Loop()
    loop.states(*["same"] * 5)
    loop.breaker = breakers.opened_on_trial(loop.breaker, "started by the operator")
    assert isinstance(loop.breaker, HalfOpen)
    assert loop.breaker.why == "trial"
    trial = loop.breaker

    assert loop.runs("same").breaker.name == "OPEN"
    assert loop.breaker.tally.opens == 2
    loop.breaker = trial
    assert loop.runs("new").breaker == replace(Closed(), tally=loop.breaker.tally)


def test_x8_a_trial_that_nobody_can_judge_goes_on() -> None:
    loop = Loop(breaker=HalfOpen(Tally(no_progress=5), "trial", "started"))

    assert loop.runs(None).breaker.name == "HALF_OPEN"
    assert loop.runs("same", RATE_LIMIT).breaker.name == "HALF_OPEN"


def test_g57_the_cooldown_is_off_by_default_and_counts_from_the_opening() -> None:
    opened = Loop(work="w")
    opened.states(*["same"] * 5)

    assert breakers.retry_at(opened.breaker, BreakerRules()) is None
    assert breakers.retry_at(opened.breaker, BreakerRules(cooldown=1800)) == NOW.at + 1800
    assert breakers.retry_at(Closed(), BreakerRules(cooldown=1800)) is None


def test_g56_the_same_error_over_and_over_opens_it_though_the_work_changes() -> None:
    loop = Loop(BreakerRules(same_error=3))
    failing = Signals(error="exit 1")
    states = [loop.runs(str(number), failing).breaker.name for number in range(3)]

    assert states == ["CLOSED", "CLOSED", "OPEN"]
    assert "the same error: exit 1" in breakers.reason_of(loop.breaker)


def test_g56_another_error_or_none_begins_anew() -> None:
    loop = Loop(BreakerRules(same_error=2))
    errors = ["a", "b", "a", "", "a"]

    assert {loop.runs(str(number), Signals(error=error)).breaker.name for number, error in enumerate(errors)} == {
        "CLOSED"
    }


def test_g56_denied_permissions_open_it() -> None:
    loop = Loop(BreakerRules(permission_denials=2))

    assert [loop.runs(str(number), Signals(denials=3)).breaker.name for number in range(2)] == ["CLOSED", "OPEN"]


def test_tokens_spent_without_progress_open_it_at_the_ceiling() -> None:
    loop = Loop(BreakerRules(token_ceiling=1000))
    assert loop.runs("new", Signals(tokens=5000)).breaker.name == "CLOSED", "progress may cost what it costs"

    assert [loop.runs("same", Signals(tokens=600)).breaker.name for _ in range(2)] == ["CLOSED", "OPEN"]


def test_a_success_reported_otherwise_is_progress() -> None:
    loop = Loop()
    loop.states("same", "same", "same")

    assert loop.runs("same", Signals(achieved="an open loop was resolved")).breaker.name == "CLOSED"


def test_g33_a_reset_closes_it_and_remembers_how_often_it_opened() -> None:
    loop = Loop()
    loop.states(*["same"] * 5)
    again = breakers.reset(loop.breaker)

    assert (again.name, again.tally.no_progress, again.tally.opens) == ("CLOSED", 0, 1)
    assert breakers.is_new(again)
    assert breakers.is_new(Closed())


def test_g58_f_cb_8_a_corrupt_file_leads_to_a_trial_and_not_to_a_clean_slate() -> None:
    loop = Loop()
    loop.states("same", "same")
    loop.breaker = breakers.mistrusted(loop.breaker, "its file was corrupt")

    assert loop.runs("same").breaker.name == "OPEN"


@pytest.mark.parametrize("after", ["same", "new", None])
def test_one_that_was_opened_by_hand_during_an_iteration_stays_open_whatever_that_achieved(after: str | None) -> None:
    loop = Loop(breaker=Open(Tally(no_progress=1), "set by hand", 5.0, 5.0))
    judgement = loop.runs(after)

    assert (loop.breaker.name, judgement.changed, judgement.progress) == ("OPEN", False, after == "new")
    assert isinstance(loop.breaker, Open)
    assert (loop.breaker.opened_at, loop.breaker.tally.opens) == (5.0, 0)


@pytest.mark.parametrize("state", ["CLOSED", "HALF_OPEN", "OPEN"])
def test_what_an_operator_writes_into_the_file_holds(state: breakers.Word) -> None:
    found = breakers.set_by_hand(Closed(), state, 4, NOW)

    assert (found.name, found.tally.no_progress) == (state, 4)


def test_promise_6_every_judgement_says_why_with_its_readings() -> None:
    judgement = Loop().runs("same")

    assert judgement.reason == "iteration 1: no progress, 1 in a row; breaker CLOSED"
    assert dict(judgement.readings)["no_progress"] == 1


signals = st.builds(
    Signals,
    excuse=st.sampled_from(["", "", "", "rate limit"]),
    error=st.sampled_from(["", "e"]),
    denials=st.integers(0, 2),
    tokens=st.integers(0, 500),
    achieved=st.sampled_from(["", "", "", "resolved"]),
)
works = st.sampled_from([None, *"abcdef"])


class BreakerMachine(RuleBasedStateMachine):
    """Any history of iterations, trials and resets, beside a counter that a child could keep."""

    def __init__(self) -> None:
        super().__init__()
        self.rules = BreakerRules(warn=3, stop=5, same_error=4, permission_denials=4, token_ceiling=3000)
        self.breaker: Breaker = Closed()
        self.missed = 0
        self.at = 0.0

    @rule(before=works, after=works, told=signals)
    def iteration(self, before: str | None, after: str | None, told: Signals) -> None:
        was = self.breaker
        self.at += 1
        judgement = breakers.judge(was, before, after, told, self.rules, Moment(self.at, self.at))
        self.breaker = judgement.breaker
        new = before and after and after != before and after not in was.tally.seen
        assert judgement.progress == bool(new or told.achieved)
        assert judgement.reason
        if judgement.progress:
            self.missed = 0
        elif before and after and not told.excuse:
            self.missed += judgement.breaker.tally.no_progress - was.tally.no_progress
        assert judgement.changed == (was.name != judgement.breaker.name)
        if isinstance(was, HalfOpen) and was.why == "trial" and before and after and not told.excuse:
            assert judgement.breaker.name == ("CLOSED" if judgement.progress else "OPEN") or judgement.progress
        if judgement.held:
            assert judgement.breaker.name == was.name
            assert judgement.breaker.tally.no_progress == was.tally.no_progress

    @rule()
    def trial(self) -> None:
        was, self.breaker = self.breaker, breakers.opened_on_trial(self.breaker, "started")
        assert self.breaker.name != "OPEN"
        assert (self.breaker == was) == (was.name != "OPEN")

    @rule()
    def reset(self) -> None:
        self.breaker, self.missed = breakers.reset(self.breaker), 0

    @invariant()
    def the_count_is_that_of_a_child(self) -> None:
        assert self.breaker.tally.no_progress == self.missed

    @invariant()
    def state_and_count_agree(self) -> None:
        count = self.breaker.tally.no_progress
        match self.breaker:
            case Closed():
                assert count < self.rules.warn
            case HalfOpen(why="warning"):
                assert self.rules.warn <= count < self.rules.stop
            case HalfOpen() | Open():
                assert breakers.reason_of(self.breaker)

    @invariant()
    def memory_is_bounded(self) -> None:
        assert len(self.breaker.tally.seen) <= breakers.REMEMBERED
        assert self.breaker.tally.last_progress <= self.breaker.tally.iterations


TestBreakerMachine = BreakerMachine.TestCase
TestBreakerMachine.settings = settings(stateful_step_count=40)


@given(st.lists(st.tuples(works, works), max_size=30))
def test_without_progress_it_opens_at_exactly_five_judged_iterations(
    pairs: list[tuple[str | None, str | None]],
) -> None:
    """However many iterations lie between that nobody could judge."""
    breaker: Breaker = Closed(Tally(seen=tuple("abcdef")))
    judged = 0
    for before, after in pairs:
        if isinstance(breaker, Open):
            break
        breaker = breakers.judge(breaker, before, after, Signals(), BreakerRules(), NOW).breaker
        judged += bool(before and after)
        assert isinstance(breaker, Open) == (judged == 5)
