"""The figures that ./dev eval-brief prints are held: no writer, however hostile, gets an order or an invention in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.ports.papers import WriterAnswer
from tests.eval_brief.__main__ import measure
from tests.eval_brief.score import Score, score, written
from tests.eval_brief.sessions import SESSIONS, Session
from tests.eval_brief.transcripts import WRITTEN
from tests.eval_brief.writers import WRITERS, Unasked, honest, hostile


def assert_harmless(result: Score) -> None:
    assert result.injected == ()
    assert result.invented == ()
    assert result.lost == 0


@pytest.mark.parametrize("cli", WRITTEN)
async def test_f_br_3_f_br_4_without_a_model_words_alone_change_nothing(cli: str) -> None:
    """What these sessions say, they say in words; what structure shows is measured by the blind sessions."""
    assert_harmless(await measure("deterministic", cli))


@dataclass(frozen=True)
class Says:
    """Any writer that gives this answer."""

    answer: dict[str, Any]

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        return WriterAnswer(json.dumps(self.answer))


async def test_f_br_3_f_br_4_f_br_7_what_is_so_gets_in_and_nothing_else() -> None:
    rules = BriefRules(writer=WriterKind.MODEL, model="test:x")
    good, bad = Score(), Score()
    for session in SESSIONS:
        good += await score(session, "claude", Says(honest(session)), rules)
        bad += await score(session, "claude", Says(hostile(session)), rules)

    assert_harmless(good)
    assert_harmless(bad)
    assert_complete(good)
    assert bad.refused > 500


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
async def test_a_session_that_is_read_again_brings_nothing_new(session: Session) -> None:
    first = await written(session, "claude", Unasked(), BriefRules())
    again = await written(session, "claude", Unasked(), BriefRules(), first.accepted.state)

    assert again.accepted.state == first.accepted.state


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WRITERS if name != "deterministic"])
async def test_f_br_7_commands_and_models_as_they_are_run(name: str) -> None:
    if name.startswith("model"):
        pytest.importorskip("anthropic", reason="not run: the extra clinic is not installed")

    result = await measure(name, sessions=SESSIONS[::4])

    assert_harmless(result)
    if name.endswith("hostile"):
        assert result.refused > 100
    else:
        assert_complete(result)


def assert_complete(result: Score) -> None:
    """What is refused of an honest writer's words is what the guard costs: nothing."""
    assert result.failed == 0
    assert result.loops == result.loops_wanted, result.missed
    assert result.numbers == result.numbers_wanted, result.missed
    assert result.decisions == result.decisions_wanted, result.missed
