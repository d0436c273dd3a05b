"""P53, P54, F-PROC-5, F-PROC-8, F-PROC-26, F-PROC-27, X4: what an end is, in cases by another hand."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from tests.core.ends.missed import MISSED
from tests.core.ends.playing import answer
from tests.core.ends.reading import Case, cases, facts_of
from tests.core.ends.verdict import BY_HAND, HELD, OPEN, figures, is_right, words

PAGE = Path(__file__).with_name("README.md").read_text()


@pytest.mark.parametrize("case", [*cases(OPEN), *cases(HELD)], ids=lambda case: case["id"])
def test_an_end_is_decided_as_its_author_said_or_as_a_ruling_has_it(case: Case) -> None:
    found = answer(facts_of(case, BY_HAND.get(case["id"])))

    assert is_right(case, found) == (case["id"] not in MISSED), f"{words(found)}: {found.reason}"
    if case["id"] in MISSED:
        assert words(found) == MISSED[case["id"]][0]


@pytest.mark.parametrize("file", [OPEN, HELD], ids=lambda file: file.stem)
def test_the_page_has_the_figures_and_the_cases_are_as_they_were_frozen(file: Path) -> None:
    known = cases(file)
    (frozen,) = re.findall(rf"\| `{file.name}` \| 12 \| ([0-9a-f]{{64}}) \|", PAGE)

    assert hashlib.sha256(file.read_bytes()).hexdigest() == frozen
    (figure,) = re.findall(rf"`{file.name}`, [^\n]*today: ([^\n]*)", PAGE)
    assert figure == figures(known, [case["id"] not in MISSED for case in known])
    assert all(one in PAGE for one in MISSED)


def test_f_proc_26_of_two_others_that_share_the_account_none_is_asked_before_the_reset() -> None:
    """What the author's notes say beside the answer."""
    case = next(one for one in cases(OPEN) if one["id"] == "EXI-03")
    played = answer(facts_of(case))

    assert played.parked == ("a", "peer0", "peer1")
