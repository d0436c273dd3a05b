"""Private keys taken out of text, whole or as far as they are there. Linear in the length of the text."""

from __future__ import annotations

import re

_BEGIN = re.compile(r"-----BEGIN[A-Z0-9 _]{0,60}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(
    r"-----(?:END(?:[A-Z0-9 _]{0,60}PRIVATE KEY(?: BLOCK)?-----|(?: (?!CERT|PUBLIC)[A-Z0-9]{0,12}+){0,4}-{0,5}\Z)"
    r"|EN?\Z)"
)
"""The mark, or as much of one as is left where the text was cut; a certificate's or a public key's is another one."""

_BLANK = r"(?:[ \t\r]|[rt]\\{1,8}+)"
_BREAK = r"(?:\n|n\\{1,8}+|[aA]000u\\{1,8}+)"
_LINE = re.compile(
    rf"{_BLANK}*{_BREAK}(?:{_BLANK}|{_BREAK})*"
    rf"(?:(?![nrt]\\|[adAD]000u\\)(?:/\\|[A-Za-z0-9+/=])){{4,}}"
    rf"(?={_BLANK}*(?:{_BREAK}|\Z|[\"'`…]))"
)
"""A line of a key above what is known of it, read backwards; it can end as JSON writes it, and a quotation begin it.

No group is possessive: before 3.11.5 Python matches less by such a one (tests/architecture/test_patterns.py).
"""
_BLANKS = re.compile(rf"{_BLANK}*")


def without_private_keys(text: str, told: str) -> str:
    """The text with `told` in the place of each key."""
    return _without_ends(_without_blocks(text, told), told) if "-----" in text else text


def _without_blocks(text: str, told: str) -> str:
    kept: list[str] = []
    position = 0
    while begin := _BEGIN.search(text, position):
        kept += [text[position : begin.start()], told]
        end = text.find("-----END", begin.end())
        if end < 0:
            # Without an end the rest of the text may all be key.
            return "".join(kept)
        closing = text.find("-----", end + len("-----END"))
        position = closing + 5 if 0 <= closing <= end + 80 else end
    return "".join([*kept, text[position:]])


def _without_ends(text: str, told: str) -> str:
    """The end of a key whose beginning was cut off, or has scrolled away: its lines above the mark go with it."""
    kept: list[str] = []
    position = 0
    while end := _END.search(text, position):
        before = text[position : end.start()]
        is_whole = end[0].endswith("KEY-----") or end[0].endswith("BLOCK-----")
        lines = _above(before[::-1])
        # What is left of a mark proves a key only where one stands above it.
        if is_whole or before[len(before) - lines :].strip():
            kept += [before[: len(before) - lines], told]
        else:
            kept += [before, end[0]]
        position = end.end()
    return "".join([*kept, text[position:]])


def _above(backwards: str) -> int:
    """How many characters of what stands above a key's end are lines of that key, and the blanks before them."""
    position = 0
    while line := _LINE.match(backwards, position):
        position = line.end()
    blanks = _BLANKS.match(backwards, position)
    return blanks.end() if blanks is not None else position
