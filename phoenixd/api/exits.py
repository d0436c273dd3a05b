"""What phoenixctl's exit codes mean (design section 6). Standard library only, because phoenixctl reads it too."""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
CONDITION = 3
NOT_FOUND = 4
DENIED = 5
CONFLICT = 6
UNREACHABLE = 7
TIMED_OUT = 8
INTERRUPTED = 130

MEANINGS = {
    OK: "ok",
    FAILED: "failed",
    USAGE: "usage",
    CONDITION: "condition true",
    NOT_FOUND: "not found",
    DENIED: "denied",
    CONFLICT: "conflict",
    UNREACHABLE: "no daemon",
    TIMED_OUT: "timed out",
}
