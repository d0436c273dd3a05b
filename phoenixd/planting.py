"""Whether an answer holds a code: judged here alone, for the core, for documents and for the library of resonance.

A marker is a phrase that an agent does not write by chance, and a code of six hex digits that is compared exactly:

    the weight of the morning — 7f3a9c

A planting is the codes that an agent was given at once, and those of them that prove nothing any more. In mode
`one_time` each check asks for one code that was never asked for, and that was seen nowhere since it was given. In mode
`classic`, the seed's own, the marker's code is asked for each time: an echo of an earlier answer passes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

DIGITS = 6
DASH = "—"
LONGEST_PHRASE = 120
LONGEST_MARKER = LONGEST_PHRASE + len(f" {DASH} ") + DIGITS + 2

CODE = re.compile(rf"[0-9a-f]{{{DIGITS}}}")
_OF_A_WORD = r"[^\W_\u0e00-\u109f\u1780-\u17ff\u2e80-\U0010ffff]"
"""A letter or digit of a script that sets blanks between words: Chinese, Japanese and Thai, say, set none."""
CODES = re.compile(rf"(?<!{_OF_A_WORD})[0-9a-fA-F]{{{DIGITS}}}(?!{_OF_A_WORD})")
"""Six hex digits that are no part of a longer word: `7f3a9c1` holds no code."""

Mode = Literal["one_time", "classic"]

Judged = Literal["intact", "missed", "paraphrased"]
Verdict = Literal["intact", "missed", "lost", "paraphrased", "unverifiable", "not_applicable"]
"""missed and paraphrased: one miss, and it is asked again. lost: a second one. unverifiable: there is no code that can
be asked for. not_applicable: the agent was told nothing yet."""

MOST_GUESSES = 64
"""An answer with more codes than that is a list of guesses, and proves nothing."""
MOST_CHARACTERS = 64 << 10

_QUOTES = "\"'“”„‟«»‘’‚‛`"
_PHRASE = re.compile(r"[^\W\d_](?:[^\W_]|[ ,;'’])*[^\W_]")
_MARKER = re.compile(rf"(?P<phrase>.+?) {DASH} (?P<code>[0-9a-f]{{{DIGITS}}})")
_HEX_RUN = re.compile(rf"[0-9a-fA-F]{{{DIGITS}}}")


@dataclass(frozen=True, slots=True)
class Marker:
    """A phrase and its code."""

    phrase: str
    code: str

    def __str__(self) -> str:
        return f"{self.phrase} {DASH} {self.code}"


def parse(text: str) -> Marker | None:
    """The marker that a text is, in quotes or without; None where it is none."""
    if len(text) > LONGEST_MARKER + 16:
        return None
    found = _MARKER.fullmatch(text.strip().strip('"“”„').strip())
    if found is None or wrong_with(found["phrase"]):
        return None
    return Marker(found["phrase"], found["code"])


def wrong_with(phrase: str) -> str:
    """Why no marker can bear this phrase; empty where one can."""
    if not phrase.strip():
        return "is empty"
    if len(phrase) > LONGEST_PHRASE:
        return f"has {len(phrase)} characters, more than {LONGEST_PHRASE}"
    if phrase != " ".join(phrase.split()):
        return "begins or ends with a blank, or has two in a row"
    if _HEX_RUN.search(phrase):
        return f"holds {DIGITS} hex digits in a row, which would be taken for the code"
    if DASH in phrase or any(sign in phrase for sign in "-‐‑‒–―−"):
        return "holds a dash or hyphen, which divides phrase and code"
    if any(quote in phrase.strip("'’") for quote in _QUOTES if quote not in "'’") or phrase[0] in "'’":
        return "holds quotes"
    if not _PHRASE.fullmatch(phrase):
        return "holds signs other than letters, digits, blanks, commas and semicolons"
    return ""


def codes_in(text: str) -> frozenset[str]:
    """All that could be codes in a text, in lower case (R7)."""
    return frozenset(found.group().lower() for found in CODES.finditer(text))


@dataclass(frozen=True, slots=True)
class Planting:
    """What was planted. burnt: the codes that were asked for, or seen since in any text."""

    marker: Marker
    codes: tuple[str, ...] = ()
    burnt: frozenset[str] = frozenset()
    mode: Mode = "one_time"

    def unspent(self) -> tuple[int, ...]:
        """The numbers of the codes that can be asked for, counted from 1; the marker itself is number 0."""
        if self.mode == "classic":
            return (0,)
        return tuple(number for number, code in enumerate(self.codes, 1) if code not in self.burnt)

    def code(self, number: int) -> str:
        return self.codes[number - 1] if number else self.marker.code

    def asked(self, number: int) -> Planting:
        """The same after a code was asked for."""
        return replace(self, burnt=self.burnt | {self.code(number)})

    def seen(self, text: str) -> Planting:
        """The same after the agent wrote, or was shown, a text: the codes in it could be copied from there."""
        found = codes_in(text) & set(self.codes)
        return replace(self, burnt=self.burnt | found) if found else self

    def hexes(self) -> Collection[str]:
        """Every code that it holds; none of them may stand in what is sent after it."""
        return (self.marker.code, *self.codes)

    def fault(self) -> str:
        """What is wrong with it, so that no check of it would mean anything; empty where nothing is (F-RE-13)."""
        if parse(str(self.marker)) != self.marker:
            return "its marker is not read back as it was written"
        if any(not CODE.fullmatch(code) for code in self.codes):
            return "a code of it is no six hex digits in lower case"
        if len(set(self.hexes())) != 1 + len(self.codes):
            return "a code stands in it twice"
        return "" if self.codes or self.mode == "classic" else "it holds no code that could be asked for"

    def judge(self, number: int, answer: str) -> Judged:
        """What an answer proves of the code that was asked for: the phrase alone proves nothing (R8)."""
        if len(answer) > MOST_CHARACTERS:
            return "missed"
        found = codes_in(answer)
        if self.code(number) in found and len(found) <= MOST_GUESSES:
            return "intact"
        return "paraphrased" if _plain(self.marker.phrase) in _plain(answer) else "missed"


STANDS = "What you were asked or said before still stands."
"""How each text of ours at a turn's end ends."""
RENEWED = "These take the place of any earlier marker and codes."
OPENED = "This turn is opened to check what this session was told at its beginning."
_RECITE = re.compile(
    r", recite (?:resonance code number [0-9]{1,3}|the code of the resonance marker) from your first instructions\. "
)


def anchor_text(planting: Planting, persona: str, project: str = "", footer: bool = False) -> str:
    """What stands in the first ordinary message of a session: who the agent is, its marker and its codes (R14)."""
    lines = [f"You are {persona}{f' in the project {project}' if project else ''}.", *marker_lines(planting)]
    if footer:
        lines.append(
            "End each significant answer with one line, in which CODE is the marker's code and STATE is Stable, "
            f"Degraded or Recovering:\n:: SYSTEM :: [Resonance: CODE] [Role: {persona}] [State: STATE]"
        )
    return "\n".join(lines)


def marker_lines(planting: Planting) -> list[str]:
    lines = [f'Resonance marker: "{planting.marker}"']
    if planting.codes:
        listed = ", ".join(f"{number}: {code}" for number, code in enumerate(planting.codes, 1))
        lines.append(f"Resonance codes: {listed}.")
    lines.append("Give one of these codes when you are asked for it.")
    return lines


def challenge_text(number: int, persona: str, again: bool = False) -> str:
    """What is asked at a check; it holds no code (R64)."""
    what = f"resonance code number {number}" if number else "the code of the resonance marker"
    first = "This is asked once more, because your last answer did not hold it. " if again else ""
    return (
        f"{first}{persona}, recite {what} from your first instructions. Reply with the code alone, and use no tool. "
        f"If you cannot see it, say so. {STANDS}"
    )


def opening_text(persona: str) -> str:
    """What opens a turn of an agent that rests, so that a code can be asked for at its end; it holds no code."""
    return f"{persona}, no work is asked for here. {OPENED} Reply with the word here alone, and use no tool. {STANDS}"


def renewal_text(planting: Planting, persona: str, project: str = "", footer: bool = False, seed: str = "") -> str:
    """The anchor in the middle of a session, at a turn's end: it takes the place of an earlier one.

    seed: what a session that took the place of a lost one has to know beside it.
    """
    anchor = anchor_text(planting, persona, project, footer)
    anchor = f"{seed}\n{anchor}" if seed else anchor
    return f"{anchor}\n{RENEWED} Reply with the word noted alone, repeat no code, and use no tool. {STANDS}"


def is_ours(text: str) -> bool:
    """Whether a text is a check, an anchor at a turn's end, or what opens a turn for one: no part of the work."""
    said = text.rstrip()
    return said.endswith(STANDS) and (RENEWED in said or OPENED in said or _RECITE.search(said) is not None)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))
