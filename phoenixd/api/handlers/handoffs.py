"""Handing an orchestrator's seat over: begin it, look at it, call it off, acknowledge it (E29, E75 to E77)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from phoenixd.api import exits, problems
from phoenixd.api.exchange import Ask, Reply, said
from phoenixd.api.handlers.commands import order
from phoenixd.api.pages.handoffs import of_seat
from phoenixd.api.problems import Problem
from phoenixd.api.times import rfc3339
from phoenixd.core.agent import Agent
from phoenixd.core.events.handoffs import HandoffAcked
from phoenixd.core.events.orders import HandoffRequested, RollbackRequested
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff import checks, verdict
from phoenixd.core.handoff.checks import Check
from phoenixd.core.handoff.state import Handoff
from phoenixd.core.nearest import did_you_mean
from phoenixd.core.rules import HandoffRules
from phoenixd.core.seat import finding
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat
from phoenixd.documents.project import layout
from phoenixd.documents.project.reading import line_count
from phoenixd.errors import BadProject, PhoenixdError

ACK_LIMIT = 8000


async def handoff_start(ask: Ask) -> Reply:
    seat = _seat(ask, finding.ordered, "phoenixctl handoff start NAME")
    project = ask.arguments["project"]
    if project is not None and project != seat.project:
        raise Problem(
            "not_found", f"{seat.name} does not lead a project {str(project)[:64]!r}: it leads {seat.project}",
            f"phoenixctl handoff start {seat.name} --project {seat.project}",
        )  # fmt: skip
    try:
        layout.project_name(seat.project)
    except BadProject as error:
        raise Problem("conflict", error.message, error.remedy) from error
    await order(ask, HandoffRequested(seat.name, ask.caller.name))
    return _told(ask, seat.name, "begun")


async def handoff_status(ask: Ask) -> Reply:
    seat = _seat(ask, finding.looked_at, "phoenixctl handoff status NAME")
    holder = ask.service.fleet().agents.get(seat.holder)
    rules = holder.spec.handoff if holder is not None else HandoffRules()
    past = await ask.service.past_handoffs(seat.name, rules.keep)
    return _told(ask, seat.name, "", past, await _of_files(ask, seat, holder))


async def handoff_rollback(ask: Ask) -> Reply:
    seat = _seat(ask, finding.ordered, "phoenixctl handoff rollback NAME")
    await order(ask, RollbackRequested(seat.name, ask.caller.name))
    return _told(ask, seat.name, "called off")


async def handoff_ack(ask: Ask) -> Reply:
    seat = _seat(ask, finding.ordered, "phoenixctl handoff ack SAID --agent NAME")
    generation = seat.handoff.successor if seat.handoff is not None else seat.generation
    # An agent speaks for itself alone; an operator for the successor.
    agent = ask.caller.process if ask.caller.agent is not None else generation_name(seat.name, generation)
    if str(agent) not in ask.service.fleet().agents:
        why = f"no successor of {seat.name} is there, so nothing waits for an acknowledgement"
        raise Problem("conflict", why, f"phoenixctl handoff status {seat.name}")
    package, word, facts = verdict.read(_quoted(str(ask.arguments["said"])))
    doubts = await ask.service.package_doubts(seat.name, package)
    await order(
        ask,
        HandoffAcked(
            str(agent), package, word, facts, ask.caller.name, doubts.changed, doubts.missing, doubts.missing_artifacts
        ),
    )
    return _told(ask, seat.name, "acknowledged")


def _quoted(text: str) -> dict[str, object]:
    try:
        found = json.loads(text) if len(text) <= ACK_LIMIT else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        remedy = """phoenixctl handoff ack '{"package": "...", "word": "...", ...}'"""
        raise Problem("invalid", "the acknowledgement is no JSON object", remedy)
    return found


def _seat(ask: Ask, find: Callable[[Fleet, str], Seat | None], named_so: str) -> Seat:
    """The seat by name, by the session of one of its generations, or that of the agent that asks. named_so: the order
    as it is typed with a name."""
    fleet, own = ask.service.fleet(), ask.caller.agent
    named, session_id = ask.arguments["agent"], ask.arguments.get("session_id")
    name = str(named) if named is not None else None
    if session_id is not None:
        of_session = finding.of_session(fleet, str(session_id))
        if of_session is None:
            raise Problem("not_found", f"no session is called {str(session_id)[:64]!r} now", "phoenixctl status")
        if name is not None and find(fleet, name) is not finding.of(fleet, of_session.name):
            raise Problem("not_found", f"the session {str(session_id)[:64]!r} is none of {name}", "phoenixctl status")
        name = of_session.name
    name = name if name is not None else own or _leader(fleet, ask.arguments.get("project"))
    if name is None and (project := ask.arguments.get("project")) is not None:
        led = [one.project for one in fleet.seats.values()]
        if project not in led:
            what = f"no orchestrator leads a project {str(project)[:64]!r}{did_you_mean(str(project), led)}"
            raise Problem("not_found", what, "phoenixctl status")
    if name is None:
        raise Problem("invalid", "nothing says whose handoff is meant", named_so)
    seat = find(fleet, name)
    if own is not None and (seat is None or seat.name != own):
        raise Problem("denied", f"agent {own} may not ask about {name}: {ask.caller.why}", "phoenixctl handoff status")
    if seat is None:
        if finding.meant(fleet, name) is None:
            raise problems.absent(fleet, name, ask.service.now(), fleet.seats)
        kind = 'declare it with kind = "orchestrator" and a name of at most 26 characters'
        raise Problem("conflict", f"{name} is no orchestrator with a seat, and is not handed over", kind)
    return seat


def _leader(fleet: Fleet, project: object) -> str | None:
    """The seat that leads the project, where one alone does."""
    leading = [seat.name for seat in fleet.seats.values() if seat.project == project]
    return leading[0] if len(leading) == 1 else None


async def _of_files(ask: Ask, seat: Seat, holder: Agent | None) -> tuple[Check, ...]:
    """The checks that a look at the disk answers (E75, E77)."""
    found: list[Check] = []
    if seat.handoff is not None and seat.handoff.package:
        fault = await ask.service.package_fault(seat.name)
        found.append(Check("package readable", fault is None, fault or "it is as it was written"))
    if holder is None:
        return tuple(found)
    name, most = "files short enough", holder.spec.phase.max_lines
    try:
        tree = await ask.service.project(holder.spec.cwd, seat.project)
    except (PhoenixdError, OSError) as failure:
        return (*found, Check(name, None, failure.message if isinstance(failure, PhoenixdError) else str(failure)))
    long = [
        f"{path} has {line_count(tree.files[path])} lines"
        for phase in tree.phases
        for path in (tree.paths.plan(phase), tree.paths.context(phase))
        if line_count(tree.files.get(path, b"")) > most
    ]
    ways = "phase archive, phase summarise, or phoenixctl phase split"
    told = f"{'; '.join(long[:5])}. Shorten: {ways}" if long else f"no file of a phase has over {most} lines"
    return (*found, Check(name, not long, told))


def _told(ask: Ask, name: str, done: str, past: Sequence[Handoff] = (), of_files: Sequence[Check] = ()) -> Reply:
    fleet = ask.service.fleet()
    seat = fleet.seats.get(name)
    if seat is None:
        raise problems.no_agent(name)
    found = (*checks.checks(fleet, seat), *of_files, *checks.spacing(fleet, seat, ask.service.now()))
    handoff = seat.handoff
    message = f"handoff {handoff.id} of {name} is {done}" if handoff is not None and done else ""
    body = {
        "name": name,
        "project": seat.project,
        "generation": seat.generation,
        "handoff": _handoff(handoff) if handoff is not None else None,
        "checks": _checks(found),
        "history": [_past(one) for one in past],
        "message": message,
    }
    if message:
        return Reply(body, said(f"{message}. See: phoenixctl handoff status {name}"), exits.OK)
    return Reply(body, lambda here: of_seat(seat, fleet.agents.get(seat.holder), found, past, ask.service.now(), here))


def _handoff(handoff: Handoff) -> dict[str, object]:
    return {
        "id": handoff.id,
        "step": handoff.step.value,
        "trigger": handoff.trigger,
        "why": handoff.why,
        "by": handoff.by,
        "began_at": rfc3339(handoff.began_wall),
        "since": rfc3339(handoff.since_wall),
        "held": handoff.held or None,
        "predecessor": handoff.predecessor,
        "successor": handoff.successor,
        "tries": handoff.tries,
        "degraded": list(handoff.degraded),
        "package": handoff.package or None,
        "why_back": handoff.why_back or None,
        "letters": len(handoff.letters) + (handoff.posted is not None),
        "writer_tokens": handoff.tokens,
        "times": _times(handoff),
    }


def _past(handoff: Handoff) -> dict[str, object]:
    return {
        "id": handoff.id,
        "outcome": handoff.step.value,
        "trigger": handoff.trigger,
        "why": handoff.why,
        "by": handoff.by,
        "began_at": rfc3339(handoff.began_wall),
        "ended_at": rfc3339(handoff.since_wall),
        "predecessor": handoff.predecessor,
        "successor": handoff.successor,
        "tries": handoff.tries,
        "degraded": list(handoff.degraded),
        "package": handoff.package or None,
        "why_back": handoff.why_back or None,
        "writer_tokens": handoff.tokens,
        "times": _times(handoff),
        "checks": _checks(checks.past(handoff)),
    }


def _times(handoff: Handoff) -> list[dict[str, object]]:
    return [{"step": one.step.value, "began_at": rfc3339(one.began_wall), "seconds": one.took} for one in handoff.times]


def _checks(found: Sequence[Check]) -> list[dict[str, object]]:
    return [{"name": one.name, "well": one.well, "what": one.what} for one in found]
