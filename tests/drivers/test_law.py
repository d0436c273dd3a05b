"""The law of the drivers' room: one outside thing each, and none knows another."""

from __future__ import annotations

import ast
from pathlib import Path

DRIVERS = Path(__file__).resolve().parents[2] / "phoenixd" / "drivers"


def test_drivers_never_import_each_other() -> None:
    """A driver is a folder, such as tmux/, or one file, such as clock.py."""
    found = []
    for path in sorted(DRIVERS.rglob("*.py")):
        driver = path.relative_to(DRIVERS).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("phoenixd.drivers"):
                rest = (node.module or "").removeprefix("phoenixd.drivers").lstrip(".")
                names = [rest] if rest else [alias.name for alias in node.names]
                found += [f"{path.relative_to(DRIVERS)}: {name}" for name in names if name.partition(".")[0] != driver]

    assert found == []
