"""Turns that ended otherwise than well, and what the clinic makes of failures."""

from __future__ import annotations

from phoenixd.core.alert_kinds import cures
from phoenixd.core.alert_kinds.kind import AlertKind

KINDS: tuple[AlertKind, ...] = (
    AlertKind(
        "failed turn",
        (
            "a turn ended by a word for which there is no rule: the output limit, a request that the API "
            "refuses, an unknown model"
        ),
        "the next prompt, or its run has ended",
        cures.is_closed,
        is_question=True,
    ),
    AlertKind(
        "too long",
        (
            "the first prompt of a session was refused as too long, or three sessions in a row were full before a turn "
            "came to its end: a further session would be as full ([why]"
            "(watch-the-context.md#when-a-session-is-full-as-it-begins))"
        ),
        "the next prompt, or its run has ended",
        cures.is_closed,
        is_question=True,
    ),
    AlertKind(
        "answer cut",
        (
            "an answer was cut at its end, by the output limit or by a stream that ended too early: again after the "
            "agent had been told to go on, or that could not be typed"
        ),
        "the next prompt, or its run has ended",
        cures.is_closed,
        is_question=True,
    ),
    AlertKind(
        "cannot go on",
        "a limit is over, and five times in a row it could not be told so",
        "it goes on, or its run has ended",
        cures.is_closed,
        is_question=True,
    ),
    AlertKind(
        "stopped",
        "Ctrl-C of somebody at its terminal ended a loop; in `status` and `inbox` only: who did it knows",
        "somebody starts it",
        cures.is_back,
        is_told=False,
    ),
    AlertKind(
        "proposal",
        (
            "the clinic would treat a failure in a way that a person has to allow ([authority]"
            "(heal-failed-runs.md#the-clinic-of-the-daemon))"
        ),
        "it was answered, a run was productive, or a later one has begun",
        cures.is_closed,
        is_question=True,
    ),
    AlertKind(
        "case",
        "a failure came back whatever was done about it, and a further run would fail alike",
        "a run was productive, or somebody starts or stops it",
        cures.is_closed,
        is_question=True,
    ),
)
