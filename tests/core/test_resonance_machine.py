"""Any order of turns, answers, compactions, kills, late papers, daemons and orders: what holds of resonance always."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from phoenixd.core.actions import PlantCodes, ReadSeed, Spawn, Terminate
from phoenixd.core.agent.state import Quarantined, Running, Starting, Stopped, Stopping
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.decision import Refusal
from phoenixd.core.events.fleet import Tick
from phoenixd.core.events.orders import RestartRequested, StartRequested, StopRequested
from phoenixd.core.events.resonance import CheckRequested, CodesSeen, PlantingFailed, RestorationRequested, SeedRead
from phoenixd.core.events.runs import RunAdopted
from phoenixd.core.facts import MarkerNoted
from phoenixd.core.moment import Moment
from phoenixd.core.projection import project
from phoenixd.core.resonance.due import MOST_DEFERRED
from phoenixd.core.step import step
from tests.core.resonating import ResonanceStory, hexes_in, resonant
from tests.core.test_roster import check
from tests.journaled import dump_agent, load_agent

INTERVAL, HOUR = 4, 3600.0
ORDER = re.compile(r"(1(7|2(3(4(5[67]?|7)?)?)?)?)*")
"""The steps of restorations one after the other; each restoration may be broken off anywhere."""


class Model(ResonanceStory):
    """The agent and its papers, with a watch on what may never happen."""

    def __init__(self) -> None:
        self.waiting: list[PlantCodes | ReadSeed] = []
        self.wrong = 0
        self.right = False
        self.called = False
        self.kept_down = False
        self.lost_sessions: set[str] = set()
        self.ended_for: list[tuple[float, bool]] = []
        self.ordered = 0
        super().__init__(resonant(interval_turns=INTERVAL, codes=6), papers="late")

    def tell(self, event: Any) -> Refusal | None:
        before, seen = self.fleet.agents.get("a"), len(self.decisions)
        refusal = super().tell(event)
        for decision in self.decisions[seen:]:
            assert decision.reason or not decision.actions, decision
            for fact in decision.facts:
                if isinstance(fact, MarkerNoted):
                    self.judged(fact)
            for action in decision.actions:
                if isinstance(action, PlantCodes | ReadSeed):
                    self.waiting.append(action)
                if isinstance(action, Spawn):
                    assert not self.kept_down, "a start although it was stopped on purpose"
                    assert action.mode.value == "fresh" or action.session_id not in self.lost_sessions, "R38"
                if isinstance(action, Terminate) and "restoration, step 3" in decision.reason:
                    assert before is not None
                    activity = before.activity
                    is_end_of_turn = type(event).__name__ in ("TurnEnded", "TurnFailed", "Notified", "SessionStarted")
                    assert activity is None or not activity.turn_open or is_end_of_turn, "ended inside a turn"
        return refusal

    def judged(self, fact: MarkerNoted) -> None:
        session = self.agent.session
        if fact.what == "checked" and fact.verdict == "intact":
            assert self.right, "intact, and the answer was wrong"
            assert not self.called, "intact, and it had used a tool"
            self.wrong = 0
        if fact.what == "checked" and fact.verdict == "lost":
            assert self.wrong >= 2, f"one miss is taken for a loss: {self.wrong}"
            if session is not None:
                self.lost_sessions.add(session.session_id)
            self.wrong = 0
        if fact.what == "restoration" and fact.step == 3:
            self.ended_for.append((self.at, self.ordered > 0))
            self.ordered = max(0, self.ordered - 1)

    def recited(self, question: str) -> str:
        answer = super().recited(question)
        if "take the place of" not in question:
            self.answers(answer, question)
        return answer

    def answers(self, answer: str, question: str) -> None:
        """Note whether what it says now is the code that was asked for."""
        planting = self.known.planting
        assert planting is not None
        number = int(question.split("resonance code number ")[1].split()[0])
        self.right = planting.code(number) in answer
        if not self.right:
            self.wrong += 1
        elif not self.called:
            # A code that may have been read with a tool proves nothing, and takes back no miss.
            self.wrong = 0

    def carry_out(self, how: str) -> None:
        while self.waiting:
            action = self.waiting.pop(0)
            if how == "never":
                continue
            if isinstance(action, ReadSeed):
                self.tell(SeedRead(action.agent, action.incarnation))
            elif how == "fails":
                self.tell(PlantingFailed(action.agent, action.incarnation, "no space left"))
            elif self.agent.run is not None and self.agent.run.incarnation == action.incarnation:
                self.plant(action)


class ResonanceMachine(RuleBasedStateMachine):
    """One agent that may lose its context at any time."""

    def __init__(self) -> None:
        super().__init__()
        self.told = Model()

    @initialize()
    def begin(self) -> None:
        self.told.start()
        self.told.carry_out("well")

    @property
    def runs(self) -> bool:
        return isinstance(self.told.state, Running) and self.told.state.exit_due is None

    # The agent's turns.

    @precondition(lambda self: self.runs)
    @rule(
        words=st.sampled_from(["Done.", "Done.", "Shall I go on?"]),
        obeys=st.sampled_from([True, True, True, False]),
        uses_tool=st.sampled_from([False, False, False, True]),
        disturbed=st.sampled_from([False, False, False, True]),
        ends=st.sampled_from(["stop", "stop", "stop", "stop-failure"]),
    )
    def turn(self, words: str, obeys: bool, uses_tool: bool, disturbed: bool, ends: str) -> None:
        told = self.told
        told.hook("prompt-submit", text="Go on.")
        told.called = False
        question = told.asked(words)
        if question is None:
            told.hook(ends, text=words, **({"error": "server_error"} if ends != "stop" else {}))
            return
        if uses_tool:
            told.hook("tool-start", tool="Bash", tool_use_id="t1")
            told.hook("tool-end", tool="Bash", tool_use_id="t1")
            told.called = True
        if disturbed:
            told.hook("prompt-submit", text="And look at the tests.")
        if ends != "stop":
            told.hook(ends, error="server_error")
            return
        is_renewal = "take the place of" in question
        answer = told.recited(question) if obeys or is_renewal else "I would rather not."
        if not obeys and not is_renewal:
            told.answers(answer, question)
        if disturbed and not told.right:
            # It proves nothing either way.
            told.wrong = max(0, told.wrong - 1)
        told.hook("stop", text=answer)

    @precondition(lambda self: self.runs)
    @rule()
    def front_is_dropped(self) -> None:
        self.told.memory = None

    @precondition(lambda self: self.runs)
    @rule(drops=st.booleans())
    def compacts(self, drops: bool) -> None:
        if drops:
            self.told.memory = None
        self.told.hook("compacted", source="auto")

    @precondition(lambda self: self.runs)
    @rule()
    def person_clears(self) -> None:
        self.told.memory = None
        self.told.hook("session-start", session_id=f"s-{self.told.told}", source="clear")

    @precondition(lambda self: self.runs and self.told.known.planting is not None)
    @rule(number=st.integers(1, 6))
    def reads_a_code(self, number: int) -> None:
        planting = self.told.known.planting
        assert planting is not None
        code = planting.code(number)
        self.told.tell(CodesSeen("a", self.told.run.incarnation, (code,), "a file", self.told.wall - 1.0))

    # The world.

    @precondition(lambda self: isinstance(self.told.state, Starting))
    @rule()
    def comes_up(self) -> None:
        self.told.up()

    @precondition(lambda self: self.told.agent.run is not None)
    @rule(code=st.sampled_from([0, 1, 143]))
    def ends(self, code: int) -> None:
        self.told.exited(code)

    @precondition(lambda self: isinstance(self.told.state, Stopping))
    @rule()
    def is_ended(self) -> None:
        self.told.exited(143)

    @rule(how=st.sampled_from(["well", "well", "well", "fails", "never"]))
    def papers(self, how: str) -> None:
        self.told.carry_out(how)

    @rule()
    def daemon_is_killed(self) -> None:
        told = self.told
        loaded = load_agent(dump_agent(told.agent))
        assert loaded.resonance == told.agent.resonance
        told.fleet = replace(told.fleet, agents={"a": loaded})
        told.waiting.clear()
        run = told.agent.run
        if run is not None and run.pid is not None:
            held = tuple((one.answer.id, one.uses) for one in told.agent.armed if not one.over)
            told.tell(RunAdopted("a", run.incarnation, 100, 1000, link=2, armed=held))

    @rule(seconds=st.sampled_from([1.0, 30.0, 61.0, 700.0, 4000.0]))
    def time_passes(self, seconds: float) -> None:
        told = self.told
        until = told.at + seconds
        for _ in range(200):
            due = next_deadline(told.fleet, told.now)
            if due is None or due > until:
                break
            told.pass_over(max(0.0, due - told.at))
            told.tell(Tick())
        told.pass_over(max(0.0, until - told.at))

    @rule(jump=st.sampled_from([-7200.0, 7200.0]))
    def wall_clock_jumps(self, jump: float) -> None:
        self.told.wall += jump

    # Operators.

    @rule()
    def stop(self) -> None:
        if self.told.tell(StopRequested("a")) is None:
            self.told.kept_down = True

    @rule(fresh=st.booleans(), restart=st.booleans())
    def start(self, fresh: bool, restart: bool) -> None:
        before = self.told.kept_down
        self.told.kept_down = False
        event = RestartRequested("a", fresh) if restart else StartRequested("a", fresh)
        if self.told.tell(event) is not None:
            self.told.kept_down = before

    @rule()
    def ask(self) -> None:
        self.told.tell(CheckRequested("a"))

    @rule()
    def restore(self) -> None:
        self.told.ordered += 1
        if self.told.tell(RestorationRequested("a")) is not None:
            self.told.ordered -= 1
        elif self.told.agent.session is not None:
            self.told.lost_sessions.add(self.told.agent.session.session_id)

    # What holds at all times.

    @invariant()
    def no_question_holds_a_code(self) -> None:
        questions = [text for text in self.told.sent() if "take the place of" not in text]
        assert not any(hexes_in(text, *self.told.plantings) for text in questions)

    @invariant()
    def no_row_of_the_story_holds_a_code(self) -> None:
        said = " ".join(f"{one.reason} {one.readings} {one.facts}" for one in self.told.decisions[-20:])
        assert not hexes_in(said, *self.told.plantings)

    @invariant()
    def restorations_come_step_by_step(self) -> None:
        assert ORDER.fullmatch("".join(map(str, self.told.steps))), self.told.steps

    @invariant()
    def at_most_two_in_an_hour(self) -> None:
        own = [at for at, ordered in self.told.ended_for if not ordered]
        for first, third in zip(own, own[2:], strict=False):
            assert third - first >= HOUR or self.told.at < first, own

    @invariant()
    def what_is_stopped_stays_so(self) -> None:
        if self.told.kept_down:
            assert isinstance(self.told.state, Stopped | Stopping)
            assert not self.told.known.is_restoring or isinstance(self.told.state, Stopping)

    @invariant()
    def every_face_can_show_it_and_marks_are_right(self) -> None:
        check(self.told.fleet)
        assert project(self.told.fleet, self.told.now)

    @invariant()
    def ticks_come_to_rest(self) -> None:
        fleet, now = self.told.fleet, Moment(self.told.at, self.told.wall, 0.5, "rest")
        for _ in range(20):
            due = next_deadline(fleet, now)
            if due is None or due > self.told.at:
                return
            fleet = step(fleet, Tick(), now).fleet
        raise AssertionError("the alarm rings for ever")

    # Left in peace, a lost context is found out, and one that is whole is verified.

    def teardown(self) -> None:
        told = self.told
        told.wall = max(told.wall, told.at + 1_800_000_000.0)
        for is_whole in (True, False):
            self.in_peace()
            if not is_whole:
                told.memory = None
            before, limit = len(told.verdicts), INTERVAL + MOST_DEFERRED + 1
            # One more that tells new codes, where they were spent or dropped meanwhile, and one that orders them.
            for _ in range(2 * limit + 2):
                if told.known.step or not isinstance(told.state, Running):
                    break
                told.turn()
                told.carry_out("well")
                if told.verdicts[before:] and told.verdicts[-1] in ("intact", "lost"):
                    break
            assert told.verdicts[before:], (told.known, told.agent.reason)
            assert told.verdicts[-1] == ("intact" if is_whole else "lost"), (told.known, told.verdicts)

    def in_peace(self) -> None:
        """Bring it to running and idle, with the codes of its session in its context."""
        told = self.told
        told.kept_down = False
        told.called = False
        told.tell(StartRequested("a"))
        told.tell(RestartRequested("a", fresh=True))
        for _ in range(20):
            if isinstance(told.state, Stopping):
                told.exited(143)
            if isinstance(told.state, Starting):
                told.carry_out("well")
                told.up()
            if isinstance(told.state, Running):
                break
            told.wait(301)
        assert isinstance(told.state, Running), told.agent.reason
        assert not isinstance(told.state, Quarantined)
        told.carry_out("well")
        told.wrong = 0
        told.turn()


TestResonanceMachine = ResonanceMachine.TestCase
TestResonanceMachine.settings = settings(stateful_step_count=50)
