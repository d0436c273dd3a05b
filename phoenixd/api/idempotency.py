"""The same key and the same request again: the same answer, and nothing is done twice."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from hashlib import sha256

from phoenixd.api.exchange import Reply
from phoenixd.api.operations.parameters import TEXT_FORM
from phoenixd.api.problems import Problem
from phoenixd.api.rights import Caller

KEPT = 1024
MAX_KEY = 128
SHOWN_AS = frozenset({*(one.name.encode() for one in TEXT_FORM), b"look"})
"""Parameters that say how an answer is shown: with others of them it is the same request."""


def check(key: str) -> None:
    """Raise Problem where this is no key."""
    if not key.isprintable() or not 1 <= len(key) <= MAX_KEY:
        raise Problem("invalid", f"an Idempotency-Key is 1 to {MAX_KEY} printable characters", "send a fresh UUID")


def shown_in_any_way(query: bytes) -> bytes:
    """A query without what says how the answer is to be shown: a terminal of another width asks the same."""
    return b"&".join(part for part in query.split(b"&") if part.partition(b"=")[0] not in SHOWN_AS)


def another_text(key: str) -> Problem:
    """The refusal of a text whose key was given to another one, in the words of `send`."""
    return Problem("conflict", f"--key {key} was given to another text", "choose another key")


def _another_request() -> Problem:
    return Problem("conflict", "this Idempotency-Key belongs to another request", "send a fresh UUID")


@dataclass(frozen=True, slots=True)
class _Kept:
    request: bytes
    acting: asyncio.Task[Reply]

    @property
    def is_left_open(self) -> bool:
        """Whether it was answered by what is not final: the same request is acted on again."""
        acting = self.acting
        return acting.done() and not acting.cancelled() and acting.exception() is None and not acting.result().is_final


class IdempotentReplies:
    """The newest replies by key. Kept in memory: over a restart of the daemon, `send` looks its key up in the journal.

    Acting goes on when the asker has gone, so that asking again finds the answer instead of acting a second time.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._replies: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    async def once(
        self,
        caller: Caller,
        key: str,
        request: tuple[bytes, ...],
        act: Callable[[], Coroutine[None, None, Reply]],
        *,
        apart: bool = False,
        another: Problem | None = None,
    ) -> Reply:
        """Act, or return what acting has returned before; a second asker waits for the first one's answer.

        apart: another request may bear the same key, because what it acts on has keys of its own. another: the
        refusal of another request under the same key.
        """
        digest = sha256(b"\0".join(request)).digest()
        place = (f"{caller.uid} {caller.agent}", f"{key}\0{digest.hex()}" if apart else key)
        known = self._replies.get(place)
        if known is not None and known.request != digest:
            raise another or _another_request()
        if known is None or known.is_left_open:
            known = self._replies[place] = _Kept(digest, asyncio.create_task(act()))
            known.acting.add_done_callback(lambda acting: self._settle(place, acting))
        return await asyncio.shield(known.acting)

    def _settle(self, place: tuple[str, str], acting: asyncio.Task[Reply]) -> None:
        """A refusal frees the key: nothing was done.

        Old replies make room, never those still awaited.
        """
        if acting.cancelled() or acting.exception() is not None:
            self._replies.pop(place, None)
        for old in list(self._replies):
            if len(self._replies) <= self._kept:
                break
            if self._replies[old].acting.done():
                del self._replies[old]
