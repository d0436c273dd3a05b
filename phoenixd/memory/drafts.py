"""A program of the operator's words a project's papers: asked once, once more with the reason, then not any more."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence

from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.documents.project.drafting import accepted, material, papers
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.project.update import Sources
from phoenixd.documents.seal import Seal, mint
from phoenixd.errors import PhoenixdError

MOST_TRIES = 2

Write = Callable[[Agent, Sequence[str], bytes], Awaitable[str]]
"""Asks the program; raises PhoenixdError."""


async def drafted(agent: Agent, tree: Tree, sources: Sources, write: Write) -> tuple[Changes, str]:
    """What the program would change, and why nothing is taken from it; empty where something is."""
    why = remedy = ""
    seal: Seal | None = None
    for _ in range(MOST_TRIES):
        try:
            named = await to_thread.run_sync(papers, tree)
            if not named:
                return Changes(), ""
            if agent.spec.reports.seal:
                seal = mint(secrets.token_hex, "\n".join(tree.files[path].decode("utf-8", "replace") for path in named))
            asked = await to_thread.run_sync(material, tree, sources, why or None, seal)
            answer = await write(agent, agent.spec.handoff.command, asked)
            return await to_thread.run_sync(accepted, tree, answer, sources, seal), ""
        except PhoenixdError as failure:
            why, remedy = failure.message, failure.remedy
    told = f"; {remedy}" if remedy else ""
    return Changes(), f"handoff.command was not heeded in {MOST_TRIES} tries: {why}{told}"


def unless_changed(before: Tree, changes: Changes) -> Callable[[Tree], Changes]:
    """The change, where the files are still those that the program was given; else none, for a person wrote since."""

    def change(now: Tree) -> Changes:
        is_same = all(now.files.get(path) == before.files.get(path) for path in changes.writes)
        return changes if is_same else Changes()

    return change
