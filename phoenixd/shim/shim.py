"""What the parts are together: orders in, a run and its hooks, every change told. It decides nothing."""

from __future__ import annotations

import errno
import os
import signal
import time

import disks
import messages
import order
import procfs
import records
import runfiles
from agenthooks import AgentHooks
from arming import identifier
from heartbeat import Heartbeat
from link import Link
from notice import default_notice, failed_notice
from reactor import Reactor, Signals
from run import Run
from spool import Spool
from terminal import open_terminal, server_of_pane
from unswept import Unswept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from launch import StartFailure
    from place import Place

# Protocol 2 knows answers that are armed. A daemon that speaks an older one is answered in that.
PROTOCOL, ARMING = 2, 2
REPORTED_PIDS = 1000
# What a daemon says in its hello that it can do, and an older one cannot: hear batches, sweep for strays.
ABILITIES = ("batches", "sweeps")
# Seconds after which the record of a crash is made durable: what a power cut of that moment takes away was told.
SYNCED_AFTER = 0.1
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class Shim:
    """One per agent and pane; outlives the daemon and every run."""

    def __init__(self, agent: str, state_dir: str, place: Place, version: str, owner: str | None = None) -> None:
        """owner: the id of the state directory that it serves; without one it takes the first that it is told."""
        self._agent = agent
        self._place = place
        self._owner = owner
        self._version = version
        self._run: Run | None = None
        self._leaving: str | None = None
        self._gone = False
        self._notice: list[str] = []
        # Kept for a daemon whose state directory has gone back in time.
        self._epoch = 0
        self._spoken = PROTOCOL
        self._boot_id = procfs.boot_id()
        status = procfs.status(os.getpid())
        self._process = {"pid": os.getpid(), "start_time": status.start_time if status else 0}
        self._files = runfiles.RunFiles(state_dir, self._boot_id, self._process)
        self._exit = self._files.last_exit()
        self._unswept = Unswept(self._exit)
        self._reactor = Reactor()
        self._signals = Signals(self._reactor, self._on_signals)
        self._terminal = open_terminal(self._reactor, lambda: self.leave("terminal_lost"))
        self._heartbeat = Heartbeat(os.path.join(state_dir, "heartbeat.json"), self._reactor)
        self._spool = Spool(os.path.join(state_dir, "spool.jsonl"))
        self._hooks = AgentHooks(place, self._reactor, self._heartbeat, self._spool, lambda: self._run, self._tell_use)
        self._operations: dict[str, Callable[[dict[str, Any]], None]] = {
            "hello": self._hello,
            "start": self._start,
            "terminate": lambda message: self._signal_run(message, Run.terminate),
            "kill": lambda message: self._signal_run(message, Run.kill),
            "ack": lambda message: self._spool.acknowledge(messages.number(message, "seq")),
            "answer": self._take_answer,
            "arm": self._take_arm,
            "disarm": self._take_disarm,
            "armed_noted": lambda told: self._hooks.arming.note(identifier(told), messages.number(told, "uses")),
            "notice": self._take_notice,
            "epoch": self._take_epoch,
            "swept": lambda message: self._unswept.forget(messages.texts(message, "run_ids")),
            "quit": lambda _message: self.leave("shim_terminated"),
        }
        self._show_notice()
        # Last, because a daemon that can connect must find everything else in its place.
        self._link = Link(place, self._reactor, self._spool, self._on_message, self._is_agents, self._keep_reachable)
        self._hooks.tell_by(self._link)

    def serve(self) -> None:
        """Returns when it was told to leave, and nothing of a run is left."""
        while not self._gone:
            self._reactor.turn()
        self._link.close()
        self._hooks.close()

    def leave(self, cause: str) -> None:
        self._leaving = self._leaving or cause
        if self._run is None:
            self._go()
        else:
            self._run.kill(cause)

    @property
    def _is_leaving(self) -> bool:
        """Whether it goes as soon as no run is left, also where it has yet to be told that its terminal has gone."""
        return self._leaving is not None or (self._terminal is not None and self._terminal.is_lost())

    def fence(self) -> None:
        """For a shim that cannot go on: end the run, and return when nothing of it is left."""
        self.leave("shim_terminated")
        while not self._gone:
            self._reactor.turn()

    # What the daemon says.

    def _on_message(self, message: dict[str, Any]) -> None:
        name = message.get("op")
        operation = self._operations.get(name) if isinstance(name, str) else None
        if operation is None:
            self._complain(f"unknown op: {name!r}")
            return
        try:
            operation(message)
        except messages.Malformed as error:
            self._complain(f"{name}: {error}")

    def _hello(self, message: dict[str, Any]) -> None:
        owner = message.get("owner")
        # A daemon of a version that knows no owners does not say one.
        if isinstance(owner, str) and owner != self._owner:
            if self._owner is not None and message.get("take") is not True:
                self._link.refuse("it belongs to another state directory: phoenixctl recover --take hands it over")
                return
            self._owner = owner
        spoken = message.get("protocol")
        self._spoken = min(spoken, PROTOCOL) if isinstance(spoken, int) and spoken >= 1 else PROTOCOL
        self._link.greet(
            {
                "event": "hello",
                "protocol": self._spoken,
                "version": self._version,
                "agent": self._agent,
                "owner": self._owner,
                **self._process,
                "boot_id": self._boot_id,
                "hook_port": self._hooks.port,
                "run": self._run.description if self._run is not None else None,
                "exit": self._exit,
                "held": self._hooks.held,
                "last_seq": self._spool.last_seq,
                "epoch": self._epoch,
                "unswept": self._unswept.runs,
                "armed": self._hooks.arming.uses,
                "answered": self._hooks.answers.told,
            },
            # An older daemon would not understand.
            self._hooks.told_again() if message.get("held_again") is True else (),
            [ability for ability in ABILITIES if message.get(ability) is True],
        )
        if self._spool.dropped:
            self._complain(f"{self._spool.dropped} hook events were dropped while nobody acknowledged any")
            self._spool.dropped = 0
        self._hooks.refusals.report()

    def _start(self, message: dict[str, Any]) -> None:
        path, run_id = messages.text(message, "order"), messages.text(message, "run_id")
        identity = {"incarnation": messages.number(message, "incarnation"), "run_id": run_id}
        # The same order again: a daemon that was killed cannot know that it gave it. It must never start a second run.
        if self._run is not None and self._run.identity == identity:
            if self._run.started:
                self._tell("started", self._run.description)
            return
        if self._exit is not None and self._exit["run_id"] == run_id:
            self._tell_exit(self._exit)
            return
        if self._run is not None or self._leaving is not None:
            self._refuse(identity, "busy", "another run is not over" if self._run else "the shim is leaving")
            return
        try:
            taken = order.take(path)
        except records.Unreadable as error:
            self._refuse(identity, error.errno_name, f"order: {error}")
            return
        except order.Unacceptable as error:
            self._refuse(identity, "EINVAL", f"order: {error}")
            return
        if (taken.agent, taken.incarnation, taken.run_id) != (self._agent, *identity.values()):
            self._refuse(identity, "EINVAL", "order: it is for another agent, incarnation or run")
            return
        self._launch(taken, identity)

    def _launch(self, taken: order.Order, identity: dict[str, Any]) -> None:
        self._notice = []
        # A daemon that has stayed on the line may know of no loss.
        self._keep_reachable()
        self._hooks.begin(taken.incarnation)
        self._link.send_next_at_once()
        controlling_fd = None
        if self._terminal is not None:
            self._terminal.prepare_for_agent(is_first=self._exit is None)
            controlling_fd = self._terminal.controlling_fd
        try:
            self._run = Run(taken, controlling_fd, self._reactor, self)
        except OSError as error:
            self._show_notice()
            self._refuse(identity, records.errno_name(error), f"fork: {error.strerror}")

    def _signal_run(self, message: dict[str, Any], signal_run: Callable[[Run], None]) -> None:
        if self._is_of_run(message) and self._run is not None:
            signal_run(self._run)

    def _take_answer(self, message: dict[str, Any]) -> None:
        number = messages.number(message, "seq")
        if self._run is None or self._run.order.incarnation != messages.number(message, "incarnation"):
            self._hooks.answered(number, False)
            return
        self._hooks.answer(number, messages.table(message, "body"))

    def _take_arm(self, message: dict[str, Any]) -> None:
        if self._is_of_run(message):
            self._hooks.arming.arm(message)

    def _take_disarm(self, message: dict[str, Any]) -> None:
        if self._is_of_run(message):
            self._hooks.arming.disarm(identifier(message))

    def _is_of_run(self, message: dict[str, Any]) -> bool:
        """Whether the living run is meant; of any other it is told that nothing came of it."""
        incarnation = messages.number(message, "incarnation")
        if self._run is not None and self._run.order.incarnation == incarnation:
            return True
        self._tell("ignored", {"op": message["op"], "incarnation": incarnation})
        return False

    def _tell_use(self, id: str, uses: int) -> None:
        if self._spoken >= ARMING:
            self._link.send_if_room(
                {"event": "armed_used", **self._hooks.identity, "id": id, "uses": uses, "at": records.timestamp()}
            )

    def _take_notice(self, message: dict[str, Any]) -> None:
        self._notice = messages.texts(message, "lines")
        if self._run is None:
            self._show_notice()

    def _take_epoch(self, message: dict[str, Any]) -> None:
        self._epoch = max(self._epoch, messages.number(message, "epoch"))

    # What becomes of a run.

    def run_started(self, run: Run) -> None:
        self._keep("run.json", lambda: self._files.write_run(run))
        self._tell("started", run.description)
        # What its end would have to wait for.
        self._keep("the spare file of exit.json", self._files.expect_exit)
        disks.look()

    def run_failed(self, run: Run, failure: StartFailure) -> None:
        self._run = None
        self._hooks.arming.end()
        self._take_terminal_back()
        self._notice = failed_notice(self._agent, failure.message)
        self._tell(
            "start_failed",
            {
                **run.identity,
                "code": failure.code,
                "errno": failure.errno_name,
                "message": failure.message,
                "stage": failure.stage,
                "way": failure.way,
                "leaving": self._is_leaving,
            },
        )
        self._settle()

    def run_lingers(self, run: Run, pids: list[int]) -> None:
        self._tell("lingering", {"incarnation": run.order.incarnation, "pids": pids[:REPORTED_PIDS]})

    def can_sweep_later(self) -> bool:
        return self._link.can("sweeps") and self._unswept.has_room

    def run_ended(self, run: Run) -> None:
        # The agent's last words, which it may have said in the very moment of its death.
        self._hooks.end()
        self._heartbeat.flush()
        if run.unswept:
            self._unswept.add(run.identity)
        full = disks.full(run.order, self._files.state_dir)
        record = runfiles.exit_record(run, self._unswept.runs, self._hooks.arming.uses, full)
        self._hooks.arming.end()
        # That an agent meant to stop has to outlast the machine before anybody acts on it. Any other end is told first:
        # the file is there for a daemon that was away. On the disk it would stand in the way of the decision's sync.
        durable = runfiles.is_clean(run)
        failed = self._keep("exit.json", lambda: self._files.write_exit(record, durable=durable))
        if failed in NO_ROOM and "state" not in full:
            record["full_disks"] = [*full, "state"]
        self._keep(".clean-exit", lambda: self._files.write_clean_exit(run))
        self._exit = record
        self._run = None
        self._tell_exit(record)
        self._files.forget_spare()
        self._take_terminal_back()
        if not durable and not failed:
            self._reactor.at("exit.json", time.monotonic() + SYNCED_AFTER, self._sync_exit)
        self._settle()

    def _settle(self) -> None:
        if self._leaving is not None:
            self._go()
        else:
            self._show_notice()

    def _go(self) -> None:
        if self._reactor.waits_for("exit.json"):
            self._sync_exit()
        self._gone = True

    def _sync_exit(self) -> None:
        self._reactor.cancel("exit.json")
        self._keep("exit.json", self._files.sync_exit)

    def _is_agents(self, pid: int) -> bool:
        # All that runs below the terminal server was started by this agent or another, be it by way of the server. A
        # peer that died before it could be looked at is not known to be a stranger.
        above = server_of_pane() or os.getpid()
        return procfs.descends_from(pid, above) is not False

    # What the world says.

    def _on_signals(self, arrived: set[int]) -> None:
        # Why the agent dies matters more than that it does: a lost terminal sends SIGHUP here and ends the agent as
        # well.
        if signal.SIGHUP in arrived:
            self.leave("terminal_lost")
        if signal.SIGTERM in arrived:
            self.leave("shim_terminated")
        if signal.SIGCHLD in arrived and self._run is not None:
            self._run.reap()

    def _keep_reachable(self) -> None:
        """The shim outlives the loss of its directory or of a socket in it: make again what is missing."""
        try:
            self._place.regain()
        except OSError as error:  # Another shim holds it, or nothing can be made there; the next look tries again.
            self._complain(f"{self._place.path} cannot be held: {error.strerror}")
            return
        for part in (*self._hooks.ways, self._link):
            try:
                part.reopen()
            except OSError as error:
                self._complain(f"{self._place.path}: {error.strerror}")

    def _take_terminal_back(self) -> None:
        if self._terminal is not None:
            self._terminal.take_back()

    def _show_notice(self) -> None:
        if self._terminal is not None:
            self._terminal.show(self._notice or default_notice(self._agent, self._exit))

    def _keep(self, name: str, write: Callable[[], None]) -> int:
        """Write a file; the error's number where that failed, else 0."""
        try:
            write()
        except OSError as error:  # The operator has to free a full disk; the event below still tells the daemon.
            self._complain(f"{name} could not be written: {error.strerror}")
            return error.errno or errno.EIO
        return 0

    def _tell(self, event: str, fields: dict[str, Any]) -> None:
        self._link.send({"event": event, **fields})

    def _tell_exit(self, record: dict[str, Any]) -> None:
        self._tell("exited", runfiles.told(record, self._unswept.runs))

    def _refuse(self, identity: dict[str, Any], errno_name: str, message: str) -> None:
        told = {"code": 0, "errno": errno_name, "message": message, "leaving": self._is_leaving}
        self._tell("start_failed", {**identity, **told})

    def _complain(self, message: str) -> None:
        self._link.complain(message)
