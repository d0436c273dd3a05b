"""Words too many before a text: whether they choose agents, or belong to a text that was not quoted."""

from __future__ import annotations

import json
from collections.abc import Sequence

from phoenixd.core.patterns import is_pattern
from phoenixd.core.selection import KEYS
from phoenixd.ctl import wire

PATIENCE = 2.0


def choose_agents(words: Sequence[str], socket: str | None) -> bool:
    """Whether all but the last of these choose agents: by signs of a selector, as single words before a text that was
    quoted, or as names that the daemon knows."""
    *before, text = words
    if not before or any(" " in word for word in before):
        return False
    if " " in text.strip() or all(map(_has_signs, before)):
        return True
    known = _known(socket)
    return all(_has_signs(word) or word in known for word in before)


def _has_signs(word: str) -> bool:
    key, colon, _ = word.removeprefix("!").partition(":")
    return is_pattern(word) or word[:1] == "!" != word or bool(colon and key in KEYS)


def _known(socket: str | None) -> set[str]:
    """The names of all agents; none where no daemon says them."""
    places = wire.sockets(wire.environment(), socket)
    answer = wire.ask(places, "GET", "/v1/agents", as_json=True, timeout=PATIENCE)
    if answer is None or answer.status != 200:
        return set()
    return {str(one["name"]) for one in json.loads(answer.body)["agents"]}
