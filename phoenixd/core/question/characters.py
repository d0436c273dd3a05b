"""Agents' text made visible: every character as itself, and what hides, reorders or moves the cursor by its number.

An escape reads `<U+202E>`. Flags say beside the text what deceives the eye although it is shown; they refuse nothing.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

MARKS_SHOWN = 2
"""Combining marks that are drawn over one character; more of them smear over the neighbouring lines."""
MAX_WORDS = 5
"""Words that mix alphabets, each told by itself."""
TAB = "\u2192   "
"""A tab, told apart from blanks."""
BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""What is no control and draws nothing all the same."""
ALPHABETS = frozenset(
    "LATIN CYRILLIC GREEK ARMENIAN HEBREW ARABIC CHEROKEE COPTIC GEORGIAN LISU FULLWIDTH MATHEMATICAL DESERET".split()
)
"""Whose letters can be taken for each other's, by the first word of a character's name."""

REORDERING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
"""Directions, as Unicode calls them."""


def visible(line: str) -> str:
    """A text as one line that can be printed: nothing in it hides, and nothing acts on a terminal."""
    if line.isascii() and line.isprintable():
        return _with_trailing_blank(line)
    shown: list[str] = []
    marks = MARKS_SHOWN  # A mark without a character before it would be drawn over ours.
    for character in line:
        if character == "\t":
            shown.append(TAB)
            marks = MARKS_SHOWN
            continue
        if unicodedata.category(character) in ("Mn", "Me"):
            marks += 1
            drawn = marks <= MARKS_SHOWN and not _hides(character)
        else:
            marks = 0
            drawn = not _hides(character)
        shown.append(character if drawn else f"<U+{ord(character):04X}>")
    return _with_trailing_blank("".join(shown))


def flags(text: str) -> tuple[str, ...]:
    """What deserves a second look in a text of any lines, a sentence for each kind."""
    if text.isascii() and "<U+" not in text and all(c.isprintable() or c in "\n\t" for c in text):
        return ()
    odd = sorted({character for character in text if not " " <= character <= "~" and character not in "\n\t"})
    found: list[str] = []
    hidden = [character for character in odd if _hides(character)]
    reversing = [character for character in hidden if _reorders(character)]
    if reversing:
        found.append(f"characters that reverse the reading direction, shown by their number: {_numbers(reversing)}")
    if plain := [character for character in hidden if character not in reversing]:
        found.append(f"characters that cannot be seen, shown by their number: {_numbers(plain)}")
    if any(unicodedata.bidirectional(character) in RIGHT_TO_LEFT for character in odd):
        found.append("letters that run from right to left: what stands beside them may be drawn in another order")
    if "<U+" in text:
        found.append("the characters <U+ stand there themselves, and imitate such a number")
    mixed = dict.fromkeys(word for word in _words(text) if len(_alphabets(word)) > 1)
    for word in list(mixed)[:MAX_WORDS]:
        alphabets = " and ".join(sorted(_alphabets(word))).lower()
        found.append(f"the word {visible(word[:40])} mixes alphabets whose letters look alike: {alphabets}")
    if len(mixed) > MAX_WORDS:
        found.append(f"{len(mixed) - MAX_WORDS} more words mix alphabets")
    return tuple(found)


def _reorders(character: str) -> bool:
    return character in "\u200e\u200f\u061c" or unicodedata.bidirectional(character) in REORDERING


def _numbers(characters: Iterable[str]) -> str:
    return ", ".join(f"U+{ord(character):04X}" for character in list(characters)[:8])


def _hides(character: str) -> bool:
    if " " <= character <= "~":
        return False
    category = unicodedata.category(character)
    return (
        category[0] == "C"
        or category in ("Zl", "Zp", "Zs")
        or character in BLANK_LETTERS
        or "\ufe00" <= character <= "\ufe0f"
        or "\U000e0100" <= character <= "\U000e01ef"
    )


def _with_trailing_blank(line: str) -> str:
    """A blank at the end of a line cannot be seen there."""
    return f"{line[:-1]}<U+0020>" if line.endswith(" ") else line


def _words(text: str) -> Iterable[str]:
    word = ""
    for character in text:
        if character.isalnum():
            word += character
        elif unicodedata.category(character) not in ("Mn", "Me", "Cf"):
            if word:
                yield word
            word = ""
    if word:
        yield word


def _alphabets(word: str) -> set[str]:
    names = (unicodedata.name(character, "").split(" ", 1)[0] for character in word if character.isalpha())
    return {name for name in names if name in ALPHABETS}
