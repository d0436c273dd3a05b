"""The table of docs/reference/harnesses.md, made from the contract suite's own report."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from tests.real.installed import locate, says, version

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "harnesses.md"
BEGIN, END = "<!-- contract: begin -->", "<!-- contract: end -->"
NOT_RUN, FAILED = "not run", "**failed**"

Results = Mapping[tuple[str, str], str]
"""What a cell says, by test and harness."""


def rows() -> dict[str, str]:
    """Every test of the suite with the first line of its docstring, in the order of the file."""
    from tests.real import test_contract

    tests = {name: test for name, test in vars(test_contract).items() if name.startswith("test_")}
    return {name: (inspect.getdoc(test) or name).splitlines()[0] for name, test in tests.items()}


def read_report(report: Path) -> dict[tuple[str, str], str]:
    """The cells of a JUnit report: a test that did not pass says how it ended."""
    cells = {}
    for case in ElementTree.parse(report).iter("testcase"):
        named = re.fullmatch(r"(test_\w+)\[(\w+)\]", case.get("name", ""))
        if named is None:
            continue
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            told = FAILED
        elif skipped is not None:
            reason = (skipped.get("message") or "").removeprefix("not run: ")
            told = f"**no**: {reason}" if skipped.get("type") == "pytest.xfail" else f"{NOT_RUN}: {reason}"
        else:
            told = "passed"
        cells[named[1], named[2]] = told
    return cells


def second_try(first: Results, second: Results) -> dict[tuple[str, str], str]:
    """The results with those of a repetition of what had failed, which say so."""
    again = {cell: f"{told}, at the second try" if told == "passed" else told for cell, told in second.items()}
    return {**first, **{cell: told for cell, told in again.items() if first.get(cell) == FAILED}}


def table(results: Results, harnesses: tuple[str, ...] = ("claude", "codex", "gemini")) -> str:
    """The table in Markdown; what has no result was not run."""
    heads = [f"{name} {version(name)}" for name in harnesses]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'---|' * len(heads)}"]
    for test, row in rows().items():
        cells = [results.get((test, name), NOT_RUN).replace("|", "/").replace("\n", " ") for name in harnesses]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def differences(results: Results, tested: Results, told: Mapping[str, str]) -> list[str]:
    """What another version does otherwise than the pinned one, a line each. told: what each CLI says of its version."""
    lines = [f"{name}: {told.get(name, NOT_RUN)}; pinned: {version_of_table(name)}" for name in sorted(told)]
    for (test, name), cell in results.items():
        before = tested.get((test, name), NOT_RUN)
        if cell != before and not cell.startswith(NOT_RUN):
            lines.append(f"{name}: {rows().get(test, test)}: {before} -> {cell}")
    return lines if len(lines) > len(told) else [*lines, "no row that was run differs from the pinned versions"]


def version_of_table(name: str, page: Path = PAGE) -> str:
    """The version that the page's column is about."""
    head = written(page).partition("\n")[0]
    found = re.search(rf"\b{name} (\S+)", head)
    return found[1] if found else "none"


def cells(page: Path = PAGE, harnesses: tuple[str, ...] = ("claude", "codex", "gemini")) -> dict[tuple[str, str], str]:
    """What the page says of each row and harness."""
    by_row = {row: test for test, row in rows().items()}
    found = {}
    for line in written(page).splitlines()[2:]:
        row, *told = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if row in by_row:
            found.update({(by_row[row], name): cell for name, cell in zip(harnesses, told, strict=False)})
    return found


def versions(harnesses: tuple[str, ...] = ("claude", "codex", "gemini")) -> dict[str, str]:
    """What each CLI that is to be tested says of its version, or why it cannot be had."""
    told = {}
    for name in harnesses:
        found = locate(name)
        told[name] = says(found.binary) if found.binary is not None else found.reason
    return told


def write(made: str, page: Path = PAGE) -> None:
    """Put the table between its marks."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{made}\n{END}{after}")


def written(page: Path = PAGE) -> str:
    """The table that the page holds."""
    return page.read_text().partition(BEGIN)[2].partition(END)[0].strip()
