"""Moments of which the core says something else than their author, and why."""

MISSED: dict[str, str] = {}
