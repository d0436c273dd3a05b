"""What a pacemaker keeps of its sessions: seed, anchor, ledger, and what happened."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from phoenixd.documents.resonance import anchor as anchors
from phoenixd.documents.resonance import ledger, session_seed
from phoenixd.documents.resonance.marker import mint, mint_codes
from phoenixd.documents.resonance.session_seed import SessionSeed
from phoenixd.documents.times import timestamp
from phoenixd.planting import CODES, Marker, Mode, Planting
from phoenixd.resonance.exchange import Happened

MOST_KEPT = 1000


class Records:
    """The papers of one agent, as values; the library's user decides where they are written."""

    anchor: anchors.Anchor

    def __init__(
        self, agent: str, seed: SessionSeed, used: Iterable[str], draw: Callable[[int], str], now: Callable[[], float]
    ) -> None:
        self.agent, self.seed, self.now = agent, seed, now
        self.given: list[ledger.Given] = []
        self.happened: list[Happened] = []
        self._used, self._draw, self._sessions = set(used), draw, 0

    def plant(self, mode: Mode, codes: int, marker: Marker | None = None) -> Planting:
        """New codes that were never used, under this marker or under a new one."""
        bearer = marker or mint(self._draw, self._used)
        self._note_given(() if marker else (bearer.code,))
        planted = mint_codes(self._draw, self._used, codes) if mode == "one_time" else ()
        self._note_given(planted)
        return Planting(bearer, planted, mode=mode)

    def begin(self, marker: Marker) -> None:
        """A session begins with this marker."""
        now = self.now()
        self._sessions += 1
        self.anchor = anchors.Anchor(marker, anchors.session_id(now, self._sessions), now)
        self.seed = replace(self.seed, marker=marker, last_checkpoint=self.seed.last_checkpoint or now)

    def marked(self, marker: Marker) -> None:
        """The session goes on with another marker."""
        self.seed, self.anchor = replace(self.seed, marker=marker), replace(self.anchor, marker=marker)

    def heard(self, *texts: str) -> None:
        """Keep what was said, without codes: a new session's seed holds none of an older one (R39)."""
        self.seed = self.seed.heard(*(CODES.sub(self._hidden, text) for text in texts))

    def checkpoint(self) -> None:
        self.anchor = self.anchor.verified(self.now(), True)
        self.seed = replace(self.seed, last_checkpoint=self.now())

    def restored(self) -> None:
        """A new session goes on; the note says from when its seed was (R50)."""
        last_good = self.seed.last_checkpoint
        self.checkpoint()
        self.note("restore_6", f"the new session goes on from the checkpoint of {timestamp(last_good or self.now())}")

    def failed(self, action: str) -> None:
        self.anchor = self.anchor.verified(self.now(), False, action)

    def end(self) -> None:
        self.seed = replace(self.seed, last_checkpoint=self.now())
        self.anchor = replace(self.anchor, ended_at=self.now())

    def note(self, kind: str, words: str) -> None:
        self.happened = [*self.happened[-MOST_KEPT:], Happened(self.now(), kind, words)]

    def papers(self) -> dict[str, str]:
        return {
            f"{anchors.key(self.agent)}.json": anchors.render_anchor(self.anchor),
            f"{session_seed.key(self.agent)}.json": session_seed.render_seed(self.seed),
            "marker_ledger.jsonl": "".join(map(ledger.line, self.given)),
        }

    def _note_given(self, codes: tuple[str, ...]) -> None:
        self._used.update(codes)
        self.given += [ledger.Given(code, self.agent, self.now()) for code in codes]

    def _hidden(self, found: re.Match[str]) -> str:
        return "[code]" if found.group().lower() in self._used else found.group()
