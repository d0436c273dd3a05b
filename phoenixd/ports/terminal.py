"""The terminal of all agents, and what their panes show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from phoenixd.core.agent import Agent
from phoenixd.core.hooks import TurnFailed
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.harness.prompts import Prompt


class Panes(Protocol):
    """What the agents' panes show, read."""

    async def capture(self, agent: str, history: int = 0) -> str:
        """The visible text of the pane, without escape sequences, and up to `history` lines that scrolled off it.

        Raises TerminalFailed.
        """
        ...


class Terminal(Panes, Protocol):
    """The tmux server of our own. All may raise TerminalFailed, which says nothing about the agents."""

    async def observe(self) -> bool:
        """Whether the server answers."""
        ...

    async def revive(self) -> bool:
        """Start the server where that is ours to do (not under systemd), and connect; whether it answers now."""
        ...

    async def open_pane(self, agent: str, argv: Sequence[str]) -> int | None:
        """Make session phx-<agent> with one pane running argv; a pane that the agent has is closed first.

        Returns the pid of the process in it; None where that is not told.
        """
        ...

    def size_next(self, agent: str, columns: int, lines: int) -> None:
        """Have the agent's next pane, if it comes soon, begin at the size of a terminal that waits to show it."""
        ...

    async def close_pane(self, agent: str) -> None: ...

    async def take_session(self, agent: str, seat: str, generation: int) -> None:
        """Have the agent's session bear the seat's name, take over who is attached to the one before, and tell them."""
        ...

    async def capture_raw(self, agent: str, history: int = 0) -> str:
        """The same with the sequences that set colours, and whatever else the pane holds: never shown as it is."""
        ...

    async def paste(self, agent: str, text: str) -> str:
        """Leave copy mode, paste `text` sanitised, and return what was pasted; does not press Enter."""
        ...

    async def press_enter(self, agent: str) -> None: ...

    async def press_escape(self, agent: str) -> None:
        """Press the key that says no to a dialog."""
        ...

    async def tell_attached(self, agent: str, words: str) -> None:
        """Show words of our own, letters and digits, at the attached clients, without touching the pane."""
        ...

    async def clear_line(self, agent: str) -> None:
        """Press the keys that take away what stands in a line editor, or its last line, and submit nothing."""
        ...

    async def last_typed(self, agent: str) -> float | None:
        """When a person last pressed a key in this pane (Unix time, whole seconds); None when nobody is attached."""
        ...

    async def make_room(self, agent: str) -> str | None:
        """Make a pane large enough to be read; why that cannot be, or None where it is."""
        ...

    async def unread(self, agent: str) -> int | None:
        """Bytes that were typed and that the pane's program has not read yet; None where that cannot be told."""
        ...

    async def discard_unread(self, agent: str) -> None:
        """Take back what was typed and not read."""
        ...


class Screens(Protocol):
    """What the agent's own CLI shows and writes, read."""

    def classify(self, agent: Agent, screen: str) -> str:
        """What the harness's pane shows: permission, trust, login, resume-picker, working, idle or unknown."""
        ...

    def dismisses(self, agent: Agent, verdict: str) -> bool:
        """Whether Escape says no to the dialog that `classify` calls so, and ends nothing else."""
        ...

    def failed_turn(self, agent: Agent, facts: SessionFacts) -> TurnFailed | None:
        """The hook that the harness lacks: how the turn of this run ended that its transcript says the API refused."""
        ...

    def left(self, agent: Agent, screen: str) -> bool:
        """Whether the harness took leave there of a person who left this run's session."""
        ...

    def input_line(self, agent: Agent, screen: str) -> str | None:
        """What stands in the harness's input line, unsent; None where no input line is to be seen."""
        ...

    def holds(self, agent: Agent, screen: str, text: str) -> bool:
        """Whether the pane shows that the harness holds this text until it has time for it."""
        ...

    def prompt(self, agent: Agent, text: str) -> Prompt:
        """What the harness makes of a text that is typed into it."""
        ...
