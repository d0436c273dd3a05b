"""What stands in the journal's tables: values of the ports as rows and back. Nothing here touches a file.

SQLite checks the structure of its pages and the frames of its log, not the content of a page at rest: a flipped bit in
a text is a valid text. So every row carries a checksum over what it says, and a row that fails it is not believed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from phoenixd.core.agent import Agent
from phoenixd.core.facts import Fact
from phoenixd.documents.codec import Undecodable, decode, dump_agent, encode
from phoenixd.ports import Batch, Entry, StoredEntry

DETAIL_MARK = '[["#weight","detail"]'
"""How the readings of an entry begin that is no story; an entry that nobody weighed is one."""
DETAIL_LIMIT = 64 * 1024
"""Bytes of JSON that an entry's detail may take; what agents say is cut, marked, and never refused."""
REASON_LIMIT = 4096

WEIGHT_KEY, FACTS_KEY = "#weight", "#facts"
"""Names among an entry's readings under which its weight and facts stand.

A column of their own would be another schema; a version before these reads them as two readings more.
"""

Row = tuple[Any, ...]
FACT: Any = Fact


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One row of the incarnations table: a run from its spawn to its end. Times are wall seconds."""

    agent: str
    incarnation: int
    run_id: str | None = None
    mode: str | None = None
    session_id: str | None = None
    began_wall: float | None = None
    ended_wall: float | None = None
    code: int | None = None
    signal: int | None = None
    cause: str | None = None
    reason: str | None = None

    def merged(self, known: Incarnation | None) -> Incarnation:
        """This row, completed by what was known; an end that was written is not rewritten."""
        if known is None:
            return self
        began = known if self.run_id is None else self
        ended = self if known.ended_wall is None else known
        return Incarnation(
            self.agent, self.incarnation, began.run_id, began.mode, began.session_id, began.began_wall,
            ended.ended_wall, ended.code, ended.signal, ended.cause, ended.reason,
        )  # fmt: skip

    @property
    def columns(self) -> Row:
        return (
            self.agent, self.incarnation, self.run_id, self.mode, self.session_id, self.began_wall,
            self.ended_wall, self.code, self.signal, self.cause, self.reason,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class BatchRows:
    """A batch in the form in which it is written; made on the caller's side, so that only SQLite can fail later."""

    entries: tuple[Row, ...]
    agents: tuple[Row, ...]
    removed: tuple[tuple[str, int], ...]
    incarnations: tuple[Incarnation, ...]
    saved: str
    at: float
    epoch: int = 0
    after_row: int = 0


def batch_rows(batch: Batch) -> BatchRows:
    """Render a batch."""
    return BatchRows(
        entries=tuple(_entry_columns(entry) for entry in batch.entries),
        agents=tuple(sealed("agents", agent.name, dump_agent(agent)) for agent in batch.changed),
        removed=batch.removed,
        incarnations=tuple(incarnations_of(batch)),
        saved=json.dumps(
            {"at": batch.at, "wall": batch.wall, "next_item": batch.next_item, "alerts": encode(batch.alerts)}
        ),
        at=batch.at,
        epoch=batch.epoch,
        after_row=batch.after_row,
    )


def sealed(table: str, *columns: Any) -> Row:
    """A row with its checksum in the last place; the table counts, for whole pages can end up in another one."""
    return (*columns, checksum(table, columns))


def unsealed(table: str, row: Row) -> Row | None:
    """The row without its checksum; None when it does not say what was written into that table."""
    return row[:-1] if checksum(table, row[:-1]) == row[-1] else None


def sealed_entry(seq: int, columns: Row) -> Row:
    """An entry's row under its number."""
    return sealed("entries", seq, *columns)


def stored_entry(row: Row) -> StoredEntry | None:
    """The entry of a row; None when it is damaged."""
    columns = unsealed("entries", row)
    if columns is None:
        return None
    seq, at, wall, agent, incarnation, event, detail, state, reason, readings, actions = columns
    pairs = json.loads(readings)
    own = {name: value for name, value in pairs if name in (WEIGHT_KEY, FACTS_KEY)}
    return StoredEntry(
        seq,
        Entry(
            at, wall, agent, incarnation, event, json.loads(detail), state, reason,
            tuple((name, value) for name, value in pairs if name not in own), tuple(json.loads(actions)),
            own.get(WEIGHT_KEY, "story"), tuple(_known_facts(own.get(FACTS_KEY, []))),
        ),
    )  # fmt: skip


def incarnations_of(batch: Batch) -> Iterable[Incarnation]:
    """What a batch says about runs: where the changed agents stand now, and how their newest run ended."""
    for agent in batch.changed:
        if agent.run is not None:
            run = agent.run
            yield Incarnation(
                agent.name, run.incarnation, storable(run.run_id), run.mode.value, storable(run.session_id),
                float(run.began_wall),
            )  # fmt: skip
        if agent.last_exit is not None:
            end = agent.last_exit
            yield Incarnation(
                agent.name, end.incarnation, ended_wall=float(end.at_wall), code=_integer(end.code),
                signal=_integer(end.signal), cause=storable(end.told), reason=_reason_of_end(agent, batch),
            )  # fmt: skip


def checksum(table: str, columns: Iterable[Any]) -> int:
    """CRC-32 of table and columns as JSON: the same text in every version of Python, which repr() is not."""
    return crc32(json.dumps([table, *columns], default=repr).encode())


def storable(text: str) -> str:
    """Text as SQLite can take it: lone surrogates, which an agent can send, are written out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def bounded(detail: dict[str, Any]) -> str:
    """Render an entry's detail within DETAIL_LIMIT; long values become {"truncated": bytes, "head": text}."""
    text = _json(detail)
    if len(text) <= DETAIL_LIMIT:
        return text
    share = DETAIL_LIMIT // 16
    text_shortened = _json({key: _shortened(value, share) for key, value in detail.items()})
    if len(text_shortened) <= DETAIL_LIMIT:
        return text_shortened
    # Escaping JSON inside JSON at most doubles it.
    return _json({"truncated": len(text), "head": text[: DETAIL_LIMIT // 2 - 64]})


def _entry_columns(entry: Entry) -> Row:
    return (
        float(entry.at),
        float(entry.wall),
        entry.agent,
        entry.incarnation,
        entry.event,
        bounded(entry.detail),
        entry.state,
        storable(entry.reason[:REASON_LIMIT]),
        _json([*_own_readings(entry), *entry.readings]),
        _json(entry.actions),
    )


def _own_readings(entry: Entry) -> Iterable[tuple[str, Any]]:
    yield WEIGHT_KEY, entry.weight
    if entry.facts:
        yield FACTS_KEY, encode(entry.facts)


def _known_facts(stored: Iterable[Any]) -> Iterable[Fact]:
    for one in stored:
        try:
            yield decode(FACT, one)
        except Undecodable:
            continue  # A newer version knows more of them.


def _reason_of_end(agent: Agent, batch: Batch) -> str:
    assert agent.last_exit is not None
    reasons = [
        e.reason for e in batch.entries if e.agent == agent.name and e.incarnation == agent.last_exit.incarnation
    ]
    return storable((reasons[-1] if reasons else agent.reason)[:REASON_LIMIT])


def _shortened(value: Any, limit: int) -> Any:
    text = _json(value)
    if len(text) <= limit:
        return value
    head = value if isinstance(value, str) else text
    return {"truncated": len(text), "head": head[: limit // 2]}


def _integer(number: int | None) -> int | None:
    # An exit record is a file that an agent can reach, and SQLite holds 64 bits.
    return number if number is None or -(2**63) <= number < 2**63 else None


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)
