"""The journal, the disk, the terminal server: what concerns no single agent."""

from __future__ import annotations

from phoenixd.core.alert_kinds import cures
from phoenixd.core.alert_kinds.kind import AlertKind

NOT_TOLD = "alerts not told"

KINDS: tuple[AlertKind, ...] = (
    AlertKind(
        "degraded",
        (
            "the journal cannot be written, or soon could not: nothing new is started, stops go on ([a full "
            "disk](../explanation/a-full-disk.md))"
        ),
        "it could for a while ([how long](../explanation/a-full-disk.md))",
        None,
    ),
    AlertKind(
        "slow disk",
        (
            "commits of the journal take 2 s or longer: everything goes on, only later ([a slow "
            "disk](../explanation/a-slow-disk.md))"
        ),
        "they took less than a second for a while",
        None,
        needs_person=False,
    ),
    AlertKind(
        "journal",
        "the journal was damaged and salvaged",
        "the next start finds it sound",
        None,
    ),
    AlertKind(
        "journal behind",
        "the journal was lost or is old: what lives was adopted, and nothing that was stopped was started",
        "`phoenixctl recover --yes`, see [recover](recover-an-old-journal.md)",
        None,
    ),
    AlertKind(
        "recover",
        "it is not known whether an agent was stopped, for the journal was lost or is old",
        "it is started or stopped, or `recover` is confirmed",
        cures.is_back,
        is_told=False,
    ),
    AlertKind(
        "epoch",
        "what tells a lost journal cannot be written beside it",
        "it was written again",
        None,
    ),
    AlertKind(
        NOT_TOLD,
        (
            "an alert could not be told by the command, or by the webhook, that `[alerts]` names; that way is not"
            " told of this"
        ),
        "one was told in that way again",
        None,
        is_ours=True,
    ),
    AlertKind(
        "log",
        (
            "`phoenixd.log` is full or was taken away, and cannot be begun anew: its lines go on to where they went, "
            "and that file grows; the alert says what is in the way"
        ),
        "it can be begun anew, which is tried every 5 seconds",
        None,
    ),
    AlertKind(
        "terminal",
        "the tmux server ended, or most of the fleet fell at once",
        (
            "it answers, and each agent that fell with it is back; where it ended over and over, it has lived for "
            "minutes, and where it ended more than 3 times within an hour, for an hour"
        ),
        None,
        needs_person=False,
    ),
)
