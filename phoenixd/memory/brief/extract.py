"""The brief writer that needs no model: open loops and numbers by the plain cues that people and agents use.

It is conservative: what has no cue is left alone, because a loop that nobody meant costs every later session a look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from phoenixd.documents.brief.answer import BriefAnswer, LoopClaim, NumberClaim, ResolutionClaim
from phoenixd.documents.brief.material import PLAN_TOOLS, BriefMaterial
from phoenixd.documents.conversation import Utterance
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.counts import counts
from phoenixd.memory.brief.cues import BULLET, SENTENCE, TEXT_LIMIT, cued, marked_lines
from phoenixd.memory.brief.known_loops import SAME_LOOP, is_operators
from phoenixd.memory.brief.quotes import is_own_word
from phoenixd.memory.brief.words import similarity

MOST_FOUND = 20
ID_LIMIT, MOST_KNOWN = 200, 100
LEAST_WORDS = 2
READ_BACK = 200
"""How many utterances from the end are looked through."""

_DECISION = re.compile(
    r"\W{0,6}(?:decision|(?:we(?: have|'ve)? )?(?:decided|agreed))\b\W{1,4}(?:to |that |on )?(.{8,240})",
    re.IGNORECASE,
)


def extract_answer(material: BriefMaterial) -> BriefAnswer:
    """What the material says by itself, as a writer's answer: known loops stay, and plain cues add to them."""
    spoken = material.conversation.utterances[-READ_BACK:]
    own = [one for one in spoken if is_own_word(one)]
    plan = _newest_plan(spoken)
    talk = [one for one in own if one.tool not in PLAN_TOOLS and not one.tool]
    found = [*(LoopClaim(text=text, quote=text) for text, done in plan if not done), *_open_loops(talk)]
    finished = [text for text, done in plan if done] + [text for text, done in _boxes(talk) if done]
    resolved = _finished(material, finished)
    closed = {claim.id for claim in resolved}
    known = [LoopClaim(id=loop.id, text=one_line(loop.text, TEXT_LIMIT) or loop.id) for loop in _known_loops(material)]
    return BriefAnswer(
        agent=material.agent,
        summary=_last_words(talk),
        decisions=list(dict.fromkeys(_decisions(talk)))[-5:],
        open_loops=[claim for claim in known if claim.id not in closed]
        + [claim for claim in _unlike(found) if not _is_like(claim.text, finished)][:MOST_FOUND],
        resolved=resolved,
        numbers=[NumberClaim(name=name, value=value) for name, value in _numbers(spoken).items()],
    )


def _known_loops(material: BriefMaterial) -> list[OpenLoop]:
    """Those that are named; there may be any number, and the others stay as loops do that no writer names."""
    return [loop for loop in material.state.open_loops if 0 < len(loop.id) <= ID_LIMIT][-MOST_KNOWN:]


def _newest_plan(spoken: Iterable[Utterance]) -> list[tuple[str, bool]]:
    """The newest list that the agent itself keeps of its work: texts, and whether each is done."""
    for utterance in reversed(list(spoken)):
        if utterance.tool in PLAN_TOOLS and (items := list(marked_lines(utterance.text))):
            return items[:50]
    return []


def _boxes(talk: Iterable[Utterance]) -> Iterator[tuple[str, bool]]:
    for utterance in talk:
        yield from marked_lines(utterance.text)


def _open_loops(talk: list[Utterance]) -> Iterator[LoopClaim]:
    """Newest utterance first, so that what is cut off is the oldest."""
    for utterance in reversed(talk):
        for text, _ in cued(utterance.text):
            if len(text.split()) >= LEAST_WORDS and (shown := one_line(text, TEXT_LIMIT)):
                yield LoopClaim(text=shown, quote=text[:TEXT_LIMIT])


def _decisions(talk: Iterable[Utterance]) -> Iterator[str]:
    for utterance in talk:
        for line in utterance.text.split("\n"):
            bullet = BULLET.fullmatch(line)
            for sentence in SENTENCE.findall(bullet[1] if bullet else line):
                if found := _DECISION.match(sentence.strip()):
                    yield one_line(found[1], TEXT_LIMIT)


def _numbers(spoken: Iterable[Utterance]) -> dict[str, str]:
    """The newest number of each kind."""
    return {name: value for utterance in spoken for name, value in counts(utterance.text)}


def _finished(material: BriefMaterial, finished: list[str]) -> list[ResolutionClaim]:
    """Loops of a brief run's making that the agent's own list, or a ticked box, now says are done."""
    claims = []
    for loop in _known_loops(material):
        if is_operators(loop):
            continue
        done = next((text for text in reversed(finished) if similarity(text, loop.text) >= SAME_LOOP), None)
        if done is not None:
            claims.append(ResolutionClaim(id=loop.id, reason="the agent's own list says that it is done", quote=done))
    return claims


def _unlike(claims: Iterable[LoopClaim]) -> list[LoopClaim]:
    kept: list[LoopClaim] = []
    for claim in claims:
        if not _is_like(claim.text, [one.text for one in kept]):
            kept.append(claim)
        if len(kept) >= 2 * MOST_FOUND:
            break
    return kept


def _is_like(text: str, others: list[str]) -> bool:
    return any(similarity(text, other) >= SAME_LOOP for other in others)


def _last_words(talk: list[Utterance]) -> str:
    """How the session left off, in the agent's own words."""
    for utterance in reversed(talk):
        if utterance.speaker == "assistant" and utterance.text.strip():
            return one_line(utterance.text, 600)
    return ""
