"""Acknowledgements that are answered otherwise than their author said, and why."""

MISSED: dict[str, str] = {}
