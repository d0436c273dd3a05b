"""What happened: past tense, frozen. An event about an older incarnation changes nothing."""

from __future__ import annotations

from typing import get_args

from phoenixd.core.events.aftermath import AfterEvent, DirectoryLooked
from phoenixd.core.events.clinic import ClinicEvent
from phoenixd.core.events.evidence import (
    AnswerCut,
    CallWorkSeen,
    EvidenceSeen,
    FailureStatusSeen,
    IncidentRecorded,
    KeysRead,
    ScreenSeen,
    UsageSeen,
)
from phoenixd.core.events.fleet import (
    AlertsTold,
    FleetEvent,
    SavingHalted,
    SavingResumed,
    Tick,
    TroubleGone,
    TroubleSeen,
    WatchEvent,
    WaysBegun,
)
from phoenixd.core.events.handoffs import HandoffWork
from phoenixd.core.events.orders import AgentDeclared, OperatorEvent
from phoenixd.core.events.resonance import AnchorSeen, CodesSeen, FooterSeen, ResonanceEvent
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    AgentVanished,
    ArmedUsed,
    Delivered,
    HoldAnswered,
    HoldReleased,
    HooksRefused,
    LinkLost,
    NotDelivered,
    RunAdopted,
    RunMissing,
    ShimLost,
    StartFailed,
    TreeGone,
    TreeLingers,
)
from phoenixd.core.events.tasks import TaskEvent
from phoenixd.core.events.work import WorkEvent
from phoenixd.core.hooks import EVIDENCE, Hook, HookEvent

RunEvent = (
    AgentStarted
    | StartFailed
    | AgentExited
    | AgentVanished
    | ShimLost
    | TreeGone
    | TreeLingers
    | EvidenceSeen
    | UsageSeen
    | AnswerCut
    | FailureStatusSeen
    | ScreenSeen
    | CallWorkSeen
    | KeysRead
    | IncidentRecorded
    | RunAdopted
    | RunMissing
    | LinkLost
    | HooksRefused
    | Delivered
    | NotDelivered
    | HoldAnswered
    | HoldReleased
    | ArmedUsed
    | ResonanceEvent
    | HookEvent
)


RUN_EVENTS: frozenset[type] = frozenset(get_args(RunEvent))
"""To be asked by the type of an event, which is quicker than to try each class of the union."""


Event = (
    OperatorEvent | RunEvent | WorkEvent | HandoffWork | AfterEvent | WatchEvent | FleetEvent | TaskEvent | ClinicEvent
)


def is_journaled(event: Event) -> bool:
    """Whether an event is kept in the journal even when it changes no state; mere evidence and ticks are not."""
    match event:
        case Hook():
            return not isinstance(event, EVIDENCE)
        case IncidentRecorded(case=case):
            # The table of incidents tells of it, and the row of the decision that it was noticed by.
            return not case
        case (
            EvidenceSeen()
            | UsageSeen()
            | AnswerCut()
            | FailureStatusSeen()
            | Tick()
            | TreeLingers()
            | TroubleSeen()
            | TroubleGone()
            | SavingHalted()
            | SavingResumed()
            | AgentDeclared()
            | HoldReleased()
            | ScreenSeen()
            | DirectoryLooked()
            | CallWorkSeen()
            | KeysRead()
            | LinkLost()
            | HooksRefused()
            | ArmedUsed()
            | AnchorSeen()
            | CodesSeen()
            | FooterSeen()
            | AlertsTold()
            | WaysBegun()
        ):
            # What is found or declared again and again is kept where something comes of it, and then by that decision.
            return False
        case _:
            return True
