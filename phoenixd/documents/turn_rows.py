"""Turns of a session's main thread, a row each, gathered record by record: prompt, tools, tokens, how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from phoenixd.documents.transcript import (
    Checked,
    Ending,
    Fact,
    Prompted,
    Record,
    ToolBegan,
    ToolEnded,
    TurnBegan,
    TurnEnded,
    Used,
)
from phoenixd.planting import is_ours

PROMPT_LIMIT = 200
"""Characters of a prompt that a row tells."""
HEARD = 4_000
"""Characters of a prompt that are kept until its secrets are out."""
MOST_TOOLS, NAME_LIMIT = 64, 100
MOST_REQUESTS = 4_096


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn. Times are wall seconds, None where unknown; ended None: it goes on, or nothing tells of its end.

    prompt: the first words of what began it, without secrets; empty where the CLI began it by itself. prompts: how many
    were taken in it. tools: with the number of calls, the one that was called first first. tokens: what its newest
    request held; output: what its requests brought forth; None: unknown.
    """

    started: float | None
    ended: float | None
    how: Ending | None
    prompt: str
    prompts: int
    tools: tuple[tuple[str, int], ...]
    failed: int
    tokens: int | None
    output: int | None


@dataclass(slots=True)
class _Turn:
    started: float | None
    prompt: str
    name: str | None = None
    prompts: int = 1
    newest: float | None = None
    ended: float | None = None
    how: Ending | None = None
    is_over: bool = False
    tools: dict[str, int] = field(default_factory=dict)
    failed: int = 0
    tokens: int | None = None
    requests: dict[str, int] = field(default_factory=dict)
    is_check: bool = False


def turn_rows(records: Iterable[Record], most: int, clean: Callable[[str], str]) -> list[TurnRow]:
    """The newest turns of these records, which are in their order; exchanges of ours are no part of them."""
    turns: list[_Turn] = []
    for record in records:
        for fact in record.facts:
            _hear(turns, fact, record.at)
        if turns and not turns[-1].is_over and record.kind is not None:
            turns[-1].newest = record.at if record.at is not None else turns[-1].newest
    kept = [one for one in turns if not one.is_check][-most:]
    return [_row(one, is_last=one is turns[-1], clean=clean) for one in kept]


def _hear(turns: list[_Turn], fact: Fact, at: float | None) -> None:
    now = turns[-1] if turns and not turns[-1].is_over else None
    match fact:
        case Prompted() if is_ours(fact.text):
            if now is not None:
                now.is_over, now.ended = True, now.newest
            turns.append(_Turn(at, "", is_check=True))
        case Prompted() if now is not None and not now.is_check and (fact.queued or fact.turn == now.name is not None):
            now.prompts += 1
        case Prompted() if now is not None and not (now.is_check or now.prompts or now.tools or now.requests):
            # The CLI wrote down that a turn began before it wrote what it was told.
            now.started = now.started if now.started is not None else at
            now.prompt, now.name, now.prompts = fact.text[:HEARD], fact.turn, 1
        case Prompted():
            turns.append(_Turn(fact.at if fact.at is not None else at, fact.text[:HEARD], fact.turn))
        case TurnBegan() if now is None:
            turns.append(_Turn(at, "", prompts=0))
        case TurnEnded(how, ended) if now is not None:
            now.is_over, now.how, now.ended = True, how, ended if ended is not None else at
        case Checked() if now is not None:
            now.is_over, now.how, now.ended = True, "done", at
            turns.append(_Turn(at, "", is_check=True))
        case ToolBegan() if now is not None and (fact.name in now.tools or len(now.tools) < MOST_TOOLS):
            now.tools[fact.name] = now.tools.get(fact.name, 0) + 1
        case ToolEnded(failed=True) if now is not None:
            now.failed += 1
        case Used() if now is not None:
            now.tokens = fact.tokens
            if len(now.requests) < MOST_REQUESTS:
                # A request is told again with each part of its answer.
                now.requests[fact.request or str(len(now.requests))] = fact.output
        case _:
            pass


def _row(turn: _Turn, *, is_last: bool, clean: Callable[[str], str]) -> TurnRow:
    # Of a turn whose end its CLI does not write down the next prompt tells it.
    ended = turn.ended if turn.is_over or is_last else turn.newest
    words = " ".join(clean(turn.prompt).split())
    return TurnRow(
        turn.started,
        ended,
        turn.how,
        words if len(words) <= PROMPT_LIMIT else f"{words[: PROMPT_LIMIT - 3]}...",
        turn.prompts,
        tuple((clean(name)[:NAME_LIMIT], calls) for name, calls in turn.tools.items()),
        turn.failed,
        turn.tokens,
        sum(turn.requests.values()) if turn.requests else None,
    )
