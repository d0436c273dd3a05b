"""Claims of test counts: by what the newest run printed, in the shapes of memory.brief.printed."""

from __future__ import annotations

from collections.abc import Iterable

from phoenixd.documents.report.claims import CountClaim
from phoenixd.documents.report.verdicts import Outcome, Verdict
from phoenixd.memory.report.formats import Lines, sums
from phoenixd.memory.report.lines import alone, covers, parsed
from phoenixd.memory.report.runs import Match, Runs, exit_of

PRINTERS = frozenset({"echo", "printf", "cat"})


def of_count(claim: CountClaim, runs: Runs) -> Verdict:
    """What became of claimed counts."""
    found, is_same = _runs_of(claim, runs)
    ran = [match for match in found if match.run.ran.end != "refused"]
    if not ran:
        return Verdict(claim, *_unseen(claim, bool(found), runs))
    if not is_same:
        return Verdict(claim, *_of_kin(claim, ran, runs))
    newest = ran[-1]
    outcome, why = _compared(claim, newest)
    if outcome != "contradicted":
        return Verdict(claim, outcome, why)
    if not runs.is_whole:
        return Verdict(claim, "unverifiable", f"{why}, but {runs.gap}")
    if any(other.where != newest.where and _compared(claim, other)[0] == "verified" for other in ran[:-1]):
        return Verdict(claim, "unverifiable", f"{why}, and another directory's run printed the claimed")
    carrier = runs.carrier_of(newest.command, went_well=True) if newest.command is not None else None
    if carrier is not None and carrier[0] > newest.run.number:
        return Verdict(claim, "unverifiable", f"{why}, and later {carrier[1]}")
    return Verdict(claim, "contradicted", why)


def _runs_of(claim: CountClaim, runs: Runs) -> tuple[list[Match], bool]:
    """The runs that are meant, oldest first, and whether they are surely those."""
    if not claim.command:
        found = list(runs.checks())
        return found, len({match.command.words for match in found if match.command is not None}) <= 1
    line = parsed(claim.command, runs.root)
    same = {match.run.number: match for match in runs.of_line(line)}
    kin: list[Match] = []
    for command in line.told:
        for match in runs.of_command(command):
            same[match.run.number] = match
        kin += runs.kin_of(command)
    if same:
        return [same[number] for number in sorted(same)], True
    return sorted(kin, key=lambda match: match.run.number), False


def _unseen(claim: CountClaim, is_refused: bool, runs: Runs) -> tuple[Outcome, str]:
    if not runs.is_whole:
        return "unverifiable", f"no such run was seen, but {runs.gap}"
    told = parsed(claim.command, runs.root).told if claim.command else ()
    if claim.command and not told:
        return "unverifiable", "the claimed line is not understood"
    for command in told or (alone("pytest"),):
        if (carrier := runs.carrier_of(command)) is not None:
            return "unverifiable", f"no such run was seen, but {carrier[1]}"
    if not claim.command and runs.known:
        return "unverifiable", "no run printed counts in a known shape"
    return "contradicted", "the call was refused" if is_refused else "the transcript was read whole, and no test ran so"


def _of_kin(claim: CountClaim, kin: list[Match], runs: Runs) -> tuple[Outcome, str]:
    """Runs of other forms of the command: one of them, or all together, may be what was counted."""
    newest = {match.run.line.text: match for match in kin}
    shown = f"`{kin[-1].run.line.text[:120]}`"
    if any(_compared(claim, match)[0] == "verified" for match in kin):
        return "verified", f"{shown} or a run like it printed these counts"
    told = [_totals(match) for match in newest.values()]
    carrier = runs.carrier_of(kin[-1].command) if kin[-1].command is not None else None
    if any(_is_wider(claim, match, runs) for match in newest.values()):
        return "unverifiable", f"{shown} ran, and the claimed tests may be a part of that"
    is_known = all(passed is not None for passed, _ in told) and runs.is_whole and carrier is None
    sums = (sum(passed or 0 for passed, _ in told), sum(failed for _, failed in told))
    if not is_known or claim.passed in (None, sums[0]):
        return "unverifiable", f"{shown} ran, which may be what is meant"
    return "contradicted", f"no run like it printed {claim.passed} passed, nor do all together"


def _is_wider(claim: CountClaim, match: Match, runs: Runs) -> bool:
    """Whether a run looked at more than was claimed, and at least as much passed."""
    told, (passed, _) = parsed(claim.command, runs.root).told, _totals(match)
    is_more = match.command is not None and any(covers(match.command, one) for one in told)
    return is_more and (passed is None or claim.passed is None or claim.passed <= passed)


def _totals(match: Match) -> tuple[int | None, int]:
    found = match.run.printed
    passed = _values(found.get("tests_passed", ()))
    return (max(passed) if passed else None), max(_values(found.get("tests_failed", ())), default=0)


def _compared(claim: CountClaim, match: Match) -> tuple[Outcome, str]:
    """What one run printed, beside the claim."""
    ran, shown = match.run.ran, f"`{match.run.line.text[:120]}`"
    found = match.run.printed
    passed, failed = _values(found.get("tests_passed", ())), _values(found.get("tests_failed", ()))
    totals = _values((*found.get("tests", ()), *found.get("examples", ())))
    more = sums(ran.output or "")
    passed = passed or list(more.passed)
    totals = totals or list(more.totals)
    if passed or failed or totals:
        # Errors beside failures.
        failed = failed + [one for one in more.failed if one]
        failed = failed or list(more.failed)
    if not passed and not failed and not totals:
        return _by_lines(claim, match, shown, more.lines) or _by_exit(claim, match, shown)
    if _is_echo(match):
        return "unverifiable", f"{shown} printed numbers of its own"
    code = exit_of(match)
    failures = _summed(failed) if failed else {0} if passed or code == 0 else set()
    if not passed and totals and failures:
        passes = {total - one for total in _summed(totals) for one in failures}
        passes |= {some - one for some in passes for one in _summed(more.skipped)}
        # What was skipped is in the total of some programs.
        is_vague = claim.passed is not None and min(totals) >= claim.passed > 0
    else:
        passes, is_vague = _summed(passed) if passed else set(), False
    told = _told(passed, failed, totals)
    if not passed and claim.passed is not None and totals and claim.passed > sum(totals):
        return "contradicted", f"{shown} printed {told}"
    if not failures and claim.failed == 0 and code not in (None, 0):
        return "contradicted", f"{shown} failed, and printed {told}"
    if claim.passed is not None and passes and claim.passed not in passes and not is_vague:
        return "contradicted", f"{shown} printed {told}"
    if claim.failed is not None and failures and claim.failed not in failures:
        if ran.output is not None and "rror" in ran.output and claim.failed > min(failures):
            return "unverifiable", f"{shown} printed {told}, and errors besides"
        return "contradicted", f"{shown} printed {told}"
    is_told = (claim.passed is None or claim.passed in passes) and (claim.failed is None or claim.failed in failures)
    return ("verified" if is_told else "unverifiable"), f"{shown} printed {told}"


def _by_lines(claim: CountClaim, match: Match, shown: str, lines: Lines | None) -> tuple[Outcome, str] | None:
    """A line for each test: the outermost ones are counted by some, and all by others."""
    if lines is None or any(one.is_filter for one in match.run.line.commands) or _is_echo(match):
        return None
    told = f"{shown} printed {lines.passed[1]} tests that passed and {lines.failed[1]} that failed"
    if (claim.passed or 0) > lines.passed[1] or (claim.failed == 0 and lines.failed[1]):
        return "contradicted", told
    is_told = claim.passed in (None, *lines.passed) and claim.failed in (None, *lines.failed)
    return ("verified", told) if is_told else None


def _by_exit(claim: CountClaim, match: Match, shown: str) -> tuple[Outcome, str]:
    """Nothing was counted: a runner that failed has not passed all."""
    code = exit_of(match)
    options = match.command.words if match.command is not None else ()
    is_measured = any(word.startswith(("--cov", "--coverage", "--fail-under")) for word in options)
    if claim.failed == 0 and code not in (None, 0) and not is_measured:
        return "contradicted", f"{shown} failed"
    return "unverifiable", f"{shown} printed no counts in a known shape"


def _is_echo(match: Match) -> bool:
    """Whether the line printed numbers by another hand than the test runner's."""
    for one in match.run.line.commands:
        if one.words[0] in PRINTERS and any(word.isdigit() for text in one.words[1:] for word in text.split()):
            return True
    return False


def _summed(values: Iterable[int]) -> set[int]:
    """What may be claimed of several numbers: each of them, or all together."""
    found = list(values)
    return {*found, sum(found)}


def _values(texts: Iterable[str]) -> list[int]:
    """The numbers of texts such as `47`, `44/47` and `5 of 7`."""
    found = (text.replace("/", " ").split(" ", 1)[0] for text in texts)
    return [int(one) for one in found if one.isdigit()]


def _told(passed: list[int], failed: list[int], totals: list[int]) -> str:
    parts = [
        f"{', '.join(map(str, values[:5]))} {word}"
        for values, word in ((passed, "passed"), (failed, "failed"), (totals, "in all"))
        if values
    ]
    return "; ".join(parts)
