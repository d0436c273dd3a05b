"""Why runs end and starts fail, as values that rules compare; what people read is made from them."""

from __future__ import annotations

from typing import Literal

Obstacle = Literal[
    "resume refused", "session in use", "disk full", "no directory", "directory closed", "terminal gone", "other",
]  # fmt: skip
"""What stood in the way of a start. resume refused: the session cannot be resumed, so the next start is a fresh one.

session in use: somebody else works in the session that was to be resumed, and the start waits for that to be over. disk
full: what it needs could not be written, by the number of the error. no directory: its working directory is not there.
directory closed: it is a file, lies below one, may not be entered, or its file system does not answer. terminal gone:
its terminal, or the shim in it, went before anything was executed, or none could be had.
"""

Disk = Literal["cwd", "home", "state", "tmp"]
"""A place that a run writes to, for the disk that it lies on. state: the agent's own directory in ours."""

EndCause = Literal[
    "exit", "hung", "overtime", "terminal_lost", "shim_terminated", "fenced", "reboot", "start interrupted",
    "not started", "other",
]  # fmt: skip
"""How a run came to its end. exit: by itself, or by a signal. hung, overtime: we ended it by a rule. terminal_lost: its
terminal died. shim_terminated: somebody ended its shim. fenced: its remains were ended without the shim's help. reboot:
the host went down. start interrupted: nobody wanted it any more. not started: it could not be executed. other: a shim
of another version named a cause that this one does not know.
"""

CutHow = Literal["output_limit", "window", "stream", "filtered"]
"""Why an answer ended before it was whole. output_limit: it had all the tokens that an answer may have. window: the
context was full. stream: its stream ended too early. filtered: its vendor did not let it go on.
"""

Told = Literal["login", "configuration", "usage_limit", "limit"]
"""What a program's own exit code says. login: none is there. configuration: its settings cannot be used. usage_limit:
what its operator lets one run take, such as turns, is used up. limit: its account is at its limit, by a code that the
operator has named for that.
"""

SIGNALS: dict[int, str] = {
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
    9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
    16: "SIGSTKFLT", 17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP", 20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU",
    23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO",
    30: "SIGPWR", 31: "SIGSYS",
}  # fmt: skip
"""The names of signals by their numbers on the processors that phoenixd is built for."""

SHIM_CAUSES: dict[str, EndCause] = {
    "exit": "exit",
    "terminal_lost": "terminal_lost",
    "shim_terminated": "shim_terminated",
}
"""What a shim calls the ends that it reports."""

BLAMELESS: frozenset[EndCause] = frozenset({"terminal_lost", "shim_terminated", "reboot", "start interrupted"})
"""Causes that say nothing about the agent: they count against nobody."""


def signal_name(number: int) -> str:
    """A signal as people call it; by its number where it has no name of its own."""
    return SIGNALS.get(number, f"signal {number}")
