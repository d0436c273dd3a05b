"""`doctor`: what the daemon finds, or, where none answers, what can be seen without one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from phoenixd import hidden, packages, remedies
from phoenixd.api import exits
from phoenixd.api.finding import Finding
from phoenixd.ctl import absence, calls
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import reaching
from phoenixd.directories import check_socket_paths, find_directories
from phoenixd.errors import ConfigurationError
from phoenixd.runs import advice

LOWEST_TMUX = (3, 2)
LOWEST_PYTHON = (3, 11)
LONGEST_PATH = 4096
"""Characters of PATH that are told."""


def doctor(command: Command) -> int:
    """The daemon's findings; without one a part of them, and exit 7."""
    # What this shell finds tells what to do about a command that the daemon does not.
    answer = calls.ask(command, command.operation, {**command.given, "path": os.environ.get("PATH", "")[:LONGEST_PATH]})
    if answer is not None and answer.exit == exits.USAGE:
        answer = calls.ask(command, command.operation, command.given)  # A daemon of before an upgrade.
    if answer is not None:
        return calls.tell(command, answer)
    findings = [*absent_daemon(command), *machine()]
    if command.as_json:
        from phoenixd.api import representation

        print(json.dumps({"findings": [representation.finding(finding) for finding in findings]}))
        return exits.UNREACHABLE
    from phoenixd.api.pages.findings import doctor as told
    from phoenixd.ctl.face import here

    sys.stdout.write(told(findings, here(), everything=bool(command.given.get("all"))))
    return exits.UNREACHABLE


def absent_daemon(command: Command) -> list[Finding]:
    """That the daemon said nothing: it is not there, or it answers nobody."""
    _, why, remedy, _ = absence.absence(calls.places(command))
    title, _, more = why.partition("\n")
    return [Finding("problem", title.rstrip("."), more, reaching(remedy))]


def machine() -> list[Finding]:
    """What this machine and this user can offer."""
    return [_python(), tmux(), *_directories(), _cgroup(), *_hidepid(), _linger()]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= LOWEST_PYTHON:
        return Finding("ok", f"Python {version}")
    return Finding(
        "problem", f"Python {version} is too old", "3.11 is the lowest", "install phoenixd with a newer Python"
    )


def tmux() -> Finding:
    """Whether there is one that agents can run in (F-TMUX-7)."""
    found = terminal()
    return Finding("ok", found) if isinstance(found, str) else Finding("problem", *found)


class NoTerminal(NamedTuple):
    """That agents cannot run in tmux here, and what helps."""

    title: str
    detail: str
    remedy: remedies.Remedy


def terminal() -> str | NoTerminal:
    """What the tmux of this machine calls itself."""
    if shutil.which("tmux") is None:
        return NoTerminal("tmux is not installed", "every agent runs in it", packages.install_line("tmux"))
    try:
        said = subprocess.run(["tmux", "-V"], capture_output=True, text=True, timeout=5, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return NoTerminal("tmux does not run", str(error), remedies.Command("apt-get install --reinstall tmux"))
    digits = "".join(letter if letter.isdigit() or letter == "." else " " for letter in said).split()
    version = tuple(int(part) for part in digits[0].split(".")[:2] if part) if digits else ()
    if version >= LOWEST_TMUX:
        return said
    title = f"{said or 'this tmux'} is too old"
    return NoTerminal(title, "3.2 is the lowest", remedies.Sentence("install tmux 3.2 or newer"))


def _directories() -> list[Finding]:
    try:
        directories = find_directories(os.environ)
        check_socket_paths(directories.runtime)
    except ConfigurationError as error:
        return [
            Finding(
                "problem",
                "the directories cannot be used",
                error.message,
                error.remedy or advice("phoenixctl up --help"),
            )
        ]
    findings: list[Finding] = []
    for label, path in (("state", directories.state), ("runtime", directories.runtime)):
        existing = next(parent for parent in (path, *path.parents) if parent.exists())
        if not os.access(existing, os.W_OK | os.X_OK):
            remedy = f"chown it to yourself, or choose another one: --{label}-dir DIR"
            findings.append(Finding("problem", f"the {label} directory {path} is not yours to write", "", remedy))
        elif path.exists() and path.stat().st_mode & 0o077:
            findings.append(
                Finding("warning", f"others can reach the {label} directory {path}", "", f"chmod 700 {path}")
            )
        else:
            findings.append(Finding("ok", f"{label} directory {path}"))
    return findings


def _cgroup() -> Finding:
    for root in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        if (root / "cgroup.procs").exists():
            own = next(
                (line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line[:3] == "0::"), "/"
            )
            if os.access(root / own.lstrip("/"), os.W_OK):
                return Finding("ok", "runs can get a cgroup of their own")
            return Finding("warning", "no cgroup can be made here", "runs are held by subreaper and run id instead",
                           "run it as a service, which delegates one: phoenixctl install-service --user")  # fmt: skip
    return Finding("warning", "cgroup v2 is not mounted", "runs are held by subreaper and run id instead",
                   "boot with systemd.unified_cgroup_hierarchy=1")  # fmt: skip


def _hidepid() -> list[Finding]:
    option = hidden.hidepid()
    if option is None:
        return []
    told = f"/proc hides other users' processes ({option})"
    costs = "agents are kept all the same; the running daemon's doctor says what it costs"
    return [Finding("warning", told, costs, "let your group see them: mount -o remount,gid=GROUP /proc")]


def _linger() -> Finding:
    import pwd

    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    if os.getuid() == 0 or not Path("/run/systemd/system").exists() or Path("/var/lib/systemd/linger", user).exists():
        return Finding("ok", "agents outlive your logout")
    return Finding("warning", "services of yours end when you log out", "", f"loginctl enable-linger {user}")
