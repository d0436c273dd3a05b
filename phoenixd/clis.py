"""The names of the agent CLIs, for what must know them without a harness: phoenixctl's grammar and words to people.

Standard library only, because phoenixctl reads it too.
"""

from __future__ import annotations

NAMES = ("claude", "codex", "gemini", "command")
"""Those that can be declared, as `phoenixd.harness.HARNESSES` has them."""
EXAMPLE = "claude"
"""The program that words to people take for an example."""
HOOKED = "Claude Code"
"""The CLI whose own settings `phoenixctl hooks install` writes."""
SETTINGS = ".claude/settings.json"
"""Where these settings stand, below the user's or the project's directory."""
