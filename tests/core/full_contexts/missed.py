"""Cases that are decided otherwise than their author said, and why; of cut answers also what is decided today."""

from __future__ import annotations

from typing import Literal

Worth = Literal["proper", "go_on", "context_full", "person", "wait"]

CUTS = 'docs/reference/harnesses.md, "Answers that are cut"'

FULL_MISSED = {
    "h01": "of a task's worker a person is called for whatever ended its turn, so that the two are one",
    "h17": "a limit in characters, of one message",
}
"""Of the half that was opened last. A change that makes the rule know them takes them off here, not into its figure."""

CUT_MISSED: dict[str, tuple[Worth, str]] = {
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
    # The held half, played once. What exit codes tell was repaired after that, see the README.
    "cut-02": (
        "wait",
        "policy, documents/failures.py, WORDS: server_error is a service that failed; that the answer met its limit is "
        "noted, and the agent is told to go on when its wait is over",
    ),
    "cut-03": (
        "proper",
        "policy, core/exits.py: a refused request in a context with room says no more by its code than any death, and "
        "its run is resumed; the player tells the refusal before it by no exit code, which changes nothing of that",
    ),
    "cut-15": (
        "go_on",
        "policy, core/limits/outage.py: ends of runs make an outage of half an account, and cut answers make none; the "
        "player tells the others' ends as failed turns",
    ),
    "cut-19": (
        "go_on",
        "policy, core/cut.py: a prompt of a person is past the cut, so that the next one is the first again",
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

CUT_WHY = {case: why for case, (_, why) in CUT_MISSED.items()}
