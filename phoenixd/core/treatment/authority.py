"""What the clinic may do by itself, for each treatment, and how often: the operator's word, and no model's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from phoenixd.core.treatment.examined import ReaderRules
from phoenixd.core.treatment.words import Treatment

Authority = Literal["act", "propose", "observe"]
"""act: it is done. propose: a person is asked before. observe: it is noted what would be done."""

AGENT_PERIOD = 6 * 3600.0
FLEET_PERIOD = 3600.0
"""Seconds over which the treatments of an agent, and those of the fleet, are counted."""


@dataclass(frozen=True, slots=True)
class AuthorityRules:
    """The authority for each treatment that the clinic itself orders.

    What restart rules, limits and cut answers do by their own keys does not hang on it.
    """

    resume: Authority = "act"
    fresh: Authority = "act"
    park: Authority = "act"
    go_on: Authority = "act"
    advise: Authority = "act"
    summarise: Authority = "act"
    ask: Authority = "act"
    abort: Authority = "act"
    lower_output: Authority = "propose"
    handoff: Authority = "propose"

    def over(self, treatment: Treatment) -> Authority:
        """What is allowed of this one; a word that is not listed is only observed."""
        found: Authority = getattr(self, treatment, "observe")
        return found


@dataclass(frozen=True, slots=True)
class ClinicRules:
    """What is done about the failures of an agent, beside its restarts."""

    authority: AuthorityRules = AuthorityRules()


@dataclass(frozen=True, slots=True)
class Caps:
    """How many treatments the clinic orders at most: for a Case, an agent in 6 h, and the fleet in an hour.

    reader: who is shown what no rule knows, and what that may cost.
    """

    per_case: int = 2
    per_agent: int = 5
    per_fleet: int = 20
    reader: ReaderRules = ReaderRules()  # noqa: RUF009 - frozen
