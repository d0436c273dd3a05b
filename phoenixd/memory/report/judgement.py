"""An agent's report, claim by claim: verified, contradicted or unverifiable.

Contradicted only where a known fact says otherwise, and the transcript was read whole where the claim rests on it. What
merely nobody saw is unverifiable. A tool's output is data: what it says of other calls is no call.
"""

from __future__ import annotations

from phoenixd.documents.report.claims import (
    Claim,
    CommandClaim,
    CommitClaim,
    CountClaim,
    FileClaim,
    LoopClaim,
    Report,
    WordsClaim,
)
from phoenixd.documents.report.facts import Facts
from phoenixd.documents.report.verdicts import Outcome, Verdict
from phoenixd.memory.brief.loops.commands import commands_in
from phoenixd.memory.report.commands import of_command
from phoenixd.memory.report.files import of_file
from phoenixd.memory.report.numbers import of_count
from phoenixd.memory.report.runs import Runs

SHORTEST_PART = 10
"""Characters of a subject that may be a part of a longer one."""


def judge(report: Report, facts: Facts) -> tuple[Verdict, ...]:
    """A verdict for each claim, in the order of the report."""
    runs = Runs(facts)
    deleted = frozenset(one.path for one in report.claims if isinstance(one, FileClaim) and one.did == "deleted")
    return tuple(_judged(one, facts, runs, deleted) for one in report.claims)


def _judged(claim: Claim, facts: Facts, runs: Runs, deleted: frozenset[str]) -> Verdict:
    match claim:
        case FileClaim():
            return of_file(claim, facts, runs, deleted)
        case CommandClaim():
            return of_command(claim, runs)
        case CountClaim():
            return of_count(claim, runs)
        case LoopClaim():
            return Verdict(claim, *_of_loop(claim, facts, runs))
        case CommitClaim():
            return Verdict(claim, *_of_commit(claim, facts, runs))
        case WordsClaim():
            return Verdict(claim, "unverifiable", "free words")


def _of_loop(claim: LoopClaim, facts: Facts, runs: Runs) -> tuple[Outcome, str]:
    if claim.id in facts.closed:
        return "verified", "it is closed"
    if any(_resolves(one.ran.line, claim.id) and one.ran.code == 0 for one in runs.known):
        return "verified", "a call resolved it"
    if facts.open is not None:
        if claim.id in facts.open:
            return "contradicted", "the loop is open"
        return "unverifiable", "no loop of that name is known"
    if not runs.is_whole:
        return "unverifiable", f"nothing closed it, but {runs.gap}"
    return "contradicted", "the transcript was read whole, and nothing in it closed the loop"


def _of_commit(claim: CommitClaim, facts: Facts, runs: Runs) -> tuple[Outcome, str]:
    wanted = _plain(claim.subject)
    known = [_plain(one) for one in facts.commits or ()]
    if wanted in known:
        return "verified", "there is such a commit"
    if any(_commits(one.ran.line, wanted) and one.ran.code == 0 for one in runs.known):
        # The code may be that of another command of the line.
        return ("verified" if facts.commits is None else "unverifiable"), "a call made such a commit"
    if any(_is_part(wanted, one) or _is_part(one, wanted) for one in known):
        return "unverifiable", "there is a commit whose subject is like it"
    if facts.commits is None:
        return "unverifiable", "the commits of the task are not known"
    return "contradicted", "none of the task's commits has this subject"


def _resolves(line: str, loop: str) -> bool:
    """Whether a line closes a loop: phoenixctl resolve ID REASON."""
    for words in commands_in(line):
        if words and words[0].rsplit("/", 1)[-1] == "phoenixctl" and "resolve" in words and loop in words:
            return True
    return False


def _commits(line: str, subject: str) -> bool:
    for words in commands_in(line):
        if len(words) > 1 and words[0].rsplit("/", 1)[-1] == "git" and "commit" in words:
            return any(_plain(word.split("\n", 1)[0]) == subject for word in words)
    return False


def _plain(subject: str) -> str:
    return " ".join(subject.split()).rstrip(".").casefold()


def _is_part(part: str, whole: str) -> bool:
    return len(part) >= SHORTEST_PART and part in whole
