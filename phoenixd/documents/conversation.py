"""What was said in a session, as every harness's transcript reader gives it, and as brief writers take it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Speaker = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """One thing said on the main thread. at: RFC 3339, None where unknown; tool: its name, for a tool's use or result.

    The text is as the agent wrote it: not redacted, not to be trusted.
    """

    speaker: Speaker
    text: str
    at: str | None = None
    tool: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """The end of a session, oldest utterance first; `is_whole` says that nothing before it was left out."""

    session_id: str | None
    utterances: tuple[Utterance, ...]
    is_whole: bool
