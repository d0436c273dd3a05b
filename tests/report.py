"""The closing words of `./dev test`: what ran, what failed, and by name what did not run."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Run:
    """One pytest run, as its JUnit report tells it; `finished` is false when it left none."""

    label: str
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    finished: bool = False


def read_run(label: str, report: Path) -> Run:
    run = Run(label)
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        run.failed.append("the run ended without a report")
        run.counts["failed"] = 1
        return run
    run.finished = True
    for case in cases:
        name = f"{case.get('classname', '').replace('.', '/')}::{case.get('name', '')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            run.failed.append(name)
            run.counts["failed"] += 1
        elif skip is not None:
            run.skipped[name] = skip.get("message", "").removeprefix("not run: ")
            run.counts["skipped"] += 1
        else:
            run.counts["passed"] += 1
    return run


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
    failures = [f"  {name}{where}" for name, where in failed.items()]
    skipped = [f"  {name}{where}" for name, where in skips.items()]
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
    return f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"


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
