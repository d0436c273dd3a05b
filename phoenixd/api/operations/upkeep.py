"""Upkeep: the clinic, the configuration, recovery, heartbeats and breakers, what is left over, the installation."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.api.operations.operation import Operation, Parameter
from phoenixd.api.operations.parameters import (
    CASE,
    CHOSEN,
    CONFIG,
    DRY_RUN,
    NAME,
    NOT_NOW,
    PLACES,
    SELECT,
    SEVERAL,
    TEXT_FORM,
    WHICH,
)
from phoenixd.clis import HOOKED, SETTINGS

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
UPKEEP: tuple[Operation, ...] = (
    Operation(
        "clinic_list", ("clinic", "list"),
        "How often each treatment of a failure held, and the Cases that are open, else the newest five",
        TEXT_FORM, path="/v1/clinic", response="Clinic",
    ),
    Operation(
        "clinic_show", ("clinic", "show"), "One Case: what was noticed, the diagnosis, what was done, what came of it",
        (CASE, *TEXT_FORM), path="/v1/clinic/{id}", response="CaseShown",
    ),
    Operation(
        "clinic_replay", ("clinic", "replay"), "What today's rules say of a Case's stored evidence; nothing is done",
        (CASE, *TEXT_FORM), path="/v1/clinic/{id}/replay", response="CaseReplayed",
    ),
    Operation("config_check", ("config", "check"), "Check the configuration files", (CONFIG,)),
    Operation("config_show", ("config", "show"), "The configuration as it is understood", (CONFIG,)),
    Operation("config_schema", ("config", "schema"), "JSON Schema of the configuration"),
    Operation(
        "plan", ("plan",), "What apply would change", TEXT_FORM, path="/v1/plan", rights="operate", response="Plan",
    ),
    Operation(
        "apply", ("apply",), "Read the configuration again and do what plan shows", TEXT_FORM, method="POST",
        path="/v1/apply", rights="admin", response="Plan",
    ),
    Operation(
        "recover", ("recover",), "Where the journal was lost or is old: what was found of each agent; --yes does it",
        (
            Parameter("yes", "local", "boolean", "do what is shown, without asking", flag="--yes", default=False),
            Parameter(
                "take", "local", "boolean", "hand the living shims of a runtime directory over to a state directory, "
                "while no daemon runs and from outside any run", flag="--take", default=False,
            ),
            *PLACES, *TEXT_FORM,
        ),
        path="/v1/recover", rights="operate", response="Recovery",
        exits=((6, "--take: a daemon owns one of the directories, or an agent asks"),),
    ),
    Operation(
        "confirm_recovery", (), "Do what recover shows", TEXT_FORM, method="POST", path="/v1/recover", rights="admin",
        response="Recovery",
    ),
    Operation(
        "heartbeat_show", ("heartbeat", "show"), "The newest sign of life of an agent", (NAME, *TEXT_FORM),
        path="/v1/agents/{name}/heartbeat", rights="agent", response="Heartbeat",
    ),
    Operation(
        "heartbeat_simulate", ("heartbeat", "simulate"), "Claim an old heartbeat, to see what a hang leads to",
        (NAME, Parameter("age", "body", "duration", "how old it is to be", flag="--age", default="20m"), *TEXT_FORM),
        method="POST", path="/v1/agents/{name}/heartbeat", rights="operate", response="Message", exits=(NOT_NOW,),
    ),
    Operation(
        "list_breakers", ("breaker", "show"), "The circuit breakers of all agents that have one", (SELECT, *TEXT_FORM),
        path="/v1/breakers", response="Breakers", exits=((3, "one is OPEN"),),
    ),
    Operation(
        "breaker_show", ("breaker", "show"), "Whether a loop gets anywhere: its circuit breaker",
        (SEVERAL, WHICH, *TEXT_FORM),
        path="/v1/agents/{name}/breaker", rights="agent", response="Breaker", exits=((3, "the breaker is OPEN"),),
    ),
    Operation(
        "breaker_reset", ("breaker", "reset"), "Close a breaker and count from nothing", (*CHOSEN, *TEXT_FORM),
        method="POST", path="/v1/agents/{name}/breaker/reset", rights="operate", response="Message",
    ),
    Operation(
        "clean_fleet", ("cleanup",),
        "End what runs left over, and what cleanup rules name, of all agents or of some; list it",
        (replace(SELECT, place="body"), DRY_RUN, *TEXT_FORM),
        method="POST", path="/v1/cleanup", rights="operate", response="Cleanups",
    ),
    Operation(
        "clean_agent", ("cleanup",), "End what an agent's runs left over, and what its cleanup rules name; list it",
        (SEVERAL, WHICH, DRY_RUN, *TEXT_FORM),
        method="POST", path="/v1/agents/{name}/cleanup", rights="operate", response="Cleanup",
    ),
    Operation(
        "watchdog", ("watchdog",), "Have every agent looked at again now (the form for cron)",
        (
            Parameter(
                "once", "local", "boolean", "look once; the daemon itself never stops looking", flag="--once",
                default=False,
            ),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/watchdog", rights="operate", response="Rechecked",
    ),
    Operation("hooks_print", ("hooks", "print"), "The hooks that report to phoenixd, as settings JSON"),
    Operation(
        "hooks_install", ("hooks", "install"), f"Merge them into {HOOKED}'s settings",
        (
            Parameter("user", "local", "boolean", f"into ~/{SETTINGS}", flag="--user", default=False),
            Parameter("project", "local", "string", f"into {SETTINGS} below it", flag="--project", names="directories"),
        ),
    ),
    Operation("hooks_test", ("hooks", "test"), "Call the hook program once for each event"),
    Operation(
        "install_service", ("install-service",), "Install the systemd units (--system or --user)",
        (
            Parameter("system", "local", "boolean", "units for the whole machine; needs root", flag="--system"),
            Parameter("user", "local", "string", "the account whose agents these are", flag="--user"),
            Parameter("allow_root", "local", "boolean", "let the agents be root", flag="--allow-root"),
            Parameter("dry_run", "local", "boolean", "print the units and change nothing", flag="--dry-run"),
            Parameter("no_start", "local", "boolean", "write the units, enable and start nothing", flag="--no-start"),
            PLACES[0],
            Parameter("python", "local", "string", "the interpreter that has phoenixd", flag="--python", names="files"),
            Parameter(
                "root", "local", "string", "write below this directory, and start nothing", flag="--root",
                names="directories",
            ),
        ),
    ),
    Operation("demo", ("demo",), "See what becomes of agents that die, hang, fill up and forget"),
    Operation(
        "version", ("version",), "Versions of phoenixctl and of the daemon", path="/v1/version", rights="agent",
        response="Version",
    ),
    Operation(
        "completion", ("completion",), "Completion script for a shell",
        (Parameter("shell", "local", "string", "which shell", required=True, choices=("bash", "zsh", "fish")),),
    ),
    Operation(
        "health", (), "Whether the daemon answers", path="/healthz", rights="agent", response="Health", text=False,
    ),
    Operation("openapi", (), "This description", path="/openapi.json", rights="agent", response="OpenAPI", text=False),
)
# fmt: on
