"""What the shell is to do outside, and how a question names the agents that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phoenixd.top.face import Face, Order

PageKind = Literal["log", "lives", "explain", "screen", "closed"]
NAMED = 8
"""Agents that a question names; of more it tells the number."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """Ask the daemon for a page about an agent; name: empty where it is about all."""

    kind: PageKind
    name: str


@dataclass(frozen=True, slots=True)
class Attach:
    """Give the terminal to an agent's, and take it back when the person leaves that."""

    name: str


@dataclass(frozen=True, slots=True)
class Quit:
    """Leave."""


Effect = Order | Fetch | Attach | Quit
Done = tuple[Face, tuple[Effect, ...]]


def whom(names: tuple[str, ...]) -> str:
    """The agents in a word."""
    return names[0] if len(names) == 1 else f"{len(names)} agents"


def question(verb: str, names: tuple[str, ...]) -> str:
    """What is asked before an order is given: it names the agents."""
    shown = f"{', '.join(names[:NAMED])}{f' and {len(names) - NAMED} more' if len(names) > NAMED else ''}"
    return f"{verb} {shown}?" if len(names) == 1 else f"{verb} {len(names)} agents: {shown}?"
