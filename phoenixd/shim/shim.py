"""What the parts are together: orders in, a run and its hooks, every change told. It decides nothing."""

from __future__ import annotations

import errno
import os
import signal

import disks
import messages
import order
import procfs
import records
import runfiles
from arming import HOOKS, Arming, identifier
from heartbeat import Heartbeat
from hookfiles import HookFiles
from hooks import HookEndpoint
from link import Link
from reactor import Reactor, Signals
from refusals import Refusals
from replies import Answers, Replies
from reports import HookReports
from run import Run
from spool import Spool
from terminal import Terminal, open_terminal
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
# Questions at a time; the others are left to the terminal.
MAX_HELD = 8
# What a daemon says in its hello that it can do, and an older one cannot: hear batches, sweep for strays.
ABILITIES = ("batches", "sweeps")
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
        self._terminal = self._open_terminal()
        self._heartbeat = Heartbeat(os.path.join(state_dir, "heartbeat.json"), self._reactor)
        self._spool = Spool(os.path.join(state_dir, "spool.jsonl"))
        self._refusals = Refusals(self._reactor, self._run_identity, lambda event: self._link.send_if_room(event))
        self._hooks = HookEndpoint(
            place, self._reactor, self._token, self._on_posted, self._complain_of_hook, self._on_released,
            self._on_answered, self._refusals,
        )  # fmt: skip
        self._arming = Arming(place, self._reactor, self._tell_use, self._complain_of_hook)
        self._replies = Replies(self._reactor, self._on_released, self._on_answered)
        self._answers = Answers()
        self._hook_files = HookFiles(
            place, self._reactor, self._incarnation, self._on_dropped, self._refuse_file, self._replies.hold
        )
        self._operations: dict[str, Callable[[dict[str, Any]], None]] = {
            "hello": self._hello,
            "start": self._start,
            "terminate": lambda message: self._signal_run(message, Run.terminate),
            "kill": lambda message: self._signal_run(message, Run.kill),
            "ack": lambda message: self._spool.acknowledge(messages.number(message, "seq")),
            "answer": self._take_answer,
            "arm": self._take_arm,
            "disarm": self._take_disarm,
            "armed_noted": lambda message: self._arming.note(identifier(message), messages.number(message, "uses")),
            "notice": self._take_notice,
            "epoch": self._take_epoch,
            "swept": lambda message: self._unswept.forget(messages.texts(message, "run_ids")),
            "quit": lambda _message: self.leave("shim_terminated"),
        }
        self._show_notice()
        # Last, because a daemon that can connect must find everything else in its place.
        self._link = Link(place, self._reactor, self._spool, self._on_message, self._is_agents, self._keep_reachable)
        self._reports = HookReports(self._heartbeat, self._spool, self._link)

    def serve(self) -> None:
        """Returns when it was told to leave, and nothing of a run is left."""
        while not self._gone:
            self._reactor.turn()
        self._link.close()
        self._hooks.close()
        self._hook_files.close()

    def leave(self, cause: str) -> None:
        self._leaving = self._leaving or cause
        if self._run is None:
            self._gone = True
        else:
            self._run.kill(cause)

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
                "held": self._held,
                "last_seq": self._spool.last_seq,
                "epoch": self._epoch,
                "unswept": self._unswept.runs,
                "armed": self._arming.uses,
                "answered": self._answers.told,
            },
            # An older daemon would not understand.
            self._reports.acknowledged(self._held) if message.get("held_again") is True else (),
            [ability for ability in ABILITIES if message.get(ability) is True],
        )
        if self._spool.dropped:
            self._complain(f"{self._spool.dropped} hook events were dropped while nobody acknowledged any")
            self._spool.dropped = 0

        self._refusals.report()

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
        self._hook_files.forget_all()
        self._arming.begin(taken.incarnation)
        self._refusals.begin()
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
            self._on_answered(number, False)
            return
        answer = messages.table(message, "body")
        # Without words it is let go of, which is no answer.
        if answer:
            self._answers.begin(number)
        body = records.encode(answer)
        if number in self._replies.held:
            self._replies.answer(number, body)
        else:
            self._hooks.answer(number, body)

    def _take_arm(self, message: dict[str, Any]) -> None:
        if self._is_of_run(message):
            self._arming.arm(message)

    def _take_disarm(self, message: dict[str, Any]) -> None:
        if self._is_of_run(message):
            self._arming.disarm(identifier(message))

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
                {"event": "armed_used", **self._identity, "id": id, "uses": uses, "at": records.timestamp()}
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

    def run_failed(self, run: Run, failure: StartFailure) -> None:
        self._run = None
        self._arming.end()
        self._take_terminal_back()
        self._tell(
            "start_failed",
            {**run.identity, "code": failure.code, "errno": failure.errno_name, "message": failure.message},
        )
        self._settle()

    def run_lingers(self, run: Run, pids: list[int]) -> None:
        self._tell("lingering", {"incarnation": run.order.incarnation, "pids": pids[:REPORTED_PIDS]})

    def can_sweep_later(self) -> bool:
        return self._link.can("sweeps") and self._unswept.has_room

    def run_ended(self, run: Run) -> None:
        # The agent's last words, which it may have said in the very moment of its death.
        self._hooks.drain()
        self._hook_files.drain()
        self._refusals.report()
        self._hooks.release_all()
        self._replies.release_all()
        self._heartbeat.flush()
        if run.unswept:
            self._unswept.add(run.identity)
        full = disks.full(run.order, self._files.state_dir)
        record = runfiles.exit_record(run, self._unswept.runs, self._arming.uses, full)
        self._arming.end()
        if self._keep("exit.json", lambda: self._files.write_exit(record)) in NO_ROOM and "state" not in full:
            record["full_disks"] = [*full, "state"]
        self._keep(".clean-exit", lambda: self._files.write_clean_exit(run))
        self._exit = record
        self._run = None
        self._take_terminal_back()
        self._tell_exit(record)
        self._settle()

    def _settle(self) -> None:
        if self._leaving is not None:
            self._gone = True
        else:
            self._show_notice()

    # What the agent's side says.

    def _on_posted(self, kind: str, hook_input: dict[str, Any]) -> int | bytes:
        return self._on_dropped(kind, hook_input, waits=True, late=0.0)

    def _on_dropped(self, kind: str, hook_input: dict[str, Any], waits: bool, late: float) -> int | bytes:
        if self._run is None:
            return 0
        body = self._arming.answer(kind, hook_input, waits)
        if body is not None:
            self._reports.report(self._run, HOOKS[kind], hook_input, late=late, blocked=True)
            return body
        held = self._held
        self._reports.forget_but(held)
        return self._reports.report(self._run, kind, hook_input, waits and len(held) < MAX_HELD, late)

    @property
    def _held(self) -> list[int]:
        """The numbers of the questions that wait for an answer, the oldest first."""
        return sorted((*self._hooks.held, *self._replies.held))

    def _on_released(self, number: int) -> None:
        self._link.send_if_room({"event": "released", **self._identity, "seq": number})

    def _on_answered(self, number: int, taken: bool) -> None:
        self._answers.settle(number, taken)
        self._tell("answered", {**self._identity, "seq": number, "taken": taken})

    @property
    def _identity(self) -> dict[str, Any]:
        return self._run.identity if self._run is not None else {"incarnation": 0, "run_id": ""}

    def _run_identity(self) -> dict[str, Any] | None:
        return self._run.identity if self._run is not None else None

    def _token(self) -> str | None:
        return self._run.order.token if self._run is not None else None

    def _incarnation(self) -> int | None:
        return self._run.order.incarnation if self._run is not None else None

    def _is_agents(self, pid: int) -> bool:
        # All that runs below the terminal server was started by this agent or another, be it by way of the server. A
        # peer that died before it could be looked at is not known to be a stranger.
        above = _terminal_server() or os.getpid()
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
        """Whoever took the directory away, or a socket in it, has not taken the shim: make again what is missing."""
        try:
            self._place.regain()
        except OSError as error:  # Another shim holds it, or nothing can be made there; the next look tries again.
            self._complain(f"{self._place.path} cannot be held: {error.strerror}")
            return
        for part in (self._hook_files, self._hooks, self._link):
            try:
                part.reopen()
            except OSError as error:
                self._complain(f"{self._place.path}: {error.strerror}")

    def _open_terminal(self) -> Terminal | None:
        fd = open_terminal()
        if fd is None:
            return None
        return Terminal(fd, self._reactor, lambda: self.leave("terminal_lost"))

    def _take_terminal_back(self) -> None:
        if self._terminal is not None:
            self._terminal.take_back()

    def _show_notice(self) -> None:
        if self._terminal is not None:
            self._terminal.show(self._notice or _default_notice(self._agent, self._exit))

    def _keep(self, name: str, write: Callable[[], None]) -> int:
        """Write a file; the error's number where that failed, else 0."""
        try:
            write()
        except OSError as error:  # A full disk is the operator's to mend; the event below still tells the daemon.
            self._complain(f"{name} could not be written: {error.strerror}")
            return error.errno or errno.EIO
        return 0

    def _tell(self, event: str, fields: dict[str, Any]) -> None:
        self._link.send({"event": event, **fields})

    def _tell_exit(self, record: dict[str, Any]) -> None:
        fields = {name: record.get(name) for name in ("incarnation", "run_id", "code", "signal", "cause", "killed")}
        told = {"at": record.get("ended_at"), "unswept": self._unswept.runs, "armed": record.get("armed") or []}
        if record.get("full_disks"):
            told["full_disks"] = record["full_disks"]
        self._tell("exited", {**fields, **told})

    def _refuse(self, identity: dict[str, Any], errno_name: str, message: str) -> None:
        self._tell("start_failed", {**identity, "code": 0, "errno": errno_name, "message": message})

    def _complain(self, message: str) -> None:
        self._link.complain(message)

    def _refuse_file(self, message: str) -> None:
        """What a hook program announced cannot be read."""
        self._refusals.add_hook(message)
        self._complain_of_hook(message)

    def _complain_of_hook(self, message: str) -> None:
        self._link.complain_of_agent(message)


def _default_notice(agent: str, last_exit: dict[str, Any] | None) -> list[str]:
    ending = "has not been started"
    if last_exit is not None and last_exit.get("signal") is not None:
        ending = f"ended by signal {last_exit['signal']} at {last_exit.get('ended_at')}"
    elif last_exit is not None:
        ending = f"ended with exit status {last_exit.get('code')} at {last_exit.get('ended_at')}"
    return [f"phoenixd: {agent} {ending}.", f"Nothing typed here runs. To start it: phoenixctl start {agent}"]


def _terminal_server() -> int | None:
    """The tmux server that this shim's pane belongs to; None where it is started otherwise."""
    parent, named = os.getppid(), os.environ.get("TMUX", "").split(",")
    return parent if len(named) == 3 and named[1] == str(parent) else None
