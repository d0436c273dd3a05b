"""Proposals: what the clinic does only when a person allows it, as items of the inbox with their effect shown whole."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from phoenixd.core.actions import Alert
from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.agent.state import Desired
from phoenixd.core.decision import Decision
from phoenixd.core.events.orders import AnswerRequested
from phoenixd.core.facts import ProposalAnswered, Treating
from phoenixd.core.moment import Moment
from phoenixd.core.question.call import PROPOSAL
from phoenixd.core.question.choices import Unclear
from phoenixd.core.question.reply import understand
from phoenixd.core.transitions import close_items, open_item, refuse
from phoenixd.core.treatment.case import Case, Noticed
from phoenixd.core.treatment.words import Treatment

TREATMENTS: tuple[Treatment, ...] = get_args(Treatment)


def propose(agent: Agent, case: Case, noticed: Noticed, treatment: Treatment, now: Moment) -> Decision:
    """Ask a person. The item holds for the run that failed and for the one after it."""
    text = f"Case {case.id}: {case.rule}, noticed {case.incidents} times.\n{effect(agent, treatment)}"
    asked = open_item(agent, "proposal", text, "answer", now)
    about = (case.id, treatment)
    items = tuple(replace(one, about=about) if one.kind == PROPOSAL and one.id == 0 else one for one in asked.items)
    fact = Treating(noticed.incarnation, case.id, treatment, proposed=True)
    why = f"Case {case.id}, {case.detail}: {treatment} is proposed"
    return Decision(replace(asked, items=items), (Alert(agent.name, "proposal", text),), why, facts=(fact,))


def effect(agent: Agent, treatment: Treatment) -> str:
    """All that an allowed treatment does, in words."""
    name = agent.spec.seat or agent.name
    match treatment:
        case "fresh" | "summarise":
            return (
                f"Allowed, the next start of {name} is fresh with its brief, and its session is given up. No run is "
                "ended for it."
            )
        case "advise":
            return f"Allowed, the brief of {name} tells its next run the facts of this failure, as data."
        case "abort":
            return (
                f"Allowed, {name} is not started again until: phoenixctl start {name}. A run that lives then is not "
                "ended."
            )
        case "handoff":
            return f"Allowed, {name} is handed over to its next generation, as by: phoenixctl handoff start."
        case _:
            return f"Allowed, the clinic orders {treatment} for {name}."


def answer(agent: Agent, item: InboxItem, event: AnswerRequested) -> Decision:
    """Take a person's answer; what was allowed is carried out in the same step, by core.treatment.acting."""
    if event.text_hash is not None and event.text_hash != item.text_hash:
        words = f"#{item.id} proposes something else than what you were shown"
        return refuse(agent, words, f"phoenixctl answer {item.id}")
    allow = event.allow
    if event.words:
        said = understand(item, event.words, event.as_text)
        if isinstance(said, Unclear):
            return refuse(agent, f"#{item.id}: {said.why}", said.remedy(item.id), "invalid")
        allow = said.allow
    number, treatment = item.about if len(item.about) == 2 else ("", "")
    known = next((one for one in TREATMENTS if one == treatment), None)
    is_old = not item.incarnation <= agent.incarnation <= item.incarnation + 1
    if known is None or is_old:
        why = f"#{item.id} was about run {item.incarnation}, and another one has ended since"
        return refuse(agent, why, f"phoenixctl explain {agent.name}")
    if allow and known == "abort" and agent.desired is Desired.STOPPED:
        return refuse(agent, f"{agent.name} is to be down already", f"phoenixctl status {agent.name}")
    fact = ProposalAnswered(item.incarnation, number, known, allow, event.by)
    verdict = "allows" if allow else "denies"
    readings = (("item", item.id), ("text_hash", item.text_hash), ("by", event.by))
    reason = f"{event.by} {verdict} #{item.id}: {known} for Case {number}"
    return Decision(close_items(agent, PROPOSAL), (), reason, readings, facts=(fact,))
