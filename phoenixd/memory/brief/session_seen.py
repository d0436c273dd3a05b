"""What a brief shows of an agent's session, from its ledger and from what hooks told; pure, and without secrets."""

from __future__ import annotations

import functools
import os.path
from collections.abc import Callable
from dataclasses import dataclass, replace

from phoenixd.core.agent import Agent
from phoenixd.documents.brief.page import FACTS, words_room
from phoenixd.documents.brief.session_work import CheckRun, LastWords, SessionWork
from phoenixd.documents.brief.work_lines import MOST_CHECKS, MOST_FILES
from phoenixd.documents.ledger_rows import Run
from phoenixd.documents.redact import Clean
from phoenixd.documents.session_ledger import SessionLedger
from phoenixd.memory.brief.last_words import HeardByHooks, all_said, last_words
from phoenixd.memory.brief.loops.commands import verdict
from phoenixd.memory.brief.task_in_hand import goal_digests, is_ours

CLEANED = 256
OPENING = 1000
"""Characters in which the first line of a brief of ours stands."""


@dataclass(frozen=True, slots=True)
class SeenSession:
    """words: for the page. told: for what a session is told, which has its own room and measure."""

    words: LastWords
    told: LastWords
    work: SessionWork


def seen_session(
    agent: Agent,
    ledger: SessionLedger | None,
    heard: HeardByHooks,
    clean: Clean,
    limit: int,
    length: Callable[[str], int],
) -> SeenSession:
    """limit, length: of what a session is told, as its CLI measures."""

    def ours(prompt: str) -> bool:
        return is_ours(agent, prompt) or FACTS in prompt[:OPENING]

    # Both choices look at the same utterances, and most of the time goes into their secrets.
    clean = functools.lru_cache(CLEANED)(clean)
    said = all_said(ledger, heard)
    waiting = ledger.waiting if ledger is not None else ()
    goal = goal_digests(agent)
    words = last_words(said, waiting, ours, clean, goal=goal)
    told = last_words(said, waiting, ours, clean, words_room(limit), length, goal)
    if ledger is None:
        words, told = replace(words, origin="hooks"), replace(told, origin="hooks")
    return SeenSession(words, told, work_of(agent, ledger, clean))


def work_of(agent: Agent, ledger: SessionLedger | None, clean: Clean) -> SessionWork:
    """What the session's tools wrote, and how its checks went."""
    began = agent.session.created_wall if agent.session is not None else None
    if ledger is None:
        return SessionWork(began)
    paths = [_shown(one.path, agent.spec.cwd) for one in reversed(ledger.files.values())]
    checks = _checks(ledger)
    return SessionWork(
        ledger.began_at if ledger.began_at is not None else began,
        tuple(clean(path) for path in paths[:MOST_FILES]),
        max(0, len(paths) - MOST_FILES),
        tuple(replace(one, command=clean(one.command)) for one in checks[:MOST_CHECKS]),
    )


def _shown(path: str, directory: str) -> str:
    """A path as people in that directory would write it."""
    inside = path.startswith(f"{directory.rstrip('/')}/")
    return os.path.relpath(path, directory) if inside else path


def _checks(ledger: SessionLedger) -> list[CheckRun]:
    """The newest run of each check, newest first, with the outcome of the session's first one."""
    first: dict[str, str] = {}
    newest: dict[str, CheckRun] = {}
    for run in ledger.runs.values():
        for key in _keys(run):
            outcome = _outcome(run.code, run.failed)
            before = _outcome(run.first_code, run.first_failed) if run.first_failed is not None else outcome
            first.setdefault(key, before)
            newest.pop(key, None)
            newest[key] = CheckRun(key, first[key], outcome, run.ended)
    return list(reversed(newest.values()))


def _outcome(code: int | None, failed: bool | None) -> str:
    word = "failed" if failed else "passed"
    return f"{word} (exit {code})" if code is not None else word


def _keys(run: Run) -> tuple[str, ...]:
    """The checks whose result a run tells: none for a command that is no check."""
    judged = verdict(run.text, run.code, run.failed)
    return tuple(check.key for check in judged.checks) if judged is not None else ()
