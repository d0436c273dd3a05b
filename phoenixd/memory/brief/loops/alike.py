"""Whether two texts name the same thing, in any language: by the pieces of their letters, without their blanks.

Pieces alone take "Migrate the users table" for "Migrate the orders table": each word that tells a text from its
siblings has to stand in the other one.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from difflib import SequenceMatcher

PIECE = 3
LEAST = 4
"""Pieces of a text that says enough to be compared by them."""
HELD, HELD_BY_SHORTER = 0.7, 0.8
RIVAL = 0.3
"""How alike two steps are when one may be taken for the other."""
SMALL = 3
"""Letters of a small word."""
LARGEST = 2000
CACHED = 4096
"""Texts that are remembered: a reading compares each of its texts with many."""
ENDING, LONG = 2, 5
"""Letters by which a long word may be longer than another and still be that word, and what is long."""

_PREFIX = re.compile(r"\A\s*[\w-]{1,24}(?:\([^()\n]{0,40}\))?!?:\s+")
"""What conventional commits begin with."""
_QUOTATION = re.compile(
    r'"([^\n]{1,400})"|“([^”\n]{1,400})”|«([^»\n]{1,400})»|「([^」\n]{1,400})」|„([^“”\n]{1,400})[“”]'
)


@functools.lru_cache(CACHED)
def normal(text: str) -> str:
    """A text as it is compared: its letters and digits alone, none of them wide or large."""
    folded = unicodedata.normalize("NFKC", text[:LARGEST]).casefold()
    return "".join(character for character in folded if _is_of_a_word(character))


def same(one: str, other: str) -> bool:
    """Whether two texts are the same but for blanks, case and signs."""
    return normal(one) == normal(other)


def names(text: str, other: str, siblings: Collection[str] = ()) -> bool:
    """Whether what `other` says (a commit, a task) is what `text` asks for, and none of its siblings."""
    wanted, found = _pieces(text), _pieces(other)
    if len(wanted) < LEAST or len(found) < LEAST:
        return same(text, other)
    bare = _PREFIX.sub("", other)
    if not _holds(wanted, found) and not (len(_pieces(bare)) >= LEAST and _holds(wanted, _pieces(bare))):
        return False
    rivals = tuple(one for one in siblings if likeness(text, one) >= RIVAL)
    needed = own_words(text, rivals) if rivals else frozenset(one for one in words(text) if not one.isalpha())
    return _holds_words(needed, words(other)) and not (_swaps(text, other) and _swaps(text, bare))


def likeness(one: str, other: str) -> float:
    """How much of two texts is in both: 0 to 1."""
    mine, theirs = _pieces(one), _pieces(_PREFIX.sub("", other))
    return len(mine & theirs) / len(mine | theirs) if mine and theirs else float(same(one, other))


def quoted_in(text: str) -> str:
    """What a text quotes of another (`Revert "..."`): its longest quotation of more than one word, or nothing."""
    found = (next(group for group in match.groups() if group) for match in _QUOTATION.finditer(text[:LARGEST]))
    return max((one for one in found if len(words(one)) > 1), key=len, default="")


@functools.lru_cache(CACHED)
def words(text: str) -> frozenset[str]:
    """The words and numbers of a text; of a script that writes no blanks, its signs."""
    return frozenset(_sequence(text))


@functools.lru_cache(CACHED)
def _sequence(text: str) -> tuple[str, ...]:
    folded = unicodedata.normalize("NFKC", text[:LARGEST]).casefold()
    spaced = "".join(_spaced(character) for character in folded)
    return tuple(spaced.split())


@functools.lru_cache(CACHED)
def own_words(text: str, siblings: tuple[str, ...]) -> frozenset[str]:
    """The words of a text that do not stand in most of its siblings; where it has none of its own, all of them."""
    counted = Counter(word for one in siblings for word in words(one))
    own = frozenset(word for word in words(text) if 2 * counted[word] <= len(siblings))
    return own or words(text)


def _holds_words(wanted: frozenset[str], found: frozenset[str]) -> bool:
    return all(any(_is_form_of(one, other) for other in found) for one in wanted - found)


def _swaps(text: str, other: str) -> bool:
    """Whether the other has another word in the place of one of the text's: Enable, Disable; 用户, 订单."""
    one, two = _sequence(text), _sequence(other)
    # A form of a word is that word.
    two = tuple(next((mine for mine in one if _is_form_of(mine, word)), word) for word in two)
    missing, besides = set(one) - set(two), set(two) - set(one)
    for tag, begin, end, start, stop in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        gone, come = missing.intersection(one[begin:end]), besides.intersection(two[start:stop])
        if tag != "replace" or not gone or not come:
            continue
        # Small words that gave way to more and longer ones ("in the", "with one buffer") name nothing.
        if len(gone) == len(come) or any(map(_is_long, gone)) or not any(map(_is_long, come)):
            return True
    return False


def _is_long(word: str) -> bool:
    return len(word) > SMALL or not word.isascii() or not word.isalpha()


def _is_form_of(one: str, other: str) -> bool:
    """Whether two words are the same but for an ending of a letter or two (tables, migrated)."""
    shorter, longer = sorted((one, other), key=len)
    allowed = ENDING if len(shorter) >= LONG else ENDING - 1 if len(shorter) == LONG - 1 else 0
    return len(longer) - len(shorter) <= allowed and longer.startswith(shorter) and longer.isalpha()


def _holds(wanted: frozenset[str], found: frozenset[str]) -> bool:
    both = len(wanted & found)
    if both >= HELD * len(wanted):
        return True
    return 2 * len(found) >= len(wanted) and both >= HELD_BY_SHORTER * len(found)


@functools.lru_cache(CACHED)
def _pieces(text: str) -> frozenset[str]:
    letters = normal(text)
    size = 2 if _is_dense(letters) else PIECE
    return frozenset(letters[at : at + size] for at in range(max(0, len(letters) - size + 1)))


def _spaced(character: str) -> str:
    if _says_a_syllable(character):
        return f" {character} "
    return character if _is_of_a_word(character) else " "


def _is_of_a_word(character: str) -> bool:
    return character.isalnum() or unicodedata.combining(character) != 0


def _is_dense(letters: str) -> bool:
    """Whether a text is written in signs that say a syllable or more each."""
    return 2 * sum(_says_a_syllable(character) for character in letters) > len(letters)


def _says_a_syllable(character: str) -> bool:
    return character >= "⺀" and unicodedata.east_asian_width(character) in "WF"
