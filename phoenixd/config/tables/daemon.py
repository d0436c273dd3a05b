"""The tables of what all agents share."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from phoenixd.config.duration import Duration
from phoenixd.config.tables.values import CredentialTable, Mark, Table, Text, Words, list_to_tuple, refuse, text
from phoenixd.core.spec import FleetLimits
from phoenixd.core.tasks.state import JobRules
from phoenixd.documents.brief.health import MAX_AGE as BRIEF_MAX_AGE

_FLEET = FleetLimits()
_JOBS = JobRules()


class DaemonTable(Table):
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "text"] = "auto"
    api_group: Text = ""


def web_address(value: str) -> str:
    """The address, where a webhook can be asked at it; raises ValueError."""
    parts = urlsplit(text(value))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise refuse("must be an http or https address, or { file = ... } that holds one")
    return value


class AlertsTable(Table):
    command: Words = ()
    at_once: Annotated[int, Field(ge=1, le=32)] = 4
    webhook: Annotated[str, AfterValidator(web_address)] | CredentialTable | None = Field(default=None, repr=False)
    webhook_authorization: CredentialTable | None = None
    tries: Annotated[int, Field(ge=1, le=20)] = 6
    timeout: Annotated[Duration, Field(gt=0)] = 10.0
    brief_max_age: Annotated[Duration, Field(ge=60)] = BRIEF_MAX_AGE

    @property
    def ways(self) -> tuple[str, ...]:
        """The ways that are configured, by the names that their routes have."""
        given = {"command": bool(self.command), "webhook": self.webhook is not None}
        return tuple(name for name, is_given in given.items() if is_given)


class FleetTable(Table):
    max_starting: Annotated[int, Field(ge=1, le=1000)] = _FLEET.max_starting
    outage_min: Annotated[int, Field(ge=2, le=1000)] = _FLEET.outage_min
    outage_share: Annotated[float, Field(gt=0, le=1)] = _FLEET.outage_share
    outage_window: Annotated[Duration, Field(gt=0)] = _FLEET.outage_window
    observe_retry: Annotated[Duration, Field(gt=0)] = _FLEET.observe_retry
    resume_every: Annotated[Duration, Field(ge=0)] = _FLEET.resume_every


class BriefTable(Table):
    max_chars: Annotated[int, Field(ge=1000, le=9500)] = 9500
    happenings: Annotated[int, Field(ge=0, le=100)] = 12
    git: bool = True
    hour: Annotated[float, Field(ge=0, lt=24)] = 4.0
    stagger: Annotated[Duration, Field(ge=0, le=86400)] = 1800.0


class RedactionTable(Table):
    marks: Annotated[tuple[Mark, ...], BeforeValidator(list_to_tuple), Field(max_length=100)] = ()


class LoopsTable(Table):
    stale_days: Annotated[int, Field(ge=1, le=3650)] = 14
    resolved_days: Annotated[int, Field(ge=1, le=3650)] = 7


class JournalTable(Table):
    keep: Annotated[Duration, Field(ge=3600)] = 30 * 86400.0


class JobsTable(Table):
    at_once: Annotated[int, Field(ge=1, le=64)] = _JOBS.at_once
    timeout: Annotated[Duration, Field(ge=1, le=7 * 86400)] = _JOBS.timeout
    keep: Annotated[int, Field(ge=1, le=1_000_000)] = _JOBS.keep
