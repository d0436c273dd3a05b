"""The reader of a failure that no rule knows."""

from __future__ import annotations

from typing import Protocol

from phoenixd.core.actions import ExamineCase
from phoenixd.core.agent import Agent
from phoenixd.core.treatment.examined import Opinion


class FailureReader(Protocol):
    """A model, or a program of the operator's. It has no tools, and what it answers is not believed yet."""

    async def read(self, agent: Agent, asked: ExamineCase, pane: str) -> tuple[Opinion, int]:
        """Its opinion and the tokens that it took, 0 where it tells none; raises WriterFailed.

        pane: the last lines of the agent's terminal as they were when the run ended, secrets and all.
        """
        ...
