"""An agent at work; and of recorded stories all that is decided on the way is compared, beside what tests assert."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from functools import cache

import pytest

from tests.core.recorded.keeping import AGAIN, Recorder, Steps, dump, file_of, load, news
from tests.core.story import Story, claude

known = cache(load)


@pytest.fixture(autouse=True)
def recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compare the steps of a recorded story; `python -m tests.core.recorded` writes them anew."""
    path, name = file_of(request.path.stem), request.node.nodeid.partition("::")[2]
    is_written = AGAIN in os.environ
    if not is_written and name not in known(path):
        yield
        return
    recorder = Recorder()
    recorder.listens(request.module, monkeypatch)
    yield
    kept = known(path).get(name, {})
    found = {number: recorder.steps[number] for number in kept if number < len(recorder.steps)}
    if is_written:
        known.cache_clear()
        if news_of := found or news(recorder.steps):
            dump(path, {**load(path), name: news_of})
    elif found != kept:
        pytest.fail(_difference(f"{path.name}: {name}", kept, found), pytrace=False)


@pytest.fixture
def story() -> Story:
    """An agent of Claude Code in the middle of its first turn."""
    return Story(claude()).works()


def _difference(name: str, kept: Steps, found: Steps) -> str:
    before, after = (
        [line for number, step in steps.items() for line in f"#{number} {step}".splitlines()] for steps in (kept, found)
    )
    lines = list(difflib.unified_diff(before, after, name, "now decided", lineterm="", n=2))
    return "\n".join((*lines[:200], "If that is meant: ./dev python -m tests.core.recorded", ""))
