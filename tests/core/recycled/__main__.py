"""`python -m tests.core.recycled [-v] [FILE]`: play runs that ask to be recycled, and print what came out otherwise."""

from __future__ import annotations

from tests.blind.frozen import Case, play
from tests.core.recycled.playing import RECYCLED, Answer, answer, is_right


def said(case: Case, found: Answer) -> tuple[str, ...]:
    return (
        f"  said: {case['expected']} after {case['stopped_after']}   found: {found.word} after {found.after}",
        f"  {found.reason}",
    )


play(RECYCLED, answer, is_right, said, described=__doc__)
