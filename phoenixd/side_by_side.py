"""Looks at many places at once. Each may hang: a disk that does not answer holds up no look but its own.

A look goes on until it ends, however late, so nothing that it read is lost. Meanwhile its place is not looked at again,
and once more afterwards where somebody asked for that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import structlog
from anyio import to_thread

AT_ONCE = 4
"""Looks that have their turn together: threads that take the interpreter from each other cost much."""

TURN = 1.0
"""Seconds after which a look gives its turn to the next one, and goes on beside it."""

PATIENCE = 10.0
"""Seconds after which it is told that a place does not answer, and for which somebody waits who asks for a look now."""

MOST_LATE = 64
"""Looks that go on without a turn. Where this many hang, the next ones keep their turns."""

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class _UnderWay:
    """One look that has begun."""

    place: str
    has_turn: bool
    is_late: bool = False
    is_told: bool = False
    is_asked_again: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None


class SideBySide:
    """Looks at places as they are asked for. doing: what a look is, for the log. look: reads in threads of `aside`."""

    def __init__(self, doing: str, look: Callable[[str], Awaitable[object]]) -> None:
        self._doing = doing
        self._look = look
        self._waiting: dict[str, None] = {}
        self._under_way: dict[str, _UnderWay] = {}
        self._turns, self._late = AT_ONCE, 0
        self._moved = anyio.Event()
        self._threads = anyio.CapacityLimiter(AT_ONCE + MOST_LATE)

    def ask(self, places: Iterable[str]) -> None:
        """Look at each of these once, as soon as there is a turn; never waits."""
        for place in places:
            if (known := self._under_way.get(place)) is not None:
                known.is_asked_again = True
            else:
                self._waiting[place] = None
        self._begin()

    async def look_at(self, places: Iterable[str]) -> None:
        """The same, and wait until all have been looked at, but for those that do not answer in time."""
        wanted = set(places)
        self.ask(wanted)
        with anyio.move_on_after(PATIENCE):
            while any(self._is_to_come(place) for place in wanted):
                await self._moved.wait()

    def _is_to_come(self, place: str) -> bool:
        one = self._under_way.get(place)
        return place in self._waiting or (one is not None and not one.is_told)

    async def see(self, place: str) -> bool:
        """Look at a place now, without a turn, and wait for the look's end; False where it does not answer in time."""
        with anyio.move_on_after(PATIENCE):
            if (before := self._under_way.get(place)) is not None:
                if before.is_told:
                    return False
                await before.ended.wait()
            one = self._under_way.get(place)
            if one is None:
                if self._late >= MOST_LATE:
                    return False
                self._waiting.pop(place, None)
                one = self._start(place, has_turn=False)
            await one.ended.wait()
            return True
        return False

    async def aside(self, read: Callable[[], T]) -> T:
        """Read in a thread of these looks, and in none that others of the daemon need; one that hangs holds up no end
        of the daemon."""
        return await to_thread.run_sync(read, abandon_on_cancel=True, limiter=self._threads)

    def close(self) -> None:
        """Leave all looks to themselves."""
        self._waiting.clear()
        for one in tuple(self._under_way.values()):
            one.is_asked_again = False
            if one.task is not None:
                one.task.cancel()

    def _begin(self) -> None:
        while self._waiting and self._turns > 0:
            place = next(iter(self._waiting))
            del self._waiting[place]
            self._start(place, has_turn=True)

    def _start(self, place: str, *, has_turn: bool) -> _UnderWay:
        one = self._under_way[place] = _UnderWay(place, has_turn)
        if has_turn:
            self._turns -= 1
        else:
            self._late += 1
        one.timer = asyncio.get_running_loop().call_later(TURN, self._is_late, one)
        one.task = asyncio.create_task(self._take(one))
        return one

    async def _take(self, one: _UnderWay) -> None:
        try:
            await self._look(one.place)
        except Exception:
            # An agent's files may be anything: a fault in reading them costs this look at this place.
            log.exception("look_fault", doing=self._doing, place=one.place)
        finally:
            self._end(one)

    def _is_late(self, one: _UnderWay) -> None:
        one.is_late = True
        one.timer = asyncio.get_running_loop().call_later(PATIENCE - TURN, self._tell, one)
        self._pass_turns()

    def _pass_turns(self) -> None:
        """Have the looks that are late give their turns away."""
        for one in self._under_way.values():
            if self._late >= MOST_LATE:
                break
            if one.is_late and one.has_turn:
                one.has_turn = False
                self._late += 1
                self._turns += 1
        self._begin()

    def _tell(self, one: _UnderWay) -> None:
        one.is_told = True
        self._move()
        log.warning("files_do_not_answer", doing=self._doing, place=one.place, seconds=PATIENCE)

    def _move(self) -> None:
        """Wake all that wait for looks; each of them sees for itself whether its own are over."""
        moved, self._moved = self._moved, anyio.Event()
        moved.set()

    def _end(self, one: _UnderWay) -> None:
        if one.timer is not None:
            one.timer.cancel()
        if one.has_turn:
            self._turns += 1
        else:
            self._late -= 1
        del self._under_way[one.place]
        self._move()
        one.ended.set()
        if one.is_told:
            log.info("files_answer_again", doing=self._doing, place=one.place)
        if one.is_asked_again:
            self._waiting[one.place] = None
        self._pass_turns()
