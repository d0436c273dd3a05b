"""One brief run without its files: settle the loops, ask a writer, judge the answer, ask once more, or do without."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import anyio
import structlog
from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.core.briefing import Choice, writer_name
from phoenixd.core.rules import WriterKind
from phoenixd.documents.brief.answer import AnswerRefused, read_answer
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.seal import Seal, Verdict, in_words, judge_json, mint
from phoenixd.documents.state_reading import MOST_NUMBERS
from phoenixd.errors import WriterFailed
from phoenixd.memory.brief.closing import Settled, settle
from phoenixd.memory.brief.guard import Accepted, accept
from phoenixd.memory.brief.loops.seen import Seen
from phoenixd.memory.brief.printed import printed_numbers
from phoenixd.ports.papers import BriefWriter, WriterAnswer

TRIES = 2
log = structlog.get_logger("phoenixd.briefs")
GRACE = 5.0
"""Seconds beyond its own time limit after which a writer is given up, whatever it does."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to. writer: who wrote it in the end. note: why it is not the one that was chosen, else empty."""

    accepted: Accepted
    writer: WriterKind
    note: str = ""
    tokens: int = 0
    failed: bool | None = None
    """Whether the command or model failed; None where none was asked."""


async def write_brief(
    agent: Agent,
    material: BriefMaterial,
    choice: Choice,
    writers: Mapping[WriterKind, BriefWriter],
    held: Mapping[str, float],
    draw: Callable[[int], str] | None = None,
) -> Outcome:
    """Write by the chosen writer, or by the deterministic one with a note why: a brief there always is.

    Loops are settled by the session's structure first, and any writer is told what came of that. draw(n): n random
    bytes, in hex, for the seal of each answer; None: answers are not asked to be sealed.

    An answer that was cut is asked for once more, and never believed. One without its seal, of a writer that says that
    it is whole, is kept with a warning: there is no session that could be asked for the seal alone, and a second answer
    would cost as much as the first.
    """
    settled = await to_thread.run_sync(settled_loops, material)
    plain = _plainly(material, settled, held)
    if choice.writer is WriterKind.DETERMINISTIC:
        return Outcome(plain, choice.writer, choice.reason)
    material = replace(material, state=plain.state, proven=settled.proven)
    tokens, complaint = 0, None
    kept: Accepted | None = None
    for _ in range(TRIES):
        if draw is not None:
            known = "\n".join((material.goal or "", *(one.text for one in material.conversation.utterances)))
            material = replace(material, seal=mint(draw, known))
        try:
            answer = await _ask(writers, choice.writer, agent, material, complaint)
        except WriterFailed as failure:
            # It had its time: a second try would cost as much again.
            tokens += failure.tokens
            complaint = f"{failure.message}; {failure.remedy}" if failure.remedy else failure.message
            break
        tokens += answer.tokens
        verdict = _whole(answer, material.seal)
        if verdict in ("cut", "front lost"):
            complaint = in_words(verdict)
            if choice.room is not None and 2 * tokens > choice.room:
                break
            continue
        if verdict == "unsealed" and material.seal is not None:
            log.warning("brief_unsealed", agent=agent.name, writer=writer_name(choice.writer), why=in_words(verdict))
        try:
            kept = await to_thread.run_sync(_judge, answer.text, agent.name, material, held)
        except AnswerRefused as refused:
            complaint = str(refused)
            if choice.room is not None and 2 * tokens > choice.room:
                # As much again would be more than the day has left.
                break
            continue
        if kept.grave is None:
            break
        complaint = kept.grave
        if choice.room is not None and 2 * tokens > choice.room:
            break
    if kept is not None:
        numbers = {**plain.numbers, **kept.numbers}
        kept = replace(kept, resolved=(*settled.resolved, *kept.resolved), numbers=numbers)
        return Outcome(kept, choice.writer, tokens=tokens, failed=False)
    note = f"the {writer_name(choice.writer)} writer was not used: {complaint}"
    return Outcome(plain, WriterKind.DETERMINISTIC, note, tokens, failed=True)


def _whole(answer: WriterAnswer, asked: Seal | None) -> Verdict:
    if asked is None:
        return "cut" if answer.ended == "cut" else "unsealed"
    return judge_json(answer.text, asked, answer.ended)


async def _ask(
    writers: Mapping[WriterKind, BriefWriter],
    kind: WriterKind,
    agent: Agent,
    material: BriefMaterial,
    complaint: str | None,
) -> WriterAnswer:
    writer = writers.get(kind)
    if writer is None:
        raise WriterFailed(f"this daemon has no {writer_name(kind)} writer")
    limit = agent.spec.brief.timeout + GRACE
    with anyio.move_on_after(limit if math.isfinite(limit) else None):
        return await writer.write(agent, material, complaint)
    raise WriterFailed(f"it gave no answer within {agent.spec.brief.timeout:g} s")


def settled_loops(material: BriefMaterial) -> Settled:
    """Which loops are open by the structure of the session, and by what the daemon knows where no transcript tells."""
    return settle(material.state, Seen.of(material), material.resolutions, material.closed_texts)


def _plainly(material: BriefMaterial, settled: Settled, held: Mapping[str, float]) -> Accepted:
    """What is known without asking anybody: loops by structure, and numbers as the newest checks printed them."""
    known = material.state.numbers
    printed = printed_numbers(material.conversation.utterances, known, held)
    room = MOST_NUMBERS - len(known)
    taken = {name: value for name, value in printed.items() if name in known or (room := room - 1) >= 0}
    state = settled.state.model_copy(update={"numbers": {**known, **taken}})
    return Accepted(state, settled.resolved, numbers=taken)


def _judge(text: str, agent: str, material: BriefMaterial, held: Mapping[str, float]) -> Accepted:
    return accept(read_answer(text, agent), material, held)
