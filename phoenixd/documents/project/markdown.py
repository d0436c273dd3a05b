"""Where the headings, paragraphs and lists of a Markdown file stand, by line; what is quoted or fenced is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the file itself. body: the first line below it; end: the first one behind what stands below it."""

    level: int
    text: str
    line: int
    end: int
    body: int


def tokens_of(text: str) -> list[Token]:
    """Markdown's own tokens."""
    # A byte order mark would hide the heading behind it; the line itself keeps it.
    return _markdown().parse(text.removeprefix("\ufeff"))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt  # A daemon without orchestrators never needs it.

    # What stands within a line decides nothing here, and some of its rules are slow on lines that mean harm.
    return MarkdownIt("commonmark").disable(["inline", "reference"])


def headings_of(tokens: list[Token], count: int) -> tuple[Heading, ...]:
    """The headings of the file itself, each with what stands below it."""
    found: list[Heading] = []
    open_ones: list[int] = []
    for at, token in enumerate(tokens):
        if token.type != "heading_open" or token.level != 0 or not token.map:
            continue
        level = int(token.tag[1:])
        while open_ones and found[open_ones[-1]].level >= level:
            closed = open_ones.pop()
            found[closed] = replace(found[closed], end=token.map[0])
        open_ones.append(len(found))
        found.append(Heading(level, tokens[at + 1].content, token.map[0], count, token.map[1]))
    return tuple(found)


def spoken_lines(tokens: list[Token]) -> tuple[list[int], list[tuple[int, str]]]:
    """Lines of paragraphs and lists that belong to no heading and no quotation: where they stand, their depth, text."""
    places: list[int] = []
    texts: list[tuple[int, str]] = []
    quoted = 0
    for at, token in enumerate(tokens):
        quoted += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if quoted or token.type != "inline" or not token.map or tokens[at - 1].type == "heading_open":
            continue
        lines = token.content.split("\n")
        if len(lines) != token.map[1] - token.map[0]:
            # Lines of Unicode blanks alone (U+2028) are paragraphs to Markdown, which then strips them away: where the
            # others stand is no longer known.
            continue
        for number, line in enumerate(lines):
            places.append(token.map[0] + number)
            texts.append((token.level, line))
    return places, texts


def top_level(text: str) -> tuple[tuple[int, int], ...]:
    """Where each paragraph, list, fence and so on of the file itself begins and ends."""
    tokens = tokens_of(text)
    return tuple(
        (token.map[0], token.map[1]) for token in tokens if token.level == 0 and token.map and token.nesting >= 0
    )
