"""What must hold of seats at every instant of a simulation: read from what is durable, and from what is executed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from phoenixd.core.agent import Agent
from phoenixd.core.facts import HandoffEnded
from phoenixd.core.handoff.state import BEFORE_FENCE, Handoff, Step
from phoenixd.core.handoff.words import CALLED_OFF
from phoenixd.core.seat import names
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat
from phoenixd.ports.journal import Entry

if TYPE_CHECKING:
    from tests.simulate.host import Host

ORDER = {step: place for place, step in enumerate(Step)}
AFTER_FENCE = frozenset({Step.FENCE, Step.SHUTDOWN})


class Seats:
    """Watches every durable batch, every order to start, and every text that is submitted."""

    def __init__(self, host: Host, hold: Callable[[bool, str], None]) -> None:
        self._host = host
        self._hold = hold
        self.durable: dict[str, Seat] = {}
        self.begun: dict[str, str] = {}
        """Handoffs by id, with the seats that they are of."""
        self.ended: dict[str, Step] = {}
        self.kept: dict[str, str] = {}
        """Texts that were sent while a seat passed, by id of the message, with their seats."""
        self._kept_texts: dict[str, str] = {}
        self._proofs: set[tuple[str, str]] = set()
        """Who quoted which package rightly."""
        self._typed: dict[str, tuple[int, str, int]] = {}
        """By text that was kept: the daemon and the run that it was last submitted under."""
        self._missed: set[str] = set()
        """Texts whose verdict is durable: nobody knows whether they arrived."""
        self.arrived: set[str] = set()
        self._given_up = 0

    def seat_of(self, agent: str) -> str:
        """The seat that an agent is a generation of; its own name where it is of none."""
        read = names.read(agent)
        return read[0] if read is not None and read[0] in self.durable else agent

    # --- what is durable ---------------------------------------------------------------------------------------------

    def saved(self, seats: Iterable[Seat], entries: Iterable[Entry], agents: Iterable[str]) -> None:
        """A batch became durable; one that waited for a disk holds much, and of each seat only what it is at the end.

        So the handoffs that ended in it are read from its rows, and held one by one against the rules.
        """
        present = {seat.name: seat for seat in seats}
        known, rows = set(agents), tuple(entries)
        over = [fact.handoff for row in rows for fact in row.facts if isinstance(fact, HandoffEnded)]
        for name, seat in present.items():
            self._hold(seat.fenced == seat.generation - 1, f"{name}: two generations are unfenced, or none: {seat}")
            self._hold(seat.holder in known, f"nobody holds the seat {name}")
            self._passed(self.durable.get(name), seat, [handoff for handoff in over if handoff.seat == name])
            self._letters(seat)
        self.durable = present
        for entry in rows:
            message = entry.detail.get("message_id")
            if entry.event == "delivered" and isinstance(message, str):
                self.arrived.add(message)
            if entry.event == "not_delivered" and isinstance(message, str):
                self._missed.add(message)
            self._given_up += "kept over handoff" in entry.reason and "tries" in entry.reason

    def _passed(self, before: Seat | None, seat: Seat, over: Iterable[Handoff]) -> None:
        was = before.handoff if before is not None else None
        generation = before.generation if before is not None else 1
        for handoff in over:
            # An end is told again where more became known of it.
            if handoff.id in self.ended:
                continue
            holder = handoff.predecessor if self._is_undone(handoff) else handoff.successor
            self._came(was, generation, handoff, holder)
            was, generation = handoff, holder
        if seat.handoff is None:
            self._hold(was is None, f"{seat.name}: handoff {was and was.id} is forgotten")
            return
        self._came(was, generation, seat.handoff, seat.generation)

    def _came(self, was: Handoff | None, before: int, handoff: Handoff, generation: int) -> None:
        """A handoff has come so far. was: what its seat's was then. before, generation: who held the seat, and does."""
        name = handoff.seat
        if was is None or was.id != handoff.id:
            self._hold(was is None or was.is_over, f"{name}: {handoff.id} begins, and {was and was.id} goes on")
            self._hold(handoff.id not in self.begun, f"{name}: handoff {handoff.id} begins twice")
            self.begun[handoff.id] = name
            was = None
        if was is not None:
            self._moved(name, was, handoff)
        if generation != before:
            self._hold(generation == before + 1, f"{name} passed from {before} to {generation}")
            proved = (generation_name(name, generation), handoff.package) in self._proofs
            self._hold(proved, f"{name}: a fence, and generation {generation} proved nothing")
        held_by = handoff.predecessor if handoff.step in BEFORE_FENCE or self._is_undone(handoff) else handoff.successor
        self._hold(generation == held_by, f"{name}: generation {generation} holds the seat at {handoff.step}")
        if handoff.is_over and handoff.id not in self.ended:
            self.ended[handoff.id] = handoff.step

    def _moved(self, name: str, was: Handoff, now: Handoff) -> None:
        if was.is_over:
            self._hold(now.step is was.step, f"{name}: {now.id} was {was.step}, and is {now.step}")
        again = now.rounds > was.rounds or (now.tries > was.tries and now.rounds == was.rounds)
        again = again or (was.step is Step.AWAIT_ACK and now.step is Step.SPAWN)
        on = ORDER[now.step] >= ORDER[was.step]
        self._hold(on or again, f"{name}: {now.id} went back from {was.step} to {now.step}")
        undone = was.step in AFTER_FENCE and self._is_undone(now)
        self._hold(not undone, f"{name}: {now.id} was rolled back after its fence")

    @staticmethod
    def _is_undone(handoff: Handoff) -> bool:
        return handoff.step in (Step.ROLLBACK, Step.ROLLED_BACK)

    # --- processes ---------------------------------------------------------------------------------------------------

    def start_ordered(self, agent: str) -> None:
        """A fenced generation is never started again, and a successor by its handoff alone."""
        seat = self.durable.get(self.seat_of(agent))
        if seat is None:
            return
        _, number = names.read(agent) or (agent, 1)
        self._hold(number > seat.fenced, f"{agent} is started, and generation {seat.generation} holds the seat")
        handoff = seat.handoff
        is_made = handoff is not None and not handoff.is_over and number == handoff.successor
        self._hold(number == seat.generation or is_made, f"{agent} is started, and no handoff makes it: {handoff}")

    def executed(self, agent: str) -> None:
        """Two generations live only while a seat passes, and never three."""
        name = self.seat_of(agent)
        if name not in self.durable:
            return
        living = {p.agent for p in self._host.processes.values() if p.run_id and self.seat_of(p.agent) == name}
        living = {one for one in living if self._is_generation(one, name)} | {agent}
        self._hold(len(living) <= 2, f"{sorted(living)} live at once")

    def _is_generation(self, agent: str, seat: str) -> bool:
        return agent == seat or (names.read(agent) or ("", 0))[0] == seat

    # --- acknowledgements and texts ----------------------------------------------------------------------------------

    def proved(self, agent: str, package: str) -> None:
        """A generation quotes its package rightly."""
        self._proofs.add((agent, package))

    def _letters(self, seat: Seat) -> None:
        handoff = seat.handoff
        if handoff is None:
            return
        posted = (handoff.posted,) if handoff.posted is not None else ()
        for letter in (*handoff.letters, *posted):
            # What calls a handoff off has the same words each time, and the next handoff drops it: of such the one
            # that is posted is typed, and none has to arrive.
            if letter.text != CALLED_OFF:
                self.kept.setdefault(letter.message_id, seat.name)
                self._kept_texts.setdefault(letter.text, letter.message_id)
            elif letter in posted:
                self._kept_texts[letter.text] = letter.message_id

    def typed(self, agent: Agent, incarnation: int, text: str) -> None:
        """A text is submitted: a kept one twice only where nobody can know whether it had arrived."""
        message = self._kept_texts.get(text)
        if message is None:
            return
        self._host.seen["kept text typed"] += 1
        self._hold(message not in self.arrived, f"{message} had arrived, and is typed into {agent.name} again")
        under = self._host.daemons, agent.name, incarnation
        known = message in self._typed and self._typed[message] == under and message not in self._missed
        self._hold(not known, f"{message} is typed into {agent.name} twice")
        self._missed.discard(message)
        self._typed[message] = under

    def check_letters(self) -> None:
        """At the end: each text that was kept arrived, waits for a holder that is down, or was given up aloud."""
        lost = [one for one in self.kept if one not in self.arrived and not self.waits(one)]
        self._hold(len(lost) <= self._given_up, f"{lost} never arrived, and {self._given_up} were given up")

    def waits(self, message: str) -> bool:
        """Whether a text that was kept still waits for a holder that can read."""
        seat = self.durable.get(self.kept[message])
        handoff = seat.handoff if seat is not None else None
        waiting = (*handoff.letters, handoff.posted) if handoff is not None else ()
        return any(one is not None and one.message_id == message for one in waiting)
