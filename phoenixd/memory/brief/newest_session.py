"""What stands of the newest session in which an agent spoke, for its brief. Blocking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phoenixd.core.agent import Agent
from phoenixd.documents.kept_ledger import FILE as LEDGER_FILE
from phoenixd.documents.kept_ledger import SIZE_LIMIT as LEDGER_LIMIT
from phoenixd.documents.kept_ledger import read_kept
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.harness import HARNESSES
from phoenixd.memory.brief.last_words import HeardByHooks
from phoenixd.memory.brief.session_seen import SeenSession, seen_session
from phoenixd.memory.shelf import Shelf


@dataclass(slots=True)
class NewestSession:
    """The ledger of that session, and what a brief makes of it."""

    shelf: Shelf
    limit: int
    """Characters of a brief that a session is given."""
    ledger: SessionLedger | None = None
    """It is without secrets."""
    _is_read: bool = False
    _seen: tuple[object, ...] = ()
    """What the newest `SeenSession` was made of, and that itself: most publications change nothing of it."""

    def take(self, found: SessionLedger | None, *, goes_on: bool = True) -> None:
        """Keep a ledger that was heard, unless a newer session has spoken, or this one has not yet.

        goes_on: it is of the session that the agent works in; else of one that was left, perhaps long ago.
        """
        known = self.ledger
        if found is None:
            return
        if known is None or found.session_id == known.session_id or _is_newer(found, known, goes_on=goes_on):
            self.ledger = found

    def seen(self, agent: Agent, heard_at: float | None, clean: Callable[[str], str]) -> SeenSession:
        """What a brief tells of it. heard_at: when the task in hand was heard (wall)."""
        if self.ledger is None and not self._is_read:
            # What an earlier daemon heard: a session that is told now cannot wait for the transcript.
            self._is_read = True
            content = self.shelf.content(LEDGER_FILE, LEDGER_LIMIT)
            kept = read_kept(content) if content is not None else None
            self.ledger = kept.ledger if kept is not None else None
        spoken_at, words = self.shelf.ops.spoken or (None, None)
        heard = HeardByHooks(agent.last_prompt, heard_at, words, spoken_at)
        made_of = (self.ledger, heard, agent.session and agent.session.session_id, agent.spec)
        if self._seen and all(one is other or one == other for one, other in zip(self._seen, made_of, strict=False)):
            seen = self._seen[-1]
            assert isinstance(seen, SeenSession)
            return seen
        length = HARNESSES[agent.spec.harness].told_length
        seen = seen_session(agent, self.ledger, heard, clean, self.limit, length)
        self._seen = (*made_of, seen)
        return seen


def _is_newer(found: SessionLedger, known: SessionLedger, *, goes_on: bool) -> bool:
    """Whether another session is the one to be told of: it went on later, and the agent has spoken in it.

    Times decide only between sessions that were left: a clock may have been set back between the two.
    """
    return bool(found.speech.agent) and (goes_on or (found.newest_at or 0.0) >= (known.newest_at or 0.0))
