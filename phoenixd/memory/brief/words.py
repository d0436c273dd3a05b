"""Whose words a conversation is made of, and how texts are compared by their words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phoenixd.documents.brief.material import PLAN_TOOLS
from phoenixd.documents.conversation import Utterance

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_QUOTED = re.compile(r'"[^"\n]{1,600}"|“[^”]{1,600}”|«[^»]{1,600}»')
_SET_OFF = re.compile(r"^[ \t]*>[^\n]*$|^[ \t]*```[^\n]*\n.{0,20000}?^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
"""Lines that are marked as quotations, and blocks of code."""
LEAST_QUOTED = 3
"""Words that make a quotation; fewer are a name."""
_MARKS = ".,;:!?()[]{}<>\"'`*_…“”‘’"
GRAVE = frozenset(
    """
    delet drop push force forc deploy send upload disabl remov publis revok transf pay merg wip reset overwr instal
    execut downlo destro eras kill shutdo grant expos skip bypass
    """.split()
)
"""Beginnings of words for deeds that are not taken back: one that nobody spoke of is never borne."""

BEFORE, AFTER = 2, 6
"""How many telling words around the word for a deed say what it is done to."""

_STOP = frozenset(
    """
    the and for was were are not has have had with that this from but its been will would can could should into
    still yet then than when where which what who how why all any some more most one two does did done there here
    they them their his her our your you about after before over under only also very just being
    """.split()
)


def is_own_word(utterance: Utterance) -> bool:
    """Whether a person or the agent itself said this; the lists that an agent keeps of its own work are its words."""
    return utterance.speaker != "tool" or utterance.tool in PLAN_TOOLS


def own_words(utterance: Utterance) -> str:
    """What somebody said, without what the agent only quotes or shows."""
    if utterance.speaker != "assistant" or utterance.tool:
        return utterance.text
    return without_quotations(utterance.text)


def without_quotations(text: str) -> str:
    """A text without its quotations, quoted lines and blocks of code."""
    return _QUOTED.sub(lambda found: found[0] if len(found[0].split()) < LEAST_QUOTED else " ", _SET_OFF.sub("", text))


def stems(text: str) -> frozenset[str]:
    """The beginnings of a text's words that mean something: "tested", "testing" and "tests" are one."""
    return frozenset(_stem(word) for word in _WORD.findall(text.casefold()) if len(word) > 2 and word not in _STOP)


def deeds(text: str) -> frozenset[tuple[str, str]]:
    """Each grave deed that a text speaks of in plain words, with each of the words around it."""
    telling = [word for raw in text.casefold().split() if len(word := raw.strip(_MARKS)) > 2 and word not in _STOP]
    return frozenset(_deeds([(word, _stem(word)) for word in telling]))


def similarity(one: str, other: str) -> float:
    """How alike two texts are by their words: 0 to 1."""
    left, right = stems(one), stems(other)
    return len(left & right) / len(left | right) if left and right else 0.0


def numbers(text: str) -> list[str]:
    """The numbers of a text, without separators of thousands."""
    return [re.sub(r",(?=\d{3}(?!\d))", "", found) for found in _NUMBER.findall(text)]


def squeezed(text: str) -> str:
    """A text as it is compared: blanks are one blank, case and the kind of quotation mark do not count."""
    return " ".join(text.casefold().replace("’", "'").replace("“", '"').replace("”", '"').split())


def _deeds(telling: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for at, (word, deed) in enumerate(telling):
        # A part of an identifier, test_delete_user for instance, is no deed.
        if deed in GRAVE and word.isalpha():
            around = telling[max(0, at - BEFORE) : at] + telling[at + 1 : at + 1 + AFTER]
            yield from ((deed, stem) for _, stem in around)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "ly", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            word = word[: -len(ending)]
            break
    return word[:6]
