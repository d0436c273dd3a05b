"""What `phoenixctl doctor` finds of the fence around a living run: which one is in force, and what it holds."""

from __future__ import annotations

import os
from dataclasses import dataclass

from phoenixd import hidden
from phoenixd.api.finding import Finding
from phoenixd.core.agent import Agent

HOSTILE = (
    "it holds accidents: an agent of this user that means harm can end its shim, the daemon and the terminal server"
)
WITHIN = (
    "kill, ptrace and the daemon's files, sockets and memory are out of its reach; not what else its user may have "
    "started: cron, ssh to this host, a login shell's files where env_from is login"
)


@dataclass(frozen=True, slots=True)
class FenceSeen:
    """What the kernel says of a living process: in a control group of its run, in a user namespace not ours. None: it
    does not tell."""

    leaf: bool | None
    namespace: bool | None


def seen(pid: int, agents_cgroup: str | None) -> FenceSeen | None:
    """Read what holds a process, a few small files of /proc; None where the process is gone."""
    if not hidden.exists(pid):
        return None
    leaf: bool | None = False
    if agents_cgroup is not None:
        try:
            with open(f"/proc/{pid}/cgroup", encoding="utf-8", errors="surrogateescape") as file:
                leaf = any(line.partition("::")[2].startswith(f"{agents_cgroup}/") for line in file)
        except OSError:
            leaf = None
    try:
        namespace: bool | None = os.stat(f"/proc/{pid}/ns/user").st_ino != os.stat("/proc/self/ns/user").st_ino
    except OSError:
        namespace = None
    return FenceSeen(leaf, namespace)


def fence_finding(agent: Agent, found: FenceSeen, *, is_root: bool) -> Finding:
    """Which fence is in force for a living run, against the one that is asked for, and what it holds."""
    name, asked = agent.name, agent.spec.fence
    if found.namespace is None or found.leaf is None:
        title = f"{name}: its fence is not to be seen"
        if not is_root:
            return Finding("warning", title, "its process hides (hidepid)", "run as root")
        # Root sees through hidepid.
        why = "root is kept from its process in /proc, as by a security module or a container"
        return Finding("warning", title, why, f"ls -l /proc/{agent.run.pid if agent.run is not None else 'PID'}/ns")
    kill = "every kill takes the whole tree" if found.leaf else "a kill takes what its shim finds"
    if found.namespace:
        parts = "namespace and cgroup" if found.leaf else "namespace"
        if is_root:
            told = f"{name}: fence {parts}, as root"
            detail = f"{kill}; root gets round a namespace by the host's own files, so {HOSTILE}"
            return Finding("warning", told, detail, "run phoenixd as a user of its own: phoenixctl install-service")
        return Finding("ok", f"{name}: fence {parts}", f"{kill}, also of one that means harm; {WITHIN}")
    if asked == "namespace" or (asked == "cgroup" and not found.leaf):
        told = f'{name}: its run has no fence "{asked}" yet'
        return Finding("warning", told, "it began before that was asked for", f"phoenixctl restart {name}")
    if found.leaf:
        return Finding("ok", f"{name}: fence cgroup", f"{kill}; {HOSTILE}")
    return Finding("ok", f"{name}: no fence", f"{kill}; {HOSTILE}")
