"""Ends that are decided otherwise than their author said, and why."""

MISSED: dict[str, str] = {}
