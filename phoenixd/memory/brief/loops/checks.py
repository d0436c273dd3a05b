"""Tests, builds, linters, deploys: a check is open while its newest run failed and no run that covers it passed.

A pass of fewer tests than failed proves nothing of those that failed; a run that still goes on, or that somebody
stopped, decides nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from phoenixd.documents.ledger_rows import Outcome, Run
from phoenixd.documents.plain_text import one_line
from phoenixd.documents.state import OpenLoop
from phoenixd.memory.brief.loops.check import Check
from phoenixd.memory.brief.loops.commands import Verdict, checks_in, verdict
from phoenixd.memory.brief.loops.seen import Found, Seen, source_in, source_of

KIND = "check"
COMMAND_SHOWN = 200
_QUOTED_COMMAND = re.compile(r"`([^`\n]{1,400})`")


@dataclass(frozen=True, slots=True)
class _Told:
    """What the newest run of a command showed that showed something."""

    run: Run
    outcome: Outcome
    verdict: Verdict

    @property
    def key(self) -> str:
        return " && ".join(dict.fromkeys(check.key for check in self.verdict.checks))

    @property
    def at(self) -> float | None:
        return self.outcome.began if self.outcome.ended is None else self.outcome.ended


def found(seen: Seen) -> Iterator[Found]:
    for key, failures in _failing(seen).items():
        newest = failures[-1]
        text = f"`{_shown(newest.run)}` failed{_how(newest.outcome)}"
        if len(failures) > 1:
            text += f", and {len(failures) - 1} more run{'s' if len(failures) > 2 else ''} of {key}"
        yield Found(KIND, key, text, newest.at, is_same=True)


def closed(loop: OpenLoop, seen: Seen) -> str | None:
    failing = _failing(seen)
    wanted = _meant(loop, seen)
    key = source_of(loop) or " && ".join(check.key for check in wanted)
    if key in failing:
        return None
    told = list(_verdicts(seen))
    if wanted:
        proven = all(_is_proven(check, told) for check in wanted)
    else:
        # Words that quote no command: the newest run of the key that stands in them decides.
        passed = [check for one in told if one.verdict.passed for check in one.verdict.checks]
        proven = any(_stands_in(check.key, loop.text) and check.key not in failing for check in passed)
    names = ", ".join(dict.fromkeys(check.key for check in wanted)) or "the same check"
    return f"a newer run passed: {names}" if proven else None


def _is_proven(check: Check, told: list[_Told]) -> bool:
    """Whether a pass covers a check, and no failure that may be the check's own came after it."""
    proven = False
    for one in told:
        if one.verdict.passed:
            proven = proven or any(other.covers(check) for other in one.verdict.checks)
        elif any(other.covers(check) or check.covers(other) for other in one.verdict.checks):
            proven = False
    return proven


def _verdicts(seen: Seen) -> Iterator[_Told]:
    """What runs showed, in the order in which they ended."""
    told: list[_Told] = []
    overtaken: list[_Told] = []
    for run in seen.ledger.runs.values():
        outcome = run.outcome
        if outcome is None or (judged := verdict(run.text, outcome.code, outcome.failed)) is None:
            continue
        placed = tuple(check.placed(seen.around.cwd) for check in judged.checks)
        one = _Told(run, outcome, Verdict(placed, judged.passed))
        (overtaken if outcome is run.before else told).append(one)
    # The row of a command stands where its newest run ended, which showed nothing here.
    for one in overtaken:
        later = (at for at, other in enumerate(told) if (other.at or -math.inf) > (one.at or -math.inf))
        told.insert(next(later, len(told)), one)
    return iter(told)


def _failing(seen: Seen) -> dict[str, list[_Told]]:
    """Runs that failed and that no later pass covers, by key, oldest first."""
    failures: list[_Told] = []
    for one in _verdicts(seen):
        if one.verdict.passed:
            failures = [rest for other in failures if (rest := _less(other, one.verdict)) is not None]
        else:
            # What this one looked at it has told anew.
            failures = [other for other in failures if not _tells_anew(one.verdict, other.verdict)]
            failures.append(one)
    by_key: dict[str, list[_Told]] = {}
    for one in failures:
        by_key.setdefault(one.key, []).append(one)
    return by_key


def _less(failure: _Told, passed: Verdict) -> _Told | None:
    """What is left of a failure after a pass; None: nothing."""
    left = tuple(one for one in failure.verdict.checks if not any(other.covers(one) for other in passed.checks))
    return replace(failure, verdict=Verdict(left, False)) if left else None


def _tells_anew(newer: Verdict, older: Verdict) -> bool:
    return all(any(one.covers(other) for one in newer.checks) for other in older.checks)


def _meant(loop: OpenLoop, seen: Seen) -> tuple[Check, ...]:
    """The checks of the command that a loop's text quotes: as its own session ran it, else as the text has it."""
    command = _QUOTED_COMMAND.search(loop.text)
    if command is None:
        return ()
    line = command[1]
    if source_in(loop, seen.session):
        line = next((run.text for run in seen.ledger.runs.values() if _shown(run) == line), line)
    return tuple(check.placed(seen.around.cwd) for check in checks_in(line))


def _stands_in(key: str, text: str) -> bool:
    words = r"\W{1,3}".join(re.escape(word) for word in key.split())
    return re.search(rf"(?<![\w-]){words}(?![\w-])", text) is not None


def _shown(run: Run) -> str:
    return one_line(run.text, COMMAND_SHOWN).replace("`", "'")


def _how(outcome: Outcome) -> str:
    return f" with exit code {outcome.code}" if outcome.code else ""
