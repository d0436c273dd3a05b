"""One thread that owns a database connection, and how the event loop asks it something."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from phoenixd.errors import JournalFailed

Question = TypeVar("Question")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Asked(Generic[Question, Answer]):
    """A question under way, and where its answer is awaited."""

    question: Question
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Answer]

    def settle(self, answer: Answer | None, error: Exception | None) -> None:
        # A loop that is closed has nobody left to tell.
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._settle, answer, error)

    def _settle(self, answer: Answer | None, error: Exception | None) -> None:
        if self.future.done():
            return  # The caller went away; the work was done all the same.
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(answer)  # type: ignore[arg-type] # None only together with an error.


class DatabaseThread(Generic[Question, Answer]):
    """Serves questions in the order in which they came, those that wait together as one group.

    serve: answers a group, all or none; raises JournalFailed. Whatever else it raises ends the thread, loudly, and
    every later question fails. rest: called after each group, with nobody waiting for its outcome, and told how to
    find out whether somebody waits meanwhile.
    """

    def __init__(
        self,
        name: str,
        serve: Callable[[Sequence[Question]], Sequence[Answer]],
        rest: Callable[[Callable[[], bool]], None] = lambda is_idle: None,
        largest_group: int = 64,
    ) -> None:
        self._serve = serve
        self._rest = rest
        self._largest_group = largest_group
        self._queue: SimpleQueue[Asked[Question, Answer] | None] = SimpleQueue()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def ask(self, question: Question) -> Answer:
        """Await the answer. Cancelling gives up the waiting, not the work."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        if self._failure is None:
            self._queue.put(Asked(question, loop, future))
        # Looked at again: the thread may have died, and emptied its queue for the last time, just before.
        if self._failure is not None:
            future.cancel()
            raise JournalFailed(str(self._failure)) from self._failure
        return await future

    def close(self) -> None:
        """Serve what was asked so far, then end the thread."""
        self._failure = self._failure or JournalFailed("the journal is closed")
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        group: list[Asked[Question, Answer]] = []
        try:
            while group := self._next_group():
                try:
                    answers = self._serve([asked.question for asked in group])
                except JournalFailed as failure:
                    for asked in group:
                        asked.settle(None, failure)
                else:
                    for asked, answer in zip(group, answers, strict=True):
                        asked.settle(answer, None)
                self._rest(self._queue.empty)
        except BaseException as error:
            self._failure = JournalFailed(f"the journal's thread died: {error!r}")
            while True:
                for asked in group:
                    asked.settle(None, self._failure)
                if not (group := self._next_group(wait=False)):
                    break
            raise

    def _next_group(self, wait: bool = True) -> list[Asked[Question, Answer]]:
        """All that waits, up to a bound; empty when the thread is to end."""
        group: list[Asked[Question, Answer]] = []
        while len(group) < self._largest_group:
            try:
                asked = self._queue.get(block=wait and not group)
            except Empty:
                break
            if asked is None:
                if group:
                    self._queue.put(None)  # For the next call.
                break
            group.append(asked)
        return group
