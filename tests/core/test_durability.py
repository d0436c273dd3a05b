"""Episodes of a disk that is slow or fails: one trouble is told once, and is over once it has been well for a while."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.core.alerts import DEGRADED, SLOW_DISK
from phoenixd.core.durability import (
    COMES_BACK,
    ENOUGH,
    LATE,
    LONGEST_QUIET,
    PROBE,
    QUIET,
    REMEMBERED,
    SILENT,
    Durability,
    told,
)
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen

FULL = "database or disk is full"


@dataclass
class Disk:
    """A journal's disk over time, and what is told of it: a kind for each episode that begins, -kind where it ends."""

    known: Durability = field(default_factory=Durability)
    now: float = 1000.0
    told: list[str] = field(default_factory=list)

    def learn(self, known: Durability) -> None:
        for event in told(self.known, known):
            standing = self.known.failing.stands if event.kind == DEGRADED else self.known.slow.stands
            if isinstance(event, TroubleGone):
                self.told.append(f"-{event.kind}")
            elif not standing:
                self.told.append(event.kind)
        self.known = known

    def wait(self, seconds: float) -> None:
        """Time passes as the saver lets it: it wakes at each instant that is due, and probes where that is wanted."""
        until = self.now + seconds
        while (due := self.known.due(self.now)) is not None and due <= until:
            self.now = due
            self.learn(self.known.passed(self.now))
            if self.known.wants_probe(self.now):
                self.commit(0.01)
        self.now = until
        self.learn(self.known.passed(self.now))

    def commit(self, took: float, fault: str = "") -> None:
        self.learn(self.known.begun(self.now))
        until = self.now + took
        while (due := self.known.due(self.now)) is not None and due <= until:
            self.now = due
            self.learn(self.known.passed(self.now))
        self.now = until
        self.learn(self.known.failed(fault, self.now) if fault else self.known.landed(self.now))

    def room(self, shortage: str | None = None) -> None:
        self.learn(self.known.room(shortage, self.now))


@pytest.mark.parametrize("took", [LATE, 2.5, 10.0, 59.0])
def test_a_slow_disk_is_one_episode_however_often_it_is_late(took: float) -> None:
    disk = Disk()
    for _ in range(100):
        disk.commit(took)
        disk.wait(3)
    assert disk.told == [SLOW_DISK]
    assert disk.known.withholds == "", "what was saved is carried out"


@pytest.mark.parametrize("took", [0.001, 0.5, 1.0, 1.9])
def test_a_disk_that_is_in_time_is_no_trouble(took: float) -> None:
    disk = Disk()
    for _ in range(100):
        disk.commit(took)
    assert (disk.told, disk.known.trouble, disk.known.halts(disk.now)) == ([], "", "")


def test_an_episode_is_over_by_commits_that_went_well_and_not_by_silence() -> None:
    disk = Disk()
    disk.commit(2.5)
    known = disk.known
    assert known.passed(disk.now + 1e6).slow.stands, "nobody has seen the disk since"
    disk.wait(QUIET - 1)
    assert disk.told == [SLOW_DISK]
    disk.wait(1 + PROBE)
    assert disk.told == [SLOW_DISK, f"-{SLOW_DISK}"]
    assert disk.known.due(disk.now) is None, "a daemon at rest wakes up for nothing"


def test_between_late_and_prompt_nothing_begins_and_nothing_is_over() -> None:
    disk = Disk()
    disk.commit(1.5)
    assert disk.told == []
    disk.commit(2.1)
    for _ in range(60):
        disk.commit(1.5)
    assert disk.told == [SLOW_DISK], "a disk on the border does not flap"


def test_no_start_is_decided_on_while_a_commit_is_late_and_saved_ones_are_carried_out() -> None:
    disk = Disk()
    disk.learn(disk.known.begun(disk.now))
    assert disk.known.halts(disk.now + LATE - 0.1) == ""
    assert "under way" in disk.known.halts(disk.now + LATE)
    assert disk.known.withholds == ""
    disk.now += 2.5
    disk.learn(disk.known.landed(disk.now))
    assert disk.known.halts(disk.now) == "", "though the episode goes on"
    assert disk.known.slow.stands


def test_a_commit_of_which_nothing_is_heard_for_a_minute_counts_as_failing() -> None:
    disk = Disk()
    disk.learn(disk.known.begun(disk.now))
    disk.wait(SILENT - 1)
    assert disk.told == [SLOW_DISK]
    disk.wait(1)
    assert disk.told == [SLOW_DISK, DEGRADED]
    assert "1 min" in disk.known.trouble


def test_f_st_3_a_disk_that_flaps_between_full_and_a_little_room_is_one_alert() -> None:
    disk = Disk()
    for _ in range(50):
        disk.commit(0.01, FULL)
        assert disk.known.withholds == FULL
        disk.commit(0.01)
        assert disk.known.withholds == FULL, "one commit got through: that says nothing about the next"
        disk.room("3 KiB are left")
        assert disk.known.halts(disk.now) == "3 KiB are left"
        disk.wait(2)
        disk.room(None)
        assert disk.known.halts(disk.now) == "", "there is room: starts go on at once"
        disk.wait(5)
    assert disk.told == [DEGRADED]
    disk.wait(QUIET + PROBE)
    assert disk.told == [DEGRADED, f"-{DEGRADED}"]


def test_while_too_little_room_is_left_nothing_is_over_and_no_probe_takes_the_rest() -> None:
    disk = Disk()
    disk.commit(0.01, FULL)
    disk.commit(0.01)
    disk.room("3 KiB are left")
    count = len(disk.known.recent)
    disk.wait(3600)
    assert (disk.told, len(disk.known.recent)) == ([DEGRADED], count)


def test_a_trouble_that_comes_back_has_to_stay_away_longer_each_time() -> None:
    disk = Disk()
    quiets = []
    for _ in range(12):
        disk.commit(2.5)
        quiets.append(disk.known.slow.quiet)
        disk.wait(disk.known.slow.quiet + PROBE + 1)
    assert quiets == [min(LONGEST_QUIET, QUIET * 2**n) for n in range(12)]
    disk.wait(COMES_BACK + 1)
    disk.commit(2.5)
    assert disk.known.slow.quiet == QUIET, "that was long ago"


def test_what_an_earlier_daemon_left_standing_goes_on_and_is_not_told_again() -> None:
    disk = Disk(Durability.inherited("it was slow", "", 1000.0))
    disk.commit(2.5)
    assert disk.told == []
    disk.wait(QUIET + PROBE)
    assert disk.told == [f"-{SLOW_DISK}"]
    assert Durability.inherited("", "", 5.0) == Durability()


def test_latency_is_told_over_the_newest_commits() -> None:
    disk = Disk()
    assert disk.known.latency is None
    for _ in range(REMEMBERED):
        disk.commit(9.0)
    for number in range(REMEMBERED):
        disk.commit(0.25 if number == 7 else 0.0625 if number % 100 == 99 else 0.00390625)
    latency = disk.known.latency
    assert latency is not None
    assert (latency.count, latency.last, latency.p50) == (REMEMBERED, 0.00390625, 0.00390625)
    assert (latency.p99, latency.worst) == (0.0625, 0.25)
    assert str(latency) == "last 4 ms, half within 4 ms, 99 % within 62 ms, worst 250 ms, of 512 commits"


@given(
    st.lists(st.tuples(st.sampled_from(["commit", "fail", "shortage", "room", "wait"]), st.floats(0, 100)), max_size=60)
)
def test_whatever_happens_alerts_are_paired_starts_come_back_and_each_episode_ends(
    happenings: list[tuple[str, float]],
) -> None:
    disk = Disk()
    for kind, seconds in happenings:
        match kind:
            case "commit":
                disk.commit(seconds)
            case "fail":
                disk.commit(seconds, FULL)
            case "shortage":
                disk.room("3 KiB are left")
            case "room":
                disk.room(None)
            case _:
                disk.wait(seconds)
        known = disk.known
        assert bool(known.trouble) >= bool(known.halts(disk.now)), "nothing is held back in silence"
        assert (known.due(disk.now) or disk.now + 1) > disk.now, "nobody is woken for what is past"
    for one in (DEGRADED, SLOW_DISK):
        signs = [sign for sign in disk.told if sign.endswith(one)]
        assert signs == [one, f"-{one}"] * (len(signs) // 2) + [one] * (len(signs) % 2)
    disk.commit(0.01)
    disk.room(None)
    assert disk.known.halts(disk.now) == ""
    for _ in range(ENOUGH):
        disk.commit(0.01)
    disk.wait(LONGEST_QUIET + PROBE)
    assert disk.known.trouble == ""


@given(st.lists(st.floats(0, 4), min_size=1, max_size=400), st.floats(0, 100))
def test_however_slow_commits_come_alerts_are_few(times: list[float], pause: float) -> None:
    disk = Disk()
    for took in times:
        disk.commit(took)
        disk.wait(pause)
    assert disk.told.count(SLOW_DISK) <= 2 + (disk.now - 1000) / COMES_BACK * 2 + 8


def test_words_that_change_are_told_to_the_alert_that_stands() -> None:
    before = Durability().failed("one thing", 1.0)
    after = before.failed("another", 2.0)
    assert told(before, after) == (TroubleSeen(None, DEGRADED, "another"),)
    assert told(after, after) == ()
