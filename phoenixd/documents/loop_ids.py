"""The ids of loops as people write them: in any script, and whichever way its accents are put together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from phoenixd.documents.plain_text import plain

LIMIT = 64
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NEVER = re.compile(r"[\s`\"'\\|<>]")
"""What a shell, or the page that names the id, would read as something else."""


def kept_as_written(named: str) -> str | None:
    """The id that somebody gave a loop, where it can stand; None where another has to be made of it."""
    name = unicodedata.normalize("NFC", named)
    if len(name) > LIMIT:
        return None
    if name.isascii():
        return name if _SLUG.fullmatch(name) else None
    is_odd = _NEVER.search(name) or plain(name) != name or name.startswith("-")
    return None if is_odd else name


def slug_of(text: str) -> str:
    """An id in ASCII; empty where the text has nothing to make one of."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:LIMIT].strip("-")


def meant(given: str, ids: Collection[str]) -> str:
    """The id that somebody names: as it is, as its accents may be put together, or what was made of it."""
    name = unicodedata.normalize("NFC", given.strip())
    for candidate in (given, name):
        if candidate in ids:
            return candidate
    made = slug_of(name)
    return next((one for one in ids if unicodedata.normalize("NFC", one) == name), made if made in ids else given)
