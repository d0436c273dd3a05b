"""The end of the daemon's process: Python waits for each of its threads, and a read of a dead mount never ends."""

from __future__ import annotations

import os
import sys
import threading
import time

PATIENCE = 1.0
"""Seconds in which threads end that have nothing to do any more."""


def leave_what_hangs(code: int) -> int:
    """Return the code once all other threads have ended; where one hangs, end the process with that code.

    To be called when everything is saved and closed.
    """
    give_up = time.monotonic() + PATIENCE
    others = [one for one in threading.enumerate() if one is not threading.current_thread() and not one.daemon]
    for one in others:
        one.join(max(0.0, give_up - time.monotonic()))
    if not any(one.is_alive() for one in others):
        return code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
