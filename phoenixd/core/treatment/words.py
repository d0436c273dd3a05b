"""The words of the clinic, each closed set in one place: causes, actions, treatments, outcomes (seed C).

documents/clinic.py and the library read them from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

RootCause = Literal[
    "context_length_exceeded",
    "hallucinated_tool",
    "invalid_tool_arguments",
    "ambiguous_instruction",
    "logic_error",
    "transient_error",
]
"""The seed's six (C13). What they do not name, such as a refused login, is logic_error with a detail.

That an instruction is ambiguous only a model concludes that has read the failure (core.treatment.examining, the
library's ClinicAgent): no CLI and no exception tells it by a type, and who waits for an answer has not failed.
"""

PrescribedAction = Literal["retry", "modify_prompt", "summarize_history", "abort"]
"""The seed's four (C16)."""

Treatment = Literal[
    "resume", "fresh", "park", "go_on", "advise", "lower_output", "summarise", "handoff", "ask", "abort", "restore"
]
"""What is done in a daemon. resume, fresh: the next run. park: wait for a limit to end. go_on: a cut answer is gone on
with. ask: a person is asked. abort: nothing is started any more. restore: a lost context is given to a new session."""

Outcome = Literal["held", "failed", "open", "moot"]
"""What came of a treatment. open: not known yet. moot: something else came between, and it proves nothing."""

Occasion = Literal[
    "crash", "hung", "overtime", "refused_resume", "failed_start", "failed_turn", "cut_answer", "quarantine",
    "rolled_back", "lost_marker", "end",
]  # fmt: skip
"""What was noticed. end: a run is over, and nobody has said as what."""

ROLLED_BACK: Occasion = "rolled_back"
"""phoenixd decided that itself, and its words are those of the handoff's record."""

UNSURE = 0.5
"""Below this confidence a diagnosis is a guess (C15)."""

OUTCOMES: tuple[Outcome, ...] = ("held", "failed", "open", "moot")

ACTION_OF: Mapping[Treatment, PrescribedAction] = MappingProxyType(
    {
        "resume": "retry",
        "fresh": "retry",
        "park": "retry",
        "go_on": "retry",
        "advise": "modify_prompt",
        "lower_output": "modify_prompt",
        "summarise": "summarize_history",
        "handoff": "summarize_history",
        "restore": "summarize_history",
        "ask": "abort",
        "abort": "abort",
    }
)
"""Which of the seed's actions a treatment is."""
