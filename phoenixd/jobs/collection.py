"""Takes in what a worker left: its last answer by its transcript, its outputs, and writes manifest and report (E55).

Nothing is read from the terminal. A worker may have written anything, so what cannot be read is told and never raised;
what cannot be written of ours is, and the collection is ordered again.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.core.tasks import verdict
from phoenixd.core.tasks.state import Outcome, Sealed, Stop, Task
from phoenixd.core.traits import traits_of
from phoenixd.directories import Directories, make_private
from phoenixd.documents import seal as seals
from phoenixd.documents.conversation import Conversation, Utterance
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.redact import CleanOf
from phoenixd.documents.seal import Seal
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.task_report import Judged, Left, manifest, report
from phoenixd.errors import PhoenixdError
from phoenixd.jobs.kept import MANIFEST, OUTPUTS, REPORT, require_own

ANSWER_CHARS = 400_000
MOST_PARTS = 8
"""Parts that one answer is put together from at most, where its seal says that it has several."""
WORDS_LIMIT = 300


class Gather(Protocol):
    """Copies what a directory holds; see phoenixd.drivers.files.outputs.gather, which is adapted in wiring."""

    def __call__(self, source: Path, target: Path) -> Left: ...


class Judging(Protocol):
    """Holds a worker's own report against the facts; see phoenixd.memory.report.workers."""

    async def verify(self, agent: Agent, task: Task, source: Path, outputs: Path, answer: str) -> Judged | None:
        """None where the worker left no report. outputs: the copies of what `source` holds."""
        ...


class Collection:
    """Implements ports.Jobs.

    facts, conversation: what the worker's transcript says. knows_transcript: whether its CLI is known to keep one.
    clean: a text without the agent's secrets. write: puts a file in place, durably. judging: holds the worker's own
    report against the facts. seal: the words that an incarnation was asked to frame its answer with, if any.
    """

    def __init__(
        self,
        directories: Directories,
        gather: Gather,
        facts: Callable[[Agent], Awaitable[SessionFacts | None]],
        conversation: Callable[[Agent, int], Awaitable[Conversation | None]],
        knows_transcript: Callable[[Agent], bool],
        clean: CleanOf,
        write: Callable[[Path, bytes], None],
        judging: Judging,
        seal: Callable[[Agent, int], Seal | None] = lambda agent, incarnation: None,
    ) -> None:
        self._directories = directories
        self._gather = gather
        self._facts = facts
        self._conversation = conversation
        self._knows_transcript = knows_transcript
        self._clean = clean
        self._write = write
        self._judging = judging
        self._seal = seal

    async def collect(self, agent: Agent, task: Task) -> Outcome:
        """Read, copy and write; raises PhoenixdError where ours cannot be written."""
        stop, words, answer, sealed = await self._read(agent, task)
        if task.sealing and task.outcome is not None and not answer:
            # What was kept before it was asked for the seal alone stands.
            return Outcome("missing")
        place = self._directories.task(task.id)
        source = self._directories.task_out(task.id, task.sealing or agent.incarnation)
        try:
            left = await to_thread.run_sync(self._gathered, agent, task, source, place)
            verification = await self._judging.verify(agent, task, source, place / OUTPUTS, answer)
            left = replace(left, answer=self._clean(agent.name, answer))
            outcome = Outcome(stop, words, seal=sealed)
            return await to_thread.run_sync(self._keep, agent, task, outcome, left, verification)
        except OSError as error:
            raise PhoenixdError(
                f"what {task.agent} left could not be kept in {place}: {error.strerror or error}", f"df -h {place}"
            ) from error

    async def _read(self, agent: Agent, task: Task) -> tuple[Stop, str, str, Sealed]:
        """How the last turn ended, the last answer as it was written, secrets and all, and whether that is whole."""
        if not self._knows_transcript(agent):
            return "none", "", "", ""
        facts = await self._facts(agent)
        if facts is None:
            return "missing", "", "", ""
        talk = await self._conversation(agent, ANSWER_CHARS)
        said = talk.utterances if talk else ()
        if task.sealing:
            answer, sealed = await to_thread.run_sync(self._sealed, agent, task, said)
            # How the turn of the answer itself ended was known before its seal was asked for.
            return task.outcome.stop if task.outcome else "done", "", answer, sealed
        stop = stop_of(facts)
        asked, ended = self._seal(agent, agent.incarnation), told_of(facts, traits_of(agent.spec.harness).tells_cut)
        answer, sealed = await to_thread.run_sync(whole, texts_of(said), asked, ended)
        cut = facts.cut_at_end
        words = facts.error.text if facts.error is not None else f"({cut.how})" if cut is not None else ""
        return stop, one_line(self._clean(agent.name, words), WORDS_LIMIT), answer, sealed

    def _sealed(self, agent: Agent, task: Task, said: Sequence[Utterance]) -> tuple[str, Sealed]:
        """The answer of the run that was to seal it, and whether it did when it was asked for that alone."""
        first, again = self._seal(agent, task.sealing), None
        if agent.incarnation != task.sealing:
            again = self._seal(agent, agent.incarnation)
        return sealed_late(said, first, again)

    def _gathered(self, agent: Agent, task: Task, source: Path, place: Path) -> Left:
        require_own(self._directories, task)
        make_private(place)
        left = self._gather(source, place / OUTPUTS)
        session_id = agent.session.session_id if agent.session is not None else ""
        self._write(place / MANIFEST, manifest(task, left, session_id))
        return left

    def _keep(self, agent: Agent, task: Task, outcome: Outcome, left: Left, found: Judged | None) -> Outcome:
        place = self._directories.task(task.id)
        kept = replace(
            outcome,
            report=os.fspath(place / REPORT),
            outputs=len(left.outputs),
            refused=len(left.refused) + left.beyond,
            judged=found.report if found is not None else None,
        )
        ended = agent.last_exit
        end, at_wall = (ended.text, ended.at_wall) if ended is not None else ("it never began", 0.0)
        prompt = self._clean(agent.name, agent.spec.prompt or "")
        judged = verdict.judge(task, ended, kept, wall=at_wall)
        told = f"{judged.state}: {one_line(judged.why, WORDS_LIMIT)}"
        self._write(place / REPORT, report(task, left, kept, end, prompt, told, found.lines if found else ()))
        return kept


def whole(texts: Sequence[str], asked: Seal | None, told: seals.Told) -> tuple[str, Sealed]:
    """The last answer without its seal, and what the seal proves. texts: what was said last, oldest first.

    A CLI that goes on by itself after its output limit writes one answer down in several parts.
    """
    answer = texts[-1] if texts else ""
    if asked is None:
        return answer, ""
    verdict = seals.judge(answer, asked, told)
    if verdict == "sealed":
        return seals.opened(answer, asked), verdict
    for first in range(len(texts) - 2, -1, -1):
        joined = "".join(texts[first:])
        if seals.judge(joined, asked, told) == "sealed":
            return seals.opened(joined, asked), "sealed"
    return answer, verdict


def texts_of(said: Sequence[Utterance]) -> list[str]:
    """What the agent itself said last, oldest first."""
    return [one.text for one in said if one.speaker == "assistant" and not one.tool][-MOST_PARTS:]


def sealed_late(said: Sequence[Utterance], first: Seal | None, again: Seal | None) -> tuple[str, Sealed]:
    """An answer that came without its seal, after its session was asked for the seal alone.

    again: the seal of that question. What came back seals the answer where it is these two words and nothing else, or
    takes its place where it is all of it between them. Anything else leaves it as it was: unsealed.
    """
    asked = [at for at, one in enumerate(said) if one.speaker == "user" and again and seals.asks(one.text, again)]
    at = asked[-1] if asked else len(said)
    answer, verdict = whole(texts_of(said[:at]), first, "whole")
    reply = texts_of(said[at:])
    if again is None or not reply:
        return answer, verdict
    if seals.is_alone(reply[-1], again):
        return answer, "sealed" if verdict == "unsealed" else verdict
    written_anew, new_verdict = whole(reply, again, "unknown")
    return (written_anew, "sealed") if new_verdict == "sealed" else (answer, verdict)


def told_of(facts: SessionFacts, tells_cut: bool) -> seals.Told:
    """What the CLI's own end says of the last answer. The last part of one that it went on with is no whole answer."""
    return "whole" if tells_cut and stop_of(facts) == "done" and facts.cut is None else "unknown"


def stop_of(facts: SessionFacts) -> Stop:
    """How the last turn ended, by what its transcript tells."""
    if facts.error is not None:
        return "failed"
    if facts.cut_at_end is not None and not facts.went_on:
        return "cut"
    if facts.ending is not None and facts.turn_open is False:
        return facts.ending.how
    # Where the CLI does not write that a turn is over: its process has ended, so an answer was the last word.
    is_answered = facts.turn_open is None and facts.newest_kind == "assistant" and not facts.tools_in_flight
    return "done" if is_answered else "open"
