"""An agent as the journal keeps it: its snapshot and its specification, in one text."""

from __future__ import annotations

import json

from phoenixd.core.agent import Agent
from phoenixd.documents.codec import dump_snapshot, dump_spec, load_snapshot


def dump_agent(agent: Agent) -> str:
    """What is kept of an agent; without its environment, as one line of ASCII."""
    return json.dumps({**json.loads(dump_snapshot(agent, 0)), "spec": json.loads(dump_spec(agent.spec))})


def load_agent(text: str) -> Agent:
    """The agent that the next daemon reads of it; raises Undecodable."""
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError):
        kept = None
    if not isinstance(kept, dict) or "spec" not in kept:
        return load_snapshot(text, 0, "")
    return load_snapshot(json.dumps({**kept, "spec": 0}), 0, json.dumps(kept["spec"]))
