"""What is done with one agent's files ends, where it fails, with that agent.

Whatever an agent can write may hold what no reader has thought of. A fault in making something of it is told, with its
traceback, and costs this agent's documents some time; it ends neither the daemon nor anybody else's documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from phoenixd.errors import PhoenixdError

log = structlog.get_logger("phoenixd.documents")


@contextmanager
def bulkhead(agent: str, doing: str, failed: Callable[[str], None] = lambda why: None) -> Iterator[None]:
    """Tell of every failure in the log, and of it to `failed`; nothing but a cancellation passes."""
    try:
        yield
    except (PhoenixdError, OSError) as failure:
        log.warning("documents_failed", agent=agent, doing=doing, reason=str(failure))
        failed(str(failure))
    except Exception as fault:
        log.exception("documents_fault", agent=agent, doing=doing)
        failed(f"a fault in phoenixd: {fault!r:.300}")
