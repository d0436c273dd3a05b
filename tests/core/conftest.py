"""Tests whose stories are recorded compare, beside what they assert, all that was decided on the way."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.core.recorded.keeping import AGAIN, Recorder, Stories, dump, file_of, load

known = cache(load)


@pytest.fixture(autouse=True)
def recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compare the steps of a recorded story; `python -m tests.core.recorded` writes them anew."""
    path, name = file_of(request.path.stem), request.node.name
    is_written = AGAIN in os.environ
    if not is_written and name not in known(path):
        yield
        return
    recorder = Recorder()
    recorder.listens(request.module, monkeypatch)
    yield
    if is_written and recorder.steps:
        dump(path, {**load(path), name: recorder.steps})
    elif not is_written and recorder.steps != known(path)[name]:
        pytest.fail(_difference(known(path), name, recorder.steps, path), pytrace=False)


def _difference(stories: Stories, name: str, steps: list[str], path: Path) -> str:
    before, after = ("\n".join(told).splitlines() for told in (stories[name], steps))
    lines = list(difflib.unified_diff(before, after, f"{path.name}: {name}", "now decided", lineterm="", n=2))
    return "\n".join((*lines[:200], "If that is meant: python -m tests.core.recorded", ""))
