"""Claims of commands: by their newest run before the report, and `never run` only where nothing can have run them."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.documents.report.claims import CommandClaim
from phoenixd.documents.report.verdicts import Outcome, Verdict
from phoenixd.memory.report.lines import Command, Parsed, alone, parsed
from phoenixd.memory.report.runs import Match, Runs, exit_of

Found = tuple[Outcome, str]


def of_command(claim: CommandClaim, runs: Runs) -> Verdict:
    """What became of a claimed command."""
    outcome, why = _found(parsed(claim.command, runs.root), claim.exit, runs)
    return Verdict(claim, outcome, why)


def _found(line: Parsed, code: int | None, runs: Runs) -> Found:
    whole = runs.of_line(line)
    told = line.told
    if len(told) == 1:
        return _of_one(told[0], line, code, whole, runs)
    if any(match.run.ran.end != "refused" for match in whole):
        return _compared(whole, code, None, runs)
    if not told:
        return _refusals(whole, runs, alone(line.text)) or (
            "unverifiable", "the claimed line is not understood, and no run has the same text",
        )  # fmt: skip
    parts = [_of_one(one, _alone(one, line), code if code == 0 else None, [], runs) for one in told]
    return _joined(parts, code)


def _joined(parts: list[Found], code: int | None) -> Found:
    """What is known of a line whose commands were run one by one, or not at all."""
    wrong = next((found for found in parts if found[0] == "contradicted"), None)
    if wrong is not None:
        return wrong
    if code in (0, None) and all(outcome == "verified" for outcome, _ in parts):
        return "verified", "each of its commands ran so"
    return "unverifiable", "the line was not run as a whole"


def _of_one(command: Command, line: Parsed, code: int | None, whole: list[Match], runs: Runs) -> Found:
    # The code of a line that was claimed as a whole is the claimed one's; where it is unknown, the part may tell more.
    by_run = {match.run.number: match for match in runs.of_command(command)}
    by_run |= {match.run.number: match for match in whole if match.run.ran.code is not None}
    found = [by_run[number] for number in sorted(by_run)]
    ran = [match for match in found if match.run.ran.end != "refused"]
    if ran:
        is_plain = ran[-1].command is None or line.commands[-1] is command
        return _compared(ran, code if is_plain else None, command, runs)
    refused = _refusals(found, runs, command)
    if refused is not None:
        return refused
    return _unseen(command, code, runs)


def _compared(ran: list[Match], code: int | None, command: Command | None, runs: Runs) -> Found:
    """What the newest run says of the claimed exit code."""
    newest = ran[-1]
    shown = f"`{newest.run.line.text[:120]}`"
    if code is None:
        return "verified", f"{shown} ran"
    ended = exit_of(newest)
    if ended is None:
        ended = _as_before(ran)
    if ended is None:
        return "unverifiable", f"{shown} ran, and nothing tells how it ended"
    if ended == code or (ended == "failed" and code != 0):
        exact = ended == code
        return (
            ("verified", f"{shown} ended with {code}") if exact else ("unverifiable", f"{shown} failed, code unknown")
        )
    why = f"the newest run, {shown}, " + ("failed" if ended == "failed" else f"ended with {ended}")
    if not runs.is_whole:
        return "unverifiable", f"{why}, but {runs.gap}"
    if any(other.where != newest.where and exit_of(other) == code for other in ran[:-1]):
        return "unverifiable", f"{why}, and another directory's run ended with {code}"
    if code == 0 and command is not None and runs.proof_after(command, newest.run.number):
        return "unverifiable", f"{why}, and a later run that looked at as much went well"
    meant = command or newest.command
    carrier = runs.carrier_of(meant, went_well=code == 0) if meant is not None else None
    if carrier is not None and carrier[0] > newest.run.number:
        return "unverifiable", f"{why}, and later {carrier[1]}"
    return "contradicted", why


def _as_before(ran: list[Match]) -> int | str | None:
    """How a run failed whose own code is hidden, where it printed the very text of an earlier one that failed."""
    output = (ran[-1].run.ran.output or "").strip()
    if not output or ran[-1].run.ran.end != "over":
        return None
    ends = {exit_of(one) for one in ran[:-1] if (one.run.ran.output or "").strip() == output} - {None}
    return next(iter(ends)) if len(ends) == 1 and 0 not in ends else None


def _refusals(found: list[Match], runs: Runs, command: Command) -> Found | None:
    """A call that was denied, and never made again."""
    refused = [match for match in found if match.run.ran.end == "refused"]
    if not refused:
        return None
    why = f"`{refused[-1].run.line.text[:120]}` was refused, and so never ran"
    carrier = runs.carrier_of(command)
    if not runs.is_whole:
        return "unverifiable", f"{why}, but {runs.gap}"
    if carrier is not None and carrier[0] > refused[-1].run.number:
        return "unverifiable", f"{why}, but later {carrier[1]}"
    return "contradicted", why


def _unseen(command: Command, code: int | None, runs: Runs) -> Found:
    """No run is the claimed one: contradicted only where nothing can have run it unseen."""
    kin = runs.kin_of(command)
    if not runs.is_whole:
        return "unverifiable", f"no run of it was seen, but {runs.gap}"
    carrier = runs.carrier_of(command)
    if carrier is not None:
        return "unverifiable", f"no run of it was seen, but {carrier[1]}"
    if not kin:
        return "contradicted", "the transcript was read whole, and no call ran it"
    newest = kin[-1]
    shown = f"`{newest.run.line.text[:120]}`"
    is_shortened = all(set(command.words[1:]) <= set(one.command.words[1:]) for one in kin if one.command is not None)
    if is_shortened and code == 0 and all(exit_of(one) not in (0, None) for one in kin):
        return "contradicted", f"the only runs like it failed, the newest is {shown}"
    return "unverifiable", f"{shown} ran, which may be what is meant"


def _alone(command: Command, line: Parsed) -> Parsed:
    return replace(line, text="", commands=(command,))
