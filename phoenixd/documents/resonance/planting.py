"""A planting: the codes that an agent was given at once, and those of them that prove nothing any more.

In mode `one_time` each check asks for one code that was never asked for, and that was seen nowhere since it was given.
In mode `classic`, the seed's own, the marker's code is asked for each time: an echo of an earlier answer passes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from phoenixd.documents.resonance.marker import Marker, codes_in

Mode = Literal["one_time", "classic"]

Judged = Literal["intact", "missed", "paraphrased"]
Verdict = Literal["intact", "missed", "lost", "paraphrased", "unverifiable", "not_applicable"]
"""missed and paraphrased: one miss, and it is asked again. lost: a second one. unverifiable: there is no code that can
be asked for. not_applicable: the agent was told nothing yet."""

MOST_GUESSES = 64
"""An answer with more codes than that is a list of guesses, and proves nothing."""
MOST_CHARACTERS = 64 << 10


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

    def judge(self, number: int, answer: str) -> Judged:
        """What an answer proves of the code that was asked for."""
        if len(answer) > MOST_CHARACTERS:
            return "missed"
        found = codes_in(answer)
        if self.code(number) in found and len(found) <= MOST_GUESSES:
            return "intact"
        return "paraphrased" if _plain(self.marker.phrase) in _plain(answer) else "missed"


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
        "If you cannot see it, say so. What you were asked or said before still stands."
    )


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))
