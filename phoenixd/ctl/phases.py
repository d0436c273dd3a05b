"""`phase` and `schema export`: a project's files, changed by the operator's own hand and under the project's lock.

What an agent's token may ask, list and check, is asked of the daemon; without one it is read here. The rest is done
here: a system service has no right to write into workspaces.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

from phoenixd.api import exits
from phoenixd.api.handlers import phases as answers
from phoenixd.api.pages import phases as pages
from phoenixd.api.problems import Problem
from phoenixd.config import read_configuration
from phoenixd.core.rules import PhaseRules
from phoenixd.ctl import face, projects
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import reaching, refuse
from phoenixd.ctl.repeating import repeated
from phoenixd.ctl.unattended import become_owner_of
from phoenixd.directories import find_directories
from phoenixd.documents.plain_text import plain
from phoenixd.documents.project import layout, revision
from phoenixd.documents.project.beginning import IMPORT_LIMIT, begin, take_apart
from phoenixd.documents.project.revision import Revision
from phoenixd.documents.project.schemas import SUFFIX, schemas
from phoenixd.documents.project.shortening import archive, summarise
from phoenixd.documents.project.splitting import split
from phoenixd.documents.project.tree import Changes, Tree
from phoenixd.documents.times import timestamp
from phoenixd.drivers.files.project import edit_project, projects_of, read_project
from phoenixd.errors import BadProject, ConfigurationError, UnsafeFile
from phoenixd.runs import ASK, surroundings


def look(command: Command) -> int:
    """`phase list|check`, as the files say it."""
    return _refusing(command, lambda: _look(command))


def init(command: Command) -> int:
    """`phase init`: what lacks is made, what is there stays."""
    phases = [*(command.given.get("phases") or ()), *(layout.STANDARD_PHASES if command.given.get("standard") else ())]

    def done() -> int:
        workspace, project = _writable(command)
        made = _edited(workspace, project, lambda tree: begin(tree, phases, _now()))
        return _say(command, workspace, project, sorted(made.writes), f"{project} lacks nothing: it was left as it is")

    return _refusing(command, done)


def take_in(command: Command) -> int:
    """`phase import FILE`: one long plan becomes phases; the file itself stays."""

    def done() -> int:
        workspace, project = _writable(command)
        name = str(command.given["file"])
        try:
            with open(name, "rb") as file:
                content = file.read(IMPORT_LIMIT + 1)
        except OSError as error:
            why = f"{name} cannot be read: {error.strerror}"
            raise Problem("failed", why, f"phoenixctl phase import FILE --project {project}") from error
        if not command.given.get("yes"):
            changes = take_apart(read_project(workspace, project), content, name, _now())
            return _shown(
                command, project, sorted(changes.writes), f"phoenixctl phase import {shlex.quote(name)} --yes"
            )
        made = _edited(workspace, project, lambda tree: take_apart(tree, content, name, _now()))
        return _say(command, workspace, project, sorted(made.writes), "nothing was made")

    return _refusing(command, done)


def revise(command: Command) -> int:
    """`phase split|archive|summarise PHASE`: shown, done with --yes, shown the other way round with --undo."""

    def done() -> int:
        workspace, project = _writable(command)
        answers.require_there(read_project(workspace, project), workspace, projects_of(workspace))
        rules = _rules(workspace, project)
        if not command.given.get("yes"):
            return _told(command, project, _revision(command, read_project(workspace, project), rules), done=False)
        made: list[Revision] = []

        def change(tree: Tree) -> Changes:
            made.append(_revision(command, tree, rules))
            return made[-1].changes

        edit_project(workspace, project, change)
        return _told(command, project, made[-1], done=True)

    return _refusing(command, done)


def export(command: Command) -> int:
    """`schema export`: for editors, and for others who write such files."""
    to = command.given.get("to")
    if to is None:
        print(json.dumps(schemas(), indent=None if command.as_json else 2))
        return exits.OK
    if not os.path.isdir(to):
        return refuse(exits.USAGE, f"{to} is no directory", "phoenixctl schema export --to DIR")
    try:
        paths = [Path(to) / f"{name}{SUFFIX}" for name in schemas()]
        for path, schema in zip(paths, schemas().values(), strict=True):
            path.write_text(f"{json.dumps(schema, indent=2)}\n", encoding="utf-8")
    except OSError as error:
        return refuse(exits.FAILED, f"{error.filename} was not written: {error.strerror}", f"ls -ld {shlex.quote(to)}")
    print(json.dumps({"written": [str(path) for path in paths]}) if command.as_json else "\n".join(map(str, paths)))
    return exits.OK


def _look(command: Command) -> int:
    workspace = projects.workspace(command)
    project = command.given.get("project") or answers.only(projects_of(workspace), workspace)
    tree = answers.require_there(read_project(workspace, project), workspace, projects_of(workspace))
    if command.operation.name == "phase_list":
        body, code, told = answers.listed(workspace, tree), exits.OK, pages.listed
    else:
        body = answers.checked(workspace, tree, _rules(workspace, project))
        code, told = answers.code_of(body), pages.checked
    sys.stdout.write(f"{json.dumps(body)}\n" if command.as_json else repeated(command, told(body, face.here())))
    return code


def _refusing(command: Command, act: Callable[[], int]) -> int:
    """Whatever keeps it from being done, in words and with a remedy."""
    try:
        return act()
    except Problem as problem:
        code, why, remedy = problem.exit_code, problem.detail, problem.remedy
    except BadProject as error:
        code, why, remedy = exits.CONFLICT, error.message, error.remedy
    except UnsafeFile as error:
        code, why, remedy = exits.FAILED, error.message, error.remedy
    except OSError as error:
        code, why, remedy = exits.FAILED, f"{error.filename or 'a file'}: {error.strerror or error}", ""
    return refuse(code, why, repeated(command, remedy or "phoenixctl phase check"))


def _writable(command: Command) -> tuple[str, str]:
    """The workspace and the project that are to be changed; raises Problem where an agent asks."""
    inside = surroundings()
    if inside:
        why = f"this is inside the run of {inside[0].agent}: phoenixd keeps a project's files, and agents report to it"
        raise Problem("conflict", why, ASK)
    workspace = projects.workspace(command)
    if os.path.isdir(workspace):
        become_owner_of(Path(workspace))
    named = command.given.get("project")
    if named is None and command.operation.name in ("phase_init", "phase_import") and not projects_of(workspace):
        raise Problem("invalid", f"{workspace} has no project yet", "name it: --project NAME")
    return workspace, layout.project_name(named or answers.only(projects_of(workspace), workspace))


def _rules(workspace: str, project: str) -> PhaseRules:
    """As the configuration has them for the orchestrator that works there; the defaults where it cannot be read."""
    try:
        directories = find_directories(os.environ)
        found = read_configuration(directories.configuration, directories.state, os.environ)
    except ConfigurationError:
        return PhaseRules()
    return answers.rules_of(found.agents.values(), workspace, project)


def _revision(command: Command, tree: Tree, rules: PhaseRules) -> Revision:
    phase = layout.phase_name(str(command.given["phase"]))
    if command.given.get("undo"):
        return revision.undo(tree, phase)
    match command.operation.name:
        case "phase_split":
            return split(tree, phase, rules, _now())
        case "phase_archive":
            return archive(tree, phase, _now())
        case _:
            return summarise(tree, phase, _now())


def _edited(workspace: str, project: str, change: Callable[[Tree], Changes]) -> Changes:
    made: list[Changes] = []

    def remembered(tree: Tree) -> Changes:
        made.append(change(tree))
        return made[-1]

    edit_project(workspace, project, remembered)
    return made[-1]


def _told(command: Command, project: str, made: Revision, *, done: bool) -> int:
    words = " ".join(command.words)
    if command.as_json:
        body = {
            "project": project, "phase": made.phase, "kind": made.kind, "done": done, "told": list(made.told),
            "writes": sorted(made.changes.writes), "removes": sorted(made.changes.removes),
        }  # fmt: skip
        print(json.dumps(body))
        return exits.OK
    print(*made.told, sep="\n")
    undo = " --undo" if command.given.get("undo") else ""
    if not done:
        print(f"nothing was changed yet; do it: {_again(command, f'phoenixctl {words} {made.phase}{undo} --yes')}")
    elif not undo:
        print(f"to take it back: {_again(command, f'phoenixctl {words} {made.phase} --undo --yes')}")
    return exits.OK


def _say(command: Command, workspace: str, project: str, paths: list[str], nothing: str) -> int:
    if command.as_json:
        print(json.dumps({"project": project, "done": True, "writes": paths}))
    elif paths:
        print(f"made in {plain(workspace)}:", *paths, f"see: {_again(command, 'phoenixctl phase list')}", sep="\n")
    else:
        print(nothing)
    return exits.OK


def _shown(command: Command, project: str, paths: list[str], again: str) -> int:
    if command.as_json:
        print(json.dumps({"project": project, "done": False, "writes": paths}))
    else:
        print(*paths, f"nothing was made yet; do it: {_again(command, again)}", sep="\n")
    return exits.OK


def _again(command: Command, words: str) -> str:
    """A command of phases for the same project, which asks the same daemon."""
    return reaching(repeated(command, words))


def _now() -> str:
    return timestamp(time.time())
