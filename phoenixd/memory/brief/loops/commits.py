"""What this session committed, as its own commands say, and git where it was asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phoenixd.documents.ledger_rows import Run
from phoenixd.documents.workspace import Made
from phoenixd.memory.brief.loops.alike import normal, quoted_in
from phoenixd.memory.brief.loops.commands import commands_in
from phoenixd.memory.brief.loops.seen import Seen

_HERE_DOCUMENT = re.compile(r"<<-?\s*['\"]?\w{1,40}['\"]?\s*\n\s*([^\n]{1,300})")
_MESSAGE = re.compile(r"-(?:[a-zA-Z]{0,6}m|-message)(?:=|\s*)(?:\"([^\"\n]{1,300})|'([^'\n]{1,300}))")
_COMMIT = re.compile(r"\bgit\b[^\n|;&]{0,120}?\bcommit\b")


def subjects(seen: Seen) -> Iterator[str]:
    """The first lines of the messages of this session's commits that show work to be done.

    One that quotes another (`Revert "..."`) shows nothing, and nor does the one that it quotes.
    """
    told = [subject for run in commits(seen) for subject in subjects_in(run.text)]
    told += [one.subject for one in made(seen)]
    quoted = {normal(one) for one in map(quoted_in, told) if one}
    return (one for one in told if not quoted_in(one) and normal(one) not in quoted)


def made(seen: Seen) -> tuple[Made, ...]:
    """Commits that git says were made here since the session began, newest first."""
    began = seen.ledger.began_at
    return tuple(one for one in seen.git.made if one.at >= began) if seen.git is not None and began is not None else ()


def commits(seen: Seen) -> Iterator[Run]:
    """Commands of this session that committed something."""
    return (run for run in seen.ledger.runs.values() if run.failed is False and _COMMIT.search(run.text))


def subjects_in(line: str) -> Iterator[str]:
    for words in commands_in(line):
        if words[:1] == ("git",) and "commit" in words:
            yield from _given(words)
            return
    # A message out of a here-document is no word of the line.
    found = _HERE_DOCUMENT.search(line) or _MESSAGE.search(line)
    if found is not None and _COMMIT.search(line):
        yield next(group for group in found.groups() if group).strip()


def _given(words: tuple[str, ...]) -> Iterator[str]:
    for at, word in enumerate(words):
        if word.startswith("--message="):
            yield word.partition("=")[2].split("\n", 1)[0]
            return
        if (word == "--message" or (re.fullmatch(r"-[a-zA-Z]{0,6}m", word))) and at + 1 < len(words):
            yield words[at + 1].strip().split("\n", 1)[0]
            return
