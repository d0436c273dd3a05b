"""Runs a recipe of pydantic-ai live, and tells what its caller would have in hand."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, capture_run_messages

Recipe = Callable[[], AbstractAsyncContextManager["Attempt"]]
RECIPES: dict[str, Recipe] = {}


@dataclass(frozen=True)
class Attempt:
    """One call: `await agent.run(prompt, **options)`."""

    agent: Agent[Any, Any]
    prompt: str = "What does the till hold?"
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Lived:
    """What came of it: an error or a result, and the messages with the call that failed."""

    attempt: Attempt
    error: BaseException | None
    result: Any
    messages: list[Any]


def recipe(made: Callable[[], AsyncIterator[Attempt]]) -> Recipe:
    """Mark a generator that yields one attempt while all that it needs is up."""
    RECIPES[made.__name__] = asynccontextmanager(made)
    return RECIPES[made.__name__]


async def live(made: Recipe) -> Lived:
    async with made() as attempt:
        with capture_run_messages() as messages:
            try:
                result = await attempt.agent.run(attempt.prompt, **attempt.options)
            except BaseException as error:  # noqa: BLE001 - what it raises is what is asked for, a cancellation too.
                return Lived(attempt, error, None, messages)
        return Lived(attempt, None, result, messages)


def load(records: Path) -> None:
    """Read the recipes that lie beside the records; RECIPES knows them by name from then on."""
    for path in sorted(records.glob("recipes*.py")):
        spec = importlib.util.spec_from_file_location(f"{path.stem}_of_{records.name}", path)
        assert spec
        assert spec.loader
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
