"""The last words of person and agent as a session's ledger keeps them: two rings, each bounded by its size."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from phoenixd.documents.deeds import OF_WORDS, Spoke
from phoenixd.documents.ledger_rows import Words, digest
from phoenixd.documents.redact import redact
from phoenixd.documents.transcript import Ending, Prompted

WORDS_LIMIT = 4000
"""Characters of one utterance; of a longer one both ends are kept."""

PERSON_CHARS, AGENT_CHARS, MOST_WORDS, MOST_BEGINS = 24_000, 24_000, 64, 16
CUT = "\n[…]\n"

AROUND = 1000
"""Characters beyond a cut in which a secret may begin or end that the cut goes through."""

_KEY_LINE = re.compile(r"\s{0,100}+(?:-----END[^\n]{0,100}|[!-~]{21,4000}+)(?=\s|\Z)")
"""A single long word, as a key block has them in its lines. Scripts that have no blanks are no such words."""


@dataclass(slots=True)
class Speech:
    """What the person said, and what the agent said. A person's words are not pushed out by an agent that talks."""

    person: list[Words] = field(default_factory=list)
    agent: list[Words] = field(default_factory=list)
    number: int = 0

    def prompted(self, fact: Prompted) -> None:
        """The person said something; a new turn begins unless it was read in the middle of one."""
        if not fact.queued and self.agent and self.agent[-1].is_final is None:
            # This CLI marks no end of a turn; what comes after it does.
            self.turn_over("done")
        words = Words(self._next(), "person", _shortened(fact.text), fact.at, fact.queued, begins=_begins(fact.text))
        self._add(self.person, words, PERSON_CHARS)

    def spoke(self, fact: Spoke) -> None:
        """The agent said something, or the same anew."""
        words = Words(self._next(), "agent", _shortened(fact.text), fact.at, is_final=fact.is_final, key=fact.key)
        if fact.key is not None and self.agent and self.agent[-1].key == fact.key:
            words.number = self.agent.pop().number
        elif self.agent and self.agent[-1].is_final is None:
            self.agent[-1].is_final = False
        self._add(self.agent, words, AGENT_CHARS)

    def turn_began(self) -> None:
        """A turn began by the CLI's own word: where no end of the one before was written, that did not come to one."""
        if self.agent and self.agent[-1].is_final is None:
            self.agent[-1].is_final = False

    def turn_over(self, how: Ending) -> None:
        """The turn in hand is over: all that the person said in it belongs to it."""
        if self.agent and (not self.person or self.agent[-1].number > self.person[-1].number):
            self.agent[-1].is_final = how == "done"
        for words in reversed(self.person):
            if words.turn is not None:
                break
            words.turn = how
            if not words.queued:
                break

    def newest(self) -> list[Words]:
        """All that is kept of what was said, oldest first: a CLI may write a prompt behind the answer to it."""
        said = sorted((*self.person, *self.agent), key=lambda words: words.number)
        is_timed = all(words.at is not None for words in said)
        return sorted(said, key=lambda words: words.at or 0.0) if is_timed else said

    def _next(self) -> int:
        self.number += 1
        return self.number

    @staticmethod
    def _add(ring: list[Words], words: Words, limit: int) -> None:
        ring.append(words)
        size = sum(len(one.text) for one in ring)
        while len(ring) > 1 and (size > limit or len(ring) > MOST_WORDS):
            size -= len(ring.pop(0).text)


def _begins(text: str) -> tuple[str, ...]:
    """The digests of a prompt that is not kept whole, and of what stands before each of its last blank lines.

    A goal that the daemon typed is known again by them, and so is one that it told to go on.
    """
    if len(text) <= WORDS_LIMIT:
        return ()
    known = [text := text.strip()]
    while len(known) < MOST_BEGINS and (at := text.rfind("\n\n")) >= 0:
        known.append(text := text[:at].rstrip())
    return tuple(map(digest, known))


def _shortened(text: str) -> str:
    """What came last says most about how things stand: it gets two thirds of the room.

    It is cut between words, and the lines of a key block that the cut has opened go with it: secrets are taken out
    later, and half of one may not be known as one, nor one without the name that stood before it. Those that go by
    their shape are therefore taken out here, around the cuts; an agent's own values are words of their own.
    """
    if len(text) <= WORDS_LIMIT:
        return text
    room = WORDS_LIMIT - len(CUT)
    at_head, at_tail = room // 3, room - room // 3
    head = redact(text[: at_head + AROUND])[:at_head].rstrip(OF_WORDS)
    tail = redact(text[-(at_tail + AROUND) :])
    # What was taken out may have made it shorter: nothing of what stood before the cut comes in.
    return head + CUT + _after_cut(tail[max(AROUND, len(tail) - at_tail) :])


def _after_cut(tail: str) -> str:
    """A text that begins at a cut, without its first word, and without the rest of a key block."""
    tail = tail.lstrip().lstrip(OF_WORDS)
    at = 0
    while (line := _KEY_LINE.match(tail, at)) is not None and line.end() > at:
        at = line.end()
    return tail[at:]
