"""For how long an order is waited for, and what is said when nobody knows yet what became of it."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Coroutine
from typing import Any

import structlog

from phoenixd.api.arguments import Arguments
from phoenixd.api.exchange import Ask, Reply
from phoenixd.api.operations.operation import Operation
from phoenixd.api.problems import Problem
from phoenixd.core.moment import in_words

SLACK = 55.0
"""Seconds beyond an order's own timeout."""
LONG = {"remove_agent": 70.0}
UNSAID = 12.0
"""Seconds for askers that do not say how long they wait: an older phoenixctl waits for 15 s."""
LONGEST = 7 * 86400.0

log = structlog.get_logger()


def patience(operation: Operation, arguments: Arguments, prefer: str | None) -> float:
    """Seconds after which the asker has to be told something. prefer: the header of RFC 7240, `wait=SECONDS`."""
    named = re.search(r"(?:^|[,;\s])wait=([0-9]{1,6})(?:$|[,;\s])", prefer or "", re.ASCII)
    if named is not None:
        return min(LONGEST, max(1.0, float(named[1])))
    if (timeout := arguments.get("timeout")) is not None:
        return float(timeout) + SLACK
    return LONG.get(operation.name, UNSAID)


class Unfinished:
    """Orders that go on though nobody waits for their answer any more."""

    def __init__(self) -> None:
        self._going_on: set[asyncio.Future[Reply]] = set()

    async def within(
        self, operation: Operation, ask: Ask, prefer: str | None, handling: Coroutine[Any, Any, Reply]
    ) -> Reply:
        """The reply; raises the truth that it is not known yet before the asker gives up, and lets the order go on."""
        limit = patience(operation, ask.arguments, prefer)
        work = asyncio.ensure_future(handling)
        try:
            await asyncio.wait((work,), timeout=limit)
        except asyncio.CancelledError:
            work.cancel()
            raise
        if work.done():
            return work.result()
        self._going_on.add(work)
        work.add_done_callback(self._forget)
        raise not_yet(operation, ask, limit)

    def _forget(self, work: asyncio.Future[Reply]) -> None:
        self._going_on.discard(work)
        if not work.cancelled() and (refusal := work.exception()) is not None:
            log.info("refused_late", reason=str(getattr(refusal, "detail", refusal)))


def not_yet(operation: Operation, ask: Ask, waited: float) -> Problem:
    """The truth about an order that is under way: neither refused nor known to stand."""
    why = ask.service.facts().degraded or "phoenixd is still at work on it"
    detail = (
        f"not known yet after {in_words(waited)}: it goes on, and is not taken back; whether it stands over a restart "
        f"of the daemon is open ({why})"
    )
    name = ask.arguments.get("name")
    if operation.name == "send_text" and ask.key is not None:
        return Problem("timed_out", detail, f"phoenixctl send {name} TEXT --key {shlex.quote(ask.key)}", 504)
    if ask.arguments.get("verb") == "send" and ask.key is not None:
        again = f"phoenixctl send {shlex.quote(ask.arguments['select'])} TEXT --key {shlex.quote(ask.key)} --yes"
        return Problem("timed_out", detail, again, 504)
    return Problem("timed_out", detail, f"phoenixctl status {name}" if name is not None else "phoenixctl status", 504)
