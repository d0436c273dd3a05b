"""The one table of operations: routes, OpenAPI and phoenixctl's verbs are all derived from it, so they cannot differ.

Standard library only, because phoenixctl reads it too. An operation without a path is phoenixctl's own; two operations
with the same words are one verb, told apart by which path parameters were given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from phoenixd.clis import HOOKED, NAMES, SETTINGS

Place = Literal["path", "query", "body", "local"]
Type = Literal["string", "integer", "boolean", "duration", "strings", "words", "pairs"]
Rights = Literal["agent", "own", "seat", "read", "operate", "admin"]
Method = Literal["GET", "POST", "DELETE"]
Value = str | int | bool | None

NAME_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,31}$"
PROJECT_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
PLAN_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
KIBIBYTE = 1024
BODY_LIMIT = 64 * KIBIBYTE
SEND_LIMIT = 2 * KIBIBYTE * KIBIBYTE


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of an operation. `flag` is how phoenixctl spells it; without one it is positional.

    Type `strings` is a list; on the command line it is what follows `--`. `words` is one too, of what follows the
    other arguments. `pairs` is a table, given as repeated K=V.
    A hidden parameter is set by the client itself and has no spelling.
    """

    name: str
    place: Place
    type: Type
    help: str
    flag: str | None = None
    short: str | None = None
    required: bool = False
    default: Value = None
    choices: tuple[str, ...] = ()
    pattern: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked. `rights` is the least that a caller needs.

    agent: an agent about itself, or whoever may read. own: an agent about itself, or whoever may operate. seat: an
    orchestrator about its own project, or whoever may operate.

    idempotent: asking again changes nothing more, also without an Idempotency-Key.
    stream: also served as server-sent events. response: name of a schema in `schemas.py`, None for none.
    lasts: its answer may take minutes (where it has `wait`, with it). What brings something to rest is never put off
    for want of a place, and so does not count as such.
    exits: what phoenixctl's exit codes mean here, beyond 0, 1, 2, 4, 5 and 7, which mean the same everywhere.
    """

    name: str
    words: tuple[str, ...]
    summary: str
    parameters: tuple[Parameter, ...] = ()
    method: Method = "GET"
    path: str | None = None
    rights: Rights = "read"
    response: str | None = None
    idempotent: bool = True
    stream: bool = False
    lasts: bool = False
    text: bool = True
    exits: tuple[tuple[int, str], ...] = ()
    body_limit: int = BODY_LIMIT

    def at(self, place: Place) -> tuple[Parameter, ...]:
        """The parameters that travel in this place."""
        return tuple(parameter for parameter in self.parameters if parameter.place == place)


# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
NAME = Parameter("name", "path", "string", "the agent", required=True, pattern=NAME_PATTERN)
ITEM = Parameter(
    "id", "path", "string", "the number that inbox shows, or the agent's name where one thing of it waits",
    required=True, pattern=NAME_PATTERN,
)
NEW_NAME = Parameter("name", "body", "string", "name of the new agent", required=True, pattern=NAME_PATTERN)
WIDTH = Parameter("width", "query", "integer", "columns of the text", default=80, minimum=20, maximum=1000, hidden=True)
COLOUR = Parameter("colour", "query", "boolean", "colour the text's signs", default=False, hidden=True)
LOOK = Parameter("look", "query", "boolean", "a person reads this: remember when", default=False, hidden=True)
FOLLOW = Parameter("follow", "local", "boolean", "go on as it changes", flag="--follow", short="-f", default=False)
PLACES = (
    Parameter("state_dir", "local", "string", "where everything is remembered", flag="--state-dir"),
    Parameter("runtime_dir", "local", "string", "where the sockets are", flag="--runtime-dir"),
)
CONFIG = Parameter("config", "local", "string", "configuration file or directory", flag="--config")
FRESH = Parameter("fresh", "body", "boolean", "begin a new session instead of resuming", flag="--fresh", default=False)
DRY_RUN = Parameter("dry_run", "body", "boolean", "only list what would be ended", flag="--dry-run", default=False)
LINES = Parameter("lines", "query", "integer", "only the last N", flag="--lines", short="-n", minimum=1, maximum=10000)
TEXT_FORM = (WIDTH, COLOUR)
TIMED_OUT = (8, "it did not come about in time; it may still")
NOT_NOW = (6, "the agent's present state does not allow it")
SEAT = Parameter(
    "agent", "body", "string", "the orchestrator; default: this pane's agent, else the session's", pattern=NAME_PATTERN,
)
SESSION = Parameter("session_id", "body", "string", "the one whose session this is", flag="--session-id")
PROJECT = Parameter(
    "project", "query", "string", "the project; default: the only one of the workspace", flag="--project",
)
WORKSPACE = Parameter(
    "workspace", "query", "string", "the directory that holds the project; default: this one", flag="--workspace",
)
OF_PROJECT = tuple(replace(one, place="local") for one in (PROJECT, WORKSPACE))
PHASE = Parameter("phase", "local", "string", "the phase, such as phase-03-implementation", required=True)
REVISED = (
    Parameter("yes", "local", "boolean", "do what is shown", flag="--yes", default=False),
    Parameter("undo", "local", "boolean", "show what taking the newest one back does", flag="--undo", default=False),
    *OF_PROJECT,
)
CHANGED = (6, "a file stands in the way, was changed meanwhile, or an agent asks")
ARGV = Parameter("argv", "body", "strings", "the command, after --")
CASE = Parameter("id", "path", "string", "the Case", required=True, pattern=r"^c[0-9]{1,9}$")
TASK = Parameter("id", "path", "string", "the task", required=True, pattern=r"^t[0-9]{1,9}$")


def _wait(help_text: str, default: bool, flag: str | None = "--wait") -> Parameter:
    return Parameter("wait", "body", "boolean", help_text, flag=flag, default=default, hidden=flag is None)


def _timeout(default: str) -> Parameter:
    return Parameter("timeout", "body", "duration", "how long to wait at most", flag="--timeout", default=default)


DECLARATION = (
    Parameter(
        "harness", "body", "string", "which CLI it is; guessed from the command", flag="--harness",
        choices=NAMES,
    ),
    Parameter(
        "kind", "body", "string", "what exit 0 means", flag="--kind",
        choices=("resident", "loop", "orchestrator", "ephemeral"),
    ),
    Parameter("cwd", "body", "string", "working directory; default: this one", flag="--cwd"),
    Parameter("prompt", "body", "string", "what it is to work on", flag="--prompt"),
    Parameter("env", "body", "pairs", "environment of the agent, K=V, repeatable", flag="--env"),
    Parameter(
        "seed_trust", "body", "boolean",
        "answer the CLI's own first questions beforehand: trust in the directory, its API key",
        flag="--seed-trust",
    ),
    Parameter(
        "brief_writer", "body", "string",
        "who writes its brief: cli (it is asked itself, without tools; that costs tokens) or plain (no model)",
        flag="--brief-writer", choices=("cli", "plain"),
    ),
)

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "list_agents", ("status",), "What needs you, is everything alive, what happened since you looked",
        (Parameter("all", "query", "boolean", "each agent on a line", flag="--all", default=False), *TEXT_FORM, LOOK),
        path="/v1/agents", response="Status",
    ),
    Operation(
        "show_agent", ("status",), "One agent in full", (NAME, *TEXT_FORM), path="/v1/agents/{name}", rights="agent",
        response="Status", exits=((3, "the agent is not running"),),
    ),
    Operation(
        "up", ("up",), "Start the daemon if none runs",
        (
            CONFIG, *PLACES,
        ),
        exits=((6, "a daemon of another configuration or state directory runs there"), TIMED_OUT),
    ),
    Operation(
        "down", ("down",), "Stop the daemon; agents run on unless --agents",
        (
            Parameter(
                "agents", "body", "boolean", "stop every agent first, and keep them stopped", flag="--agents",
                default=False,
            ),
            _timeout("2m"), *TEXT_FORM,
        ),
        method="POST", path="/v1/down", rights="admin", response="Message", exits=(TIMED_OUT,),
    ),
    Operation(
        "run", ("run",), "up, add, start and attach in one",
        (
            Parameter("name", "local", "string", "name of the agent; default: from the command", pattern=NAME_PATTERN),
            Parameter("detached", "local", "boolean", "do not attach", flag="--detached", short="-d", default=False),
            *DECLARATION, Parameter("argv", "body", "strings", "the command, after --", required=True),
        ),
        exits=((6, "another agent of that name exists"), TIMED_OUT),
    ),
    Operation(
        "add_agent", ("add",), "Declare an agent; it is not started", (NEW_NAME, *DECLARATION, ARGV, *TEXT_FORM),
        method="POST", path="/v1/agents", rights="admin", response="Added", idempotent=False,
        exits=((6, "an agent of that name exists"),),
    ),
    Operation(
        "remove_agent", ("remove",), "Stop an agent and forget it", (NAME, *TEXT_FORM), method="DELETE",
        path="/v1/agents/{name}", rights="admin", response="Message", exits=(NOT_NOW, TIMED_OUT),
    ),
    Operation(
        "start_agent", ("start",), "Start an agent, and keep it running",
        (NAME, FRESH, _wait("return when it runs", default=False), _timeout("1m"), *TEXT_FORM), method="POST",
        path="/v1/agents/{name}/start", rights="operate", response="Outcome", lasts=True,
        exits=(NOT_NOW, TIMED_OUT),
    ),
    Operation(
        "stop_agent", ("stop",), "Stop an agent, and keep it stopped; returns when nothing of it is left",
        (
            NAME,
            Parameter(
                "after_iteration", "body", "boolean", "let a loop finish its iteration first", flag="--after-iteration",
                default=False,
            ),
            _wait("return when nothing of it is left; it always does", default=True), _timeout("1m"), *TEXT_FORM,
        ),
        method="POST", path="/v1/agents/{name}/stop", rights="operate", response="Outcome", exits=(NOT_NOW, TIMED_OUT),
    ),
    Operation(
        "restart_agent", ("restart",), "End the present run and start a new one",
        (NAME, FRESH, _wait("return when the new one runs", default=False), _timeout("1m"), *TEXT_FORM), method="POST",
        path="/v1/agents/{name}/restart", rights="operate", response="Outcome", idempotent=False,
        lasts=True, exits=(NOT_NOW, TIMED_OUT),
    ),
    Operation(
        "attach", ("attach",), "Sit down at an agent's terminal (tmux; prefix d leaves it)",
        (
            NAME,
            Parameter(
                "read_only", "local", "boolean", "watch without typing", flag="--read-only", short="-r", default=False,
            ),
        ),
        exits=((6, "this terminal is inside another tmux"),),
    ),
    Operation(
        "read_pane", ("logs",), "What an agent's terminal shows, and what scrolled out of it", (NAME, LINES, FOLLOW),
        path="/v1/agents/{name}/pane", response="Pane", stream=True,
    ),
    Operation(
        "send_text", ("send",), "Type a text into an agent, and say whether it arrived",
        (
            NAME, Parameter("text", "body", "string", "the text, or - for standard input", required=True),
            _wait("return when it arrived", default=True, flag=None), _timeout("1m"),
            Parameter("key", "local", "string", "a word of yours: with it again, nothing is typed twice", flag="--key"),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/agents/{name}/send", rights="operate", response="Sent", idempotent=False,
        lasts=True, exits=(NOT_NOW, TIMED_OUT), body_limit=SEND_LIMIT,
    ),
    Operation(
        "list_events", ("events",), "What happened, from the journal",
        (
            Parameter("agent", "query", "string", "only this agent", pattern=NAME_PATTERN), FOLLOW,
            Parameter("since", "query", "string", "from then on: 8h, 18:00, yesterday, a date, last", flag="--since"),
            Parameter(
                "all", "query", "boolean", "notes too, not only what a person would tell", flag="--all", default=False,
            ),
            LINES, *TEXT_FORM,
            Parameter(
                "form", "query", "string", "what the data of a stream is", default="json", choices=("json", "text"),
                hidden=True,
            ),
        ),
        path="/v1/events", response="Events", stream=True,
    ),
    Operation(
        "explain_agent", ("explain",), "Why an agent is as it is: the last decisions, their reasons and readings",
        (NAME, LINES, *TEXT_FORM), path="/v1/agents/{name}/explain", response="Explanation",
    ),
    Operation(
        "inbox", ("inbox",), "What waits for a person, oldest first", TEXT_FORM, path="/v1/inbox", response="Inbox",
    ),
    Operation(
        "show_item", ("inbox",), "One thing that waits, in full", (ITEM, *TEXT_FORM), path="/v1/inbox/{id}",
        response="OneItem", exits=((6, "the agent has more than one"),),
    ),
    Operation(
        "answer_item", ("answer",), "Answer what an agent asks (a permission, a plan, a question), or see it whole",
        (
            ITEM,
            Parameter(
                "answer", "body", "words",
                "a permission: allow (this once), or deny REASON; a plan: approve, or deny REASON; a question: an "
                "option by its number or its exact words, anything else is told as it is; several options of one "
                "question with commas (1,3), several questions one answer each, in order; without an answer all that "
                "is asked is shown",
            ),
            Parameter(
                "text", "body", "boolean", "tell a question's answer as it is: it is no number and no option",
                flag="--text", default=False,
            ),
            Parameter(
                "verdict", "body", "string", "in place of answer, for a permission or a plan",
                choices=("allow", "deny"), hidden=True,
            ),
            Parameter("reason", "body", "string", "why, where the verdict is deny", default="", hidden=True),
            Parameter("text_hash", "body", "string", "text_hash of the item that you were shown", flag="--hash"),
            _timeout("30s"), *TEXT_FORM,
        ),
        method="POST", path="/v1/inbox/{id}/answer", rights="operate", response="Answered", idempotent=False,
        exits=(NOT_NOW, TIMED_OUT),
    ),
    Operation(
        "since", ("since",), "What happened since a time, or since you looked",
        (Parameter("time", "query", "string", "8h, 18:00, yesterday, a date, last", default="last"), *TEXT_FORM, LOOK),
        path="/v1/since", response="Since",
    ),
    Operation(
        "wait_agent", ("wait",), "Wait until an agent is in a state",
        (
            NAME,
            Parameter(
                "for", "query", "string", "what to wait for", flag="--for", required=True,
                choices=("idle", "waiting", "stopped", "running"),
            ),
            Parameter("timeout", "query", "duration", "give up after this long", flag="--timeout", default="10m"),
            *TEXT_FORM,
        ),
        path="/v1/agents/{name}/wait", response="Waited", lasts=True,
        exits=((6, "it cannot become idle until a person helps: see inbox"), TIMED_OUT),
    ),
    Operation(
        "doctor", ("doctor",), "What is wrong here, each with its remedy",
        (Parameter("all", "query", "boolean", "also what is well", flag="--all", default=False), *TEXT_FORM),
        path="/v1/doctor", response="Doctor", exits=((3, "something needs repair"),),
    ),
    Operation(
        "resolve_loop", ("resolve",), "Close an open loop, and say why",
        (
            Parameter("id", "body", "string", "the loop", required=True),
            Parameter("reason", "body", "string", "why it is closed", required=True),
            Parameter(
                "agent", "body", "string", "whose loop; default: this pane's agent, else the only one that has it",
                flag="--agent", pattern=NAME_PATTERN,
            ),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/resolve", rights="own", response="Resolved",
        exits=((6, "several agents have such a loop, or its state.json must not be written"),),
    ),
    Operation(
        "list_loops", ("loops",), "Open loops, the stale ones first",
        (Parameter("agent", "query", "string", "only of this agent", pattern=NAME_PATTERN), *TEXT_FORM),
        path="/v1/loops", rights="agent", response="Loops",
    ),
    Operation(
        "brief_show", ("brief", "show"), "What an agent's sessions are told at their start", (NAME, *TEXT_FORM),
        path="/v1/agents/{name}/brief", rights="agent", response="Brief",
    ),
    Operation(
        "brief_check", ("brief", "check"), "Whether state.json and brief.md can be relied on: their schema and age",
        (NAME, *TEXT_FORM), path="/v1/agents/{name}/brief/check", rights="agent", response="BriefCheck",
        exits=((3, "something is wrong with them"),),
    ),
    Operation(
        "brief_generate", ("brief", "generate"), "Write an agent's brief anew now", (NAME, *TEXT_FORM), method="POST",
        path="/v1/agents/{name}/brief", rights="operate", response="Brief",
    ),
    Operation(
        "tokens_check", ("tokens", "check"), "Whether a context is so full that a handoff is due; exit 1: unknown",
        (
            Parameter(
                "agent", "query", "string", "the agent; default: this pane's agent, else the session's",
                pattern=NAME_PATTERN,
            ),
            Parameter("session_id", "query", "string", "the agent whose session this is", flag="--session-id"),
            Parameter(
                "threshold", "query", "string", "share of the window in (0, 1]; default: context.threshold",
                flag="--threshold",
            ),
            *TEXT_FORM,
        ),
        path="/v1/tokens", rights="agent", response="Tokens", exits=((3, "a handoff is due"),),
    ),
    Operation(
        "handoff_start", ("handoff", "start"), "Hand an orchestrator's seat over to a successor",
        (
            SEAT, SESSION,
            Parameter("project", "body", "string", "its project; another one is refused", flag="--project"), *TEXT_FORM,
        ),
        method="POST", path="/v1/handoff", rights="own", response="Handoff", idempotent=False,
        exits=((6, "one goes on already, or it does not run"),),
    ),
    Operation(
        "handoff_status", ("handoff", "status"), "How far a handoff is: its steps, its checks, and how long each took",
        (
            Parameter(
                "agent", "query", "string", "the orchestrator; default: this pane's agent", pattern=NAME_PATTERN,
            ),
            Parameter("session_id", "query", "string", "the one whose session this is", flag="--session-id"),
            *TEXT_FORM,
        ),
        path="/v1/handoff", rights="agent", response="Handoff",
    ),
    Operation(
        "handoff_rollback", ("handoff", "rollback"), "Call a handoff off: the predecessor goes on",
        (SEAT, *TEXT_FORM), method="POST", path="/v1/handoff/rollback", rights="operate", response="Handoff",
        exits=((6, "none goes on, or its successor holds the seat already"),),
    ),
    Operation(
        "handoff_ack", ("handoff", "ack"), "A successor's word that it has loaded what it was handed",
        (
            Parameter("said", "body", "string", "what it quotes, as a JSON object", required=True),
            Parameter(
                "agent", "body", "string", "the orchestrator; default: this pane's agent", flag="--agent",
                pattern=NAME_PATTERN,
            ),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/handoff/ack", rights="own", response="Handoff", idempotent=False,
        exits=((6, "it does not prove that; the reason is told"),),
    ),
    Operation(
        "list_resonance", ("resonance", "status"), "Agents that bear a marker: whether they still know it",
        TEXT_FORM, path="/v1/resonance", response="Resonances",
    ),
    Operation(
        "show_resonance", ("resonance", "status"), "One agent's marker: its checks, what is due, what to do",
        (NAME, *TEXT_FORM), path="/v1/agents/{name}/resonance", response="Resonance",
        exits=((3, "its marker is missed, lost, or being restored"),),
    ),
    Operation(
        "check_resonance", ("resonance", "check"), "Ask an agent for a code of its marker, at its next turn's end",
        (
            NAME, _wait("return when it has answered", default=False), _timeout("10m"),
            Parameter("why", "body", "string", "what hangs on it, for the journal", flag="--why"), *TEXT_FORM,
        ),
        method="POST", path="/v1/agents/{name}/resonance/check", rights="operate", response="Resonance",
        idempotent=False, lasts=True, exits=((3, "with --wait: it did not know it"), NOT_NOW, TIMED_OUT),
    ),
    Operation(
        "restore_resonance", ("resonance", "restore"), "Begin a new session from the seed, as after a lost marker",
        (
            NAME,
            Parameter(
                "from_transcript", "body", "boolean", "begin none: make lost papers anew from the transcript's footers",
                flag="--from-transcript", default=False,
            ),
            *TEXT_FORM,
        ),
        method="POST", path="/v1/agents/{name}/resonance/restore", rights="operate", response="Resonance",
        idempotent=False, exits=(NOT_NOW,),
    ),
    Operation(
        "mint_marker", ("resonance", "mint"), "A marker that was never given, and is in the ledger from now on",
        (Parameter("phrase", "body", "string", "its words; default: one of ours", flag="--phrase"), *TEXT_FORM),
        method="POST", path="/v1/resonance/mint", rights="operate", response="Minted", idempotent=False,
    ),
    Operation(
        "task_run", ("task", "run"), "Hand a task to a worker of its own; answers its id at once",
        (
            Parameter("prompt", "body", "string", "what is to be done, or - for standard input", required=True),
            Parameter(
                "agent", "body", "string",
                "who does it: a CLI, or a declared agent whose command and login the worker gets; default: the "
                "project's orchestrator", flag="--agent", pattern=NAME_PATTERN,
            ),
            Parameter(
                "project", "body", "string", "the project; default: of the orchestrator that asks", flag="--project",
                pattern=PROJECT_PATTERN,
            ),
            Parameter(
                "task", "body", "string", "the task of the project's plan that this one does", flag="--task",
                pattern=PLAN_PATTERN,
            ),
            Parameter("after", "body", "string", "tasks that have to be done before, as t1,t2", flag="--after"),
            Parameter("timeout", "body", "duration", "how long a run may take (jobs.timeout)", flag="--timeout"),
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
            Parameter("path", "body", "string", "the file, from the workspace's root"),
            Parameter(
                "withdraw", "body", "string", "take back all that this project has shared", flag="--withdraw",
                pattern=PROJECT_PATTERN,
            ),
            *(replace(one, place="body") for one in (PROJECT, WORKSPACE)), *TEXT_FORM,
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
        (Parameter("file", "local", "string", "the plan", required=True), REVISED[0], *OF_PROJECT), exits=(CHANGED,),
    ),
    Operation(
        "schema_export", ("schema", "export"), "JSON Schemas of a project's files",
        (Parameter("to", "local", "string", "a directory to write them to, one file each", flag="--to"),),
    ),
    Operation(
        "clinic_list", ("clinic", "list"), "How often each treatment of a failure held, and the Cases of the last hour",
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
        "breaker_show", ("breaker", "show"), "Whether a loop gets anywhere: its circuit breaker", (NAME, *TEXT_FORM),
        path="/v1/agents/{name}/breaker", rights="agent", response="Breaker", exits=((3, "the breaker is OPEN"),),
    ),
    Operation(
        "breaker_reset", ("breaker", "reset"), "Close a breaker and count from nothing", (NAME, *TEXT_FORM),
        method="POST", path="/v1/agents/{name}/breaker/reset", rights="operate", response="Message",
    ),
    Operation(
        "clean_fleet", ("cleanup",), "End what the runs of all agents left over, and what cleanup rules name; list it",
        (DRY_RUN, *TEXT_FORM),
        method="POST", path="/v1/cleanup", rights="operate", response="Cleanups",
    ),
    Operation(
        "clean_agent", ("cleanup",), "End what an agent's runs left over, and what its cleanup rules name; list it",
        (NAME, DRY_RUN, *TEXT_FORM),
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
            Parameter("user", "local", "boolean", f"~/{SETTINGS}", flag="--user", default=False),
            Parameter("project", "local", "string", f"DIR/{SETTINGS}", flag="--project"),
        ),
    ),
    Operation("hooks_test", ("hooks", "test"), "Call the hook program once for each event"),
    Operation("install_service", ("install-service",), "Install the systemd units (--system or --user)"),
    Operation("demo", ("demo",), "See an agent killed, and back at its task"),
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

BY_NAME: dict[str, Operation] = {operation.name: operation for operation in OPERATIONS}


def served() -> tuple[Operation, ...]:
    """The operations that the daemon answers."""
    return tuple(operation for operation in OPERATIONS if operation.path is not None)


def verbs() -> dict[tuple[str, ...], tuple[Operation, ...]]:
    """phoenixctl's verbs in the order of the table, each with the operations behind it."""
    found: dict[tuple[str, ...], tuple[Operation, ...]] = {}
    for operation in OPERATIONS:
        if operation.words:
            found[operation.words] = (*found.get(operation.words, ()), operation)
    return found
