"""This process before those that it watches over, where all of them want the processors."""

from __future__ import annotations

import os
import sys

import structlog

SHARE = -10
"""The nice value of the daemon's session as a whole, which weighs as much as 9 others: a hundred agents that post
hooks as fast as they can leave the daemon else a fifth of a processor, and it needs a half. With -20, as much as 87
others, it takes a whole one, for small turns and their documents, and the agents' hooks are late."""

SWITCH = 0.0005
"""Seconds after which a thread that computes lets another one compute. Python's own 5 ms are longer than a commit: the
loop waits for them at each call of the kernel, and so does the thread that commits an order."""

log = structlog.get_logger()


def take_turns() -> None:
    """Have no thread of the daemon keep the others waiting for long."""
    sys.setswitchinterval(SWITCH)


def take_precedence() -> bool:
    """Have the kernel weigh this session as much as many others; False where it does not let us, or cannot.

    Linux schedules sessions against each other, and what the daemon starts has sessions of its own (autogroup, in
    sched(7)): it has none of this. A daemon in the session of a shell asks for nothing: the shell would have it too.
    """
    if os.getsid(0) != os.getpid():
        return False
    try:
        with open("/proc/self/autogroup", "w") as file:
            file.write(str(SHARE))
    except OSError as error:
        log.debug("no_precedence", reason=error.strerror)
        return False
    return True
