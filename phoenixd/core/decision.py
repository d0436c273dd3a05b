"""A decision: the new agent, what to do, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from phoenixd.core.actions import Action
from phoenixd.core.agent import Agent
from phoenixd.core.facts import Fact, Weight
from phoenixd.core.meter.reading import UsageSample
from phoenixd.core.parts import Signal
from phoenixd.core.refusal import Refusal as Refusal
from phoenixd.core.refusal import RefusalCode as RefusalCode

Part = TypeVar("Part", covariant=True)

Readings = tuple[tuple[str, str | int | float | None], ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of an agent (None: of the fleet) by one event. `readings` are the facts that the reason rests on.

    A decision without reason is a mere note of evidence: it is not journaled. `weight` None: derived from the effects
    (see weights.py); what is noise is counted with the agent, and not journaled. `facts` are what a rule established
    beyond those effects, whose facts are added to them. `sample` is kept in a table of its own, with or without a row.
    """

    agent: Agent | None
    actions: tuple[Action, ...] = ()
    reason: str = ""
    readings: Readings = ()
    refusal: Refusal | None = None
    removed: bool = False
    facts: tuple[Fact, ...] = ()
    weight: Weight | None = None
    sample: UsageSample | None = None
    opens: bool = False
    """Its row opens the state that its agent is in."""

    @property
    def is_worth_keeping(self) -> bool:
        return bool(self.reason or self.actions or self.removed)


def one_reason(*reasons: str) -> str:
    """Several reasons as one; empty ones are left out."""
    return "; ".join(filter(None, reasons))


@dataclass(frozen=True, slots=True)
class Seen:
    """What a part sees beside its agent: the agent as the event found it, what the parts before it decided and told."""

    before: Agent
    decision: Decision
    signals: tuple[Signal, ...] = ()
    is_news: bool = True
    """The event is no hook that was heard before."""


@dataclass(frozen=True, slots=True)
class Heard(Generic[Part]):
    """What a part with a dataclass of its own came to: `part` is what it is now."""

    part: Part
    signals: tuple[Signal, ...] = ()
    actions: tuple[Action, ...] = ()
    reason: str = ""
    readings: Readings = ()
    weight: Weight | None = None
