"""What is done about failures beside restarts: the clinic's authority over an agent, and its caps."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, model_validator

from phoenixd.clis import EXAMPLE
from phoenixd.config.duration import Duration
from phoenixd.config.tables.values import Table, Text, Words, refuse
from phoenixd.core.treatment.authority import AuthorityRules, Caps
from phoenixd.core.treatment.examined import ReaderRules

AuthorityWord = Literal["act", "propose", "observe"]

_AUTHORITY, _CAPS, _READER = AuthorityRules(), Caps(), ReaderRules()


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
    """How many treatments the clinic orders at most: for a Case, an agent in 6 h, and the fleet in an hour.

    model, command: who is shown a failure that no rule knows; without either, nobody is.
    """

    per_case: Annotated[int, Field(ge=0, le=20)] = _CAPS.per_case
    per_agent: Annotated[int, Field(ge=0, le=100)] = _CAPS.per_agent
    per_fleet: Annotated[int, Field(ge=0, le=1000)] = _CAPS.per_fleet
    model: Text | None = None
    command: Words = ()
    timeout: Annotated[Duration, Field(ge=1, le=600)] = _READER.timeout
    questions_per_day: Annotated[int, Field(ge=0, le=10_000)] = _READER.questions_per_day
    tokens_per_day: Annotated[int, Field(ge=0)] = _READER.tokens_per_day

    @model_validator(mode="after")
    def _one_reader(self) -> ClinicTable:
        if self.model is not None and self.command:
            raise refuse("model and command are two readers of the same failures: take one of them out")
        if self.command and not self.command[0].strip():
            raise refuse(f'command needs a program: command = ["{EXAMPLE}", "-p"]')
        if self.model is not None and not re.fullmatch(r"[a-z][a-z0-9-]*:[^\s:]\S*", self.model):
            raise refuse(f'model = "{self.model[:60]}": write PROVIDER:NAME, such as "anthropic:NAME"')
        return self
