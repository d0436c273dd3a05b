"""A text's blanks are filled, so that no scanner takes the file for a leak, and its secrets taken out.

Written before a case was played: nothing depends on which case it is.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from uuid import UUID

from phoenixd.documents.redact import redact
from tests.blind.frozen import Case, Corpus
from tests.documents.redactions.missed import MISSED

REDACTIONS = Corpus(Path(__file__).parent, "redact-open.json", "redact-held.json", MISSED)

LETTERS = {
    "a": ascii_lowercase + digits, "A": ascii_uppercase + digits, "V": f"{ascii_uppercase}234567",
    "B": ascii_letters + digits, "w": f"{ascii_letters}{digits}_-", "l": f"{ascii_lowercase}{digits}_-",
    "h": f"{digits}abcdef", "H": f"{digits}ABCDEF", "d": digits, "b": f"{ascii_letters}{digits}+/", "L": ascii_letters,
}  # fmt: skip
BLANK = re.compile(r"<(?:([aAVBwlhHdbL])(\d+)|uuid)>")
FILLINGS = 3


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What came of a text: secrets that are left in it, and words that are gone though they were to be kept."""

    left: tuple[str, ...]
    gone: tuple[str, ...]
    text: str


def is_right(case: Case, found: Cleaned) -> bool:
    return not found.left and not found.gone


def answer(case: Case) -> Cleaned:
    """The first filling that came out wrong, or the last one: one that is right once in a while is not right."""
    found = Cleaned((), (), "")
    for seed in range(FILLINGS):
        dice, values = random.Random(f"{case['id']} {seed}"), dict[str, str]()

        def filled(text: str, dice: random.Random = dice, values: dict[str, str] = values) -> str:
            return BLANK.sub(lambda blank: values.setdefault(blank[0], _value(blank, dice)), text)

        cleaned = redact(filled(case["text"]))
        left = tuple(secret for secret in case["secrets"] if filled(secret) in cleaned)
        gone = tuple(words for words in case["keep"] if filled(words) not in cleaned)
        found = Cleaned(left, gone, cleaned)
        if left or gone:
            break
    return found


def _value(blank: re.Match[str], dice: random.Random) -> str:
    if blank[1] is None:
        return str(UUID(int=dice.getrandbits(128), version=4))
    return "".join(dice.choices(LETTERS[blank[1]], k=int(blank[2])))
