"""What Claude Code's pane shows, read from its visible text: the last resort, where no hook can tell.

Hooks say more, and say it surely. The screen is for three cases: right before something is typed, when a new run gives
no sign of life (the dialogs of a start fire no hook), and before silence is called a hang (a turn that a person
interrupts ends without any hook).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

Screen: TypeAlias = Literal[
    "permission",
    "question",
    "trust",
    "api-key",
    "resume-picker",
    "bypass-warning",
    "settings",
    "login",
    "renderer",
    "auto-mode",
    "away",
    "dialog",
    "idle",
    "working",
    "unknown",
]
"""permission and question: asked within a turn. settings: the file given by --settings is refused. renderer: it offers
to draw otherwise. auto-mode: it offers to decide about permissions itself, from now on. away: a Left arrow moved the
session into the CLI's own daemon, and what is typed here would begin another one. dialog: something else than the
prompt has the keyboard. Text is pasted on `idle` and `working` alone."""

SIGNS: tuple[tuple[Screen, str], ...] = (
    ("away", r"\b(ctrl\+x to (delete|remove)|enter to (open|return) · space to reply)\b"),
    ("renderer", r"^ *Try the new fullscreen renderer\?"),
    ("auto-mode", r"^ *Make auto mode your default permission mode\?"),
    ("trust", r"Quick safety check: Is this a project"),
    ("api-key", r"Detected a custom API key"),
    ("bypass-warning", r"running in Bypass Permissions mode"),
    ("settings", r"^ *Settings (Warning|Error)$"),
    ("resume-picker", r"^ *Resume session\b"),
    ("login", r"Select login method"),
    ("question", r"Enter to select · ↑/↓ to navigate"),
    ("permission", r"^ *(Do you want to|Would you like to) |^ *Exit plan mode\?$"),
    ("dialog", r"^ *❯ \d+\. |Esc to (cancel|go back)|Enter to confirm"),
    # A list of choices without numbers and keys, as 2.1.330 draws its offers: Enter would take the first.
    ("dialog", r"^ *❯ \S"),
    ("dialog", r"^/[a-z][\w:-]* {2,}|! for shell mode|Showing detailed transcript"),
)
"""As 2.1 draws them."""

_RULE = re.compile(r"─{10,}( \S.{0,80} ─+)?")
_SPINNER = re.compile(r"[·✢✳✶✻✽*] .*(…|Retrying in )")
_PLACEHOLDERS = (
    "Press up to edit queued messages",
    'Try "',
    # What 2.1.330 suggests after a turn that failed; Enter on it submits nothing.
    "Resend your message to try again",
    "Once fixed, resend your message",
    "Run /rewind to go back",
)
_AWAY = re.compile(r"\b(ctrl\+x to (delete|remove)|enter to (open|return) · space to reply)\b")


def screen_says(text: str) -> Screen:
    """Classify one capture of the pane, without escape sequences."""
    lines = [line.rstrip() for line in text.splitlines()]
    rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line)]
    if _has_prompt(lines, rules):
        return _at_the_prompt(lines, rules)
    region = "\n".join(lines[rules[-1] + 1 :] if rules else lines)
    for screen, sign in SIGNS:
        if re.search(sign, region, re.MULTILINE):
            return screen
    return "unknown"


def input_line(text: str) -> str | None:
    """What stands in the prompt unsent, as far as the screen shows it; None where there is no prompt to be seen.

    Also while the menu of commands that it could become is open below.
    """
    lines = [line.rstrip() for line in text.splitlines()]
    rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line)]
    if _has_prompt(lines, rules):
        return _typed(lines, rules)
    if len(rules) < 2 or not re.match(r"❯\s*/", lines[rules[-2] + 1]) or _AWAY.search(text):
        return None
    menu = [line for line in lines[rules[-1] + 1 :] if line]
    return _typed(lines, rules) if all(re.match(r"/|  ", line) for line in menu) else None


def _typed(lines: Sequence[str], rules: Sequence[int]) -> str:
    first, *more = lines[rules[-2] + 1 : rules[-1]]
    typed = "\n".join((first.removeprefix("❯").strip(), *(line.removeprefix("  ") for line in more)))
    return "" if typed.startswith(_PLACEHOLDERS) else typed


def _has_prompt(lines: Sequence[str], rules: Sequence[int]) -> bool:
    """The prompt is a box between the last two rules. Below it stands an indented footer, or a menu that has the keys.

    An agent's own words are always indented, so they can forge neither a rule nor what begins a line.
    """
    if len(rules) < 2 or not lines[rules[-2] + 1].startswith("❯"):
        return False
    below = [line for line in lines[rules[-1] + 1 :] if line]
    if any(_AWAY.search(line) for line in below):
        return False
    return all(line.startswith("  ") and not re.match(r" *❯ \d+\. ", line) for line in below)


def _at_the_prompt(lines: Sequence[str], rules: Sequence[int]) -> Screen:
    footer = " ".join(lines[rules[-1] + 1 :])
    if "Not logged in" in footer:
        return "login"
    # A typed draft or a status line of the user's own takes the place of "esc to interrupt"; the spinner stays.
    above = [line for line in lines[: rules[-2]] if line and not line.startswith(" ")]
    spins = bool(above) and _SPINNER.match(above[-1]) is not None
    return "working" if spins or "esc to interrupt" in footer else "idle"
