"""An answer that was under way when the daemon died: given once, never twice, and always with a verdict (issue 10)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core import answers
from phoenixd.core.actions import AnswerHold, OrphanAnswer
from phoenixd.core.agent.run import Giving
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.agent.state import Running
from phoenixd.core.condition import needs_person
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.events.runs import HoldAnswered, RunAdopted
from phoenixd.core.moment import Moment
from phoenixd.core.typing.answering import (
    NO_TRACE,
    NOT_KEPT,
    NOT_WAITING,
    AwaitWord,
    DialogLooked,
    HandOver,
    HeldLetGo,
    LetGo,
    LookForDialog,
    Outcome,
    ProofSought,
    SeekProof,
    Seen,
    Verdict,
    WordHeard,
    begin,
    begin_again,
    hear,
)
from tests.core.story import Story
from tests.core.test_held_questions import asking
from tests.journaled import dump_agent, load_agent

# --- the machine: deaths at any point ---


@dataclass
class Shim:
    """Holds one request. at_terminal: when a person answers it there. settles: seconds until it says what came of an
    answer. says: it says so in its hello.
    """

    at_terminal: float
    settles: float
    says: bool
    now: float = 0.0
    answered_at: float | None = None
    taken: bool = False
    given: int = 0
    """How many answers the agent got."""

    @property
    def is_held(self) -> bool:
        return self.answered_at is None and self.now < self.at_terminal

    @property
    def word(self) -> bool | None:
        is_out = self.answered_at is not None and self.now >= self.answered_at + self.settles
        return self.taken if is_out else None

    def answer(self) -> bool:
        """What becomes of one more answer."""
        was_held = self.is_held
        if was_held:
            self.given += 1
        if self.answered_at is None:
            self.answered_at, self.taken = self.now, was_held
        return was_held

    def left(self, whole: bool) -> OrphanAnswer:
        return OrphanAnswer(self.is_held, self.word if self.says else None, self.says, whole)


@dataclass(frozen=True)
class Death:
    """After some orders of a life; carried_out: the last of them still was, and nobody heard of it. away: seconds until
    the next daemon."""

    after: int
    carried_out: bool
    away: float


@dataclass(frozen=True)
class World:
    allow: bool
    shows: bool
    whole: bool
    shim: tuple[float, float, bool]
    proof: float
    """Seconds after which the transcript says that the answer counted."""
    deaths: tuple[Death, ...] = ()


@dataclass
class Played:
    verdict: Verdict
    shim: Shim
    lives: int
    orders: list[str] = field(default_factory=list)


MOMENTS = st.one_of(st.floats(0, 2), st.floats(0, 40), st.just(999.0))
DEATHS = st.builds(Death, st.integers(0, 6), st.booleans(), st.sampled_from((0.0, 0.3, 3.0, 60.0)))
WORLDS = st.builds(
    World,
    allow=st.booleans(),
    shows=st.booleans(),
    whole=st.sampled_from((True, True, True, False)),
    shim=st.tuples(MOMENTS, st.sampled_from((0.0, 1.0)), st.sampled_from((True, True, False))),
    proof=st.sampled_from((0.1, 3.0, 999.0)),
    deaths=st.lists(DEATHS, max_size=4).map(tuple),
)


def played(world: World) -> Played:
    shim, deaths, orders = Shim(*world.shim), list(world.deaths), list[str]()
    lives = 0
    while True:
        lives += 1
        death, before = deaths.pop(0) if deaths else None, len(orders)
        now, may_be_given = Moment(shim.now, shim.now), lives == 1 or (shim.is_held and world.whole)
        found = (
            begin(now, allow=world.allow, shows=world.shows, was_seen=False)
            if lives == 1
            else begin_again(now, allow=world.allow, shows=world.shows, was_seen=False, orphan=shim.left(world.whole))
        )
        verdict = _lived(world, shim, found, death, orders)
        assert orders[before:].count("HandOver") <= may_be_given, "what is not held, or not known, is not given"
        if verdict is not None:
            return Played(verdict, shim, lives, orders)
        assert death is not None
        shim.now += death.away


def _lived(world: World, shim: Shim, found: Outcome, death: Death | None, orders: list[str]) -> Verdict | None:
    """One life of the daemon; None where it died before its verdict was in the journal."""
    for number in range(1000):
        order = found.order
        dies = death is not None and number >= death.after
        if dies and not (death is not None and death.carried_out):
            return None
        if isinstance(order, Verdict):
            return None if dies else order
        seen = _carried_out(world, shim, order)
        orders.append(type(order).__name__)
        assert shim.given <= 1, "the agent is given two answers"
        if dies:
            return None
        found = hear(found.answering, seen, Moment(shim.now, shim.now))
        assert found.reason
    raise AssertionError(f"no verdict at {shim.now:.1f} s")


def _carried_out(world: World, shim: Shim, order: LookForDialog | HandOver | AwaitWord | SeekProof | LetGo) -> Seen:
    match order:
        case LookForDialog(at=at):
            shim.now = max(shim.now, at)
            return DialogLooked(shim.now < shim.at_terminal)
        case HandOver(within=within):
            taken = shim.answer()
            shim.now += min(shim.settles, within)
            return WordHeard(taken)
        case AwaitWord(within=within):
            until = shim.now + within
            if shim.answered_at is not None and shim.answered_at <= shim.now < shim.answered_at + shim.settles:
                shim.now = shim.answered_at + shim.settles
                return WordHeard(shim.word)
            shim.now = until
            return WordHeard(None)
        case SeekProof(at=at):
            shim.now = max(shim.now, at)
            counts = shim.answered_at is not None and shim.now >= shim.answered_at + world.proof
            return ProofSought(True if counts else None)
        case LetGo():
            return HeldLetGo()


@given(world=WORLDS)
def test_whenever_the_daemon_dies_the_agent_is_given_one_answer_at_most_and_there_is_a_verdict(world: World) -> None:
    found = played(world)

    assert found.shim.given <= 1
    assert found.lives <= len(world.deaths) + 1
    if found.verdict.taken:
        assert found.shim.given == 1
        assert found.verdict.why == ""
    if found.verdict.held:
        assert found.shim.given == 0
        assert found.shim.is_held


@given(world=WORLDS)
def test_an_answer_that_nobody_preceded_is_given_whatever_dies(world: World) -> None:
    """At the terminal nobody answers, and its words are known: the agent has it, and the operator is told so."""
    at_ease = replace(world, whole=True, proof=0.1, shim=(999.0, world.shim[1], True))
    found = played(at_ease)

    assert found.shim.given == 1
    assert found.verdict == Verdict(taken=True)


@pytest.mark.parametrize(
    ("left", "first", "verdict"),
    [
        (OrphanAnswer(held=True), HandOver, None),
        (OrphanAnswer(held=True, whole=False), Verdict, Verdict(taken=False, why=NOT_KEPT, held=True)),
        (OrphanAnswer(held=False, taken=True), Verdict, Verdict(taken=True)),
        (OrphanAnswer(held=False, taken=False), Verdict, Verdict(taken=False, why=NOT_WAITING)),
        (OrphanAnswer(held=False), AwaitWord, Verdict(taken=False, why=NOT_WAITING)),
        (OrphanAnswer(held=False, says=False), AwaitWord, Verdict(taken=False, why=NO_TRACE)),
    ],
)
def test_what_is_done_with_an_answer_that_an_earlier_daemon_was_at(
    left: OrphanAnswer, first: type, verdict: Verdict | None
) -> None:
    found = begin_again(Moment(0.0, 0.0), allow=True, shows=False, was_seen=False, orphan=left)

    assert isinstance(found.order, first)
    if isinstance(found.order, AwaitWord):
        found = hear(found.answering, WordHeard(None), Moment(5.0, 5.0))
    if verdict is not None:
        assert found.order == verdict


def test_a_denial_of_an_earlier_daemon_counts_where_its_mark_stands_and_old_lines_do_not_speak_against_it() -> None:
    left = OrphanAnswer(held=False, taken=True)
    found = begin_again(Moment(0.0, 0.0), allow=False, shows=True, was_seen=True, orphan=left)
    assert found.order == SeekProof(0.0, is_orphan=True)

    found = hear(found.answering, ProofSought(False), Moment(3.0, 3.0))
    assert isinstance(found.order, SeekProof)
    assert hear(found.answering, ProofSought(True), Moment(4.0, 4.0)).order == Verdict(taken=True)
    assert hear(found.answering, ProofSought(False), Moment(99.0, 99.0)).order.taken is False  # type: ignore[union-attr]


# --- the agent: what the journal keeps, and what the next daemon makes of it ---


def answered(**changes: object) -> tuple[Story, InboxItem]:
    """A question that an operator is answering."""
    story = asking("one")
    story.screen = "permission"
    assert story.agent.item is not None
    story.tell(AnswerRequested("a", story.agent.item.id, allow=False, reason="not before the release"))
    return story, story.agent.item


def dies(story: Story) -> None:
    """The daemon is killed, and the next one reads its journal."""
    kept = answers.orphaned(load_agent(dump_agent(story.agent)))
    story.fleet = replace(story.fleet, agents={"a": kept})
    story.decisions.clear()


def test_what_is_begun_is_in_the_journal_before_it_goes_out_and_only_until_its_verdict() -> None:
    story, item = answered()
    assert item.answering == "deny"
    assert load_agent(dump_agent(story.agent)).run == story.run
    assert story.run.giving == (Giving(1, item.id, "deny", "not before the release"),)

    story.tell(HoldAnswered("a", 1, 1, False, "its shim is not linked", still_held=True))

    assert story.agent.item is not None
    assert story.agent.item.answering == ""
    assert story.run.giving == ()


def test_p79_an_answer_that_holds_a_secret_arrives_and_is_kept_nowhere() -> None:
    story = asking("one")
    assert story.agent.item is not None
    order = AnswerRequested("a", story.agent.item.id, allow=False, reason="use hush", secret=True)
    story.tell(order)
    assert [one.reason for one in story.of(AnswerHold)] == ["use hush"]
    assert "hush" not in dump_agent(story.agent)
    dies(story)

    story.tell(RunAdopted("a", 1, 5, 50, held=(1,), answered=()))

    assert [(one.allow, one.orphan) for one in story.of(AnswerHold)] == [(False, OrphanAnswer(held=True, whole=False))]


@pytest.mark.parametrize("taken", [True, False])
def test_an_answer_that_was_given_when_the_daemon_died_is_told_as_what_it_came_to(taken: bool) -> None:
    story, item = answered()
    dies(story)

    story.tell(RunAdopted("a", 1, 5, 50, held=(), answered=((1, taken),)))

    (order,) = story.of(AnswerHold)
    assert order.orphan == OrphanAnswer(held=False, taken=taken)
    assert any("was being answered (deny) when phoenixd was restarted" in reason for reason in story.reasons)
    assert story.agent.item == item, "it is being answered until there is a verdict"
    assert story.tell(AnswerRequested("a", item.id, allow=True)) is not None
    story.tell(HoldAnswered("a", 1, 1, taken, "" if taken else NOT_WAITING))
    assert story.agent.item is None or story.agent.item.answer_by == "attach"


def test_an_answer_that_was_not_given_yet_is_given_once_by_the_next_daemon_and_not_at_each_greeting() -> None:
    story, item = answered()
    dies(story)

    for _ in range(3):
        story.tell(RunAdopted("a", 1, 5, 50, held=(1,), answered=()))

    (order,) = story.of(AnswerHold)
    assert (order.hold, order.item, order.allow, order.reason) == (1, item.id, False, "not before the release")
    assert order.orphan == OrphanAnswer(held=True)
    assert story.agent.item is not None
    assert story.agent.item.answering == "deny"


def test_an_answer_whose_question_was_over_before_its_verdict_is_told_all_the_same() -> None:
    """What the agent said while no daemon lived comes first: its turn ended."""
    story, item = answered()
    dies(story)
    story.hook("stop", seq=3)
    assert story.agent.item is None
    story.tell(RunAdopted("a", 1, 5, 50, held=(), answered=((1, True),)))

    assert [order.orphan for order in story.of(AnswerHold)] == [OrphanAnswer(held=False, taken=True)]
    story.tell(HoldAnswered("a", 1, 1, True))
    assert story.reasons[-1] == f"#{item.id}: its answer was taken (denied)"
    assert story.run.giving == ()


def test_a_link_that_was_lost_takes_no_answer_from_the_daemon_that_gives_it() -> None:
    """It lives, and tells what became of its answer by itself."""
    story, item = answered()
    story.decisions.clear()

    story.tell(RunAdopted("a", 1, 5, 50, held=(1,), answered=()))
    assert story.agent.item == item
    story.tell(RunAdopted("a", 1, 5, 50, held=(), answered=((1, True),)))
    assert story.agent.item == item
    assert story.of(AnswerHold) == []

    story.tell(RunAdopted("a", 1, 5, 50, held=(), answered=()))
    assert story.agent.item is None or story.agent.item.answer_by == "attach"


def test_an_answer_in_a_journal_of_before_is_given_back_to_its_person_or_told() -> None:
    """An older phoenixd kept the mark and not the words."""
    story, _ = answered()
    assert isinstance(story.state, Running)
    older = replace(story.agent, state=replace(story.state, run=replace(story.run, giving=())))
    story.fleet = replace(story.fleet, agents={"a": older})
    dies(story)

    story.tell(RunAdopted("a", 1, 5, 50, held=(1,)))

    (order,) = story.of(AnswerHold)
    assert (order.allow, order.orphan) == (False, OrphanAnswer(held=True, says=False, whole=False))
    story.tell(HoldAnswered("a", 1, 1, False, NOT_KEPT, still_held=True))
    assert story.agent.item is not None
    assert (story.agent.item.answering, story.agent.item.answer_by) == ("", "answer")
    assert any(NOT_KEPT in reason for reason in story.reasons)
    assert needs_person(story.agent)
