"""What stands in the journal's tables: values of the ports as rows and back. Nothing here touches a file.

SQLite checks the structure of its pages and the frames of its log, not the content of a page at rest: a flipped bit in
a text is a valid text. So every row carries a checksum over what it says, and a row that fails it is not believed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from phoenixd.core.facts import Fact, HandoffEnded, MarkerNoted
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.meter.reading import UsageSample
from phoenixd.core.mutes.state import Mutes
from phoenixd.core.spec import AgentSpec
from phoenixd.core.tasks.state import Tasks
from phoenixd.core.treatment.case import Cases
from phoenixd.core.undo.state import Undoable
from phoenixd.documents.codec import Undecodable, decode, dump_snapshot, dump_spec, encode
from phoenixd.drivers.journal.lives import REASON_LIMIT, Cure, Life, cures_of, incident_id, lives_of, storable
from phoenixd.ports.journal import Batch, Entry, KeptIncident, KeptTreatment, StoredEntry

DETAIL_MARK = '[["#weight","detail"]'
"""How the readings of an entry begin that is no story; an entry that nobody weighed is one."""
DETAIL_LIMIT = 64 * 1024
"""Bytes of JSON that an entry's detail may take; what agents say is cut, marked, and never refused."""

WEIGHT_KEY, FACTS_KEY = "#weight", "#facts"
"""Names among an entry's readings under which its weight and facts stand.

A column of their own would be another schema; a version before these reads them as two readings more.
"""

Row = tuple[Any, ...]
FACT: Any = Fact


@dataclass(frozen=True, slots=True)
class BatchRows:
    """A batch in the form in which it is written; made on the caller's side, so that only SQLite can fail later."""

    entries: tuple[Row, ...]
    agents: tuple[Row, ...]
    specs: tuple[Row, ...]
    """Those of the same agents, written where they are not what stands there."""
    removed: tuple[tuple[str, int], ...]
    lives: tuple[Life, ...]
    incidents: tuple[Row, ...]
    cures: tuple[Cure, ...]
    usage: tuple[Row, ...]
    handoffs: tuple[Row, ...]
    markers: tuple[Row, ...]
    saved: str
    tasks: str
    """All tasks as JSON, written where they are not what stands there."""
    cases: str
    """The same, of Cases."""
    undoable: str
    """The same, of what can be taken back."""
    mutes: str
    """The same, of mutes."""
    at: float
    treatments: tuple[Row, ...] = ()
    epoch: int = 0
    after_row: int = 0


class SpecRows:
    """The rows of agents' specifications, rendered once for each change: a decision leaves a specification as it is."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[AgentSpec, Row]] = {}
        self._tasks: tuple[Tasks, str] = Tasks(), _json(encode(Tasks()))
        self._cases: tuple[Cases, str] = Cases(), _json(encode(Cases()))
        self._undoable: tuple[tuple[Undoable, ...], str] = (), _json([])
        self._mutes: tuple[Mutes, str] = {}, _json([])

    def row(self, spec: AgentSpec) -> Row:
        known = self._known.get(spec.name)
        if known is None or known[0] is not spec:
            known = self._known[spec.name] = spec, sealed("specs", spec.name, dump_spec(spec))
        return known[1]

    def forget(self, name: str) -> None:
        self._known.pop(name, None)

    def tasks(self, tasks: Tasks) -> str:
        """All tasks, rendered once for each change."""
        if self._tasks[0] is not tasks:
            self._tasks = tasks, _json(encode(tasks))
        return self._tasks[1]

    def cases(self, cases: Cases) -> str:
        """All Cases, rendered once for each change."""
        if self._cases[0] is not cases:
            self._cases = cases, _json(encode(cases))
        return self._cases[1]

    def undoable(self, acts: tuple[Undoable, ...]) -> str:
        """All that can be taken back, rendered once for each change."""
        if self._undoable[0] is not acts:
            self._undoable = acts, _json(encode(acts))
        return self._undoable[1]

    def mutes(self, mutes: Mutes) -> str:
        """All mutes, rendered once for each change."""
        if self._mutes[0] is not mutes:
            self._mutes = mutes, _json([encode(one) for one in mutes.values()])
        return self._mutes[1]


def batch_rows(batch: Batch, known: SpecRows | None = None) -> BatchRows:
    """Render a batch."""
    known = known if known is not None else SpecRows()
    specs = tuple(known.row(agent.spec) for agent in batch.changed)
    for name, _ in batch.removed:
        known.forget(name)
    return BatchRows(
        entries=tuple(_entry_columns(entry) for entry in batch.entries),
        agents=tuple(
            sealed("agents", agent.name, dump_snapshot(agent, spec[-1]))
            for agent, spec in zip(batch.changed, specs, strict=True)
        ),
        specs=specs,
        removed=batch.removed,
        lives=lives_of(batch),
        incidents=tuple(_incident_columns(incident, batch.at) for incident in batch.incidents),
        cures=cures_of(batch),
        usage=tuple(_usage_columns(sample, batch.at) for sample in batch.usage),
        handoffs=tuple(
            _handoff_columns(fact.handoff, batch.at)
            for entry in batch.entries
            for fact in entry.facts
            if isinstance(fact, HandoffEnded)
        ),
        markers=tuple(_marker_rows(batch)),
        saved=_saved(batch),
        tasks=known.tasks(batch.tasks),
        cases=known.cases(batch.cases),
        undoable=known.undoable(batch.undoable),
        mutes=known.mutes(batch.mutes),
        treatments=tuple(_treatment_columns(one, batch.at) for one in batch.treatments),
        at=batch.at,
        epoch=batch.epoch,
        after_row=batch.after_row,
    )


def _saved(batch: Batch) -> str:
    """The fleet's own row."""
    saved = {"at": batch.at, "wall": batch.wall, "next_item": batch.next_item, "alerts": encode(batch.alerts)}
    return json.dumps({**saved, "seats": encode(batch.seats)} if batch.seats else saved)


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
    return read_entry(columns) if columns is not None else None


def read_entry(columns: Row) -> StoredEntry:
    """The entry of a row without its checksum."""
    seq, at, wall, agent, incarnation, event, detail, state, reason, readings, actions = columns
    pairs = json.loads(readings)
    own = {name: value for name, value in pairs if name in (WEIGHT_KEY, FACTS_KEY)}
    return StoredEntry(
        seq,
        Entry(
            at, wall, agent, incarnation, event, json.loads(detail), state, reason,
            tuple((name, value) for name, value in pairs if name not in own), tuple(json.loads(actions)),
            own.get(WEIGHT_KEY, "story"), tuple(_known_facts(own.get(FACTS_KEY, []))), WEIGHT_KEY in own,
        ),
    )  # fmt: skip


def checksum(table: str, columns: Iterable[Any]) -> int:
    """CRC-32 of table and columns as JSON: the same text in every version of Python, which repr() is not."""
    return crc32(json.dumps([table, *columns], default=repr).encode())


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


def _incident_columns(incident: KeptIncident, at: float) -> Row:
    body = incident.body if len(incident.body) <= DETAIL_LIMIT else _json({"truncated": len(incident.body)})
    return sealed(
        "incidents", incident_id(incident), incident.agent, incident.incarnation, incident.kind, float(at),
        float(incident.opened), None, storable(body), incident.case_id, incident.cause, incident.rule,
        storable(incident.evidence[:DETAIL_LIMIT]),
    )  # fmt: skip


def stored_incident(columns: Row) -> KeptIncident:
    """The incident of a row without its checksum."""
    _, agent, incarnation, kind, _, opened, closed, body, case_id, cause, rule, evidence = columns
    return KeptIncident(agent, incarnation, kind, opened, body, case_id, cause, rule, evidence, closed)


def _treatment_columns(one: KeptTreatment, at: float) -> Row:
    return sealed(
        "treatments", one.case_id, one.number, float(at), one.scope, one.cause, one.detail, one.rule, one.confidence,
        one.harness, one.agent, one.incarnation, one.action, one.treatment, one.by, float(one.failed), float(one.acted),
        one.run, one.productive, one.turns, one.outcome, storable(one.why), one.decided,
    )  # fmt: skip


def stored_treatment(columns: Row) -> KeptTreatment:
    """The treatment of a row without its checksum."""
    return KeptTreatment(*columns[:2], *columns[3:])


def _usage_columns(sample: UsageSample, at: float) -> Row:
    return sealed(
        "usage", sample.agent, sample.incarnation, storable(sample.session_id), float(at), float(sample.wall),
        sample.tokens, sample.limit, sample.source,
    )  # fmt: skip


def _handoff_columns(handoff: Handoff, at: float) -> Row:
    return sealed(
        "handoffs", handoff.seat, handoff.id, float(at), float(handoff.began_wall), float(handoff.since_wall),
        handoff.step.value, storable(_json(encode(handoff))),
    )  # fmt: skip


def _marker_rows(batch: Batch) -> Iterator[Row]:
    """A row for each fact of a decision about a marker; no code stands in one."""
    for entry in batch.entries:
        for fact in entry.facts:
            if isinstance(fact, MarkerNoted) and entry.agent is not None:
                yield sealed(
                    "markers", entry.agent, fact.incarnation, float(batch.at), float(entry.wall), fact.what,
                    storable(fact.verdict), fact.number, fact.step, storable(fact.why[:REASON_LIMIT]), fact.tokens,
                )  # fmt: skip


def past_handoff(row: Row) -> Handoff | None:
    """The handoff of a row; None where it is damaged, or of a newer version."""
    columns = unsealed("handoffs", row)
    if columns is None:
        return None
    try:
        return decode(Handoff, json.loads(columns[-1]))
    except (Undecodable, ValueError):
        return None


def _shortened(value: Any, limit: int) -> Any:
    text = _json(value)
    if len(text) <= limit:
        return value
    head = value if isinstance(value, str) else text
    return {"truncated": len(text), "head": head[: limit // 2]}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=str)
