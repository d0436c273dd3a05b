"""What the session of each run is told, as files of its own that the hook program prints. Blocking."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from phoenixd.core.agent import Agent
from phoenixd.documents.brief.page import session_start_answer
from phoenixd.memory.shelf import Shelf


def told_to(incarnation: int) -> tuple[str, str]:
    """The names of what one run is told, as text and as the answer of a hook; the JSON is written last."""
    return f"session-start.{incarnation}.txt", f"session-start.{incarnation}.json"


@dataclass(slots=True)
class ToldRuns:
    """The files that tell runs the brief, and which run was told by this daemon."""

    shelf: Shelf
    _told: tuple[int, str] = (0, "")
    """The run whose own files were written here."""

    def owes(self, agent: Agent) -> bool:
        """Whether the agent's run waits for the file that tells it the brief."""
        return agent.run is not None and self._told != (agent.run.incarnation, agent.run.run_id)

    def forget_other(self, run_id: str, incarnation: int) -> None:
        """Take away what another run of that number may have been told: the hook program prints what it finds."""
        if self._told != (incarnation, run_id):
            for name in told_to(incarnation):
                # A directory of that name is moved aside where the file is written.
                with contextlib.suppress(IsADirectoryError):
                    self.shelf.remove(name)

    def write(self, agent: Agent, text: str) -> None:
        """Write what the hook program of this run prints, brief.md being there, and forget that of runs before."""
        run = agent.run
        if run is None:
            return
        plain, answer = told_to(run.incarnation)
        self.shelf.write(plain, text.encode("utf-8", "replace"))
        self.shelf.write(answer, session_start_answer(text))
        if self.owes(agent):
            self._told = (run.incarnation, run.run_id)
            self.shelf.forget_told_before(run.incarnation)
