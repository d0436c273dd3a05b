"""One kind of alert: when it is raised, when it is over, and who is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import StandingAlert

Cure = Callable[[StandingAlert, Agent], bool]


@dataclass(frozen=True, slots=True)
class AlertKind:
    """One kind. raised, over: when, in the words of the page. cure: whether what the agent is now proves it over.

    needs_person: somebody has to do something; else it heals by itself, and is told all the same. is_question: each
    text is an alert of its own, because another question is news. is_told: it is sent and logged; else it stands in
    `status` and `inbox` only. is_ours: it tells that phoenixd itself cannot do its work, so no mute holds it back.
    is_each: whatever it is about is an alert of its own.
    """

    name: str
    raised: str
    over: str
    cure: Cure | None = None
    needs_person: bool = True
    is_question: bool = False
    is_told: bool = True
    is_ours: bool = False
    is_each: bool = False
