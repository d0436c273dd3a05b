"""What the next run is told of the last failure: facts, and never an order (C43)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from phoenixd.core.treatment.case import Case, Noticed
from phoenixd.core.treatment.evidence import known
from phoenixd.core.treatment.examined import Opinion
from phoenixd.core.treatment.words import Occasion

SAID_LIMIT = 500
MOST_FACTS, MOST_TRIED = 12, 6
LEFT_OUT = frozenset({"occasion", "said", "harness", "worked", "session_seen", "sessionless", "is_alive"})
"""Facts that tell the agent nothing, or that are told in another way."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A treatment that was ordered against the same before, and what came of it."""

    treatment: str
    outcome: Literal["held", "failed", "open", "moot"]


@dataclass(frozen=True, slots=True)
class Advice:
    """The failure as the brief's section tells it. times: how often it was noticed since `since_wall`.

    reading: what a model said of it, where no rule knew it.
    """

    case: str
    incarnation: int
    at_wall: float
    occasion: Occasion
    rule: str
    times: int
    since_wall: float
    facts: tuple[tuple[str, str], ...] = ()
    said: str = ""
    tried: tuple[Tried, ...] = ()
    reading: Opinion | None = None


def again(case: Case, agent: str, incarnation: int) -> Advice:
    """The same of a failure whose evidence only the journal's tables keep, as where a person has allowed it later."""
    tried = tuple(Tried(one.treatment, one.outcome) for one in case.treated if one.agent == agent)
    return Advice(
        case.id, incarnation, case.newest, "end", case.rule, case.incidents, case.opened, tried=tried[-MOST_TRIED:],
        reading=case.examined.opinion if case.examined is not None else None,
    )  # fmt: skip


def of(case: Case, noticed: Noticed) -> Advice:
    """The facts of a failure, and what its Case has seen so far."""
    facts = tuple((name, str(value)) for name, value in known(noticed.evidence) if name not in LEFT_OUT)
    bare = again(case, noticed.agent, noticed.incarnation)
    return replace(
        bare,
        at_wall=noticed.at,
        occasion=noticed.occasion,
        rule=noticed.diagnosis.rule,
        facts=facts[:MOST_FACTS],
        said=noticed.evidence.said[-SAID_LIMIT:],
    )
