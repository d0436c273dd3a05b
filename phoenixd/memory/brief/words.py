"""What two texts have in common, by the words or pairs of characters that both have. It knows no word of a language."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

from phoenixd.memory.brief.normal_form import is_dense

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that set no blank between words, or hang what changes a word onto it: pairs of characters stand for words."""
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_KANA_ONLY = re.compile("[\u3040-\u309f]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
LEAST_WORD, LEAST_STEM, LONG_STEM, STEM_SHARE = 4, 4, 5, 0.6
MOST_GRAMS = 400
LONG_WORD, WORD, PAIR = 6, 3, 2
"""What a shared word or number, a short one, and a pair of characters weigh: a pair may be shared by chance."""
LONG, LONG_NUMBER = 5, 3
"""Letters of a long word, and digits of a long number."""


def grams(text: str) -> frozenset[str]:
    """The telling parts of a text: words of some length, numbers, and pairs of characters of unspaced scripts."""
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).casefold()):
        if re.match(f"[{_UNSPACED}]", run):
            # A pair of hiragana is grammar more often than not.
            found += [pair for at in range(len(run) - 1) if not _KANA_ONLY.fullmatch(pair := run[at : at + 2])]
        elif len(run) >= LEAST_WORD or any(character.isdigit() for character in run):
            found.append(run)
        if len(found) > MOST_GRAMS:
            break
    return frozenset(found[:MOST_GRAMS])


class Forms:
    """Grams, and what begins as they do: pass has passing as another form of it."""

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known
        self._begins: dict[str, list[str]] = {}
        for gram in known:
            if len(gram) >= LEAST_STEM:
                self._begins.setdefault(gram[:LEAST_STEM], []).append(gram)

    def among(self, found: Iterable[str]) -> frozenset[str]:
        """Those of other grams that are here, or are here in another form."""
        return frozenset(
            gram for gram in found
            if gram in self._known or any(_is_form(gram, each) for each in self._begins.get(gram[:LEAST_STEM], ()))
        )  # fmt: skip


def shared(one: Iterable[str], other: frozenset[str]) -> frozenset[str]:
    """The grams of `one` that `other` has too, in the same form or another."""
    return Forms(other).among(one)


def likeness(left: frozenset[str], right: frozenset[str]) -> float:
    """How alike two texts are by their grams: 0 to 1."""
    return len(left & right) / len(left | right) if left and right else 0.0


def share_of(part: frozenset[str], whole: frozenset[str]) -> float:
    """How much of a text's grams another has: 0 to 1."""
    if not part or len(part) > len(whole) * 4:
        return 0.0
    return len(shared(part, whole)) / len(part)


def is_small_number(gram: str) -> bool:
    """Whether it is a number that may count anything."""
    return gram.isdecimal() and len(gram) < LONG_NUMBER


def weight(found: Iterable[str], small_number: int = WORD) -> int:
    """How much shared grams tell. small_number: what a number of one digit or two weighs, which may count anything."""
    return sum(small_number if is_small_number(gram) else _weight_of(gram) for gram in found)


def common(texts: Iterable[frozenset[str]]) -> frozenset[str]:
    """Grams that stand in too many of the texts to tell anything: the small words of whatever language it is."""
    count: Counter[str] = Counter()
    number = 0
    for found in texts:
        number += 1
        count.update(found)
    most = max(3, number // 8)
    return frozenset(gram for gram, seen in count.items() if seen > most)


def numbers(text: str) -> list[str]:
    """The numbers of a text, without separators of thousands."""
    return [number for number, _, _ in located_numbers(text)]


def located_numbers(text: str) -> Iterator[tuple[str, int, int]]:
    """The same with where each begins and ends in the text as it is compared (NFKC)."""
    for found in _NUMBER.finditer(unicodedata.normalize("NFKC", text)):
        yield re.sub(r",(?=\d{3}(?!\d))", "", found[0]), found.start(), found.end()


def _is_form(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if not short.isalpha():
        return False
    if long.startswith(short):
        return 2 * len(short) >= len(long)
    same = next((at for at, (left, right) in enumerate(zip(short, long, strict=False)) if left != right), len(short))
    return same >= LONG_STEM and same >= STEM_SHARE * len(long)


def _weight_of(gram: str) -> int:
    if any(character.isdigit() for character in gram) or len(gram) >= LONG:
        return LONG_WORD
    return PAIR if is_dense(gram) else WORD
