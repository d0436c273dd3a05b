"""Cases of cut answers that are decided otherwise than their author said: what is decided today, and why."""

from __future__ import annotations

from tests.core.full_contexts.ending import Worth

CUTS = 'docs/reference/harnesses.md, "Answers that are cut"'

MISSED: dict[str, tuple[Worth, str]] = {
    # The open half.
    "cut-08": (
        "go_on",
        f"policy, {CUTS}: what a filter of the vendor ended is told to go on, once; a person is asked beside that "
        "(`failed turn`). The clinic's own rule of a filter is to ask",
    ),
    "cut-18": (
        "wait",
        'policy, documents/failures.py, WORDS: "unknown" is Claude Code\'s word for a service that failed, which is '
        "tried again less and less often; a person is told at the fifth time (docs/how-to/get-told.md, `outage`)",
    ),
    # The held half, played once. No rule is changed for it.
    "cut-02": (
        "wait",
        "policy, documents/failures.py, WORDS: server_error is a service that failed; that the answer met its limit is "
        "noted, and the agent is told to go on when its wait is over",
    ),
    "cut-03": (
        "proper",
        "finding: of a headless Gemini the status that its exit code tells is read by the clinic alone, so its run "
        "died, and is resumed; the player tells the refusal before it by no exit code, which changes nothing of that",
    ),
    "cut-15": (
        "go_on",
        "policy, core/limits/outage.py: ends of runs make an outage of half an account, and cut answers make none; the "
        "player tells the others' ends as failed turns",
    ),
    "cut-17": (
        "proper",
        "finding, as cut-03: exit 144 is a death, and the full session is resumed once; a fresh one follows where that "
        "run dies early too",
    ),
    "cut-19": (
        "go_on",
        "policy, core/cut.py: a prompt of a person is past the cut, so that the next one is the first again",
    ),
    "cut-26": (
        "proper",
        "finding, as cut-03, against F-PROC-26 and G60: exit 173, a quota of a day, is a death, and counts as one; the "
        "next iteration begins in 10 s, and the fifth death is a quarantine",
    ),
    "cut-28": (
        "proper",
        f"policy, {CUTS}: what the Gemini CLI does not tell is known by a seal alone, which a loop has not",
    ),
    "cut-31": (
        "person",
        f"policy, {CUTS}: it is told to go on once, and work since then does not give the word anew",
    ),
}
