"""The names of the agent CLIs, for what must know them without a harness: phoenixctl's grammar and words to people.

Standard library only, because phoenixctl reads it too.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

NAMES = ("claude", "codex", "gemini", "command")
"""Those that can be declared, as `phoenixd.harness.HARNESSES` has them."""
EXAMPLE = "claude"
"""The program that words to people take for an example."""
HOOKED = "Claude Code"
"""The CLI whose own settings `phoenixctl hooks install` writes."""
SETTINGS = ".claude/settings.json"
"""Where these settings stand, below the user's or the project's directory."""
HTTP_EVENTS = (
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "Notification",
    "PermissionRequest",
    "PermissionDenied",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
)
"""What that CLI posts by itself. An event that it does not know would open a dialog at start: extend with care."""


class Preset(NamedTuple):
    """What becomes of a context that is too long, and how a marker gets into it."""

    overflow: Literal["compaction", "reject", "silent"]
    transport: Literal["stateless", "stateful", "compaction"]


PRESETS = {
    "claude": Preset("compaction", "compaction"),
    "gemini": Preset("reject", "stateful"),
    "deepseek": Preset("silent", "stateless"),
}
"""The three kinds of the Resonance Echo Protocol by the names that it gave them. What a server does today is for its
operator to know: a name here says how an agent is treated, and nothing of its vendor."""
