"""The form in which texts are compared: the same whatever a CLI, a keyboard or a model made of a text's looks.

Case, width, composition, blanks, quotation marks, dashes, marks of markdown and what shows nothing do not count. Each
character of it knows its place in the text, so that what is found can be shown as it stands there.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

WALL = "\uffff"
"""Stands for what is no own word of a speaker, and is kept: nothing is found across it."""

_DENSE = re.compile("[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]")
_MARKS = frozenset("\"'`´‘’‚‛“”„‟«»‹›「」『』〝〞〟ʼ′″*_#>~|−\u30fb\ufe0e\ufe0f")
_DROPPED = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Cn", "Pd", "Pi", "Pf"})


def normal_form(text: str) -> str:
    """A text as it is compared."""
    return folded(text)[0]


def is_dense(text: str) -> bool:
    """Whether most of it is in a script that says much in few characters, as Chinese, Japanese and Korean."""
    return 2 * len(_DENSE.findall(text)) > len(text)


def dense_before(form: str) -> list[int] | None:
    """How many such characters stand before each place, and before the end; None where there is none."""
    if not _DENSE.search(form):
        return None
    count = [0]
    for character in form:
        count.append(count[-1] + bool(_DENSE.match(character)))
    return count


def letters(form: str) -> int:
    """How many characters somebody would count."""
    return len(unicodedata.normalize("NFC", form))


def folded(text: str) -> tuple[str, list[int]]:
    """The same, and for each of its characters its place in the text."""
    made: list[str] = []
    places: list[int] = []
    for at, character in enumerate(text):
        if found := _fold(character):
            made.append(found)
            places += [at] * len(found)
    form = "".join(made)
    if not unicodedata.is_normalized("NFD", form):
        form, places = _ordered(form, places)
    return form, places


def _ordered(form: str, places: list[int]) -> tuple[str, list[int]]:
    """Combining marks in canonical order, each with its place."""
    at, kept = 0, list(zip(form, places, strict=True))
    while at < len(kept):
        end = at
        while end < len(kept) and unicodedata.combining(kept[end][0]):
            end += 1
        kept[at:end] = sorted(kept[at:end], key=lambda one: unicodedata.combining(one[0]))
        at = end + 1
    return "".join(one for one, _ in kept), [place for _, place in kept]


@cache
def _fold(character: str) -> str:
    """A character as it is compared; the cache has at most as many entries as Unicode has characters."""
    if character == WALL:
        return character
    if character in _MARKS:
        return ""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(one for one in plain if one not in _MARKS and unicodedata.category(one) not in _DROPPED)
