"""The seeds' environment names, as one more layer of configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phoenixd.config.layers import Layer

SEED_NAMES: dict[str, tuple[str, str, float]] = {
    "HEARTBEAT_STALE_MINUTES": ("liveness", "stale", 60.0),
    "HEARTBEAT_CHECK_INTERVAL": ("liveness", "check_interval", 1.0),
    "CB_WARNING_THRESHOLD": ("breaker", "warn", 0),
    "CB_STOP_THRESHOLD": ("breaker", "stop", 0),
}
"""Name -> table and key of `[defaults]`, and seconds for each unit; 0 marks a count."""


def environment_layers(environ: Mapping[str, str]) -> list[Layer]:
    """Each name that is set becomes a layer above `[defaults]` of all files, named after itself."""
    return [_layer(name, environ[name]) for name in SEED_NAMES if environ.get(name)]


def _layer(name: str, text: str) -> Layer:
    table, key, unit = SEED_NAMES[name]
    file = f"environment variable {name}"
    try:
        value: Any = float(text) * unit if unit else int(text)
    except ValueError:
        return Layer(file, error=f"must be a number of {'minutes' if unit == 60 else 'seconds' if unit else 'times'}")
    return Layer(file, {"defaults": {table: {key: value}}})
