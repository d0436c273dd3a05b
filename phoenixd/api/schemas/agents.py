"""Schemas of an agent, as status and the feed show it: taken from the one row."""

from __future__ import annotations

from phoenixd.api import row
from phoenixd.api.schemas.shapes import Schema

AGENTS: dict[str, Schema] = row.schemas()
