"""An agent's files, those of its project, and its ports."""

from __future__ import annotations

from phoenixd.core.alert_kinds import cures
from phoenixd.core.alert_kinds.kind import AlertKind

KINDS: tuple[AlertKind, ...] = (
    AlertKind(
        "port held",
        "none of our processes listens on a port that an agent's [cleanup rules](clean-up-after-runs.md) name",
        "a cleanup finds the ports free of strangers",
        cures.has_no_ports,
    ),
    AlertKind(
        "brief",
        "brief.md is older than `brief_max_age`, or lacks a section",
        "it was written anew",
        None,
    ),
    AlertKind(
        "brief writer",
        "the brief's writer failed on two days with no run between that went well, and the facts are all that is new; "
        "or it left out most of the open loops, which are kept as unconfirmed, or quoted what nobody said",
        "a run of it went well, or it is asked no more",
        None,
    ),
    AlertKind(
        "stale loops",
        "an open loop of the agent's is older than `[loops] stale_days`; told once, whatever becomes stale beside it",
        "none is, for they were closed",
        None,
        needs_person=False,
    ),
    AlertKind(
        "state",
        "state.json could not be relied on, and was rebuilt; the original is kept beside it",
        "an hour later it is sound",
        None,
    ),
    AlertKind(
        "phase limit",
        "a plan of an orchestrator's project, or the context beside it, has more lines than `phase.max_lines`; the "
        "alert says how it would be split, and whether the next handoff does that",
        "all of them are within the limit",
        None,
    ),
    AlertKind(
        "documents",
        "an agent's files cannot be written, as on a full disk",
        "they were written again",
        None,
        is_ours=True,
    ),
)
