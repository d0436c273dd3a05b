"""From a command line to the one who answers it: phoenixctl's own verbs here, all others the daemon."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from phoenixd.api import exits
from phoenixd.ctl.grammar import Command, parse, without_common
from phoenixd.ctl.refusal import refuse

OWN: dict[str, str] = {
    "up": "phoenixd.ctl.daemon_start:up",
    "list_agents": "phoenixd.ctl.watch:status",
    "show_agent": "phoenixd.ctl.watch:status",
    "down": "phoenixd.ctl.daemon_start:down",
    "run": "phoenixd.ctl.declare:run",
    "add_agent": "phoenixd.ctl.declare:add",
    "attach": "phoenixd.ctl.attach:attach",
    "read_pane": "phoenixd.ctl.follow:screen",
    "logs": "phoenixd.ctl.follow:screen",
    "list_events": "phoenixd.ctl.follow:events",
    "start_agent": "phoenixd.ctl.acting:act",
    "stop_agent": "phoenixd.ctl.acting:act",
    "restart_agent": "phoenixd.ctl.acting:act",
    "remove_agent": "phoenixd.ctl.acting:act",
    "send_text": "phoenixd.ctl.acting:act",
    "mute_agent": "phoenixd.ctl.acting:act",
    "unmute_agent": "phoenixd.ctl.acting:act",
    "breaker_reset": "phoenixd.ctl.acting:act",
    "check_resonance": "phoenixd.ctl.acting:act",
    "restore_resonance": "phoenixd.ctl.acting:act",
    "inbox": "phoenixd.ctl.choosing:look",
    "show_item": "phoenixd.ctl.choosing:look",
    "list_breakers": "phoenixd.ctl.choosing:look",
    "breaker_show": "phoenixd.ctl.choosing:look",
    "list_resonance": "phoenixd.ctl.choosing:look",
    "show_resonance": "phoenixd.ctl.choosing:look",
    "clean_fleet": "phoenixd.ctl.choosing:look",
    "clean_agent": "phoenixd.ctl.choosing:look",
    "undo": "phoenixd.ctl.acting:undo",
    "read_log": "phoenixd.ctl.log:log",
    "help": "phoenixd.ctl.help:show",
    "top": "phoenixd.top.entry:top",
    "task_run": "phoenixd.ctl.tasks:run",
    "answer_item": "phoenixd.ctl.answering:answer",
    "recover": "phoenixd.ctl.recovering:recover",
    "resolve_loop": "phoenixd.ctl.resolve:resolve",
    "wait_agent": "phoenixd.ctl.calls:wait",
    "doctor": "phoenixd.ctl.local_doctor:doctor",
    "version": "phoenixd.ctl.calls:version",
    "config_check": "phoenixd.ctl.configuration:check",
    "config_show": "phoenixd.ctl.configuration:show",
    "config_schema": "phoenixd.ctl.configuration:schema",
    "memory_list": "phoenixd.ctl.projects:remember",
    "memory_share": "phoenixd.ctl.projects:remember",
    "phase_list": "phoenixd.ctl.projects:look",
    "phase_check": "phoenixd.ctl.projects:look",
    "phase_init": "phoenixd.ctl.phases:init",
    "phase_split": "phoenixd.ctl.phases:revise",
    "phase_archive": "phoenixd.ctl.phases:revise",
    "phase_summarise": "phoenixd.ctl.phases:revise",
    "phase_import": "phoenixd.ctl.phases:take_in",
    "schema_export": "phoenixd.ctl.phases:export",
    "hooks_print": "phoenixd.ctl.hooks:print_settings",
    "hooks_install": "phoenixd.ctl.hooks:install",
    "hooks_test": "phoenixd.ctl.hooks:test",
    "completion": "phoenixd.ctl.completion:completion",
}
"""Verbs with more to do than to ask and to copy, and where each is."""
PASSED_ON = {"install-service": "phoenixd.service_install:main", "demo": "phoenixd.demo:main"}
"""Verbs that read their own arguments."""


def run(arguments: Sequence[str]) -> int:
    """Do what a command line says; returns the exit code."""
    try:
        return _run(list(arguments))
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, which is its right; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(arguments: list[str]) -> int:
    words, common = without_common(arguments)
    if words and words[0] in PASSED_ON:
        if common:
            why = f"{words[0]} begins a phoenixd of its own, and takes no {' and no '.join(common)}"
            return refuse(exits.USAGE, why, shlex.join(["phoenixctl", *words]))
        passed_on: Callable[[list[str]], int] = _load(PASSED_ON[words[0]])
        return passed_on(words[1:])
    command = parse(arguments or ["status"])
    place = OWN.get(command.operation.name, "phoenixd.ctl.calls:call")
    own: Callable[[Command], int] = _load(place)
    return own(command)


def _load(place: str) -> Callable[..., int]:
    module, _, name = place.partition(":")
    found: Callable[..., int] = getattr(import_module(module), name)
    return found
