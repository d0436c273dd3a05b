"""The clinic: what failed, what was done about it, and how often that held (C2, C44)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from phoenixd.api import cases
from phoenixd.api.exchange import Ask, Reply
from phoenixd.api.pages import clinic as pages
from phoenixd.api.problems import Problem
from phoenixd.api.times import rfc3339
from phoenixd.core.inbox import inbox as all_items
from phoenixd.core.question.call import PROPOSAL
from phoenixd.core.seat.finding import known_as
from phoenixd.core.treatment.case import Case
from phoenixd.core.treatment.examined import FailureRead
from phoenixd.core.treatment.outcome import Figure
from phoenixd.ports.journal import KeptCase

MOST_AGENTS, MOST_ROWS = 20, 500
"""Of a Case that the fleet has forgotten: agents and rows of the story in which an answer is looked for."""


async def clinic_list(ask: Ask) -> Reply:
    own, shared = cases.trials(await ask.service.journal.treatments())
    found = tuple(sorted(ask.service.fleet().cases.cases, key=lambda one: -one.newest))
    body = {
        "treatments": [_figure(one) for one in own],
        "limits": [_figure(one) for one in shared],
        "cases": [_case(one) for one in found],
    }
    return Reply(body, lambda here: pages.figures(own, shared, found, here, _called(ask)))


async def clinic_show(ask: Ask) -> Reply:
    kept = await _kept(ask)
    fleet = ask.service.fleet()
    found = cases.document(kept, fleet.cases.find(kept.id), await _read(ask, kept))
    reader, wall = fleet.clinic.reader, ask.service.now().wall
    today = fleet.cases.examinations.of_the_day(wall)
    body = {
        "case": found.model_dump(mode="json"),
        "reader": {
            "name": reader.name or None,
            "questions_today": today.questions,
            "questions_per_day": reader.questions_per_day,
            "tokens_today": today.tokens,
            "tokens_per_day": reader.tokens_per_day,
        },
    }
    asked = [item for item in all_items(fleet) if item.kind == PROPOSAL and item.about[:1] == (kept.id,)]
    return Reply(body, lambda here: pages.case(found, here, pages.in_force(reader, today), asked, _called(ask)))


async def clinic_replay(ask: Ask) -> Reply:
    found = cases.replayed(await _kept(ask))
    name = str(ask.arguments["id"])
    body = {
        "id": name,
        "differs": any(one.differs for one in found),
        "incidents": [
            {
                "agent": one.agent,
                "incarnation": one.incarnation,
                "occasion": one.occasion,
                "then": {"cause": one.then_cause, "rule": one.then_rule},
                "now": {"cause": one.now_cause, "rule": one.now_rule, "treatment": one.treatment},
                "differs": one.differs,
                "problem": one.problem or None,
            }
            for one in found
        ],
    }
    return Reply(body, lambda here: pages.replay(name, found, here, _called(ask)))


def _called(ask: Ask) -> Callable[[str], str]:
    return partial(known_as, ask.service.fleet())


async def _read(ask: Ask, kept: KeptCase) -> FailureRead | None:
    """What came of asking a model about a Case: as the fleet has it, else as the journal's rows tell it."""
    known = ask.service.fleet().cases.find(kept.id)
    if known is not None:
        return known.examined
    agents = list(dict.fromkeys(one.agent for one in kept.incidents))[:MOST_AGENTS]
    if not agents:
        return None
    rows = await ask.service.journal.read(
        agent=agents, since_wall=kept.incidents[0].opened, limit=MOST_ROWS, story=True
    )
    return cases.newest_reading(rows, kept.id)


async def _kept(ask: Ask) -> KeptCase:
    name = str(ask.arguments["id"])
    found = await ask.service.journal.case(name)
    if found is None and ask.service.fleet().cases.find(name) is not None:
        # It was noticed a moment ago, or the disk is slow.
        words = f"Case {name} goes on, and the journal has nothing of it so far"
        raise Problem("busy", words, f"phoenixctl clinic show {name}")
    if found is None:
        raise Problem("not_found", f"the journal keeps no Case {name}", "phoenixctl clinic list")
    return found


def _figure(one: Figure) -> dict[str, object]:
    cause, detail, action, treatment, harness = one.group
    return {
        "cause": cause,
        "detail": detail,
        "prescription": action,
        "treatment": treatment,
        "harness": harness,
        "healed": one.healed,
        "tried": one.tried,
        "held": one.held,
        "low": round(one.low, 4) if one.low is not None else None,
        "high": round(one.high, 4) if one.high is not None else None,
        "open": one.open,
        "moot": one.moot,
        "seconds": round(one.seconds, 3) if one.seconds is not None else None,
    }


def _case(one: Case) -> dict[str, object]:
    return {
        "id": one.id,
        "scope": one.scope,
        "agents": list(one.agents),
        "harness": one.harness,
        "cause": one.cause or "unknown",
        "detail": one.detail,
        "rule": one.rule,
        "confidence": one.confidence,
        "incidents": one.incidents,
        "treatments": one.treatments,
        "opened_at": rfc3339(one.opened),
        "newest_at": rfc3339(one.newest),
        "closed_at": rfc3339(one.closed) if one.closed is not None else None,
        "outcome": one.outcome,
    }
