"""What is done about failures beside restarts: the clinic's authority over an agent, and its caps."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from phoenixd.config.tables.values import Table
from phoenixd.core.treatment.authority import AuthorityRules, Caps

AuthorityWord = Literal["act", "propose", "observe"]

_AUTHORITY, _CAPS = AuthorityRules(), Caps()


class AuthorityTable(Table):
    """What the clinic may do by itself, for each treatment: act, propose to a person, or observe."""

    resume: AuthorityWord = _AUTHORITY.resume
    fresh: AuthorityWord = _AUTHORITY.fresh
    park: AuthorityWord = _AUTHORITY.park
    go_on: AuthorityWord = _AUTHORITY.go_on
    advise: AuthorityWord = _AUTHORITY.advise
    summarise: AuthorityWord = _AUTHORITY.summarise
    ask: AuthorityWord = _AUTHORITY.ask
    abort: AuthorityWord = _AUTHORITY.abort
    lower_output: AuthorityWord = _AUTHORITY.lower_output
    handoff: AuthorityWord = _AUTHORITY.handoff


class AgentClinicTable(Table):
    """What is done about the failures of an agent, beside its restarts."""

    authority: AuthorityTable = AuthorityTable()


class ClinicTable(Table):
    """How many treatments the clinic orders at most: for a Case, an agent in 6 h, and the fleet in an hour."""

    per_case: Annotated[int, Field(ge=0, le=20)] = _CAPS.per_case
    per_agent: Annotated[int, Field(ge=0, le=100)] = _CAPS.per_agent
    per_fleet: Annotated[int, Field(ge=0, le=1000)] = _CAPS.per_fleet
