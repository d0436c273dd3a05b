"""Text that goes to a model, into a record or a log: without secrets, harmless to show, and bounded."""

from __future__ import annotations

from collections.abc import Sequence

from phoenixd.documents.plain_text import clip, plain
from phoenixd.documents.redact import redact

MARGIN = 4096
"""Characters around a cut that are thrown away: what was cut within a secret would no longer be known as one."""


class Cleaner:
    """values: secrets that are looked for as they stand, beside all that looks like one. marks: what secrets of the
    operator's own begin with."""

    def __init__(self, values: Sequence[str] = (), marks: Sequence[str] = ()) -> None:
        self._values, self._marks = tuple(values), tuple(marks)

    def head(self, text: str, limit: int) -> str:
        """The beginning of a text."""
        if len(text) <= limit + MARGIN:
            return clip(self._cleaned(text), limit)
        cleaned = self._cleaned(text[: limit + 2 * MARGIN])
        return f"{cleaned[: max(0, min(len(cleaned) - MARGIN, limit - 1))]}…"

    def tail(self, text: str, limit: int) -> str:
        """The end of a text, where an error says what it is about."""
        if len(text) <= limit + MARGIN:
            cleaned = self._cleaned(text)
            return cleaned if len(cleaned) <= limit else f"…{cleaned[len(cleaned) - limit + 1 :]}"
        cleaned = self._cleaned(text[-limit - 2 * MARGIN :])[MARGIN:]
        return f"…{cleaned[max(0, len(cleaned) - limit + 1) :]}"

    def _cleaned(self, text: str) -> str:
        # What shows nothing goes first: between the letters of a secret it would hide it.
        return redact(plain(text), self._values, self._marks)

    def holds_secret(self, text: str) -> bool:
        """Whether something in a text would be taken out."""
        return redact(text, self._values, self._marks) != text


def without_half_secrets(text: str, limit: int) -> str:
    """The beginning of a text that is cleaned later on, with the secrets of its agent: those that are known by their
    shape go before the cut. A shorter text stays as it is."""
    if len(text) <= limit:
        return text
    cleaned = redact(text[: limit + 2 * MARGIN])
    return cleaned[: limit if len(text) <= limit + MARGIN else max(0, min(len(cleaned) - MARGIN, limit))]
