"""Regular expressions say the same to each Python that phoenixd runs on."""

from __future__ import annotations

import re
from pathlib import Path

import phoenixd

POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{{1,2}[0-9]*,?[0-9]*\}{1,2})\+")


def test_p79_no_group_is_possessive_for_a_python_before_3_11_5_matches_less_by_it_and_a_secret_would_stay() -> None:
    """A possessive character class is right there; of a possessive group with a choice within it takes too little."""
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted(Path(phoenixd.__file__).parent.rglob("*.py"))
        for line in path.read_text().splitlines()
        if POSSESSIVE_GROUP.search(line)
    ]
    assert found == []
