"""What an agent's own words and calls show of its marker: codes that stand anywhere now, and footers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from phoenixd.documents.resonance import footer
from phoenixd.documents.resonance.footer import Footer
from phoenixd.planting import Planting, codes_in

Where = Literal["answer", "call", "result", "prompt", "given"]
"""given: what a hook of ours added to the session's context, as its CLI writes it down."""

LONGEST_RECITED = 40
"""Characters of an answer that is a code and next to nothing else."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Something that came by in a session: what the agent said, what it called, what it was shown, what it was told.

    at: wall seconds, None for unknown.
    """

    where: Where
    text: str
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Spotted:
    """Codes that prove nothing any more, because they stand elsewhere than in the anchor."""

    codes: tuple[str, ...]
    where: Where
    at: float | None


def wanted(planting: Planting) -> re.Pattern[bytes]:
    """What a line of a transcript must hold to be worth reading: an unspent code in any case, or a footer's opening."""
    words = [re.escape(planting.code(number)) for number in planting.unspent() if number]
    words.append(re.escape(planting.marker.code))
    return re.compile("|".join([*words, re.escape(footer.OPENING)]).encode(), re.IGNORECASE)


def spotted(planting: Planting, passed: Iterable[Passed]) -> tuple[Spotted, ...]:
    """The codes that were unspent and are so no longer, each where it was seen first."""
    left = {planting.code(number) for number in planting.unspent() if number}
    found = []
    for one in passed:
        # The anchor itself comes by as a prompt where a CLI writes it down as one.
        is_told = one.where == "given" or (one.where == "prompt" and is_anchor(planting, one.text))
        if is_told or is_recited(one):
            continue
        seen = sorted(codes_in(one.text) & left)
        if seen:
            found.append(Spotted(tuple(seen), one.where, one.at))
            left.difference_update(seen)
    return tuple(found)


def given_at(planting: Planting, passed: Iterable[Passed]) -> Passed | None:
    """What gave the session its marker with all its codes; None where nothing that passed by did."""
    codes = set(planting.codes)
    found = (one for one in passed if one.where == "given" and is_anchor(planting, one.text))
    return next((one for one in found if codes <= codes_in(one.text)), None)


def newest_footer(passed: Iterable[Passed]) -> tuple[Footer, float | None] | None:
    """The newest footer of the agent's own answers; one in a call, a result or a prompt is none (F-RE-12)."""
    found = None
    for one in passed:
        seen = footer.parse(one.text) if one.where == "answer" else None
        found = (seen, one.at) if seen is not None else found
    return found


def is_recited(one: Passed) -> bool:
    """Whether the agent said a code alone, as the answer to a check is: that it was asked for has spent it already."""
    return one.where == "answer" and len(one.text.strip()) <= LONGEST_RECITED and len(codes_in(one.text)) == 1


def is_anchor(planting: Planting, text: str) -> bool:
    """Whether a text gives the codes, and so is where they come from."""
    return str(planting.marker) in text
