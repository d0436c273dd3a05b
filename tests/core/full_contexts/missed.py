"""Cases of cut answers that are decided otherwise than their author said: what is decided today, and why."""

from __future__ import annotations

from tests.core.full_contexts.ending import Worth

MISSED: dict[str, tuple[Worth, str]] = {
    "cut-08": (
        "go_on",
        'policy, docs/reference/harnesses.md, "Answers that are cut": what a filter of the vendor ended is told to go '
        "on, once; a person is asked beside that (`failed turn`)",
    ),
    "cut-18": (
        "wait",
        'policy, documents/failures.py, WORDS: "unknown" is Claude Code\'s word for a service that failed, which is '
        "tried again less and less often; a person is told at the fifth time (docs/how-to/get-told.md, `outage`)",
    ),
}
