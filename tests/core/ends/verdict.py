"""Whether the core decides a case as its author said, and how many."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.core.ends.playing import Answer
from tests.core.ends.reading import Case

HERE = Path(__file__).parent
OPEN, HELD = HERE / "exits-open.json", HERE / "exits-held.json"
BY_HAND: dict[str, dict[str, Any]] = json.loads((HERE / "exits-readings.json").read_text())
"""What was understood of the held cases by hand, before they were played."""


def is_right(case: Case, found: Answer) -> bool:
    """By the end's name and by what is done; the notes are for the eye."""
    expected = case["expected"]
    also = expected.get("also_right", {})
    names, acts = {expected["what"], *also.get("what", ())}, {expected["does"], *also.get("does", ())}
    return not names.isdisjoint(found.what) and found.does in acts


def words(found: Answer) -> str:
    return f"{' or '.join(found.what)}; {found.does}"


def figures(known: list[Case], right: list[bool]) -> str:
    """How many are right of all, and by how sure their author is."""
    parts = []
    for sure in ("high", "medium"):
        those = [is_it for case, is_it in zip(known, right, strict=True) if case["sure"] == sure]
        parts.append(f"{sure} {sum(those)} of {len(those)}")
    return f"{sum(right)} of {len(known)} as their author said ({', '.join(parts)})"
