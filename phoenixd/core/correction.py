"""Which changed keys of its specification can cure what an agent was given up for, so that it is tried again by itself.

A start that must fail like the one before would raise the same alert once more. Where the program itself, its service
or the kernel refused the start, nobody knows which key was to blame: each key that the program is given counts. An
agent that a limit of `restart` gave up is also tried again where that limit allows more.
"""

from __future__ import annotations

from phoenixd.core.agent import Agent
from phoenixd.core.agent.run import LastExit
from phoenixd.core.agent.state import Desired, Quarantined
from phoenixd.core.change import replace
from phoenixd.core.productive import is_exhausted
from phoenixd.core.restart import NOT_FOUND
from phoenixd.core.rules import RestartPolicy
from phoenixd.core.spec import AgentSpec

LAUNCH_KEYS = (
    "argv", "cwd", "harness", "env", "env_from", "fence", "fresh_args", "resume_args", "prompt_via", "heartbeat_file",
)  # fmt: skip
"""A change of one of these needs a new process; any other key takes effect at once."""

OF_A_COMMAND = frozenset(LAUNCH_KEYS) - {"heartbeat_file"}
"""What a program, or the kernel that is to execute it, is given."""
OF_A_DIRECTORY = frozenset({"cwd"})
DIRECTORIES = ("no directory", "directory closed")


def launch_changes(before: AgentSpec, after: AgentSpec) -> tuple[str, ...]:
    """The keys that differ and need a new process."""
    return tuple(key for key in LAUNCH_KEYS if getattr(after, key) != getattr(before, key))


def is_corrected(agent: Agent, spec: AgentSpec) -> bool:
    """Whether this specification changes what an agent was given up for, so that a person has said what is to run.

    This does not hold for an open breaker, a Case or a lost marker, which have acts of their own; for a sequence, whose
    turns are begun by a start; or while a person has yet to say what becomes of the agent after the journal was lost.
    """
    state = agent.state
    if not isinstance(state, Quarantined) or agent.desired is not Desired.RUNNING:
        return False
    is_of_a_sequence = bool(spec.turn_of is not None or spec.loop.sequence)
    if agent.found is not None or is_of_a_sequence:
        return False
    changed = launch_changes(agent.spec, spec)
    if state.misdeclared:
        return not cures(agent.spec, spec, agent.last_exit).isdisjoint(changed)
    if state.refused:
        return not OF_A_COMMAND.isdisjoint(changed)
    return state.counted and (not OF_A_COMMAND.isdisjoint(changed) or _allows_more(agent, spec))


def _allows_more(agent: Agent, spec: AgentSpec) -> bool:
    """Whether the ends that were counted are fewer than what these limits forbid."""
    rules, crashes = spec.restart, agent.crashes
    if rules == agent.spec.restart or rules.policy is RestartPolicy.NEVER:
        return False
    recent = [at for at in crashes if at > crashes[-1] - rules.period]
    return len(recent) < rules.max_crashes and not is_exhausted(replace(agent, spec=spec))


def cures(before: AgentSpec, after: AgentSpec, end: LastExit | None) -> frozenset[str]:
    """The keys whose change can cure this failed start. end: how it failed; None: not known."""
    if end is None:
        return frozenset(LAUNCH_KEYS)
    if end.obstacle in DIRECTORIES:
        return OF_A_DIRECTORY
    if end.ran or end.code != NOT_FOUND:
        return OF_A_COMMAND
    return _of_a_search(before, after)


def _of_a_search(before: AgentSpec, after: AgentSpec) -> frozenset[str]:
    """The keys that say, with these values, that a program which was not found is elsewhere, or is another one."""
    command, found = before.argv[0], {"env_from"}
    if "/" in command:
        found = set() if command.startswith("/") else {"cwd"}
    elif dict(before.env).get("PATH") != dict(after.env).get("PATH"):
        # Nothing else of the environment says where a program is.
        found.add("env")
    return frozenset(found | {"argv"} if after.argv[0] != command else found)


def still_given_up(agent: Agent) -> str:
    """What a quarantine that a changed specification does not end waits for, as a clause."""
    return f"it stays in quarantine until: phoenixctl start {agent.name}"
