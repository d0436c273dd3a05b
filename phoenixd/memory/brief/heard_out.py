"""A session heard to its end: a CLI writes its last answer into the transcript after the hook that tells of it."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable

import anyio

from phoenixd.documents.deeds import Spoke
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.memory.brief.last_words import HeardByHooks, all_said
from phoenixd.ports import Clock

PATIENCE, PAUSE = 3.0, 0.25
"""Seconds that are waited for the end of a transcript, and between two looks."""
LIMIT = 30.0
"""Seconds that the looks at a transcript may take in all: the first one of a long session takes some."""

Hear = Callable[[], Awaitable[SessionLedger | None]]
Spoken = Callable[[], tuple[float, str] | None]


async def heard_out(hear: Hear, spoken: Spoken, clock: Clock, *, lives: bool) -> SessionLedger | None:
    """What stands of a session, its last answer included; None where nothing is known of it.

    hear: reads on, and says what stands then. spoken: when the newest turn ended (wall), and its last words, as a hook
    told them. lives: the CLI runs, so that more may come. Where the transcript stays behind, the hook's words stand in.
    """
    found: SessionLedger | None = None
    with anyio.move_on_after(LIMIT):
        until = clock.now().at + PATIENCE
        while True:
            found = await hear()
            if found is None or not lives or _is_whole(found, spoken()) or (now := clock.now().at) >= until:
                break
            await clock.sleep_until(now + PAUSE)
    return _with(found, spoken())


def _is_whole(found: SessionLedger, words: tuple[float, str] | None) -> bool:
    return found.turn_open is not True and _lacking(found, words) is None


def _with(found: SessionLedger | None, words: tuple[float, str] | None) -> SessionLedger | None:
    lacking = _lacking(found, words)
    if lacking is None:
        return found
    # Others hold the ledger too.
    whole = copy.deepcopy(found) if found is not None else SessionLedger()
    whole.speech.spoke(Spoke(lacking[1], at=lacking[0], is_final=True))
    return whole


def _lacking(found: SessionLedger | None, words: tuple[float, str] | None) -> tuple[float, str] | None:
    """The hook's words, where the transcript does not have them."""
    if words is None or not words[1].strip():
        return None
    heard = HeardByHooks(words=words[1], spoken_at=words[0])
    is_known = len(all_said(found, heard)) == len(all_said(found, HeardByHooks()))
    return None if is_known else words
