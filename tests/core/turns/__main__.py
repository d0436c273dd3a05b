"""`python -m tests.core.turns [-v] [FILE]`: play turns told by signs, and print what came out otherwise."""

from __future__ import annotations

from tests.blind.frozen import Case, play
from tests.core.turns.playing import TURNS, Answer, answer, is_right


def said(case: Case, found: Answer) -> tuple[str, ...]:
    return (
        f"  said: {case['expected']}; also {case['also_accept']}   found: {found.words}",
        f"  {found.reason}",
    )


play(TURNS, answer, is_right, said, described=__doc__)
