"""From an agent's table to what the core supervises, and the checks that need more than one table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Literal

from phoenixd.clis import PRESETS
from phoenixd.config.layers import Stack
from phoenixd.config.problems import Problem, problem_at
from phoenixd.config.tables.agent import AgentTable, FenceTable
from phoenixd.config.tables.memory import ResonanceTable
from phoenixd.config.tables.values import AGENT_NAME, CredentialTable
from phoenixd.core.dialogs import SCREEN_DIALOGS
from phoenixd.core.rules import (
    BreakerRules,
    BriefRules,
    CleanupRules,
    ContextRules,
    HandoffRules,
    LimitRules,
    LivenessRules,
    LoopRules,
    PhaseRules,
    ReportRules,
    ResonanceRules,
    RestartPolicy,
    RestartRules,
    ResumeRules,
    StopRules,
    WriterKind,
)
from phoenixd.core.seat.names import LONGEST, is_too_long, refusal_of_name
from phoenixd.core.spec import AgentSpec, Kind, PreparedAnswer
from phoenixd.core.tasks.names import is_reserved
from phoenixd.core.treatment.authority import AuthorityRules, ClinicRules
from phoenixd.documents.credential import credential_reference
from phoenixd.harness import HARNESSES
from phoenixd.terrain import Terrain

LOGIN_VARIABLES = frozenset({"HOME"}.union(*(harness.login_variables for harness in HARNESSES.values())))
"""What of an agent's environment decides by which login its CLI works."""

_FENCE = FenceTable()
_ENABLED: Mapping[object, Literal["auto", "on", "off"]] = {"auto": "auto", True: "on", False: "off"}


def specification(name: str, table: AgentTable, source: str, fence: FenceTable = _FENCE) -> AgentSpec:
    """Build the core's value; the table is known to be complete (see `agent_problems`). fence: where it names none."""
    restart, resume, liveness = table.restart, table.resume, table.liveness
    return AgentSpec(
        name=name,
        argv=table.argv or HARNESSES[table.harness].default_argv,
        cwd=table.cwd or "",
        kind=Kind(table.kind),
        harness=table.harness,
        prompt=table.prompt,
        autostart=table.autostart,
        account=table.account or _login(table),
        env=tuple(sorted((key, _value(value)) for key, value in table.env.items())),
        env_from=table.env_from,
        fence=table.fence or fence.kind,
        fresh_args=table.fresh_args,
        resume_args=table.resume_args,
        prompt_via=table.prompt_via,
        transcript=table.transcript,
        heartbeat_file=table.heartbeat_file,
        seed_trust=table.seed_trust,
        hold_permissions=table.hold_permissions,
        answers=tuple(PreparedAnswer(one.asks, one.answer == "allow", one.reason, one.dialog) for one in table.answers),
        restart=RestartRules(**{**restart.model_dump(), "policy": RestartPolicy(restart.policy)}),
        resume=ResumeRules(**resume.model_dump()),
        liveness=LivenessRules(**liveness.model_dump()),
        stop=StopRules(**table.stop.model_dump()),
        loop=LoopRules(**table.loop.model_dump()),
        cleanup=CleanupRules(**table.cleanup.model_dump()),
        breaker=BreakerRules(**table.breaker.model_dump()),
        limits=LimitRules(**table.limits.model_dump()),
        context=ContextRules(**table.context.model_dump()),
        handoff=HandoffRules(**table.handoff.model_dump()),
        phase=PhaseRules(**table.phase.model_dump()),
        reports=ReportRules(**table.reports.model_dump()),
        resonance=_resonance(table.resonance),
        clinic=ClinicRules(AuthorityRules(**table.clinic.authority.model_dump())),
        brief=BriefRules(**{**table.brief.model_dump(), "writer": WriterKind(table.brief.writer)}),
        project=table.project,
        labels=table.labels,
        source=source,
    )


def agent_problems(name: str, table: AgentTable, stack: Stack, terrain: Terrain) -> Iterator[Problem]:
    """What is missing or contradicts itself within one agent."""
    here = ("agent", name)
    if not AGENT_NAME.fullmatch(name):
        yield problem_at(stack, here, "a name is 1 to 32 of a-z, 0-9, _ and -, and begins with a letter or digit")
    if is_reserved(name):
        yield problem_at(stack, here, "a name that ends in -t and a number is a worker's (task run): rename it")
    if (refusal := refusal_of_name(name)) is not None:
        yield problem_at(stack, here, f"{refusal.message}: {refusal.remedy}")
    if table.kind == "orchestrator" and is_too_long(name):
        longest = f"an orchestrator's name has at most {LONGEST} characters: a new one is refused, and one that runs is"
        yield problem_at(stack, here, f"{longest} never handed over", "warning")
    harness = HARNESSES[table.harness]
    if not table.argv and not harness.default_argv:
        yield problem_at(stack, here, f'argv is missing: the harness "{table.harness}" knows no program of its own')
    else:
        for complaint in harness.problems(specification(name, table, "")):
            yield problem_at(stack, (*here, "argv"), complaint)
    if table.prompt and _goes_untold(table):
        told = "nothing types it: it stands in the brief alone (PHOENIX_BRIEF)"
        remedy = 'prompt_via = "paste" types it (add, run: --prompt-via paste); "none" says that it reads the brief'
        yield problem_at(stack, (*here, "prompt"), f"{told}; {remedy}", "warning")
    if table.harness != "command" and _resonance(table.resonance).transport == "stateless":
        complaint = 'transport = "stateless" is for a program of yours that puts the seed before each request, with'
        remedy = 'harness = "command"; write "stateful"'
        key = "transport" if table.resonance.transport is not None else "preset"
        yield problem_at(stack, (*here, "resonance", key), f"{complaint} {remedy}")
    known = [SCREEN_DIALOGS[verdict] for verdict in harness.dismissible]
    for number, one in enumerate(table.answers):
        if one.dialog == "dialog" and one.asks not in known:
            words = " or ".join(f'"{word}"' for word in known) or "none"
            complaint = f'"{one.asks[:60]}" is no dialog of {table.harness} that can be said no to; known: {words}'
            yield problem_at(stack, (*here, "answers", str(number)), complaint)
    if table.cwd is None:
        yield problem_at(stack, here, "cwd is missing: every agent works in a directory of its own choice")
    elif not (is_directory := terrain.is_directory(table.cwd)):
        told = "does not answer: its file system hangs" if is_directory is None else "is no directory now"
        yield problem_at(stack, (*here, "cwd"), f"{table.cwd} {told}", "warning")
    for key, value in table.env.items():
        if isinstance(value, CredentialTable) and not (is_file := terrain.is_file(value.file)):
            told = "does not answer: its file system hangs" if is_file is None else "does not exist now"
            yield problem_at(stack, (*here, "env", key), f"the file {value.file} {told}", "warning")
    runtime, stale = table.loop.max_runtime, table.liveness.stale
    if table.kind == "loop" and 0 < runtime <= stale:
        yield problem_at(
            stack, (*here, "loop", "max_runtime"), "max_runtime ends an iteration before liveness.stale can", "warning"
        )


def _goes_untold(table: AgentTable) -> bool:
    """Whether a command's prompt reaches it by its brief alone, and nobody has said that it reads that."""
    arguments = (*(table.argv or ()), *table.fresh_args, *(table.resume_args or ()))
    return table.harness == "command" and table.prompt_via is None and not {"{prompt}", "{brief}"} & {*arguments}


def shared_heartbeats(
    agents: Mapping[str, AgentTable], state: Path, stack: Stack, terrain: Terrain
) -> Iterator[Problem]:
    """Two agents must not feed on one file (F-HB-6): each one's own heartbeat counts too."""
    if all(table.heartbeat_file is None for table in agents.values()):
        return
    owners = {os.path.realpath(state / "agents" / name / "heartbeat.json"): name for name in agents}
    for name, table in sorted(agents.items()):
        if table.heartbeat_file is None:
            continue
        owner = owners.setdefault(terrain.real(table.heartbeat_file), name)
        if owner != name:
            yield problem_at(
                stack,
                ("agent", name, "heartbeat_file"),
                f'{table.heartbeat_file} is already the heartbeat of "{owner}"',
            )


def _resonance(table: ResonanceTable) -> ResonanceRules:
    """A preset stands for overflow and transport; a key that is written itself wins."""
    overflow, transport = table.overflow, table.transport
    if table.preset is not None:
        preset = PRESETS[table.preset]
        overflow = overflow if "overflow" in table.model_fields_set else preset.overflow
        transport = transport or preset.transport
    return ResonanceRules(
        enabled=_ENABLED[table.enabled],
        preset=table.preset or "",
        overflow=overflow,
        # From outside nothing can be put before each request of a CLI: a marker at the start, and checks.
        transport=transport or ("compaction" if overflow == "compaction" else "stateful"),
        mode=table.mode,
        codes=table.codes,
        interval_turns=table.interval_turns,
        footer=table.footer,
        restore=table.restore,
        max_per_hour=table.max_per_hour,
    )


def _login(table: AgentTable) -> str | None:
    """Who shares an agent's limits where no account is named: those who use the same CLI with the same login.

    None for a command, whose login is unknown. Keys are told apart without being shown.
    """
    if table.harness == "command":
        return None
    place = {name: _value(table.env[name]) for name in sorted(LOGIN_VARIABLES & table.env.keys())}
    if not place:
        return table.harness
    return f"{table.harness} {sha256(repr(place).encode()).hexdigest()[:8]}"


def _value(value: str | CredentialTable) -> str:
    return credential_reference(value.file) if isinstance(value, CredentialTable) else value
