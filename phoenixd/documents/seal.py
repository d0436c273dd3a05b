"""The seal: two one-time words by which a report shows that neither its front nor its end is missing (issue 13).

Some CLIs give out an answer that was cut as a whole one, and some give out its last part alone. So the writer of a
report is asked to begin it with one word and to end it with another. Neither word stands in the request: each is given
there in two halves, so that an echo of the request proves nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

DIGITS = 6
HEAD_KEY, END_KEY = "seal_head", "seal_end"
"""In JSON the words are the values of the first and of the last key."""

MOST_DRAWS = 1000
MOST_ALONE = 1000
MOST_CHARACTERS = 4 << 20
"""A longer report proves nothing: nobody has asked for one."""

Told = Literal["whole", "cut", "unknown"]
"""What the CLI itself says of the answer's end; unknown: it cannot tell, as the Gemini CLI."""

Verdict = Literal["sealed", "unsealed", "cut", "front lost"]
"""sealed: it is whole. unsealed: the CLI says that it is whole, and nothing else does. cut: its end is missing, or may
be. front lost: its end is there, and its beginning is not."""


FRAME = "\ufeff \t\r\n`~*_#>\"'"
"""What stands between a seal's words and the report."""

_WORD = re.compile(rf"[0-9a-f]{{{DIGITS}}}")
_OPENING_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[\w+-]{0,20}[ \t]*\n")


@dataclass(frozen=True, slots=True)
class Seal:
    """The word that a report begins with, and the one that it ends with; for one report, and never again."""

    head: str
    end: str


def mint(draw: Callable[[int], str], apart_from: str = "") -> Seal:
    """Two words of six hex digits that stand nowhere in a text. draw(n): n random bytes, in hex (secrets.token_hex).

    Each has a letter and a digit, for numbers and words are in many texts. Raises ValueError where `draw` gives none.
    """
    words: list[str] = []
    for _ in range(MOST_DRAWS):
        word = draw(DIGITS // 2)
        is_a_word = _WORD.fullmatch(word) is not None and not word.isdigit() and not word.isalpha()
        if is_a_word and word not in words and not _times(apart_from, word):
            words.append(word)
        if len(words) == 2:
            return Seal(*words)
    raise ValueError(f"no two words in {MOST_DRAWS} draws")


def request(seal: Seal) -> str:
    """What the writer of a text is asked."""
    return (
        "Seal your report, so that it is known to be whole. Two words do that; of each you are given both halves, "
        "which you write as one word, with nothing between them.\n"
        f"The first line of the report is the word {_halves(seal.head)}, alone.\n"
        f"The last line of the report is the word {_halves(seal.end)}, alone; nothing comes after it.\n"
        "Write neither of the words anywhere else."
    )


def request_json(seal: Seal) -> str:
    """What the writer of a JSON object is asked."""
    return (
        "Seal the object, so that it is known to be whole. Two words do that; of each you are given both halves, "
        "which you write as one word, with nothing between them.\n"
        f'The first key of the object is "{HEAD_KEY}", and its value the word {_halves(seal.head)}.\n'
        f'The last key of the object is "{END_KEY}", and its value the word {_halves(seal.end)}.\n'
        "Write neither of the words anywhere else."
    )


def request_alone(seal: Seal) -> str:
    """What the writer of a report without a seal is asked once, by a new seal."""
    return (
        "Your report came without its seal. If it was whole, reply with nothing but two lines: the word "
        f"{_halves(seal.head)}, and below it the word {_halves(seal.end)}, each as one word. If something of it is "
        "missing, write all of it again between these two lines."
    )


def asks(text: str, seal: Seal) -> bool:
    """Whether a text asks for this seal."""
    return _halves(seal.head) in text and _halves(seal.end) in text


def judge(text: str, seal: Seal, told: Told = "unknown") -> Verdict:
    """What a text proves. A word in the middle, written twice or with anything but punctuation outside of it is no
    proof."""
    if len(text) > MOST_CHARACTERS:
        return _without_end(told)
    heads, ends = _times(text, seal.head), _times(text, seal.end)
    begins = heads == 1 and _first_word(text) == seal.head
    return _verdict(begins, ends == 1 and _last_word(text) == seal.end, heads > 0, told)


def judge_json(text: str, seal: Seal, told: Told = "unknown") -> Verdict:
    """What a JSON object proves, bare, in a code fence or with words around it: by its first and its last key."""
    if len(text) > MOST_CHARACTERS:
        return _without_end(told)
    pairs, heads, ends = _members(text), _times(text, seal.head), _times(text, seal.end)
    if not pairs:
        # The last part of an object is none, and may end as it was asked to.
        return _verdict(False, ends == 1 and _last_word(text) == seal.end, heads > 0, told)
    begins = heads == 1 and _holds(pairs[0], HEAD_KEY, seal.head)
    return _verdict(begins, ends == 1 and _holds(pairs[-1], END_KEY, seal.end), heads > 0, told)


def is_alone(text: str, seal: Seal) -> bool:
    """Whether a text is the seal alone, as an answer to `request_alone`."""
    return len(text) <= MOST_ALONE and list(_words(text.lower())) == [seal.head, seal.end]


def opened(text: str, seal: Seal) -> str:
    """A sealed report without its seal."""
    begin, end = _pattern(seal.head).search(text), _pattern(seal.end).search(text)
    if begin is None or end is None or end.start() < begin.end():
        return text
    return text[begin.end() : end.start()].strip(FRAME)


def in_words(verdict: Verdict) -> str:
    """A verdict for people, and for the writer."""
    return {
        "sealed": "it is whole",
        "unsealed": "it came without its seal, and only its CLI says that it is whole",
        "cut": "its end is missing: the answer was cut, or not sealed",
        "front lost": "its beginning is missing: the answer was cut and gone on with, and this is the last part",
    }[verdict]


def _halves(word: str) -> str:
    return f"made of {word[: DIGITS // 2]} and {word[DIGITS // 2 :]}"


def _verdict(begins: bool, ends: bool, has_head: bool, told: Told) -> Verdict:
    if told == "cut":
        return "cut"
    if ends and begins:
        return "sealed"
    # A word that stands elsewhere proves nothing, and yet it was not lost.
    return "front lost" if ends and not has_head else _without_end(told)


def _without_end(told: Told) -> Verdict:
    return "unsealed" if told == "whole" else "cut"


def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(word, re.IGNORECASE)


def _times(text: str, word: str) -> int:
    return sum(1 for _ in _pattern(word).finditer(text))


def _first_word(text: str) -> str:
    fence = _OPENING_FENCE.match(text)
    return next(_words(text, fence.end() if fence else 0), "").lower()


def _last_word(text: str) -> str:
    return next(_words(text[::-1]), "")[::-1].lower()


def _words(text: str, begin_at: int = 0) -> Iterator[str]:
    """The words of a text, one by one: what stands between characters that are neither letters nor digits."""
    begin = None
    for at in range(begin_at, len(text)):
        if text[at].isalnum():
            begin = at if begin is None else begin
        elif begin is not None:
            yield text[begin:at]
            begin = None
    if begin is not None:
        yield text[begin:]


def _members(text: str) -> list[tuple[str, Any]] | None:
    """The members of the object that a text holds, in their order; None where it holds none that is whole."""
    begin, end = text.find("{"), text.rfind("}")
    if begin < 0 or end < begin:
        return None
    try:
        # The outermost object is the last one that is built.
        built: list[list[tuple[str, Any]]] = []
        json.loads(text[begin : end + 1], object_pairs_hook=built.append)
    except (ValueError, RecursionError):
        return None
    return built[-1] if built else None


def _holds(member: tuple[str, Any], key: str, word: str) -> bool:
    name, value = member
    return name == key and isinstance(value, str) and value.strip().casefold() == word
