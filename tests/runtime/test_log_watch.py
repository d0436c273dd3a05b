"""F-ST-13: a log that cannot be begun anew grows without bound: it is told once, and so is that it is well again."""

from __future__ import annotations

import pytest

from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.runtime.log_watch import LogWatch

pytestmark = pytest.mark.anyio

FULL = "phoenixd.log cannot be begun anew (No space left on device)"
CLOSED = "phoenixd.log cannot be begun anew (Permission denied)"


async def test_f_st_13_what_keeps_the_log_from_being_begun_anew_is_told_once_and_its_end_as_well() -> None:
    told: list[TroubleSeen | TroubleGone] = []
    found = iter((FULL, FULL, CLOSED, None, None, FULL))
    watch = LogWatch(lambda: next(found), told.append)
    for _ in range(6):
        await watch.look()
    assert told == [
        TroubleSeen(None, "log", FULL),
        TroubleSeen(None, "log", CLOSED),
        TroubleGone(None, "log", "it can be begun anew"),
        TroubleSeen(None, "log", FULL),
    ]


async def test_the_first_look_ends_what_an_earlier_daemon_told() -> None:
    for tend, over in ((lambda: None, "it can be begun anew"), (None, "the daemon's lines go elsewhere")):
        told: list[TroubleSeen | TroubleGone] = []
        watch = LogWatch(tend, told.append)
        await watch.look()
        await watch.look()
        assert told == [TroubleGone(None, "log", over)]
