"""What `phoenixctl doctor` looks at in a living daemon: each finding names its remedy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from anyio import CapacityLimiter, create_task_group, to_thread

from phoenixd import doctor_fences, doctor_versions, hidden, packages
from phoenixd.api.finding import Finding
from phoenixd.command_remedies import agents_command_remedy
from phoenixd.command_search import find_command, in_shell
from phoenixd.config.problems import Problem
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Quarantined, Running
from phoenixd.core.alert_kinds.fleet import NOT_TOLD
from phoenixd.core.behind.plan import BEHIND, EPOCH
from phoenixd.core.condition import seen_pid
from phoenixd.core.durability import Latency
from phoenixd.core.fleet import Fleet
from phoenixd.core.moment import Moment
from phoenixd.core.projection import row
from phoenixd.core.rules import WriterKind
from phoenixd.core.seat.finding import as_shown, of, shown
from phoenixd.doctor_agents import (
    cli_findings,
    hearing_findings,
    marker_findings,
    moved_finding,
    size_finding,
    window_findings,
    writer_finding,
)
from phoenixd.doctor_alerts import named_findings
from phoenixd.doctor_bounds import WITHIN, bounded, hung_tmux, within
from phoenixd.doctor_clinic import reader_finding
from phoenixd.doctor_disks import disk_findings
from phoenixd.doctor_places import (
    directory_findings,
    is_told_by_quarantine,
    project_findings,
    quarantine_finding,
)
from phoenixd.doctor_versions import Program, Said
from phoenixd.errors import LaunchFailed, PhoenixdError
from phoenixd.harness import HARNESSES

PANES_NAMED = 5
THREADS = 40
"""In which looks are taken at once."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Look:
    """What an agent would start, in which environment. command: empty where it is not found. program: what is asked for
    its version, None for a command of any kind. fault: why there is no environment."""

    agent: Agent
    environment: Mapping[str, str]
    command: str = ""
    program: Program | None = None
    fault: LaunchFailed | None = None


async def _answers() -> tuple[int | None, bool] | None:
    return None


@dataclass(slots=True)
class Doctor:
    """Examines the daemon and each agent. Ports are callables, so that it names no driver.

    degraded, halted, damage: the journal's trouble in words, or None. latency: what its commits took. tier: how agents
    are fenced in. environment_of: what an agent's command would find, in which its version is asked. size_of: columns
    and lines of an agent's terminal, None where it has none. tmux_hangs: the server's process and whether it is
    stopped, where it is there and does not answer; else None. under_systemd: whether the terminal server is a unit of
    its own. hidepid: how /proc hides other users' processes, None where it does not. agents_cgroup: below which the
    runs' cgroups lie, as /proc spells it. alerts: whether what they are told by can be reached; it may block.
    moved_from: the directory that an agent's shim was begun with and that was moved since, and where it is now, or
    None; it may block.
    """

    now: Callable[[], Moment]
    degraded: Callable[[], str | None]
    halted: Callable[[], str | None]
    latency: Callable[[], Latency | None]
    damage: Callable[[], str | None]
    tmux: Callable[[], str | None]
    foreign_panes: Callable[[], Awaitable[Sequence[tuple[str, int]]]]
    tier: str
    problems: Callable[[], Awaitable[tuple[Problem, ...]]]
    environment_of: Callable[[Agent], Awaitable[Mapping[str, str]]]
    size_of: Callable[[str], Awaitable[tuple[int, int] | None]]
    tmux_hangs: Callable[[], Awaitable[tuple[int | None, bool] | None]] = _answers
    under_systemd: bool = False
    hidepid: Callable[[], str | None] = hidden.hidepid
    agents_cgroup: str | None = None
    alerts: Callable[[], Sequence[Finding]] = tuple
    moved_from: Callable[[str], tuple[str, str] | None] = lambda agent: None
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(THREADS))
    """None of those by which the daemon works: looks at a file system that hangs may hold them all for seconds."""

    async def examine(self, fleet: Fleet, shell_path: str = "") -> tuple[Finding, ...]:
        """All findings, the daemon's first, then each agent's; what hangs is told in place of its own.

        shell_path: the PATH of the shell that asks, which may find a command that the daemon does not.
        """
        agents = [agent for _, agent in sorted(fleet.agents.items())]
        hung = await within(self.tmux_hangs(), (None, False))
        findings = [*self._daemon(is_tmux_hung=hung is not None), *_recovery(fleet), *_untold(fleet)]
        findings.append(reader_finding(fleet.clinic.reader, fleet.cases.examinations, self.now().wall))
        findings += await bounded("alerts", "phoenixctl doctor", self._alerts)
        if hung is not None:
            findings.append(hung_tmux(*hung, sum(isinstance(agent.state, Running) for agent in agents)))
        else:
            findings += await bounded("tmux", "phoenixctl doctor", self._strangers)
        findings += await bounded("the configuration", "phoenixctl config check", self._configuration)
        looks = await self._looks(agents)
        said = await doctor_versions.ask(
            {look.program: (look.command, look.environment) for look in looks if look.program is not None}
        )
        told: dict[str, list[Finding]] = {}

        async def tell(look: _Look) -> None:
            name, cwd = shown(fleet, look.agent), look.agent.spec.cwd
            told[look.agent.name] = await bounded(
                name, f"ls {cwd}", lambda: self._agent(look, fleet, said, shell_path, asks_tmux=hung is None)
            )

        async with create_task_group() as tasks:
            for look in looks:
                tasks.start_soon(tell, look)
        return (*findings, *(finding for look in looks for finding in told[look.agent.name]))

    async def _looks(self, agents: Sequence[Agent]) -> list[_Look]:
        """Each agent's command and environment, side by side: one that hangs costs no other its place."""
        found: dict[str, _Look] = {}

        async def look(agent: Agent) -> None:
            fault = LaunchFailed(f"no answer in {WITHIN:g} s: its shell's start-up files, or a file system, hang")
            found[agent.name] = await within(self._look(agent), _Look(agent, {}, fault=fault))

        async with create_task_group() as tasks:
            for agent in agents:
                tasks.start_soon(look, agent)
        return [found[agent.name] for agent in agents]

    def _daemon(self, *, is_tmux_hung: bool = False) -> list[Finding]:
        findings = []
        damage, tmux = self.damage(), self.tmux()
        latency = self.latency()
        told = f"commits: {latency or 'none yet'}"
        if halted := self.halted():
            summary = "nothing new is started: decisions cannot be saved safely"
            remedy = "free space or fix the file system of the state directory; it recovers by itself"
            findings.append(Finding("problem", summary, f"{halted}; {told}", remedy))
        elif degraded := self.degraded():
            remedy = (
                "see what else writes to the disk of the state directory (iostat -x 5), or give phoenixd another one"
            )
            findings.append(
                Finding(
                    "warning", "the journal takes every decision, and lately did not, or was late",
                    f"{degraded}; {told}", remedy,
                )
            )  # fmt: skip
        else:
            findings.append(Finding("ok", "the journal takes every decision", told if latency is not None else ""))
        if damage:
            summary = "the journal was damaged, and put in order again"
            findings.append(Finding("warning", summary, damage, "phoenixctl since 24h"))
        if is_tmux_hung:
            pass  # Told with its remedy.
        elif tmux:
            findings.append(Finding("ok", f"tmux {tmux} answers"))
        elif shutil.which("tmux") is None:
            findings.append(
                Finding("problem", "tmux is not installed", "every agent runs in it", packages.install_line("tmux"))
            )
        else:
            started = "phoenixd starts it again with the next agent; its log says why it could not"
            remedy = "systemctl status phoenixd-tmux" if self.under_systemd else started
            findings.append(Finding("problem", "the tmux server does not answer", "", remedy))
        if (hiding := self.hidepid()) is not None:
            findings.append(hidden_finding(hiding))
        if self.tier == "cgroup":
            findings.append(Finding("ok", "every run has a cgroup of its own", "nothing of a run can outlive its stop"))
        else:
            findings.append(
                Finding(
                    "warning",
                    "runs are held by a subreaper, not by a cgroup",
                    "what escapes a run is swept by its id; the units that this lays out delegate a cgroup",
                    "phoenixctl install-service",
                )
            )
        return findings

    async def _strangers(self) -> list[Finding]:
        """Panes in our tmux server that are no agent's: the daemon leaves them alone, and they end with the server."""
        if not self.tmux():
            return []
        try:
            panes = await self.foreign_panes()
        except PhoenixdError:
            panes = ()
        if not panes:
            return []
        named = ", ".join(f"{pane} (pid {pid})" for pane, pid in panes[:PANES_NAMED])
        title = f"{len(panes)} pane{'' if len(panes) == 1 else 's'} in phoenixd's tmux server opened by hand"
        return [Finding("warning", title, f"{named}: no agent's, and left alone", "use a tmux server of your own")]

    async def _alerts(self) -> list[Finding]:
        return list(await self._aside(self.alerts))

    async def _configuration(self) -> list[Finding]:
        return [
            Finding(
                "problem" if one.severity == "error" else "warning", "configuration", str(one),
                "phoenixctl config check", one.agent or "", one.together,
            )
            for one in await self.problems()
        ]  # fmt: skip

    async def _look(self, agent: Agent) -> _Look:
        try:
            environment = await self.environment_of(agent)
        except LaunchFailed as failure:
            return _Look(agent, {}, fault=failure)
        path = environment.get("PATH", os.defpath)
        command = await self._aside(lambda: find_command(agent.spec.argv[0], path, agent.spec.cwd)) or ""
        has_version = command != "" and agent.spec.harness != "command"
        program = await self._aside(lambda: doctor_versions.program_of(command, environment)) if has_version else None
        return _Look(agent, environment, command, program)

    async def _agent(
        self, look: _Look, fleet: Fleet, said: Mapping[Program, Said], shell_path: str, *, asks_tmux: bool = True
    ) -> list[Finding]:
        # Under the name that people know it by, which each remedy can be typed with.
        agent, seat = as_shown(fleet, look.agent), of(fleet, look.agent.name)
        name = agent.name
        findings: list[Finding] = []
        is_missing = look.fault is None and not look.command
        at = await self._aside(lambda: in_shell(agent.spec.argv[0], shell_path)) if is_missing and shell_path else None
        if isinstance(agent.state, Quarantined):
            cause = agent.state.cause
            findings.append(await self._aside(lambda: quarantine_finding(agent, cause, is_missing=is_missing, at=at)))
        findings += await self._aside(lambda: list(directory_findings(name, agent.spec.cwd)))
        findings += await self._aside(lambda: list(project_findings(name, agent.spec.cwd, seat)))
        findings += await self._aside(lambda: list(disk_findings(name, agent.spec.cwd, look.environment)))
        if look.fault is not None:
            remedy = look.fault.remedy or f"phoenixctl explain {name}"
            findings.append(Finding("problem", f"{name}: its environment cannot be made", look.fault.message, remedy))
        elif is_missing and not is_told_by_quarantine(agent):
            argv0 = agent.spec.argv[0]
            remedy = await self._aside(lambda: agents_command_remedy(agent.spec, at))
            findings.append(Finding("problem", f"{name}: its command is not found", argv0, remedy))
        if look.program is not None:
            harness = HARNESSES.get(agent.spec.harness)
            tested = harness.tested_versions if harness else ()
            findings.append(doctor_versions.finding(name, look.command, said[look.program], tested))
            findings += await self._aside(lambda: list(cli_findings(agent, look.environment)))
        findings += await self._aside(lambda: list(named_findings(agent, look.environment))) if look.environment else []
        writer = await self._aside(lambda: writer_finding(agent, look.environment))
        named = replace(writer, title=f"{name}: {writer.title}")
        # A program that is missing writes no brief either, and is told once.
        is_told = is_missing and agent.spec.brief.writer is WriterKind.AUTO
        findings += [named] if writer.level != "ok" and not is_told else []
        findings += hearing_findings(row(agent, self.now()), self.now())
        if agent.run is not None and (moved := await self._aside(lambda: self.moved_from(look.agent.name))):
            findings.append(moved_finding(name, *moved))
        findings += marker_findings(agent)
        findings += window_findings(agent)
        if (pid := seen_pid(agent)) is not None:
            held = await self._aside(lambda: doctor_fences.seen(pid, self.agents_cgroup))
            if held is not None:
                findings.append(doctor_fences.fence_finding(agent, held, is_root=os.geteuid() == 0))
        if asks_tmux and (small := size_finding(name, await self.size_of(look.agent.name))):
            findings.append(small)
        if all(finding.level == "ok" for finding in findings):
            told = f"{agent.reason}; {writer.title}" if agent.reason else writer.title
            findings.append(Finding("ok", f"{name} is {agent.state_words}", told))
        elif writer.level == "ok" and not is_told:
            findings.append(named)
        return [replace(finding, agent=name) for finding in findings]

    async def _aside(self, look: Callable[[], T]) -> T:
        """Look where a file system that hangs holds up nobody; its thread is left alone when nobody waits any more."""
        return await to_thread.run_sync(look, abandon_on_cancel=True, limiter=self._threads)


def _recovery(fleet: Fleet) -> list[Finding]:
    """Whether the journal was older than the world, which nobody has confirmed yet, or may be so unseen."""
    told = {one.kind: one.text for one in fleet.alerts}
    found = []
    if BEHIND in told:
        title = "the journal was lost or is old: what lives was adopted, and nothing that was stopped was started"
        found.append(Finding("problem", title, told[BEHIND], "phoenixctl recover"))
    if EPOCH in told:
        remedy = "fix the state directory; the next order writes them again"
        found.append(Finding("problem", "a journal that is lost now would not be missed", told[EPOCH], remedy))
    return found


def _untold(fleet: Fleet) -> list[Finding]:
    """Whether a way by which alerts are told has failed for good, and told nothing since."""
    remedy = "fix what [alerts] names; what still stands is told as soon as it can be, and it is tried again by itself"
    return [Finding("problem", NOT_TOLD, one.text, remedy) for one in fleet.alerts if one.kind == NOT_TOLD]


def hidden_finding(hidepid: str) -> Finding:
    """What it costs that /proc hides other users' processes."""
    return Finding(
        "warning",
        f"/proc hides other users' processes ({hidepid})",
        "who else holds an agent's port is not told; a program that may not be traced (sudo, a hardened CLI) is known "
        "by its parent alone, and if its shim is lost it waits for a person; while an agent runs sudo, a caller that "
        "may come from there is refused; copies of old shims are kept",
        "let phoenixd's group see them: mount -o remount,gid=GROUP /proc",
    )
