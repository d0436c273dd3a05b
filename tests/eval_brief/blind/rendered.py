"""`rendered(session)`: all that a session leaves behind, as the daemon finds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from phoenixd.documents.state import OpenLoop, StateDocument
from phoenixd.documents.workspace import Commit, GitSummary
from tests.eval_brief.blind import session as form
from tests.eval_brief.blind.claude import ClaudeSession
from tests.eval_brief.blind.codex import CodexSession
from tests.eval_brief.blind.gemini import GeminiSession
from tests.eval_brief.blind.patterns import BEGAN, CWD, sha
from tests.eval_brief.blind.session import Inbox, Session

AGENT = "a"
KINDS = {"words": "said", "": "said", "known": "said", "unanswered": "request"}
"""Kinds that state.json calls by another name."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question or permission that was open at the end. The daemon knows it by the CLI's hook, whatever files say."""

    kind: str
    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workspace:
    """The repository after the end, with what a GitSummary has no field for."""

    summary: GitSummary
    ahead: int = 0
    modified: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    state: str = ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """waiting: prompts that were typed and not read, which Codex and the Gemini CLI keep in no file.

    turn_open: as the hooks told it, which is all that tells it of the Gemini CLI.
    """

    cli: str
    session_id: str
    cwd: str
    transcript: tuple[bytes, ...]
    tasks: Mapping[str, bytes]
    git: Workspace | None
    before: StateDocument
    began: float
    ended: float
    turn_open: bool
    goal: str | None = None
    asked: Asked | None = None
    waiting: tuple[str, ...] = ()
    inbox: tuple[Inbox, ...] = field(default=())


def rendered(session: Session) -> Rendered:
    """What is found after the session's end; the same at each call."""
    tasks: Mapping[str, bytes] = {}
    if session.cli == "claude":
        claude = ClaudeSession(session)
        claude.play()
        lines, session_id, turn_open = claude.lines.made, claude.lines.session_id, claude.turn_open
        tasks = claude.tasks.files()
    else:
        other = CodexSession(session) if session.cli == "codex" else GeminiSession(session)
        other.play()
        lines, session_id, turn_open = other.made, other.session_id, other.turn_open
    ended = BEGAN + (session.event[-1].t if session.event else 0.0) + 1.0
    return Rendered(
        session.cli, session_id, CWD, tuple(lines), tasks, _workspace(session), _before(session), BEGAN, ended,
        turn_open, session.goal, _asked(session), _waiting(session), session.inbox,
    )  # fmt: skip


def _before(session: Session) -> StateDocument:
    """Loops of earlier sessions: what a person wrote has no keys of ours."""
    day = (date(2026, 11, 22) - timedelta(days=2)).isoformat()
    loops = [
        OpenLoop.model_validate(
            {"id": known.id, "text": known.text, "added": day}
            | (
                {"kind": KINDS.get(known.source_key, known.source_key), "source": "session"}
                if known.by == "session"
                else {}
            )
        )
        for known in session.known
    ]
    return StateDocument(agent=AGENT, open_loops=tuple(loops))


def _workspace(session: Session) -> Workspace | None:
    git = session.git
    if git is None:
        return None
    made = [event for event in session.event if isinstance(event, form.Committed)]
    commits = [Commit(sha(session.id, event.commit), _day(event.t), event.commit.split("\n")[0]) for event in made]
    summary = GitSummary(git.branch, tuple(reversed(commits)), len(git.modified), len(git.untracked))
    return Workspace(summary, git.upstream_ahead, git.modified, git.untracked, git.state)


def _asked(session: Session) -> Asked | None:
    match session.event[-1] if session.event else None:
        case form.Question(_, text, options, None):
            return Asked("question", text, options)
        case form.Permission(_, command, None):
            return Asked("permission", command)
        case _:
            return None


def _waiting(session: Session) -> tuple[str, ...]:
    return tuple(event.queued for event in session.event if isinstance(event, form.Queued) and not event.read_by_agent)


def _day(second: float) -> str:
    return datetime.fromtimestamp(BEGAN + second, UTC).date().isoformat()
