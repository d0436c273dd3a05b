"""What waits for the daemon, and what goes next: always in the order in which it was told.

Evidence is rare or comes in swarms. What is rare goes at once; of a swarm a batch goes every INTERVAL, and earlier
where something else is told, for that must not overtake it. Pure: `now` is passed in, and the spool's next number.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

INTERVAL = 0.1
MOST = 64
BEFORE, AFTER = b'{"event":"hooks","batch":[', b"]}"


class Waiting:
    """A packet. mark: the newest spooled event of its time, which goes first; order: its place among the others."""

    __slots__ = ("mark", "order", "packet")

    def __init__(self, packet: bytes, mark: int, order: int) -> None:
        self.packet = packet
        self.mark = mark
        self.order = order


class Sending:
    """What goes next: the packet, or None for the spool's next event; of how many that wait as evidence it is made."""

    __slots__ = ("evidence", "packet")

    def __init__(self, packet: bytes | None, evidence: int = 0) -> None:
        self.packet = packet
        self.evidence = evidence


class Outbox:
    """Bounded in its evidence: of what has no room the oldest goes. The senders of all else look at `queued`."""

    def __init__(self, packet_limit: int) -> None:
        self._limit = packet_limit
        self._queue: deque[Waiting] = deque()
        self._evidence: deque[Waiting] = deque()
        self._bytes = 0
        self._orders = 0
        self._next_at = 0.0
        self._takes_batches = False
        self._open_call: bytes | None = None

    @property
    def queued(self) -> int:
        return len(self._queue)

    def greet(self, packets: Iterable[bytes], mark: int, *, takes_batches: bool) -> None:
        """A daemon is on the line, to which these packets are told first; `mark` is the spool's newest number.

        The call that was the last thing heard is told again: a daemon that starts in the middle of it has to know.
        """
        self._queue.clear()
        for packet in packets:
            self.tell(packet, 0)
        self._takes_batches = takes_batches
        # What is older than the daemon waits for its hello.
        for one in self._evidence:
            one.order = self._next_order()
        if not self._evidence and self._open_call is not None:
            self._keep(self._open_call, mark)
        self.hurry()

    def part(self) -> None:
        """No daemon is on the line: the next hello tells all anew, and of evidence the newest is enough."""
        self._queue.clear()
        self._takes_batches = False
        while len(self._evidence) > 1:
            self._drop_oldest()

    def hurry(self) -> None:
        """The next evidence goes at once: it is the first of a run, or the first for this daemon."""
        self._next_at = 0.0

    def tell(self, packet: bytes, mark: int) -> None:
        """Have a packet go in its turn, and the evidence before it."""
        self._queue.append(Waiting(packet, mark, self._next_order()))

    def has_room(self, packet: bytes) -> bool:
        """Whether evidence can wait without costing older evidence its place."""
        return len(self._evidence) < self._most and self._bytes + len(packet) <= self._room

    def add_evidence(self, packet: bytes, mark: int, *, begins_call: bool) -> None:
        """Have evidence go when it is due. Where it has no room, since the daemon does not read, it replaces older."""
        while self._evidence and not self.has_room(packet):
            self._drop_oldest()
        self._keep(packet, mark)
        self._open_call = packet if begins_call else None

    def forget_call(self) -> None:
        """The call that began last is over."""
        self._open_call = None

    def following(self, now: float, spooled: int | None) -> Sending | None:
        """What goes next, None where nothing may yet; spooled: the number of the spool's next unsent event."""
        queued = _before(self._queue, spooled)
        evidence = _before(self._evidence, spooled)
        if evidence is not None and (queued is None or evidence.order < queued.order):
            if queued is None and spooled is None and not self._is_due(now):
                return None
            return self._batch(spooled, queued)
        if queued is not None:
            return Sending(queued.packet)
        return Sending(None) if spooled is not None else None

    def sent(self, sending: Sending, now: float) -> None:
        """It is on its way, unless it was the spool's."""
        if sending.evidence:
            for _ in range(sending.evidence):
                self._drop_oldest()
            self._next_at = now + INTERVAL
        elif sending.packet is not None:
            self._queue.popleft()

    def due(self) -> float | None:
        """When evidence is to go by itself; None where none waits."""
        return self._next_at if self._evidence else None

    @property
    def _most(self) -> int:
        return MOST if self._takes_batches else 1

    @property
    def _room(self) -> int:
        return self._limit - len(BEFORE) - len(AFTER) - MOST

    def _is_due(self, now: float) -> bool:
        # A daemon that takes no batches gets all at once, as ever.
        return not self._takes_batches or now >= self._next_at

    def _batch(self, spooled: int | None, queued: Waiting | None) -> Sending:
        together = [
            one.packet
            for one in self._evidence
            if (spooled is None or one.mark < spooled) and (queued is None or one.order < queued.order)
        ]
        if len(together) == 1 or not self._takes_batches:
            return Sending(together[0], 1)
        return Sending(BEFORE + b",".join(together) + AFTER, len(together))

    def _keep(self, packet: bytes, mark: int) -> None:
        self._evidence.append(Waiting(packet, mark, self._next_order()))
        self._bytes += len(packet)

    def _drop_oldest(self) -> None:
        self._bytes -= len(self._evidence.popleft().packet)

    def _next_order(self) -> int:
        self._orders += 1
        return self._orders


def _before(waiting: deque[Waiting], spooled: int | None) -> Waiting | None:
    """The first that waits, unless the spool's next event is older."""
    return waiting[0] if waiting and (spooled is None or waiting[0].mark < spooled) else None
