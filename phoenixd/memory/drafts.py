"""A program or a model words a project's papers: asked once, once more with the reason, then not any more."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.documents.project.drafting import accepted, material, papers, prompt
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.project.update import Sources
from phoenixd.documents.seal import Seal, mint
from phoenixd.errors import PhoenixdError, WriterFailed
from phoenixd.ports.papers import WriterAnswer

MOST_TRIES = 2
MARK_BYTES = 8

Write = Callable[[Agent, str], Awaitable[WriterAnswer]]
"""Asks the program or the model of an agent's handoffs with this text; raises PhoenixdError."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What the writer would change; why nothing is taken from it, empty where something is; what all tries cost."""

    changes: Changes
    why: str = ""
    tokens: int = 0


async def drafted(
    agent: Agent, tree: Tree, sources: Sources, write: Write, is_wanted: Callable[[], bool] = lambda: True
) -> Draft:
    """Ask the writer, at most MOST_TRIES times. Raises OSError where the project cannot be read.

    is_wanted: whether anybody still waits for it; a handoff may be rolled back while a writer is at it.
    """
    why, remedy, tokens = "", "", 0
    for _ in range(MOST_TRIES):
        if not is_wanted():
            return Draft(Changes(), why, tokens)
        try:
            named = await to_thread.run_sync(papers, tree)
            if not named:
                return Draft(Changes(), tokens=tokens)
            seal = _seal(agent, tree, named)
            asked = await to_thread.run_sync(partial(_asked, agent, tree, sources, why or None, seal))
            answer = await write(agent, asked)
            tokens += answer.tokens
            changes = await to_thread.run_sync(accepted, tree, answer.text, sources, seal)
            return Draft(changes, tokens=tokens)
        except PhoenixdError as failure:
            why, remedy = failure.message, failure.remedy
            tokens += failure.tokens if isinstance(failure, WriterFailed) else 0
    told = f"; {remedy}" if remedy else ""
    what = f"handoff.{agent.spec.handoff.writer} was not heeded in {MOST_TRIES} tries: {why}{told}"
    return Draft(Changes(), what, tokens)


def _seal(agent: Agent, tree: Tree, named: tuple[str, ...]) -> Seal | None:
    """What a program's answer is to bear. A model's is bound to a type, and no part of it is one."""
    if agent.spec.handoff.writer == "model" or not agent.spec.reports.seal:
        return None
    return mint(secrets.token_hex, "\n".join(tree.files[path].decode("utf-8", "replace") for path in named))


def _asked(agent: Agent, tree: Tree, sources: Sources, complaint: str | None, seal: Seal | None) -> str:
    if agent.spec.handoff.writer == "model":
        return prompt(tree, sources, secrets.token_hex(MARK_BYTES), complaint)
    return material(tree, sources, complaint, seal)


def unless_changed(before: Tree, changes: Changes) -> Callable[[Tree], Changes]:
    """The change, where the files are still those that the writer was given; else none, for a person wrote since."""

    def change(now: Tree) -> Changes:
        is_same = all(now.files.get(path) == before.files.get(path) for path in changes.writes)
        return changes if is_same else Changes()

    return change
