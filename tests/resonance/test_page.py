"""The example of docs/reference/resonance-library.md runs as it stands there."""

from __future__ import annotations

import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.models.test import TestModel

from phoenixd.resonance import Answer, Message, Pacemaker
from tests.resonance.models import Model

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "resonance-library.md"


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    model = Model()

    def call(messages: list[Message]) -> str:
        return model(messages).text

    known: dict[str, Any] = {"call_my_model": call, "MODEL": TestModel()}
    for block in example:
        exec(block, known)

    assert len(example) == 2
    assert asyncio.run(known["agent"].run("hello")).output
    assert isinstance(known["answer"], Answer)
    assert capsys.readouterr().out.endswith("intact\n")


def test_the_page_names_every_argument_and_call() -> None:
    text = PAGE.read_text(encoding="utf-8")
    arguments = set(inspect.signature(Pacemaker).parameters) - {"ask", "seed", "agent", "draw", "now"}
    calls = {name for name in vars(Pacemaker) if not name.startswith("_")}

    assert [name for name in sorted(arguments) if f"| `{name}` |" not in text] == []
    assert [name for name in sorted(calls) if f"| `{name}(" not in text] == []
