"""What is held of seats at each commit, also where one commit brings what was decided while the disk was full."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from phoenixd.core.facts import HandoffEnded
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.seat.state import Seat
from phoenixd.ports.journal import Entry
from tests.simulate.seats import Seats

GENERATIONS = ("boss", "boss-g2", "boss-g3")
WAITING = Handoff("h1", "boss", "boss", 1, "operator", "", 0.0, Step.AWAIT_ACK, 0.0, 0.0, package="aa")
DONE = replace(WAITING, step=Step.DONE)
ROLLED_BACK = replace(WAITING, step=Step.ROLLED_BACK)
NEXT = Handoff("h2", "boss", "boss", 2, "operator", "", 0.0, Step.DRAIN, 0.0, 0.0)


def seat(generation: int, handoff: Handoff | None) -> Seat:
    return Seat("boss", "boss", generation, generation - 1, handoff=handoff)


def ends(*handoffs: Handoff) -> list[Entry]:
    """A row for each handoff that is over."""
    return [Entry(0.0, 0.0, "boss", 1, "agent_exited", {}, facts=(HandoffEnded(one),)) for one in handoffs]


class Watch:
    """Seats at their first commit, in which a handoff waits for its acknowledgement; `said` has what did not hold."""

    def __init__(self, *proved: tuple[str, str]) -> None:
        self.said: list[str] = []
        nobody: Any = None
        self.seats = Seats(nobody, lambda holds, what: None if holds else self.said.append(what))
        self.save(seat(1, WAITING))
        for agent, package in proved:
            self.seats.proved(agent, package)

    def save(self, newest: Seat, *ended: Handoff) -> None:
        self.seats.saved([newest], ends(*ended), GENERATIONS)


def test_a_handoff_whose_end_is_saved_in_one_commit_with_the_beginning_of_the_next_is_none_too_many() -> None:
    watch = Watch(("boss-g2", "aa"))
    watch.save(seat(2, NEXT), DONE)
    assert watch.said == []
    assert watch.seats.ended == {"h1": Step.DONE}
    assert watch.seats.begun == {"h1": "boss", "h2": "boss"}


def test_two_handoffs_that_end_in_one_commit_are_both_followed() -> None:
    done_too = replace(NEXT, step=Step.DONE, package="bb")
    third = replace(NEXT, id="h3", predecessor=3)
    watch = Watch(("boss-g2", "aa"), ("boss-g3", "bb"))
    watch.save(seat(3, third), DONE, done_too)
    assert watch.said == []
    assert watch.seats.ended == {"h1": Step.DONE, "h2": Step.DONE}


def test_an_end_that_is_told_once_more_changes_nothing() -> None:
    watch = Watch(("boss-g2", "aa"))
    watch.save(seat(2, DONE), DONE)
    watch.save(seat(2, NEXT), DONE)
    watch.save(seat(2, replace(NEXT, step=Step.UPDATE)), DONE)
    assert watch.said == []


AFTER_FENCE = replace(WAITING, step=Step.SHUTDOWN)
BROKEN: dict[str, tuple[list[tuple[str, str]], list[tuple[Seat, tuple[Handoff, ...]]], str]] = {
    "the one before never ends": ([("boss-g2", "aa")], [(seat(2, NEXT), ())], "h2 begins, and h1 goes on"),
    "the one before ends without a proof": ([], [(seat(2, NEXT), (DONE,))], "generation 2 proved nothing"),
    "another generation has proved it": ([("boss-g3", "aa")], [(seat(2, NEXT), (DONE,))], "proved nothing"),
    "the one before is rolled back after its fence": (
        [("boss-g2", "aa")],
        [(seat(2, AFTER_FENCE), ()), (seat(1, replace(NEXT, predecessor=1)), (ROLLED_BACK,))],
        "h1 was rolled back after its fence",
    ),
    "the one before ends twice": (
        [("boss-g2", "aa")], [(seat(2, DONE), (DONE,)), (seat(2, ROLLED_BACK), ())], "was done, and is rolled_back",
    ),
    "the holder is another than the ends make it": (
        [("boss-g2", "aa")], [(seat(3, replace(NEXT, predecessor=3)), (DONE,))], "proved nothing",
    ),
    "it begins once more": (
        [("boss-g2", "aa")], [(seat(2, NEXT), (DONE,)), (seat(2, replace(NEXT, id="h1")), ())], "h1 begins twice",
    ),
    "it begins once more in one commit": (
        [("boss-g2", "aa")],
        [(seat(2, replace(NEXT, id="h1")), (DONE, replace(NEXT, step=Step.ROLLED_BACK)))],
        "h1 begins twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_what_one_commit_hides_in_between_is_caught(fault: str) -> None:
    proved, saved, said = BROKEN[fault]
    watch = Watch(*proved)
    for newest, ended in saved:
        watch.save(newest, *ended)
    assert any(said in one for one in watch.said), watch.said
