"""One run of the agent: launching, alive, ending. Over when the agent is reaped and nothing of its tree is left."""

from __future__ import annotations

import os
import signal
import time

import launch
import procfs
import records
from reactor import HOOKS_FIRST, READABLE
from tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from order import Order
    from reactor import Reactor

    class Observer(Protocol):
        """Who is told what becomes of a run; `run_failed` and `run_ended` come last, and once."""

        def can_sweep_later(self) -> bool: ...
        def run_started(self, run: Run) -> None: ...
        def run_failed(self, run: Run, failure: launch.StartFailure) -> None: ...
        def run_lingers(self, run: Run, pids: list[int]) -> None: ...
        def run_ended(self, run: Run) -> None: ...


LINGERING_AFTER, LINGERING_EVERY = 2.0, 10.0
RETRY_FIRST, RETRY_LAST = 0.005, 0.5


class Run:
    """Started by the constructor, which raises OSError when not even a fork is possible."""

    def __init__(self, order: Order, terminal_fd: int | None, reactor: Reactor, observer: Observer) -> None:
        self.order = order
        self.terminal_fd = terminal_fd
        self.cause = "exit"
        self.code: int | None = None
        self.signal: int | None = None
        self.started_at = records.timestamp()
        self.ended_at: str | None = None
        # By a clock that nobody can set. Like the daemon's it stands still while the host is suspended.
        self._began = time.monotonic()
        self.lived: float | None = None
        self.failure: launch.StartFailure | None = None
        # By the name that its processes bear: that of the seat, where the order's agent is a generation of one.
        self.tree = Tree(
            os.fsdecode(order.environment.get(b"PHOENIX_AGENT", b"")) or order.agent, order.run_id, order.cgroup
        )
        self._reactor = reactor
        self._observer = observer
        self._report = b""
        self._launching = True
        self._emptying = False
        self._ends_by_itself = True
        self.unswept = False
        self._retry = RETRY_FIRST
        self.pid, self._report_fd = launch.launch(order, terminal_fd)
        self.tree.begins_with(self.pid)
        status = procfs.status(self.pid)
        self.start_time = status.start_time if status else 0
        # Ranked like a hook: that it started is told before that it ended.
        reactor.watch(self._report_fd, READABLE, self._read_report, HOOKS_FIRST)

    @property
    def started(self) -> bool:
        """Whether the program was executed."""
        return not self._launching and self.failure is None

    @property
    def identity(self) -> dict[str, Any]:
        return {"incarnation": self.order.incarnation, "run_id": self.order.run_id}

    @property
    def description(self) -> dict[str, Any]:
        told = {"session_id": self.order.session_id, "mode": self.order.mode, "epoch": self.order.epoch}
        return {**self.identity, "pid": self.pid, "start_time": self.start_time, "started_at": self.started_at, **told}

    def leftovers(self) -> list[dict[str, Any]]:
        """What the shim had to kill besides the agent itself."""
        return [{"pid": pid, "command": name} for pid, name in self.tree.killed.items() if pid != self.pid]

    def terminate(self) -> None:
        """Ask the agent's process group to end, also one that is stopped; without effect once the agent is dead."""
        if self.ended_at is None:
            self._ends_by_itself = False
        self._signal_group(signal.SIGTERM)
        self._signal_group(signal.SIGCONT)

    def kill(self, cause: str | None = None) -> None:
        """Kill the whole tree until it is empty; `cause` is why, where that is not the agent's own end."""
        if cause is not None and self.ended_at is None:
            self.cause = cause
        self._ends_by_itself = False
        self._empty_tree()

    def reap(self) -> None:
        """After SIGCHLD: collect every dead process, continue a stopped agent, go on with what its death began."""
        has_no_child = self._collect()
        if not self._emptying:
            return
        # Both proofs together: there is nothing to be looked for, and nothing to be killed.
        if has_no_child and self._can_sweep_later():
            self.unswept = True
            self._over()
        else:
            self._empty_tree()

    def _collect(self) -> bool:
        """True once the shim has no child at all, and so no descendant either."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if pid != self.pid:
                continue
            if os.WIFSTOPPED(status):
                self._continue(os.WSTOPSIG(status))
            else:
                self._agent_died(status)

    def _agent_died(self, status: int) -> None:
        self.ended_at = records.timestamp()
        self.lived = time.monotonic() - self._began
        if os.WIFSIGNALED(status):
            self.signal = os.WTERMSIG(status)
        else:
            self.code = os.WEXITSTATUS(status)
        if self._launching:
            self._read_report(READABLE)  # The pipe has ended with its last holder, so this settles it.
        self._emptying = True

    def _read_report(self, _mask: int) -> None:
        """Follow the launch; a failure is told once the child is reaped, so that a next start finds nothing of it."""
        while self._launching:
            try:
                content = os.read(self._report_fd, 4096)
            except BlockingIOError:
                return
            self._report += content
            if content:
                continue
            self._reactor.forget(self._report_fd)
            os.close(self._report_fd)
            self._launching = False
            self.failure = launch.explain(self._report, self.order)
            if self.failure is None:
                self._observer.run_started(self)

    def _continue(self, stop_signal: int) -> None:
        if stop_signal in (signal.SIGTTIN, signal.SIGTTOU) and self.terminal_fd is not None:
            # Without the foreground it would stop again at the same instruction.
            try:
                os.tcsetpgrp(self.terminal_fd, os.getpgid(self.pid))
            except OSError:
                pass
        self._signal_group(signal.SIGCONT)

    def _signal_group(self, number: int) -> None:
        # Until it is reaped, neither the agent's pid nor its group's number can belong to anyone else.
        if self.ended_at is not None:
            return
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:  # It left its group, or has not made it yet.
            os.kill(self.pid, number)
        except PermissionError:  # It became another user's process; it will show as one that lingers.
            return

    def _empty_tree(self) -> None:
        self._emptying = True
        if not self._reactor.waits_for("lingering"):
            self._reactor.at("lingering", time.monotonic() + LINGERING_AFTER, self._tell_lingering)
        self.tree.kill_group()
        met_new = self.tree.kill_descendants()
        if not self._collect():
            # A SIGCHLD calls again as well, but a process that was met just now may have had a child since.
            self._try_again(0.0 if met_new else self._retry)
            return
        self.unswept = self._can_sweep_later()
        if not self.unswept and self.tree.kill_strays():
            self._try_again(self._retry)
            return
        self._over()

    def _can_sweep_later(self) -> bool:
        """Whether the tree is proven empty, so that the next run need not wait until all of /proc was read.

        Called when the shim has no child: what descends from a subreaper cannot leave it, but for a program that enters
        another pid namespace, and that stays in the leaf. A daemon that had the run ended waits for all of it.
        """
        is_proven = self._ends_by_itself and self.failure is None and self.tree.is_leaf_empty()
        return is_proven and self._observer.can_sweep_later()

    def _try_again(self, delay: float) -> None:
        self._retry = min(self._retry * 2, RETRY_LAST)
        self._reactor.at("empty tree", time.monotonic() + delay, self._empty_tree)

    def _over(self) -> None:
        self._reactor.cancel("empty tree")
        self._reactor.cancel("lingering")
        if self.failure is None:
            self._observer.run_ended(self)
        else:
            self._observer.run_failed(self, self.failure)

    def _tell_lingering(self) -> None:
        self._reactor.at("lingering", time.monotonic() + LINGERING_EVERY, self._tell_lingering)
        self._observer.run_lingers(self, self.tree.survivors())
