"""What CLIs write down of a session: implements ports.Transcripts. Agents can write these files, and whatever stands in
them, reading one raises nothing, waits for nobody and takes bounded time and memory. Where a disk does not answer, what
is read on the loop tells what it tells of a file that is not there, after PATIENCE seconds and from then on at once."""

from __future__ import annotations

import glob
import os
import re
import stat
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol, TypeVar

from phoenixd.bounded_reads import BoundedReads
from phoenixd.core.agent import Agent
from phoenixd.documents.conversation import Conversation, Utterance
from phoenixd.documents.conversation_end import DEFAULT_BUDGET
from phoenixd.documents.json_line import parse_line
from phoenixd.documents.kept_ledger import KeptLedger
from phoenixd.documents.report.facts import Witness
from phoenixd.documents.resonance.heard import Passed
from phoenixd.documents.session_facts import SessionFacts
from phoenixd.documents.times import read_time
from phoenixd.documents.transcript import TranscriptForm, Used
from phoenixd.documents.turn_rows import TurnRow
from phoenixd.drivers.transcripts.held import Held
from phoenixd.drivers.transcripts.ledger import LedgerTail
from phoenixd.drivers.transcripts.lines import open_lines
from phoenixd.drivers.transcripts.log import Looks, TranscriptLog
from phoenixd.drivers.transcripts.passing import PassingTail
from phoenixd.drivers.transcripts.sidechains import sidechains
from phoenixd.drivers.transcripts.tail import TranscriptTail, end_facts, newest_usage
from phoenixd.drivers.transcripts.talk import TalkTail
from phoenixd.drivers.transcripts.task_files import read_tasks
from phoenixd.drivers.transcripts.turns import newest_turns
from phoenixd.drivers.transcripts.whose_word import whose_word
from phoenixd.drivers.transcripts.witness import TIME_LIMIT as WITNESS_LIMIT
from phoenixd.drivers.transcripts.witness import read_witness
from phoenixd.errors import NoAnswer
from phoenixd.harness import HARNESSES
from phoenixd.harness.shape import PermissionTold
from phoenixd.listings import newest_matching
from phoenixd.ports.evidence import AnswerGiven
from phoenixd.terrain import TERRAIN

QUEUE_LIMIT = 16 << 20
"""Bytes in which prompts that were put off are looked for."""

ANSWER_LIMIT = 64 << 20
"""Bytes in which it is looked for what became of an answer."""

MOST_LEDGERS = 16
"""Ledgers that are held in memory; the others go on from what was kept of them."""

MOST_TALKS = 16
"""Ends of conversations that are held in memory; of the others the end is read anew."""

MOST_WORDS = 256
"""The same, of talks whose last words alone are wanted; each holds WORDS_BUDGET characters at most."""
WORDS_BUDGET = 8_000

MOST_AGENTS = 4000
"""Agents whose place in a transcript is held: more than live at a time, for workers come and go by the thousand."""

MOST_SLICES = 128
"""Slices of one reading; where a transcript is longer, the next reading goes on."""

ENDS_AT_ONCE = 16
"""Looks at ended runs that read at the same time: of those that hang no more are ever there."""
END_WAIT = 0.3
"""Seconds for which such a look waits for its turn."""

MOST_FILES = 64
"""Transcripts of one session's subagents that are believed to be its."""

PATIENCE = 20.0
"""Seconds that a reading of one agent's files is waited for: a long transcript takes some on a slow disk."""

T = TypeVar("T")


class TranscriptFiles:
    """The transcripts of all agents. `path_of`: path or glob of the file that an agent's session writes, if known."""

    def __init__(self, path_of: Callable[[Agent], str | None]) -> None:
        self._path_of = path_of
        self._tails: Held[str, TranscriptTail] = Held(MOST_AGENTS)
        self._ledgers: Held[tuple[str, str], LedgerTail] = Held(MOST_LEDGERS)
        self._talks: Held[tuple[str, str], TalkTail] = Held(MOST_TALKS)
        self._words: Held[str, TalkTail] = Held(MOST_WORDS)
        self._passing: Held[str, PassingTail] = Held(MOST_AGENTS)
        self._reads = BoundedReads()
        self._looks = Looks(self._form_and_file)
        self._ends = threading.BoundedSemaphore(ENDS_AT_ONCE)

    def log(self, clean: Callable[[str, str], str]) -> TranscriptLog:
        """A new reader of what all transcripts say. clean: takes the secrets of an agent out of a text."""
        return TranscriptLog(self._looks, clean)

    async def turns(self, agent: Agent, most: int, clean: Callable[[str], str]) -> list[TurnRow]:
        """The newest turns of the session's main thread, the oldest of them first."""
        return await self._read(agent, lambda: self._turns(agent, most, clean), [])

    async def file(self, agent: Agent) -> str | None:
        """Where the agent's session is written; None where no file is there, or its disk does not answer."""
        return await self._read(agent, lambda: self._file(agent), None)

    async def end(self, agent: Agent) -> int:
        return await self._read(agent, lambda: _size(self._file(agent)), 0)

    async def ends(self, agent: Agent) -> dict[str, int]:
        return await self._read(agent, lambda: {path: _size(path) for path in self._files(agent)}, {})

    async def answer_counted(self, agent: Agent, given: AnswerGiven) -> bool | None:
        return await self._read(agent, lambda: self._answer_counted(agent, given), None)

    async def queued(self, agent: Agent, after: int) -> tuple[str, ...]:
        return await self._read(agent, lambda: self._queued(agent, after), ())

    async def facts(self, agent: Agent) -> SessionFacts | None:
        return await self._read(agent, lambda: self._facts(agent), None)

    async def usage(self, agent: Agent) -> Used | None:
        """As `usage_now`, for callers on the loop."""
        return await self._read(agent, lambda: self.usage_now(agent), None)

    async def ledger(
        self, agent: Agent, kept: Callable[[], Awaitable[KeptLedger | None]], clean: Callable[[str], str]
    ) -> KeptLedger | None:
        form = _form(agent)
        path = await self._read(agent, lambda: self._file(agent), None) if form is not None else None
        if path is None or form is None:
            return None
        before = None if (agent.name, path) in self._ledgers else await kept()
        # The first reading of a long session takes seconds: others get their turn between its slices.
        for _ in range(MOST_SLICES):
            if not await self._read(agent, lambda: self._hear_slice(agent.name, path, form, before), False):
                break
        return await self._read(agent, lambda: self._kept(agent.name, path, form, clean), None)

    async def conversation(self, agent: Agent, budget: int = DEFAULT_BUDGET) -> Conversation | None:
        return await self._read(agent, lambda: self._conversation(agent, budget), None)

    async def witness(self, agent: Agent, until: float) -> Witness:
        """What the session's transcripts tell of calls up to a moment (wall seconds), sidechains included."""
        hung = Witness(gaps=("the transcript could not be read in time",))
        return await self._read(agent, lambda: self._witness(agent, until), hung, WITNESS_LIMIT)

    async def _read(self, agent: Agent, read: Callable[[], T], otherwise: T, beyond: float = 0.0) -> T:
        """beyond: seconds for which that reading is waited for longer than for others."""
        try:
            return await self._reads.of(f"the transcript of {agent.name}", read, PATIENCE + beyond)
        except NoAnswer:
            return otherwise

    def facts_now(self, agent: Agent) -> SessionFacts | None:
        """As `facts`, for callers in a thread that serves other agents as well: waits for no disk that hangs."""
        return None if _form(agent) is None or self._hangs(agent) else self._facts(agent)

    def _facts(self, agent: Agent) -> SessionFacts | None:
        path, form = self._file(agent), _form(agent)
        if path is None or form is None:
            return None
        with self._tails.of(agent.name, _of(path, form), lambda: TranscriptTail(path, form)) as tail:
            return tail.facts()

    def end_now(self, agent: Agent) -> SessionFacts | None:
        if not self._ends.acquire(timeout=END_WAIT):
            return None
        try:
            place = self._form_and_file(agent)
            return end_facts(*place) if place is not None else None
        finally:
            self._ends.release()

    def passed_now(self, agent: Agent, words: re.Pattern[bytes]) -> tuple[Passed, ...]:
        """What of the session's main thread holds one of these words, since this was last asked. Blocking."""
        path, form = self._file(agent), _form(agent)
        if path is None or form is None:
            return ()
        with self._passing.of(agent.name, _of(path, form), lambda: PassingTail(path, form)) as tail:
            return tail.passed(words)

    def _hear_slice(self, name: str, path: str, form: TranscriptForm, kept: KeptLedger | None) -> bool:
        with self._ledger(name, path, form, kept) as tail:
            return tail.read_slice()

    def _kept(self, name: str, path: str, form: TranscriptForm, clean: Callable[[str], str]) -> KeptLedger | None:
        rows, is_whole = read_tasks(form.task_directory(path), form)
        with self._ledger(name, path, form, None) as tail:
            tail.take_tasks(rows, is_whole=is_whole)
            return tail.kept(clean) if tail.is_known else None

    def _ledger(
        self, name: str, path: str, form: TranscriptForm, kept: KeptLedger | None
    ) -> AbstractContextManager[LedgerTail]:
        """The ledger that is held, or one that goes on from what was kept."""
        going_on = partial(LedgerTail.going_on, path, form, kept)
        return self._ledgers.of((name, path), lambda held: held.form is form, going_on)

    def _witness(self, agent: Agent, until: float) -> Witness:
        path = self._file(agent)
        return read_witness((path,) if path is not None else (), agent.spec.harness, _form(agent), until)

    def _turns(self, agent: Agent, most: int, clean: Callable[[str], str]) -> list[TurnRow]:
        place = self._form_and_file(agent)
        return newest_turns(*place, most, clean) if place is not None else []

    def usage_now(self, agent: Agent) -> Used | None:
        path, form = self._file(agent), _form(agent)
        return newest_usage(path, form) if path is not None and form is not None else None

    def _conversation(self, agent: Agent, budget: int) -> Conversation | None:
        path, form = self._file(agent), _form(agent)
        if path is None or form is None:
            return None

        def fits(held: TalkTail) -> bool:
            return held.form is form and held.budget == budget

        with self._talks.of((agent.name, path), fits, lambda: TalkTail(path, form, budget)) as talk:
            return talk.conversation()

    def last_words_now(self, agent: Agent) -> tuple[str, float | None] | None:
        """What the agent said last, and when (wall); None where no transcript tells. Answers to checks are no words.

        Blocking."""
        path, form = self._file(agent), _form(agent)
        if path is None or form is None:
            return None
        with self._words.of(agent.name, _of(path, form), lambda: TalkTail(path, form, WORDS_BUDGET)) as talk:
            found = talk.conversation()
        said = found.utterances if found is not None else ()
        newest = next((one for one in reversed(said) if _is_word(one)), None)
        return (newest.text, read_time(newest.at)) if newest is not None else None

    def _answer_counted(self, agent: Agent, given: AnswerGiven) -> bool | None:
        harness = HARNESSES.get(agent.spec.harness)
        tells = harness.permission_told if harness is not None else None
        paths = self._files(agent)
        if not paths or (given.allow and tells is None):
            return True  # Nothing of the kind is ever written, so its absence means nothing.
        said: list[PermissionTold] = []
        for path in paths:
            with open_lines(path) as lines:
                begin = given.after.get(path, 0)
                for line in lines.forwards(begin) if lines is not None else ():
                    if line.start - begin > ANSWER_LIMIT:
                        break
                    if tells is None and given.mark.encode() in line.content:
                        return True
                    record = parse_line(line.content) if tells is not None and not line.is_clipped else None
                    said += tells(record) if tells is not None and record is not None else ()
        return whose_word(given, said)

    def _queued(self, agent: Agent, after: int) -> tuple[str, ...]:
        path, harness = self._file(agent), HARNESSES.get(agent.spec.harness)
        if path is None or harness is None:
            return ()
        found: list[str] = []
        with open_lines(path) as lines:
            for line in lines.forwards(after) if lines is not None else ():
                if line.start - after > QUEUE_LIMIT:
                    break
                record = parse_line(line.content) if not line.is_clipped else None
                if record is not None and (prompt := harness.queued_prompt(record)) is not None:
                    found.append(prompt)
        return tuple(found)

    def _form_and_file(self, agent: Agent) -> tuple[str, TranscriptForm] | None:
        path, form = self._file(agent), _form(agent)
        return (path, form) if path is not None and form is not None else None

    def _files(self, agent: Agent) -> list[str]:
        """The session's file, and those that its subagents write."""
        path = self._file(agent)
        if path is None:
            return []
        return [path, *sidechains(path, MOST_FILES)]

    def _hangs(self, agent: Agent) -> bool:
        """Whether what has to be looked into for the session's file, or the file itself, does not answer."""
        if TERRAIN.is_directory(agent.spec.cwd) is None:
            return True
        path = self._path_of(agent)
        return path is not None and TERRAIN.is_there(path) is None

    def _file(self, agent: Agent) -> str | None:
        """The file that the path means: of several that a glob finds, the one that was written last."""
        path = self._path_of(agent)
        if path is None or os.path.lexists(path) or not glob.has_magic(path):
            return path
        return next(iter(newest_matching(path, 1)), None)


def _form(agent: Agent) -> TranscriptForm | None:
    harness = HARNESSES.get(agent.spec.harness)
    return harness.transcript_form if harness is not None else None


class _OfFile(Protocol):
    @property
    def path(self) -> str: ...

    @property
    def form(self) -> TranscriptForm: ...


def _of(path: str, form: TranscriptForm) -> Callable[[_OfFile], bool]:
    return lambda held: held.path == path and held.form is form


def _is_word(one: Utterance) -> bool:
    return one.speaker == "assistant" and not one.tool and bool(one.text.strip())


def _size(path: str | None) -> int:
    found = _look(path)
    return found.st_size if found is not None else 0


def _look(path: str | None) -> os.stat_result | None:
    try:
        found = os.stat(path, follow_symlinks=False) if path is not None else None
    except (OSError, ValueError):
        return None
    return found if found is not None and stat.S_ISREG(found.st_mode) else None
