"""The ends of the field in which a CLI does not come to its work: programs, dialogs, sessions, settings."""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.eval_clinic.ends import Drive, session_of, settle
from tests.eval_clinic.recipes import CODEX, GEMINI, NEWER, OLDER, Recipe
from tests.eval_clinic.room import GOAL, Room
from tests.real.installed import locate
from tests.stub.scenario import Rejection, Step


def recipes() -> Iterator[Recipe]:
    yield Recipe("claude", OLDER, "terminal", "link to nothing", _link_to_nothing)
    yield Recipe("codex", CODEX, "terminal", "package without its program", _half_a_package)
    yield Recipe("gemini", GEMINI, "headless", "package without its bundle", _no_bundle)
    yield Recipe("claude", NEWER, "terminal", "trust asked for on a resume", _trust_on_a_resume)
    yield Recipe("gemini", GEMINI, "terminal", "trust asked for, nothing to do", _trust_without_a_prompt)
    yield Recipe("codex", CODEX, "terminal", "trust asked for below a repository", _trust_below)
    yield Recipe("claude", OLDER, "headless", "session of another directory", _other_directory)
    yield Recipe("claude", NEWER, "terminal", "session id in use", _in_use)
    yield Recipe("codex", CODEX, "terminal", "session deleted", _deleted)
    yield Recipe("gemini", GEMINI, "headless", "session id in use", _in_use_headless)
    schema = "/work/shop/answer.json"
    yield Recipe("codex", CODEX, "headless", "schema of no file", _headless_with("--output-schema", schema))
    yield Recipe("codex", CODEX, "headless", "settings that cannot be read", _broken_settings)
    missing = "--mcp-config=/work/shop/tools.json"
    yield Recipe("claude", OLDER, "headless", "tools of no file", _headless_with(missing))
    yield Recipe("claude", NEWER, "headless", "helper for the key fails", _key_helper)
    yield Recipe("claude", NEWER, "terminal", "dialog of a newer release", _renderer)


def _link_to_nothing(room: Room) -> None:
    """An upgrade took away the release that the link names."""
    room.binary = room.root / "claude"
    room.binary.symlink_to(room.root / "gone" / "claude")
    room.in_terminal()
    room.wait_exit()
    settle(room, 0.5)


def _half_a_package(room: Room) -> None:
    """Installed without the package that holds the program."""
    package = room.root / "codex"
    shutil.copytree(room.binary.resolve().parents[1], package)
    room.binary = package / "bin" / "codex.js"
    room.in_terminal()
    room.wait_exit()
    settle(room, 0.5)


def _no_bundle(room: Room) -> None:
    room.binary = room.root / "gemini"
    room.binary.write_text(
        '#!/bin/sh\nexec node /usr/local/lib/node_modules/@google/gemini-cli/bundle/gemini.js "$@"\n'
    )
    room.binary.chmod(0o755)
    room.headless()


def _trust_on_a_resume(room: Room) -> None:
    """Its settings were made anew, and what it had been told of the directory is gone."""
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    settings = room.home / ".claude.json"
    told = json.loads(settings.read_text())
    told["projects"] = {}
    settings.write_text(json.dumps(told))
    room.in_terminal("Do the second item.", resume=room.session)
    room.until_screen("[Tt]rust")
    settle(room, 3)


def _trust_without_a_prompt(room: Room) -> None:
    room.trusted = False
    room.in_terminal("")
    room.until_screen("[Tt]rust")
    settle(room, 3)


def _trust_below(room: Room) -> None:
    room.trusted = False
    subprocess.run(["git", "init", "--quiet", str(room.workspace)], check=True)
    room.workspace /= "packages"
    room.workspace.mkdir()
    room.in_terminal("Work through the plan.")
    room.until_screen("[Tt]rust")
    settle(room, 3)


def _other_directory(room: Room) -> None:
    """The worktree of the session is another one."""
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    room.workspace /= "packages"
    room.workspace.mkdir()
    room.headless("Do the second item.", resume=room.session)


def _in_use(room: Room) -> None:
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    room.in_terminal("Do the second item.")
    room.wait_exit()
    settle(room, 0.5)


def _in_use_headless(room: Room) -> None:
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    room.headless("Do the second item.")


def _deleted(room: Room) -> None:
    room.answer(Step(text="The first item is done."))
    room.headless("Do the first item of docs/plan.md.")
    session = session_of(room)
    for path in room._transcripts():
        path.unlink()
    for path in room.home.glob(".codex/*.sqlite*"):
        path.unlink()
    room.in_terminal("Do the second item.", resume=session)
    room.wait_exit()
    settle(room, 0.5)


def _headless_with(*flags: str) -> Drive:
    def drive(room: Room) -> None:
        room.answer(room.cli.shell("ls"), Step(text="All is done."))
        room.headless(GOAL, *flags)

    return drive


def _broken_settings(room: Room) -> None:
    def broken() -> None:
        with (room.home / ".codex" / "config.toml").open("a") as file:
            file.write("\n[mcp_servers.till\ncommand = 3\n")

    _prepared(room, broken)
    room.headless()


def _prepared(room: Room, change: Callable[[], object]) -> None:
    """Change something in the HOME once it is furnished."""
    prepare = room.cli.prepare

    def prepared(home: Path, stub: object) -> None:
        prepare(home, stub)  # type: ignore[arg-type]
        change()

    room.cli.prepare = prepared  # type: ignore[method-assign]


def _key_helper(room: Room) -> None:
    """The program that is to fetch the key finds no vault."""
    room.cli.settings = {"apiKeyHelper": "echo 'vault: connection refused' >&2; exit 2"}  # type: ignore[union-attr]
    room.env["ANTHROPIC_API_KEY"] = ""
    room.refuse(Rejection(401, "authentication_error", "x-api-key header is required"))
    room.headless()


def _renderer(room: Room) -> None:
    """In a HOME that an older release used, the newer one asks a question of its own over the input."""
    newer, room.binary = room.binary, locate("claude", OLDER).binary
    room.answer(Step(text="The first item is done."))
    room.in_terminal("Do the first item of docs/plan.md.")
    room.until_hook("Stop")
    room.type("/exit", "Enter")
    room.wait_exit()
    room.binary, room.session = newer, str(uuid.uuid4())
    room.in_terminal("")
    room.until_screen("renderer", 30)
    settle(room, 3)
