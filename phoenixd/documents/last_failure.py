"""The brief's section "Last failure": how a run failed, and what was tried; facts, and never orders (C43)."""

from __future__ import annotations

from collections.abc import Callable

from phoenixd.core.treatment.advice import Advice
from phoenixd.core.treatment.examined import Opinion
from phoenixd.documents.plain_text import in_quotes, one_line
from phoenixd.documents.times import timestamp

SAID_LIMIT = 500
LINE_LIMIT = 300


def last_failure(advice: Advice | None, clean: Callable[[str], str]) -> tuple[str, ...]:
    """Its lines; none where nothing is to be told. What others said is quoted, and without secrets."""
    if advice is None:
        return ()
    times = f", noticed {advice.times} times since {timestamp(advice.since_wall)}" if advice.times > 1 else ""
    lines = [
        f"Run {advice.incarnation} failed at {timestamp(advice.at_wall)}: {_line(advice.rule, clean)}"
        f" (Case {advice.case}{times})."
    ]
    if advice.facts:
        known = ", ".join(f"{name} {_line(value, clean)}" for name, value in advice.facts)
        lines.append(f"Known of it: {known}.")
    if advice.said:
        lines.append(f"It was said: {in_quotes(clean(advice.said), SAID_LIMIT)}")
    if advice.reading is not None:
        lines += _reading(advice.reading, clean)
    if advice.tried:
        lines.append(f"Tried before: {', '.join(f'{one.treatment} ({one.outcome})' for one in advice.tried)}.")
    return tuple(lines)


def _reading(said: Opinion, clean: Callable[[str], str]) -> list[str]:
    """A model's words, as such: it read what the failed run left, and nobody has judged whether it is right."""
    told = in_quotes(clean(said.explanation), LINE_LIMIT)
    lines = [f"A model that read this failure calls it {said.cause} (confidence {said.confidence:g}) and says: {told}"]
    if said.note:
        lines.append(f"It would add, which grants nothing: {in_quotes(clean(said.note), LINE_LIMIT)}")
    return lines


def _line(text: str, clean: Callable[[str], str]) -> str:
    return one_line(clean(text), LINE_LIMIT)
