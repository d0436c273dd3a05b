"""What is due once a turn is durable: its actions, receipts and answers, in the order of the turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from phoenixd.core.actions import Action, Alert, Fence, Kill, ObserveTerminal, Reassure, RecordIncident, Terminate
from phoenixd.core.decision import Refusal
from phoenixd.runtime.saving import Ticket

OF_NO_DELAY = Terminate | Kill | Fence | RecordIncident | Alert | Reassure | ObserveTerminal
"""What is done even where the journal fails: it ends processes, tells people, or only looks."""

Answer = Callable[[Refusal | None], None]


@dataclass(slots=True, eq=False)
class Due:
    """What follows of one turn. ticket: None where it had nothing to save, and follows those before it.

    keep: begins what is kept outside the journal, after the commit and before the first action; called once.
    """

    ticket: Ticket | None
    actions: list[Action]
    receipts: list[Callable[[], None]]
    keep: Callable[[], anyio.Event | None] | None = None
    answers: list[Answer] = field(default_factory=list)
    kept: anyio.Event = field(default_factory=anyio.Event)

    @property
    def is_durable(self) -> bool:
        return self.ticket is None or self.ticket.seqs is not None

    @property
    def is_being_kept(self) -> bool:
        """Whether it stands in the journal, and what is kept outside is still being written."""
        return self.is_durable and self.keep is None and not self.kept.is_set()

    def begin_keeping(self) -> None:
        """Have kept what this turn says, unless that was begun."""
        if self.keep is None:
            if self.ticket is None:
                self.kept.set()
            return
        keep, self.keep = self.keep, None
        written = keep()
        if written is None:
            self.kept.set()
        else:
            self.kept = written


class Dues:
    """Carries out what is durable, at once; of what is late, what ends processes or tells people.

    withholds: whether what is durable has to wait as well, because what follows from it could not be saved.
    settle_after: has `settle` called once the event is set.
    """

    def __init__(
        self,
        dispatch: Callable[[Action], None],
        withholds: Callable[[], bool],
        settle_after: Callable[[anyio.Event], None] = lambda kept: None,
    ) -> None:
        self._dispatch = dispatch
        self._withholds = withholds
        self._settle_after = settle_after
        self._late: deque[Due] = deque()
        self._withheld: deque[Action] = deque()

    @property
    def withheld(self) -> int:
        """How many actions wait for the journal to be well, though they are saved."""
        return len(self._withheld)

    def add(self, due: Due) -> None:
        """Take in what follows of the newest turn."""
        self._late.append(due)
        self.settle()

    def go_on_without(self, due: Due, *, forget: bool) -> bool:
        """Carry out what does not wait of the newest turn; returns whether all of the turn has been carried out.

        forget: keep nothing of a turn from which nothing more follows, so that a failing journal fills no memory.
        """
        if due not in self._late:
            return True
        for action in due.actions:
            if isinstance(action, OF_NO_DELAY):
                self._dispatch(action)
        due.actions = [action for action in due.actions if not isinstance(action, OF_NO_DELAY)]
        if forget and not (due.actions or due.receipts or due.answers):
            self._late.remove(due)
            if due.ticket is not None:
                due.ticket.is_forgotten = True
        return False

    def settle(self) -> None:
        """Carry out what became durable: act, then acknowledge, then answer."""
        while self._late and self._late[0].is_durable:
            due = self._late[0]
            if not due.kept.is_set():
                was_begun = due.is_being_kept
                due.begin_keeping()
                if not due.kept.is_set():
                    if not was_begun:
                        self._settle_after(due.kept)
                    return
            self._late.popleft()
            for action in due.actions:
                self._act(action)
            for acknowledge in due.receipts:
                acknowledge()
            for answer in due.answers:
                answer(None)

    async def carried_out(self) -> None:
        """Return once nothing is late, and nothing is being kept outside the journal any more."""
        while self._late:
            due = self._late[0]
            if due.ticket is not None:
                await due.ticket.done.wait()
            self.settle()
            if self._late and self._late[0] is due:
                await due.kept.wait()
                self.settle()

    def release(self) -> None:
        """Do what was withheld."""
        while self._withheld:
            self._dispatch(self._withheld.popleft())

    def refuse(self, refusal: Refusal) -> None:
        """Refuse the requests that wait for an answer; what was asked stands in memory all the same."""
        for due in self._late:
            answers, due.answers = due.answers, []
            for answer in answers:
                answer(refusal)

    def _act(self, action: Action) -> None:
        if (self._withheld or self._withholds()) and not isinstance(action, OF_NO_DELAY):
            self._withheld.append(action)
        else:
            self._dispatch(action)
