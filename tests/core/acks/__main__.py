"""`python -m tests.core.acks [-v] [FILE]`: play acknowledgements, and print what came out otherwise."""

from __future__ import annotations

from tests.blind.frozen import Case, play
from tests.core.acks.playing import ACKS, Answer, answer, is_right


def said(case: Case, found: Answer) -> tuple[str, ...]:
    return (
        f"  said: {case['expected']}; also {case['also_accept']}   found: {found.answer}; {found.follows}",
        f"  {found.reason}",
    )


play(ACKS, answer, is_right, said, described=__doc__)
