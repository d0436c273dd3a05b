"""The operator's configuration: TOML files in layers, checked at the edge, turned into the core's frozen values."""

from __future__ import annotations

from phoenixd.config.configuration import Configuration, json_schema, load_configuration, read_configuration
from phoenixd.config.declarations import declaration, forget_removed, is_kept, remove_agent, restore_agent, write_agent
from phoenixd.config.lost import Seen, look_for, require_given_up
from phoenixd.config.plan import Change, Plan, after_restart, at_once, plan
from phoenixd.config.problems import Problem

__all__ = [
    "Change", "Configuration", "Plan", "Problem", "Seen", "after_restart", "at_once", "declaration",
    "forget_removed", "is_kept", "json_schema", "load_configuration", "look_for", "plan", "read_configuration",
    "remove_agent", "require_given_up", "restore_agent", "write_agent",
]  # fmt: skip
