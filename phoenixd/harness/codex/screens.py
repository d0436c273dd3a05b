"""What Codex's pane shows, read from its visible text: the last resort, where no hook can tell.

At the bottom stands either the input line with a footer below it, or a dialog, whose last line names its keys.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from phoenixd.harness.prompts import is_held

SIGNS: tuple[tuple[str, str], ...] = (
    ("trust", r"^ *Trust this folder\?"),
    ("hooks", r"^ *Hooks need review"),
    ("login", r"^ *[>›]? *1\. Sign in with ChatGPT"),
    ("permission", r"^ *Would you like to "),
    ("in-use", r"^ *Close it there and press R\b"),
    ("resume-picker", r"^ *Resume a previous session"),
)
"""As 0.169 draws them."""

# "Press enter to confirm or esc to cancel", "enter continue · esc back", "r retry  f fork  ←/esc command center".
_KEYS = re.compile(
    r" *(Press )?(enter\b.*\b(confirm|continue|select|submit)|enter/esc\b|r retry\b)|.*\besc to \w+ *$", re.I
)
_WORKING = re.compile(r"[•◦] .*\besc to interrupt\)")
_QUEUE, _HELD = re.compile(r"• Messages to be submitted"), re.compile(r" *(↳ )?")
_PLACEHOLDERS = ("Ask Codex to do anything",)


def screen_says(text: str) -> str:
    """Classify one capture of the pane, without escape sequences. Text may be pasted on `idle` and `working` only."""
    lines = [line.rstrip() for line in text.splitlines()]
    at = _input_at(lines)
    if at is not None:
        # The status stands between the conversation and the input line; only prompts that wait can come between.
        above = [line for line in lines[:at] if line and not line.startswith(" ")][-3:]
        return "working" if any(_WORKING.match(line) for line in above) else "idle"
    for screen, sign in SIGNS:
        if re.search(sign, text, re.MULTILINE):
            return screen
    return "dialog" if _KEYS.match(_last(lines)) else "unknown"


def input_line(text: str) -> str | None:
    """What stands in the input line unsent; None where there is none to be seen."""
    lines = [line.rstrip() for line in text.splitlines()]
    at = _input_at(lines)
    if at is None:
        return None
    typed = [lines[at].removeprefix("›").strip()]
    for line in lines[at + 1 : _footer_at(lines)]:
        typed.append(line.removeprefix("  "))
    said = "\n".join(typed).rstrip()
    return "" if said in _PLACEHOLDERS else said


def holds(text: str, prompt: str) -> bool:
    """Whether a prompt stands, as far as its first words tell, among those that wait for the next step."""
    lines = [line.rstrip() for line in text.splitlines()]
    at = _input_at(lines)
    return at is not None and is_held(prompt, lines, at, _QUEUE, _HELD)


def _input_at(lines: Sequence[str]) -> int | None:
    """Where the input line begins: the last line with the sign, unless what follows it is a dialog's keys.

    An agent's words are indented or have a bullet, and never come below the input line.
    """
    marked = [number for number, line in enumerate(lines) if line.startswith("›")]
    if not marked or _KEYS.match(_last(lines)):
        return None
    below = [line for line in lines[marked[-1] + 1 :] if line]
    footed = _footer_at(lines) > marked[-1] and bool(below)
    return marked[-1] if footed and all(line.startswith("  ") for line in below) else None


def _footer_at(lines: Sequence[str]) -> int:
    """Where the empty line is that stands before the footer; 0 without one."""
    end = len(lines)
    while end > 0 and not lines[end - 1]:
        end -= 1
    while end > 0 and lines[end - 1]:
        end -= 1
    return max(0, end - 1)


def _last(lines: Sequence[str]) -> str:
    return next((line for line in reversed(lines) if line), "")
