"""One module for each agent CLI: how it is started and resumed, and what its screen says. Pure: data and functions."""

from __future__ import annotations

from collections.abc import Mapping

DEFAULT_ARGV: Mapping[str, tuple[str, ...]] = {"claude": ("claude",), "command": ()}
"""The harnesses of this version, and the program that each runs when the operator names none."""
