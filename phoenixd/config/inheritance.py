"""What an agent's table takes from `[defaults]`, and the short forms that stand for whole tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from phoenixd.config.layers import Layer


def spell_out(layer: Layer) -> Layer:
    """Turn `resume = false` (liveness, breaker, resonance alike) and `resume_prompt = "..."` into agents' own keys."""
    tables = dict(layer.tables)
    if isinstance(tables.get("defaults"), Mapping):
        tables["defaults"] = _spell_out_agent(tables["defaults"])
    if isinstance(agents := tables.get("agent"), Mapping):
        tables["agent"] = {name: _spell_out_agent(agent) for name, agent in agents.items()}
    return replace(layer, tables=tables)


def with_defaults(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Give every agent the keys of `[defaults]` that it does not set itself."""
    defaults, agents = tables.get("defaults"), tables.get("agent")
    if not isinstance(defaults, Mapping) or not isinstance(agents, Mapping):
        return dict(tables)
    return {**tables, "agent": {name: _over(defaults, agent) for name, agent in agents.items()}}


def _spell_out_agent(agent: Any) -> Any:
    if not isinstance(agent, Mapping):
        return agent
    spelled = dict(agent)
    for table in ("resume", "liveness", "breaker", "resonance"):
        if isinstance(spelled.get(table), bool):
            spelled[table] = {"enabled": spelled[table]}
    if "resume_prompt" in spelled and isinstance(spelled.get("resume", {}), Mapping):
        spelled["resume"] = {"prompt": spelled.pop("resume_prompt"), **spelled.get("resume", {})}
    return spelled


def _over(below: Mapping[str, Any], above: Any) -> Any:
    if not isinstance(above, Mapping):
        return above
    merged = dict(below)
    for key, value in above.items():
        under = below.get(key)
        # One variable of env is one value: an agent's credential file replaces an inherited text, and the reverse.
        merged[key] = _over(under, value) if isinstance(under, Mapping) else value
    return merged
