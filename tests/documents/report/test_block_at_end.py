"""The report in an agent's answer: the object that it ends in, and no other."""

from __future__ import annotations

import pytest

from phoenixd.documents.report.reading import block_at_end

GIVEN = '{"files": [{"path": "a.py"}]}'
SPREAD = '{\n  "files": [\n{"path": "a.py"}]\n}'


@pytest.mark.parametrize(
    ("answer", "block"),
    [
        (f"Done.\n\n```json\n{GIVEN}\n```\n", GIVEN),
        (f"Done, see `x{{}}`.\n{GIVEN}", GIVEN),
        (f"```py\na = {{}}\n```\n{SPREAD}\n", SPREAD),
        (f"```json\n{GIVEN}\n```\nThat is all.", None),
        ("It ends in f() { return }", None),
        ("```\nplain\n```", None),
        ("Done.", None),
        ("", None),
        ("```", None),
        ("{" * 5000 + "}", None),
    ],
)
def test_only_the_object_that_an_answer_ends_in_is_its_report(answer: str, block: str | None) -> None:
    assert block_at_end(answer) == block
