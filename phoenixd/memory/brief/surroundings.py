"""What the daemon knows around an agent's session, as a brief's material has it: nothing of it is in a transcript."""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.agent.standing import InboxItem
from phoenixd.core.question.call import ASKS
from phoenixd.core.question.reply import asked_in
from phoenixd.documents.brief.around import Around, Asking, Waits
from phoenixd.documents.brief.record import BriefRecord
from phoenixd.documents.redact import Clean
from phoenixd.memory.brief.task_in_hand import goal_digests, going_on, is_ours

MOST_SESSIONS = 32
"""Sessions whose numbers are remembered, so that one that is gone back to is no new one."""


def numbered(record: BriefRecord, agent: Agent) -> BriefRecord:
    """The record with the agent's session in it: each has its number, in the order in which they were first read."""
    session = agent.session.session_id if agent.session is not None else ""
    if not session or session in record.sessions:
        return record
    number = max(record.sessions.values(), default=0) + 1
    kept = dict([*record.sessions.items()][-(MOST_SESSIONS - 1) :])
    return record.model_copy(update={"sessions": {**kept, session: number}})


def around(agent: Agent, record: BriefRecord, clean: Clean, spoken_at: float | None = None) -> Around:
    """The same facts without secrets."""
    session = agent.session
    name = session.session_id if session is not None else ""
    asking = tuple(one for item in agent.items if item.kind in ASKS for one in _asking(item, clean))
    return Around(
        session=name,
        number=record.sessions.get(name, max(record.sessions.values(), default=0)),
        cwd=agent.spec.cwd,
        turn_open=session.turn_open if session is not None and agent.run is None else None,
        spoken_at=spoken_at,
        process_began=agent.run.began_wall if agent.run is not None else None,
        asking=asking,
        inbox=tuple(
            Waits(str(item.id), item.kind, clean(item.text), item.opened_wall)
            for item in agent.items
            if item.kind not in ASKS
        ),
        lost=tuple(clean(job) for job in agent.lost.jobs) if agent.lost is not None else (),
        lost_at=agent.lost.at_wall if agent.lost is not None else None,
        is_ours=lambda text: is_ours(agent, text),
        going_on=lambda text: going_on(agent, text),
        goal=goal_digests(agent),
    )


def _asking(item: InboxItem, clean: Clean) -> list[Asking]:
    return [
        Asking(clean(question.text), tuple(clean(one.label) for one in question.options), item.opened_wall, item.left)
        for question in asked_in(item)
    ]
