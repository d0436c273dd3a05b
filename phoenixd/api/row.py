"""The one row of an agent outside of the core: status, one agent, the feed and their schema are all made of it.

Made by `row_of`, from what the projection says and from the counts of its papers. It is constructed and not validated:
its words may be an agent's, which hold what no validator takes, and a row that is not shown helps nobody.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from phoenixd.api.operations.operation import NAME_PATTERN
from phoenixd.api.times import rfc3339
from phoenixd.api.values import BriefFace, LoopCounts
from phoenixd.core.agent.standing import Ack, StandingAlert
from phoenixd.core.alerts import needs_person_kind
from phoenixd.core.meter.reading import Gauge
from phoenixd.core.projection import Row
from phoenixd.core.sight import ARGUMENT_LIMIT, TOOL_LIMIT, Words
from phoenixd.core.sight import Attached as SeenAttached
from phoenixd.core.sight import Cost as SeenCost
from phoenixd.core.sight import Doing as SeenDoing
from phoenixd.documents.brief.evaluation import EVALUATIONS
from phoenixd.documents.plain_text import one_line

Json = dict[str, Any]

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Count = Annotated[int, Field(ge=0)]
Name = Annotated[str, Field(pattern=NAME_PATTERN)]

VOLATILE = frozenset(
    {"doing", "said", "context", "cost", "branch", "model", "attached", "last_heartbeat", "last_evidence"}
)
"""What changes without a row of the journal, so that a frame which tells of nothing else has no id."""
AGES = frozenset({"due_in"})
"""What grows old by itself: no change of the row, and told anew with the next one."""


class Shown(BaseModel):
    """All keys are always there; readers ignore keys that a later version adds."""


class Doing(Shown):
    """The tool call that is open now. argument: the beginning of what tells most of it, without secrets."""

    tool: str
    argument: Annotated[str, Field(max_length=120)]
    since: Time | None


class Said(Shown):
    """What the agent said last, without secrets. at: null where its CLI does not write that down."""

    text: Annotated[str, Field(max_length=300)]
    at: Time | None


class Context(Shown):
    """How full the context is. source: who says how large the window is; updated_at, at: when the newest request was
    answered."""

    tokens: Count
    limit: Count | None
    percent: float | None
    source: str | None
    updated_at: Time | None
    at: Time | None


class Cost(Shown):
    """What the session has cost, as its CLI reports it; phoenixd computes no price. source: where the CLI says it."""

    usd: float
    tokens: Count | None
    source: str
    at: Time | None


class Attached(Shown):
    """Who looks at the agent's terminal now."""

    clients: Count
    writers: Count
    at: Time | None


class Why(Shown):
    """The decision that opened the present state. row: of the journal; null where it is not known any more."""

    row: int | None
    at: Time | None
    reason: str


class Breaker(Shown):
    state: Literal["CLOSED", "HALF_OPEN", "OPEN"]
    no_progress_count: Count


class Resonance(Shown):
    state: str
    last_verified: Time | None


class Brief(Shown):
    """How old the brief is, who wrote it, and how much that writer told when that was last measured.

    next_at: when its next run is due, as far as that is known.
    """

    written_at: Time
    age: float
    next_at: Time | None
    writer: str | None
    recall: float | None
    page_recall: float | None
    evaluated_on: str | None


class Acknowledged(Shown):
    """Who has said that it was seen, and when."""

    by: str
    at: Time | None


class Alert(Shown):
    """An alert that was raised and is not over. held: a mute keeps it from people."""

    id: int
    kind: str
    text: str
    raised_at: Time
    needs_you: bool
    held: bool
    acknowledged: Acknowledged | None


class AgentRow(Shown):
    """One agent. null is unknown, and never 0; resonance: null for an agent that bears no marker."""

    name: Name
    kind: Literal["resident", "loop", "orchestrator", "ephemeral"]
    harness: str
    desired: Literal["running", "stopped"]
    state: Literal[
        "stopped", "starting", "running", "stopping", "backing_off", "parked", "quarantined", "handing_off", "restoring"
    ]  # fmt: skip
    activity: Literal["working", "idle", "waiting"] | None
    group: Literal["needs_you", "healing", "working", "resting", "unknown"]
    incarnation: Count
    pid: int | None
    session_id: str | None
    mode: Literal["fresh", "resume"] | None
    since: Time | None
    started_at: Time | None
    last_heartbeat: Time | None
    last_evidence: Time | None
    restarts: Count
    reason: str
    waiting_for: str | None
    context: Context | None
    breaker: Breaker
    resonance: Resonance | None
    open_loops: Count
    stale_loops: Count
    unconfirmed_loops: Count
    brief: Brief | None
    parked_until: Time | None
    due_in: float | None
    hooks: Literal["ok", "missing", "none", "lost", "refused"]
    link_lost_since: Time | None
    hooks_refused: Count
    strangers_refused: Count
    item: int | None
    items: list[int]
    alerts: list[Alert]
    generation: Count | None
    doing: Doing | None
    said: Said | None
    task: str | None
    goal: str | None
    cwd: str
    branch: str | None
    model: str | None
    labels: list[str]
    project: str | None
    attached: Attached | None
    cost: Cost | None
    step: str | None
    case: str | None
    why: Why
    muted_until: Time | None


def row_of(row: Row, loops: LoopCounts) -> AgentRow:
    """The row of an agent that was projected; loops: the counts of its papers."""
    known = row.resonance
    return AgentRow.model_construct(
        name=row.name,
        kind=row.kind,
        harness=row.harness,
        desired=row.desired,
        state=row.state,
        activity=row.activity,
        group=row.group,
        incarnation=row.incarnation,
        pid=row.pid,
        session_id=row.session_id,
        mode=row.mode,
        since=rfc3339(row.since),
        started_at=rfc3339(row.started_at),
        last_heartbeat=rfc3339(row.last_evidence),
        last_evidence=rfc3339(row.last_evidence),
        restarts=row.restarts,
        reason=row.reason,
        waiting_for=row.waiting_for,
        context=_context(row.context),
        breaker={"state": row.breaker, "no_progress_count": row.no_progress},
        resonance=None if known is None else {"state": known.state, "last_verified": rfc3339(known.last_verified_wall)},
        open_loops=loops.open,
        stale_loops=loops.stale,
        unconfirmed_loops=loops.unconfirmed,
        brief=_brief(loops.brief) if loops.brief is not None else None,
        parked_until=rfc3339(row.parked_until),
        due_in=None if row.due is None else round(row.due, 3),
        hooks=row.hooks,
        link_lost_since=rfc3339(row.deaf.since_wall) if row.deaf is not None else None,
        hooks_refused=row.refused,
        strangers_refused=row.strangers,
        item=row.item.id if row.item else None,
        items=[one.id for one in row.items],
        alerts=[alert(standing) for standing in row.alerts],
        generation=row.generation or None,
        doing=_doing(row.doing),
        said=_said(row.said),
        task=row.task,
        goal=row.goal,
        cwd=row.cwd,
        branch=row.branch,
        model=row.model,
        labels=list(row.labels),
        project=row.project,
        attached=_attached(row.attached),
        cost=_cost(row.cost),
        step=row.step,
        case=row.case,
        why={"row": row.opened, "at": rfc3339(row.since), "reason": row.reason},
        muted_until=rfc3339(row.muted_until),
    )


def document(row: AgentRow) -> Json:
    """The row as JSON has it."""
    return dict(row.__dict__)


def alert(standing: StandingAlert) -> Json:
    """An alert that was raised and is not over."""
    return {
        "id": standing.id,
        "kind": standing.kind,
        "text": standing.text,
        "raised_at": rfc3339(standing.raised_wall),
        "needs_you": needs_person_kind(standing.kind),
        "held": standing.held,
        "acknowledged": acknowledged(standing.ack),
    }


def acknowledged(ack: Ack | None) -> Json | None:
    """Who has seen it, and when."""
    return {"by": ack.by, "at": rfc3339(ack.at_wall)} if ack is not None else None


def schemas() -> dict[str, Json]:
    """The JSON Schemas of a row and of its parts, by the names that the table of operations uses."""
    _, found = models_json_schema([(AgentRow, "serialization")], ref_template="{model}")
    return {_named(name): _plain(one) for name, one in found["$defs"].items()}


def _named(model: str) -> str:
    return {"AgentRow": "Agent", "Alert": "Alert"}.get(model, f"Agent{model}")


def _plain(schema: Any) -> Any:
    """Without the titles, which say the keys again."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": f"#/components/schemas/{_named(schema['$ref'])}"}
    return {key: _plain(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)}


def _context(gauge: Gauge | None) -> Json | None:
    if gauge is None or gauge.tokens is None:
        return None
    return {
        "tokens": gauge.tokens,
        "limit": gauge.limit,
        "percent": gauge.percent,
        "source": gauge.source,
        "updated_at": rfc3339(gauge.at_wall),
        "at": rfc3339(gauge.at_wall),
    }


def _brief(face: BriefFace) -> Json:
    measured = EVALUATIONS.get(face.writer or "")
    return {
        "written_at": rfc3339(face.written),
        "age": round(face.age, 3),
        "next_at": rfc3339(face.next),
        "writer": face.writer,
        "recall": measured.recall if measured is not None else None,
        "page_recall": measured.page_recall if measured is not None else None,
        "evaluated_on": measured.on if measured is not None else None,
    }


def _doing(doing: SeenDoing | None) -> Json | None:
    if doing is None:
        return None
    # What the journal keeps of a call has no secrets, and is neither bounded like this nor on one line.
    tool, argument = one_line(doing.tool, TOOL_LIMIT), one_line(doing.argument, ARGUMENT_LIMIT)
    return {"tool": tool, "argument": argument, "since": rfc3339(doing.since_wall)}


def _said(said: Words | None) -> Json | None:
    return None if said is None else {"text": said.text, "at": rfc3339(said.at_wall)}


def _attached(attached: SeenAttached | None) -> Json | None:
    if attached is None:
        return None
    return {"clients": attached.clients, "writers": attached.writers, "at": rfc3339(attached.at_wall)}


def _cost(cost: SeenCost | None) -> Json | None:
    if cost is None:
        return None
    return {"usd": cost.usd, "tokens": cost.tokens, "source": cost.source, "at": rfc3339(cost.at_wall)}
