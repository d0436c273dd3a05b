"""What the API says in JSON: plain dictionaries from core values. A test compares them with `schemas`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from phoenixd.api.finding import Finding
from phoenixd.api.pages.inbox import advice
from phoenixd.api.row import acknowledged, alert, document, row_of
from phoenixd.api.times import rfc3339
from phoenixd.api.values import Change, Facts, LoopCounts, Planned
from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import OpenCall
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.breaker import Open, reason_of
from phoenixd.core.durability import Latency
from phoenixd.core.meter.reading import Gauge
from phoenixd.core.moment import Moment
from phoenixd.core.projection import Row
from phoenixd.core.question.call import QUESTION, call_of
from phoenixd.core.question.choices import questions_of
from phoenixd.core.question.render import render, title
from phoenixd.core.question.reply import limits
from phoenixd.core.tasks.state import JudgedReport, Task
from phoenixd.core.turns import has_breaker
from phoenixd.documents.codec import encode
from phoenixd.ports.journal import KeptLife, StoredEntry
from phoenixd.ports.processes import Leftovers

Json = dict[str, Any]


def status(rows: Iterable[Row], facts: Facts, loops: Callable[[str], LoopCounts]) -> Json:
    """The document of `status --json` (design section 6)."""
    return {"agents": [agent(row, loops(row.name)) for row in rows], "daemon": daemon(facts)}


def agent(row: Row, loops: LoopCounts) -> Json:
    """One agent, as the one row has it."""
    return document(row_of(row, loops))


def task(one: Task, now: Moment) -> Json:
    """One task. told: whether the agent that asked was told of its end."""
    outcome = one.outcome
    return {
        "id": one.id,
        "state": one.state,
        "reason": one.why,
        "agent": one.agent,
        "asked_by": one.asked_by or None,
        "by": one.by,
        "project": one.project or None,
        "plan_task": one.plan or None,
        "after": list(one.after),
        "writes": one.writes,
        "timeout": one.timeout,
        "tries": one.tries,
        "runs": one.runs,
        "runs_spared": one.spared,
        "asked_at": rfc3339(one.asked_wall),
        "since": rfc3339(one.since_wall),
        "due_in": round(max(0.0, one.due - now.at), 3) if one.due is not None else None,
        "stop": outcome.stop if outcome is not None else None,
        "report": (outcome.report or None) if outcome is not None else None,
        "outputs": outcome.outputs if outcome is not None else 0,
        "outputs_refused": outcome.refused if outcome is not None else 0,
        "claims": _claims(outcome.judged) if outcome is not None and outcome.judged is not None else None,
        "told": one.told == "told",
    }


def _claims(judged: JudgedReport) -> Json:
    """What became of the claims of a worker's report; the list is bounded, report.md holds all."""
    return {
        "source": judged.source,
        "problem": judged.problem or None,
        "contradicted": judged.contradicted,
        "verified": judged.verified,
        "unverifiable": judged.unverifiable,
        "listed": [
            {"kind": one.kind, "said": one.said, "verdict": one.verdict, "why": one.why} for one in judged.claims
        ],
    }


def tokens(told: Agent, gauge: Gauge) -> Json:
    """What `tokens check` found."""
    return {
        "name": told.name,
        "session_id": told.session.session_id if told.session is not None else None,
        "verdict": gauge.verdict,
        "reason": gauge.reason,
        "tokens": gauge.tokens,
        "limit": gauge.limit,
        "percent": gauge.percent,
        "source": gauge.source,
        "threshold": gauge.threshold,
        "at": rfc3339(gauge.at_wall),
    }


def breaker(told: Agent) -> Json:
    """A circuit breaker, with the limits that hold. phase: what its iteration, or its newest turn, is at."""
    found, rules = told.breaker, told.spec.breaker
    return {
        "name": told.name,
        "state": found.name,
        "no_progress_count": found.tally.no_progress,
        "last_progress_iteration": found.tally.last_progress,
        "iteration": found.tally.iterations,
        "reason": reason_of(found),
        "opened_at": rfc3339(found.opened_wall) if isinstance(found, Open) else None,
        "total_opens": found.tally.opens,
        "notes_count": found.tally.notes,
        "last_verdict": found.tally.verdict,
        "shared_with": list(found.tally.shared),
        "warn": rules.warn,
        "stop": rules.stop,
        "notes_stop": rules.notes_stop,
        "enabled": rules.enabled and has_breaker(told),
        "phase": told.iteration.name if told.iteration is not None else told.turns[-1].phase if told.turns else None,
    }


def daemon(facts: Facts) -> Json:
    """The daemon about itself."""
    return {
        "version": facts.version,
        "pid": facts.pid,
        "started_at": rfc3339(facts.started_at),
        "tmux": facts.tmux,
        "tier": facts.tier,
        "degraded": facts.degraded is not None,
        "degraded_reason": facts.degraded,
        "halted": facts.halted is not None,
        "commits": _latency(facts.commits) if facts.commits is not None else None,
        "alerts": [alert(standing) for standing in facts.alerts],
    }


def _latency(commits: Latency) -> Json:
    return {
        "count": commits.count,
        "last": round(commits.last, 6),
        "p50": round(commits.p50, 6),
        "p99": round(commits.p99, 6),
        "worst": round(commits.worst, 6),
    }


def event(stored: StoredEntry) -> Json:
    """One journaled event with what was decided."""
    entry = stored.entry
    return {
        "id": stored.seq,
        "at": rfc3339(entry.wall),
        "agent": entry.agent,
        "incarnation": entry.incarnation,
        "event": entry.event,
        "state": entry.state,
        "reason": entry.reason,
        "readings": dict(entry.readings),
        "actions": list(entry.actions),
        "detail": entry.detail,
        "weight": entry.weight,
        "facts": encode(entry.facts),
    }


def life(kept: KeptLife) -> Json:
    """One run. productive: when it had shown progress; null for what is not known, or has not come about."""
    return {
        "agent": kept.agent,
        "incarnation": kept.incarnation,
        "session_id": kept.session_id,
        "mode": kept.mode,
        "started": rfc3339(kept.started),
        "reason": kept.reason,
        "first_evidence": rfc3339(kept.first_evidence),
        "productive": rfc3339(kept.productive),
        "ended": rfc3339(kept.ended),
        "code": kept.code,
        "signal": kept.signal,
        "cause": kept.cause,
        "end_reason": kept.end_reason,
        "how": kept.how,
    }


def item(inbox_item: InboxItem) -> Json:
    """One thing that waits for a person. text is what its hash is over, shown how people read it."""
    shown = render(inbox_item)
    questions = questions_of(call_of(inbox_item)) if inbox_item.kind == QUESTION else ()
    return {
        "id": inbox_item.id,
        "agent": inbox_item.agent,
        "incarnation": inbox_item.incarnation,
        "kind": inbox_item.kind,
        "text": inbox_item.text,
        "text_hash": inbox_item.text_hash,
        "opened": rfc3339(inbox_item.opened_wall),
        "answer_by": inbox_item.answer_by,
        "title": title(inbox_item),
        "shown": list(shown.lines),
        "flags": list(shown.flags),
        "limits": limits(inbox_item),
        "advice": advice(inbox_item),
        "left": inbox_item.left,
        "acknowledged": acknowledged(inbox_item.ack),
        "questions": [
            {
                "question": one.text,
                "header": one.header,
                "several": one.several,
                "options": [{"label": option.label, "description": option.description} for option in one.options],
            }
            for one in questions
        ],
    }


def last_exit(told: Agent) -> Json | None:
    """How the agent's newest run ended."""
    end = told.last_exit
    if end is None:
        return None
    return {
        "incarnation": end.incarnation,
        "code": end.code,
        "signal": end.signal,
        "cause": end.told,
        "lived": round(end.lived, 3),
        "productive": end.proof or None,
        "oom": end.oom or None,
        "at": rfc3339(end.at_wall),
    }


def incident(told: Agent) -> Json | None:
    """The newest run that the daemon ended by itself; its file stands in the agent's directory."""
    found = told.incident
    if found is None:
        return None
    return {
        "incarnation": found.incarnation,
        "kind": found.kind,
        "reason": found.reason,
        "at": rfc3339(found.at_wall),
        "file": found.file,
        "call": _call(found.call) if found.call is not None else None,
    }


def _call(call: OpenCall) -> Json:
    return {
        "tool": call.tool,
        "command": call.command,
        "ran": call.ran,
        "declared": call.declared,
        "idle": call.idle,
        "over": call.over,
    }


def leftovers(name: str, found: Leftovers, *, dry_run: bool) -> Json:
    """What a cleanup found."""
    return {
        "name": name,
        "dry_run": dry_run,
        "owned": [
            {
                "pid": one.pid,
                "command": one.command,
                "why": one.why,
                "ended": not dry_run and one.pid not in found.remaining,
            }
            for one in found.owned
        ],
        "foreign": [{"port": one.port, "pid": one.pid, "command": one.command} for one in found.foreign],
    }


def finding(found: Finding) -> Json:
    return {"level": found.level, "title": found.title, "detail": found.detail, "remedy": found.remedy}


def change(one: Change) -> Json:
    return {
        "agent": one.agent,
        "action": one.action,
        "detail": one.detail,
        "restart": one.restart,
        "refused": one.refused,
    }


def planned(found: Planned) -> Json:
    return {
        "changes": [change(one) for one in found.changes],
        "settings": list(found.settings),
        "after_restart": list(found.after_restart),
    }
