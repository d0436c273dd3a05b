"""What stands of a session's work when its brief is written: heard on from where the last reading stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from phoenixd.core.agent import Agent
from phoenixd.documents.kept_ledger import FILE, SIZE_LIMIT, KeptLedger, read_kept, render_kept
from phoenixd.documents.redact import Clean
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.errors import PhoenixdError
from phoenixd.memory.brief.cleaned import Cleaners
from phoenixd.memory.desk import Desk
from phoenixd.memory.publication import Publication

Kept = Callable[[], Awaitable[KeptLedger | None]]
"""What an earlier reading left, for one that knows nothing of it."""
LedgerLook = Callable[[Agent, Kept, Clean], Awaitable[KeptLedger | None]]


async def no_ledger(agent: Agent, kept: Kept, clean: Clean) -> KeptLedger | None:
    """For rooms without transcripts."""
    return None


log = structlog.get_logger("phoenixd.briefs")


class Ledgers:
    """Has the transcripts of sessions heard on, and keeps in ledger.json where that stopped."""

    def __init__(self, publication: Publication, look: LedgerLook) -> None:
        self._publication = publication
        self._look = look
        self._cleaners = Cleaners()

    async def heard(self, agent: Agent, *, keep: bool) -> SessionLedger | None:
        """The ledger of an agent's session, without secrets; None where nothing is known of it.

        keep: it is the session that goes on, so that the next daemon goes on from here.
        """
        desk = self._publication.desks.desk_of(agent)
        found: KeptLedger | None = None

        async def kept() -> KeptLedger | None:
            async with desk.lock:
                return await self._publication.write_safely(desk, lambda: _kept(desk))

        try:
            async with desk.lock:
                await self._publication.write_safely(desk, lambda: self._publication.desks.learn(agent))
            found = await self._look(agent, kept, self._cleaners.of(desk))
            if found is not None and keep:
                content = render_kept(found)
                async with desk.lock:
                    await self._publication.write_safely(desk, lambda: self._keep(desk, agent, content))
        except (PhoenixdError, OSError) as failure:
            # A brief there always is, and the next reading begins where the last kept one stopped.
            log.warning("ledger_unkept", agent=agent.name, reason=str(failure))
        desk.session.take(found.ledger if found is not None else None, goes_on=keep)
        return found.ledger if found is not None else None

    def _keep(self, desk: Desk, agent: Agent, content: bytes) -> None:
        self._publication.require_papers(agent)
        if len(content) <= SIZE_LIMIT:
            desk.shelf.write(FILE, content)


def _kept(desk: Desk) -> KeptLedger | None:
    content = desk.shelf.content(FILE, SIZE_LIMIT)
    return read_kept(content) if content is not None else None
