"""Whatever sessions go through, no request is lost, and none that is finished is listed: off the CLIs' files."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, cast

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phoenixd.core.limits.parking import CONTINUE
from phoenixd.core.limits.state import ParkingKind
from tests.eval_brief.blind.session import Cli
from tests.memory.brief.loops.lives import CLIS, Life, asks, ends, runs, says, unanswered

Who = Literal["person", "daemon", "news"]
How = Literal["done", "killed", "failed", "stopped"]
Turn = tuple[Who, How, bool]
"""Who prompted it, how it ended, and whether a brief was written then."""

NEWS = "phoenixd: task t3 (icons) is done"


def told(number: int) -> str:
    return f"request number {number}"


@st.composite
def lives(draw: st.DrawFn) -> list[Turn]:
    """A turn that was killed or failed is gone on with by the daemon, or a person is quicker after a failure."""
    turns: list[Turn] = []
    before: How = "done"
    for _ in range(draw(st.integers(1, 7))):
        who: Sequence[Who] = {
            "done": ("person", "news"), "stopped": ("person", "news"), "killed": ("daemon",),
            "failed": ("daemon", "person", "news"),
        }[before]  # fmt: skip
        before = draw(st.sampled_from(cast("Sequence[How]", ("done", "killed", "failed", "stopped"))))
        turns.append((draw(st.sampled_from(who)), before, draw(st.booleans())))
    return turns


def expected(turns: Sequence[Turn]) -> list[str]:
    """What is to be listed: requests by number, each with how its turn ended and whether it is in doubt."""
    standing: dict[int, tuple[How, bool]] = {}
    for number, (who, how, _) in enumerate(turns):
        if who == "person":
            standing = {one: kept for one, kept in standing.items() if kept[0] != "stopped"}
        if who == "person" and how != "done":
            standing[number] = how, False
        elif who == "person":
            standing = {one: (kept[0], True) for one, kept in standing.items()}
        elif who == "daemon" and how == "done" and standing:
            last = max(standing)
            rest = {one: (kept[0], True) for one, kept in standing.items() if one != last or kept[1]}
            standing = rest
    return [f"{unanswered(told(one))}{'?' if doubt else ''}" for one, (_, doubt) in standing.items()]


def lived(cli: Cli, turns: Sequence[Turn]) -> list[str]:
    life = Life(cli)
    session = life.session()
    task, before = "", "done"
    for number, (who, how, is_read) in enumerate(turns):
        if who == "person":
            task = told(number)
        again = life.go_on(task) if before == "killed" else asks(CONTINUE[ParkingKind.OVERLOAD])
        prompt = {"person": asks(task), "daemon": again, "news": asks(NEWS)}[who]
        session.process(prompt, says("I look."), runs("ls"), *((says("So be it."), ends()) if how == "done" else ()))
        if how == "failed":
            session.fails()
        elif how == "stopped":
            session.stopped()
        if is_read:
            life.read(session)
        before = how
    assert life.read(session) == life.read(session)
    return life.listed


@example("claude", [("person", "killed", True), ("daemon", "done", False), ("news", "killed", False)])
@example(
    "gemini",
    [("news", "done", False), ("person", "done", False), ("news", "killed", False), ("daemon", "killed", False)],
)
@settings(deadline=None)
@given(st.sampled_from(CLIS), lives())
def test_p24_no_request_is_lost_and_none_that_is_finished_is_listed(cli: Cli, turns: list[Turn]) -> None:
    assert lived(cli, turns) == expected(turns)


NOUNS = "lantern orchard velvet copper glacier thicket marble saffron juniper walrus magnet pebble hazel quartz".split()
"""Requests of nothing in common: what speaks of one speaks of no other."""


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("cli", CLIS)
def test_p24_over_several_sessions_none_is_lost_and_none_that_is_finished_is_listed(cli: Cli, seed: int) -> None:
    drawn, life = random.Random(seed), Life(cli)
    nouns = drawn.sample(NOUNS, len(NOUNS))
    is_done: dict[str, bool] = {}
    task, how = "", "done"
    for _ in range(drawn.randint(2, 4)):
        session = life.session()
        for number in range(drawn.randint(1, 3)):
            # A person may begin with something else in a fresh session, or once the API failed.
            if how == "done" or ((number == 0 or how == "failed") and drawn.random() < 0.4):
                task = f"repair the {nouns.pop()} of {nouns[-1]}"
                prompt = asks(task)
            elif how == "killed" or number == 0:
                prompt = life.go_on(task, fresh=number == 0)
            else:
                prompt = asks(CONTINUE[ParkingKind.LIMIT])
            how = drawn.choice(["done", "killed", "failed"])
            session.process(
                prompt, says("I look."), runs("ls"), *((says("So be it."), ends()) if how == "done" else ())
            )
            if how == "failed":
                session.fails()
            is_done[task] = how == "done"
        life.read(session)

    listed = {one for one in is_done if any(f'"{one}"' in text for text in life.listed)}

    assert listed == {one for one, done in is_done.items() if not done}
