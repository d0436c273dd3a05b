"""`python -m tests.documents.redactions [-v] [FILE]`: clean texts, and print which came out otherwise."""

from __future__ import annotations

from tests.blind.frozen import Case, play
from tests.documents.redactions.playing import REDACTIONS, Cleaned, answer, is_right


def said(case: Case, found: Cleaned) -> tuple[str, ...]:
    return (f"  left: {found.left}   gone: {found.gone}", f"  {case['title']}; {case['why']}", f"  {found.text!r}")


play(REDACTIONS, answer, is_right, said, described=__doc__)
