"""Texts without their secrets, each cleaned once: most of what is read for a brief was read for the one before."""

from __future__ import annotations

from phoenixd.documents.redact import Clean
from phoenixd.memory.desk import Desk

MOST_TEXTS, MOST_AGENTS = 4096, 16


class Cleaners:
    """What takes the secrets out of each agent's texts; for one kind of texts, and one reading at a time."""

    def __init__(self) -> None:
        self._cleaned: dict[str, Cleaned] = {}

    def of(self, desk: Desk) -> Clean:
        """Begin another reading of an agent's texts."""
        known = self._cleaned.pop(desk.shelf.name, None)
        if known is None or known.secrets != desk.secrets:
            known = Cleaned(desk.secrets, desk.clean)
        self._cleaned[desk.shelf.name] = known
        while len(self._cleaned) > MOST_AGENTS:
            del self._cleaned[next(iter(self._cleaned))]
        known.begin()
        return known.clean


class Cleaned:
    """Texts that were cleaned in this reading or in the one before, with these secrets."""

    def __init__(self, secrets: tuple[str, ...], clean: Clean) -> None:
        self.secrets = secrets
        self._clean = clean
        self._before: dict[str, str] = {}
        self._now: dict[str, str] = {}

    def begin(self) -> None:
        """Begin another reading: what the last one had no use for is forgotten."""
        self._before, self._now = self._now, {}

    def clean(self, text: str) -> str:
        """The text without its secrets. As long as those are the same, this is the same function."""
        found = self._now.get(text) or self._before.get(text)
        if found is None:
            found = self._clean(text)
        if len(self._now) < MOST_TEXTS:
            self._now[text] = found
        return found
