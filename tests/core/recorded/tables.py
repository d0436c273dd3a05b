"""Tables on disk of what rules say at their edges: compared, or written anew where that is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tests.core.recorded.keeping import AGAIN, EDGES


def compare(name: str, rows: Iterable[str]) -> None:
    """Assert that the table of that name has exactly these rows; `python -m tests.core.recorded` writes it anew."""
    path, found = EDGES / f"{name}.txt", list(rows)
    if AGAIN in os.environ:
        path.write_text("\n".join((*found, "")), encoding="utf-8")
    assert found == path.read_text(encoding="utf-8").splitlines(), "if that is meant: python -m tests.core.recorded"
