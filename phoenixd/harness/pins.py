"""Which releases of the agent CLIs are tested; raised by hand, for each release differs from the one before.

The first of a CLI runs the whole contract suite, each further one the rows in which it differs.
`./dev proof contract --newest` shows what the registry's newest would change.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PINS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "claude": ("2.1.197", "2.1.332"),
        "codex": ("0.169.0", "0.171.0"),
        "gemini": ("0.61.0",),
    }
)
