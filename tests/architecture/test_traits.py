"""In what agent CLIs differ is asked of their traits: decisions, configuration and API name none of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from phoenixd import clis
from phoenixd.core.traits import traits_of
from phoenixd.harness import HARNESSES

PACKAGE = Path(__file__).resolve().parents[2] / "phoenixd"
NAMED = re.compile(r"claude|codex|gemini|anthropic_|openai_", re.IGNORECASE)


@pytest.mark.parametrize("room", ["core", "config", "api"])
def test_no_cli_is_named_in(room: str) -> None:
    files = sorted((PACKAGE / room).rglob("*.py"))

    assert files
    assert naming(files) == []


def test_r63_markers_are_one_module_for_daemon_and_libraries_and_know_no_vendor() -> None:
    rooms = ["core/resonance", "documents/resonance", "memory/resonance", "resonance"]
    files = [PACKAGE / "planting.py", *(path for room in rooms for path in sorted((PACKAGE / room).rglob("*.py")))]

    wording = [
        path
        for path in PACKAGE.rglob("*.py")
        if re.search(r"def (challenge_text|anchor_text|renewal_text)\b", path.read_text())
    ]

    assert naming(files) == []
    assert wording == [PACKAGE / "planting.py"]


def naming(files: list[Path]) -> list[str]:
    """The lines of these files that name a CLI or its maker."""
    return [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if NAMED.search(line)
    ]


def test_the_names_that_phoenixctl_knows_are_those_of_the_harnesses() -> None:
    assert clis.NAMES == tuple(HARNESSES)
    assert clis.EXAMPLE in HARNESSES


def test_each_harness_has_told_its_traits() -> None:
    assert {name: traits_of(name) for name in HARNESSES} == {name: one.traits for name, one in HARNESSES.items()}
