"""The runs of a task, taken apart once, and what can be known from them of one command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from phoenixd.documents.report.facts import Facts, Ran
from phoenixd.memory.brief.printed import counts
from phoenixd.memory.report.carriers import PLAIN, is_hooked, line_may_run, may_run, names
from phoenixd.memory.report.lines import Command, Parsed, covers, likeness, parsed
from phoenixd.memory.report.purposes import is_plausible, purposes_of

MOST_RUNS = 10_000
"""Runs that are looked at; where there are more, the transcript counts as read in part."""


@dataclass(slots=True)
class Known:
    """One run, taken apart. number: its place in the order of all."""

    number: int
    ran: Ran
    line: Parsed
    _printed: dict[str, tuple[str, ...]] | None = None

    @property
    def printed(self) -> dict[str, tuple[str, ...]]:
        """The numbers with which it summed up; looked for once, whatever is claimed."""
        if self._printed is None:
            output = self.ran.output
            self._printed = counts(_STEPS.sub("", output[-MOST_READ:])) if output else {}
        return self._printed


@dataclass(frozen=True, slots=True)
class Match:
    """A run that is the claimed one. command: the part of its line; None: the line is claimed as a whole."""

    run: Known
    command: Command | None

    @property
    def where(self) -> str | None:
        return self.command.where if self.command is not None else None


class Runs:
    """All runs up to the report."""

    def __init__(self, facts: Facts) -> None:
        witness = facts.witness
        newest = witness.runs[-MOST_RUNS:]
        self.is_whole = witness.is_whole and len(newest) == len(witness.runs)
        self.gap = next(iter(witness.gaps), "the transcript was not read whole")
        self.others = witness.other_calls
        self.root = facts.root
        self.known = tuple(Known(at, one, parsed(one.line, facts.root)) for at, one in enumerate(newest))
        self._by_text: dict[str, list[Known]] = {}
        self._by_program: dict[str, list[tuple[Known, Command]]] = {}
        self._by_sign: dict[tuple[object, ...], list[tuple[Known, Command]]] = {}
        self._carriers: dict[tuple[str, str, frozenset[str], bool], tuple[int, str] | None] = {}
        for one in self.known:
            self._by_text.setdefault(one.line.text, []).append(one)
            for command in one.line.commands:
                self._by_program.setdefault(command.program, []).append((one, command))
                for sign in command.signs:
                    self._by_sign.setdefault(sign, []).append((one, command))

    def of_line(self, line: Parsed) -> list[Match]:
        """Runs of the very line."""
        return [Match(one, None) for one in self._by_text.get(line.text, ())]

    def of_command(self, claimed: Command) -> list[Match]:
        """Runs of the command, alone or within a line."""
        found = {id(ran): (run, ran) for sign in claimed.signs for run, ran in self._by_sign.get(sign, ())}
        same = [Match(run, ran) for run, ran in found.values() if likeness(claimed, ran) == "same"]
        return sorted(same, key=lambda match: match.run.number)

    def kin_of(self, claimed: Command) -> list[Match]:
        """Runs that may be what is meant."""
        found = self._by_program.get(claimed.program, ())
        return [Match(run, ran) for run, ran in found if run.ran.end != "refused" and likeness(claimed, ran) == "kin"]

    def proof_after(self, claimed: Command, number: int) -> bool:
        """Whether a later run that looked at as much, or at more, went well."""
        found = self._by_program.get(claimed.program, ())
        return any(run.number > number and covers(ran, claimed) and exit_of(Match(run, ran)) == 0 for run, ran in found)

    def checks(self) -> Iterator[Match]:
        """Every run of a check that printed a count."""
        for one in self.known:
            command = next((part for part in one.line.told if part.check is not None), None)
            if command is not None and one.ran.end != "refused" and _sums_up(one):
                yield Match(one, command)

    def carrier_of(self, command: Command, *, went_well: bool = False) -> tuple[int, str] | None:
        """The newest run or call that may have run a command without saying so, and its place; None: there is none.

        went_well: only one that did not fail. The command's own runs in other places are no carriers of it.
        """
        meant = purposes_of(command.words, command.program)
        key = command.program, command.key, meant, went_well
        if key not in self._carriers:
            self._carriers[key] = self._newest_carrier(command, meant, went_well)
        return self._carriers[key]

    def _newest_carrier(self, command: Command, meant: frozenset[str], went_well: bool) -> tuple[int, str] | None:
        if self.others:
            return len(self.known), f"the tool {self.others[-1]} was called"
        for one in reversed(self.known):
            if one.ran.end == "refused" or (went_well and one.ran.code not in (0, None)):
                continue
            if _may_have_run(one, command, meant):
                return one.number, f"`{one.line.text[:80]}` may have run it"
        return None


def exit_of(match: Match) -> int | str | None:
    """The exit code of the claimed command in that run; "failed" where it is known that it is not 0; None: unknown."""
    ran, command = match.run.ran, match.command
    if ran.end in ("refused", "running"):
        return None
    if command is None:
        return ran.code if ran.code is not None else _failed_word(ran)
    told = [one for one in match.run.line.commands if one is command or not (one.is_setup or one.is_filter)]
    counting = [one for one in told if one.if_not is False]
    is_alone = len(told) == 1
    if ran.code == 0 and command.if_zero:
        return 0
    if ran.code is not None and ran.code != 0 and command.if_not is False:
        if is_alone:
            return ran.code
        if counting and counting[-1] is command:
            return "failed"
    if ran.code is None and is_alone and command.if_not is False and ran.failed:
        return "failed"
    echoed = _echoed(match)
    if echoed is not None:
        return echoed
    return "failed" if _shows_failures(match, told) else None


MOST_READ = 50_000
_STEPS = re.compile(r"^[ \t]*(?:Test Files|Test Suites|Snapshots)\b[^\n]*$", re.MULTILINE)
"""Lines that count files, in the words with which others count tests."""
_STATUS = re.compile(r"\$\?|\$\{PIPESTATUS\[0\]\}")


_SUBSTITUTION = re.compile(r"(?:\$\(|<\(|`)[ \t]*([\w./@-]{1,200})")


def _failed_word(ran: Ran) -> str | None:
    return "failed" if ran.failed and ran.end == "over" else None


def _echoed(match: Match) -> int | None:
    """The code that a line itself printed behind the command: `pytest; echo "exit $?"`."""
    commands = match.run.line.commands
    at = next((at for at, one in enumerate(commands) if one is match.command), None)
    if at is None or at + 1 >= len(commands) or match.run.ran.output is None:
        return None
    following = commands[at + 1]
    if following.program != "echo" or not _STATUS.search(" ".join(following.words)):
        return None
    before, _, after = _STATUS.sub("\0", " ".join(following.words[1:]), count=1).partition("\0")
    shape = rf"^{re.escape(before)}(\d{{1,3}}){re.escape(after)}\s*$"
    found = re.findall(shape, match.run.ran.output[-MOST_READ:], re.MULTILINE)
    return int(found[-1]) if found else None


def _shows_failures(match: Match, told: list[Command]) -> bool:
    """Whether the only check of a line printed that something failed, where the line's code hides it."""
    checks = [one for one in told if one.check is not None]
    if match.command is None or checks != [match.command] or any(one.program in ("cat", "echo") for one in told):
        return False
    return any(value.isdigit() and int(value) > 0 for value in match.run.printed.get("tests_failed", ())[-1:])


def _sums_up(known: Known) -> bool:
    return any(name.startswith(("tests", "examples")) for name in known.printed)


def _may_have_run(known: Known, command: Command, meant: frozenset[str]) -> bool:
    ran, program = known.ran, command.program
    if ran.is_clipped or not known.line.is_understood:
        return ran.is_clipped or line_may_run(ran.line, program)
    for one in known.line.commands:
        if one.key != command.key and may_run(one.words, program, ran.line):
            is_plain = program in PLAIN
            is_named = any(names(word, program) for word in one.words[1:])
            if is_named or is_plausible(purposes_of(one.words, one.program), meant, is_plain=is_plain):
                return True
        if is_hooked(one.words) and ran.output is not None and names(ran.output, program):
            return True
    # Within a quotation a substitution is a part of a word.
    return any(line_may_run(head, program) for head in _SUBSTITUTION.findall(ran.line))
