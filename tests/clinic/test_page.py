"""docs/how-to/heal-failed-runs.md and its example say and do what the library does (C32)."""

from __future__ import annotations

import asyncio
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phoenixd import clinic
from phoenixd.documents.clinic_reading import LIMIT
from tests.clinic.agents import Script, Watched, http, says

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "heal-failed-runs.md"
EXAMPLE = ROOT / "docs" / "examples" / "clinic_missing_tool.py"


def test_c32_the_example_runs_offline_and_the_clinic_leads_the_model_to_a_tool_that_exists(tmp_path: Path) -> None:
    # Without proxies and keys, in an empty directory: whatever wants the network fails.
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}

    ran = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )

    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "hallucinated_tool -> modify_prompt",
        "Lisbon: sunny in Lisbon, 24 degrees",
    ]
    assert "examples/clinic_missing_tool.py" in PAGE.read_text(encoding="utf-8")


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_first_block_of_the_page_runs() -> None:
    known: dict[str, Any] = {}
    exec(blocks()[0], known)

    assert asyncio.run(known["answer"](Script([says("fine")]).agent(), "how are you?")) == "fine"


def test_the_block_about_streams_tries_again_until_something_was_shown() -> None:
    class Stream:
        def __init__(self, failures: list[Exception], after_words: bool) -> None:
            self.failures, self.after_words, self.begun = failures, after_words, 0

        def run_stream(self, question: str) -> Stream:
            self.begun += 1
            return self

        async def __aenter__(self) -> Stream:
            return self

        async def __aexit__(self, *_: object) -> None:
            return None

        async def stream_text(self, delta: bool) -> Any:
            if self.after_words or not self.failures:
                yield "word"
            if self.failures:
                raise self.failures.pop(0)

    known: dict[str, Any] = {}
    exec(blocks()[1], known)
    for failures, after_words, begun, fails in (
        ([http(529)], False, 2, False),
        ([http(529)], True, 1, True),
        ([http(401)], False, 1, True),
        ([http(529)] * 3, False, 3, True),
    ):
        stream, shown = Stream(list(failures), after_words), []
        if fails:
            with pytest.raises(type(failures[0])):
                asyncio.run(known["stream"](stream, "q", shown.append))
        else:
            asyncio.run(known["stream"](stream, "q", shown.append))
            assert shown == ["word"]
        assert stream.begun == begun


def test_the_page_names_every_argument_and_the_figures_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    arguments = set(inspect.signature(clinic.recoverable_run).parameters) - {"agent", "prompt"}

    assert [name for name in sorted(arguments) if f"| `{name}` |" not in text] == []
    assert f"{LIMIT:,} characters" in text
    assert f"make {Watched().config().request_limit} requests" in text
    assert clinic.Pauses().longest_asked == 5 * 60


def test_c22_the_designs_names_come_from_one_module_and_the_page_says_which() -> None:
    text = PAGE.read_text(encoding="utf-8")

    for name in ("recoverable_run", "ClinicAgent", "TraumaContext", "Diagnosis", "Prescription"):
        assert name in clinic.__all__
        assert f"`{name}`" in text
    assert "`phoenixd.clinic`, and not `exception_recovery`" in text


def test_everything_that_the_library_offers_has_a_sentence() -> None:
    assert [name for name in clinic.__all__ if not (getattr(clinic, name).__doc__ or "").strip()] == []
