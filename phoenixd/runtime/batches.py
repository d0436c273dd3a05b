"""What is heard of a batch of mere signs of life: in a flood, not each call that was over before it was told of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FEW = 8
"""A batch is what an agent did in a tenth of a second: of so little, all is heard."""


def condensed(batch: list[Any]) -> list[Any]:
    """A batch without the calls that began and ended well in it; the last of them stays, and says as much.

    The agent's own calls have their last one, and those of its subagents have theirs. Whatever else a batch holds
    stays, in its order: calls that go on, fail, are told of twice, or leave something behind in the background, and
    what is malformed.
    """
    if len(batch) <= FEW:
        return batch
    begun: dict[str, int] = {}
    known: set[str] = set()
    over: list[tuple[int, int]] = []
    last: dict[bool, tuple[int, int]] = {}
    for number, one in enumerate(batch):
        match one:
            case {"kind": "tool-start", "payload": {"tool_use_id": str(call), **rest}}:
                begun.pop(call, None)
                if call not in known and not _goes_on(rest):
                    begun[call] = number
                known.add(call)
            case {"kind": "tool-end", "payload": {"tool_use_id": str(call), **rest}} if call in begun:
                if not _goes_on(rest):
                    last[bool(rest.get("agent_id"))] = pair = begun.pop(call), number
                    over.append(pair)
    gone = {number for pair in over if pair not in last.values() for number in pair}
    return [one for number, one in enumerate(batch) if number not in gone]


def _goes_on(payload: Mapping[Any, Any]) -> bool:
    """Whether something in the background is told of."""
    tool_input = payload.get("tool_input")
    return "jobs" in payload or (isinstance(tool_input, dict) and tool_input.get("run_in_background") is True)
