"""`config check|show|schema`: the files as the daemon would read them; needs none to run."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping

from phoenixd.api import exits
from phoenixd.api.pages.findings import counts, problems, told_in
from phoenixd.command_remedies import command_remedy
from phoenixd.command_search import find_command
from phoenixd.config import Configuration, json_schema, read_configuration
from phoenixd.config.layers import Origin
from phoenixd.config.problems import Problem
from phoenixd.ctl import absence, pager
from phoenixd.ctl.grammar import Command
from phoenixd.ctl.refusal import reaching, refuse
from phoenixd.directories import Directories, find_configuration, find_directories
from phoenixd.errors import ConfigurationError


def check(command: Command) -> int:
    """Every finding with file and line; 1 when there is an error."""
    configuration = _read(command)
    if configuration is None:
        return exits.USAGE
    all_told = (*configuration.problems, *_missing_programs(configuration, os.environ))
    if command.as_json:
        findings = [
            {"severity": one.severity, "file": one.file, "line": one.line, "key": one.key, "message": one.message}
            for one in all_told
        ]
        print(json.dumps({"files": list(configuration.files), "problems": findings}))
        return exits.FAILED if configuration.errors else exits.OK
    lines, found = problems(all_told, configuration.files), len(all_told)
    for line in lines:
        print(line, file=sys.stderr)
    errors = len(configuration.errors)
    told = counts(errors, "error", found - errors) + told_in(found, len(lines))
    if errors:
        return refuse(exits.FAILED, f"the configuration cannot be used: {told}", f"fix these, then: {_again(command)}")
    is_well = f"the configuration is in order{f', with {told}' if told else ''}"
    if configuration.files:
        print(f"{is_well}:", *configuration.files, sep="\n  ")
    else:
        places = "" if command.given.get("config") else " in /etc/phoenixd or ~/.config/phoenixd"
        print(f"{is_well}: no file{places},\nand every key has its default")
    print(reaching("what it changes: phoenixctl plan"))
    return exits.OK


def _missing_programs(configuration: Configuration, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Programs that are not there now, as `plan` and `add` warn of them. A name is looked for on this shell's PATH."""
    for name, spec in configuration.agents.items():
        program, path = spec.argv[0], dict(spec.env).get("PATH")
        if path is None and spec.env_from == "daemon":
            path = environ.get("PATH", os.defpath)
        if (path is None and "/" not in program) or find_command(program, path or "", spec.cwd) is not None:
            continue
        where = "" if "/" in program else " on the PATH of its env" if "PATH" in dict(spec.env) else " on this PATH"
        keys = (f"agent.{name}.argv", "defaults.argv", f"agent.{name}")
        key = next((key for key in keys if key in configuration.set_at), f"agent.{name}")
        place = configuration.set_at.get(key, Origin(""))
        told = f"{program} is not to be found{where} now: {command_remedy(program, 'the first word of argv')}"
        yield Problem(told, key, place.file, place.line, "warning", name)


def _again(command: Command) -> str:
    """The same check once more, as it can be typed."""
    place = command.given.get("config")
    return f"phoenixctl config check --config {shlex.quote(str(place))}" if place else "phoenixctl config check"


def show(command: Command) -> int:
    """The values in force, and where each that was set comes from; 1 where a file says something that is wrong."""
    configuration = _read(command)
    if configuration is None:
        return exits.USAGE
    plain, wrong = configuration.shown(), {one.key for one in configuration.errors}
    for line in problems(configuration.problems, configuration.files):
        print(line, file=sys.stderr)
    if command.as_json:
        origins = {key: origin for key, origin in configuration.origins.items() if key not in wrong}
        print(json.dumps({"configuration": plain, "origins": origins}, default=str))
        return _shown(command, configuration)
    lines = []
    for key, value in _flat(plain):
        origin = configuration.origins.get(key)
        told = f"    # {'not what is wrong at ' if key in wrong else ''}{origin}" if origin else ""
        lines.append(f"{key} = {json.dumps(value, default=str)}{told}\n")
    pager.show("".join(lines))
    return _shown(command, configuration)


def _shown(command: Command, configuration: Configuration) -> int:
    """The exit code, after a word on values that are not what their file says."""
    if not configuration.errors:
        return exits.OK
    told = counts(len(configuration.errors), "error", 0)
    why = f"what is wrong in the files is left out of these values: {told}"
    return refuse(exits.FAILED, why, f"fix these, then: {_again(command)}")


def schema(command: Command) -> int:
    """For editors and for others who write such files."""
    print(json.dumps(json_schema(), indent=None if command.as_json else 2))
    return exits.OK


def _read(command: Command) -> Configuration | None:
    try:
        directories = _directories(command)
        return read_configuration(directories.configuration, directories.state, os.environ)
    except ConfigurationError as error:
        refuse(exits.USAGE, error.message, error.remedy or "phoenixctl config check --config FILE")
        return None


def _directories(command: Command) -> Directories:
    """Those of the daemon whose socket was named, as it left them; else those that a daemon begun here would have."""
    named, given = command.socket or os.environ.get("PHOENIX_SOCKET"), command.given.get("config")
    its_own = absence.left_by(named) if named else None
    if its_own is not None:
        told = os.fspath(its_own.configuration) if its_own.configuration is not None else None
        return Directories(find_configuration(os.environ, given or told), its_own.state, its_own.runtime)
    directories = find_directories(os.environ, configuration=given)
    if named and not given:
        why = f"nothing tells which directories the phoenixd of {named} has"
        print(f"{why}: this is the configuration for {directories.state}", file=sys.stderr)
    return directories


def _flat(table: dict[str, object], above: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, value in table.items():
        path = f"{above}.{key}" if above else key
        if isinstance(value, dict):
            found += _flat(value, path)
        else:
            found.append((path, value))
    return found
