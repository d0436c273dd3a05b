"""brief.json: what the newest brief run said of the session, and what the next one has to know of the runs before."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from phoenixd.core.briefing import BriefLedger

SIZE_LIMIT = 1 << 20
FILE = "brief.json"

Line = Annotated[str, Field(max_length=1000)]


class Narrative(BaseModel):
    """What a writer made of the session, after the guard. written: RFC 3339. note: why another writer did the work.

    tokens: what the writer took, as far as it told.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    written: str
    writer: Line
    note: Line = ""
    tokens: Annotated[int, Field(ge=0)] = 0
    summary: Line = ""
    changed: tuple[Line, ...] = ()
    decisions: tuple[Line, ...] = ()
    next: tuple[Line, ...] = ()
    risks: tuple[Line, ...] = ()
    refused: tuple[Line, ...] = ()


class BriefRecord(BaseModel):
    """The whole file. Lost or broken, it costs a brief run too many, and a number that an operator wrote its shield."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    agent: str
    ledger: BriefLedger = BriefLedger()
    narrative: Narrative | None = None
    numbers: dict[str, str] = Field(default_factory=dict)
    """Numbers as brief runs wrote them: one that stands otherwise in state.json is an operator's."""
    held: dict[str, float] = Field(default_factory=dict)
    """Numbers of an operator's, and since when they are known to be (wall seconds)."""
    texts: dict[str, str] = Field(default_factory=dict)
    """The texts of loops by id, for when they are resolved and another comes in their words."""
    sessions: dict[str, int] = Field(default_factory=dict)
    """The numbers of the agent's sessions, in the order in which they were read."""


def read_record(content: bytes, agent: str) -> BriefRecord | None:
    """None for what is no record of this agent's."""
    try:
        found = BriefRecord.model_validate_json(content)
    except ValidationError:
        return None
    return found if found.agent == agent else None


def render_record(record: BriefRecord) -> bytes:
    return (json.dumps(record.model_dump(mode="json"), indent=1) + "\n").encode("utf-8", "replace")
