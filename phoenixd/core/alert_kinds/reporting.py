"""What agents tell and are told: hooks, links, reports, prompts and handoffs."""

from __future__ import annotations

from phoenixd.core.alert_kinds import cures
from phoenixd.core.alert_kinds.kind import AlertKind

KINDS: tuple[AlertKind, ...] = (
    AlertKind(
        "hooks missing",
        "an agent that should report by hooks does not",
        "it does, or its run has ended",
        cures.reports,
    ),
    AlertKind(
        "link lost",
        (
            "for 30 seconds the daemon has had no link to the agent's shim, so nothing that the agent says "
            "arrives; it runs on, its screen is looked at, and the link is tried again all the while. A shim"
            " whose socket or directory somebody removed makes it again within a second of being alone"
        ),
        "the shim is spoken to again, or the run has ended",
        cures.is_linked,
        is_ours=True,
    ),
    AlertKind(
        "hooks refused",
        "hooks of the agent's own were not taken in: too large, not whole in ten seconds, no JSON",
        "its run has ended",
        cures.is_another_run,
        needs_person=False,
    ),
    AlertKind(
        "context unknown",
        "for ten minutes an orchestrator has worked, and nothing has told how full its context is",
        "it is known, or the run has ended",
        cures.is_metered,
    ),
    AlertKind(
        "name too long for a handoff",
        "an orchestrator of an older version has a name of more than 26 characters: it runs on, and is not handed over",
        "it is declared as another kind, or removed",
        cures.is_no_orchestrator,
        needs_person=False,
    ),
    AlertKind(
        "contradicted claim",
        (
            "a report claims what did not happen, as the transcript or the files say ([claims against facts]"
            "(../explanation/resonance.md#claims-against-facts))"
        ),
        "a newer report of the same task holds nothing of the kind, or somebody starts the agent or sends it a text",
        cures.is_corrected,
        is_question=True,
    ),
    AlertKind(
        "prompt",
        "a command's prompt could not be typed, or nobody knows whether it was",
        "a later run is at work, or nobody wants one",
        cures.was_told,
    ),
    AlertKind(
        "handoff",
        (
            "a handoff was rolled back, so the orchestrator goes on in the session that it has; or the generation "
            "that is to go cannot be ended, be it the predecessor or the successor of one that is rolled back; or a "
            "successor had more than half of its context taken when it acknowledged; or a text that was kept over a "
            "handoff did not arrive"
        ),
        "its run has ended, or the next handoff begins, or what could not be ended is gone",
        cures.has_run_its_course,
        is_each=True,
    ),
)
