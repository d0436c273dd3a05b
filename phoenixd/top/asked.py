"""What an item asks for, whole, as lines of a width; and what it takes as an answer."""

from __future__ import annotations

from phoenixd.api.pages.layout import fold, wrap
from phoenixd.core.question.characters import visible
from phoenixd.top.frames import Json
from phoenixd.top.spans import Line, Span, line, safe

INDENT = "  "
DEEP = "    "
GOES_ON = "  > "
"""Before what goes on below a line that is too long: no agent's words begin this far left."""
LEAST = 8
KINDS = {"permission": "asks permission for", "question": "asks", "plan": "asks to go on with", "proposal": "proposes"}


def lines(item: Json, width: int) -> list[Line]:
    """All that is asked, character by character, then what deserves a second look."""
    found = [line(Span(f"#{item['id']} {KINDS.get(item['kind'], safe(item['kind']))}:", "strong"))]
    shown = item["shown"] or [f"{INDENT}{item['text']}"]
    found += [line(part) for told in shown for part in _parts(str(told), width)]
    notes = [f"note: {flag}" for flag in item["flags"]]
    if item["limits"] and item["answer_by"] != "command":
        notes.append(f"note: {item['limits']}")
    return found + [
        line(Span(part, "strong")) for note in notes for part in wrap(safe(note), max(LEAST, width), "      ")
    ]


def _parts(told: str, width: int) -> list[str]:
    """A line of the daemon's a little set in, and one with an agent's words more; what goes on below is marked."""
    is_ours = not told.startswith(INDENT)
    first, *rest = fold(visible(told.removeprefix(INDENT)), max(LEAST, width - len(DEEP)))
    return [f"{INDENT if is_ours else DEEP}{first}", *(GOES_ON + part for part in rest)]


def questions(item: Json) -> list[Json]:
    """The questions of an item. Where only its text is known, that is one question, which takes any words."""
    return list(item["questions"]) or [{"question": item["text"], "several": False, "options": []}]


def prompt(item: Json, number: int) -> str:
    """What a person is asked for the answer to one question."""
    asked = questions(item)
    of = f"answer {number + 1} of {len(asked)}" if len(asked) > 1 else "answer"
    options = asked[number]["options"]
    if not options:
        return f"{of}: "
    several = ", several with commas" if asked[number]["several"] else ""
    return f"{of} (1-{len(options)}{several}, or words): "
