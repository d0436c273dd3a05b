"""Whether what stands in an input line can be a text of ours: what a person wrote there is left alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import normalize

_IN_PLACE = r"\[Pasted [^\[\]]*\]"
"""What all CLIs show in place of a long text."""
SHORTEST_REPLACED = 200
"""Characters of one line that no CLI replaces: what stands in place of a text is then another one's."""
_ONLY_IN_PLACE = re.compile(rf"(?:\s*{_IN_PLACE})+\s*")
_SHORTENED = re.compile(r"\[\.\.\.Truncated ")
"""Between the ends of a long text."""
_NOT_PLAIN = re.compile(r"[^!-~]+")


def squashed(text: str) -> str:
    """Without blanks: an input line wraps where its box ends."""
    return "".join(text.split())


def is_of(line: str, *texts: str) -> bool:
    """Whether what stands in an input line can be one of these: whole, cut at one end, or replaced by a few words."""
    return which(line, texts) is not None


def which(line: str, texts: Iterable[str]) -> str | None:
    """The first of these texts that an input line can hold when it shows this; None where it holds something else."""
    return next((text for text in texts if text and _shows(line, text)), None)


def is_rest_of(line: str, *texts: str) -> bool:
    """Whether it can be what is left of one of these texts while it is taken away: a box may show its middle alone."""
    seen = squashed(line)
    return _stands_for_one(line) or any(seen in squashed(text) for text in texts if text)


def can_show(line: str, text: str, *, is_command: bool) -> bool:
    """Whether an input line that shows this can hold the text, and nothing else.

    A box shows a part of it, or something in its place; a CLI puts a hint behind a command; and a terminal may show
    letters beyond ASCII in another way.
    """
    if _stands_for_one(line) or _SHORTENED.search(line):
        return True
    seen, whole = _plain(line), _plain(text)
    if not seen:
        # Nothing of it can be compared but letters that may be drawn in another way: one of ours has to be there.
        return not whole or any(letter in text for letter in squashed(line))
    return seen in whole or (is_command and seen.startswith(whole))


def _plain(text: str) -> str:
    """The letters of ASCII alone, also those below an accent."""
    return _NOT_PLAIN.sub("", normalize("NFD", text))


def _shows(line: str, text: str) -> bool:
    seen, whole = squashed(line), squashed(text)
    is_long = "\n" in text or len(text) >= SHORTEST_REPLACED
    return whole.startswith(seen) or whole.endswith(seen) or (is_long and _stands_for_one(line))


def _stands_for_one(line: str) -> bool:
    return _ONLY_IN_PLACE.fullmatch(line) is not None
