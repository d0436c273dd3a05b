"""One session with a model: what is sent, where the codes stand in it, and what an answer to a check proves."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from phoenixd.documents.resonance.session_seed import seed_text
from phoenixd.planting import Judged, Mode, Planting, anchor_text, challenge_text
from phoenixd.resonance.conversation import Conversation
from phoenixd.resonance.exchange import GO_ON, Ask, Reply, cut_by, reply_of
from phoenixd.resonance.records import Records

Transport = Literal["stateless", "stateful", "compaction"]


class Session:
    """restored: it begins with the seed, as the one before it was lost."""

    def __init__(
        self,
        ask: Ask,
        records: Records,
        mode: Mode,
        transport: Transport,
        codes: int,
        system: str,
        footers: bool,
        restored: bool,
    ) -> None:
        self.is_silent = transport == "stateless"
        """Each answer has to hold a code, and is checked without a word."""
        self._ask, self._records, self._mode, self._system, self._footers = ask, records, mode, system, footers
        self._codes = 1 if self.is_silent else codes
        planting = records.plant(mode, self._codes)
        records.begin(planting.marker)
        self._seed = records.seed if restored else None
        self._talk = Conversation(planting)

    @property
    def planting(self) -> Planting:
        return self._talk.planting

    @property
    def has_begun(self) -> bool:
        return bool(self._talk.said)

    @property
    def is_summarised(self) -> bool:
        return self._talk.summarised

    @property
    def is_nearly_spent(self) -> bool:
        """Two codes have to be left after a check: one to be asked for, and one to be asked for once more."""
        return not self.is_silent and self._mode == "one_time" and len(self.planting.unspent()) < 2

    def ask_whole(self, text: str) -> tuple[Reply, str]:
        """The answer to a text. One that was cut is gone on with once; the word is what cut it even so."""
        self.seen(text)
        if self.is_silent:
            self.plant(in_place=True)
        tag = f"\n{_tag(self.planting)}" if self.is_silent else ""
        reply, cut = self._send(text + tag), ""
        if cut_by(reply):
            self._records.note("cut", f"the answer was cut: {reply.finish}")
            begun = self._talk.heard("user", text).heard("assistant", reply.text)
            rest = reply_of(self._ask(begun.request(self._system, self._front(), GO_ON + tag)))
            cut = cut_by(rest)
            reply = replace(rest, text=reply.text + rest.text, compacted=reply.compacted or rest.compacted)
        self._asked = self.planting
        self._talk = self._talk.heard("user", text).heard("assistant", reply.text)
        self._records.heard(text, reply.text)
        return reply, cut

    def code_in(self, text: str) -> str:
        """The code that this answer had to hold, where it does; empty otherwise."""
        if not self.is_silent:
            return ""
        number = 1 if self._asked.codes else 0
        return self._asked.code(number) if self._asked.judge(number, text) == "intact" else ""

    def challenge(self, again: bool) -> tuple[Judged | None, Reply | None]:
        """Ask for a code that proves something; nothing where there is none left."""
        if self.is_silent:
            self.plant(in_place=True)
        asked = self.planting
        if not asked.unspent():
            return None, None
        # The first that is left: a truncator that cuts within the anchor takes it before the others.
        number = asked.unspent()[0]
        question = challenge_text(number, self._records.seed.persona, again)
        self._talk = replace(self._talk, planting=asked.asked(number))
        reply = self._send(question)
        self._talk = self._talk.heard("user", question).heard("assistant", reply.text)
        return asked.judge(number, reply.text), reply

    def plant(self, in_place: bool) -> None:
        """New codes where the old ones stand; or new codes and a new marker in the next message."""
        marker = self.planting.marker if in_place else None
        planting = self._records.plant(self._mode, self._codes, marker)
        self._talk = self._talk.replanted(planting, in_place)
        self._records.marked(planting.marker)

    def seen(self, text: str) -> None:
        self._talk = replace(self._talk, planting=self.planting.seen(text))

    def summarised(self) -> None:
        self._talk = replace(self._talk, summarised=True)

    def _front(self) -> str:
        """What stands in front of the message where the codes were planted."""
        if self.is_silent:
            return seed_text(self._records.seed, self.planting)
        if self._seed is not None:
            return seed_text(self._seed, self.planting)
        return anchor_text(self.planting, self._records.seed.persona, footer=self._footers)

    def _send(self, text: str) -> Reply:
        return reply_of(self._ask(self._talk.request(self._system, self._front(), text)))


def without_code(text: str, code: str) -> str:
    """An answer without the code on its last line."""
    front, _, last = text.rstrip().rpartition("\n")
    return front.rstrip() if last.strip(" `*.").lower() == code else text


def _tag(planting: Planting) -> str:
    what = "resonance code number 1" if planting.codes else "the code of the resonance marker"
    return f"[Resonance check: write {what} from the seed alone on the last line of your answer]"
