"""What the Gemini CLI's pane shows, read from its visible text: the last resort, where no hook can tell.

At the bottom stands the input line below a rule, or a dialog in a box in its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from phoenixd.harness.prompts import is_held

SIGNS: tuple[tuple[str, str], ...] = (
    ("trust", r"^[│ ]*Do you trust the files in this folder\?"),
    ("login", r"^[│ ]*How would you like to authenticate|^[│ ]*Enter Gemini API Key"),
    ("limit", r"^[│ ]*Usage limit reached"),
    ("model", r'^[│ ]*Model "[^"]*" was not found or is invalid\.'),
    ("permission", r"^[│ ]*(Allow execution of|Apply this change\?|Do you want to proceed\?)"),
    ("dialog", r"^[│ ]*● \d+\. |Press Esc to (close|cancel|go back)|Esc to (close|cancel)\b"),
)
"""As 0.61 draws them."""

_RULE = re.compile(r"─{20,}")
_INPUT = re.compile(r" ([>*]) (.*)")
_WORKING = re.compile(r".*\(esc to cancel, ")
_QUEUE, _HELD = re.compile(r" *Queued \(press"), re.compile(r" *")
_BOX_ENDS = re.compile(r"╰─+╯")
_FAREWELL = "Toresumethissession:gemini--resume"
"""Its words without what a pane of any width puts between them."""
_PLACEHOLDER = "Type your message or @path/to/file"


def screen_says(text: str) -> str:
    """Classify one capture of the pane, without escape sequences. Text may be pasted on `idle` and `working` only."""
    lines = [line.rstrip() for line in text.splitlines()]
    at = _input_at(lines)
    if at is not None:
        rule, _ = at
        above = [line for line in lines[:rule] if line][-1:]
        return "working" if above and _WORKING.match(above[0]) else "idle"
    for screen, sign in SIGNS:
        if re.search(sign, _last_box(lines), re.MULTILINE):
            return screen
    return "unknown"


def input_line(text: str) -> str | None:
    """The first paragraph of what stands in the input line unsent; None where there is none to be seen."""
    lines = [line.rstrip() for line in text.splitlines()]
    at = _input_at(lines)
    if at is None:
        return None
    first, *more = lines[at[1] :]
    typed = [first[3:].strip()]
    for line in more:
        if not line.startswith("   "):
            break
        typed.append(line[3:])
    return "" if typed[0] == _PLACEHOLDER else "\n".join(typed)


def holds(text: str, prompt: str) -> bool:
    """Whether a prompt stands, as far as its first words tell, among those that wait for the next step."""
    lines = [line.rstrip() for line in text.splitlines()]
    at = _input_at(lines)
    return at is not None and is_held(prompt, lines, at[0], _QUEUE, _HELD)


def takes_leave(text: str, session_id: str) -> bool:
    """Whether the CLI says goodbye: its last box ends with the id of the session, which a narrow pane parts."""
    lines = [line.rstrip() for line in text.splitlines()]
    ends = [number for number, line in enumerate(lines) if _BOX_ENDS.fullmatch(line)]
    if not ends or _input_at(lines) is not None:
        return False
    first = ends[-1]
    while first > 0 and lines[first - 1].startswith("│"):
        first -= 1
    said = re.sub(r"[\s│]", "", "".join(lines[first : ends[-1]]))
    return said.endswith(f"{_FAREWELL}{session_id}")


def _input_at(lines: Sequence[str]) -> tuple[int, int] | None:
    """Where the last rule is and the input line below it. An agent's words are indented and cannot make such a rule."""
    rules = [number for number, line in enumerate(lines) if _RULE.fullmatch(line)]
    if not rules:
        return None
    below = (number for number in range(rules[-1] + 1, len(lines)) if _INPUT.fullmatch(lines[number]))
    found = next(below, None)
    return (rules[-1], found) if found is not None else None


def _last_box(lines: Sequence[str]) -> str:
    """The lines from where the last outer box begins; a dialog is always one."""
    tops = [number for number, line in enumerate(lines) if re.match(r" ?╭", line)]
    return "\n".join(lines[tops[-1] :]) if tops else ""
