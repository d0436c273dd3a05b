"""Repositories for tests: a plain one, and one that is armed to run something at every turn."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

IDENTITY = {
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    # Each commit would start another program, to see whether there is too much to keep.
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "maintenance.auto",
    "GIT_CONFIG_VALUE_0": "false",
}


def git(repository: Path, *arguments: str, check: bool = True) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=repository,
        env={**os.environ, **IDENTITY},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=check,
        timeout=30,
    )
    return done.stdout


def make_repository(tmp_path: Path) -> Path:
    """A repository with a commit, nothing changed, a link and an ignored pattern."""
    work = tmp_path / "work"
    work.mkdir(parents=True)
    git(work, "init", "-q", "-b", "main")
    for name in ("kept.txt", "edited.txt", "gone.txt"):
        (work / name).write_text(f"{name}\n")
    (work / "link").symlink_to("kept.txt")
    (work / ".gitignore").write_text("*.log\n")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "First of all\n\nbody")
    return work


class Armed:
    """A repository that leaves a trace whenever something of it runs."""

    def __init__(self, work: Path, tmp_path: Path) -> None:
        self.work = work
        self.traces = tmp_path / "traces"
        self.traces.mkdir()
        self.programs = tmp_path / "programs"
        self.programs.mkdir()

    def program(self, name: str) -> str:
        path = self.programs / name
        # A filter gives back what it is given; a transport that did so would be waited for without end.
        rest = "cat" if name in ("clean", "smudge") else "exit 1"
        path.write_text(f"#!/bin/sh\ntouch '{self.traces}/{name}'\n{rest}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def configure(self, key: str, value: str) -> None:
        git(self.work, "config", key, value)

    def fired(self) -> set[str]:
        return {trace.name for trace in self.traces.iterdir()}


def arm(repository: Path, tmp_path: Path) -> Armed:
    """Let everything that a repository can name a program for leave a trace."""
    armed = Armed(repository, tmp_path)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n*.x working-tree-encoding=UTF-16\n")
    (repository / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n")
    git(repository, "add", ".gitattributes")
    git(repository, "commit", "-q", "-m", "Arm it")
    for hook in ("post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout", "fsmonitor-watchman"):
        shutil.copy(armed.program(f"hook-{hook}"), repository / ".git" / "hooks" / hook)
    for key, name in {
        "core.fsmonitor": "fsmonitor",
        "core.pager": "pager",
        "core.editor": "editor",
        "core.sshCommand": "ssh",
        "core.askPass": "askpass",
        "core.alternateRefsCommand": "alternates",
        "filter.evil.clean": "clean",
        "filter.evil.smudge": "smudge",
        "diff.evil.textconv": "textconv",
        "diff.evil.command": "diff-command",
        "diff.external": "diff-external",
        "merge.evil.driver": "merge-driver",
        "gpg.program": "gpg",
        "credential.helper": "credential",
        "uploadpack.packObjectsHook": "pack-objects",
    }.items():
        armed.configure(key, armed.program(name))
    armed.configure("filter.evil.required", "true")
    armed.configure("log.showSignature", "true")
    armed.configure("pager.ls-files", armed.program("pager-ls-files"))
    for command in ("ls-files", "rev-parse", "rev-list", "ls-tree", "symbolic-ref", "lf"):
        armed.configure(f"alias.{command}", f"!{armed.program(f'alias-{command}')}")
    # The index must be racy and the files dirty, or git would have no reason to look into them.
    (repository / "edited.txt").write_text("edited.TXT\n")
    (repository / "untracked.txt").write_text("u")
    return armed
