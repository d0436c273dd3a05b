"""What a session seed holds of an agent: who it is, what it is at, what is settled, what was said last. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from phoenixd.core.agent import Agent
from phoenixd.documents.redact import Clean
from phoenixd.documents.resonance.session_seed import SessionSeed
from phoenixd.documents.state import StateDocument
from phoenixd.planting import CODES, is_ours

MOST_TASKS, MOST_DECISIONS = 12, 20
TASK_LENGTH = 600
HIDDEN = "[code]"


def seed_of(
    agent: Agent,
    state: StateDocument,
    decisions: Sequence[str],
    said: Sequence[str],
    clean: Clean,
    codes: Collection[str],
) -> SessionSeed:
    """decisions: as the brief's writer quoted them. said: the newest of what was said, oldest first.

    No code of an older session gets into a new one by it (R39), and no secret.
    """

    def plain(text: str) -> str:
        return without_codes(clean(text), codes).strip()[:TASK_LENGTH]

    tasks = [state.current_task or agent.spec.prompt or "", *(loop.text for loop in state.open_loops)]
    seed = SessionSeed(
        persona=agent.spec.role,
        active_tasks=tuple(filter(None, map(plain, dict.fromkeys(tasks))))[:MOST_TASKS],
        settled_decisions=tuple(filter(None, map(plain, decisions)))[:MOST_DECISIONS],
    )
    return seed.heard(*(without_codes(clean(one), codes) for one in said if one and not is_ours(one)))


def without_codes(text: str, codes: Collection[str]) -> str:
    """A text in which none of these codes stands."""
    if not codes:
        return text

    def hidden(found: re.Match[str]) -> str:
        return HIDDEN if found.group().lower() in codes else found.group()

    return CODES.sub(hidden, text)
