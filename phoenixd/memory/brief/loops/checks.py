"""Tests, builds, linters, deploys: a check is open while its newest run failed and no run that covers it passed.

A pass of fewer tests than failed proves nothing of those that failed; a run that still goes on, or that somebody
stopped, decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from phoenixd.documents.ledger_rows import Run
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops.check import Check
from phoenixd.memory.brief.loops.commands import Verdict, checks_in, verdict
from phoenixd.memory.brief.loops.seen import Found, Seen, source_in, source_of

KIND = "check"
COMMAND_SHOWN = 200
_QUOTED_COMMAND = re.compile(r"`([^`\n]{1,400})`")


@dataclass(frozen=True, slots=True)
class _Failure:
    run: Run
    verdict: Verdict

    @property
    def key(self) -> str:
        return " && ".join(dict.fromkeys(check.key for check in self.verdict.checks))


def found(seen: Seen) -> Iterator[Found]:
    for key, failures in _failing(seen).items():
        run = failures[-1].run
        text = f"`{one_line(run.text, COMMAND_SHOWN).replace('`', chr(39))}` failed{_how(run)}"
        if len(failures) > 1:
            text += f", and {len(failures) - 1} more run{'s' if len(failures) > 2 else ''} of {key}"
        yield Found(KIND, key, text, run.ended or run.began, is_same=True)


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    failing = _failing(seen)
    wanted = _meant(loop)
    key = source_of(loop) or " && ".join(check.key for check in wanted)
    if key in failing:
        return None
    passed = [check for _, told in _verdicts(seen) if told.passed for check in told.checks]
    if wanted:
        proven = all(any(one.covers(check) for one in passed) for check in wanted)
    else:
        # Words that quote no command: the newest run of the key that stands in them decides.
        proven = any(_stands_in(check.key, loop.text) and check.key not in failing for check in passed)
    if proven:
        return f"a newer run passed: {', '.join(dict.fromkeys(check.key for check in wanted)) or 'the same check'}"
    mine = source_in(loop, seen.session)
    return f"a newer run passed: {mine}" if mine and _passed_since(mine, seen) else None


def newest(seen: Seen) -> Iterator[tuple[Run, str, bool]]:
    """Every run that decided something, oldest first: the run, its key, and whether it passed."""
    for run, told in _verdicts(seen):
        yield run, " && ".join(dict.fromkeys(check.key for check in told.checks)), told.passed


def _verdicts(seen: Seen) -> Iterator[tuple[Run, Verdict]]:
    for run in seen.ledger.runs.values():
        told = None if run.interrupted else verdict(run.text, run.code, run.failed)
        if told is not None:
            yield run, told


def _failing(seen: Seen) -> dict[str, list[_Failure]]:
    """Runs that failed and that no later pass covers, by key, oldest first."""
    failures: list[_Failure] = []
    for run, told in _verdicts(seen):
        if told.passed:
            failures = [rest for one in failures if (rest := _less(one, told)) is not None]
        else:
            # What this one looked at it has told anew.
            failures = [one for one in failures if not _tells_anew(told, one.verdict)]
            failures.append(_Failure(run, told))
    by_key: dict[str, list[_Failure]] = {}
    for one in failures:
        by_key.setdefault(one.key, []).append(one)
    return by_key


def _less(failure: _Failure, passed: Verdict) -> _Failure | None:
    """What is left of a failure after a pass; None: nothing."""
    left = tuple(one for one in failure.verdict.checks if not any(other.covers(one) for other in passed.checks))
    return _Failure(failure.run, Verdict(left, False)) if left else None


def _tells_anew(newer: Verdict, older: Verdict) -> bool:
    return all(any(one.covers(other) for one in newer.checks) for other in older.checks)


def _passed_since(key: str, seen: Seen) -> bool:
    return any(told.passed and key in {check.key for check in told.checks} for _, told in _verdicts(seen))


def _meant(loop: OpenLoop) -> tuple[Check, ...]:
    """The checks of the command that a loop's text quotes, or begins with."""
    command = _QUOTED_COMMAND.search(loop.text)
    return checks_in(command[1]) if command is not None else ()


def _stands_in(key: str, text: str) -> bool:
    words = r"\W{1,3}".join(re.escape(word) for word in key.split())
    return re.search(rf"(?<![\w-]){words}(?![\w-])", text) is not None


def _how(run: Run) -> str:
    return f" with exit code {run.code}" if run.code else ""
