"""What is known of a run after its end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AttendanceSeen:
    """Whether somebody who can type sat at the agent's terminal when this run had ended; None: nobody can tell."""

    agent: str
    incarnation: int
    attended: bool | None


@dataclass(frozen=True, slots=True)
class CleanedUp:
    """What a cleanup ended of an agent's runs, what it could not end, and which strangers hold its ports.

    occasion: before a run, after one, or by whose order.
    """

    agent: str
    incarnation: int
    occasion: str
    killed: tuple[str, ...] = ()
    remaining: tuple[int, ...] = ()
    foreign: tuple[str, ...] = ()
    looked_at_ports: bool = True


@dataclass(frozen=True, slots=True)
class ReportJudged:
    """A report was held against the facts. of: the worker or task whose report it is, told to `agent`.

    contradicted: the claims that facts contradict, each in words with its reason, without secrets.
    """

    agent: str
    incarnation: int
    of: str
    contradicted: tuple[str, ...] = ()
    verified: int = 0
    unverifiable: int = 0
    beyond: int = 0
    """Contradicted claims that are not listed."""


@dataclass(frozen=True, slots=True)
class DirectoryLooked:
    """Whether the directory of an agent that is down can be entered; None where that cannot be told."""

    agent: str
    incarnation: int
    directory: str
    is_open: bool | None


AfterEvent = CleanedUp | AttendanceSeen | DirectoryLooked | ReportJudged
"""About a run that has ended."""
