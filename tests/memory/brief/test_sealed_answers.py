"""A brief writer's answer that was cut is never taken for a whole one (issue 13, the seal)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.briefing import Choice
from phoenixd.core.rules import WriterKind
from phoenixd.documents.brief.answer import answer_schema, read_answer
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.brief.prompt import render_prompt
from phoenixd.documents.conversation import Conversation, Utterance
from phoenixd.documents.seal import END_KEY, HEAD_KEY, Told
from phoenixd.documents.state import StateDocument
from phoenixd.memory.brief.writing import Outcome, write_brief
from phoenixd.ports.papers import WriterAnswer
from tests.agents import an_agent

SAID = "the coupons have to be checked on Monday"
LOOP = {"id": "coupons", "text": "check the coupons", "quote": SAID}
ANSWER = {"agent": "a", "resolved": [], "open_loops": [LOOP]}

Answer = Callable[[BriefMaterial], str]


DICE = random.Random(7)


def draw(size: int) -> str:
    return DICE.randbytes(size).hex()


def sealed(material: BriefMaterial) -> str:
    assert material.seal is not None
    return json.dumps({HEAD_KEY: material.seal.head, **ANSWER, END_KEY: material.seal.end})


def forgotten(material: BriefMaterial) -> str:
    return json.dumps(ANSWER)


def cut(material: BriefMaterial) -> str:
    return sealed(material)[:-20]


def last_part(material: BriefMaterial) -> str:
    """What Claude Code prints of an answer that it went on with; here it happens to be an object of the right shape."""
    assert material.seal is not None
    return json.dumps({**ANSWER, END_KEY: material.seal.end})


def echo(material: BriefMaterial) -> str:
    """The request again, and an object in the shape that was asked for."""
    return f"{render_prompt(material)}\n{json.dumps(ANSWER)}"


@dataclass
class Writer:
    """Answers as it is told to; `ended` is what its CLI says of the end."""

    answers: list[Answer]
    ended: Told
    seals: list[object] = field(default_factory=list)
    complaints: list[str | None] = field(default_factory=list)

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        self.seals.append(material.seal)
        self.complaints.append(complaint)
        return WriterAnswer(self.answers.pop(0)(material), 10, self.ended)


def material() -> BriefMaterial:
    said = Conversation("s", (Utterance("user", SAID),), is_whole=True)
    return BriefMaterial("a", 1.8e9, StateDocument(agent="a"), said, nonce="5c1f0e6b9a7d4c3e8f2b1a0d9c8e7f6a")


async def written(*answers: Answer, ended: Told, room: int | None = None) -> tuple[Outcome, Writer]:
    writer = Writer(list(answers), ended)
    choice = Choice(WriterKind.AUTO, room=room)
    return await write_brief(an_agent("a"), material(), choice, {WriterKind.AUTO: writer}, {}, draw), writer


@pytest.mark.parametrize("ended", ["whole", "unknown"])
async def test_a_sealed_answer_is_taken_at_once(ended: Told) -> None:
    outcome, writer = await written(sealed, ended=ended)

    assert (outcome.writer, outcome.note, len(writer.seals)) == (WriterKind.AUTO, "", 1)
    assert [loop.id for loop in outcome.accepted.state.open_loops] == ["coupons"]


@pytest.mark.parametrize(
    ("bad", "ended"),
    [
        (cut, "unknown"),
        (cut, "cut"),
        (sealed, "cut"),
        (forgotten, "unknown"),
        (echo, "unknown"),
        (last_part, "whole"),
        (last_part, "unknown"),
    ],
)
async def test_one_that_was_cut_is_asked_for_once_more_and_then_done_without(bad: Answer, ended: Told) -> None:
    outcome, writer = await written(bad, bad, ended=ended)

    assert outcome.writer is WriterKind.DETERMINISTIC
    assert "is missing" in outcome.note
    assert (outcome.tokens, outcome.failed) == (20, True)
    assert outcome.accepted.state.open_loops == ()
    assert len(set(map(str, writer.seals))) == 2, "each answer has a seal of its own"
    assert writer.complaints[0] is None
    assert "is missing" in (writer.complaints[1] or "")


async def test_where_the_second_answer_is_whole_it_is_taken() -> None:
    outcome, _ = await written(cut, sealed, ended="unknown")

    assert (outcome.writer, outcome.tokens) == (WriterKind.AUTO, 20)


async def test_the_seal_of_the_answer_before_is_no_proof() -> None:
    old: list[str] = []

    def first(material: BriefMaterial) -> str:
        old.append(sealed(material))
        return cut(material)

    outcome, _ = await written(first, lambda material: old[0], ended="unknown")

    assert outcome.writer is WriterKind.DETERMINISTIC


async def test_a_forgotten_seal_of_a_writer_that_knows_its_end_is_kept_with_a_warning(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome, writer = await written(forgotten, ended="whole")

    assert (outcome.writer, len(writer.seals)) == (WriterKind.AUTO, 1), "a second answer would cost as much"
    assert "brief_unsealed" in capsys.readouterr().out + caplog.text


async def test_a_second_answer_is_not_asked_for_where_the_day_has_no_room() -> None:
    outcome, writer = await written(cut, sealed, ended="unknown", room=15)

    assert (outcome.writer, len(writer.seals)) == (WriterKind.DETERMINISTIC, 1)


async def test_without_seals_all_is_as_it_was_but_for_what_the_cli_says_itself() -> None:
    for ended, taken in (("whole", True), ("unknown", True), ("cut", False)):
        writer = Writer([forgotten, forgotten], ended)  # type: ignore[arg-type]
        choice = Choice(WriterKind.AUTO)
        outcome = await write_brief(an_agent("a"), material(), choice, {WriterKind.AUTO: writer}, {})
        assert (outcome.writer is WriterKind.AUTO) == taken
        assert writer.seals[0] is None


async def test_the_prompt_asks_for_the_seal_and_does_not_hold_it() -> None:
    prompts: list[tuple[str, BriefMaterial]] = []

    def asked(material: BriefMaterial) -> str:
        prompts.append((render_prompt(material), material))
        return sealed(material)

    await written(asked, ended="whole")
    prompt, told = prompts[0]

    assert told.seal is not None
    assert "Seal the object" in prompt
    assert told.seal.head not in prompt
    assert told.seal.end not in prompt
    assert "Seal" not in render_prompt(material())


def test_the_schema_has_the_seal_first_and_last_and_an_answer_is_read_without_it() -> None:
    names = list(answer_schema(sealed=True)["properties"])
    assert (names[0], names[-1]) == (HEAD_KEY, END_KEY)
    text = json.dumps({HEAD_KEY: "a1b2c3", **ANSWER, END_KEY: "d4e5f6"})
    assert read_answer(text, "a") == read_answer(json.dumps(ANSWER), "a")
