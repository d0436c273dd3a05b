"""What the daemon makes of a session: its state and its page, by the daemon's own functions.

The one room here that knows how a brief is written. What is measured (figures.py) knows state and page alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.briefing import Choice
from phoenixd.core.rules import BriefRules, WriterKind
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.brief.around import Around, Asking, Waits
from phoenixd.documents.brief.material import BriefMaterial, bounded_conversation
from phoenixd.documents.brief.page import INJECTION_LIMIT, render_brief
from phoenixd.documents.brief.record import Narrative
from phoenixd.documents.conversation import Conversation
from phoenixd.documents.redact import redact
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.documents.state import StateDocument, resolve_loop
from phoenixd.documents.times import timestamp, utc_date
from phoenixd.documents.workspace import GitSummary
from phoenixd.drivers.transcripts.ledger import LedgerTail
from phoenixd.harness import HARNESSES
from phoenixd.memory.brief.composition import compose_brief
from phoenixd.memory.brief.last_words import HeardByHooks
from phoenixd.memory.brief.loops.commands import commands_in
from phoenixd.memory.brief.session_seen import seen_session
from phoenixd.memory.brief.writing import write_brief
from phoenixd.ports.papers import BriefWriter, WriterAnswer
from tests.drivers.transcripts.reading import read_conversation
from tests.eval_brief.blind.rendered import AGENT, Rendered


@dataclass(frozen=True, slots=True)
class Briefed:
    """refused: claims that the guard did not let in; failed: the writer's answer was not used at all."""

    state: StateDocument
    page: str
    refused: int = 0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Says:
    """A writer that gives this answer, whatever it is asked."""

    answer: str

    async def write(self, agent: Agent, material: BriefMaterial, complaint: str | None = None) -> WriterAnswer:
        return WriterAnswer(self.answer)


async def briefed(found: Rendered, answer: str | None = None) -> Briefed:
    """The brief after a session; answer: what a model says that was asked, None where none is asked."""
    kind = WriterKind.DETERMINISTIC if answer is None else WriterKind.MODEL
    rules = BriefRules() if answer is None else BriefRules(writer=kind, model="test:x")
    writers: Mapping[WriterKind, BriefWriter] = {} if answer is None else {kind: Says(answer)}
    agent = Agent(
        AgentSpec(AGENT, ("x",), found.cwd, brief=rules, prompt=found.goal), Desired.STOPPED, Stopped(), 0.0, ""
    )
    git, ledger = _git(found), _ledger(found)
    conversation = bounded_conversation(_conversation(found), rules.transcript_chars, redact)
    material = BriefMaterial(
        AGENT,
        found.ended,
        _before(found, ledger),
        conversation,
        git=git,
        nonce="7d0c5f1e2b9a4c6d8e3f",
        goal=found.goal,
        ledger=ledger,
        around=_around(found),
    )
    outcome = await write_brief(agent, material, Choice(kind), writers, {})
    accepted = outcome.accepted
    narrative = Narrative(
        written=timestamp(found.ended), writer=outcome.writer.value, summary=accepted.summary,
        changed=accepted.changed, decisions=accepted.decisions, next=accepted.next, risks=accepted.risks,
    )  # fmt: skip
    harness = HARNESSES[found.cli]
    seen = seen_session(agent, ledger, HeardByHooks(), redact, INJECTION_LIMIT, harness.told_length)
    facts = compose_brief(agent, accepted.state, (), git, found.ended, redact, narrative, seen)
    page = render_brief(facts)
    return Briefed(accepted.state, page, len(accepted.refused), outcome.failed is True)


def _ledger(found: Rendered) -> SessionLedger:
    with tempfile.TemporaryDirectory(prefix="phoenixd-eval-") as directory:
        path = Path(directory) / "transcript.jsonl"
        path.write_bytes(b"".join(found.transcript))
        tail = LedgerTail(str(path), HARNESSES[found.cli].transcript_form)
        while tail.read_slice():
            pass
        return tail.kept(redact).ledger


def _before(found: Rendered, ledger: SessionLedger) -> StateDocument:
    """The state as it stood at the end: `phoenixctl resolve` in the session closed its loop at once."""
    state = found.before
    for run in ledger.runs.values():
        for words in commands_in(run.text):
            if words[:2] == ("phoenixctl", "resolve") and len(words) > 3 and not run.failed:
                state = resolve_loop(state, words[2], words[3], utc_date(found.ended)) or state
    return state


def _git(found: Rendered) -> GitSummary | None:
    """What git says of the repository, as the driver tells it."""
    git = found.git
    if git is None:
        return None
    return replace(
        git.summary, top=found.cwd, dirty=(*git.modified, *git.untracked), ahead=git.ahead, operation=git.state
    )


def _around(found: Rendered) -> Around:
    """What the daemon knows by the hooks, and by itself."""
    asked = found.asked
    return Around(
        session=found.session_id,
        number=1,
        cwd=found.cwd,
        turn_open=found.turn_open,
        asking=(Asking(asked.text, asked.options, found.ended),) if asked is not None else (),
        inbox=tuple(Waits(str(number), item.kind, item.text) for number, item in enumerate(found.inbox, 1)),
    )


def _conversation(found: Rendered) -> Conversation | None:
    with tempfile.NamedTemporaryFile(prefix="phoenixd-eval-") as file:
        file.writelines(found.transcript)
        file.flush()
        return read_conversation(file.name, HARNESSES[found.cli].transcript_form)
