"""Plays the corpus of working directories: a real tree, the shim's words for the kernel's, and what is told of them."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

from phoenixd.api.finding import Finding
from phoenixd.core.agent.state import BackingOff, Quarantined
from phoenixd.doctor_places import directory_findings, quarantine_finding
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.ports.shims import ShimMessage
from phoenixd.runtime.hearing import Hearing
from tests.blind.tables import Outcome, Table
from tests.core.story import Story, spec

SHIM = Path(__file__).parents[2] / "phoenixd" / "shim"
SAYS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from types import SimpleNamespace
from launch import explain
order = SimpleNamespace(cwd=sys.argv[3].encode(), argv=[sys.argv[4].encode()], cgroup=None)
failed = explain(sys.argv[2].encode(), order)
print(json.dumps({"code": failed.code, "errno": failed.errno_name, "message": failed.message, "stage": failed.stage,
                  "way": failed.way}))
"""
"""The shim's own words for what its child reports. It imports its modules by bare name, and no other way."""
INJECTED = MappingProxyType({"forbidden": errno.EACCES, "disconnected": errno.ENOTCONN, "stale": errno.ESTALE})
"""What root never meets, or needs a broken mount: the kernel's number in its place."""
PROGRAMS = MappingProxyType(
    {"missing": errno.ENOENT, "not-executable": errno.EACCES, "no-interpreter": errno.ENOENT, "there": 0}
)
RULES = ("its directory is missing", "its directory cannot be entered")


def play(case: Table) -> Outcome:
    """Let the start of one case fail, five times, and hold what is told against its verdict."""
    with tempfile.TemporaryDirectory(prefix="phx-places-") as place:
        return Outcome(case["id"], other=tuple(_played(case, Path(place))))


def _played(case: Table, place: Path) -> Iterator[str]:
    cwd, parent, target = _made(case, place)
    program = _program(case, place)
    story = _failed(_said(case, cwd, program), str(cwd), program)
    state, told = story.state, f"{story.agent.reason}"
    if not isinstance(state, Quarantined):
        yield f"{state.name}, and should be quarantined"
        return
    found = quarantine_finding(story.agent, state.cause, is_missing=case.get("program", "there") != "there")
    (of_agent,) = story.fleet.cases.cases
    expect, is_directory = case["expect"], of_agent.rule in RULES
    if is_directory != (expect["about"] == "directory"):
        yield f"the diagnosis is {of_agent.rule!r}"
    if "says" in expect and not any(one in told.lower() for one in expect["says"]):
        yield f"it says: {told}"
    typed = _typed(told) if is_directory else found.remedy
    names = {"path": shlex.quote(str(cwd)), "parent": shlex.quote(str(parent)), "target": shlex.quote(str(target))}
    wanted = [one.format(**names) for one in expect.get("remedy", ())]
    if wanted and not any(typed.startswith(one) for one in wanted):
        yield f"the remedy is {typed!r}, and should begin with one of {wanted}"
    if wanted and found.remedy == f"phoenixctl explain {story.agent.name}":
        yield "doctor's remedy of the quarantine is to read on"
    for never in expect.get("remedy_never", ()):
        if never in typed or never in found.remedy:
            yield f"the remedy holds {never}: {typed!r}, {found.remedy!r}"
    if "starts_after" in expect:
        yield from _started(cwd, typed, found, story)


def _started(cwd: Path, typed: str, found: Finding, story: Story) -> Iterator[str]:
    """Type the remedy in a shell; from then on a start is offered, and orders a run."""
    subprocess.run(["sh", "-c", typed], check=False, capture_output=True)
    if not cwd.is_dir() or list(directory_findings("a", str(cwd))):
        yield f"{typed!r} does not help"
    if "phoenixctl start" not in found.remedy:
        yield f"doctor does not say how it is started again: {found.remedy!r}"
    if story.start() is not None:
        yield "it cannot be started again"


def _typed(told: str) -> str:
    """The command between the brackets at the end of a sentence."""
    _, _, rest = told.partition("(do: ")
    return rest.split("): 5 failed starts")[0] if rest else ""


def _made(case: Table, place: Path) -> tuple[Path, Path, Path]:
    """Make the tree of one case: its directory, the one above it, and what a link of it points to."""
    name = case.get("name", "shop")
    parent, target = place / "work", place / "gone"
    parent.mkdir()
    cwd = parent / name
    match case["directory"]:
        case "file" if name.startswith("-"):
            (parent / name).mkdir()
            parent, cwd = parent / name, parent / name / "shop"
            cwd.write_text("")
        case "file":
            cwd.write_text("")
        case "below-a-file":
            parent, cwd = parent / name, parent / name / "deeper"
            parent.write_text("")
        case "dangling":
            cwd.symlink_to(target)
        case "loop":
            cwd.symlink_to(parent / "other")
            (parent / "other").symlink_to(cwd)
        case "forbidden" | "there" | "disconnected" | "stale":
            cwd.mkdir()
    return cwd, parent, target


def _program(case: Table, place: Path) -> str:
    path = place / "agent"
    match case.get("program", "there"):
        case "there" | "not-executable":
            path.write_text("#!/bin/sh\n")
        case "no-interpreter":
            path.write_text("#!/nowhere/at/all\n")
    path.touch() if case.get("program", "there") != "missing" else None
    return str(path)


def _said(case: Table, cwd: Path, program: str) -> dict[str, Any]:
    """What the shim says of the start."""
    number = INJECTED.get(case["directory"], 0)
    if not number:
        try:
            os.close(os.open(cwd, os.O_PATH | os.O_DIRECTORY))
        except OSError as failed:
            number = failed.errno or errno.EIO
    report = f"cwd {number}" if number else f"exec {PROGRAMS[case.get('program', 'there')]}"
    command = [sys.executable, "-c", SAYS, str(SHIM), report, str(cwd), program]
    said: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return said


def _failed(said: dict[str, Any], cwd: str, program: str) -> Story:
    """The agent after the number of failed starts, all alike, at which it is given up."""
    story, processes = Story(spec(cwd=cwd, argv=(program,))), Processes()
    unused: Any = None

    def tell(event: Any, saved: Any) -> None:
        story.tell(event)

    find, later = (lambda name: story.agent), (lambda seconds, call: None)
    hearing = Hearing(unused, processes, unused, SupervisedClock(), find, tell, later=later)
    story.start()
    for _ in range(8):
        if isinstance(story.state, BackingOff):
            story.respawned()
        if isinstance(story.state, Quarantined):
            break
        hearing.hear(ShimMessage("a", "start_failed", {"incarnation": story.run.incarnation, **said}))
    processes.close()
    return story
