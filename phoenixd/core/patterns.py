"""Patterns of names: `*` is any text, `?` one character, `[a-c]` one of these, `[!a-c]` none of them.

The standard library's fnmatch makes a regular expression of a pattern; this takes the product of both lengths at most,
whatever the pattern is.
"""

from __future__ import annotations

from dataclasses import dataclass

SIGNS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class One:
    """One character: of these ranges, or of none of them. Without ranges it is any."""

    ranges: tuple[tuple[str, str], ...] = ()
    is_none_of: bool = False

    def takes(self, character: str) -> bool:
        if not self.ranges:
            return True
        return any(first <= character <= last for first, last in self.ranges) is not self.is_none_of


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern, understood. parts: what has to follow one another; None is any text."""

    text: str
    parts: tuple[One | None, ...]

    def matches(self, text: str) -> bool:
        """Whether the whole text is like this."""
        at = place = 0
        star, tried = -1, 0
        while at < len(text):
            is_over = place == len(self.parts)
            part = None if is_over else self.parts[place]
            if part is None and not is_over:
                star, tried, place = place, at, place + 1
            elif part is not None and part.takes(text[at]):
                at, place = at + 1, place + 1
            elif star >= 0:
                # The newest star takes one character more; an earlier one never needs to.
                tried += 1
                at, place = tried, star + 1
            else:
                return False
        return all(part is None for part in self.parts[place:])


def is_pattern(text: str) -> bool:
    """Whether it is more than a name."""
    return not SIGNS.isdisjoint(text)


def pattern(text: str) -> Pattern:
    """Understand a pattern. A `[` without its end is a plain character."""
    parts: list[One | None] = []
    at = 0
    while at < len(text):
        sign = text[at]
        end = text.find("]", at + (3 if text[at + 1 : at + 2] == "!" else 2)) if sign == "[" else -1
        if sign == "*":
            if parts[-1:] != [None]:
                parts.append(None)
        elif sign == "?":
            parts.append(One())
        elif end > 0:
            parts.append(_class(text[at + 1 : end]))
            at = end
        else:
            parts.append(One(((sign, sign),)))
        at += 1
    return Pattern(text, tuple(parts))


def _class(inside: str) -> One:
    is_none_of = inside.startswith("!")
    rest = inside[1:] if is_none_of else inside
    ranges: list[tuple[str, str]] = []
    at = 0
    while at < len(rest):
        is_range = rest[at + 1 : at + 2] == "-" and at + 2 < len(rest)
        ranges.append((rest[at], rest[at + 2] if is_range else rest[at]))
        at += 3 if is_range else 1
    return One(tuple(ranges), is_none_of)
