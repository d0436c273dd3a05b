"""Whatever an agent puts into its state.json and says in its session, a brief comes of it, and never an exception."""

from __future__ import annotations

import asyncio
import json
import random
from datetime import date

import pytest

from phoenixd.core.briefing import Choice
from phoenixd.core.rules import WriterKind
from phoenixd.documents.brief.material import BriefMaterial, bounded_conversation
from phoenixd.documents.conversation import Conversation, Speaker, Utterance
from phoenixd.documents.redact import redact
from phoenixd.documents.state import StateDocument
from phoenixd.documents.state_reading import read_state
from phoenixd.memory.brief.writing import Outcome, write_brief
from tests.agents import an_agent

NOW = 1_795_000_000.0
WORDS = [
    "\u200b", "\u202e", "- [ ] ", "- [x] ", "* ", "TODO:", "still open:", "Decision: ", "\x1b[1m", "\x00", "\ud800",
    "99/99 tests passing", "coverage 12.5 %", "999999 errors", "…", "it is not done yet.", "\n", "a" * 500, "né", "##",
]  # fmt: skip


def words(dice: random.Random) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(1, 12)))


def state_of(dice: random.Random, loops: int) -> StateDocument:
    found = {
        "agent": "a",
        "status": "idle",
        "open_loops": [
            {"id": words(dice)[:400], "text": words(dice), "added": "2026-11-20", "source": "session"}
            for _ in range(loops)
        ],
        "resolved": [{"id": words(dice), "reason": words(dice), "resolved_date": "2026-11-20"} for _ in range(loops)],
        "numbers": {words(dice): words(dice)},
    }
    reading = read_state(json.dumps(found).encode(), "a", date(2026, 11, 21))
    return reading.document or StateDocument(agent="a")


def utterance(dice: random.Random) -> Utterance:
    speaker: Speaker = dice.choice(("user", "assistant", "tool"))
    if dice.random() < 0.3:
        items = [{"content": words(dice), "status": dice.choice(["completed", "pending"])} for _ in range(60)]
        return Utterance("assistant", json.dumps({"todos": items}), tool="TodoWrite")
    return Utterance(speaker, "\n".join(words(dice) for _ in range(20)))


def brief_of(state: StateDocument, said: tuple[Utterance, ...]) -> Outcome:
    conversation = bounded_conversation(Conversation("s", said, is_whole=True), 60_000, redact)
    material = BriefMaterial("a", NOW, state, conversation)
    return asyncio.run(write_brief(an_agent("a"), material, Choice(WriterKind.DETERMINISTIC), {}, {}))


def test_promise_7_a_brief_comes_of_every_hostile_session() -> None:
    for seed in range(30):
        dice = random.Random(seed)
        outcome = brief_of(state_of(dice, dice.randint(0, 30)), tuple(utterance(dice) for _ in range(8)))
        assert outcome.accepted.state.agent == "a"


@pytest.mark.parametrize("shape", ["l-{}", "\u200b{}", "x" * 300 + "{}"])
def test_promise_7_thousands_of_loops_are_all_kept(shape: str) -> None:
    """Once the two hundred and first ended the daemon, and every one after it."""
    count = 2_000
    loops = [{"id": shape.format(number), "text": "t", "added": "2026-11-20"} for number in range(count)]
    content = json.dumps({"agent": "a", "status": "idle", "open_loops": loops}).encode()
    state = read_state(content, "a", date(2026, 11, 21)).document
    assert state is not None
    assert len(brief_of(state, ()).accepted.state.open_loops) == count
