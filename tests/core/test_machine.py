"""Any order of requests, faults, losses and leaps of time: the promises hold, and a fleet left in peace recovers."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from phoenixd.core.actions import Fence, Spawn
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import BackingOff, Desired, Quarantined, Running, Stopped, Stopping, StopStep
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events import Event
from phoenixd.core.events.evidence import EvidenceSeen
from phoenixd.core.events.fleet import Rebooted, Tick
from phoenixd.core.events.orders import (
    AgentDeclared,
    AgentWithdrawn,
    RestartRequested,
    SendRequested,
    StartRequested,
    StopRequested,
)
from phoenixd.core.events.runs import AgentStarted, RunAdopted
from phoenixd.core.events.work import MeasurementLost
from phoenixd.core.facts import RunEnded
from phoenixd.core.fleet import Fleet, Step
from phoenixd.core.iteration import Passing
from phoenixd.core.moment import Instant, Moment
from phoenixd.core.projection import project
from phoenixd.core.rules import LoopRules, Member, RestartPolicy, RestartRules
from phoenixd.core.spec import AgentSpec, FleetLimits, Kind
from phoenixd.core.step import step
from phoenixd.documents.hooks import hook_of
from tests.core.outside import TERMINAL, Luck, Outside
from tests.core.story import EPOCH, claude, spec
from tests.core.test_roster import check

LIMITS = FleetLimits(max_starting=2, outage_min=2, outage_share=0.5)
TURNS = LoopRules(sequence=(Member("e", when_exists="x"), Member("e")))
SPECS: dict[str, tuple[AgentSpec, ...]] = {
    "a": (spec("a"), spec("a", cwd="/elsewhere"), spec("a", restart=RestartRules(RestartPolicy.ALWAYS))),
    "b": (claude("b", account="team"), claude("b", harness="command"), claude("b", prompt=None)),
    "c": (spec("c", account="team", kind=Kind.LOOP, loop=LoopRules(max_runtime=600)), spec("c", kind=Kind.EPHEMERAL)),
    "d": (spec("d", kind=Kind.LOOP, loop=TURNS), spec("d", kind=Kind.LOOP), spec("d", kind=Kind.LOOP, loop=TURNS)),
    "e": (spec("e", kind=Kind.LOOP, turn_of="d"), spec("e", kind=Kind.LOOP, turn_of="d", cwd="/elsewhere")),
}
STEPS = (StopStep.TERMINATE, StopStep.KILL, StopStep.FENCE)
HOOKS = (
    "session-start prompt-submit tool-start tool-end tool-failure stop stop-failure notification permission-request "
    "permission-denied subagent-start subagent-stop pre-compact compacted session-end"
).split()

names = st.sampled_from(sorted(SPECS))
lucks = st.builds(
    Luck,
    start_code=st.sampled_from([None, None, None, 0, 1, 126, 127]),
    terminal_alive=st.booleans(),
    screen=st.sampled_from(["unknown", "idle", "working", "trust", "resume-picker"]),
    work=st.sampled_from([None, "git:1", "git:1", "git:2", "files:1"]),
    ignores_term=st.booleans(),
    attended=st.sampled_from([None, False, True]),
)
FAIR = Luck(screen="idle")


def outline(agent: Agent) -> tuple[object, ...]:
    """What may not be lost with the daemon."""
    session = agent.session
    return (
        agent.spec,
        agent.desired,
        agent.state.name,
        agent.incarnation,
        agent.crashes,
        agent.last_exit,
        agent.last_prompt,
        agent.item,
        agent.parking,
        session and (session.session_id, session.spoiled),
    )


class FleetMachine(RuleBasedStateMachine):
    """The fleet as the supervisor drives it, against a model of the outside."""

    def __init__(self) -> None:
        super().__init__()
        self.outside = Outside()
        self.fleet = Fleet(limits=LIMITS)
        self.saved: dict[str, Agent] = {}
        self.at, self.wall, self.draws = 0.0, EPOCH, 0
        self.history: list[Event] = []
        self.newest: dict[str, int] = {}
        self.retired: dict[str, int] = {}
        self.kept_down: set[str] = set()
        self.items: dict[int, tuple[str, str, str, float]] = {}
        self.ends: set[tuple[str, int]] = set()

    @initialize()
    def declare_all(self) -> None:
        for name in SPECS:
            self.tell(AgentDeclared(SPECS[name][0], start=True))
        self.act_on_everything(FAIR)

    # What the supervisor does with an event: step, save what is worth keeping, then act.

    def now(self) -> Moment:
        self.draws += 1
        return Moment(self.at, self.wall, (self.draws * 0.618) % 1, str(self.draws))

    def tell(self, event: Event) -> bool:
        """Step one event as the supervisor does; returns whether it was taken."""
        before, now = self.fleet, self.now()
        result = step(before, event, now)
        self.fleet = result.fleet
        self.check_decisions(before, result, now)
        for decision in result.decisions:
            for action in decision.actions:
                self.outside.submit(action)
        if hasattr(event, "incarnation"):
            self.history.append(event)
        return result.refusal is None

    def check_decisions(self, before: Fleet, result: Step, now: Moment) -> None:
        for decision in result.decisions:
            if decision.is_worth_keeping:
                assert decision.reason, decision
            agent = decision.agent
            if agent is None:
                continue
            for fact in decision.facts:
                if isinstance(fact, RunEnded):
                    assert (agent.name, fact.incarnation) not in self.ends, f"{fact} is told twice"
                    self.ends.add((agent.name, fact.incarnation))
            if decision.removed:
                self.saved.pop(agent.name, None)
                self.retired[agent.name] = agent.incarnation
            elif decision.is_worth_keeping:
                self.saved[agent.name] = agent
            for action in decision.actions:
                if isinstance(action, Spawn):
                    assert result.fleet.hold_until is None, "a start during an outage"
                    self.check_spawn(action)
            if agent.item is not None:
                item = agent.item
                assert item.id > 0
                shown = (item.agent, item.kind, item.text_hash, item.opened_wall)
                assert self.items.setdefault(item.id, shown) == shown, "one number, two items"
        for name, agent in result.fleet.agents.items():
            known = before.agents.get(name)
            # Whatever changes what happens next is saved: only evidence may be forgotten.
            assert outline(self.saved[name]) == outline(agent)
            if isinstance(agent.state, Stopping) and known is not None and isinstance(known.state, Stopping):
                # Only the shim's word that the run lives takes a fence back to a kill.
                risen = STEPS.index(agent.state.step) - STEPS.index(known.state.step)
                assert risen >= -1
                assert agent.state.deadline > now.at or agent.state.deadline == known.state.deadline

    def check_spawn(self, action: Spawn) -> None:
        alive = self.outside.living(action.agent)
        assert alive is None, f"{action} while incarnation {alive and alive.incarnation} lives"
        assert action.incarnation > self.newest.get(action.agent, 0), "an incarnation twice"
        self.newest[action.agent] = action.incarnation
        assert action.agent not in self.kept_down, f"{action} although it was stopped on purpose"

    # Operators.

    @rule(name=names, fresh=st.booleans())
    def start(self, name: str, fresh: bool) -> None:
        self.request_running(name, StartRequested(name, fresh))

    @rule(name=names, fresh=st.booleans())
    def restart(self, name: str, fresh: bool) -> None:
        self.request_running(name, RestartRequested(name, fresh))

    def request_running(self, name: str, event: Event) -> None:
        # Who starts the first of a sequence starts them all: as it is declared now.
        agent = self.fleet.agents.get(name)
        members = {one.agent for one in agent.spec.loop.sequence} if agent is not None else set()
        down = ({name} | members) & self.kept_down
        self.kept_down -= down
        if not self.tell(event):
            self.kept_down |= down

    @rule(name=names, after_iteration=st.booleans())
    def stop(self, name: str, after_iteration: bool) -> None:
        if self.tell(StopRequested(name, after_iteration=after_iteration)):
            self.kept_down.add(name)

    @rule(name=names)
    def withdraw(self, name: str) -> None:
        self.tell(AgentWithdrawn(name))

    @rule(name=names, which=st.integers(0, 2), begin=st.booleans())
    def declare(self, name: str, which: int, begin: bool) -> None:
        if name not in self.fleet.agents and (begin or SPECS[name][0].turn_of is not None):
            # Nobody has stopped this one yet: what is declared anew starts, or has its turns.
            self.kept_down.discard(name)
        self.tell(AgentDeclared(SPECS[name][which % len(SPECS[name])], start=begin))

    @rule(name=names)
    def send(self, name: str) -> None:
        self.tell(SendRequested(name, "m", "hello"))

    # Orders are obeyed late, twice or never; words are heard late, twice or never.

    @rule(lane=st.sampled_from([*SPECS, TERMINAL]), how=st.sampled_from(["once", "once", "twice", "never"]), luck=lucks)
    def obey(self, lane: str, how: str, luck: Luck) -> None:
        if not self.outside.lanes[lane]:
            return
        action = self.outside.lanes[lane].popleft()
        for _ in range({"once": 1, "twice": 2, "never": 0}[how]):
            self.outside.perform(action, self.fleet.agents.get(lane), luck)

    @rule(lane=st.sampled_from([*SPECS, TERMINAL]), how=st.sampled_from(["once", "once", "twice", "never"]))
    def hear(self, lane: str, how: str) -> None:
        if not self.outside.mail[lane]:
            return
        event = self.outside.mail[lane].popleft()
        for _ in range({"once": 1, "twice": 2, "never": 0}[how]):
            self.tell(event)
        if how == "never" and isinstance(event, AgentStarted) and lane in self.fleet.agents:
            # Words come in order down one link: what was lost with it is asked for when it is back.
            self.recover((lane,))

    @rule(luck=lucks)
    def all_is_obeyed_and_heard(self, luck: Luck) -> None:
        self.act_on_everything(luck)

    @precondition(lambda self: self.history)
    @rule(data=st.data())
    def replay(self, data: st.DataObject) -> None:
        event = data.draw(st.sampled_from(self.history))
        agent = self.fleet.agents.get(getattr(event, "agent", ""))
        current = agent.run.incarnation if agent and agent.run else None
        # That a run lives is true only when it is said; that it is gone stays true.
        if not (isinstance(event, RunAdopted) and event.incarnation == current):
            self.tell(event)

    @precondition(lambda self: self.history)
    @rule()
    def old_words_change_nothing(self) -> None:
        # What is due begins at any event, and may make more due; ticks_come_to_rest bounds the loop.
        while (due := next_deadline(self.fleet, self.now())) is not None and due <= self.at:
            self.tell(Tick())
        for event in self.history[-20:]:
            agent = self.fleet.agents.get(getattr(event, "agent", ""))
            if agent is None or agent.run is None or getattr(event, "incarnation", 0) < agent.run.incarnation:
                before = self.fleet
                self.fleet = step(before, event, self.now()).fleet
                assert self.fleet == before, event

    # The world.

    @rule(name=names, code=st.sampled_from([0, 1, 130, 143, None]), tell=st.booleans())
    def agent_dies(self, name: str, code: int | None, tell: bool) -> None:
        process = self.outside.living(name)
        if process is None:
            return
        self.outside.die(process, code, 9 if code is None else None)
        if not tell:
            self.outside.mail[name].pop()

    @rule(name=names)
    def shim_dies(self, name: str) -> None:
        process = self.outside.living(name)
        if process is not None and process.guarded:
            self.outside.lose_shim(process)

    @rule(name=names)
    def agent_dies_and_its_descendants_do_not(self, name: str) -> None:
        process = self.outside.living(name)
        if process is not None and process.guarded and not process.headless:
            self.outside.lose_head(process)

    @rule()
    def terminal_dies(self) -> None:
        for name in SPECS:
            process = self.outside.living(name)
            if process is not None and process.guarded:
                self.outside.die(process, None, 9, "terminal_lost")

    @rule(name=names, stuck=st.booleans())
    def agent_outlives_kill(self, name: str, stuck: bool) -> None:
        process = self.outside.living(name)
        if process is not None:
            process.outlives_kill = stuck

    @rule(
        name=names,
        kind=st.sampled_from(HOOKS),
        sub=st.booleans(),
        tool=st.sampled_from(["Bash", "Task"]),
        lease=st.sampled_from([None, 30.0, 3600.0]),
        session=st.sampled_from([None, "s1", "s2"]),
        word=st.sampled_from(
            ["idle_prompt", "permission_prompt", "authentication_failed", "clear", "resume", "rate_limit", "overloaded"]
        ),
        reset=st.sampled_from([None, 0.0, 60.0, 7200.0]),
    )
    def hook(
        self, name: str, kind: str, sub: bool, tool: str, lease: float | None, session: str | None, word: str,
        reset: float | None,
    ) -> None:  # fmt: skip
        process = self.outside.living(name)
        if process is not None:
            hook = hook_of(
                name, process.incarnation, kind, session_id=session, source=word,
                tool=tool, tool_use_id=tool, lease=lease,
                is_subagent_call=tool == "Task", sub=sub, notification=word, error=word,
                reset_wall=None if reset is None else self.wall + reset,
            )  # fmt: skip
            self.outside.mail[name].append(hook)

    @rule(name=names, age=st.sampled_from([None, -5.0, 1.0, 1200.0]))
    def evidence(self, name: str, age: float | None) -> None:
        process = self.outside.living(name)
        if process is not None:
            self.outside.mail[name].append(EvidenceSeen(name, process.incarnation, "transcript", age))

    # Time.

    @rule(seconds=st.sampled_from([0.0, 0.001, 0.5, 1.0, 3.0, 10.0, 30.0, 120.0, 1000.0, 40_000.0]))
    def time_passes(self, seconds: float) -> None:
        self.at, self.wall = self.at + seconds, self.wall + seconds

    @rule(jump=st.sampled_from([-EPOCH, -3600.0, 7200.0, 1e8]))
    def wall_clock_jumps(self, jump: float) -> None:
        self.wall += jump

    @rule()
    def early_or_late_tick(self) -> None:
        self.tell(Tick())

    @rule()
    def alarm(self) -> None:
        """A Tick at the returned deadline always changes something, or moves the deadline on."""
        now = self.now()
        due = next_deadline(self.fleet, now)
        if due is None:
            return
        self.wall += max(0.0, due - self.at)
        self.at = max(self.at, due)
        before = self.fleet
        self.tell(Tick())
        following = next_deadline(self.fleet, self.now())
        assert self.fleet != before or following != due, f"the alarm at {due} moved nothing"
        for name, agent in before.agents.items():
            if isinstance(agent.state, Stopping) and agent.state.deadline <= self.at:
                self.check_escalation(agent.state, self.fleet.agents[name])

    def check_escalation(self, before: Stopping, after: Agent) -> None:
        assert isinstance(after.state, Stopping)
        assert after.state.deadline > self.at
        if before.step is StopStep.FENCE:
            assert isinstance(self.outside.lanes[after.name][-1], Fence)
        else:
            assert STEPS.index(after.state.step) == STEPS.index(before.step) + 1

    # The daemon dies between step and act: actions and unheard words are lost, what was saved is kept.

    @rule(down=st.sampled_from([0.1, 60.0, 100_000.0]))
    def daemon_is_killed(self, down: float) -> None:
        self.outside.forget()
        self.wall += down
        self.fleet = Fleet(dict(self.saved), LIMITS, self.fleet.next_item, retired=dict(self.retired))
        self.recover(tuple(self.fleet.agents))

    @rule()
    def host_reboots(self) -> None:
        self.outside.forget()
        self.outside.processes.clear()
        self.wall += 90
        self.fleet = Fleet(dict(self.saved), LIMITS, self.fleet.next_item, retired=dict(self.retired))
        before = self.fleet.agents
        self.tell(Rebooted(str(self.draws)))
        for name, agent in self.fleet.agents.items():
            assert agent.run is None or agent.run.incarnation > before[name].incarnation

    def recover(self, agents: tuple[str, ...]) -> None:
        found = [self.outside.reconcile(self.fleet.agents[name]) for name in agents]
        for name in agents:
            process = self.outside.living(name)
            run = self.fleet.agents[name].run
            assert process is None or (run is not None and run.run_id == process.run_id), "a run that nobody remembers"
        for event in found:
            if event is not None:
                self.tell(event)
        for name in agents:
            self.tell(MeasurementLost(name))

    # What holds at all times.

    @invariant()
    def what_is_found_by_marks_is_what_a_look_at_each_would_find(self) -> None:
        check(self.fleet)

    @invariant()
    def never_two_live_incarnations(self) -> None:
        for name, processes in self.outside.processes.items():
            assert len(processes) <= 1, f"{name}: {processes}"

    @invariant()
    def whoever_is_removed_is_gone(self) -> None:
        for name, processes in self.outside.processes.items():
            assert not processes or name in self.fleet.agents

    @invariant()
    def state_and_wish_agree(self) -> None:
        for name, agent in self.fleet.agents.items():
            assert agent.reason
            match agent.state:
                case BackingOff() | Quarantined():
                    assert agent.desired is Desired.RUNNING, name
                case Stopped():
                    assert agent.desired is Desired.STOPPED, name
                case _:
                    pass

    @invariant()
    def starts_are_capped(self) -> None:
        launching = [
            agent
            for agent in self.fleet.agents.values()
            if agent.state.name == "starting" and agent.run and agent.run.exec_at is None
        ]
        assert len(launching) <= LIMITS.max_starting

    @invariant()
    def every_face_can_show_it(self) -> None:
        assert len(project(self.fleet, self.now())) == len(self.fleet.agents)

    @invariant()
    def ticks_come_to_rest(self) -> None:
        """At one instant there are only a few ticks to act on: an alarm in the past is never permanent."""
        fleet, now = self.fleet, Moment(self.at, self.wall, 0.5, "rest")
        for _ in range(20):
            due: Instant | None = next_deadline(fleet, now)
            if due is None or due > self.at:
                return
            fleet = step(fleet, Tick(), now).fleet
        raise AssertionError("the alarm rings for ever")

    # Healing: the faults stop, orders are obeyed and words are heard.

    def act_on_everything(self, luck: Luck) -> None:
        for _ in range(60):
            lanes = [lane for lane in (*SPECS, TERMINAL) if self.outside.lanes[lane] or self.outside.mail[lane]]
            if not lanes:
                return
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
        self.act_on_everything(FAIR)
        self.recover(tuple(self.fleet.agents))
        self.act_on_everything(FAIR)
        # Limits are over at wall times, so the clock is set right as well.
        self.wall = max(self.wall, EPOCH + self.at)
        for _ in range(60):
            unsettled = [agent for agent in self.fleet.agents.values() if not self.is_settled(agent)]
            if not unsettled:
                break
            due = next_deadline(self.fleet, self.now())
            assert due is not None, f"nothing will ever happen to {unsettled}"
            self.wall += max(0.0, due - self.at)
            self.at = max(self.at, due)
            self.tell(Tick())
            self.act_on_everything(FAIR)
        else:
            raise AssertionError(f"not healed: {unsettled}")
        for name, agent in self.fleet.agents.items():
            assert (self.outside.living(name) is not None) == (agent.run is not None), name

    def is_settled(self, agent: Agent) -> bool:
        if agent.desired is Desired.STOPPED and not agent.removing:
            return isinstance(agent.state, Stopped | Running)
        return isinstance(agent.state, Running | Quarantined) or self.waits_with_its_member(agent)

    def waits_with_its_member(self, agent: Agent) -> bool:
        """Whether the turn that a sequence is at waits for a person, and the sequence with it."""
        passing = agent.iteration
        if not isinstance(passing, Passing) or passing.awaits != "member":
            return False
        member = self.fleet.agents.get(agent.spec.loop.sequence[passing.turn].agent)
        state = member.state if member is not None else None
        return isinstance(state, Running) and state.activity.waiting is not None


TestFleetMachine = FleetMachine.TestCase
TestFleetMachine.settings = settings(max_examples=2 * settings().max_examples, stateful_step_count=60)


def test_the_model_knows_who_takes_a_members_stop_back() -> None:
    """A stopped member has its turns again once the first of its sequence is started, or it is declared anew."""
    for take_back in ("start", "declare"):
        machine = FleetMachine()
        machine.declare_all()
        machine.stop("e", False)
        machine.act_on_everything(FAIR)
        if take_back == "start":
            machine.start("d", False)
        else:
            machine.withdraw("e")
            machine.act_on_everything(FAIR)
            machine.declare("e", 0, False)
        machine.agent_dies("d", 0, True)
        machine.act_on_everything(FAIR)
        for _ in range(20):
            machine.alarm()
            machine.act_on_everything(FAIR)
        assert machine.newest["e"] > 1, take_back
        machine.teardown()
