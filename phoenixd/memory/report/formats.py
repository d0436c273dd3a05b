"""How test runners sum up, beside the formats that a brief reads: of programs, and of no language.

Some print a line for each test and no sum; those lines are counted, and prove something only where all were kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_COUNT = r"(\d{1,7})"
_MOST = 50_000
_PASSED = re.compile(
    rf"\bPassed: Total \d+, Failed \d+, Errors \d+, Passed {_COUNT}\b|^# PASS: +{_COUNT}$"
    rf"|\bAll {_COUNT} tests passed\b|\bTests: succeeded {_COUNT}, failed \d|^{_COUNT} success(?:es)? /",
    re.MULTILINE,
)
_FAILED = re.compile(
    rf"\bPassed: Total \d+, Failed {_COUNT}, Errors|\bFailed: Total \d+, Failed {_COUNT}, Errors|^# FAIL: +{_COUNT}$"
    rf"|\bTests: succeeded \d+, failed {_COUNT}|\b(?:failures|errors)={_COUNT}|^\d+ success(?:es)? / {_COUNT} failure"
    rf"|\bErrors: {_COUNT}|\b\d+ (?:tests?|assertions), {_COUNT} failures?\b|\b\d+ failures?, {_COUNT} errors?\b",
    re.MULTILINE,
)
_TOTAL = re.compile(
    rf"^Files=\d+, Tests={_COUNT},|\b{_COUNT} tests?, \d+ failures?\b|^{_COUNT} runs?, \d+ assertions?,", re.MULTILINE
)
_SKIPPED = re.compile(
    rf"\bSkipped: {_COUNT}|\bskipped={_COUNT}|\b{_COUNT} (?:skipped|skips?|pending|excluded)\b|\bIncomplete: {_COUNT}"
)
_PASS_LINE = re.compile(
    r"^([ \t]*)(?:--- PASS: |ok \d+\b(?![^\n]{0,300}# (?:skip|todo)\b))", re.MULTILINE | re.IGNORECASE
)
_FAIL_LINE = re.compile(r"^([ \t]*)(?:--- FAIL: |not ok \d+\b(?![^\n]{0,300}# todo\b))", re.MULTILINE | re.IGNORECASE)
_CLIPPED = re.compile(
    r"truncated|omitted|\.\.\. ?\[|\[\.\.\.|^[ \t]*(?:\.\.\.|\u2026)[ \t]*$", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Lines:
    """Tests that were printed line by line: those of the outermost level, and all with those within them."""

    passed: tuple[int, int]
    failed: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sums:
    """The numbers of an output. skipped: tests that are in the totals and that were not run."""

    passed: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    totals: tuple[int, ...] = ()
    skipped: tuple[int, ...] = ()
    lines: Lines | None = None


def sums(output: str) -> Sums:
    """What an output sums up with."""
    text = output[-_MOST:]
    passed, failed = _PASS_LINE.findall(text), _FAIL_LINE.findall(text)
    is_whole = len(output) <= _MOST and _CLIPPED.search(text) is None
    lines = Lines(_levels(passed), _levels(failed)) if is_whole and (passed or failed) else None
    return Sums(
        _numbers(_PASSED, text), _numbers(_FAILED, text), _numbers(_TOTAL, text), _numbers(_SKIPPED, text), lines
    )


def _levels(indents: list[str]) -> tuple[int, int]:
    return sum(not one for one in indents), len(indents)


def _numbers(shape: re.Pattern[str], text: str) -> tuple[int, ...]:
    return tuple(int(next(group for group in match.groups() if group)) for match in shape.finditer(text))
