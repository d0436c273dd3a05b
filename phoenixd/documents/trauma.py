"""What a reader is shown of a failure that the daemon saw: the facts, the error's end, the pane's end, the open call.

Everything here was written by an agent or by its CLI. It is bounded, without secrets and without escape sequences.
"""

from __future__ import annotations

import re

from phoenixd.core.actions import ExamineCase
from phoenixd.core.treatment.evidence import SAID_LIMIT, known
from phoenixd.documents.cleaner import Cleaner
from phoenixd.documents.clinic import ToolCall, TraumaContext

PROMPT_LIMIT, FACTS_LIMIT, PANE_LIMIT, STACK_LIMIT, CALL_LIMIT = 4500, 1500, 6000, 2500, 2500
"""Characters of each; with the error's they leave room for what stands between them (see clinic_reading.LIMIT)."""
NAME_LIMIT = 80
FRAMES = 3
_FRAME = re.compile(r'^[ \t]*File "[^"\n]{1,400}", line \d{1,9}', re.MULTILINE)
"""As Python prints the places of a traceback, the last one nearest to the error."""


def trauma_of(asked: ExamineCase, prompt: str, pane: str, clean: Cleaner) -> TraumaContext:
    """The failure as the seed's record (C7 to C12). pane: the end of the agent's terminal."""
    evidence = asked.evidence
    facts = ", ".join(f"{name} {value}" for name, value in known(evidence) if name != "said")
    said = _from_a_word(evidence.said)
    told = [
        f"{asked.rule}; noticed {asked.times} times",
        f"known: {clean.head(facts, FACTS_LIMIT)}",
        f"said: {clean.tail(said, SAID_LIMIT)}" if said else "",
        f"the end of its terminal:\n{clean.tail(pane, PANE_LIMIT)}" if pane.strip() else "",
    ]
    call = ToolCall(
        tool_name=clean.head(evidence.call, NAME_LIMIT),
        args=clean.head(asked.command, CALL_LIMIT) or None,
        outcome="open when the run failed",
    )
    return TraumaContext(
        original_prompt=clean.head(prompt, PROMPT_LIMIT),
        error_type=f"{evidence.harness}: {evidence.occasion}"[:NAME_LIMIT],
        error_message="\n".join(filter(None, told)),
        stack_trace=clean.tail(frames(f"{said}\n{pane}"), STACK_LIMIT),
        tool_calls=(call,) if evidence.call else None,
    )


def frames(text: str) -> str:
    """The last three places of the newest traceback in a text, with the error below them; empty where there is none."""
    places = [one.start() for one in _FRAME.finditer(text)]
    return text[places[-FRAMES:][0] :].strip("\n") if places else ""


def _from_a_word(said: str) -> str:
    """An error's end that was cut to its bound, from its first whole word on: what was cut may be a secret's end."""
    if len(said) < SAID_LIMIT:
        return said
    rest = re.split(r"\s", said, maxsplit=1)
    return rest[1] if len(rest) == 2 else ""
