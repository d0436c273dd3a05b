"""Agents that get nowhere."""

from __future__ import annotations

from phoenixd.core.alert_kinds import cures
from phoenixd.core.alert_kinds.kind import AlertKind
from phoenixd.core.restart import QUESTION

KINDS: tuple[AlertKind, ...] = (
    AlertKind(
        "outage",
        "its model's service failed five turns in a row; it is asked again by itself, less and less often",
        "a call or a turn went well",
        cures.is_spared,
        needs_person=False,
    ),
    AlertKind(
        "outage: ...",
        "half of an account's or a harness's agents ended without progress",
        "a run of one of them was productive",
        None,
        needs_person=False,
    ),
    AlertKind(
        "steady deaths",
        "a command without hooks dies again and again at the same age",
        "it lived longer or shorter, or nobody wants it",
        cures.is_unsteady,
    ),
    AlertKind(
        "breaker",
        (
            "a loop, or a resident by its turns, gets nowhere and will be stopped if that goes on, or nobody"
            " can tell what it changes"
        ),
        "it got somewhere, or was stopped",
        cures.gets_somewhere,
        needs_person=False,
    ),
    AlertKind(
        QUESTION,
        (
            "the command of a sequence's `when` ended with neither 0 nor 1, so nobody can tell whether the turn comes,"
            " and it is left out"
        ),
        "it answered",
        cures.is_answered,
    ),
)
