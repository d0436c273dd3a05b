"""Whether the core decides a case as its author said."""

from __future__ import annotations

import json
from pathlib import Path

from tests.blind.frozen import Case, Corpus
from tests.core.ends.missed import WHY
from tests.core.ends.playing import Answer

HERE = Path(__file__).parent
BY_HAND = json.loads((HERE / "exits-readings.json").read_text())
"""What was understood of the held cases by hand, before they were played."""
EXITS = Corpus(HERE, "exits-open.json", "exits-held.json", WHY, sure="sure", by_hand=BY_HAND)


def is_right(case: Case, found: Answer) -> bool:
    """By the end's name and by what is done; the notes are for the eye."""
    expected = case["expected"]
    also = expected.get("also_right", {})
    names, acts = {expected["what"], *also.get("what", ())}, {expected["does"], *also.get("does", ())}
    return not names.isdisjoint(found.what) and found.does in acts


def words(found: Answer) -> str:
    return f"{' or '.join(found.what)}; {found.does}"
