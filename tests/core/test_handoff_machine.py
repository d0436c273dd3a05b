"""Any order of requests, acks, faults and deaths of the daemon: one generation holds a seat, and each handoff ends."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from phoenixd.core.actions import Action, Deliver, InterruptTurn, Spawn, Terminate, UpdatePapers, WritePackage
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running, Starting, Stopped, Stopping
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.events.fleet import EpochBegun, Rebooted, Tick
from phoenixd.core.events.handoffs import HandoffAcked, PackageFailed, PackageWritten, PapersFailed, PapersUpdated
from phoenixd.core.events.orders import (
    AgentDeclared,
    HandoffRequested,
    RestartRequested,
    RollbackRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.runs import AgentStarted
from phoenixd.core.fleet import Fleet
from phoenixd.core.handoff.state import Handoff, Step
from phoenixd.core.handoff.words import FINISH
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import read
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.rules import ContextRules, HandoffRules
from phoenixd.core.seat.names import generation_name
from phoenixd.core.seat.state import Seat
from phoenixd.core.step import step
from phoenixd.documents.codec import decode, encode
from phoenixd.documents.hooks import hook_event, hook_of
from tests.core.handing import FACTS, OPENING, WORD, orchestrator
from tests.core.outside import TERMINAL, Luck, Outside
from tests.core.story import EPOCH
from tests.journaled import dump_agent, load_agent

SPEC = orchestrator(project="shop", handoff=HandoffRules(spacing=60.0), context=ContextRules(predict=False))
TOO_LONG = {"error": "invalid_request", "error_details": "Prompt is too long"}
HOOKS = ("session-start", "prompt-submit", "tool-start", "tool-end", "stop", "stop-failure", "permission-request")
lucks = st.builds(
    Luck,
    start_code=st.sampled_from([None, None, None, 0, 1]),
    screen=st.sampled_from(["unknown", "idle", "working"]),
    ignores_term=st.booleans(),
)
FAIR = Luck(screen="idle")


class Files:
    """The project on disk: each package that is written has another hash."""

    def __init__(self) -> None:
        self.written = 0
        self.fails = False

    def perform(self, action: UpdatePapers | WritePackage) -> Event:
        if isinstance(action, UpdatePapers):
            failed = PapersFailed(action.agent, action.handoff, "a pipe")
            return failed if self.fails else PapersUpdated(action.agent, action.handoff)
        if self.fails:
            return PackageFailed(action.agent, action.handoff, "the disk is full")
        self.written += 1
        return PackageWritten(action.agent, action.handoff, self.hash, WORD, FACTS, OPENING)

    @property
    def hash(self) -> str:
        return f"{self.written:064x}"


class SeatMachine(RuleBasedStateMachine):
    """One seat, as the supervisor drives it, against a model of the outside."""

    def __init__(self) -> None:
        super().__init__()
        self.outside, self.files = Outside(), Files()
        self.work: list[UpdatePapers | WritePackage] = []
        self.fleet = Fleet()
        self.at, self.wall, self.draws = 0.0, EPOCH, 0
        self.newest: dict[str, int] = {}
        self.kept_down = False
        self.ids: set[str] = set()
        self.is_acked = False
        self.full: set[str] = set()
        """Sessions in which nothing more can be asked."""
        self.row: dict[tuple[str, int], int] = defaultdict(int)
        """Automatic compactions since a person ordered one, of each run."""
        self.escapes: dict[tuple[str, int], int] = defaultdict(int)
        """Escapes in each round of a handoff."""

    @initialize()
    def declare(self) -> None:
        self.tell(AgentDeclared(SPEC, start=True))
        self.act(FAIR)

    # What the supervisor does with an event.

    def now(self) -> Moment:
        self.draws += 1
        return Moment(self.at, self.wall, (self.draws * 0.618) % 1, str(self.draws))

    def tell(self, event: Event) -> bool:
        before, now = self.fleet, self.now()
        result = step(before, event, now)
        self.fleet = result.fleet
        for decision in result.decisions:
            if decision.is_worth_keeping:
                assert decision.reason, decision
            for action in decision.actions:
                self.submit(action)
        self.check_seat(before, event)
        return result.refusal is None

    def submit(self, action: Action) -> None:
        if isinstance(action, Spawn):
            assert self.outside.living(action.agent) is None, "a generation twice at once"
            assert action.incarnation > self.newest.get(action.agent, 0), "an incarnation twice"
            self.newest[action.agent] = action.incarnation
            assert not self.kept_down, f"{action} although the seat was stopped"
            seat = self.fleet.seats["o"]
            number = self.fleet.agents[action.agent].spec.generation
            assert number > seat.fenced, "a fenced generation was started"
            assert action.session_id not in self.full, "a session that is full was started again"
        if isinstance(action, InterruptTurn):
            handoff = self.handoff
            assert handoff is not None, "Escape was pressed for no handoff"
            assert handoff.step is Step.DRAIN
            self.escapes[handoff.id, handoff.rounds] += 1
            assert self.escapes[handoff.id, handoff.rounds] == 1, "Escape was pressed twice"
        if isinstance(action, Terminate) and (ending := self.drained(action)) is not None:
            assert self.escapes[ending.id, ending.rounds] == 1, "a turn was ended by force, and Escape was not tried"
        if isinstance(action, Deliver) and action.text == FINISH:
            handoff = self.handoff
            assert handoff is not None
            assert handoff.trigger != "full" or handoff.rounds > 1, "one that cannot speak was told to finish"
        if isinstance(action, UpdatePapers | WritePackage):
            self.work.append(action)
        else:
            self.outside.submit(action)

    def drained(self, action: Terminate) -> Handoff | None:
        """The handoff whose drain ends this run; None where something else does."""
        handoff, agent = self.handoff, self.fleet.agents.get(action.agent)
        is_cut = agent is not None and isinstance(agent.state, Stopping) and "cannot wait any longer" in agent.state.why
        return handoff if is_cut else None

    def check_seat(self, before: Fleet, event: Event) -> None:
        seat, known = self.fleet.seats["o"], before.seats.get("o")
        assert seat.holder in self.fleet.agents, "nobody holds the seat"
        assert seat.fenced == seat.generation - 1, "two generations are unfenced, or none"
        if known is not None and seat.generation > known.generation:
            assert seat.generation == known.generation + 1
            assert self.is_acked, "a fence without an ack"
        handoff = seat.handoff
        if handoff is not None and not handoff.is_over and handoff.id not in self.ids:
            # One that an operator began and called off does not hold back one that is due: it begins in the same turn.
            is_recalled = isinstance(event, RollbackRequested)
            was = known.handoff if known is not None else None
            assert was is None or was.is_over or (is_recalled and was.trigger == "operator"), "two handoffs at once"
            self.ids.add(handoff.id)
            self.is_acked = False
            self.check_trigger(handoff)
        if handoff is not None and handoff.trigger == "full" and handoff.package:
            assert handoff.degraded, "a package from files alone that does not say so"

    def check_trigger(self, handoff: Handoff) -> None:
        holder = self.fleet.agents[self.fleet.seats["o"].holder]
        gauge = read(meters.of(holder), holder.spec.context)
        match handoff.trigger:
            case "full":
                assert holder.session is not None
                assert holder.session.session_id in self.full
            case "compaction":
                many = self.row[holder.name, holder.incarnation]
                assert many >= 1, "nothing was shortened"
                assert many >= 3 or gauge.verdict in ("WARNING", "HANDOFF"), "the first below `warn` is no request"
            case "meter":
                assert gauge.verdict == "HANDOFF"
            case "recycle":
                assert holder.last_exit is not None
                assert holder.last_exit.code in (100, 101)
        if handoff.trigger != "operator":
            assert handoff.rollbacks < 2, "a third one began by itself"

    @property
    def handoff(self) -> Handoff | None:
        return self.fleet.seats["o"].handoff

    def names(self) -> tuple[str, ...]:
        return tuple(self.fleet.agents)

    # Operators, and successors.

    @rule()
    def hand_over(self) -> None:
        self.tell(HandoffRequested("o"))

    @rule()
    def call_off(self) -> None:
        self.tell(RollbackRequested("o"))

    @rule(fresh=st.booleans())
    def restart(self, fresh: bool) -> None:
        down, self.kept_down = self.kept_down, False
        if not self.tell(RestartRequested("o", fresh)):
            self.kept_down = down

    @rule()
    def start(self) -> None:
        self.kept_down = False
        self.tell(StartRequested("o"))

    @rule()
    def stop(self) -> None:
        if self.tell(StopRequested("o")):
            self.kept_down = True

    @rule()
    def send(self) -> None:
        self.tell(SendRequested("o", f"m{self.draws}", "hello"))

    @rule(which=st.integers(0, 2), good=st.booleans(), word=st.sampled_from([WORD, "stork"]))
    def acknowledge(self, which: int, good: bool, word: str) -> None:
        names = self.names()
        name = names[which % len(names)]
        right = good and word == WORD
        self.say_ack(name, self.files.hash if good else "00", word, right)

    def say_ack(self, name: str, package: str, word: str, right: bool) -> None:
        handoff = self.handoff
        if right and handoff is not None and handoff.package == package and handoff.step is Step.AWAIT_ACK:
            if name == generation_name("o", handoff.successor):
                self.is_acked = True
        taken = self.tell(HandoffAcked(name, package, word, FACTS))
        assert not taken or right, "an ack that proves nothing was believed"

    @rule(share=st.sampled_from([0.5, 0.89, 0.9, 0.98]))
    def meter(self, share: float) -> None:
        holder = self.fleet.agents[self.fleet.seats["o"].holder]
        if holder.run is not None:
            seen = UsageSeen(
                holder.name, holder.run.incarnation, int(share * 200_000), 200_000, "transcript", self.wall
            )
            self.tell(seen)

    # Contexts that fill.

    @rule(which=st.integers(0, 2))
    def context_is_full(self, which: int) -> None:
        names = [name for name in self.names() if self.outside.living(name) is not None]
        if not names:
            return
        name = names[which % len(names)]
        agent, process = self.fleet.agents[name], self.outside.living(name)
        assert process is not None
        state = agent.state
        # Whose start is known begins to run with its first hook.
        runs = isinstance(state, Running) or (isinstance(state, Starting) and state.run.pid is not None)
        is_running = runs and agent.incarnation == process.incarnation
        self.tell(hook_event(name, process.incarnation, "stop-failure", TOO_LONG, self.wall))
        after = self.fleet.agents.get(name)
        is_called = after is not None and isinstance(after.state, Running)
        if is_running and agent.session is not None and not is_called:
            self.full.add(agent.session.session_id)

    @rule(
        which=st.integers(0, 2),
        triggers=st.lists(st.sampled_from(["auto", "auto", "manual", "by tides"]), min_size=1, max_size=6),
        blocked=st.booleans(),
    )
    def compacts(self, which: int, triggers: list[str], blocked: bool) -> None:
        names = [name for name in self.names() if self.outside.living(name) is not None]
        for trigger in triggers if names else ():
            name = names[which % len(names)]
            process = self.outside.living(name)
            if process is None:
                return
            run = (name, process.incarnation)
            self.row[run] = self.row[run] + 1 if trigger == "auto" else 0 if trigger == "manual" else self.row[run]
            said = {"trigger": trigger, "blocked": blocked}
            self.tell(hook_event(name, process.incarnation, "pre-compact", said, self.wall))

    # The world.

    @rule(which=st.integers(0, 2), how=st.sampled_from(["once", "once", "twice", "never"]), luck=lucks)
    def obey(self, which: int, how: str, luck: Luck) -> None:
        lanes = [lane for lane in (*self.names(), TERMINAL) if self.outside.lanes[lane]]
        if not lanes:
            return
        lane = lanes[which % len(lanes)]
        action = self.outside.lanes[lane].popleft()
        for _ in range({"once": 1, "twice": 2, "never": 0}[how]):
            self.outside.perform(action, self.fleet.agents.get(lane), luck)

    @rule(which=st.integers(0, 2), how=st.sampled_from(["once", "once", "twice", "never"]))
    def hear(self, which: int, how: str) -> None:
        lanes = [lane for lane in (*self.names(), TERMINAL) if self.outside.mail[lane]]
        if not lanes:
            return
        lane = lanes[which % len(lanes)]
        event = self.outside.mail[lane].popleft()
        for _ in range({"once": 1, "twice": 2, "never": 0}[how]):
            self.tell(event)
        if how == "never" and isinstance(event, AgentStarted) and lane in self.fleet.agents:
            self.recover((lane,))

    @rule(fails=st.booleans(), how=st.sampled_from(["once", "once", "twice", "never"]))
    def work_on_files(self, fails: bool, how: str) -> None:
        if not self.work:
            return
        action = self.work.pop(0)
        self.files.fails = fails
        for _ in range({"once": 1, "twice": 2, "never": 0}[how]):
            self.tell(self.files.perform(action))
        self.files.fails = False

    @rule(luck=lucks)
    def all_is_obeyed_and_heard(self, luck: Luck) -> None:
        self.act(luck)

    @rule(which=st.integers(0, 2), kind=st.sampled_from(HOOKS))
    def hook(self, which: int, kind: str) -> None:
        names = [name for name in self.names() if self.outside.living(name) is not None]
        if names:
            self.say(names[which % len(names)], kind)

    def say(self, name: str, kind: str) -> None:
        process = self.outside.living(name)
        agent = self.fleet.agents[name]
        session = agent.session.session_id if agent.session is not None else None
        assert process is not None
        self.tell(hook_of(name, process.incarnation, kind, session_id=session, source="startup", tool="Bash", text="x"))

    @rule(which=st.integers(0, 2), code=st.sampled_from([0, 1, 100, 143, None]))
    def dies(self, which: int, code: int | None) -> None:
        processes = [found for name in self.names() if (found := self.outside.living(name)) is not None]
        if processes:
            self.outside.die(processes[which % len(processes)], code, 9 if code is None else None)

    @rule(which=st.integers(0, 2))
    def shim_dies(self, which: int) -> None:
        processes = [found for name in self.names() if (found := self.outside.living(name)) is not None]
        if processes and processes[which % len(processes)].guarded:
            self.outside.lose_shim(processes[which % len(processes)])

    @rule(seconds=st.sampled_from([0.0, 1.0, 31.0, 61.0, 121.0, 301.0, 601.0, 4000.0]))
    def time_passes(self, seconds: float) -> None:
        self.at, self.wall = self.at + seconds, self.wall + seconds
        self.tell(Tick())

    @rule()
    def alarm(self) -> None:
        due = next_deadline(self.fleet, self.now())
        if due is not None:
            self.wall += max(0.0, due - self.at)
            self.at = max(self.at, due)
            self.tell(Tick())

    # The daemon dies: orders and unheard words are lost, what was saved is kept as the journal writes it.

    @rule()
    def daemon_is_killed(self) -> None:
        self.forget()
        self.recover(self.names())

    @rule()
    def host_reboots(self) -> None:
        self.forget()
        self.outside.processes.clear()
        self.tell(Rebooted(str(self.draws)))
        self.tell(EpochBegun(0))

    def forget(self) -> None:
        self.outside.forget()
        self.work.clear()
        agents = {name: load_agent(dump_agent(agent)) for name, agent in self.fleet.agents.items()}
        seats = {name: decode(Seat, encode(seat)) for name, seat in self.fleet.seats.items()}
        self.fleet = Fleet(agents, next_item=self.fleet.next_item, retired=dict(self.fleet.retired), seats=seats)

    def recover(self, names: tuple[str, ...]) -> None:
        self.tell(EpochBegun(0))
        for name in names:
            agent = self.fleet.agents.get(name)
            found = self.outside.reconcile(agent) if agent is not None else None
            if found is not None:
                self.tell(found)

    # What holds at all times.

    @invariant()
    def never_more_than_two_generations(self) -> None:
        assert len(self.fleet.agents) <= 2
        for name, processes in self.outside.processes.items():
            assert len(processes) <= 1, f"{name}: {processes}"
            assert not processes or name in self.fleet.agents, f"{name} was let go while it lived"

    @invariant()
    def ticks_come_to_rest(self) -> None:
        fleet, now = self.fleet, Moment(self.at, self.wall, 0.5, "rest")
        for _ in range(30):
            due: Instant | None = next_deadline(fleet, now)
            if due is None or due > self.at:
                return
            fleet = step(fleet, Tick(), now).fleet
        raise AssertionError("the alarm rings for ever")

    # Healing: the faults stop, and a successor does what it is asked.

    def act(self, luck: Luck) -> None:
        for _ in range(100):
            lanes = [lane for lane in (*self.names(), TERMINAL) if self.outside.lanes[lane] or self.outside.mail[lane]]
            if not lanes and not self.work:
                return
            while self.work:
                self.tell(self.files.perform(self.work.pop(0)))
            for lane in lanes:
                while self.outside.lanes[lane]:
                    self.outside.perform(self.outside.lanes[lane].popleft(), self.fleet.agents.get(lane), luck)
                while self.outside.mail[lane]:
                    self.tell(self.outside.mail[lane].popleft())
        raise AssertionError("orders and words never come to an end")

    def teardown(self) -> None:
        for processes in self.outside.processes.values():
            for process in processes:
                process.ignores_term = process.outlives_kill = False
        self.act(FAIR)
        self.recover(self.names())
        for _ in range(200):
            self.act(FAIR)
            handoff = self.handoff
            if (handoff is None or handoff.is_over) and all(self.is_settled(one) for one in self.fleet.agents.values()):
                break
            for name in self.names():
                agent = self.fleet.agents.get(name)
                if agent is not None and agent.state.name == "starting" and self.outside.living(name) is not None:
                    self.say(name, "session-start")
                elif agent is not None and isinstance(agent.state, Running):
                    self.say(name, "stop")
            handoff = self.handoff
            if handoff is not None and handoff.step is Step.AWAIT_ACK:
                self.say_ack(generation_name("o", handoff.successor), handoff.package, WORD, True)
            self.alarm()
        else:
            raise AssertionError(f"it never ends: {self.handoff}, {[one.state for one in self.fleet.agents.values()]}")
        assert len(self.fleet.agents) == 1
        if self.kept_down:
            assert isinstance(self.fleet.agents[self.fleet.seats["o"].holder].state, Stopped)

    def is_settled(self, agent: Agent) -> bool:
        return isinstance(agent.state, Running | Stopped) or agent.state.name in ("quarantined", "parked")


TestSeatMachine = SeatMachine.TestCase
TestSeatMachine.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)


def test_f_ho_17_a_handoff_that_an_operator_calls_off_gives_way_to_the_one_that_a_full_context_asks_for() -> None:
    """Drawn once by the machine: `handoff.spacing` does not count from what an operator began and called off."""
    machine = SeatMachine()
    machine.declare()
    machine.context_is_full(0)
    machine.hand_over()
    machine.meter(0.9)
    first = machine.handoff

    machine.call_off()

    assert first is not None
    assert machine.handoff is not None
    assert (first.trigger, machine.handoff.trigger) == ("operator", "meter")
    assert machine.handoff.id != first.id
