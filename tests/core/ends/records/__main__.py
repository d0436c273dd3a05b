"""`python -m tests.core.ends.records [--read] [-v] [FILE]`: play ends told by records, print what came out otherwise.

--read prints what was understood of each case, and plays none.
"""

from __future__ import annotations

from datetime import UTC, datetime

from tests.blind.frozen import Case, play
from tests.core.ends.records.playing import RECORDS, Answer, answer, is_right, read


def said(case: Case, found: Answer) -> tuple[str, ...]:
    until = datetime.fromtimestamp(found.until, UTC) if found.until is not None else "-"
    return (
        f"  said: {case['expected']}; also {case.get('also_accept')}",
        f"  found: {found.classes}; {found.next} {until}; go on: {found.go_on}",
        f"  {found.reason}",
    )


def understood(case: Case) -> tuple[str, ...]:
    return (f"  {read(case)}",)


play(RECORDS, answer, is_right, said, described=__doc__, read=understood, more=lambda case, _found: understood(case))
