"""Evidence from what the fleet knows of an agent when it fails."""

from __future__ import annotations

from typing import Any, Literal

from phoenixd.core.agent import Agent
from phoenixd.core.agent.activity import Activity
from phoenixd.core.agent.run import LastExit, Mode, Run
from phoenixd.core.causes import Told
from phoenixd.core.change import replace
from phoenixd.core.events.evidence import FailureStatusSeen
from phoenixd.core.events.runs import StartFailed
from phoenixd.core.exits import status_of
from phoenixd.core.facts import AttemptFailed
from phoenixd.core.hooks import Failure, TurnFailed
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.meter import parts
from phoenixd.core.meter.reading import read
from phoenixd.core.traits import told_by_exit
from phoenixd.core.treatment.case import Patient
from phoenixd.core.treatment.evidence import SAID_LIMIT, Evidence
from phoenixd.core.treatment.words import ROLLED_BACK, Occasion


def of_failed_turn(agent: Agent, event: TurnFailed) -> Evidence:
    """A turn that an error ended, while its run lives on."""
    return replace(
        _of_run(agent, agent.run, agent.activity),
        occasion="failed_turn",
        is_alive=True,
        disk_full=bool(event.full_disks),
        disks=", ".join(event.full_disks),
        said=event.text[-SAID_LIMIT:],
        **_failure_of(event),
    )


def of_status(agent: Agent, patient: Patient, event: FailureStatusSeen) -> Evidence:
    """A turn that has failed, once it is known what the API answered."""
    return replace(
        _of_run(agent, agent.run, agent.activity),
        occasion="failed_turn",
        is_alive=True,
        turn_open=True,
        failure=event.failure or patient.failure,
        word=patient.word,
        named=event.named if event.failure else patient.named,
        status=event.status,
        disk_full=bool(patient.disks),
        disks=patient.disks,
        reset=patient.reset,
        said=patient.said,
    )


def of_cut(agent: Agent) -> Evidence:
    """An answer that was cut, and that its CLI did not go on with."""
    found = _of_run(agent, agent.run, agent.activity)
    return replace(found, occasion="cut_answer", is_alive=True)


def of_limit(agent: Agent, kind: ParkingKind) -> Evidence:
    """A limit or an outage that another agent met, or many together."""
    failure: Failure = "limit" if kind is ParkingKind.LIMIT else "overload"
    found = _of_run(agent, agent.run, agent.activity)
    return replace(found, occasion="failed_turn", is_alive=agent.run is not None, failure=failure)


def of_start(agent: Agent, event: StartFailed) -> Evidence:
    """A start that never came to be a run."""
    refused = event.obstacle == "resume refused"
    found = _of_run(agent, agent.run, None)
    return replace(
        found,
        occasion="refused_resume" if refused else "failed_start",
        cause="not started",
        obstacle=event.obstacle,
        disk_full=event.obstacle == "disk full",
        said=event.message[-SAID_LIMIT:],
    )


def of_end(
    before: Agent, after: Agent, end: LastExit, patient: Patient | None, failed: TurnFailed | None = None
) -> Evidence:
    """The end of a run. patient: what its newest turn had failed for, where nothing followed that. failed: the same,
    where it is told with the end."""
    run = before.run
    found = replace(
        _of_run(before, run, before.activity),
        code=end.code,
        signal=end.signal,
        cause=end.cause,
        lived=round(end.lived, 3),
        oom=end.oom,
        disk_full=bool(end.full_disks),
        disks=", ".join(end.full_disks),
        crashes=len(after.crashes),
        status=status_of(before.spec.harness, end.code),
        told=_told(before, end),
        obstacle=end.obstacle,
        said=end.note[-SAID_LIMIT:],
    )
    incident = after.incident
    if incident is not None and incident.incarnation == end.incarnation and incident.call is not None:
        # What was open when it was called hung; while it is ended, its call ends as well.
        found = replace(found, call=incident.call.tool[:64] or "a tool")
    found = replace(found, occasion=_occasion(found, end))
    if failed is not None:
        return replace(found, **_failure_of(failed), said=failed.text[-SAID_LIMIT:] or found.said)
    if patient is None or patient.incarnation != end.incarnation or not patient.failure:
        return found
    said = patient.said or found.said
    status = found.status if patient.status is None else patient.status
    return replace(
        found, failure=patient.failure, word=patient.word, named=patient.named, status=status, reset=patient.reset,
        said=said,
    )  # fmt: skip


def of_attempt(agent: Agent, failed: AttemptFailed) -> Evidence:
    """A worker's run that failed, as its task tells: nothing in its end did."""
    end = agent.last_exit
    found = Evidence(harness=agent.spec.harness, said=failed.words[-SAID_LIMIT:], crashes=len(agent.crashes))
    if end is not None and end.incarnation == failed.incarnation:
        found = replace(found, code=end.code, signal=end.signal, cause=end.cause, lived=round(end.lived, 3))
    match failed.how:
        case "timeout":
            # By our own hand: its signal says nothing.
            return replace(found, occasion="overtime", code=None, signal=None)
        case "failed" | "interrupted":
            return replace(found, occasion="failed_turn", failure="other")
        case "cut":
            return replace(found, occasion="cut_answer")
        case _:
            return found


def of_other(agent: Agent, occasion: Occasion) -> Evidence:
    """A quarantine without an end, a marker that was lost."""
    found = _of_run(agent, agent.run, agent.activity)
    return replace(found, occasion=occasion, is_alive=agent.run is not None)


def of_rollback(agent: Agent, why: str) -> Evidence:
    """A handoff that was rolled back, as its own record says why: nothing of it stands at the holder's terminal."""
    return replace(of_other(agent, ROLLED_BACK), said=why[-SAID_LIMIT:])


def _told(agent: Agent, end: LastExit) -> Told | Literal[""]:
    """What the exit code says: by the operator's word, else by the program's own."""
    if end.cause != "exit":
        return ""
    return "limit" if end.code in agent.spec.limits.exit_codes else told_by_exit(agent.spec.harness, end.code)


def _failure_of(failed: TurnFailed) -> dict[str, Any]:
    """The typed facts of a turn that failed, as fields of evidence."""
    return {
        "failure": failed.failure,
        "word": (failed.error or "")[:64],
        "named": failed.named,
        "status": failed.status,
        "reset": failed.reset_wall is not None,
    }


def _occasion(found: Evidence, end: LastExit) -> Occasion:
    if end.cause == "hung":
        return "hung"
    if end.cause == "overtime":
        return "overtime"
    return "crash" if end.ran else "failed_start"


def _of_run(agent: Agent, run: Run | None, activity: Activity | None) -> Evidence:
    spec = agent.spec
    cut = agent.cut if agent.cut is not None and agent.cut.incarnation == agent.incarnation else None
    share = read(parts.of(agent), spec.context).share if agent.run is not None else None
    open_call = next((one for one in activity.leases if not one.sub), None) if activity is not None else None
    return Evidence(
        harness=spec.harness,
        mode=run.mode.value if run is not None else "",
        sessionless=run is not None and run.mode is Mode.RESUME and not (agent.hooks_seen or spec.keeps_session),
        session_seen=run is not None and run.session_seen,
        worked=run is not None and run.evidence,
        turn_open=activity is not None and activity.turn_open,
        cut=cut.how if cut is not None else "",
        went_on=cut is not None and cut.went_on,
        call=open_call.tool[:64] if open_call is not None else "",
        fill=round(share, 4) if share is not None else None,
        crashes=len(agent.crashes),
    )
