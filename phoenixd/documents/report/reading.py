"""A report as an agent wrote it, read tolerantly: models name keys in several ways, and put JSON between backticks.

The form that agents are asked for:

    {"files": [{"path": "src/a.py", "sha256": "...", "did": "modified"}],
     "commands": [{"command": "pytest -q", "exit": 0}],
     "tests": [{"command": "pytest -q", "passed": 47, "failed": 0}],
     "loops_closed": ["auth-flow"], "commits": ["fix: ..."], "summary": "..."}

Keys that are not known are left alone: other parts of phoenixd ask for some of their own.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from phoenixd.documents.deeds import clipped
from phoenixd.documents.json_line import Table, compact, whole
from phoenixd.documents.report.claims import (
    Claim,
    CommandClaim,
    CommitClaim,
    CountClaim,
    Did,
    FileClaim,
    LoopClaim,
    Report,
    WordsClaim,
)
from phoenixd.errors import PhoenixdError

SIZE_LIMIT = 1 << 20
MOST_CLAIMS = 500
WORDS_LIMIT, PATH_LIMIT, LINE_LIMIT, ID_LIMIT = 1000, 4096, 4000, 200
LARGEST = 10_000_000
MOST_STARTS = 20
"""Places of an answer at which an object that reaches to its end is looked for."""

_HASH = re.compile(r"(?:sha256[:-])?([0-9a-f]{64})")
_BLOCK = re.compile(r"^\{", re.MULTILINE)
_NUMBER = re.compile(r"-?\d{1,7}")
_OUT_OF = re.compile(r"(\d{1,7}) ?(?:/|of) ?(\d{1,7})")
_DONE: dict[str, Did] = {
    "created": "created", "create": "created", "added": "created", "add": "created", "new": "created",
    "modified": "modified", "modify": "modified", "changed": "modified", "updated": "modified", "edited": "modified",
    "deleted": "deleted", "delete": "deleted", "removed": "deleted", "remove": "deleted",
}  # fmt: skip
_PATH = ("path", "file", "name", "filename", "file_path")
_COMMAND = ("command", "cmd", "run", "line")
_EXIT = ("exit", "exit_code", "code", "exitcode", "exit_status", "status", "rc")


class ReportRefused(PhoenixdError):
    """A report that cannot be read; the message says what is wrong with it."""


def read_report(content: bytes) -> Report:
    """The claims of a report. Raises ReportRefused."""
    if len(content) > SIZE_LIMIT:
        raise ReportRefused(
            f"the report holds {len(content)} bytes, more than {SIZE_LIMIT}", "ask the agent for a shorter report"
        )
    try:
        words = content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise _refused(f"invalid UTF-8 at byte {error.start}") from error
    found = _object(words)
    claims: list[Claim] = []
    left_out = 0
    for one in _claims(found):
        if one is None or len(claims) == MOST_CLAIMS:
            left_out += 1
        else:
            claims.append(one)
    return Report(tuple(claims), left_out)


def block_at_end(answer: str) -> str | None:
    """The object that an answer ends in, bare or between backticks; None where it ends in none."""
    text = answer.rstrip()
    if text.endswith("```") and text.rfind("\n") >= 0 and text[text.rfind("\n") :].strip() == "```":
        lines = text.split("\n")
        first = next((at for at in range(len(lines) - 2, -1, -1) if lines[at].lstrip().startswith("```")), None)
        text = "\n".join(lines[first + 1 : -1]).strip() if first is not None else ""
        return text if text.startswith("{") and text.endswith("}") else None
    if not text.endswith("}"):
        return None
    starts = (found.start() for found in _BLOCK.finditer(text))
    return next((text[at:] for at in itertools.islice(starts, MOST_STARTS) if _is_object(text[at:])), None)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _refused(what: str) -> ReportRefused:
    return ReportRefused(f"the report is no JSON object: {what}", "ask the agent for its report again")


def _object(words: str) -> Table:
    """The object in a text that may have words or a fence around it."""
    words = _fenced(words) or words
    first, last = words.find("{"), words.rfind("}")
    if first < 0 or last < first:
        raise _refused("it holds no { ... }")
    try:
        found = json.loads(words[first : last + 1], object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError as error:
        raise _refused("it is nested too deeply") from error
    except ValueError as error:
        raise _refused(clipped(str(error), 200)) from error
    if not isinstance(found, dict):
        raise _refused("it is a list or a single value")
    return found


def _fenced(words: str) -> str:
    """The last object between backticks; empty where there is none."""
    found, block, is_inside = "", [], False
    for line in words.split("\n") if "```" in words else ():
        if not line.lstrip().startswith("```"):
            block.append(line)
            continue
        text = "\n".join(block).strip() if is_inside else ""
        found = text if text.startswith("{") else found
        block, is_inside = [], not is_inside
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            # Which of two values the agent means nobody can tell, and readers differ in which they take.
            raise ValueError(f"the key {clipped(whole(key), 60)!r} stands there twice")
        found[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _claims(found: Table) -> Iterator[Claim | None]:
    """Every claim; None for an entry of an unknown form."""
    for keys, read in _SECTIONS:
        for key in keys:
            if key in found:
                yield from _section(found[key], read)


def _section(given: Any, read: Callable[[Any, str], Claim | None]) -> Iterator[Claim | None]:
    """One entry, or a list of them; no claim at all where there is none."""
    if given is None or given == "":
        return
    for one in given if isinstance(given, list) else [given]:
        yield read(one, clipped(whole(one) if isinstance(one, str) else compact(one), WORDS_LIMIT))


def _file(given: Any, words: str) -> Claim | None:
    path = _text(given, _PATH, PATH_LIMIT)
    if path is None:
        return None
    table = given if isinstance(given, dict) else {}
    digest = _HASH.fullmatch((_text(table, ("sha256", "sha", "hash", "digest"), 200) or "").strip().lower())
    did = (_text(table, ("did", "action", "change", "what", "status"), 40) or "").strip().lower()
    return FileClaim(words, path, digest[1] if digest is not None else None, _DONE.get(did, "modified"))


def _command(given: Any, words: str) -> Claim | None:
    command = _text(given, _COMMAND, LINE_LIMIT)
    return CommandClaim(words, command, _number(given, _EXIT)) if command is not None else None


def _count(given: Any, words: str) -> Claim | None:
    if not isinstance(given, dict):
        return WordsClaim(words) if isinstance(given, str) else None
    passed, failed = _number(given, ("passed", "pass", "ok")), _number(given, ("failed", "fail", "failures"))
    if passed is None and failed is None:
        return None
    return CountClaim(words, _text(given, _COMMAND, LINE_LIMIT) or "", passed, failed)


def _loop(given: Any, words: str) -> Claim | None:
    name = _text(given, ("id", "loop", "name"), ID_LIMIT)
    return LoopClaim(words, name) if name is not None else None


def _commit(given: Any, words: str) -> Claim | None:
    subject = _text(given, ("subject", "message", "title"), WORDS_LIMIT)
    return CommitClaim(words, subject.split("\n", 1)[0]) if subject is not None else None


def _words(given: Any, words: str) -> Claim | None:
    return WordsClaim(words)


def _text(given: Any, keys: tuple[str, ...], limit: int) -> str | None:
    """A text that is given alone, or below one of the keys; None for one that says nothing or is too long."""
    if isinstance(given, dict):
        given = next((given[key] for key in keys if key in given), None)
    if not isinstance(given, str) or not given.strip() or len(given) > limit:
        return None
    return whole(given.strip())


def _number(given: Any, keys: tuple[str, ...]) -> int | None:
    """A number, also one in a text (`"47/52"`); None for everything else, for unknown is never 0."""
    found = next((given[key] for key in keys if key in given), None) if isinstance(given, dict) else None
    if isinstance(found, str):
        match = _NUMBER.fullmatch(found.strip()) or _OUT_OF.fullmatch(found.strip())
        found = int(match[1] if match.re is _OUT_OF else match[0]) if match is not None else None
    if isinstance(found, bool) or not isinstance(found, int) or abs(found) > LARGEST:
        return None
    return found


_SECTIONS: tuple[tuple[tuple[str, ...], Callable[[Any, str], Claim | None]], ...] = (
    (("files", "files_changed", "changed_files"), _file),
    (("commands", "commands_run"), _command),
    (("tests", "test_runs"), _count),
    (("loops_closed", "loops"), _loop),
    (("commits",), _commit),
    (("words", "summary", "notes"), _words),
)
