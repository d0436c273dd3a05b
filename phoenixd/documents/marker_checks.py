"""Checks of a marker in a transcript, and what the agent answered to them: no part of the work, and left out of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from phoenixd.documents.conversation import Utterance
from phoenixd.documents.deeds import Spoke
from phoenixd.documents.transcript import Prompted, Record, TurnEnded
from phoenixd.planting import challenge_text, is_ours

ASKS = re.compile(
    rb"recite (?:resonance code number [0-9]{1,3}|the code of the resonance marker) from your first instructions\."
    rb"|These take the place of any earlier marker and codes\."
    rb"|This turn is opened to check what this session was told at its beginning\."
)
"""How a line of a transcript shows that something of ours was said in it, whichever way its CLI writes that."""

A_CHECK = challenge_text(1, "agent")
"""Stands for a check in a conversation, where its CLI writes it as no prompt."""


@dataclass(slots=True)
class Exchanges:
    """Follows one transcript, record by record. is_open: the agent is answering a check."""

    is_open: bool = False

    def without(self, line: bytes, record: Record) -> Record:
        """The record without a check of ours, and without what was answered to it.

        Some CLIs write the check as a prompt, others as a note that no rule reads. A file that quotes one is no check.
        """
        if record.kind not in ("assistant", "tool") and ASKS.search(line) is not None:
            self.is_open = True
            return replace(record, facts=tuple(one for one in record.facts if not _is_ours(one)))
        if not self.is_open:
            return record
        if any(isinstance(one, TurnEnded | Prompted) for one in record.facts):
            self.is_open = False
            if any(isinstance(one, Prompted) for one in record.facts):
                return record
        return replace(record, facts=tuple(one for one in record.facts if not isinstance(one, Spoke)))


def without_checks(said: Iterable[Utterance]) -> Iterator[Utterance]:
    """A conversation without checks and their answers, as far as they stand in it."""
    is_answer = False
    for one in said:
        if one.speaker == "user":
            is_answer = is_ours(one.text)
        if not is_answer:
            yield one


def _is_ours(fact: object) -> bool:
    return isinstance(fact, Prompted) and is_ours(fact.text)
