"""Refusals on the wire: RFC 9457 problem details, and the exit code that phoenixctl makes of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from phoenixd.api import exits, removal
from phoenixd.api.pages.layout import SET_IN, Page, page, wrap
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.core.nearest import nearest
from phoenixd.core.refusal import Refusal
from phoenixd.core.seat import finding
from phoenixd.core.selection import ALL, HELP, NO_ALL
from phoenixd.errors import ConfigurationError, PhoenixdError

Code = Literal["not_found", "denied", "conflict", "invalid", "too_large", "timed_out", "failed", "busy"]

STATUS: dict[Code, int] = {
    "not_found": 404,
    "denied": 403,
    "conflict": 409,
    "invalid": 400,
    "too_large": 413,
    "timed_out": 408,
    "failed": 500,
    "busy": 503,
}
EXITS: dict[Code, int] = {
    "not_found": exits.NOT_FOUND,
    "denied": exits.DENIED,
    "conflict": exits.CONFLICT,
    "invalid": exits.USAGE,
    "too_large": exits.USAGE,
    "timed_out": exits.TIMED_OUT,
    "failed": exits.FAILED,
    "busy": exits.FAILED,
}
TITLES: dict[Code, str] = {
    "not_found": "There is no such thing",
    "denied": "Not allowed",
    "conflict": "Not in this state",
    "invalid": "Not understood",
    "too_large": "Too large",
    "timed_out": "Timed out",
    "failed": "Failed",
    "busy": "Busy",
}


@dataclass(slots=True, eq=False)
class Problem(Exception):
    """A refusal: what and why in `detail`, what to do in `remedy`."""

    code: Code
    detail: str
    remedy: str
    status: int = 0

    @property
    def http_status(self) -> int:
        return self.status or STATUS[self.code]

    @property
    def exit_code(self) -> int:
        return EXITS[self.code]

    def document(self) -> dict[str, Any]:
        """The problem+json object."""
        return {
            "type": f"urn:phoenixd:problem:{self.code}",
            "title": TITLES[self.code],
            "status": self.http_status,
            "detail": self.detail,
            "remedy": self.remedy,
            "code": self.code,
        }

    def text(self, here: Page) -> str:
        """What phoenixctl prints: the reason, then the next thing to do on a line of its own, which can be copied."""
        first, *rest = self.detail.split("\n")
        told = wrap(first, here.width, SET_IN)
        for line in rest:
            told += [SET_IN + part for part in wrap(line, here.width - len(SET_IN), SET_IN)]
        return page([*told, *([f"do: {' '.join(self.remedy.split())}"] if self.remedy else [])])


def of_refusal(refusal: Refusal) -> Problem:
    """A refusal of the core as a problem."""
    return Problem(refusal.code, refusal.message, refusal.remedy or "phoenixctl status")


def of_error(error: PhoenixdError) -> Problem:
    """An error of ours as a problem; the caller can fix a wrong configuration, and no other error."""
    if isinstance(error, ConfigurationError):
        return Problem("invalid", error.message, error.remedy or "phoenixctl config check")
    return Problem("failed", error.message, error.remedy or "phoenixctl doctor")


def gone(name: str) -> Problem:
    """There was such a generation of a seat, and its terminal went with it."""
    return Problem("not_found", finding.why_gone(name), f"phoenixctl events {name} --all")


def absent(fleet: Fleet, name: str, now: Moment, known: Iterable[str] = ()) -> Problem:
    """No agent of this name is there: one that was removed, a generation that is gone, or none that ever was.

    known: see no_agent.
    """
    if finding.was_removed(fleet, name):
        return Problem("not_found", *removal.of(fleet, name, now))
    return gone(name) if finding.is_gone(fleet, name) else no_agent(name, known)


def no_agent(name: str, known: Iterable[str] = ()) -> Problem:
    """There is no such agent. known: those that there are; one of them may have been meant."""
    if name == ALL:
        return Problem("not_found", NO_ALL, HELP)
    close = nearest(name, known)
    if close is None:
        return Problem("not_found", f"there is no agent {name}", "phoenixctl status")
    return Problem("not_found", f"there is no agent {name}; did you mean {close}?", f"phoenixctl status {close}")
