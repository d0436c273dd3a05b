"""A transcript read as a whole, without what a tail remembers: what the pieces that a daemon reads have to come to."""

from __future__ import annotations

from phoenixd.documents.conversation import Conversation
from phoenixd.documents.conversation_end import DEFAULT_BUDGET
from phoenixd.documents.session_facts import SessionFacts, SessionReading
from phoenixd.documents.transcript import TranscriptForm
from phoenixd.drivers.transcripts.lines import open_lines
from phoenixd.drivers.transcripts.records import record_of
from phoenixd.drivers.transcripts.talk import TalkTail


def read_conversation(path: str, form: TranscriptForm, budget: int = DEFAULT_BUDGET) -> Conversation | None:
    """The end of what was said, within a budget of characters; None where there is no transcript."""
    return TalkTail(path, form, budget).conversation()


def read_whole(path: str, form: TranscriptForm) -> SessionFacts | None:
    """The facts of the whole file, from its first line; None where there is no transcript."""
    with open_lines(path) as lines:
        if lines is None:
            return None
        reading = SessionReading()
        for line in lines.forwards():
            if (record := record_of(form, line)) is not None:
                reading.hear(record)
        return reading.facts()
