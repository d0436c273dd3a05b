"""Armed answers on their way to a shim, in the bytes that the agent's CLI takes, and what shims say of their use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from phoenixd.core.armed_answer import ArmedAnswer
from phoenixd.core.moment import Instant
from phoenixd.core.spec import AgentSpec
from phoenixd.harness import HARNESSES

MOST_TOLD = 64
QUESTION_MARKS = ("?", "？", "؟")
"""How last words end that ask a person something."""


def order(spec: AgentSpec, answer: ArmedAnswer, at: Instant) -> Mapping[str, object] | None:
    """What the shim is told; None where the answer's time is over, or the CLI takes no such answer.

    It is told how long, and not until when: it knows neither the daemon's time nor how the wall clock is set.
    """
    harness, seconds = HARNESSES.get(spec.harness), answer.until - at
    taken = harness.armed(answer.on, answer.text) if harness is not None else None
    if taken is None or seconds <= 0:
        return None
    named = {} if taken.named is None else {"named": taken.named}
    spares = {"spares": {"key": taken.words, "ends": list(QUESTION_MARKS)}} if answer.spares_questions else {}
    return {
        "id": answer.id,
        "kind": taken.kind,
        **named,
        **spares,
        "tools": list(answer.tools),
        "times": answer.times,
        "seconds": round(seconds, 3) or 0.001,
        "body": taken.body,
    }


def uses_in(told: object) -> Iterator[tuple[str, int]]:
    """Names of answers and how often each was given; raises TypeError and ValueError for what no shim of ours says."""
    if told is None:
        return
    if not isinstance(told, list) or len(told) > MOST_TOLD:
        raise TypeError("no list of uses")
    for one in told:
        id, uses = one["id"], one["uses"]
        if not isinstance(id, str) or len(id) > 64 or isinstance(uses, bool) or not isinstance(uses, int):
            raise TypeError("no use of an answer")
        if uses > 0:
            yield id, min(uses, 1_000_000)
