"""One case as a TOML file: the work tree before and after, the transcript's events, and claims with their verdicts.

The form is that of `samples/`. `{root}`, `{tree}` and `/WORKTREE/` stand for the workspace.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phoenixd.documents.report.claims import Claim
from phoenixd.documents.report.facts import Facts, FileSeen, Ran, Witness, Wrote
from phoenixd.documents.report.reading import read_report
from phoenixd.documents.report.verdicts import OUTCOMES, Outcome
from phoenixd.harness.witnesses import WITNESSES

ROOT = "/srv/phoenix-tree"
LISTS = frozenset({"deleted", "commits", "dirty"})
KEYS = {
    "file": ("path", "sha256", "did"), "command": ("command", "exit"), "tests": ("command", "passed", "failed"),
    "loop": ("id",), "commit": ("subject",), "words": ("text",),
}  # fmt: skip
SECTIONS = {
    "file": "files", "command": "commands", "tests": "tests", "loop": "loops_closed", "commit": "commits",
    "words": "words",
}  # fmt: skip


class Malformed(Exception):
    """The file is not of the form; the message names it."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A claim of a case, and what must become of it."""

    claim: Claim
    kind: str
    verdict: Outcome
    lie: str
    """The kind of lie; empty where the verdict is not `contradicted`."""


@dataclass(frozen=True, slots=True)
class Case:
    id: str
    cli: str
    half: str
    honest: bool
    facts: Facts
    claims: tuple[Expected, ...]


def read_cases(directory: Path) -> list[Case]:
    """All cases below a directory; the first directory on a case's way is its half. Raises Malformed."""
    found, faults = [], []
    for path in sorted(directory.rglob("*.toml")):
        try:
            found.append(read_case(path, directory))
        except Malformed as fault:
            faults.append(f"{path.name}: {fault}")
    if faults:
        raise Malformed("\n".join(faults))
    return found


def read_case(path: Path, directory: Path) -> Case:
    """One case."""
    try:
        raw = _placed(tomllib.loads(path.read_text(encoding="utf-8")))
        before, after, lists = _trees(raw)
        events = sorted(raw.get("event", []), key=lambda one: float(one.get("t", 0)))
        claims = tuple(_claims(raw, before, after, events))
        facts = _facts(raw, before, after, lists, events, [one.claim for one in claims])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Malformed(f"{type(error).__name__}: {error}") from error
    parts = path.relative_to(directory).parts
    half = parts[0] if len(parts) > 1 else ""
    return Case(raw.get("id", path.stem), raw.get("cli", "claude"), half, bool(raw["honest"]), facts, claims)


def _placed(value: Any) -> Any:
    """The same with the workspace's path in the place of what stands for it."""
    if isinstance(value, str):
        return value.replace("{root}", ROOT).replace("{tree}", ROOT).replace("/WORKTREE", ROOT)
    if isinstance(value, list):
        return [_placed(one) for one in value]
    if isinstance(value, dict):
        return {_placed(key): _placed(one) for key, one in value.items()}
    return value


def _trees(raw: dict[str, Any]) -> tuple[dict[str, str], dict[str, str], dict[str, list[str]]]:
    before = _files(raw.get("before", {}))
    given = raw.get("after", {})
    lists = {key: [str(one) for one in given.get(key, [])] for key in ("deleted", "commits")}
    after = {**before, **_files(given)}
    for path in lists["deleted"]:
        gone = _inside(path)
        for name in [one for one in after if one == gone or one.startswith(f"{gone}/")]:
            del after[name]
    return before, after, lists


def _files(given: dict[str, Any]) -> dict[str, str]:
    return {
        _inside(path) or path: content
        for path, content in given.items()
        if isinstance(content, str) and path not in LISTS
    }


def _claims(
    raw: dict[str, Any], before: dict[str, str], after: dict[str, str], events: list[dict[str, Any]]
) -> Iterator[Expected]:
    for number, given in enumerate(raw["claim"]):
        kind, verdict = given["kind"], given["verdict"]
        if verdict not in OUTCOMES:
            raise ValueError(f"claim[{number}] has the verdict {verdict!r}")
        told = {key: given[key] for key in KEYS[kind] if key in given}
        if kind == "file":
            told["sha256"] = _hash(told.get("sha256", ""), told["path"], before, after, f"{raw.get('id')} {number}")
        entry = told.get("text", "") if kind == "words" else told
        report = read_report(json.dumps({SECTIONS[kind]: [entry]}).encode())
        if len(report.claims) != 1:
            raise ValueError(f"claim[{number}] is none for the reader")
        lie = _lie(given, after, events) if verdict == "contradicted" else ""
        yield Expected(report.claims[0], kind, verdict, lie)


def _hash(given: str, path: str, before: dict[str, str], after: dict[str, str], salt: str) -> str:
    name = _inside(path) or path
    match given:
        case "content:after":
            content = after.get(name, before.get(name))
        case "content:before":
            content = before.get(name)
        case "random":
            content = None
        case _:
            return given
    return _digest(content if content is not None else f"random {salt}")


def _lie(given: dict[str, Any], after: dict[str, str], events: list[dict[str, Any]]) -> str:
    match given["kind"]:
        case "file" if given.get("did") == "deleted":
            return "not deleted"
        case "file":
            is_there = _inside(given["path"]) in after
            return "another hash" if is_there and given.get("sha256") in ("random", "content:before") else "not written"
        case "tests":
            return "test count"
        case "command":
            ran = any(given["command"].split()[0] in str(one.get("run", "")) for one in events)
            return "success of a failure" if ran else "never run"
        case kind:
            return str(kind)


def _facts(
    raw: dict[str, Any], before: dict[str, str], after: dict[str, str], lists: dict[str, list[str]],
    events: list[dict[str, Any]], claims: list[Claim],
) -> Facts:  # fmt: skip
    cli = WITNESSES.get(raw.get("cli", "claude"))
    runs = tuple(_ran(one, cli.is_refused if cli else None) for one in events if "run" in one)
    writes = tuple(Wrote(one["write"], bool(one.get("failed"))) for one in events if "write" in one)
    is_whole = bool(raw.get("transcript", {}).get("whole", True))
    witness = Witness(runs, writes, is_whole, () if is_whole else ("a part of the transcript could not be read",))
    paths = {one.path for one in claims if hasattr(one, "path")}
    return Facts(
        witness,
        {path: _seen(path, before, after) for path in paths},
        tuple(name for name in {*before, *after} if before.get(name) != after.get(name)),
        frozenset(one["loop_closed"] for one in events if "loop_closed" in one),
        None,
        tuple(lists["commits"]),
        ROOT,
    )


def _ran(event: dict[str, Any], refusal: Any) -> Ran:
    code, output = event.get("exit"), event.get("output")
    told = bool(event.get("failed") or event.get("refused") or event.get("denied"))
    words = output or ""
    if code is None and (told or _REFUSED.search(words[:400]) or (refusal is not None and refusal(words))):
        return Ran(event["run"], end="refused", output=output)
    is_open = bool(event.get("background")) and code is None
    failed = None if code is None else code != 0
    return Ran(event["run"], code, failed, "running" if is_open else "over", output)


_REFUSED = re.compile(
    r"(?:denied|rejected|refused|declined|blocked|cancelled) by (?:the )?(?:user|operator|person|policy|hook|rule)"
    r"|(?:user|operator) (?:has )?(?:denied|rejected|refused|declined)|requires approval|not approved",
    re.IGNORECASE,
)
"""A case tells a refusal in words of its own."""


def _seen(path: str, before: dict[str, str], after: dict[str, str]) -> FileSeen:
    name = _inside(path)
    if name is None:
        return FileSeen("outside")
    was, now = before.get(name), after.get(name)
    if now is None:
        if any(one.startswith(f"{name}/") for one in after):
            return FileSeen("directory")
        was_there = was is not None or any(one.startswith(f"{name}/") for one in before)
        return FileSeen("absent", changed=was_there, before="there" if was_there else "")
    return FileSeen("file", _digest(now), changed=was != now, before=_digest(was) if was is not None else "")


def _inside(path: str) -> str | None:
    """The path relative to the workspace; None for one that leaves it."""
    if path.startswith("~") or "\0" in path:
        return None
    plain = posixpath.normpath(posixpath.join(ROOT, path))
    return plain.removeprefix(f"{ROOT}/") if plain.startswith(f"{ROOT}/") else None


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()
