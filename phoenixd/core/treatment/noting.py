"""What the clinic notes of Cases, as facts on the journal's rows: by these the agents' own logs tell of it (C40).

A fact stands on the row of the decision that brought it about. Where there is none, as where a fifth turn shows that
a treatment held, it has a row of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from phoenixd.core.change import replace
from phoenixd.core.decision import Decision
from phoenixd.core.facts import CaseNoted
from phoenixd.core.fleet import Step, put
from phoenixd.core.moment import Moment
from phoenixd.core.treatment.case import WHY_LIMIT, Cases, Kept, Noticed, Treated
from phoenixd.core.treatment.triage import explanation


def told(found: Step, before: Cases, kept: Sequence[Kept], now: Moment) -> Step:
    """With the facts of what an event changed of Cases. before: these as the event found them."""
    homeless: dict[str, list[CaseNoted]] = {}
    rows = list(found.decisions)
    for agent, fact in _facts(before, kept):
        if (place := _place(rows, agent, fact)) is not None:
            rows[place] = replace(rows[place], facts=(*rows[place].facts, fact))
        else:
            homeless.setdefault(agent, []).append(fact)
    found = replace(found, decisions=tuple(rows))
    for name, facts in homeless.items():
        agent_now = found.fleet.agents.get(name)
        if agent_now is not None:
            words = "; ".join(map(_words, facts))
            found = put(found, Decision(agent_now, reason=words, facts=tuple(facts), weight="detail"), now)
    return found


def _place(rows: Sequence[Decision], name: str, fact: CaseNoted) -> int | None:
    """The row that tells of it: a diagnosis stands with the run that had failed, where a row is that run's."""
    of_agent = [place for place, one in enumerate(rows) if _is_journaled_of(one, name)]
    of_run = [place for place in of_agent if _incarnation(rows[place]) == fact.incarnation]
    fitting = of_run if fact.what == "diagnosis" and of_run else of_agent
    return fitting[-1] if fitting else None


def _incarnation(decision: Decision) -> int:
    return decision.agent.incarnation if decision.agent is not None else 0


def _is_journaled_of(decision: Decision, name: str) -> bool:
    is_row = decision.is_worth_keeping and decision.weight != "noise"
    return is_row and decision.agent is not None and decision.agent.name == name


def _facts(before: Cases, kept: Iterable[Kept]) -> Iterator[tuple[str, CaseNoted]]:
    was_open = {(case.id, one.number): one.is_open for case in before.cases for one in case.treated}
    for change in kept:
        for noticed in change.noticed:
            if noticed.is_corrected or not noticed.is_more:
                yield noticed.agent, _diagnosis(noticed)
        for one in change.treated:
            key = (change.case.id, one.number)
            known = was_open.get(key)
            if known is None and one.is_open:
                yield one.agent, CaseNoted(
                    one.incarnation, change.case.id, "prescription", number=one.number, treatment=one.treatment,
                    by=one.by,
                )  # fmt: skip
            elif known is not False and not one.is_open:
                yield one.agent, _outcome(change.case.id, one)
            was_open[key] = one.is_open


def _diagnosis(noticed: Noticed) -> CaseNoted:
    found = noticed.diagnosis
    return CaseNoted(
        noticed.incarnation, noticed.case, "diagnosis", noticed.occasion, found.cause, found.detail, found.rule,
        found.confidence, why=explanation(found)[:WHY_LIMIT],
    )  # fmt: skip


def _outcome(case: str, one: Treated) -> CaseNoted:
    healed = round(max(0.0, one.productive - one.failed_at), 3) if one.productive is not None else None
    return CaseNoted(
        one.incarnation, case, "outcome", number=one.number, treatment=one.treatment, by=one.by, run=one.run,
        outcome=one.outcome, why=one.why, seconds=healed,
    )  # fmt: skip


def _words(fact: CaseNoted) -> str:
    match fact.what:
        case "diagnosis":
            return f"Case {fact.case}: {fact.cause or 'unknown'}, {fact.detail}: {fact.rule}"
        case "prescription":
            return f"Case {fact.case}: {fact.treatment}, by {fact.by}"
        case _:
            return f"Case {fact.case}: {fact.treatment} {fact.outcome}: {fact.why}"
