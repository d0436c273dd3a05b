"""What the API had answered to a turn, where the exit code of its CLI tells it.

A CLI with the trait `exits_with_status` exits with the status of HTTP modulo 256; others have codes of their own
(`exits_tell`). A status has no words: it names the class of a failure, and never when a limit is over.
"""

from __future__ import annotations

from typing import Literal

from phoenixd.core.agent.run import LastExit
from phoenixd.core.hooks import OF_A_SERVICE, Failure, is_refusal
from phoenixd.core.traits import told_by_exit, traits_of

STATUSES = {status % 256: status for status in (400, 401, 402, 403, 404, 408, 413, 429, 499, 500, 502, 503, 504, 529)}
"""Of HTTP, by the exit code of a CLI that ends with one."""


def status_of(harness: str, code: int | None) -> int | None:
    """The status of HTTP that this harness's CLI tells by its exit code; None where it tells none."""
    return STATUSES.get(code or 0) if traits_of(harness).exits_with_status else None


def failure_of(harness: str, end: LastExit) -> Failure | Literal[""]:
    """The class of the failure that ended the run, as a hook would name it; nothing where the end tells none."""
    if end.cause != "exit" or end.signal is not None:
        return ""
    if told_by_exit(harness, end.code) == "login":
        return "login"
    return _of_status(status_of(harness, end.code))


def in_words(harness: str, end: LastExit) -> str:
    """The exit code, and the status where it is one."""
    status = status_of(harness, end.code)
    return end.text if status is None else f"{end.text} (status {status})"


def _of_status(status: int | None) -> Failure | Literal[""]:
    match status:
        case None:
            return ""
        case 401 | 403:
            return "login"
        case 402:
            return "billing"
        case 429:
            return "limit"
        case _ if status in OF_A_SERVICE:
            return "overload"
        case _:
            return "request" if is_refusal(status) else ""
