"""What the rules said of records, beside what was expected: a confusion table, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from phoenixd.core.treatment.triage import Diagnosis
from phoenixd.core.treatment.words import RootCause
from tests.eval_clinic import noticed
from tests.eval_clinic.raised import diagnosed
from tests.eval_clinic.reading import Expected, Record

HEALTHY, UNKNOWN = "healthy", "unknown"
WORDS: tuple[str, ...] = (*get_args(RootCause), UNKNOWN, HEALTHY)
SHORT = {
    "context_length_exceeded": "context", "hallucinated_tool": "no tool", "invalid_tool_arguments": "arguments",
    "ambiguous_instruction": "ambiguous", "logic_error": "logic", "transient_error": "transient",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """One record and what was said of it. found None: nothing was wrong."""

    record: Record
    found: Diagnosis | None

    @property
    def expected(self) -> Expected:
        return self.record.expected

    @property
    def said(self) -> str:
        return HEALTHY if self.found is None else self.found.cause or UNKNOWN

    @property
    def meant(self) -> str:
        return (self.expected.cause or UNKNOWN) if self.expected.ill else HEALTHY

    @property
    def is_claim(self) -> bool:
        """Whether the rules say that they know the cause."""
        return self.said not in (UNKNOWN, HEALTHY)

    @property
    def is_slander(self) -> bool:
        """A healthy end was called ill."""
        return not self.expected.ill and self.said != HEALTHY

    @property
    def is_of_a_cli(self) -> bool:
        """A failure that a daemon treats."""
        return self.expected.ill and not self.record.is_live

    @property
    def is_missed(self) -> bool:
        """A failure was called healthy."""
        return self.expected.ill and self.said == HEALTHY

    @property
    def treats_well(self) -> bool:
        """Whether the first treatment that the rules name is one of those that were accepted."""
        wanted = self.expected.treatments
        return self.found is not None and bool(set(self.found.treatments[:1]) & set(wanted))


def judged(records: Sequence[Record], directory: Path) -> list[Judged]:
    """Ask about each record: the daemon's core, and the library where the failure is raised live."""
    live = diagnosed(records, directory)
    return [Judged(one, live[one.id] if one.is_live else noticed.diagnosed(one)) for one in records]


@dataclass(frozen=True, slots=True)
class Counts:
    """claims: where the rules say that they know; right, slandered: of claims, and of healthy ends."""

    records: int
    ill: int
    claims: int
    right: int
    unknown: int
    missed: int
    healthy: int
    slandered: int
    treated: int
    treatable: int

    @property
    def is_well(self) -> bool:
        """At least 95 of 100 claims right, and no healthy end called ill."""
        return self.right >= 0.95 * self.claims and self.slandered == 0


def counted(found: Sequence[Judged]) -> Counts:
    """The counts of the table."""
    claims = [one for one in found if one.is_claim]
    return Counts(
        len(found), sum(one.expected.ill for one in found), len(claims),
        sum(one.said == one.meant for one in claims), sum(one.said == UNKNOWN for one in found),
        sum(one.is_missed for one in found), sum(not one.expected.ill for one in found),
        sum(one.is_slander for one in found), sum(one.treats_well for one in found if one.is_of_a_cli),
        sum(one.is_of_a_cli for one in found),
    )  # fmt: skip


def table(found: Sequence[Judged]) -> Iterator[str]:
    """The confusion table, as Markdown: a row for what was so, a column for what was said."""
    pairs = Counter((one.meant, one.said) for one in found)
    columns = [word for word in WORDS if any(said == word for _, said in pairs)]
    yield f"| was | {' | '.join(SHORT.get(word, word) for word in columns)} | records |"
    yield f"|---|{'---:|' * (len(columns) + 1)}"
    for word in WORDS:
        row = [pairs[word, said] for said in columns]
        if sum(row):
            yield f"| {word} | {' | '.join(str(count) if count else '' for count in row)} | {sum(row)} |"


def lines(found: Sequence[Judged]) -> Iterator[str]:
    """Table and counts."""
    told = counted(found)
    yield from table(found)
    yield ""
    share = f" ({told.right / told.claims:.1%})" if told.claims else ""
    yield f"causes claimed and right: {told.right} of {told.claims}{share}"
    yield f"called unknown: {told.unknown}; failures called healthy: {told.missed} of {told.ill}"
    yield f"healthy ends called ill: {told.slandered} of {told.healthy}"
    yield f"failures of CLIs whose first treatment was one of those accepted: {told.treated} of {told.treatable}"


def rules(found: Sequence[Judged]) -> Iterator[str]:
    """On what each rule that claims a cause rests: right claims of all, and from which CLI the records come.

    A rule that a single record supports was perhaps written for it.
    """
    claims: dict[str, list[Judged]] = {}
    for one in found:
        if one.found is not None and one.is_claim:
            claims.setdefault(one.found.rule, []).append(one)
    yield "| rule | right | of | records of | |"
    yield "|---|---:|---:|---|---|"
    for rule, made in sorted(claims.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        by = Counter(one.record.harness for one in made)
        families = ", ".join(f"{name} {count}" for name, count in sorted(by.items()))
        wrong = ", ".join(one.record.id for one in made if one.said != one.meant)
        note = f"wrong: {wrong}" if wrong else "one record" if len(made) == 1 else ""
        yield f"| {rule} | {sum(one.said == one.meant for one in made)} | {len(made)} | {families} | {note} |"
