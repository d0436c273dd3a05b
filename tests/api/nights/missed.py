"""Nights of which something else is told than their author said: what, and why."""

from __future__ import annotations

MISSED: dict[str, str] = {}
