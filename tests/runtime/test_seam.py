"""Saved, remembered, acted, answered: whatever the journal does at whichever point of the supervisor's turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import combinations, product

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from phoenixd.core.durability import Durability
from phoenixd.core.events import Event
from phoenixd.core.events.orders import AgentDeclared, RestartRequested, SendRequested, StartRequested, StopRequested
from phoenixd.core.events.runs import AgentExited, AgentStarted
from phoenixd.core.moment import Moment
from phoenixd.documents.hooks import hook_of
from phoenixd.runtime.dues import OF_NO_DELAY, Due, Dues
from phoenixd.runtime.supervisor import Supervisor
from phoenixd.runtime.turn import Turn
from tests.core.story import claude, spec
from tests.simulate.fated_journal import FATES, Fate
from tests.simulate.seam import OutOfLine, Seam

pytestmark = pytest.mark.usefixtures("quiet")

ONE_BY_ONE = 0.05
NEAR = 4
"""Commits between which one fate can still matter to the other."""
PAUSES = {"while the one before is saved": 0.0001, "one by one": ONE_BY_ONE, "while the journal fails": 0.7}


def begun(seam: Seam, agent: str) -> Event:
    run = seam.run_of(agent)
    return AgentStarted(agent, run.incarnation, run.run_id, 11, 1)


def ended(seam: Seam, agent: str, code: int) -> Event:
    run = seam.run_of(agent)
    return AgentExited(agent, run.incarnation, run.run_id, code, None)


def hooked(seam: Seam, agent: str, kind: str) -> Event:
    mark = f"m{len(seam.promised)}"
    return hook_of(agent, seam.run_of(agent).incarnation, kind, session_id="s", tool_use_id=mark)


Part = tuple[str, Callable[[Seam], Event]]
LIFE: tuple[Part, ...] = (
    ("ask", lambda seam: AgentDeclared(spec("a"), start=True)),
    ("tell", lambda seam: begun(seam, "a")),
    ("ask", lambda seam: AgentDeclared(claude("b"), start=True)),
    ("tell", lambda seam: begun(seam, "b")),
    ("tell", lambda seam: hooked(seam, "b", "session-start")),
    ("ask", lambda seam: SendRequested("b", "text-1", "go on")),
    ("tell", lambda seam: ended(seam, "a", 1)),
    ("tell", lambda seam: hooked(seam, "b", "prompt-submit")),
    ("ask", lambda seam: StopRequested("b")),
    ("tell", lambda seam: ended(seam, "b", 0)),
    ("ask", lambda seam: StartRequested("b")),
    ("ask", lambda seam: RestartRequested("a")),
)
"""What is told and asked of two agents: each kind of order once, with a crash and hooks in between."""


Real = Callable[[Supervisor, Turn, Moment], Awaitable[None]]
Plant = Callable[[pytest.MonkeyPatch, Real], None]


def always(fate: Fate, attempts: Iterable[int]) -> dict[int, Fate]:
    return dict.fromkeys(attempts, fate)


def live(fates: Mapping[int, Fate], pause: float, **deaths: int) -> Seam:
    """A life under these fates, and the peace after it; raises OutOfLine."""
    seam = Seam(fates, is_strict=True, **deaths)
    try:
        for how, event in LIFE:
            if not seam.is_alive:
                break
            seam.play(how, event(seam))
            seam.let(pause)
        seam.commits_of_the_story = seam.journal.attempts
        seam.make_peace()
        return seam
    finally:
        seam.end()


def commits(pause: float) -> range:
    """The numbers of a healthy life's commits, and of one more."""
    return range(1, live({}, pause).commits_of_the_story + 2)


def test_the_story_of_the_seam_does_something_at_each_of_its_points() -> None:
    seam = live({}, ONE_BY_ONE)

    assert {what.split()[0] for what in seam.done} >= {"spawn", "deliver", "terminate"}
    assert seam.receipts == {"m0", "m1"}
    assert [refusal for _, refusal in seam.answers] == [None] * len(seam.asked)


@pytest.mark.parametrize("pause", PAUSES.values(), ids=PAUSES)
def test_saved_then_acted_then_answered_whatever_becomes_of_any_commit(pause: float) -> None:
    for fate, at in product(FATES, commits(pause)):
        live(always(fate, [at]), pause)


@pytest.mark.slow
def test_saved_then_acted_then_answered_whatever_becomes_of_any_two_commits_near_each_other() -> None:
    lives = 0
    for first, second in combinations(commits(ONE_BY_ONE), 2):
        if second - first > NEAR:
            continue
        for one, other in product(FATES[:2], FATES):
            live(always(one, [first]) | always(other, [second]), ONE_BY_ONE)
            lives += 1
    assert lives > 200


@pytest.mark.parametrize("pause", PAUSES.values(), ids=PAUSES)
def test_what_was_done_when_the_daemon_died_between_two_actions_is_in_the_journal(pause: float) -> None:
    whole = live({}, pause)
    for at in range(1, whole.remembrances + 1):
        assert not live({}, pause, dies_remembering=at).is_alive
    for at in range(1, whole.dispatched + 1):
        assert not live({}, pause, dies_at=at).is_alive
        for commit in range(1, 6):
            live(always("fails", [commit]), pause, dies_at=at)


@pytest.mark.parametrize("failures", [1, 3, 8])
@pytest.mark.parametrize("pause", PAUSES.values(), ids=PAUSES)
def test_what_was_withheld_while_the_journal_failed_is_done_once_and_in_order(pause: float, failures: int) -> None:
    seam = live(always("fails", range(1, failures + 1)), pause)

    assert sum(what.startswith("spawn") for what in seam.done) >= 2
    assert "acted alert None" in seam.line, "nobody was told that the journal fails"


def test_what_ends_processes_is_not_withheld_while_the_journal_fails() -> None:
    seam = Seam()
    try:
        for how, event in LIFE[:5]:
            seam.play(how, event(seam))
            seam.let(ONE_BY_ONE)
        seam.journal.fates = always("fails", range(seam.journal.attempts + 1, seam.journal.attempts + 40))
        orders: tuple[Event, ...] = (SendRequested("b", "text-1", "go on"), StopRequested("b"), RestartRequested("a"))
        for order in orders:
            seam.ask(order)
            seam.let(3)
        assert {"terminate #1 b", "terminate #1 a"} <= set(seam.early)
        seam.make_peace()
        assert "deliver #1 b" in seam.done
    finally:
        seam.end()


def acts_before_the_save(planted: pytest.MonkeyPatch, real: Real) -> None:
    async def carry_out(desk: Supervisor, turn: Turn, now: Moment) -> None:
        for action in turn.actions:
            desk.commits._dues._dispatch(action)
        turn.actions.clear()
        await real(desk, turn, now)

    planted.setattr(Supervisor, "_carry_out", carry_out)


def ends_before_the_save_where_there_was_trouble_lately(planted: pytest.MonkeyPatch, real: Real) -> None:
    async def carry_out(desk: Supervisor, turn: Turn, now: Moment) -> None:
        if desk.degraded is not None:
            for action in turn.actions:
                if isinstance(action, OF_NO_DELAY):
                    desk.commits._dues._dispatch(action)
            turn.actions[:] = [action for action in turn.actions if not isinstance(action, OF_NO_DELAY)]
        await real(desk, turn, now)

    planted.setattr(Supervisor, "_carry_out", carry_out)


def answers_before_the_save(planted: pytest.MonkeyPatch, real: Real) -> None:
    async def carry_out(desk: Supervisor, turn: Turn, now: Moment) -> None:
        for done, refusal in turn.answers:
            done(refusal)
        turn.answers.clear()
        await real(desk, turn, now)

    planted.setattr(Supervisor, "_carry_out", carry_out)


def acknowledges_before_the_save(planted: pytest.MonkeyPatch, real: Real) -> None:
    async def carry_out(desk: Supervisor, turn: Turn, now: Moment) -> None:
        for acknowledge in turn.receipts:
            acknowledge()
        turn.receipts.clear()
        await real(desk, turn, now)

    planted.setattr(Supervisor, "_carry_out", carry_out)


def answers_what_is_late(planted: pytest.MonkeyPatch, real: Real) -> None:
    def go_on(dues: Dues, due: Due, *, forget: bool) -> bool:
        for answer in due.answers:
            answer(None)
        due.answers.clear()
        return carried_out(dues, due, forget=forget)

    carried_out = Dues.go_on_without
    planted.setattr(Dues, "go_on_without", go_on)


def begins_what_is_late(planted: pytest.MonkeyPatch, real: Real) -> None:
    def go_on(dues: Dues, due: Due, *, forget: bool) -> bool:
        for action in due.actions:
            dues._dispatch(action)
        due.actions.clear()
        return carried_out(dues, due, forget=forget)

    carried_out = Dues.go_on_without
    planted.setattr(Dues, "go_on_without", go_on)


def answers_before_it_acts(planted: pytest.MonkeyPatch, real: Real) -> None:
    def add(dues: Dues, due: Due) -> None:
        if due.is_durable:
            for answer in due.answers:
                answer(None)
            due.answers.clear()
        added(dues, due)

    added = Dues.add
    planted.setattr(Dues, "add", add)


def answers_one_turn_of_two_that_wait(planted: pytest.MonkeyPatch, real: Real) -> None:
    """Answers whatever waits, as soon as the first of it is durable."""

    def settle(dues: Dues) -> None:
        if any(due.is_durable for due in dues._late):
            for due in dues._late:
                for answer in due.answers:
                    answer(None)
                due.answers.clear()
        settled(dues)

    settled = Dues.settle
    planted.setattr(Dues, "settle", settle)


def never_says_that_it_is_over(planted: pytest.MonkeyPatch, real: Real) -> None:
    planted.setattr(Durability, "_settled", lambda known, now: known)


def live_through_some() -> None:
    fates: tuple[Fate, ...] = ("late", "fails")
    for fate, at, pause in product(fates, (1, 4, 9), PAUSES.values()):
        live(always(fate, [at]), pause)


@pytest.mark.parametrize(
    "plant",
    [
        acts_before_the_save, ends_before_the_save_where_there_was_trouble_lately, answers_before_the_save,
        acknowledges_before_the_save, answers_what_is_late, begins_what_is_late, answers_before_it_acts,
        answers_one_turn_of_two_that_wait, never_says_that_it_is_over,
    ],
)  # fmt: skip
def test_the_line_catches(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, Supervisor._carry_out)

    with pytest.raises(OutOfLine):
        live_through_some()


class SeamMachine(RuleBasedStateMachine):
    """Any order of what is told and asked, of fates, of pauses: the line holds, until death and after it."""

    @initialize()
    def begin(self) -> None:
        self.seam = Seam()
        self.seam.ask(AgentDeclared(spec("a"), start=True))
        self.seam.ask(AgentDeclared(claude("b"), start=True))
        self.seam.let(ONE_BY_ONE)

    @rule(part=st.sampled_from([part for part in LIFE if part not in (LIFE[0], LIFE[2])]))
    def happens(self, part: Part) -> None:
        how, event = part
        if self.seam.is_alive:
            self.seam.play(how, event(self.seam))

    @rule(seconds=st.sampled_from([0.0, 0.001, 0.3, 2.5, 11.0]))
    def passes(self, seconds: float) -> None:
        self.seam.let(seconds)

    @rule(fate=st.sampled_from(FATES), after=st.integers(1, 3), times=st.integers(1, 4))
    def is_fated(self, fate: Fate, after: int, times: int) -> None:
        first = self.seam.journal.attempts + after
        self.seam.journal.fates |= always(fate, range(first, first + times))

    @precondition(lambda self: self.seam.dies_at is None)
    @rule(after=st.integers(1, 6))
    def dies(self, after: int) -> None:
        self.seam.dies_at = self.seam.dispatched + after

    def teardown(self) -> None:
        try:
            self.seam.make_peace()
        finally:
            self.seam.end()


TestSeamMachine = SeamMachine.TestCase
TestSeamMachine.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
