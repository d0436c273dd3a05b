"""memory/: anchor, session seed and ledger of every agent's marker, written before the agent is told any of it (R45).

Blocking, for threads; one caller at a time. What stands there is in reach of agents: what is torn, empty or another
agent's is made anew from what the daemon knows, and the paper says so for as long as that marker lives.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from phoenixd.documents.resonance import anchor as anchors
from phoenixd.documents.resonance import ledger
from phoenixd.documents.resonance import session_seed as seeds
from phoenixd.documents.resonance.anchor import Anchor, parse_anchor, render_anchor
from phoenixd.documents.resonance.ledger import Given
from phoenixd.documents.resonance.marker import mint, mint_codes
from phoenixd.documents.resonance.reading import MOST_BYTES
from phoenixd.documents.resonance.session_seed import SessionSeed, parse_seed, render_seed
from phoenixd.documents.times import utc_date
from phoenixd.errors import FileUnreadable, PhoenixdError, UnsafeFile
from phoenixd.memory.aside import AsideFiles
from phoenixd.memory.files import Files
from phoenixd.memory.log_files import signature
from phoenixd.planting import Marker, Mode, Planting

DIRECTORY = "memory"
LEDGER = "marker_ledger.jsonl"
LEDGER_LIMIT = 256 << 20
"""Bytes of a ledger that are read: three million codes. Beyond, nothing is minted that could not be checked."""

AGENT, SESSION, BEFORE, REBUILT = "agent", anchors.SESSION, "predecessor", "rebuilt_from"
"""Keys of ours in an anchor, beside the seed's."""

Source = Literal["state", "transcript"]
Paper = TypeVar("Paper", Anchor, SessionSeed)


@dataclass(slots=True)
class MarkerPapers:
    """The papers of all agents' markers. notes: by agent what was wrong with them, until somebody takes it."""

    directory: Path
    files: Files
    draw: Callable[[int], str] = secrets.token_hex
    notes: list[tuple[str, str]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _used: set[str] = field(default_factory=set)
    _looked: tuple[int, ...] = (-1,)
    """How the ledger looked when it was read or written last."""
    _given: list[Given] = field(default_factory=list)
    """What this daemon gave: it stays used, whatever becomes of the file."""
    _of_agent: dict[str, set[str]] = field(default_factory=dict)
    """The same by agent: it is asked for at each turn's end, when the ledger may hold the codes of years."""

    @classmethod
    def below(cls, state: Path, files: Files) -> MarkerPapers:
        return cls(state / DIRECTORY, AsideFiles(files))

    def plant(self, name: str, session: str, mode: Mode, count: int, seed: SessionSeed, now: float) -> Planting:
        """A new marker with new codes, once ledger, anchor and seed hold it. Raises OSError and PhoenixdError."""
        with self._lock:
            self.files.ensure_private_dir(self.directory)
            self._look_at_ledger()
            marker = mint(self.draw, self._used)
            codes = mint_codes(self.draw, self._used | {marker.code}, count) if mode == "one_time" else ()
            self._give((marker.code, *codes), name, now)
            self._put_anchor(name, marker, session, now, {})
            self._put_seed(name, replace(seed, marker=marker), now)
            return Planting(marker, codes, mode=mode)

    def mint(self, phrase: str | None, now: float) -> Marker:
        """A marker for the caller; raises PhraseRefused, OSError and PhoenixdError."""
        with self._lock:
            self.files.ensure_private_dir(self.directory)
            self._look_at_ledger()
            marker = mint(self.draw, self._used, phrase)
            self._give((marker.code,), "", now)
            return marker

    def anchor(self, name: str) -> Anchor | None:
        """The anchor of an agent; None where there is none that can be believed, which is noted."""
        return self._read(anchors.key(name), name, parse_anchor)

    def seed(self, name: str) -> SessionSeed | None:
        """The seed of an agent's session; None where there is none that can be believed, which is noted."""
        return self._read(seeds.key(name), name, parse_seed)

    def keep(self, name: str, marker: Marker, session: str, now: float, source: Source = "state") -> Anchor:
        """The anchor of this marker as it stands, or made anew where that is lost."""
        with self._lock:
            found = self.anchor(name)
            if found is not None and found.marker == marker:
                return found
            self.files.ensure_private_dir(self.directory)
            self._look_at_ledger()
            if marker.code not in self._used:
                self._give((marker.code,), name, now)
            if found is not None and found.others.get(SESSION) != session:
                # Another generation of the seat, or a session of before, bore that one.
                return self._put_anchor(name, marker, session, now, {})
            what = "holds another marker" if found is not None else "is lost"
            self._note((name, f"{anchors.key(name)}.json {what}; it was made anew from the {source}"))
            return self._put_anchor(name, marker, session, now, {REBUILT: source})

    def write(self, name: str, anchor: Anchor) -> None:
        with self._lock:
            self._replace(anchors.key(name), render_anchor(anchor))

    def checkpoint(self, name: str, seed: SessionSeed, now: float) -> None:
        """Bring the seed up to date; keys that are not ours stay (R34)."""
        with self._lock:
            self.files.ensure_private_dir(self.directory)
            self._put_seed(name, seed, now)

    def hexes(self, name: str) -> frozenset[str]:
        """All codes that an agent was ever given, as far as the ledger was read."""
        with self._lock:
            self._look_at_ledger()
            return frozenset(self._of_agent.get(name, ()))

    def _note(self, told: tuple[str, str]) -> None:
        if told not in self.notes:
            self.notes.append(told)

    def take_notes(self) -> list[tuple[str, str]]:
        told, self.notes = self.notes, []
        return told

    def _put_anchor(self, name: str, marker: Marker, session: str, now: float, more: Mapping[str, Any]) -> Anchor:
        before = self.anchor(name)
        kept = before.others if before is not None else {}
        kept = {key: one for key, one in kept.items() if key not in (BEFORE, REBUILT)}
        others = {**kept, AGENT: name, SESSION: session, **more}
        if before is not None and before.others.get(SESSION) == session and before.ended_at is None:
            # The same session under a new marker: its checks go on.
            made = replace(before, marker=marker, created_at=now, others=others)
        else:
            if before is not None:
                others[BEFORE] = {"marker": str(before.marker), "session_id": before.session_id}
            made = Anchor(marker, anchors.session_id(now, _sequence(before, now)), now, others=others)
        self._replace(anchors.key(name), render_anchor(made))
        return made

    def _put_seed(self, name: str, seed: SessionSeed, now: float) -> None:
        before = self.seed(name)
        others = {**(before.others if before is not None else {}), **seed.others, AGENT: name}
        self._replace(seeds.key(name), render_seed(replace(seed, last_checkpoint=now, others=others)))

    def _look_at_ledger(self) -> None:
        path = self.directory / LEDGER
        seen = signature(path)
        if seen == self._looked:
            return
        try:
            content = self.files.read_plain(path, LEDGER_LIMIT)
        except FileNotFoundError:
            content = b""
        except FileUnreadable as error:
            why = f"{path} cannot be read, so no code can be given: {error.message}"
            raise PhoenixdError(why, "phoenixctl doctor") from error
        rows, torn = ledger.read(content.decode("utf-8", "replace").split("\n"))
        known = {one.code for one in rows}
        lost = [one for one in self._given if one.code not in known]
        self._used |= known
        self._given = [*rows, *lost]
        self._of_agent = {}
        self._sort(self._given)
        if torn:
            self._note(("", f"{torn} lines of {LEDGER} are torn; what they gave is not known"))
        if lost:
            self._note(("", f"{len(lost)} codes were missing in {LEDGER}, and were written again"))
            self._append(lost)
        self._looked = signature(path)

    def _give(self, codes: Iterable[str], name: str, now: float) -> None:
        given = [Given(code, name, now) for code in codes]
        self._append(given)
        self._given += given
        self._sort(given)
        self._used.update(one.code for one in given)
        self._looked = signature(self.directory / LEDGER)

    def _sort(self, given: Iterable[Given]) -> None:
        for one in given:
            self._of_agent.setdefault(one.agent, set()).add(one.code)

    def _append(self, given: list[Given]) -> None:
        for number, one in enumerate(given, 1):
            line = ledger.line(one).rstrip("\n").encode()
            # One wait for the disk makes all lines before it durable as well.
            self.files.append(self.directory / LEDGER, line, durable=number == len(given))

    def _replace(self, key: str, text: str) -> None:
        self.files.replace(self._place(key), text.encode("utf-8", "replace"))

    def _place(self, key: str) -> Path:
        return self.directory / f"{key}.json"

    def _read(self, key: str, name: str, parse: Callable[[str], Paper | None]) -> Paper | None:
        path = self._place(key)
        text = self._text(path, name)
        found = parse(text) if text is not None else None
        if text is not None and found is None:
            self._note((name, f"{path.name} is {'torn' if text.strip() else 'empty'}"))
        if found is not None and found.others.get(AGENT, name) != name:
            self._note((name, f"{path.name} is another agent's"))
            return None
        return found

    def _text(self, path: Path, name: str) -> str | None:
        try:
            return self.files.read_plain(path, MOST_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        except FileUnreadable:
            raise
        except UnsafeFile as error:
            self._note((name, error.message))
            return None


def _sequence(before: Anchor | None, now: float) -> int:
    """Which session of its day begins now."""
    day, _, number = (before.session_id if before is not None else "").rpartition("-")
    is_today = day == utc_date(now).isoformat() and number.isdecimal()
    return int(number) + 1 if is_today else 1
