"""Lines of the screen as plain values: pieces of text, each in a style. An agent's text is made safe here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from phoenixd.api.pages.layout import columns, whole_numbers
from phoenixd.core.question.characters import visible

DOTS = "..."
Style = Literal["", "need", "heal", "work", "rest", "unknown", "strong", "dim", "chosen"]


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of a line, in one style."""

    text: str
    style: Style = ""


Line = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    """A line of these pieces; a text alone has no style."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts)


def safe(words: object) -> str:
    """Anybody's words in one line: what hides, reorders or moves a cursor is shown by its number."""
    return visible(" ".join(str(words).split()))


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns; where it was cut it ends in three dots. No number is cut."""
    if columns(text) <= width:
        return text
    if width <= len(DOTS):
        return DOTS[: max(0, width)]
    kept, room = [], width - len(DOTS)
    for character in text:
        room -= columns(character)
        if room < 0:
            break
        kept.append(character)
    return whole_numbers("".join(kept), text).rstrip() + DOTS


def pad(text: str, width: int) -> str:
    """The text cut or filled to exactly `width` columns."""
    text = cut(text, width)
    return text + " " * (width - columns(text))


def plain(shown: Iterable[Span]) -> str:
    """A line without its styles."""
    return "".join(span.text for span in shown).rstrip()


def fitted(shown: Line, width: int) -> Line:
    """The line in exactly `width` columns: its end is cut, or filled with blanks."""
    kept: list[Span] = []
    room = width
    for span in shown:
        if room <= 0:
            break
        text = span.text if columns(span.text) <= room else cut(span.text, room)
        kept.append(Span(text, span.style))
        room -= columns(text)
    return (*kept, Span(" " * room)) if room > 0 else tuple(kept)


def first_that_fits(variants: Iterable[str], width: int) -> str:
    """Of several ways to say it, the longest first, the first one that is not cut; else the last one, cut."""
    last = ""
    for last in variants:
        if columns(last) <= width:
            return last
    return cut(last, width)
