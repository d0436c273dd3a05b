"""Arguments and exit codes that several operations share, and those that declare an agent."""

from __future__ import annotations

from dataclasses import replace

from phoenixd.api.operations.operation import NAME_PATTERN, Parameter
from phoenixd.clis import NAMES

# A table is read down its columns; the formatter would give each argument a line of its own.
# fmt: off
NAME = Parameter("name", "path", "string", "the agent", required=True, pattern=NAME_PATTERN, names="agents")
ITEM = Parameter(
    "id", "path", "string", "the number that inbox shows, or the agent's name where one thing of it waits",
    required=True, pattern=NAME_PATTERN, names="items", shape="a number such as 7, or a name",
    listed="phoenixctl inbox",
)
SEVERAL = replace(NAME, help="the agent; or selectors, such as 'shop-*', p:web, s:idle: see help select")
WHICH = Parameter(
    "which", "local", "words", "agents by name or selector, such as 'shop-*', p:web: see help select", names="agents",
)
ONLY_SHOW = Parameter("only_show", "local", "boolean", "only show whom it means", flag="--dry-run", default=False)
YES = Parameter("yes", "local", "boolean", "do not ask, also above one agent", flag="--yes", short="-y", default=False)
CHOSEN = (SEVERAL, WHICH, ONLY_SHOW, YES)
"""What verbs take that act on one agent or on many."""
NEW_NAME = Parameter("name", "body", "string", "name of the new agent", required=True, pattern=NAME_PATTERN)
WIDTH = Parameter("width", "query", "integer", "columns of the text", default=80, minimum=20, maximum=1000, hidden=True)
COLOUR = Parameter("colour", "query", "boolean", "colour the text's signs", default=False, hidden=True)
ZONE = Parameter(
    "zone", "query", "string", "the reader's TZ, by which times are read and shown; default: the machine's",
    hidden=True,
)
LOOK = Parameter("look", "query", "boolean", "a person reads this: remember when", default=False, hidden=True)
FOLLOW = Parameter("follow", "local", "boolean", "go on as it changes", flag="--follow", short="-f", default=False)
PLACES = (
    Parameter(
        "state_dir", "local", "string", "where everything is remembered", flag="--state-dir", names="directories",
    ),
    Parameter("runtime_dir", "local", "string", "where the sockets are", flag="--runtime-dir", names="directories"),
)
CONFIG = Parameter("config", "local", "string", "configuration file or directory", flag="--config", names="files")
FRESH = Parameter("fresh", "body", "boolean", "begin a new session instead of resuming", flag="--fresh", default=False)
DRY_RUN = Parameter("dry_run", "body", "boolean", "only list what would be ended", flag="--dry-run", default=False)
LINES = Parameter("lines", "query", "integer", "only the last N", flag="--lines", short="-n", minimum=1, maximum=10000)
SOCKET = Parameter(
    "socket", "query", "string", "the socket that was named: the text's commands name it too", hidden=True
)
TEXT_FORM = (WIDTH, COLOUR, ZONE, SOCKET)
SELECT = Parameter(
    "select", "query", "string", "which agents: names, patterns, s: h: k: p: l: needs:you, ! takes out", hidden=True,
)
TIMED_OUT = (8, "it was not done in time, and may still be done")
NOT_NOW = (6, "the agent's present state does not allow it")
SEAT = Parameter(
    "agent", "body", "string", "the orchestrator; default: this pane's agent, else the session's", pattern=NAME_PATTERN,
    names="agents",
)
SESSION = Parameter("session_id", "body", "string", "the one whose session this is", flag="--session-id")
PROJECT = Parameter(
    "project", "query", "string", "the project; default: the only one of the workspace", flag="--project",
)
WORKSPACE = Parameter(
    "workspace", "query", "string", "the directory that holds the project; default: this one", flag="--workspace",
    names="directories",
)
OF_PROJECT = tuple(replace(one, place="local") for one in (PROJECT, WORKSPACE))
OF_PROJECT_SENT = tuple(replace(one, place="body") for one in (PROJECT, WORKSPACE))
PHASE = Parameter("phase", "local", "string", "the phase, such as phase-03-implementation", required=True)
REVISED = (
    Parameter("yes", "local", "boolean", "do what is shown", flag="--yes", default=False),
    Parameter("undo", "local", "boolean", "show what taking the newest one back does", flag="--undo", default=False),
    *OF_PROJECT,
)
CHANGED = (6, "a file stands in the way, was changed meanwhile, or an agent asks")
ARGV = Parameter("argv", "body", "strings", "the command, after --")
CASE = Parameter(
    "id", "path", "string", "the Case", required=True, pattern=r"^c[0-9]{1,9}$", names="cases",
    shape="c and a number, such as c3", listed="phoenixctl clinic list",
)
TASK = Parameter(
    "id", "path", "string", "the task", required=True, pattern=r"^t[0-9]{1,9}$", names="tasks",
    shape="t and a number, such as t3", listed="phoenixctl task status",
)


def wait(help_text: str, default: bool | None, flag: str | None = "--wait") -> Parameter:
    return Parameter("wait", "body", "boolean", help_text, flag=flag, default=default, hidden=flag is None)


def timeout(default: str) -> Parameter:
    told = "how long to wait at most (30s, 5m)"
    return Parameter("timeout", "body", "duration", told, flag="--timeout", default=default)


DECLARATION = (
    Parameter(
        "harness", "body", "string", "which CLI it is; guessed from the command", flag="--harness",
        choices=NAMES,
    ),
    Parameter(
        "kind", "body", "string",
        "what exit 0 means: resident stays down (within 10 s of its start it is a crash), loop goes on, ephemeral is "
        "a job that is done; orchestrator is resident with handoffs",
        flag="--kind",
        choices=("resident", "loop", "orchestrator", "ephemeral"),
    ),
    Parameter("cwd", "body", "string", "working directory; default: this one", flag="--cwd", names="directories"),
    Parameter("prompt", "body", "string", "what it is to work on", flag="--prompt"),
    Parameter(
        "prompt_via", "body", "string",
        "how a command is told it: argv in its argument {prompt}, paste types it, none leaves it to the brief",
        flag="--prompt-via", choices=("argv", "paste", "none"),
    ),
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
# fmt: on
