"""What becomes of a run that fails: healthy, injured, in the clinic, and healthy again or given up.

The diagram of docs/how-to/heal-failed-runs.md is made from TRANSITIONS, and no run changes its state in another way.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class State(StrEnum):
    HEALTHY = "healthy"
    INJURED = "injured"
    CLINIC = "clinic"
    ABANDONED = "abandoned"


class Turn(StrEnum):
    """What brings a run from one state to the next."""

    FAILED = "the run fails, or its answer is cut"
    TRIAGED = "the failure is captured"
    TREATED = "a prescription is carried out, and the task runs again"
    GIVEN_UP = "abort, or no recovery is left, so the original exception is raised"


TRANSITIONS: Mapping[tuple[State, Turn], State] = {
    (State.HEALTHY, Turn.FAILED): State.INJURED,
    (State.INJURED, Turn.TRIAGED): State.CLINIC,
    (State.CLINIC, Turn.TREATED): State.HEALTHY,
    (State.CLINIC, Turn.GIVEN_UP): State.ABANDONED,
}
BEGINS = State.HEALTHY
ENDS = (State.HEALTHY, State.ABANDONED)


def after(state: State, turn: Turn) -> State:
    """The state that follows; KeyError where there is no such way."""
    return TRANSITIONS[state, turn]
