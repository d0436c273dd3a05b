"""`python -m tests.drivers.transcripts.answers [-v] [FILE]`: play answers, and print which are told otherwise."""

from __future__ import annotations

from tests.blind.frozen import Case, play
from tests.drivers.transcripts.answers.playing import ANSWERS, answer, is_right


def said(case: Case, found: str) -> tuple[str, ...]:
    return (f"  said: {case['expected']}; also {case['also_accept']}   found: {found}", f"  {case['why']}")


play(ANSWERS, answer, is_right, said, described=__doc__)
