"""An operator's answer to a held request: given once, on a dialog that stands, and always with a verdict."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.moment import Moment
from phoenixd.core.typing.answering import (
    APPEARS_WITHIN,
    DENIAL_WITHIN,
    DIALOG_GONE,
    NO_WORD,
    NOT_COUNTED,
    NOT_WAITING,
    WORD_WITHIN,
    DialogLooked,
    HandOver,
    HeldLetGo,
    LetGo,
    LookForDialog,
    Order,
    ProofSought,
    SeekProof,
    Seen,
    Unreachable,
    Verdict,
    WordHeard,
    begin,
    hear,
)

SLOW = 1.0


@dataclass(frozen=True)
class World:
    """drawn, gone: when the dialog is drawn, and when somebody answers it at the terminal. proof: when the transcript
    says so, and what. closes: when a program without a transcript has gone on. fails_at: the order that fails.
    """

    allow: bool = True
    shows: bool = True
    was_seen: bool = False
    drawn: float = 0.0
    gone: float = 99.0
    word: bool | None = True
    proof: tuple[float, bool] | None = None
    closes: float = 99.0
    slow: float = 0.0
    fails_at: int | None = None


@dataclass
class Played:
    verdict: Verdict
    orders: list[Order]
    at: float
    looks: list[bool]


TIMES = st.one_of(st.floats(0, 2), st.floats(0, 30))
WORLDS = st.builds(
    World,
    allow=st.booleans(),
    shows=st.booleans(),
    was_seen=st.booleans(),
    drawn=TIMES,
    gone=TIMES,
    word=st.sampled_from((True, True, False, None)),
    proof=st.none() | st.tuples(TIMES, st.booleans()),
    closes=TIMES,
    slow=st.sampled_from((0.0, 0.05, SLOW)),
    fails_at=st.none() | st.integers(0, 12),
)


def played(world: World) -> Played:
    now, orders, looks = 0.0, list[Order](), list[bool]()
    answering, order, _ = begin(Moment(0.0, 0.0), allow=world.allow, shows=world.shows, was_seen=world.was_seen)
    while not isinstance(order, Verdict):
        assert len(orders) < 1000, f"no verdict at {now:.1f} s"
        now += world.slow
        seen: Seen
        match order:
            case LookForDialog(at=at):
                now = max(now, at)
                looks.append(world.drawn <= now < world.gone)
                seen = DialogLooked(looks[-1])
            case HandOver(within=within):
                now += 0.01 if world.word is not None else within
                seen = WordHeard(world.word)
            case SeekProof(at=at):
                now = max(now, at)
                counted = world.proof[1] if world.proof is not None and world.proof[0] <= now else None
                seen = ProofSought(counted, closed=world.closes <= now)
            case LetGo():
                seen = HeldLetGo()
        if len(orders) == world.fails_at:
            seen = Unreachable("the link is lost")
        orders.append(order)
        answering, order, reason = hear(answering, seen, Moment(now, now))
        assert reason
    return Played(order, orders, now, looks)


@given(world=WORLDS)
def test_an_answer_is_given_once_and_only_on_a_dialog_that_stands(world: World) -> None:
    found = played(world)

    given = [number for number, order in enumerate(found.orders) if isinstance(order, HandOver)]
    assert len(given) <= 1
    if given and world.shows:
        assert found.looks[-1]
    assert not (given and any(isinstance(order, LetGo) for order in found.orders))


@given(world=WORLDS)
def test_there_is_always_a_verdict_and_a_yes_only_by_the_shims_word(world: World) -> None:
    found = played(world)

    assert found.at <= APPEARS_WITHIN + WORD_WITHIN + DENIAL_WITHIN + 5 * SLOW
    assert found.verdict.taken == (found.verdict.why == "")
    if found.verdict.taken:
        assert world.word
        assert any(isinstance(order, HandOver) for order in found.orders)
    if world.fails_at is not None and len(found.orders) > world.fails_at:
        assert found.verdict == Verdict(taken=False, why="the link is lost", held=True)


@pytest.mark.parametrize(
    ("world", "why"),
    [
        (World(), ""),
        (World(shows=False, drawn=99.0), ""),
        (World(drawn=3.0), ""),
        (World(drawn=99.0), DIALOG_GONE),
        (World(drawn=3.0, was_seen=True), DIALOG_GONE),
        (World(word=False), NOT_WAITING),
        (World(word=None), NO_WORD),
        (World(proof=(0.1, False)), NOT_COUNTED),
        (World(allow=False, proof=(9.0, True)), ""),
        (World(allow=False), NOT_COUNTED),
        (World(allow=False, closes=2.0), NOT_COUNTED),
    ],
)
def test_what_becomes_of_an_answer(world: World, why: str) -> None:
    found = played(world).verdict

    assert (found.taken, found.why, found.held) == (why == "", why, why == NO_WORD)


def test_the_end_of_a_neighbours_call_is_not_taken_for_the_answers_own() -> None:
    """The transcript says at first that another call ended unanswered, and then that this one counted."""
    answering, _, _ = begin(Moment(0.0, 0.0), allow=True, shows=False, was_seen=False)
    answering, _, _ = hear(answering, WordHeard(True), Moment(0.0, 0.0))

    answering, order, _ = hear(answering, ProofSought(False), Moment(0.5, 0.5))
    assert isinstance(order, SeekProof)

    _, order, _ = hear(answering, ProofSought(True), Moment(0.6, 0.6))
    assert order == Verdict(taken=True)
