"""How runs end, what is left of them, and what does not run again."""

from __future__ import annotations

from phoenixd.core.alert_kinds import cures
from phoenixd.core.alert_kinds.kind import AlertKind

KINDS: tuple[AlertKind, ...] = (
    AlertKind(
        "quarantined",
        "it crashed too often, or eight runs in a row achieved nothing, or its command cannot run",
        "somebody starts it, or [a key that can cure it is corrected](#when-a-correction-starts-an-agent)",
        cures.is_taken_up,
    ),
    AlertKind(
        "lingering",
        "processes outlive SIGKILL; they are tried again, once a minute in the end",
        "nothing of the run is left",
        cures.is_another_run,
    ),
    AlertKind(
        "unfenced",
        (
            "its shim was lost, it had no cgroup, and nothing of its run was seen for `stop.unproven` (30 "
            "s): the next run starts, though nothing proves that the old one is gone"
        ),
        "a later run works",
        cures.works_again,
        needs_person=False,
    ),
    AlertKind(
        "unread",
        (
            "the same, but processes of phoenixd's user cannot be read, and may be the old run's: nothing "
            "starts until they have ended, or `phoenixctl stop` and `start` say that they are strangers"
        ),
        "its run is over",
        cures.is_another_run,
    ),
    AlertKind(
        "hung",
        "a run was ended for it",
        "a later run was productive, or nobody wants one",
        cures.is_productive_later,
        needs_person=False,
    ),
    AlertKind(
        "overtime",
        "a run was ended for it",
        "a later run was productive, or nobody wants one",
        cures.is_productive_later,
        needs_person=False,
    ),
    AlertKind(
        "clock",
        "a heartbeat's times cannot be: its writer's clock or time zone is wrong; nobody is ended for it",
        "its run has ended",
        cures.is_another_run,
        needs_person=False,
    ),
)
