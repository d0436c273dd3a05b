"""What the status lines of agents were given last: the hook program keeps it beside the hooks. Blocking: for threads.

The file is the agent's and may be anything. It is written in one go and not replaced, because a replacement would cost
another process at each of a working agent's redraws; so a read that falls into a write is done again.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from phoenixd.documents.status_line import SIZE_LIMIT, StatusLine, read_status_line

DIRECTORY = "hooks"
TRIES, PAUSE = 5, 0.02
"""How often a file that cannot be understood is read, and how many seconds lie in between: a write takes less than one
millisecond."""

OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class StatusLines:
    """home_of: an agent's directory at run time."""

    def __init__(self, home_of: Callable[[str], Path]) -> None:
        self._home_of = home_of

    def read(self, agent: str, incarnation: int) -> StatusLine | None:
        """What the run's status line was given last; None where it was given nothing yet."""
        path = self._home_of(agent) / DIRECTORY / f"{incarnation}.status"
        told: StatusLine | None = None
        for attempt in range(TRIES):
            content = _content(path)
            if content is None:
                return None
            told = read_status_line(content)
            if not told.problem:
                return told
            if attempt + 1 < TRIES:
                time.sleep(PAUSE)
        return told


def _content(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, OPEN_FLAGS)
    except OSError:
        return None
    try:
        # Of a plain file a read returns all that is asked for, or all that there is.
        return os.read(descriptor, SIZE_LIMIT + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)
