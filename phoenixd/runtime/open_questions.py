"""Questions that a shim holds and tells once more: the daemon that had heard of them may have lost its journal."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from phoenixd.core.agent import Agent
from phoenixd.core.answers import holds_of
from phoenixd.ports.shims import ShimHello

MOST_HELD = 16
"""Questions of one agent that are kept; a shim holds fewer."""
REMEMBERED = 64


class OpenQuestions:
    """What shims told again, until it is known whose run it is of; and what this daemon has heard by itself."""

    def __init__(self) -> None:
        self._told: dict[str, dict[int, dict[str, Any]]] = {}
        self._heard: dict[str, deque[int]] = {}

    def keep(self, agent: str, hook: dict[str, Any]) -> None:
        told = self._told.setdefault(agent, {})
        told[int(hook["seq"])] = hook
        while len(told) > MOST_HELD:
            del told[min(told)]

    def note(self, agent: str, hold: int) -> None:
        """This daemon has heard of it as of any hook."""
        self._heard.setdefault(agent, deque(maxlen=REMEMBERED)).append(hold)

    def forget(self, agent: str) -> None:
        """It was removed."""
        self._told.pop(agent, None)
        self._heard.pop(agent, None)

    def forgotten(self, agent: Agent, hello: ShimHello) -> Iterator[dict[str, Any]]:
        """The hooks of what the shim still holds of this run and nobody here knows of; each once."""
        known = {*holds_of(agent), *self._heard.get(agent.name, ())}
        run = agent.run
        for hold, hook in sorted(self._told.pop(agent.name, {}).items()):
            if run is not None and hold in hello.held and hold not in known and hook.get("run_id") == run.run_id:
                yield hook
