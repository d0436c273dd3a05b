"""Small sessions for what is judged of a writer's answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from phoenixd.documents.brief.answer import BriefAnswer
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.conversation import Conversation, Speaker, Utterance
from phoenixd.documents.state import StateDocument
from phoenixd.memory.brief.guard import Accepted, accept

NOW = 1_795_255_200.0
SPEAKERS: Mapping[str, Speaker] = {"person": "user", "agent": "assistant", "tool": "tool"}


def said(*lines: tuple[str, str] | tuple[str, str, str]) -> tuple[Utterance, ...]:
    """Utterances: who (person, agent, tool), what, and the tool's name."""
    return tuple(
        Utterance(SPEAKERS[who], text, f"2026-11-21T09:{minute // 60:02}:{minute % 60:02}Z", rest[0] if rest else "")
        for minute, (who, text, *rest) in enumerate(lines)
    )


def known(name: str, text: str, kind: str = "said") -> dict[str, Any]:
    """A loop that an earlier session left; of no kind, an operator's."""
    loop = {"id": name, "text": text, "added": "2026-11-10"}
    return {**loop, "kind": kind, "source": f"9f2c11aa: {kind}"} if kind else loop


def material(
    utterances: Iterable[Utterance], loops: Iterable[dict[str, Any]] = (), numbers: Mapping[str, str] | None = None
) -> BriefMaterial:
    state = StateDocument.model_validate({"agent": "a", "open_loops": list(loops), "numbers": dict(numbers or {})})
    return BriefMaterial("a", NOW, state, Conversation("5e551011-2222", tuple(utterances), is_whole=True))


def judged(found: BriefMaterial, proven: Iterable[str] = (), **claims: Any) -> Accepted:
    answer = BriefAnswer.model_validate({"agent": "a", "open_loops": [], **claims})
    return accept(answer, replace(found, proven=frozenset(proven)))


def texts(accepted: Accepted, before: BriefMaterial) -> list[str]:
    """All text that an answer brought in, but for reasons and ids."""
    old = {loop.id for loop in before.state.open_loops}
    lines = [*accepted.changed, *accepted.decisions, *accepted.next, *accepted.risks]
    lines += [accepted.summary] if accepted.summary else []
    return [*(loop.text for loop in accepted.state.open_loops if loop.id not in old), *lines]
