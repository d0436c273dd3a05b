"""The journal's tables, for each version of the journal that was ever written.

A version is never changed once it was released: a journal of it is recognised by these very texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schema:
    """What a version of the journal consists of: statements by the names that they create."""

    tables: Mapping[str, str]
    indexes: Mapping[str, str]

    @property
    def shape(self) -> dict[str, str]:
        """What SQLite says of such a journal."""
        return {**self.tables, **self.indexes, "sqlite_sequence": "CREATE TABLE sqlite_sequence(name,seq)"}

    @property
    def light(self) -> tuple[str, ...]:
        """The tables that a start rests on; what only grows is read by those who ask for it."""
        grown = ("entries", "usage", "treatments", "handoffs", "markers")
        return tuple(name for name in self.tables if name not in grown)


META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL)"
"""Keeps its shape in every version to come: an older phoenixd reads there that a journal is too new for it."""

FIRST = Schema(
    tables={
        "meta": META,
        "agents": "CREATE TABLE agents (name TEXT PRIMARY KEY, snapshot TEXT NOT NULL, crc INTEGER NOT NULL)",
        "entries": (
            "CREATE TABLE entries (seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, wall REAL NOT NULL,"
            " agent TEXT, incarnation INTEGER NOT NULL, event TEXT NOT NULL, detail TEXT NOT NULL, state TEXT,"
            " reason TEXT NOT NULL, readings TEXT NOT NULL, actions TEXT NOT NULL, crc INTEGER NOT NULL)"
        ),
        "incarnations": (
            "CREATE TABLE incarnations (agent TEXT NOT NULL, incarnation INTEGER NOT NULL, run_id TEXT, mode TEXT,"
            " session_id TEXT, began_wall REAL, ended_wall REAL, code INTEGER, signal INTEGER, cause TEXT, reason TEXT,"
            " crc INTEGER NOT NULL, PRIMARY KEY (agent, incarnation))"
        ),
    },
    indexes={
        "entries_by_agent": "CREATE INDEX entries_by_agent ON entries (agent, seq)",
        "entries_by_wall": "CREATE INDEX entries_by_wall ON entries (wall)",
    },
)

SECOND = Schema(
    tables={
        **{name: FIRST.tables[name] for name in ("meta", "agents", "entries")},
        # An agent's snapshot holds, in place of its specification, the checksum of its row here.
        "specs": "CREATE TABLE specs (name TEXT PRIMARY KEY, spec TEXT NOT NULL, crc INTEGER NOT NULL)",
        # at: supervised time of the newest change, by which rows grow old. All other times are wall seconds.
        "lives": (
            "CREATE TABLE lives (agent TEXT NOT NULL, incarnation INTEGER NOT NULL, at REAL NOT NULL, run_id TEXT,"
            " session_id TEXT, mode TEXT, started REAL, reason TEXT, first_evidence REAL, productive REAL, ended REAL,"
            " code INTEGER, signal INTEGER, cause TEXT, end_reason TEXT, how TEXT, crc INTEGER NOT NULL,"
            " PRIMARY KEY (agent, incarnation))"
        ),
        "incidents": (
            "CREATE TABLE incidents (id TEXT PRIMARY KEY, agent TEXT NOT NULL, incarnation INTEGER NOT NULL,"
            " kind TEXT NOT NULL, at REAL NOT NULL, opened REAL NOT NULL, closed REAL, body TEXT NOT NULL,"
            " crc INTEGER NOT NULL)"
        ),
    },
    indexes={
        **FIRST.indexes,
        "lives_by_at": "CREATE INDEX lives_by_at ON lives (at)",
        "incidents_by_agent": "CREATE INDEX incidents_by_agent ON incidents (agent)",
    },
)

THIRD = Schema(
    tables={
        **SECOND.tables,
        # How full contexts were, sampled. at: supervised time, by which rows grow old; wall: when. tokens, and those
        # of the window (NULL: unknown), by whose word (source).
        "usage": (
            "CREATE TABLE usage (agent TEXT NOT NULL, incarnation INTEGER NOT NULL, session_id TEXT NOT NULL,"
            " at REAL NOT NULL, wall REAL NOT NULL, tokens INTEGER NOT NULL, tokens_limit INTEGER,"
            " source TEXT NOT NULL, crc INTEGER NOT NULL)"
        ),
    },
    indexes={
        **SECOND.indexes,
        "usage_by_at": "CREATE INDEX usage_by_at ON usage (at)",
        "usage_by_agent": "CREATE INDEX usage_by_agent ON usage (agent, at)",
    },
)

FOURTH = Schema(
    tables={
        **THIRD.tables,
        # case_id, cause, rule: of the Case that it belongs to. evidence: what the diagnosis rests on, as JSON.
        "incidents": (
            "CREATE TABLE incidents (id TEXT PRIMARY KEY, agent TEXT NOT NULL, incarnation INTEGER NOT NULL,"
            " kind TEXT NOT NULL, at REAL NOT NULL, opened REAL NOT NULL, closed REAL, body TEXT NOT NULL,"
            " case_id TEXT NOT NULL, cause TEXT, rule TEXT NOT NULL, evidence TEXT NOT NULL, crc INTEGER NOT NULL)"
        ),
        # What was done about a failure, and what came of it. at: supervised time of the newest change; failed, acted,
        # productive, decided: wall seconds. run: the incarnation that shows the outcome.
        "treatments": (
            "CREATE TABLE treatments (case_id TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL,"
            " scope TEXT NOT NULL, cause TEXT, detail TEXT NOT NULL, rule TEXT NOT NULL, confidence REAL NOT NULL,"
            " harness TEXT NOT NULL, agent TEXT NOT NULL, incarnation INTEGER NOT NULL, action TEXT NOT NULL,"
            " treatment TEXT NOT NULL, ordered_by TEXT NOT NULL, failed REAL NOT NULL, acted REAL NOT NULL,"
            " run INTEGER NOT NULL, productive REAL, turns INTEGER NOT NULL, outcome TEXT NOT NULL, why TEXT NOT NULL,"
            " decided REAL, crc INTEGER NOT NULL, PRIMARY KEY (case_id, number))"
        ),
        # Handoffs that are over. agent: the seat; outcome: done or rolled_back; body: all of it, as JSON.
        "handoffs": (
            "CREATE TABLE handoffs (agent TEXT NOT NULL, id TEXT NOT NULL, at REAL NOT NULL, began REAL NOT NULL,"
            " ended REAL NOT NULL, outcome TEXT NOT NULL, body TEXT NOT NULL, crc INTEGER NOT NULL,"
            " PRIMARY KEY (agent, id))"
        ),
        # What became of agents' markers (core.facts.MarkerNoted), never a code. at: supervised time; wall: when.
        "markers": (
            "CREATE TABLE markers (agent TEXT NOT NULL, incarnation INTEGER NOT NULL, at REAL NOT NULL,"
            " wall REAL NOT NULL, what TEXT NOT NULL, verdict TEXT NOT NULL, number INTEGER NOT NULL,"
            " step INTEGER NOT NULL, why TEXT NOT NULL, tokens INTEGER NOT NULL, crc INTEGER NOT NULL)"
        ),
    },
    indexes={
        **THIRD.indexes,
        "incidents_by_case": "CREATE INDEX incidents_by_case ON incidents (case_id)",
        "treatments_by_at": "CREATE INDEX treatments_by_at ON treatments (at)",
        "treatments_by_agent": "CREATE INDEX treatments_by_agent ON treatments (agent, at)",
        "handoffs_by_agent": "CREATE INDEX handoffs_by_agent ON handoffs (agent, began)",
        "markers_by_at": "CREATE INDEX markers_by_at ON markers (at)",
        "markers_by_agent": "CREATE INDEX markers_by_agent ON markers (agent, at)",
    },
)

SCHEMAS: dict[int, Schema] = {1: FIRST, 2: SECOND, 3: THIRD, 4: FOURTH}
SCHEMA_VERSION = max(SCHEMAS)
"""Kept twice, in the file's header and as a checked row of `meta`: one flipped bit must not look like the future."""

SAVED_KEY, SCHEMA_KEY, RETIRED_KEY = "#saved", "#schema", "#retired "
TASKS_KEY = "#tasks"
"""Written where tasks changed, and not with each commit."""
CASES_KEY = "#cases"
"""The same, of the clinic's Cases."""
UNDO_KEY = "#undo"
"""The same, of what operators can take back."""
MUTES_KEY = "#mutes"
"""The same, of mutes."""
EPOCH_KEY = "#epoch"
"""Not part of the saved row: an older version that writes that one anew leaves this one as it is."""
"""Rows of `meta` that are ours; a remembered fact may not begin with the sign."""

INSERT_META = (
    "INSERT INTO meta VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, crc = excluded.crc"
)
INSERT_AGENT = (
    "INSERT INTO agents VALUES (?, ?, ?)"
    " ON CONFLICT (name) DO UPDATE SET snapshot = excluded.snapshot, crc = excluded.crc"
)
INSERT_SPEC = (
    "INSERT INTO specs VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET spec = excluded.spec, crc = excluded.crc"
)
INSERT_ENTRY = "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_LIFE = "INSERT OR REPLACE INTO lives VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_INCIDENT = "INSERT OR REPLACE INTO incidents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_TREATMENT = (
    "INSERT OR REPLACE INTO treatments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
INSERT_USAGE = "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_MARKER = "INSERT INTO markers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_HANDOFF = "INSERT OR REPLACE INTO handoffs VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
