"""Lives, incidents and treatments as the writer puts them into the journal, within the transaction of the decision."""

from __future__ import annotations

import sqlite3

from phoenixd.drivers.journal.lives import Cure, Life
from phoenixd.drivers.journal.rows import BatchRows, Row, sealed, unsealed
from phoenixd.drivers.journal.tables import INSERT_INCIDENT, INSERT_LIFE, INSERT_TREATMENT

EACH = 2
"""Lives of an agent that are remembered, so that a commit need not read what it wrote a moment ago: the run that lives
and the one that ended last. Each decision about the agent tells of both again."""
MOST_AGENTS = 4096
"""Agents whose lives are remembered. Beyond that all are forgotten together, for agents come and go."""
ONE_INCIDENT = "SELECT * FROM incidents WHERE id = ?"
ONE_LIFE = "SELECT * FROM lives WHERE agent = ? AND incarnation = ?"
OPEN_INCIDENTS = "SELECT * FROM incidents WHERE agent = ? AND incarnation < ? AND closed IS NULL"

Key = tuple[str, int]


class Histories:
    """What stands in the tables, as far as it was written through this connection."""

    def __init__(self) -> None:
        self._known: dict[str, dict[int, Life]] = {}
        self._written: dict[Key, Life] = {}

    def write(self, connection: sqlite3.Connection, request: BatchRows) -> None:
        """Write what a batch says and the tables do not; it counts once `keep` was called."""
        for life in request.lives:
            key = life[:2]
            known = self._written.get(key) or self._remembered(key) or _read(connection, key)
            merged = life.merged(known)
            if merged != known:
                connection.execute(INSERT_LIFE, sealed("lives", *key, request.at, *merged[2:]))
            self._written[key] = merged
        for row in request.incidents:
            connection.execute(INSERT_INCIDENT, _completed(connection, row))
        connection.executemany(INSERT_TREATMENT, request.treatments)
        for cure in request.cures:
            _close(connection, cure, request.at)

    def keep(self) -> None:
        """The transaction is durable."""
        if len(self._known) > MOST_AGENTS:
            self._known.clear()
        for (agent, incarnation), life in self._written.items():
            lives = self._known.setdefault(agent, {})
            lives[incarnation] = life
            if len(lives) > EACH:
                del lives[min(lives)]
        self._written.clear()

    def drop(self) -> None:
        """The transaction is gone."""
        self._written.clear()

    def _remembered(self, key: Key) -> Life | None:
        agent, incarnation = key
        return self._known.get(agent, {}).get(incarnation)


def _read(connection: sqlite3.Connection, key: Key) -> Life | None:
    row = connection.execute(ONE_LIFE, key).fetchone()
    columns = unsealed("lives", row) if row else None
    return Life(*columns[:2], *columns[3:]) if columns else None


def _close(connection: sqlite3.Connection, cure: Cure, at: float) -> None:
    for row in connection.execute(OPEN_INCIDENTS, (cure.agent, cure.incarnation)).fetchall():
        if (columns := unsealed("incidents", row)) is None:
            continue
        number, agent, incarnation, kind, _, opened, _, *rest = columns
        closed = sealed("incidents", number, agent, incarnation, kind, at, opened, float(cure.wall), *rest)
        connection.execute(INSERT_INCIDENT, closed)


def _completed(connection: sqlite3.Connection, row: Row) -> Row:
    """The row, with what stands in the journal already in the place of what it leaves empty."""
    found = connection.execute(ONE_INCIDENT, row[:1]).fetchone()
    known = unsealed("incidents", found) if found else None
    if known is None:
        return row
    told = row[:-1]
    # The end of it is told by another run; all else is written once, and completed later. A diagnosis without a cause
    # replaces one that had a cause.
    body, case_id, cause, rule, evidence = (
        new if new not in ("", None) else old for new, old in zip(told[7:], known[7:], strict=True)
    )
    cause = told[9] if told[10] else cause
    return sealed("incidents", *told[:5], known[5], known[6], body, case_id, cause, rule, evidence)
