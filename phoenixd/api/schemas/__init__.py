"""JSON Schemas of what the API answers, by the names that the table of operations uses."""

from __future__ import annotations

from phoenixd.api import row
from phoenixd.api.schemas.clinic import CLINIC
from phoenixd.api.schemas.happenings import HAPPENINGS
from phoenixd.api.schemas.papers import PAPERS
from phoenixd.api.schemas.people import PEOPLE
from phoenixd.api.schemas.plans import PLANS
from phoenixd.api.schemas.seats import SEATS
from phoenixd.api.schemas.shapes import Schema
from phoenixd.api.schemas.tasks import TASKS
from phoenixd.api.schemas.upkeep import UPKEEP

SCHEMAS: dict[str, Schema] = row.schemas() | SEATS | PLANS | HAPPENINGS | PEOPLE | PAPERS | TASKS | CLINIC | UPKEEP
