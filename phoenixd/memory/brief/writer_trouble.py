"""What of a brief's writer a person is told: that it fails for days, or forgets what is open (F-BR-1, F-BR-3)."""

from __future__ import annotations

from phoenixd.core import alerts
from phoenixd.core.agent import Agent
from phoenixd.core.briefing import fails_for_days
from phoenixd.core.events.fleet import TroubleGone, TroubleSeen
from phoenixd.core.rules import WriterKind
from phoenixd.documents.brief.record import BriefRecord
from phoenixd.memory.brief.writing import Outcome

KIND = "brief writer"


def trouble(agent: Agent, outcome: Outcome, record: BriefRecord, now: float) -> TroubleSeen | TroubleGone | None:
    """What a run says of its writer; None where that changes nothing. record: as the run left it, without secrets."""
    grave = outcome.accepted.grave
    if grave is not None:
        return TroubleSeen(agent.name, KIND, f"the brief's writer was not believed: {grave}")
    if outcome.failed:
        if record.narrative is None or not fails_for_days(record.ledger, now):
            return None
        return TroubleSeen(agent.name, KIND, record.narrative.note)
    if alerts.find(agent.alerts, KIND) is None:
        return None
    if outcome.failed is None and agent.spec.brief.writer is not WriterKind.DETERMINISTIC:
        # Nobody asked it, so it may fail yet.
        return None
    return TroubleGone(agent.name, KIND, "a run of the brief's writer went well, or it is asked no more")
