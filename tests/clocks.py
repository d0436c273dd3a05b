"""Clocks whose time passes by being looked at, or not at all; a sleep takes no time."""

from __future__ import annotations

from phoenixd.core.moment import Moment


class FastClock:
    """Each look at it is a quarter of a second later."""

    def __init__(self) -> None:
        self.reading = 0.0

    def at(self) -> float:
        return self.reading

    def now(self) -> Moment:
        self.reading += 0.25
        return Moment(self.reading, self.reading)

    async def sleep_until(self, at: float) -> None:
        self.reading = max(at, self.reading)


class SlowClock(FastClock):
    """Each look at it is 4 ms later: five events fill a turn."""

    def now(self) -> Moment:
        self.reading += 0.004
        return Moment(self.reading, self.reading)


class StillClock(FastClock):
    """No time passes."""

    def now(self) -> Moment:
        return Moment(self.reading, self.reading)
