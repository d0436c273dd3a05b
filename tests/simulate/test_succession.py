"""Seats under storms: one holder at every instant, each handoff comes to one end, and nothing is lost or done twice.

A successor acknowledges by the verb or with its last words, wrongly first, late, never, or dies of it; contexts fill
up, tasks are handed out, texts are sent, operators stop, start and call off; the daemon dies meanwhile.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import anyio
import pytest

from phoenixd.core.events import Event
from phoenixd.core.events.orders import HandoffRequested, SendRequested
from phoenixd.core.facts import HandoffEnded
from phoenixd.core.fleet import Fleet
from phoenixd.core.fleet import Step as Found
from phoenixd.core.handoff import asking, letters, verdict
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.moment import Moment
from phoenixd.core.seat import succession
from phoenixd.core.seat.state import Seat
from phoenixd.ports.journal import Batch
from tests.simulate.memory_journal import MemoryJournal
from tests.simulate.orchestrator import MANNERS
from tests.simulate.simulation import Broke, Simulation
from tests.simulate.storm import FAULTS
from tests.simulate.succession import ORDERS, Succession, Sum, succeed
from tests.simulate.virtual_loop import VirtualLoop

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quiet")]

HOURS = 0.2
PEACE = 3600.0
LEAST = 15
"""Storms at least; `./dev proof seats` plays hundreds."""
MISFORTUNES = (
    {f"fault: {fault}" for fault in FAULTS}
    | {f"order: {order}" for order in ORDERS}
    | {f"ack: {manner}" for manner in MANNERS}
    | {
        "papers were not updated", "no package was written", "compaction was blocked", "full context ended a turn",
        "full context refused a prompt", "kept text typed", "commit failed", "unacknowledged batch survived",
        "Escape ended a turn",
    }
)  # fmt: skip


@pytest.fixture(scope="module")
def storms(quiet: None) -> list[Sum]:
    """As many as meet every misfortune: which storm meets one hangs on dice, which any change throws anew."""
    storms: list[Sum] = []
    seen: set[str] = set()
    while len(storms) < 60 and (len(storms) < LEAST or not MISFORTUNES <= seen):
        storms.append(succeed(f"seats {len(storms)}", HOURS))
        seen |= storms[-1].seen.keys()
    return storms


def test_promises_1_to_3_small_storms_over_two_seats(storms: list[Sum]) -> None:
    ended = sum((one.handoffs for one in storms), Counter[str]())
    tasks = sum((one.tasks for one in storms), Counter[str]())
    assert ended["done"] > LEAST
    assert ended["rolled_back"] > LEAST / 3
    assert tasks["done"] > LEAST
    assert sum(one.letters for one in storms) > LEAST


def test_the_storms_met_every_misfortune(storms: list[Sum]) -> None:
    """A fault that never struck proves nothing."""
    assert MISFORTUNES - {name for one in storms for name in one.seen} == set()


# --- kill -9 at each journal write -----------------------------------------------------------------------------------


class Life:
    """A handoff in calm weather, with a task in hand and a text sent meanwhile; the daemon dies at a point of it."""

    def __init__(self, strike_at: int | None = None) -> None:
        self.passed = 0
        self.strike_at = strike_at
        self.story: Succession

    def live(self) -> Sum:
        anyio.run(self._main, backend_options={"loop_factory": VirtualLoop})
        assert not self.story.host.promises.breaches
        return self.story.sum()

    async def _main(self) -> None:
        self.story = Succession("a life", 0.0)
        host = self.story.host
        host.is_calm = host.is_plain = True
        await self.story.play(self._tell)

    def _pass(self, point: str) -> None:
        if point not in ("saving", "saved"):
            return
        self.passed += 1
        if self.passed == self.strike_at:
            self.story.host.promises.tell(f"the daemon dies at point {self.passed}: {point}")
            self.story.simulation.kill_daemon(0.2)

    async def _tell(self) -> None:
        await anyio.sleep(30)
        host, simulation = self.story.host, self.story.simulation
        host.at_point = self._pass
        self.story.holder("boss").hand_out()
        give_up = host.now + PEACE
        while self._handoff(simulation) is None and host.now < give_up:
            # A client without an answer asks once more.
            simulation.daemon.order(HandoffRequested("boss"), "boss")
            await anyio.sleep(2)
        simulation.daemon.order(SendRequested("boss", "m1", "text 1"), "boss")
        while ((found := self._handoff(simulation)) is None or not found.is_over) and host.now < give_up:
            await anyio.sleep(2)
        host.at_point = lambda point: None

    def _handoff(self, simulation: Simulation) -> Handoff | None:
        daemon = simulation.daemon
        return daemon.supervisor.fleet.seats["boss"].handoff if daemon.is_alive and daemon.is_ready else None


def struck(points: range) -> Counter[str]:
    ended: Counter[str] = Counter()
    for point in points:
        life = Life(point).live()
        assert life.lives == 2, point
        assert sum(life.handoffs.values()) == 1, (point, life.handoffs)
        ended += life.handoffs
    return ended


def test_f_ho_6_a_handoff_comes_to_one_end_wherever_a_journal_write_of_it_is_cut_off() -> None:
    whole = Life()
    assert whole.live().handoffs == {"done": 1}
    assert whole.passed > 40
    ended = struck(range(1, whole.passed + 1, 5))
    assert ended["done"] > ended["rolled_back"]


@pytest.mark.proof
@pytest.mark.timeout(1200)
def test_f_ho_6_kill_9_at_every_journal_write_of_a_handoff() -> None:
    whole = Life()
    whole.live()
    print(f"{whole.passed} points: {dict(struck(range(1, whole.passed + 1)))}")


class Second(Life):
    """The first successor is killed as soon as it runs; nothing else goes wrong."""

    def _pass(self, point: str) -> None:
        shim = self.story.host.shims.get("boss-g2")
        if not self.passed and shim is not None and shim.run is not None:
            self.passed = 1
            self.story.host.kill(shim.run.child)


def test_e80_a_second_try_is_not_lost_with_the_shim_of_the_first() -> None:
    """The first one's shim is told to leave, and its end was taken for that of the run that had begun by then."""
    second = Second()
    assert second.live().handoffs == {"done": 1}
    assert second.story.simulation.daemon.supervisor.fleet.seats["boss"].handoff.tries == 2  # type: ignore[union-attr]


class SlowEnd(Life):
    """Nothing goes wrong, and the disk takes its time for the commit in which a handoff ends."""

    async def _tell(self) -> None:
        await anyio.sleep(30)
        self.story.simulation.daemon.order(HandoffRequested("boss"), "boss")
        await anyio.sleep(2)


def test_the_peace_waits_until_the_end_of_a_handoff_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decided and not saved is no end: a daemon that is killed then begins where the journal stands."""
    commit = MemoryJournal.commit

    async def dawdle(journal: MemoryJournal, batch: Batch) -> tuple[int, ...]:
        if any(isinstance(fact, HandoffEnded) for entry in batch.entries for fact in entry.facts):
            await anyio.sleep(200)
        return await commit(journal, batch)

    monkeypatch.setattr(MemoryJournal, "commit", dawdle)
    assert SlowEnd().live().handoffs == {"done": 1}


# --- planted ---------------------------------------------------------------------------------------------------------


def storms_until_caught(match: str) -> None:
    def rage() -> None:
        for number in range(30):
            succeed(f"planted {number}", HOURS)

    with pytest.raises(Broke, match=match):
        rage()


def test_planted_an_ack_without_the_packages_hash_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = verdict.refusal

    def lax(handoff: Handoff, generation: int, package: str, word: str, facts: verdict.Quoted) -> str | None:
        return real(handoff, generation, handoff.package, word, facts)

    monkeypatch.setattr(verdict, "refusal", lax)
    storms_until_caught("proved nothing")


def test_planted_a_handoff_that_begins_while_another_goes_on_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_why_not", lambda found, seat: None)
    storms_until_caught(r"[0-9a-f]{8} begins, and [0-9a-f]{8} goes on")


def test_planted_a_text_that_arrived_and_is_kept_all_the_same_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(found: Found, seat: Seat, event: Event, now: Moment) -> Found:
        return letters.put_back(found, seat, "planted", now)

    monkeypatch.setattr(letters, "arrived", careless)
    storms_until_caught("is typed into")


def test_planted_a_text_that_is_dropped_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(found: Found, seat: Seat, event: Event, now: Moment) -> Found:
        if seat.handoff is None:
            return found
        left = replace(seat, handoff=replace(seat.handoff, letters=()))
        return replace(found, fleet=replace(found.fleet, seats={**found.fleet.seats, seat.name: left}))

    monkeypatch.setattr(letters, "deliver", forgetful)
    storms_until_caught("never arrived")


def test_planted_a_predecessor_that_is_not_fenced_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = succession.succeed

    def lax(fleet: Fleet, name: str, now: Moment) -> succession.Passed:
        passed, decisions = real(fleet, name, now)
        seat = replace(passed.seats[name], fenced=0)
        return replace(passed, seats={**passed.seats, name: seat}), decisions

    monkeypatch.setattr(succession, "succeed", lax)
    storms_until_caught("two generations are unfenced")
