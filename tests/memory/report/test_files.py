"""R, F-RE: a claimed content is held against what stood there at the report's time."""

from __future__ import annotations

import pytest

from phoenixd.documents.report.claims import Did, FileClaim, Report
from phoenixd.documents.report.facts import Facts, FileSeen, Witness, Wrote
from phoenixd.memory.report.judgement import judge

HASH, OTHER = "a" * 64, "b" * 64


def verdict(seen: FileSeen, sha256: str | None = None, did: Did = "modified", *, written: bool = True) -> str:
    writes = (Wrote("a.py"),) if written else ()
    facts = Facts(Witness(writes=writes, is_whole=True), {"a.py": seen}, root="/srv/shop")
    return judge(Report((FileClaim("a.py", "a.py", sha256, did),)), facts)[0].outcome


@pytest.mark.parametrize(
    ("seen", "sha256", "expected"),
    [
        (FileSeen("file", HASH, changed=True, before=OTHER), None, "verified"),
        (FileSeen("file", HASH, changed=True, before=HASH), None, "contradicted"),
        (FileSeen("file", HASH, changed=False, before=None), None, "verified"),
        (FileSeen("absent"), None, "unverifiable"),
        (FileSeen("absent"), HASH, "contradicted"),
        (FileSeen("absent", later=True), HASH, "unverifiable"),
    ],
)
def test_a_file_that_was_written_and_put_back_or_taken_away_is_not_what_is_claimed(
    seen: FileSeen, sha256: str | None, expected: str
) -> None:
    assert verdict(seen, sha256) == expected
