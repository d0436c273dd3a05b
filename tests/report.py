"""The closing words of `./dev test`: what ran, what failed, what is FLAKY, and by name what did not run.

A test that failed has run once more alone, with a report of its own beside the first (`NN.again.xml`). One that passed
then is FLAKY: a defect of its own, but not of the change. More than `MOST_FLAKY` are no accident, and fail the run.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

MOST_FLAKY = 2


@dataclass(slots=True)
class Run:
    """One pytest run, as its JUnit report tells it; `finished` is false when it left none."""

    label: str
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    flaky: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    finished: bool = False


def read_run(label: str, report: Path) -> Run:
    run = Run(label)
    try:
        verdicts, run.skipped = read_report(report)
    except (OSError, ElementTree.ParseError):
        run.failed.append("the run ended without a report")
        run.counts["failed"] = 1
        return run
    run.finished = True
    passed_alone = tests_that_pass(report.with_suffix(".again.xml"))
    for name, verdict in verdicts.items():
        if verdict == "failed" and name in passed_alone:
            verdict = "flaky"
        run.counts[verdict] += 1
        if verdict == "failed":
            run.failed.append(name)
        elif verdict == "flaky":
            run.flaky.append(name)
    return run


def read_report(report: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return each test's verdict, and the reasons of those that did not run."""
    verdicts: dict[str, str] = {}
    skipped: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}::{case.get('name', '')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            verdicts[name] = "failed"
        elif skip is not None:
            skipped[name] = skip.get("message", "").removeprefix("not run: ")
            verdicts.setdefault(name, "skipped")
        else:
            verdicts.setdefault(name, "passed")
    return verdicts, skipped


def tests_that_pass(report: Path) -> set[str]:
    """Return the names of the tests that passed; none where the report is absent or cut off."""
    try:
        verdicts, _ = read_report(report)
    except (OSError, ElementTree.ParseError):
        return set()
    return {name for name, verdict in verdicts.items() if verdict == "passed"}


def summarise(runs: list[Run], not_run: list[str]) -> tuple[str, bool]:
    """Return the text, whose last line is the totals, and whether all is well."""
    lines = ["", "ran:"]
    lines += [f"  [{number}] {run.label}: {counted(run.counts)}" for number, run in enumerate(runs, 1)]
    failed: dict[str, str] = defaultdict(str)
    skips: dict[str, str] = defaultdict(str)
    for number, run in enumerate(runs, 1):
        for name in run.failed:
            failed[name] += f" [{number}]"
        for name, reason in run.skipped.items():
            skips[f"{name}: {reason}"] += f" [{number}]"
    flaky = [f"  FLAKY {name} [{number}]" for number, run in enumerate(runs, 1) for name in run.flaky]
    failures = [f"  {name}{where}" for name, where in failed.items()]
    if len(flaky) > MOST_FLAKY:
        failures.append(
            f"  {len(flaky)} tests are FLAKY, and more than {MOST_FLAKY} fail the run: ./dev test --flaky 50 PATH"
        )
    skipped = [f"  {name}{where}" for name, where in skips.items()]
    if flaky:
        lines += ["failed, and passed alone:", *flaky]
    if failures:
        lines += ["failed:", *failures]
    if skipped or not_run:
        lines += ["not run:", *(f"  {line}" for line in not_run), *skipped]
    total: Counter[str] = Counter()
    for run in runs:
        total.update(run.counts)
    lines.append(counted(total))
    passed_something = all(run.finished and run.counts["passed"] for run in runs)
    return "\n".join(lines), bool(runs) and passed_something and not failures


def counted(counts: Counter[str]) -> str:
    flaky = f"{counts['flaky']} flaky, " if counts["flaky"] else ""
    return f"{counts['passed']} passed, {counts['failed']} failed, {flaky}{counts['skipped']} skipped"


def main(arguments: list[str]) -> int:
    directory = Path(arguments[0])
    runs = [
        read_run(label.read_text(encoding="utf-8").strip(), label.with_suffix(".xml"))
        for label in sorted(directory.glob("*.label"))
    ]
    notes = directory / "not-run.txt"
    not_run = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
    text, well = summarise(runs, not_run)
    print(text)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
