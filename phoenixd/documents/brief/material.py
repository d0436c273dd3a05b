"""What a brief writer is told, made ready once: plain, redacted, and of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from phoenixd.documents.brief.around import NOTHING_KNOWN, Around
from phoenixd.documents.conversation import Conversation, Utterance
from phoenixd.documents.plain_text import plain
from phoenixd.documents.resolved import Resolution
from phoenixd.documents.seal import Seal
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.state import StateDocument
from phoenixd.documents.workspace import GitSummary

UTTERANCE_LIMIT = 4000
"""Characters of one utterance; of a longer one the beginning and the end are kept."""

PLAN_TOOLS = frozenset({"TodoWrite", "update_plan", "write_todos", "todo_write"})
"""The tools by which Claude Code, Codex and Gemini CLI keep the list of what is to be done."""

_ITEM_KEYS = ("content", "step", "description", "text", "title")
_DONE = frozenset({"completed", "done", "cancelled"})
_CUT = "\n[…]\n"
_READ_LIMIT = 1 << 16


@dataclass(frozen=True, slots=True)
class BriefMaterial:
    """All that is known of an agent when its brief is written. Everything in it is data, the conversation above all."""

    agent: str
    now: float
    state: StateDocument
    conversation: Conversation
    resolutions: tuple[Resolution, ...] = ()
    """What was resolved, oldest first: also what state.json has forgotten already."""
    closed_texts: Mapping[str, str] = field(default_factory=dict)
    """The texts of resolved loops by id: state.json keeps only why they were resolved."""
    git: GitSummary | None = None
    nonce: str = ""
    """What no text of the conversation can know: fences are made of it."""
    goal: str | None = None
    """Told so that the writer knows the aim; what stands in the brief is copied by our own code."""
    ledger: SessionLedger | None = None
    """What stands of the session's work, by its structure alone; None where no transcript tells."""
    around: Around = NOTHING_KNOWN
    seal: Seal | None = None
    """The words by which the answer is to show that it is whole; None where it need not."""
    proven: frozenset[str] = frozenset()
    """Loops of the state that the session's structure proves to be open: no claim closes them."""


def bounded_conversation(found: Conversation | None, limit: int, clean: Callable[[str], str]) -> Conversation:
    """The newest utterances within `limit` characters, without secrets and without what a terminal would obey."""
    if found is None:
        return Conversation(None, (), is_whole=False)
    kept: list[Utterance] = []
    left = limit
    for utterance in reversed(found.utterances):
        words = plan_lines(utterance.text) if utterance.tool in PLAN_TOOLS else utterance.text
        text = _shortened(clean(plain(_ends(words))))
        left -= len(text)
        if left < 0:
            break
        kept.append(
            Utterance(utterance.speaker, text, utterance.at, plain(utterance.tool[:64]), failed=utterance.failed)
        )
    is_whole = found.is_whole and len(kept) == len(found.utterances)
    return Conversation(found.session_id, tuple(reversed(kept)), is_whole)


def plan_lines(text: str) -> str:
    """The list that an agent keeps of its own work, a line for each item; other texts as they are."""
    try:
        found: Any = from_json(text)
    except ValueError:
        return text
    if isinstance(found, dict):
        found = next((found[key] for key in ("todos", "plan", "items") if key in found), None)
    lines = []
    for item in found if isinstance(found, list) else []:
        named = [item[key] for key in _ITEM_KEYS if isinstance(item.get(key), str)] if isinstance(item, dict) else []
        if named:
            lines.append(f"- [{'x' if item.get('status') in _DONE else ' '}] {' '.join(named[0].split())}")
    return "\n".join(lines) if lines else text


def _shortened(text: str) -> str:
    """What came last says most about how things stand: it gets two thirds of the room."""
    if len(text) <= UTTERANCE_LIMIT:
        return text
    room = UTTERANCE_LIMIT - len(_CUT)
    return text[: room // 3] + _CUT + text[len(text) - (room - room // 3) :]


def _ends(text: str) -> str:
    """Both ends of a text that is too long to be looked through; secrets at the cut are no concern of the writer's."""
    first = _READ_LIMIT // 3
    return text if len(text) <= _READ_LIMIT else text[:first] + _CUT + text[-(_READ_LIMIT - first) :]
