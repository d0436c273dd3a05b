"""Version 2 of the journal: specifications in rows of their own, and tables of lives and incidents.

It knows nothing of today's classes, so that they may change while it does not: JSON in, JSON out.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from phoenixd.drivers.journal.rows import sealed, unsealed
from phoenixd.drivers.journal.tables import FIRST, SAVED_KEY, SECOND

LOOK_BACK = 100_000
"""The newest entries that are read for what they tell of lives; a migration is waited for."""
ENTRIES = (
    "SELECT * FROM entries WHERE seq > (SELECT coalesce(max(seq), 0) FROM entries) - ? AND agent IS NOT NULL"
    " AND (event = 'incident_recorded' OR instr(readings, '\"run_')) ORDER BY seq"
)


def migrate(connection: sqlite3.Connection) -> None:
    """Lead a journal of version 1 to version 2, within the transaction that is open."""
    for name in SECOND.shape:
        if name not in FIRST.shape:
            connection.execute(SECOND.shape[name])
    _part_specs(connection)
    at = _supervised_time(connection)
    _tell_lives(connection, at)
    connection.execute("DROP TABLE incarnations")


def _part_specs(connection: sqlite3.Connection) -> None:
    for row in connection.execute("SELECT name, snapshot, crc FROM agents").fetchall():
        name, snapshot, _ = row
        agent = json.loads(snapshot)
        if not isinstance(agent, dict) or "spec" not in agent:
            continue  # Told by name when the outcome is looked at, and then nothing is changed.
        spec = sealed("specs", name, _json(agent["spec"]))
        connection.execute("INSERT INTO specs VALUES (?, ?, ?)", spec)
        changed = sealed("agents", name, _json({**agent, "spec": spec[-1]}))
        connection.execute("UPDATE agents SET snapshot = ?, crc = ? WHERE name = ?", (*changed[1:], name))


def _supervised_time(connection: sqlite3.Connection) -> float:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (SAVED_KEY,)).fetchone()
    return float(json.loads(found[0]).get("at", 0.0)) if found else 0.0


def _tell_lives(connection: sqlite3.Connection, at: float) -> None:
    lives: dict[tuple[str, int], dict[str, Any]] = {}
    for row in connection.execute("SELECT * FROM incarnations"):
        if (columns := unsealed("incarnations", row)) is None:
            continue
        agent, incarnation, run_id, mode, session_id, began, ended, code, signal, cause, reason = columns
        lives[agent, incarnation] = {
            "run_id": run_id, "session_id": session_id, "mode": mode, "started": began, "ended": ended, "code": code,
            "signal": signal, "cause": cause, "end_reason": reason,
        }  # fmt: skip
    for row in connection.execute(ENTRIES, (LOOK_BACK,)):
        if (columns := unsealed("entries", row)) is None:
            continue
        _, _, wall, agent, incarnation, event, detail, _, reason, readings, _ = columns
        if event == "incident_recorded":
            _tell_incident(connection, agent, incarnation, at, wall, json.loads(detail))
        for fact in _facts(readings):
            life = lives.setdefault((agent, fact["incarnation"]), {})
            for column, value in _established(fact, wall, reason):
                if life.get(column) is None:
                    life[column] = value
    columns_of_a_life = (
        "run_id", "session_id", "mode", "started", "reason", "first_evidence", "productive", "ended", "code", "signal",
        "cause", "end_reason", "how",
    )  # fmt: skip
    for (agent, incarnation), life in lives.items():
        row = sealed("lives", agent, incarnation, at, *(life.get(column) for column in columns_of_a_life))
        connection.execute(f"INSERT INTO lives VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608


def _facts(readings: str) -> Iterator[dict[str, Any]]:
    for name, value in json.loads(readings):
        if name == "#facts" and isinstance(value, list):
            yield from (one for one in value if isinstance(one, dict) and isinstance(one.get("incarnation"), int))


def _established(fact: dict[str, Any], wall: float, reason: str) -> Iterator[tuple[str, Any]]:
    name = fact.get("name")
    if name == "run_began":
        yield from (("mode", fact.get("mode")), ("started", wall), ("reason", reason))
    elif name == "run_productive":
        yield "productive", wall
    elif name == "run_ended":
        yield from (("ended", wall), ("how", fact.get("meaning")), ("end_reason", reason))
        yield from ((column, fact.get(column)) for column in ("code", "signal", "cause"))


def _tell_incident(
    connection: sqlite3.Connection, agent: str, incarnation: int, at: float, wall: float, detail: dict[str, Any]
) -> None:
    """What the entry says of it; the rest stands in its file alone."""
    kind = str(detail.get("kind", ""))
    row = sealed(
        "incidents", f"{agent}-{incarnation}-{kind}", agent, incarnation, kind, at, wall, None, json.dumps(detail)
    )
    connection.execute("INSERT OR REPLACE INTO incidents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
