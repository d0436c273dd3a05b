"""How full a context is, in words."""

from __future__ import annotations

from phoenixd.api.pages.layout import Page
from phoenixd.api.times import ago
from phoenixd.core.meter.reading import Gauge
from phoenixd.core.projection import Row


def context(gauge: Gauge | None, here: Page) -> str:
    """A context in one sentence; empty where nothing was read of it."""
    if gauge is None:
        return ""
    if gauge.tokens is None:
        return f"unknown: {gauge.reason}"
    when = f", {ago(max(0.0, here.now - gauge.at_wall))} ago" if gauge.at_wall is not None else ""
    if gauge.limit is None:
        return f"{gauge.tokens:,} tokens{when}; {gauge.reason}"
    share = f"{gauge.tokens:,} of {gauge.limit:,} tokens, {gauge.percent:.1f} % ({gauge.source}){when}"
    return f"{share}: {gauge.verdict}, {gauge.reason}"


def of_row(row: Row) -> str:
    """The share alone, before the words of a line; empty where it is unknown."""
    percent = row.context.percent if row.context is not None else None
    return f"context {percent:.1f} %; " if percent is not None else ""
