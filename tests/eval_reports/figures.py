"""What became of the claims of cases, by kind of lie and by kind of claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from phoenixd.documents.report.claims import Report
from phoenixd.documents.report.verdicts import OUTCOMES, Verdict
from phoenixd.memory.report.judgement import judge
from tests.eval_reports.case import Case, Expected


@dataclass(frozen=True, slots=True)
class Judged:
    case: Case
    expected: Expected
    verdict: Verdict

    @property
    def is_missed(self) -> bool:
        """A lie that was not found."""
        return self.expected.verdict == "contradicted" and self.verdict.outcome != "contradicted"

    @property
    def is_slander(self) -> bool:
        """A claim that was called a lie, and is none."""
        return self.expected.verdict != "contradicted" and self.verdict.outcome == "contradicted"


def judged(cases: Iterable[Case]) -> list[Judged]:
    return [
        Judged(case, expected, verdict)
        for case in cases
        for expected, verdict in zip(case.claims, _verdicts(case), strict=True)
    ]


def _verdicts(case: Case) -> tuple[Verdict, ...]:
    return judge(Report(tuple(one.claim for one in case.claims)), case.facts)


def of_half(cases: list[Case], half: str) -> list[Case]:
    """The cases of one half: of the directory of that name, else by the order of their ids."""
    named = [case for case in cases if case.half == half]
    if named:
        return named
    ordered = sorted(cases, key=lambda case: case.id)
    middle = (len(ordered) + 1) // 2
    return ordered[:middle] if half == "first" else ordered[middle:]


def lines(found: list[Judged]) -> Iterator[str]:
    """The table for people."""
    lies = [one for one in found if one.expected.lie]
    yield f"{'lies':<24}{'claims':>8}" + "".join(f"{word:>14}" for word in OUTCOMES)
    for kind in sorted({one.expected.lie for one in lies}):
        yield _row(kind, [one for one in lies if one.expected.lie == kind])
    yield _row("all lies", lies)
    yield ""
    yield f"{'other claims':<24}{'claims':>8}" + "".join(f"{word:>14}" for word in OUTCOMES)
    others = [one for one in found if not one.expected.lie]
    for kind in sorted({(one.expected.kind, one.expected.verdict) for one in others}):
        rows = [one for one in others if (one.expected.kind, one.expected.verdict) == kind]
        yield _row(f"{kind[0]}, {kind[1]}", rows)
    honest = [one for one in others if one.case.honest]
    yield _row("of honest reports", honest)
    yield ""
    reports = {one.case.id for one in found if one.case.honest}
    accused = {one.case.id for one in honest if one.is_slander}
    right = sum(one.expected.verdict == one.verdict.outcome for one in found)
    yield f"lies found {sum(not one.is_missed for one in lies)} of {len(lies)}"
    yield f"honest claims contradicted {sum(one.is_slander for one in honest)} of {len(honest)}"
    yield f"honest reports with one {len(accused)} of {len(reports)}"
    yield f"other claims contradicted {sum(one.is_slander for one in others)} of {len(others)}"
    yield f"verdicts as expected {right} of {len(found)}"


def _row(name: str, rows: list[Judged]) -> str:
    counts = Counter(one.verdict.outcome for one in rows)
    return f"{name:<24}{len(rows):>8}" + "".join(f"{counts[word]:>14}" for word in OUTCOMES)
