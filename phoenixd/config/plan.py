"""What a new configuration would change, before anything is done: `plan` shows it, `apply` and SIGHUP follow it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from phoenixd.config.configuration import Configuration
from phoenixd.config.differences import difference
from phoenixd.config.tables import ConfigurationTable
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.tasks.state import JobRules
from phoenixd.core.treatment.authority import Caps

AT_START = ("alerts", "brief", "daemon", "journal", "loops", "redaction")
"""The tables that the daemon reads at its start alone."""


@dataclass(frozen=True, slots=True)
class Change:
    """An agent whose specification differs, in which keys, and how: old and new value, but for those of secrets."""

    spec: AgentSpec
    keys: tuple[str, ...]
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The difference of two configurations. An unchanged agent is never touched."""

    added: tuple[AgentSpec, ...] = ()
    changed: tuple[Change, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()


def plan(before: Mapping[str, AgentSpec], after: Mapping[str, AgentSpec]) -> Plan:
    """Compare by value. In which file an agent stands is no difference."""
    both = sorted(before.keys() & after.keys())
    changes = [_change(before[name], after[name]) for name in both]
    return Plan(
        added=tuple(after[name] for name in sorted(after.keys() - before.keys())),
        changed=tuple(change for change in changes if change.keys),
        removed=tuple(sorted(before.keys() - after.keys())),
        unchanged=tuple(change.spec.name for change in changes if not change.keys),
    )


def after_restart(began: ConfigurationTable, files: ConfigurationTable) -> tuple[str, ...]:
    """The keys in which the files differ from the settings with which the daemon began, until it is started again."""
    return tuple(
        f"{table}.{key}"
        for table in AT_START
        for key in sorted(type(getattr(files, table)).model_fields)
        if getattr(getattr(began, table), key) != getattr(getattr(files, table), key)
    )


def at_once(limits: FleetLimits, jobs: JobRules, clinic: Caps, files: Configuration) -> tuple[str, ...]:
    """The daemon's own keys that `apply` puts in force, in which the files differ from what the fleet goes by."""
    found = _differences(limits, files.limits, "fleet.") + _differences(jobs, files.jobs, "jobs.")
    found += [key.replace("clinic.reader.", "clinic.") for key in _differences(clinic, files.clinic, "clinic.")]
    return tuple(sorted(found))


def _change(before: AgentSpec, after: AgentSpec) -> Change:
    keys = changed_keys(before, after)
    told = tuple(difference(key, value_of(before, key), value_of(after, key)) for key in keys)
    return Change(after, keys, told)


def value_of(spec: AgentSpec, key: str) -> object:
    """The value of a key as `changed_keys` spells it; None for a variable of the environment."""
    found: object = spec
    for word in key.split("."):
        found = getattr(found, word, None)
    return found


def changed_keys(before: AgentSpec, after: AgentSpec) -> tuple[str, ...]:
    """The keys that differ, as the configuration spells them: `restart.max_crashes`, `env.PATH`."""
    return tuple(_differences(replace(before, source=""), replace(after, source=""), ""))


def _differences(before: Any, after: Any, prefix: str) -> list[str]:
    found: list[str] = []
    for item in fields(before):
        old, new = getattr(before, item.name), getattr(after, item.name)
        if old == new:
            continue
        if is_dataclass(old) and type(old) is type(new):
            found += _differences(old, new, f"{prefix}{item.name}.")
        elif item.name == "env" and not prefix:
            names = {name for name, _ in set(old) ^ set(new)}
            found += sorted(f"env.{name}" for name in names)
        else:
            found.append(prefix + item.name)
    return found
