"""`python -m tests.memory.brief.requests [-v] [FILE]`: play conversations, and print what came out otherwise."""

from __future__ import annotations

from tests.blind.frozen import Case, play
from tests.memory.brief.requests.playing import REQUESTS, Answer, answer, is_right


def said(case: Case, found: Answer) -> tuple[str, ...]:
    return (
        f"  list it: {case['list_in_brief']} ({case['expected']}): {case['question']['request_quote']}",
        f"  listed{' in doubt' if found.in_doubt else ''}: {list(found.listed)}  beside: {list(found.others)}",
    )


play(REQUESTS, answer, is_right, said, described=__doc__)
