"""Armed answers: what the daemon told beforehand to answer a hook with. Kept while no daemon lives, gone with the run.

The shim knows no CLI: which hook, of what name, by which bytes, is data. It answers at once, counts each use before it
gives it, and tells it until the daemon has said that it is kept. An answer's time runs on the clock that steps of the
wall clock do not touch, and that stands still while the host is suspended: no agent works then either, and the daemon's
own time stands still with it.

For the hook program a mark stands in the run's directory, as long as there is an answer for that hook: only then does
it ask. The mark says nothing else; who takes it away keeps the program from asking, which the next hook shows.
"""

from __future__ import annotations

import math
import os
import stat
import time

import messages
import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from place import Place
    from reactor import Reactor

HOOKS = {"stop": "stop-blocked", "tool-start": "tool-denied", "pre-compact": "pre-compact"}
"""The hooks that can be answered so, and as what each is told to the daemon when it was."""

MOST, MOST_IDS = 8, 64
"""Answers that stand at a time, and names that are remembered in a run, so that none of them is taken anew."""
ID_LIMIT, BODY_LIMIT, TOOL_LIMIT, MOST_TOOLS, MOST_TIMES = 64, 32 * 1024, 512, 64, 1000
LONGEST = 24 * 3600.0
MOST_ENDS, END_LIMIT = 8, 16
TOLD_AGAIN = 1.0
ID_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")


class Answer:
    """One of them. noted: of how many uses the daemon has said that they are kept; -1 once it was taken back."""

    __slots__ = ("body", "id", "kind", "named", "noted", "spares", "times", "told", "tools", "until", "uses")

    def __init__(self, message: dict[str, Any]) -> None:
        """Raises messages.Malformed."""
        self.id = identifier(message)
        self.kind = messages.text(message, "kind")
        if self.kind not in HOOKS:
            raise messages.Malformed(f"kind: {self.kind[:40]!r} is no hook that can be answered beforehand")
        named = message.get("named")
        if named is not None and not isinstance(named, str):
            raise messages.Malformed("named: a text is required")
        self.named = named
        self.tools = tuple(messages.texts(message, "tools"))
        if len(self.tools) > MOST_TOOLS or any(not 0 < len(tool) <= TOOL_LIMIT for tool in self.tools):
            raise messages.Malformed("tools: too many, or one that is too long")
        self.spares = _spares(message)
        self.times = messages.number(message, "times")
        if not 1 <= self.times <= MOST_TIMES:
            raise messages.Malformed(f"times: 1 to {MOST_TIMES} are possible")
        self.until = time.monotonic() + _seconds(message)
        self.body = records.encode(messages.table(message, "body"))
        if len(self.body) > BODY_LIMIT:
            raise messages.Malformed(f"body: more than {BODY_LIMIT} bytes")
        self.uses = self.told = self.noted = 0

    @property
    def stands(self) -> bool:
        return self.uses < self.times and time.monotonic() < self.until

    @property
    def is_untold(self) -> bool:
        return self.uses > self.noted

    def fits(self, hook_input: dict[str, Any]) -> bool:
        """Whether it answers this hook. One by another name is another hook, that is only told as this kind."""
        named = hook_input.get("hook_event_name")
        if self.named is not None and isinstance(named, str) and named != self.named:
            return False
        if self.spares is not None:
            key, ends = self.spares
            words = hook_input.get(key)
            if isinstance(words, str) and words.rstrip().endswith(ends):
                return False
        return not self.tools or hook_input.get("tool_name") in self.tools


class Arming:
    """The answers of the run that lives; `tell(id, uses)` says to the daemon how often one was given."""

    def __init__(
        self, place: Place, reactor: Reactor, tell: Callable[[str, int], None], on_fault: Callable[[str], None]
    ) -> None:
        self._place = place
        self._reactor = reactor
        self._tell = tell
        self._on_fault = on_fault
        self._incarnation = 0
        self._answers: dict[str, Answer] = {}
        self._marks: set[str] = set()

    def begin(self, incarnation: int) -> None:
        """A run begins: nothing that was armed for another one is left."""
        self.end()
        self._incarnation = incarnation
        try:
            names = os.listdir(self._place.fd)
        except OSError:  # The directory was taken away; a new one has no marks.
            return
        for name in names:
            if name.startswith("armed."):
                self._unlink(name)

    def end(self) -> None:
        """The run is over."""
        self._answers = {}
        self._reactor.cancel("armed")
        self._reactor.cancel("armed told")
        self._mark()

    def arm(self, message: dict[str, Any]) -> None:
        """Take an answer, once: told again it keeps its uses, and only its end moves. Raises messages.Malformed."""
        new = Answer(message)
        known = self._answers.get(new.id)
        if known is None:
            if sum(one.stands for one in self._answers.values()) >= MOST:
                raise messages.Malformed(f"no room for one more: {MOST} stand ready already")
            self._forget_some()
            self._answers[new.id] = new
        elif known.noted >= 0:
            known.until = new.until
        self._renew()

    def disarm(self, id: str) -> None:
        """Take an answer back. Its name is remembered, so that an order that comes late does not bring it back."""
        known = self._answers.get(id)
        if known is not None:
            known.until, known.noted = 0.0, -1
        self._renew()

    def note(self, id: str, uses: int) -> None:
        """The daemon has kept the count of its uses up to this one."""
        known = self._answers.get(id)
        if known is not None and known.noted >= 0:
            known.noted = max(known.noted, min(uses, known.uses))
        self._tell_uses(again=False)

    @property
    def uses(self) -> list[dict[str, Any]]:
        """How often each was given, for a daemon that has just come and for the record of the end."""
        return [{"id": one.id, "uses": one.uses} for one in self._answers.values() if one.noted >= 0]

    def answer(self, kind: str, hook_input: dict[str, Any], waits: bool) -> bytes | None:
        """The body of the answer to this hook, which is used by that; None where there is none.

        waits: somebody takes it. What was held up once is never held up again, and a subagent's end never is.
        """
        if not self._answers or kind not in HOOKS:
            return None
        if hook_input.get("agent_id") and kind != "tool-start":
            return None
        if kind == "stop" and hook_input.get("stop_hook_active") not in (None, False):
            return None
        # A person asked for it.
        if kind == "pre-compact" and hook_input.get("trigger") == "manual":
            return None
        ready = (one for one in self._answers.values() if one.kind == kind and one.stands and one.fits(hook_input))
        found = next(ready, None)
        if found is None:
            return None
        if not waits:
            self._missed(kind)
            return None
        found.uses += 1
        self._renew()
        self._tell_uses(again=False)
        return found.body

    def _forget_some(self) -> None:
        """Of what is over, remember the newest names only."""
        over = [one.id for one in self._answers.values() if not one.stands]
        for id in over[: max(0, len(self._answers) + 1 - MOST_IDS)]:
            del self._answers[id]

    def _missed(self, kind: str) -> None:
        """A hook program did not ask, although an answer stands ready: its mark is gone, or came too late."""
        try:
            is_there = stat.S_ISREG(os.stat(self._name(kind), dir_fd=self._place.fd, follow_symlinks=False).st_mode)
        except OSError:
            is_there = False
        if not is_there:
            self._marks.discard(kind)
            self._mark()
            self._on_fault(f"the mark of the answer to {kind} was taken away; it is there again")

    def _renew(self) -> None:
        """What stands has changed: the marks, and when the next one's time is over."""
        self._mark()
        ends = [one.until for one in self._answers.values() if one.stands]
        if ends:
            self._reactor.at("armed", min(ends), self._renew)
        else:
            self._reactor.cancel("armed")

    def _tell_uses(self, again: bool) -> None:
        """Tell what is not known to be kept: at once what is new, and the rest again after a while."""
        waiting = [one for one in self._answers.values() if one.is_untold and one.noted >= 0]
        for one in waiting:
            # One report of each is under way at a time: a model that is denied again and again fills no link.
            if again or one.told <= one.noted:
                one.told = one.uses
                self._tell(one.id, one.uses)
        if waiting:
            if again or not self._reactor.waits_for("armed told"):
                self._reactor.at("armed told", time.monotonic() + TOLD_AGAIN, lambda: self._tell_uses(again=True))
        else:
            self._reactor.cancel("armed told")

    def _mark(self) -> None:
        """Have the marks say for which hooks there is an answer."""
        wanted = {one.kind for one in self._answers.values() if one.stands}
        for kind in self._marks - wanted:
            self._unlink(self._name(kind))
        for kind in wanted - self._marks:
            try:
                self._make(self._name(kind))
            except OSError as error:
                self._on_fault(f"the answer to {kind} cannot be marked: {error.strerror}")
                wanted = wanted - {kind}
        self._marks = wanted

    def _name(self, kind: str) -> str:
        return f"armed.{self._incarnation}.{kind}"

    def _make(self, name: str) -> None:
        self._unlink(name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(name, flags, 0o600, dir_fd=self._place.fd))

    def _unlink(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._place.fd)
        except OSError:  # It is gone, or a directory that an agent made.
            return


def identifier(message: dict[str, Any]) -> str:
    """The name of an answer; raises messages.Malformed."""
    id = messages.text(message, "id")
    if len(id) > ID_LIMIT or not ID_CHARACTERS.issuperset(id):
        raise messages.Malformed(f"id: 1 to {ID_LIMIT} letters, digits, dashes, dots or underscores are required")
    return id


def _spares(message: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """A field of the hook's input, and how a text there ends with which the hook is let pass. Raises Malformed."""
    if message.get("spares") is None:
        return None
    told = messages.table(message, "spares")
    key, ends = messages.text(told, "key"), tuple(messages.texts(told, "ends"))
    if len(ends) > MOST_ENDS or any(not 0 < len(end) <= END_LIMIT for end in ends):
        raise messages.Malformed("spares: too many ends, or one that is too long")
    return key, ends


def _seconds(message: dict[str, Any]) -> float:
    value = message.get("seconds")
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        raise messages.Malformed("seconds: a number is required")
    if not 0 < value <= LONGEST:
        raise messages.Malformed(f"seconds: more than 0 and at most {LONGEST:.0f} are possible")
    return float(value)
