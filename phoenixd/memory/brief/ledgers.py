"""What stands of a session's work when its brief is written: heard on from where the last reading stopped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog

from phoenixd.core.agent import Agent
from phoenixd.documents.kept_ledger import FILE, SIZE_LIMIT, KeptLedger, read_kept, render_kept
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.errors import PhoenixdError
from phoenixd.memory.desk import Desk
from phoenixd.memory.publication import Publication

Clean = Callable[[str], str]
Kept = Callable[[], Awaitable[KeptLedger | None]]
"""What an earlier reading left, for one that knows nothing of it."""
LedgerLook = Callable[[Agent, Kept, Clean], Awaitable[KeptLedger | None]]

MOST_TEXTS, MOST_CLEANED = 4096, 16


async def no_ledger(agent: Agent, kept: Kept, clean: Clean) -> KeptLedger | None:
    """For rooms without transcripts."""
    return None


log = structlog.get_logger("phoenixd.briefs")


class Ledgers:
    """Has the transcripts of sessions heard on, and keeps in ledger.json where that stopped."""

    def __init__(self, publication: Publication, look: LedgerLook) -> None:
        self._publication = publication
        self._look = look
        self._cleaned: dict[str, Cleaned] = {}

    async def heard(self, agent: Agent, *, keep: bool) -> SessionLedger | None:
        """The ledger of an agent's session, without secrets; None where nothing is known of it.

        keep: it is the session that goes on, so that the next daemon goes on from here.
        """
        desk = self._publication.desk(agent.name)
        found: KeptLedger | None = None

        async def kept() -> KeptLedger | None:
            async with desk.lock:
                return await self._publication.write_safely(desk, lambda: _kept(desk))

        try:
            async with desk.lock:
                await self._publication.write_safely(desk, lambda: self._learn_secrets(desk, agent))
            found = await self._look(agent, kept, self._cleaner(desk))
            if found is not None and keep:
                content = render_kept(found)
                async with desk.lock:
                    await self._publication.write_safely(desk, lambda: _keep(desk, content))
        except (PhoenixdError, OSError) as failure:
            # A brief there always is, and the next reading begins where the last kept one stopped.
            log.warning("ledger_unkept", agent=agent.name, reason=str(failure))
        return found.ledger if found is not None else None

    def _learn_secrets(self, desk: Desk, agent: Agent) -> None:
        if not desk.secrets:
            desk.secrets = self._publication.secrets_of(agent)

    def _cleaner(self, desk: Desk) -> Clean:
        """Takes secrets out of texts, most of which stood in the last reading as well."""
        known = self._cleaned.pop(desk.shelf.name, None)
        if known is None or known.secrets != desk.secrets:
            known = Cleaned(desk.secrets)
        self._cleaned[desk.shelf.name] = known
        while len(self._cleaned) > MOST_CLEANED:
            del self._cleaned[next(iter(self._cleaned))]
        known.begin()
        return lambda text: known.clean(text, desk.clean)


class Cleaned:
    """Texts that were cleaned in this reading or in the one before, with these secrets."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self.secrets = secrets
        self._before: dict[str, str] = {}
        self._now: dict[str, str] = {}

    def begin(self) -> None:
        """Begin another reading: what the last one had no use for is forgotten."""
        self._before, self._now = self._now, {}

    def clean(self, text: str, clean: Clean) -> str:
        """The text without its secrets."""
        found = self._now.get(text) or self._before.get(text)
        if found is None:
            found = clean(text)
        if len(self._now) < MOST_TEXTS:
            self._now[text] = found
        return found


def _kept(desk: Desk) -> KeptLedger | None:
    content = desk.shelf.content(FILE, SIZE_LIMIT)
    return read_kept(content) if content is not None else None


def _keep(desk: Desk, content: bytes) -> None:
    if len(content) <= SIZE_LIMIT:
        desk.shelf.write(FILE, content)
