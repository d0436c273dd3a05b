"""The end of a conversation within a budget, gathered backwards from what the lines of a transcript say."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.documents.conversation import Conversation, Utterance
from phoenixd.documents.marker_checks import without_checks
from phoenixd.documents.transcript import Piece, Said

DEFAULT_BUDGET = 200_000
"""Characters: some 50,000 tokens, which every model's context takes."""

COST_OF_ONE = 32
"""Characters that an utterance costs beyond its text, for who said it and when."""

NAME_LIMIT = 200
"""Characters of a tool's name, of a call's, and of a time."""

TOOL_SHARE, VOICE_SHARE = 50, 4
"""What part of the budget one tool's input or result may take, and what part one thing that somebody said."""


def bounded(said: Said, budget: int) -> Said:
    """What a line says, no longer than a conversation within that budget takes it."""
    return Said(tuple(_bounded(piece, budget) for piece in said.pieces), said.key)


def _bounded(piece: Piece, budget: int) -> Piece:
    limit = max(200, budget // (TOOL_SHARE if piece.speaker == "tool" or piece.tool else VOICE_SHARE))
    if max(len(piece.at or ""), len(piece.tool), len(piece.call)) <= NAME_LIMIT and len(piece.text) <= limit:
        return piece
    at = piece.at[:NAME_LIMIT] if piece.at is not None else None
    text = cut_in_the_middle(piece.text, limit)
    return replace(piece, text=text, at=at, tool=piece.tool[:NAME_LIMIT], call=piece.call[:NAME_LIMIT])


class ConversationEnd:
    """Takes what was said, newest first, until the budget is used up."""

    def __init__(self, budget: int = DEFAULT_BUDGET) -> None:
        self._left = budget
        self._budget = budget
        self._pieces: list[Piece] = []
        self._keys: set[str] = set()
        self._names: dict[str, str] = {}
        self._gap = False

    def add(self, said: Said) -> bool:
        """Take what an older line says; False once there is no room for more."""
        return self.take(bounded(said, self._budget))

    def take(self, said: Said) -> bool:
        """The same of what is bounded already."""
        if said.key is not None:
            if said.key in self._keys:
                return True
            self._keys.add(said.key)
        for piece in reversed(said.pieces):
            if len(piece.text) + COST_OF_ONE > self._left:
                self._gap = True
                return False
            self._left -= len(piece.text) + COST_OF_ONE
            self._pieces.append(piece)
            if piece.call and piece.tool:
                self._names[piece.call] = piece.tool
        return True

    def miss(self) -> None:
        """Note that something was said that could not be read."""
        self._gap = True

    def conversation(self, session_id: str | None, reached_the_beginning: bool) -> Conversation:
        """All that was taken, oldest first."""
        utterances = tuple(
            Utterance(piece.speaker, piece.text, piece.at, piece.tool or self._names.get(piece.call, ""), piece.failed)
            for piece in reversed(self._pieces)
        )
        said = tuple(without_checks(utterances))
        return Conversation(session_id, said, reached_the_beginning and not self._gap)


def cut_in_the_middle(text: str, limit: int) -> str:
    """At most `limit` characters (of at least 60): beginning and end, and between them how much is missing."""
    if len(text) <= limit:
        return text
    note = f"\n[... {len(text) - limit} characters left out ...]\n"
    room = max(0, limit - len(note))
    return f"{text[: room - room // 2]}{note}{text[len(text) - room // 2 :]}"
