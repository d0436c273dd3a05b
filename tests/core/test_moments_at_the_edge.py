"""Rules that compare times and numbers, on the instant itself and right beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from phoenixd.core.boot import Boot, is_another_table, why_gone
from phoenixd.core.durability import COMES_BACK, ENOUGH, LATE, LONGEST_QUIET, PROBE, QUIET, SILENT, Durability, Episode
from phoenixd.core.hooks import is_refusal
from phoenixd.core.typing import people

NEAR = 0.001


def test_a_person_types_for_five_seconds_after_a_key_and_sits_there_for_a_minute() -> None:
    for rule, seconds in ((people.is_typing, people.QUIET), (people.was_touched, people.ATTENDED)):
        assert rule(100.0, 100.0 + seconds - NEAR)
        assert not rule(100.0, 100.0 + seconds)
        assert not rule(None, 100.0)
    assert people.came_since(100.0, 100.9, 101.0), "tmux counts whole seconds"
    assert not people.came_since(99.0, 100.0, 101.0)
    assert not people.came_since(None, 100.0, 101.0)
    assert people.came_since(101.0 + people.QUIET - NEAR, 100.0, 101.0)
    assert not people.came_since(101.0 + people.QUIET, 100.0, 101.0), "it is of before the clock was set back"


@pytest.mark.parametrize(
    ("status", "refused"),
    [(None, False), (399, False), (400, True), (408, False), (413, True), (429, False), (499, True), (500, False)],
)
def test_a_status_of_the_400s_refuses_the_request_unless_it_passes(status: int | None, refused: bool) -> None:
    assert is_refusal(status) is refused


def test_an_episode_is_over_after_enough_good_signs_and_a_quiet_that_grows_where_it_comes_back() -> None:
    begun = Episode().bad("slow", 1_000.0)
    assert begun.stands
    assert begun.over_at is None
    almost = begun.well(ENOUGH - 1)
    assert almost.over_at is None
    assert almost.well().over_at == 1_000.0 + QUIET
    worse = almost.bad("slower", 1_010.0)
    assert (worse.why, worse.bad_at, worse.good, worse.returned) == ("slower", 1_010.0, 0, 0)
    ended = Episode(ended_at=1_000.0)
    assert ended.bad("slow", 1_000.0 + COMES_BACK).returned == 1
    assert ended.bad("slow", 1_000.0 + COMES_BACK + NEAR).returned == 0
    assert replace(begun, returned=1).quiet == 2 * QUIET
    assert replace(begun, returned=99).quiet == LONGEST_QUIET


def test_a_commit_is_late_after_two_seconds_and_a_probe_is_wanted_five_after_the_last() -> None:
    under_way = Durability(since=100.0)
    assert not under_way.is_late(100.0 + LATE - NEAR)
    assert under_way.is_late(100.0 + LATE)
    assert Durability(is_missed=True).is_late(0.0)
    assert under_way.due(100.0) == 100.0 + LATE
    assert under_way.due(100.0 + LATE) == 100.0 + SILENT
    assert under_way.due(100.0 + SILENT) is None

    slow = Durability(slow=Episode("slow", 90.0), ended=100.0)
    assert slow.trouble
    assert slow.due(100.0) == 100.0 + PROBE
    assert not slow.wants_probe(100.0 + PROBE - NEAR)
    assert slow.wants_probe(100.0 + PROBE)
    assert not replace(slow, since=104.0).wants_probe(105.0)
    assert not Durability(ended=100.0).wants_probe(200.0), "nothing is wrong"


def test_a_table_of_processes_is_another_where_both_know_it_and_it_differs() -> None:
    here = Boot("b", 7, 70)
    for known, other in (
        (None, False),
        (here, False),
        (Boot("b"), False),
        (Boot("b", 8), True),
        (Boot("b", 7, 71), True),
    ):
        assert is_another_table(known, here) is other
    assert why_gone(Boot("c"), here, ["a"]) == "the host was booted since"
    assert why_gone(Boot("b", 8), here, ["a"]) is None
    assert why_gone(Boot("b", 8), here, []) is not None
    assert why_gone(here, here, []) is None
