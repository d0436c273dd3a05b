"""What shims say is held against what the kernel says, before anything rests on it."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.events import Event
from phoenixd.core.events.runs import (
    AgentExited,
    AgentStarted,
    AgentVanished,
    HoldReleased,
    HooksRefused,
    RunAdopted,
    RunMissing,
    ShimLost,
    StartFailed,
)
from phoenixd.core.hooks import Hook, PermissionAsked, SessionStarted, TurnFailed
from phoenixd.core.spec import AgentSpec
from phoenixd.drivers.clock import SupervisedClock
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.processes.proc import boot_id, read_stat
from phoenixd.errors import PhoenixdError
from phoenixd.ports.processes import ProcessIdentity
from phoenixd.ports.shims import ShimHello, ShimMessage, ShimRun
from phoenixd.runtime.hearing import Hearing
from phoenixd.runtime.recovery import recover, relink
from tests.clocks import FastClock
from tests.core.story import Story, claude, spec
from tests.drivers.processes.processes import identity
from tests.runtime.test_boots import Kept
from tests.runtime.test_recovery import NOW, OF_NOW, Supervisor
from tests.waiting import eventually


class Ear:
    """Hearing over the real process table, with this process in the place of agent a's shim."""

    def __init__(self) -> None:
        self.told: list[Event] = []
        self.processes = Processes()
        self.story = Story()
        self.story.start()
        absent: Any = None
        self.hearing = Hearing(
            absent, self.processes, absent, SupervisedClock(), self.find, self.tell, later=lambda seconds, call: None
        )
        self.shim = identity(os.getpid())

    def find(self, name: str) -> Agent:
        return self.story.agent

    def tell(self, event: Event, saved: Callable[[], None] | None) -> None:
        self.told.append(event)

    def hello(self, run: ProcessIdentity | None = None) -> ShimHello:
        known = self.story.run
        said = None if run is None else ShimRun(known.incarnation, known.run_id, run.pid, run.start_time)
        return ShimHello("a", self.shim, 1, "0.1.0", 40001, said, None)

    def started(self, process: ProcessIdentity) -> None:
        run = self.story.run
        body = {"incarnation": run.incarnation, "run_id": run.run_id, "pid": process.pid}
        self.hearing.hear(ShimMessage("a", "started", {**body, "start_time": process.start_time}))


@pytest.fixture
async def ear() -> Any:
    made = Ear()
    yield made
    made.processes.close()


@pytest.fixture
def child() -> Iterator[ProcessIdentity]:
    process = subprocess.Popen(["sleep", "1000"])
    yield identity(process.pid)
    process.kill()
    process.wait()


async def test_what_a_shim_says_of_answers_in_its_greeting_is_told_to_who_gives_them(
    ear: Ear, child: ProcessIdentity
) -> None:
    """The word may have been lost with the link; where the link stayed open, the greeting is no news."""
    words: list[tuple[str, int, bool]] = []
    absent: Any = None
    hearing = Hearing(
        absent, ear.processes, absent, SupervisedClock(), ear.find, ear.tell, later=lambda seconds, call: None,
        answered=lambda agent, hold, taken: words.append((agent, hold, taken)),
    )  # fmt: skip
    hello = replace(ear.hello(child), answered=((3, True), (4, False)))

    hearing.reconcile(ear.story.agent, hello)
    hearing.reconcile(ear.story.agent, hello, unwatched=False)

    assert words == [("a", 3, True), ("a", 4, False)]
    told = [one.answered for one in ear.told if isinstance(one, RunAdopted)]
    assert told == [((3, True), (4, False)), None]


async def test_promise_5_only_a_process_below_the_shim_is_taken_for_its_agent(ear: Ear, child: ProcessIdentity) -> None:
    ear.hearing.watch_shim(ear.hello())
    # Under hidepid the first process cannot be read, and is none of ours all the same.
    first = identity(1) if read_stat(1) else replace(ear.shim, pid=1)
    for stranger in (identity(os.getppid()), first, ear.shim):
        ear.started(stranger)
        assert ear.told == []

    ear.started(child)
    assert [(type(event), event.pid) for event in ear.told if isinstance(event, AgentStarted)] == [
        (AgentStarted, child.pid)
    ]


async def test_nobodys_word_counts_before_its_shim_is_known(ear: Ear, child: ProcessIdentity) -> None:
    ear.started(child)
    assert ear.told == []


async def test_an_agent_that_is_gone_already_was_started_all_the_same(ear: Ear, child: ProcessIdentity) -> None:
    """Its number may be a stranger's by now, but not with its start time: nothing is ever signalled by the number."""
    ear.hearing.watch_shim(ear.hello())
    ear.started(replace(identity(os.getppid()), start_time=1))
    assert [type(event) for event in ear.told] == [AgentStarted]


async def test_a_run_is_adopted_only_with_a_process_below_its_shim(ear: Ear, child: ProcessIdentity) -> None:
    ear.hearing.reconcile(ear.story.agent, ear.hello(identity(os.getppid())))
    ear.hearing.reconcile(ear.story.agent, ear.hello(child))
    assert [type(event) for event in ear.told] == [RunMissing, RunAdopted]


@pytest.mark.parametrize(
    ("ticks", "known"), [(4711, 4711), (0, 0), (None, None), ("4711", None), (True, None), (-1, None)]
)
@pytest.mark.parametrize(("tool", "limit"), [("Bash", 1800.0), ("mcp__ci__wait", None)])
async def test_a_call_that_begins_says_when_and_how_long_its_cli_lets_it_take(
    ear: Ear, ticks: object, known: int | None, tool: str, limit: float | None
) -> None:
    ear.story = Story(claude())
    payload = {"tool_name": tool, "tool_input": {"command": "make -j8"}}
    body = {"seq": 0, "incarnation": 1, "kind": "tool-start", "payload": payload, "ticks": ticks}
    ear.hearing.hear(ShimMessage(ear.story.agent.name, "hook", body))
    (begun,) = [event for event in ear.told if isinstance(event, Hook)]
    assert (begun.ticks, begun.limit, begun.command) == (known, limit, "make -j8")


async def test_promise_10_a_batch_is_heard_in_order_and_a_malformed_hook_costs_the_others_nothing(ear: Ear) -> None:
    kinds = ["tool-start", "tool-end", "tool-start", "subagent-stop"]
    batch: list[object] = [{"seq": 0, "incarnation": 1, "kind": kind, "payload": {}} for kind in kinds]
    ear.hearing.hear(ShimMessage("a", "hooks", {"batch": [*batch[:2], {}, None, {"seq": 0}, *batch[2:]]}))
    assert [event.kind for event in ear.told if isinstance(event, Hook)] == kinds
    ear.hearing.hear(ShimMessage("a", "hooks", {"batch": 7}))
    ear.hearing.hear(ShimMessage("a", "hooks", {}))
    assert len(ear.told) == 4


async def test_the_runs_for_which_a_shim_did_not_sweep_are_passed_on(ear: Ear) -> None:
    told: list[tuple[str, object]] = []
    absent: Any = None
    later = lambda seconds, call: None  # noqa: E731
    hearing = Hearing(
        absent, ear.processes, absent, SupervisedClock(), ear.find, ear.tell, later,
        unswept=lambda agent, runs: told.append((agent, runs)),
    )  # fmt: skip
    hearing.watch_shim(replace(ear.hello(), unswept=["at hello"]))
    body = {"incarnation": 1, "run_id": "r", "code": 0, "signal": None, "cause": "exit", "killed": []}
    hearing.hear(ShimMessage("a", "exited", {**body, "unswept": ["at an end"]}))
    hearing.hear(ShimMessage("a", "exited", body))
    assert told == [("a", ["at hello"]), ("a", ["at an end"]), ("a", None)]


async def test_f_proc_of_what_a_shim_killed_fifty_are_kept_and_of_each_the_first_of_its_command(ear: Ear) -> None:
    killed = [{"pid": pid, "command": f"{pid:02}" + "x" * 80} for pid in range(60)]
    run = {"incarnation": 1, "run_id": "r", "code": 1, "signal": None, "cause": "exit", "killed": [*killed, "strange"]}
    ear.hearing.hear(ShimMessage("a", "exited", run))

    (ended,) = [one.killed for one in ear.told if isinstance(one, AgentExited)]
    assert ended == tuple(f"{pid} {pid:02}" + "x" * 58 for pid in range(50))


async def test_what_a_shim_says_of_full_disks_is_told_by_the_names_that_there_are(ear: Ear) -> None:
    run = {"incarnation": 1, "run_id": "r", "code": 1, "signal": None, "cause": "exit", "killed": []}
    for said in (["tmp", "home", "moon", 7], None, "home", {"home": 1}, 7):
        ear.hearing.hear(ShimMessage("a", "exited", {**run, "full_disks": said}))

    ended = [one.full_disks for one in ear.told if isinstance(one, AgentExited)]
    assert ended == [("home", "tmp"), (), (), (), ()]


async def test_how_long_a_run_lived_is_a_length_of_time_or_not_told(ear: Ear) -> None:
    run = {"incarnation": 1, "run_id": "r", "code": 1, "signal": None, "cause": "exit", "killed": []}
    for said in (3, 0.25, None, "3", True, -1.0, float("nan"), float("inf"), 10**400):
        ear.hearing.hear(ShimMessage("a", "exited", {**run, "lived": said}))

    ended = [one.lived for one in ear.told if isinstance(one, AgentExited)]
    assert ended == [3.0, 0.25, *[None] * 7]


async def test_a_start_that_failed_for_want_of_room_is_told_by_the_number_of_the_error(ear: Ear) -> None:
    for name in ("ENOSPC", "EDQUOT", "EACCES"):
        body = {"incarnation": 1, "code": 0, "errno": name, "message": "no words count"}
        ear.hearing.hear(ShimMessage("a", "start_failed", body))

    told = [(one.code, one.obstacle) for one in ear.told if isinstance(one, StartFailed)]
    assert told == [(0, "disk full"), (0, "disk full"), (1, "other")]


async def test_f_tmux_2_a_shim_that_says_of_a_failed_start_that_it_goes_is_waited_for_by_the_next_one(ear: Ear) -> None:
    """The next start was ordered of it while it went, and its death was taken for the loss of that run."""
    for leaving in (None, False, "true", True):
        ear.hearing.watch_shim(ear.hello())
        body = {"incarnation": 1, "code": 0, "errno": "EINTR", "message": "no words count", "leaving": leaving}
        ear.hearing.hear(ShimMessage("a", "start_failed", body))
        assert ear.hearing.leaving("a") == (ear.shim if leaving is True else None)


async def test_f_res_8_a_directory_that_is_missing_is_told_by_what_the_shims_child_was_at(ear: Ear) -> None:
    for stage, name in (
        ("cwd", "ENOENT"),
        ("cwd", "EACCES"),
        ("exec", "ENOENT"),
        (None, "ENOENT"),
        (["cwd"], "ENOENT"),
    ):
        body = {"incarnation": 1, "code": 0, "errno": name, "message": "no words count", "stage": stage}
        ear.hearing.hear(ShimMessage("a", "start_failed", body))

    told = [one.obstacle for one in ear.told if isinstance(one, StartFailed)]
    assert told == ["no directory", "directory closed", "other", "other", "other"]
    said = next(one.message for one in ear.told if isinstance(one, StartFailed))
    assert said == f"no words count (do: mkdir -p {shlex.quote(ear.story.agent.spec.cwd)})"


@pytest.mark.parametrize(
    ("way", "remedy"),
    [
        ("/srv/shop", "mv /srv/shop /srv/shop.aside && mkdir -p /srv/shop"),
        ("/srv", "mv /srv /srv.aside && mkdir -p /srv/shop"),
        # An older shim does not say what stands in the way, and a path that is no part of the directory's is not taken.
        (None, "ls -ld /srv/shop"),
        ("/etc/passwd", "ls -ld /srv/shop"),
        ("/srv/shop/$(reboot)", "ls -ld /srv/shop"),
        (["/srv"], "ls -ld /srv/shop"),
    ],
)
async def test_f_res_8_a_file_in_place_of_a_directory_is_told_with_what_to_type(
    ear: Ear, way: object, remedy: str
) -> None:
    body = {"incarnation": 1, "code": 0, "errno": "ENOTDIR", "message": "x", "stage": "cwd", "way": way}
    ear.hearing.hear(ShimMessage("a", "start_failed", body))

    assert [one.message for one in ear.told if isinstance(one, StartFailed)] == [f"x (do: {remedy})"]


async def test_what_is_left_out_of_a_flood_passes_by_all_the_same(ear: Ear) -> None:
    """A CLI without a transcript tells of a code in a call by that call's hook alone (F-RE-6)."""
    absent: Any = None
    heard, passed = list[str](), list[str]()
    hearing = Hearing(
        absent, ear.processes, absent, SupervisedClock(), ear.find, ear.tell, later=lambda seconds, call: None,
        heard=lambda agent, kind, payload: heard.append(payload["tool_use_id"]),
        left_out=lambda agent, kind, payload: passed.append(payload["tool_use_id"]),
    )  # fmt: skip
    batch = [
        {"seq": 0, "incarnation": 1, "kind": kind, "payload": {"tool_use_id": f"t{call}", "tool_name": "Bash"}}
        for call in range(10)
        for kind in ("tool-start", "tool-end")
    ]
    hearing.hear(ShimMessage("a", "hooks", {"batch": batch}))

    assert heard == ["t9", "t9"]
    assert passed == [f"t{call}" for call in range(9) for _ in range(2)]


def test_boots_differ(child: ProcessIdentity) -> None:
    of_another_boot = replace(child, boot_id="other")
    assert child.boot_id == boot_id()
    assert Processes().is_below(of_another_boot, identity(os.getpid())) is None


class Counters:
    """A kernel that killed something for want of memory."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.noted = 0

    def note(self) -> None:
        self.noted += 1

    def killer_of(self, agent: str, incarnation: int) -> Literal["", "agent", "host"]:
        self.asked.append((agent, incarnation))
        return "agent"


async def test_f_proc_24_kills_that_were_counted_before_a_run_began_are_not_its_own(
    ear: Ear, child: ProcessIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = Counters()
    monkeypatch.setattr(ear.hearing, "_memory", counters)
    ear.hearing.watch_shim(ear.hello())
    ear.started(child)
    assert (counters.noted, len(ear.told)) == (1, 1)


@pytest.mark.parametrize(
    ("code", "signal", "cause", "oom"),
    [(None, 9, "exit", "agent"), (None, 15, "exit", ""), (137, None, "exit", ""), (None, 9, "terminal_lost", "")],
)
async def test_f_proc_24_only_a_kill_that_nobody_explains_is_looked_up(
    ear: Ear, code: int | None, signal: int | None, cause: str, oom: str
) -> None:
    counters, absent = Counters(), cast(Any, None)
    hearing = Hearing(
        absent, ear.processes, absent, SupervisedClock(), ear.find, ear.tell, lambda seconds, call: None,
        memory=counters,
    )  # fmt: skip
    run = ear.story.run
    body = {"incarnation": run.incarnation, "run_id": run.run_id, "code": code, "signal": signal, "cause": cause}
    hearing.hear(ShimMessage("a", "exited", body))
    assert [event.oom for event in ear.told if isinstance(event, AgentExited)] == [oom]
    assert (counters.asked, counters.noted) == (([("a", 1)], 0) if oom else ([], 1))


async def test_f_proc_26_an_end_that_is_looked_into_first_is_told_by_who_looks(ear: Ear) -> None:
    """By whichever way it is heard: as it happens, and when a shim is met again."""
    looked: list[AgentExited] = []

    def looked_into(ended: AgentExited) -> bool:
        looked.append(ended)
        return ended.code == 1

    absent: Any = None
    hearing = Hearing(
        absent, ear.processes, absent, SupervisedClock(), ear.find, ear.tell, later=lambda seconds, call: None,
        looked_into=looked_into,
    )  # fmt: skip
    run = ear.story.run
    for code in (1, 2):
        body = {"incarnation": run.incarnation, "run_id": run.run_id, "code": code, "signal": None, "cause": "exit"}
        hearing.hear(ShimMessage("a", "exited", body))
        hearing.reconcile(ear.story.agent, replace(ear.hello(), exit=body))

    assert [ended.code for ended in looked] == [1, 1, 2, 2]
    assert [event.code for event in ear.told if isinstance(event, AgentExited)] == [2, 2]


async def test_f_proc_26_an_end_that_its_record_alone_tells_is_explained_and_none_is_where_there_is_no_record(
    ear: Ear,
) -> None:
    run, records = ear.story.run, dict[str, Any]()

    async def explained(ended: AgentExited) -> AgentExited:
        return replace(ended, failed=TurnFailed("a", 1, failure="limit"))

    absent: Any = None
    kept: Any = SimpleNamespace(exit_record=lambda agent: records.get(agent))
    hearing = Hearing(
        absent, ear.processes, kept, SupervisedClock(), ear.find, ear.tell, later=lambda seconds, call: None,
        explained=explained,
    )  # fmt: skip
    assert await hearing.explained_end("a", 1, run.run_id) is None
    records["a"] = {"run_id": run.run_id, "code": 1}
    ended = await hearing.explained_end("a", 1, run.run_id)
    assert ended is not None
    assert ended == replace(hearing.recorded_end("a", 1, run.run_id), failed=ended.failed)  # type: ignore[type-var]
    assert ended.failed is not None


async def test_promise_10_what_a_shim_says_again_on_a_new_link_is_heard_and_counted_once(ear: Ear) -> None:
    """What it stands for was counted when it was heard first; of a run of a new shim every number is new."""
    acknowledged: list[int] = []

    class Shims:
        def acknowledge(self, agent: str, seq: int) -> None:
            acknowledged.append(seq)

    saved: list[Callable[[], None]] = []

    def tell(event: Event, on_saved: Callable[[], None] | None) -> None:
        ear.told.append(event)
        assert on_saved is not None
        saved.append(on_saved)

    absent: Any = None
    hearing = Hearing(
        cast(Any, Shims()), ear.processes, absent, SupervisedClock(), ear.find, tell, later=lambda seconds, call: None
    )

    def hook(seq: int, incarnation: int = 1, **more: Any) -> None:
        body = {"seq": seq, "kind": "stop", "incarnation": incarnation, "payload": {}, **more}
        hearing.hear(ShimMessage("a", "hook", body))

    hook(1)
    hook(5, more=3)
    saved[0]()
    for _ in range(2):
        hook(1)
        hook(5, more=3)
    assert [(event.seq, event.more) for event in cast("list[Hook]", ear.told)] == [(1, 0), (5, 3)]
    assert acknowledged == [1, 1, 1], "what was saved is acknowledged again, and nothing else"
    hook(1, incarnation=2, more="many")
    hook(2, incarnation=2, more=-4)
    assert [(event.seq, event.more) for event in cast("list[Hook]", ear.told[2:])] == [(1, 0), (2, 0)]


class Scarce(Ear):
    """The kernel has no descriptor left for a while."""

    def __init__(self, looks: int = 0, watches: int = 0) -> None:
        """How many of them fail."""
        super().__init__()
        self.looks, self.watches = looks, watches
        self.asked_again = 0
        self.soon: list[Callable[[], None]] = []
        table: Any = self
        absent: Any = None
        self.hearing = Hearing(
            absent, table, absent, SupervisedClock(), self.find, self.tell,
            later=lambda seconds, call: self.soon.append(call), greeted=self.greeted,
        )  # fmt: skip

    def greeted(self, name: str) -> None:
        self.asked_again += 1

    def boot_id(self) -> str:
        return boot_id()

    def is_below(self, one: ProcessIdentity, root: ProcessIdentity) -> bool | None:
        if self.looks:
            self.looks -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return self.processes.is_below(one, root)

    def watch(self, one: ProcessIdentity, on_death: Callable[[], None]) -> bool:
        if self.watches:
            self.watches -= 1
            raise PhoenixdError("process cannot be watched: Too many open files")
        return self.processes.watch(one, on_death)

    def later(self) -> None:
        calls, self.soon = self.soon, []
        for call in calls:
            call()


async def test_promise_4_what_cannot_be_watched_now_is_watched_later(child: ProcessIdentity) -> None:
    """Without descriptors a start was not heard of, and the daemon ended where a link came back."""
    ear = Scarce(watches=2)
    ear.hearing.reconcile(ear.story.agent, ear.hello(child))
    assert [type(event) for event in ear.told] == [RunAdopted]
    os.kill(child.pid, signal.SIGKILL)
    ear.later()
    await eventually(lambda: bool(ear.soon), what="its death was seen")
    ear.later()
    assert [type(event) for event in ear.told] == [RunAdopted, AgentVanished]
    ear.processes.close()


async def test_what_a_shim_says_and_cannot_be_checked_now_is_asked_again(child: ProcessIdentity) -> None:
    ear = Scarce(looks=1)
    ear.hearing.watch_shim(ear.hello())
    ear.started(child)
    assert ear.told == [], "a shim's word alone is not believed"
    ear.later()
    assert ear.asked_again == 1
    ear.processes.close()


async def test_a_link_that_is_back_is_compared_once_that_can_be_done(child: ProcessIdentity) -> None:
    ear = Scarce(looks=1)
    ear.hearing.watch_shim(ear.hello())

    class Linked:
        async def connect(self, agent: str) -> ShimHello:
            return ear.hello(child)

    links: Any = Linked()
    clock: Any = FastClock()
    await relink("a", ear.find, links, ear.hearing, clock)
    assert [type(event) for event in ear.told] == [RunAdopted]
    ear.processes.close()


async def test_promise_4_a_start_at_which_the_host_cannot_look_compares_that_link_later(child: ProcessIdentity) -> None:
    """Without descriptors the daemon ended at its start, while a link that came back was compared a second later."""
    ear = Scarce(looks=1)

    async def connect(agent: str) -> ShimHello:
        return ear.hello(child)

    outside: Any = SimpleNamespace(
        journal=Kept(OF_NOW), shims=SimpleNamespace(connect=connect), processes=SimpleNamespace(boot=lambda: NOW)
    )
    supervisor: Any = Supervisor(ear.story.agent)
    await recover(supervisor, outside, ear.hearing, ())
    assert supervisor.of(RunMissing) == ear.told == []
    ear.later()
    assert ear.asked_again == 1
    ear.processes.close()


@pytest.mark.parametrize(("at", "unheard"), [("2020-01-01T00:00:00.000Z", True), ("2099-01-01T00:00:00.000Z", False)])
def test_a_session_that_began_before_this_daemon_is_known_by_its_hooks_own_time(at: str, unheard: bool) -> None:
    """Nobody may have written its first words, so its codes are told once more."""
    ear = Ear()
    body = {"seq": 1, "kind": "session-start", "incarnation": 1, "at": at, "payload": {"source": "startup"}}
    ear.hearing.hear(ShimMessage("a", "hook", body))
    assert [event.unheard for event in ear.told if isinstance(event, SessionStarted)] == [unheard]


async def test_promise_4_the_death_of_a_shim_is_told_of_the_run_that_there_is_then(
    ear: Ear, child: ProcessIdentity
) -> None:
    ear.hearing.watch_shim(replace(ear.hello(), shim=child))
    os.kill(child.pid, signal.SIGKILL)
    await eventually(lambda: ear.told, what="its death is told")

    assert ear.told == [ShimLost("a", ear.story.run.incarnation)]


async def test_a_shim_tells_how_many_requests_it_did_not_take_in_and_why(ear: Ear) -> None:
    body = {"incarnation": 1, "hooks": 3, "strangers": 2, "why": "no token " * 50}
    ear.hearing.hear(ShimMessage("a", "refused", body))

    assert ear.told == [HooksRefused("a", 1, 3, 2, ("no token " * 50)[:200])]


@pytest.mark.parametrize(
    ("declared", "model", "window"),
    [
        (claude(), "claude-opus-4-8[1m]", 1_000_000),
        (claude(), "claude-opus-4-8", None),
        (spec(), "claude-opus-4-8[1m]", None),
    ],
)
async def test_a_session_is_told_with_the_window_that_its_models_name_says(
    ear: Ear, declared: AgentSpec, model: str, window: int | None
) -> None:
    """Only the CLI that gives such names knows what they mean."""
    ear.story = Story(declared)
    body = {"seq": 0, "incarnation": 1, "kind": "session-start", "payload": {"source": "startup", "model": model}}
    ear.hearing.hear(ShimMessage("a", "hook", body))

    assert [(one.model, one.window) for one in ear.told if isinstance(one, SessionStarted)] == [(model, window)]


async def test_of_an_agent_that_nobody_knows_any_more_no_window_and_no_limit_of_a_call_is_told(
    ear: Ear, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its CLI is not known, and what its shim says is heard all the same."""
    monkeypatch.setattr(ear.hearing, "_find", lambda agent: None)
    for seq, (kind, payload) in enumerate((
        ("session-start", {"source": "startup", "model": "claude-opus-4-8[1m]"}),
        ("tool-start", {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t1"}),
    )):  # fmt: skip
        ear.hearing.hear(ShimMessage("a", "hook", {"seq": seq, "incarnation": 1, "kind": kind, "payload": payload}))

    assert [(one.kind, getattr(one, "window", None)) for one in ear.told if isinstance(one, Hook)] == [
        ("session-start", None), ("tool-start", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seq", "released", "over"),
    [(5, (), True), (6, (), False), (7, (), False), (7, (7,), True), (7, (8,), False), (3, (), False)],
)
async def test_promise_11_a_question_that_was_answered_before_it_was_heard_is_told_and_is_over(
    ear: Ear, seq: int, released: tuple[int, ...], over: bool
) -> None:
    """While nobody listened: the shim greeted with what it had told, to 5, and with what it still held of that, 3."""
    ear.hearing.reconcile(ear.story.agent, replace(ear.hello(), last_seq=5, held=(3,)))
    ear.told.clear()
    for one in released:
        ear.hearing.hear(ShimMessage("a", "released", {"seq": one, "incarnation": 1}))
    payload = {
        "tool_name": "Bash",
        "tool_input": {"command": "make"},
        "held": True,
        "asked": json.dumps({"input": {"command": "make"}}),
    }
    body = {"seq": seq, "incarnation": 1, "kind": "permission-request", "payload": payload}
    ear.hearing.hear(ShimMessage("a", "hook", body))

    assert [type(event) for event in ear.told] == [PermissionAsked, *([HoldReleased] if over else [])]
    if over:
        assert ear.told[-1] == HoldReleased("a", 1, seq)
