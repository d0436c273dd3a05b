"""Sequences of loop agents: what their tables make of the members' specifications, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from phoenixd.config.layers import Stack
from phoenixd.config.problems import Problem, problem_at
from phoenixd.config.tables.agent import AgentTable
from phoenixd.config.tables.sequence import SequenceTable
from phoenixd.config.tables.values import AGENT_NAME
from phoenixd.core.rules import BreakerRules, LoopRules, Member, RestartRules
from phoenixd.core.spec import AgentSpec, Kind


def with_sequences(agents: Mapping[str, AgentSpec], sequences: Mapping[str, SequenceTable]) -> dict[str, AgentSpec]:
    """Tie members to the first one, and add an agent for each command that decides on a turn.

    Such a command is run as any agent is: under a shim, in its fence, outside the daemon, with a time limit.
    """
    tied = dict(agents)
    for table in sequences.values():
        lead, *others = table.members
        if any(name not in agents for name in table.members):
            continue
        turns = []
        for name in others:
            tied[name] = replace(tied[name], turn_of=lead, autostart=False)
            when = table.when.get(name)
            condition = _condition_name(name) if when is not None and when.command else None
            if when is not None and condition is not None:
                tied[condition] = _condition(condition, tied[name], when.command, when.time_limit)
            turns.append(Member(name, when.exists if when is not None else None, condition))
        tied[lead] = replace(tied[lead], loop=replace(tied[lead].loop, sequence=tuple(turns)))
    return tied


def sequence_problems(
    sequences: Mapping[str, SequenceTable], agents: Mapping[str, AgentTable], stack: Stack
) -> Iterator[Problem]:
    """Members that are no loops, that do not exist, or that are in two sequences; names that are taken."""
    owners: dict[str, str] = {}
    for name, table in sorted(sequences.items()):
        here = ("sequence", name)
        for member in table.members:
            found = agents.get(member)
            if found is None:
                yield problem_at(stack, (*here, "members"), f"there is no agent {member[:40]}")
            elif found.kind != "loop":
                yield problem_at(stack, (*here, "members"), f'{member} is no loop: set its kind to "loop"')
            owner = owners.setdefault(member, name)
            if owner != name:
                yield problem_at(stack, (*here, "members"), f"{member} is in the sequence {owner} already")
        for member, when in table.when.items():
            condition = _condition_name(member)
            if when.command and condition in agents:
                yield problem_at(stack, (*here, "when", member), f"its command runs as {condition}, which is taken")
            if when.command and not AGENT_NAME.fullmatch(condition):
                yield problem_at(stack, (*here, "when", member), f"its command runs as {condition}: too long a name")


def _condition_name(member: str) -> str:
    return f"{member}-when"


def _condition(name: str, member: AgentSpec, command: tuple[str, ...], time_limit: float) -> AgentSpec:
    return AgentSpec(
        name,
        command,
        member.cwd,
        Kind.LOOP,
        autostart=False,
        env=member.env,
        env_from=member.env_from,
        restart=RestartRules(early_exit=0.0),
        stop=member.stop,
        loop=LoopRules(max_runtime=time_limit),
        breaker=BreakerRules(enabled=False),
        turn_of=member.turn_of,
        is_question=True,
        source=member.source,
    )
