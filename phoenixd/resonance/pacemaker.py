"""The pacemaker: around any `ask(messages) -> reply`, it notices that the front of the context was lost, and restores.

Three transports on one model: `stateless` sends the seed, with a code of its own, before each request, and wants that
code in each answer; `stateful` sends an anchor at the session's start, and asks for a code now and then; `compaction`
does the same, and also after each compaction, when a miss is first answered by a new anchor.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from functools import partial

from phoenixd.documents.resonance import footer
from phoenixd.documents.resonance.session_seed import SessionSeed
from phoenixd.planting import Judged, Mode, Verdict
from phoenixd.resonance.due import Due
from phoenixd.resonance.exchange import Answer, Ask, MarkerLost, Reply, WindowExceeded
from phoenixd.resonance.records import Records
from phoenixd.resonance.session import Session, Transport, without_code

MOST_DEGRADED = 3
"""Anchors given anew after compactions, one upon the other, without a check that succeeds."""
HOUR = 3600.0


class Pacemaker:
    """One session after another with one model. draw(n): n random bytes, in hex; now: wall seconds."""

    _session: Session
    _due: Due
    _after_compaction: bool
    _degraded: int

    def __init__(
        self,
        ask: Ask,
        seed: SessionSeed,
        mode: Mode = "one_time",
        *,
        transport: Transport = "stateful",
        agent: str = "agent",
        system: str = "",
        interval: int = 10,
        codes: int = 24,
        max_per_hour: int = 2,
        footers: bool = False,
        used: Iterable[str] = (),
        draw: Callable[[int], str] = secrets.token_hex,
        now: Callable[[], float] = time.time,
    ) -> None:
        if interval < 1 or codes < 2:
            raise ValueError(
                f"interval={interval} and codes={codes}: give an interval of at least 1, and 2 codes or more"
            )
        self.records = Records(agent, seed, used, draw, now)
        self.paused = ""
        self._new: Callable[[bool], Session] = partial(
            Session, ask, self.records, mode, transport, codes, system, footers
        )
        self._interval, self._most = interval, max_per_hour
        self._restored: list[float] = []
        self._begin(restored=False)

    def turn(self, text: str, key: bool = False) -> Answer:
        """Say something and hear the answer. key: much hangs on the context being whole, so check it first.

        Raises MarkerLost where the context is lost and cannot be restored, and whatever `ask` raises.
        """
        self._refuse_if_paused()
        if key:
            self.check()
        try:
            reply, cut = self._session.ask_whole(text)
        except WindowExceeded as refusal:
            self.records.note("rejected", f"the request was refused as too long: {refusal}")
            self._begin(restored=True)
            reply, cut = self._session.ask_whole(text)
        except Exception:
            self._due = self._due.called_for("error")
            raise
        return self._ended(reply, cut)

    def check(self) -> Verdict:
        """Ask for a code now, and act on the verdict: at a loss a new session is begun from the seed."""
        self._refuse_if_paused()
        return self._acted(self._verdict())

    def seen(self, text: str) -> None:
        """The model was shown a text otherwise, such as a tool's result: codes in it prove nothing any more."""
        self._session.seen(text)

    def compacted(self) -> None:
        """The model's side replaced older messages by a summary."""
        self._session.summarised()
        self._after_compaction = True
        self._due = self._due.called_for("compaction")

    def rearm(self) -> None:
        """Begin anew after MarkerLost, once a person has looked."""
        self.paused, self._restored = "", []
        self._begin(restored=True)

    def end(self) -> None:
        """The session is over: the last checkpoint of its seed, and `ended_at` in its anchor (R51, R53)."""
        self.records.end()

    def papers(self) -> dict[str, str]:
        """The texts of anchor, seed and ledger, by the names of their files."""
        return self.records.papers()

    # --- A turn's end --------------------------------------------------------------------------------------------

    def _ended(self, reply: Reply, cut: str) -> Answer:
        self._look_at_footer(reply.text)
        if reply.compacted:
            self.compacted()
        code = self._session.code_in(reply.text)
        if code:
            return Answer(without_code(reply.text, code), self._acted("intact"), cut)
        self._due, why = self._due.turned().at_end(reply.text)
        if not why and not self._session.is_silent:
            return Answer(reply.text, None, cut)
        session = self._session
        try:
            verdict = self._acted(self._verdict())
        except WindowExceeded as refusal:
            self.records.note("rejected", f"the check was refused as too long: {refusal}")
            self._begin(restored=True)
            verdict = "unverifiable"
        return Answer(reply.text, verdict, cut, restored=self._session is not session)

    def _look_at_footer(self, text: str) -> None:
        found, persona = footer.parse(text), self.records.seed.persona
        if found is not None and found.role != persona:
            self.records.note("role_mismatch", f"the footer names the role {found.role!r}, not {persona!r}")
        elif found is not None and found.state != "Stable":
            self.records.note("state", f"the footer says {found.state}")
            self._due = self._due.called_for("footer")

    # --- A check -------------------------------------------------------------------------------------------------

    def _verdict(self) -> Verdict:
        """Ask once, and once more after a miss. After a compaction one miss is enough to give the anchor anew."""
        if not self._session.has_begun:
            return "not_applicable"
        for again in (False, True):
            judged = self._challenged(again)
            if judged is None:
                return "unverifiable"
            if judged == "intact":
                return "intact"
            self.records.note(judged, f"the answer to a check does not hold the code that was asked for: {judged}")
            if self._after_compaction and self._degraded < MOST_DEGRADED:
                return "missed"
        return "lost"

    def _challenged(self, again: bool) -> Judged | None:
        judged, reply = self._session.challenge(again)
        if reply is not None and reply.compacted:
            self.compacted()
        return judged

    def _acted(self, verdict: Verdict) -> Verdict:
        """Record a verdict, and do what follows of it."""
        if verdict == "not_applicable":
            return verdict
        self._due = self._due.checked()
        match verdict:
            case "intact":
                self._after_compaction, self._degraded = False, 0
                self.records.checkpoint()
                if self._session.is_nearly_spent:
                    self._plant_anew("the codes are spent")
            case "unverifiable":
                self._plant_anew("every code was seen elsewhere")
            case "missed":
                self._degraded += 1
                self._after_compaction = False
                self.records.failed("anchor_given_anew")
                self._session.plant(in_place=False)
                self._due = self._due.checked(again="new anchor")
                self.records.note("degraded", "a compaction dropped the codes: the anchor is given anew")
            case _:
                self._restore()
        return verdict

    def _plant_anew(self, why: str) -> None:
        self._session.plant(in_place=not self._session.is_summarised)
        self._due = self._due.checked(again="new codes")
        self.records.note("planted", f"{why}: new ones are given with the next message")

    # --- A loss --------------------------------------------------------------------------------------------------

    def _restore(self) -> None:
        """The seed's seven steps. Never the session that was cut, and only a few times within an hour."""
        now, note = self.records.now(), self.records.note
        # A clock that was set back makes no loss older than it is.
        self._restored = [at for at in self._restored if now - HOUR < at]
        self.records.failed("restoration_triggered")
        note("restore_1", "resonance anchor lost")
        if len(self._restored) >= self._most:
            self._escalate(f"it was lost {len(self._restored) + 1} times within an hour")
        self._restored.append(now)
        note("restore_2", "the session seed is read")
        self._begin(restored=True)
        note("restore_3", "a new session begins")
        note("restore_4", "persona, decisions, tasks and a new marker are given")
        note("restore_5", "a code of the new marker is asked for")
        if "intact" not in (self._challenged(again) for again in (False, True)):
            self.records.failed("escalated")
            self._escalate("a new session did not know its marker either")
        self._after_compaction = False
        self._due = self._due.checked()
        self.records.restored()

    def _escalate(self, why: str) -> None:
        self.paused = f"marker lost: {why}"
        self.records.note("restore_7", self.paused)
        self._refuse_if_paused()

    def _refuse_if_paused(self) -> None:
        if self.paused:
            raise MarkerLost(f"{self.paused}; look at .records.happened, then call .rearm()")

    def _begin(self, restored: bool) -> None:
        self._session = self._new(restored)
        self._after_compaction, self._degraded = False, 0
        self._due = Due(self._interval)
