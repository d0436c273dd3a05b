"""The last words of person and agent, verbatim and bounded: chosen by who spoke when, never by what was said. Pure.

The newest prompt comes first, then the agent's last words after it and before it, then older ones as there is room.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from phoenixd.documents.brief.session_work import LastWords, Quote
from phoenixd.documents.brief.work_lines import OMITTED, quote_lines
from phoenixd.documents.ledger_rows import Waiting, Words
from phoenixd.documents.ledger_words import CUT
from phoenixd.documents.plain_text import plain
from phoenixd.documents.redact import Clean
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.memory.brief.cutting import Length, beginning, ending

ROOM = 3000
"""What all last words together may take on the page."""
PROMPT_PART, AFTER_PART, BEFORE_PART, OLDER_PART = 0.24, 0.34, 0.2, 0.12
"""What part of the room the newest prompt, the agent's last words after and before it, and older ones may take."""
LEAST = 80
"""Less than this is no room for another utterance."""
MOST_WAITING, MOST_TRIED = 3, 24
ALIKE = 200
LONGEST = 100_000
"""Characters of one utterance that are looked at, half of them from each end."""

_BLANK_LINES = re.compile(r"(?<![ \t])[ \t]++(?=\n)|\n(?=\n\n)")
"""Blanks at the end of a line, tried once for each run of them, and all but two of the line breaks of one run."""


@dataclass(frozen=True, slots=True)
class HeardByHooks:
    """What hooks told of the newest prompt, and of the last words of the newest turn that ended; wall seconds."""

    prompt: str | None = None
    prompted_at: float | None = None
    words: str | None = None
    spoken_at: float | None = None


def all_said(ledger: SessionLedger | None, heard: HeardByHooks) -> list[Words]:
    """What a session's ledger keeps of what was said, oldest first, and what only hooks told of it."""
    said = ledger.speech.newest() if ledger is not None else []
    newest = ledger.newest_at if ledger is not None else None
    told: list[tuple[float, Words]] = []
    if heard.prompt:
        told.append((heard.prompted_at or 0.0, Words(0, "person", heard.prompt, heard.prompted_at)))
    if heard.words:
        told.append((heard.spoken_at or 0.0, Words(0, "agent", heard.words, heard.spoken_at, is_final=True)))
    for at, words in sorted(told, key=lambda one: one[0]):
        # The transcript has it as a rule, and is written a moment later than the hook comes.
        if newest is not None and at <= newest:
            continue
        if not any(one.speaker == words.speaker and _alike(one.text, words.text) for one in said):
            words.number = said[-1].number + 1 if said else 1
            said.append(words)
    return said


def last_words(
    said: Sequence[Words],
    waiting: Sequence[Waiting],
    is_ours: Callable[[str], bool],
    clean: Clean,
    room: int = ROOM,
    length: Length = len,
    goal: frozenset[str] = frozenset(),
) -> LastWords:
    """Choose from what a session's ledger keeps, oldest first. waiting: prompts that the CLI has not read.

    is_ours: whether the daemon typed a prompt, so that it is no person's word; goal: the digests of one.
    room: what `quote_lines` of all quotes may take, as `length` measures.
    """

    def typed(one: Words | Waiting) -> bool:
        return is_ours(one.text) or not goal.isdisjoint(one.names)

    spoken = [one for one in said if one.text.strip() and not (one.speaker == "person" and typed(one))]
    chosen: dict[int, Quote] = {}
    left = room
    for rank, (words, part) in enumerate(itertools.islice(_in_turn(spoken), MOST_TRIED)):
        quote = _quote(words, rank, clean, min(left, int(room * part)), length)
        if quote is not None:
            chosen[words.number] = quote
            left -= cost_of(quote, length)
    unread = [one for one in waiting if not one.by_cli and one.text.strip() and not typed(one)][-MOST_WAITING:]
    queued: list[Quote] = []
    for waited in reversed(unread):
        words = Words(0, "person", waited.text, waited.at)
        quote = _quote(words, 3, clean, min(left, int(room * OLDER_PART)), length, "the agent has not read it")
        if quote is not None:
            queued.insert(0, quote)
            left -= cost_of(quote, length)
    # What others left over goes to the three that say the most.
    for rank, (words, _) in enumerate(_in_turn(spoken)):
        before = chosen.get(words.number)
        if rank > 2 or left < LEAST or before is None or not before.is_cut:
            continue
        grown = _quote(words, rank, clean, cost_of(before, length) + left, length)
        if grown is not None:
            left -= cost_of(grown, length) - cost_of(before, length)
            chosen[words.number] = grown
    return LastWords((*(chosen[number] for number in sorted(chosen)), *queued))


def cost_of(quote: Quote, length: Length) -> int:
    """What a quote takes on the page."""
    return sum(length(line) + 1 for line in quote_lines(quote))


def _in_turn(spoken: Sequence[Words]) -> Iterator[tuple[Words, float]]:
    """Utterances in the order of what they are worth, each with the part of the room that it may take."""
    prompt = next((one for one in reversed(spoken) if one.speaker == "person" and not one.queued), None)
    number = prompt.number if prompt is not None else 0
    agent = [one for one in spoken if one.speaker == "agent"]
    after = next((one for one in reversed(agent) if one.number > number), None)
    before = next((one for one in reversed(agent) if one.number < number), None)
    first = [(prompt, PROMPT_PART), (after, AFTER_PART), (before, BEFORE_PART if after is not None else AFTER_PART)]
    yield from ((one, part) for one, part in first if one is not None)
    known = {one.number for one in (prompt, after, before) if one is not None}
    yield from ((one, OLDER_PART) for one in reversed(spoken) if one.number not in known)


def _quote(words: Words, rank: int, clean: Clean, room: int, length: Length, note: str = "") -> Quote | None:
    """An utterance within its room; None where nothing of it can be shown."""
    note = note or _note(words)
    empty = Quote(words.speaker, (), words.at, note, rank)
    left = room - cost_of(empty, length)
    if left < LEAST:
        return None
    parts, is_torn = _parts(words.text, clean)

    def measure(character: str) -> int:
        # Each line is quoted by itself.
        return length(character) + (2 if character == "\n" else 0)

    whole = length(parts[0]) + 2 * parts[0].count("\n") if len(parts) == 1 else left + 1
    if whole + 3 <= left:
        return replace(empty, pieces=(parts[0],), is_cut=is_torn) if parts[0] else None
    # What came last says most about how things stand; of a prompt, what came first as well.
    share = left // 2 if words.speaker == "person" else left // 3
    gap = length(OMITTED) + 7
    head = beginning(parts[0], share - gap, measure)
    tail = ending(parts[-1], left - gap - sum(map(measure, head)), measure, starts_within=len(parts) > 1)
    if not tail:
        head = beginning(parts[0], left - gap, measure)
    pieces = (head, tail) if head or tail else ()
    return replace(empty, pieces=pieces, is_cut=True) if pieces else None


def _alike(one: str, other: str) -> bool:
    """Whether one is the other, perhaps without its end."""
    ends = [" ".join(text[:ALIKE].split()) for text in (one, other)]
    shorter = min(map(len, ends))
    return ends[0][:shorter] == ends[1][:shorter]


def _note(words: Words) -> str:
    if words.queued:
        return "read in the middle of a turn"
    if words.turn in (None, "done"):
        return ""
    return "its turn was interrupted" if words.turn == "interrupted" else "its turn failed"


def _parts(text: str, clean: Clean) -> tuple[tuple[str, ...], bool]:
    """What is known of an utterance, shown as other text is; two parts where the ledger keeps its ends alone."""
    halves = text.split(CUT) if CUT in text else [text]
    if len(halves) > 2:
        halves = [halves[0], halves[-1]]
    if len(halves) == 1 and len(text) > LONGEST:
        halves = [text[: LONGEST // 2], text[-LONGEST // 2 :]]
    made = [_BLANK_LINES.sub("", clean(plain(half))).strip("\n").rstrip() for half in halves]
    if len(made) == 1:
        return (made[0],), False
    # Nobody looked where the ledger cut: the words there, and what may be half a secret, are left out.
    before, after = made[0].split(), made[1].split()
    head = made[0][: len(made[0]) - len(before[-1])].rstrip() if before else ""
    tail = made[1].lstrip()[len(after[0]) :].lstrip() if after else ""
    return (head, tail), True
