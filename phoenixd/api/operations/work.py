"""Work: tasks of workers, the phases of a project, and the schemas of its files."""

from __future__ import annotations

from phoenixd.api.operations.operation import (
    NAME_PATTERN,
    PLAN_PATTERN,
    PLAN_SHAPE,
    PROJECT_PATTERN,
    PROJECT_SHAPE,
    Operation,
    Parameter,
)
from phoenixd.api.operations.parameters import (
    CHANGED,
    OF_PROJECT,
    OF_PROJECT_SENT,
    PHASE,
    PROJECT,
    REVISED,
    TASK,
    TEXT_FORM,
    WORKSPACE,
)

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
WORK: tuple[Operation, ...] = (
    Operation(
        "task_run", ("task", "run"), "Hand a task to a worker of its own; answers its id at once",
        (
            Parameter("prompt", "body", "string", "what is to be done, or - for standard input", required=True),
            Parameter(
                "agent", "body", "string",
                "who does it: a CLI, or a declared agent whose command and login the worker gets; default: the "
                "project's orchestrator", flag="--agent", pattern=NAME_PATTERN, names="agents",
            ),
            Parameter(
                "project", "body", "string", "the project; default: of the orchestrator that asks", flag="--project",
                pattern=PROJECT_PATTERN, shape=PROJECT_SHAPE,
            ),
            Parameter(
                "task", "body", "string", "the task of the project's plan that this one does", flag="--task",
                pattern=PLAN_PATTERN, shape=PLAN_SHAPE,
            ),
            Parameter("after", "body", "string", "tasks that have to be done before, as t1,t2", flag="--after"),
            Parameter(
                "timeout", "body", "duration", "how long a run may take (30m, 2h; jobs.timeout)", flag="--timeout"
            ),
            Parameter(
                "tries", "body", "integer", "runs until the task is given back as failed", flag="--tries", default=2,
                minimum=1, maximum=10,
            ),
            Parameter(
                "reads", "body", "boolean", "it changes nothing in the workspace, so it may run beside one that writes",
                flag="--reads", default=False,
            ),
            Parameter(
                "writes", "body", "boolean", "it works in the workspace, one at a time (the default)", flag="--writes",
                default=False,
            ),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/tasks", rights="seat", response="TaskOutcome", idempotent=False,
        exits=((6, "that task of the plan is in hand, what it is to follow has failed, or too many wait"),),
    ),
    Operation(
        "list_tasks", ("task", "status"), "Tasks of workers: what they do, and how they ended",
        TEXT_FORM, path="/v1/tasks", rights="seat", response="Tasks",
    ),
    Operation(
        "show_task", ("task", "status"), "One task, with the path of its report", (TASK, *TEXT_FORM),
        path="/v1/tasks/{id}", rights="seat", response="TaskOutcome", exits=((3, "it failed, or was canceled"),),
    ),
    Operation(
        "cancel_task", ("task", "cancel"), "End a task; what its worker left is kept", (TASK, *TEXT_FORM),
        method="POST", path="/v1/tasks/{id}/cancel", rights="seat", response="TaskOutcome",
        exits=((6, "it has ended, or is being ended"),),
    ),
    Operation(
        "memory_list", ("memory", "list"), "What a project remembers, and what projects share, with its source",
        (PROJECT, WORKSPACE, *TEXT_FORM), path="/v1/memory", rights="agent", response="Memory",
    ),
    Operation(
        "memory_share", ("memory", "share"), "Give a memory file to other projects, without secrets; or take back",
        (
            Parameter("path", "body", "string", "the file, from the workspace's root", names="files"),
            Parameter(
                "withdraw", "body", "string", "take back all that this project shared, by its name", flag="--withdraw",
                pattern=PROJECT_PATTERN, shape=PROJECT_SHAPE,
            ),
            *OF_PROJECT_SENT, *TEXT_FORM,
        ),
        method="POST", path="/v1/memory/share", rights="operate", response="SharedMemory",
        exits=((6, "it is no memory file of the project, or too much is shared"),),
    ),
    Operation(
        "phase_list", ("phase", "list"), "The phases of a project and their tasks", (PROJECT, WORKSPACE, *TEXT_FORM),
        path="/v1/phases", rights="agent", response="Phases",
    ),
    Operation(
        "phase_check", ("phase", "check"), "What is wrong with a project's files, each with its remedy",
        (PROJECT, WORKSPACE, *TEXT_FORM), path="/v1/phases/check", rights="agent", response="PhaseCheck",
        exits=((3, "something is wrong with them"),),
    ),
    Operation(
        "phase_init", ("phase", "init"), "Make what a project lacks: phases, their files, the state, the schemas",
        (
            Parameter("phases", "local", "words", "phases to make, such as phase-01-planning"),
            Parameter("standard", "local", "boolean", "the five standard phases", flag="--standard", default=False),
            *OF_PROJECT,
        ),
        exits=(CHANGED,),
    ),
    Operation(
        "phase_split", ("phase", "split"), "Make several phases of one whose plan is too long; --yes does it",
        (PHASE, *REVISED), exits=(CHANGED,),
    ),
    Operation(
        "phase_archive", ("phase", "archive"), "Move what completed tasks said out of a plan; --yes does it",
        (PHASE, *REVISED), exits=(CHANGED,),
    ),
    Operation(
        "phase_summarise", ("phase", "summarise"), "Shorten the long texts of a phase; --yes does it",
        (PHASE, *REVISED), exits=(CHANGED,),
    ),
    Operation(
        "phase_import", ("phase", "import"), "Make phases of one long plan by its headings; --yes does it",
        (Parameter("file", "local", "string", "the plan", required=True, names="files"), REVISED[0], *OF_PROJECT),
        exits=(CHANGED,),
    ),
    Operation(
        "schema_export", ("schema", "export"), "JSON Schemas of a project's files",
        (
            Parameter(
                "to", "local", "string", "a directory to write them to, one file each", flag="--to",
                names="directories",
            ),
        ),
    ),
)
# fmt: on
