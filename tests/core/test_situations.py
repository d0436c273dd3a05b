"""Which silence is a hang: 0 false kills and 0 missed hangs over everything that has fooled such a watch before.

Each row says what happens at which minute of a turn, and then either that nobody may end the agent, or at which minute
it has to be ended and with which code (124: hung, 125: longer than an iteration may take).
"""

from __future__ import annotations

import pytest

from phoenixd.core.rules import LivenessRules, LoopRules
from phoenixd.core.spec import Kind
from tests.core.situations import (
    HOUR,
    MINUTE,
    YEAR,
    Situation,
    Watched,
    allows,
    asks,
    beats,
    begins,
    burns,
    daemon_down,
    ends,
    every,
    freezes,
    grows,
    hook,
    prompt,
    rechecks,
    sees,
    sets_clock,
    shows,
    stop,
    suspends,
    timed,
)
from tests.core.story import claude, spec

BUSY_SUBAGENT = (begins("Read", "s", sub=True), ends("Read", "s", sub=True))
LOOP = claude(kind=Kind.LOOP)
LONG_LOOP = claude(kind=Kind.LOOP, loop=LoopRules(max_runtime=0))
PROGRAM = spec(prompt="Keep the till running.", heartbeat_file="/srv/shop/beat.json")


def lives(name: str, *steps: object, **more: object) -> Situation:
    return Situation(name, timed(*steps), None, **more)  # type: ignore[arg-type]


def hangs(name: str, minute: float, *steps: object, code: int = 124, **more: object) -> Situation:
    alerts = ("hung",) if code == 124 else ("overtime",)
    return Situation(name, timed(*steps), (minute, code), **{"alerts": alerts, **more})  # type: ignore[arg-type]


# A row is read across; the formatter would give each argument a line of its own.
# fmt: off
SITUATIONS = [
    # Plain silence.
    hangs("silent from the first prompt on", 15),
    hangs("works for an hour, then falls silent", 75, every(5, 60, begins("Bash"), ends("Bash"))),
    hangs("an undeclared call hangs in pytest", 17, (2, begins("Bash"))),
    hangs("the model's answer never comes after a tool", 18, (1, begins("Read")), (3, ends("Read"))),
    hangs("silent after a compaction", 16, (0.5, hook("pre-compact", trigger="auto")), (1, hook("compacted"))),
    hangs("silent at 14:59 it would not be, at 15:00 it is", 29.98, (14.98, grows())),
    hangs("its own limit of 40 minutes", 40, specs=(claude(liveness=LivenessRules(stale=40 * MINUTE)),)),
    # Declared calls.
    lives("a declared call of 60 minutes that ends in time",
          (1, begins("Bash", minutes=60)), (60.5, ends("Bash")), (61, stop())),
    hangs("a declared call of 60 minutes that never ends", 62, (1, begins("Bash", minutes=60))),
    hangs("a declared call of 2 minutes hangs", 16, (1, begins("Bash", minutes=2))),
    hangs("a declared call of a year is believed for two hours", 122, (1, begins("Bash", minutes=525_600))),
    hangs("silent after a declared call has ended", 20,
          (1, begins("Bash", minutes=60)), (5, ends("Bash"))),
    hangs("silent after a declared call has failed", 20,
          (1, begins("Bash", minutes=60)), (5, ends("Bash", kind="tool-failure"))),
    lives("two calls at once, the short one's end is not the long one's",
          (1, begins("Bash", "a", minutes=50)), (1, begins("Read", "b")), (2, ends("Read", "b")),
          (50, ends("Bash", "a")), (51, stop())),
    hangs("a call left behind by a turn that was broken off does not cover the next turn", 35,
          (1, begins("Bash", minutes=110)), (20, prompt())),
    # Work of an open call.
    lives("a build of 25 minutes that declares nothing", (1, begins("Bash")), (1, burns(cpu=55)), (26, ends("Bash")),
          (27, stop())),
    lives("a copy of 25 minutes that waits for the disk", (1, begins("Bash")), (1, burns(cpu=0.2, mib=3)),
          (26, ends("Bash")), (27, stop())),
    lives("a build that pauses for ten minutes", (1, begins("Bash")), (1, burns(cpu=50)), (8, burns()),
          (18, burns(cpu=50)), (28, ends("Bash")), (29, stop())),
    lives("a build that begins to work after fourteen minutes", (1, begins("Bash")), (14.9, burns(cpu=50)),
          (28, ends("Bash")), (29, stop())),
    hangs("a build that blocks after ten minutes", 26, (1, begins("Bash")), (1, burns(cpu=50)), (11, burns())),
    hangs("a build that the CLI should have ended after 30 minutes", 32, (1, begins("Bash")), (1, burns(cpu=55))),
    hangs("a tool without a limit of its own that works for ever", 121, (1, begins("mcp__ci__wait")),
          (1, burns(cpu=55))),
    hangs("a blocked test beside a spinner", 17, (2, begins("Bash")), (2, burns(cpu=0.6, mib=0.2))),
    hangs("a call that declared ten minutes, and works on", 16, (1, begins("Bash", minutes=10)), (1, burns(cpu=55))),
    lives("a subagent's build of 25 minutes", (1, begins("Task", "task")), (2, begins("Bash", "s", sub=True)),
          (2, burns(cpu=55)), (27, ends("Bash", "s", sub=True)), (28, ends("Task", "task")), (29, stop())),
    hangs("a subagent's tool that works for ever", 121, (1, begins("Task", "task")),
          (2, begins("mcp__ci__wait", "s", sub=True)), (2, burns(cpu=55))),
    hangs("what a subagent's earlier call left behind works on", 18, (1, begins("Task", "task")),
          (2, begins("Bash", "s", sub=True)), (2, burns(cpu=55)), (3, ends("Bash", "s", sub=True))),
    hangs("a server works on after its call has ended", 18, (2, begins("Bash")), (2, burns(cpu=55)), (3, ends("Bash"))),
    lives("a denied call covers no build of the next one",
          (1, begins("Bash", "a")), (1.1, hook("permission-denied", tool_name="Bash", tool_use_id="a")),
          (40, begins("Bash", "b")), (40, burns(cpu=55)), (65, ends("Bash", "b")), (66, stop()),
          *every(10, 40, grows())),
    lives("a call that ended without a word covers no build of the next one",
          (1, begins("Bash", "a")), every(10, 40, grows()), (40, begins("Bash", "b")), (40, burns(cpu=55)),
          (65, ends("Bash", "b")), (66, stop())),
    lives("the daemon is down in the middle of a build", (1, begins("Bash")), (1, burns(cpu=55)),
          (10, daemon_down(5 * MINUTE)), (26, ends("Bash")), (27, stop())),
    lives("the host sleeps in the middle of a build", (1, begins("Bash")), (1, burns(cpu=55)), (10, suspends(HOUR)),
          (26, ends("Bash")), (27, stop())),
    # Subagents.
    lives("a Task call of 50 minutes with busy subagents",
          (1, begins("Task", "task")), every(6, 48, *BUSY_SUBAGENT), (50, ends("Task", "task")), (51, stop())),
    hangs("a Task call of 50 minutes whose subagents die after 10", 25,
          (1, begins("Task", "task")), every(2, 10, *BUSY_SUBAGENT)),
    hangs("a Task call from which no subagent is ever heard", 16, (1, begins("Task", "task"))),
    hangs("busy subagents without an open Task call, the main thread dead", 15, every(2, 30, *BUSY_SUBAGENT)),
    hangs("subagents that go on after their Task call has ended", 20,
          (1, begins("Task", "task")), (5, ends("Task", "task")), every(2, 40, *BUSY_SUBAGENT)),
    hangs("subagents that are busy for ever", 121, (1, begins("Task", "task")), every(5, 180, *BUSY_SUBAGENT)),
    lives("a subagent's declared call of 40 minutes",
          (1, begins("Task", "task")), (2, begins("Bash", "s", minutes=40, sub=True)),
          (42, ends("Bash", "s", sub=True)), (44, ends("Task", "task")), (45, stop())),
    lives("a subagent's declared call of 40 minutes, and a neighbour that comes and goes meanwhile",
          (1, begins("Task", "a")), (1, begins("Task", "b")), (2, begins("Bash", "s1", minutes=40, sub=True)),
          (3, begins("Read", "s2", sub=True)), (4, ends("Read", "s2", sub=True)), (5, ends("Task", "b")),
          (42, ends("Bash", "s1", sub=True)), (44, ends("Task", "a")), (45, stop())),
    hangs("a subagent's declared call that ended covers no silence after it", 20,
          (1, begins("Task", "task")), (2, begins("Bash", "s", minutes=60, sub=True)),
          (5, ends("Bash", "s", sub=True))),
    hangs("a subagent's declared call that never ends", 43,
          (1, begins("Task", "task")), (2, begins("Bash", "s", minutes=40, sub=True))),
    lives("a subagent in the background, the turn is over",
          (1, begins("Task", "task")), (1.1, ends("Task", "task")), (2, stop()), every(5, 100, *BUSY_SUBAGENT)),
    # Idle.
    lives("idle for three hours", (5, stop())),
    lives("idle after an error of the API", (5, stop("stop-failure", error="server_error")), (5, sees("idle")),
          (6, prompt()), (6, sees("working")), (10, stop())),
    lives("idle because a person broke the turn off, and no hook told", (5, sees("idle"))),
    lives("idle after the notification that says so", (5, hook("notification", notification_type="idle_prompt"))),
    lives("idle after /clear", (5, hook("session-start", source="clear"))),
    hangs("the next turn after three idle hours hangs", 195, (5, stop()), (180, prompt())),
    hangs("the CLI gives itself a turn after three idle hours, and hangs", 195,
          (5, stop()), (180, prompt("<task-notification>done</task-notification>"))),
    # People.
    lives("a permission that nobody gives for six hours", (5, asks()), alerts=("permission",)),
    lives("a question of which no hook tells", (5, sees("question")), alerts=("dialog",)),
    lives("a login that has run out", (5, stop("stop-failure", error="authentication_failed")), alerts=("login",)),
    lives("a permission given after 50 minutes, to a declared call of 40 that takes them",
          (1, begins("Bash", minutes=40)), (1.1, asks()), (51, allows()), (90, ends("Bash")), (91, stop()),
          alerts=("permission",)),
    hangs("a permission given after 50 minutes, and then silence", 66,
          (1, begins("Bash")), (1.1, asks()), (50, allows()), alerts=("permission", "hung"), late=5),
    lives("a subagent's permission given after three hours, and its Task call goes on for one",
          (1, begins("Task", "task")), (2, asks(sub=True)), (182, allows()), every(5, 240, *BUSY_SUBAGENT, since=185),
          (241, ends("Task", "task")), (242, stop()), alerts=("permission",)),
    lives("an iteration that waits for a person is not counted as long", (5, asks()), specs=(LOOP,),
          alerts=("permission",)),
    hangs("an iteration that waited for an hour has its 45 minutes besides", 105, (5, asks()), (65, allows()),
          every(5, 300, ends("Bash"), since=70), code=125, specs=(LOOP,), alerts=("permission", "overtime"), late=5),
    # Much evidence of little.
    lives("long thinking, the transcript grows", every(10, 90, grows()), (91, stop())),
    hangs("long thinking that stops growing", 105, every(10, 90, grows())),
    lives("all tools fail", every(5, 120, begins("Bash"), ends("Bash", kind="tool-failure")), (121, stop())),
    lives("a compaction of 14 minutes",
          (1, hook("pre-compact", trigger="auto")), (14.9, hook("compacted")), (20, stop())),
    lives("a rate limit: the turn ended, and the account waits", (5, stop("stop-failure", error="rate_limit")),
          (5, sees("idle")), (24, prompt()), (24, sees("working")), (30, stop())),
    hangs("an iteration is busy for ever", 45, every(2, 60, ends("Bash")), code=125, specs=(LOOP,)),
    # F-HB-11: a beat that a loop forges saves it from the one limit, and not from the other.
    hangs("an iteration is busy for ever under another hand's heartbeat", 45, every(2, 60, beats()), code=125,
          specs=(LOOP,)),
    lives("an iteration without a limit", every(5, 350, ends("Bash")), (351, stop()), specs=(LONG_LOOP,)),
    # Time.
    lives("the host sleeps for a night in the middle of a call",
          (1, begins("Bash", minutes=30)), (5, suspends(9 * HOUR)), (30, ends("Bash")), (31, stop())),
    hangs("a hang is found after the night as well", 15, (5, suspends(9 * HOUR))),
    lives("the clock is set one year ahead", (5, sets_clock(YEAR)), (14, ends("Bash")), (20, stop())),
    lives("the clock is set one year back", (5, sets_clock(-YEAR)), (14, ends("Bash")), (20, stop())),
    hangs("a hang under a clock that was set one year ahead", 15, (5, sets_clock(YEAR))),
    hangs("a hang under a clock that was set one year back", 15, (5, sets_clock(-YEAR))),
    lives("the daemon is stopped for two hours", (5, freezes(2 * HOUR)), (14, ends("Bash")), (20, stop())),
    hangs("a hang while the daemon is stopped for two hours", 15, (5, freezes(2 * HOUR))),
    lives("the daemon is down for an hour, the agent works on",
          (5, daemon_down(HOUR)), (19, ends("Bash")), (25, stop())),
    hangs("the daemon is down for an hour, the agent hangs before it", 20, (5, daemon_down(HOUR))),
    lives("the daemon is down in the middle of a declared call",
          (1, begins("Bash", minutes=40)), (2, grows()), (5, daemon_down(5 * MINUTE)), (36, ends("Bash")), (37, stop()),
          specs=(claude(liveness=LivenessRules(stale=35 * MINUTE)),)),
    hangs("cron has every agent looked at every 5 minutes", 15, every(5, 60, rechecks())),
    # Heartbeats of any hand.
    hangs("a program that never beats", 15, specs=(PROGRAM,)),
    lives("a program that beats", every(10, 350, beats()), specs=(PROGRAM,), watched=360),
    hangs("a program that stops beating", 75, every(10, 60, beats()), specs=(PROGRAM,)),
    lives("a torn heartbeat counts from its writing", every(10, 350, beats(None)), specs=(PROGRAM,), watched=360),
    lives("a heartbeat from the future counts from its writing", every(10, 350, beats(-60 * 24 * 365)),
          specs=(PROGRAM,), watched=360, alerts=("clock",)),
    hangs("a heartbeat that says it is 20 minutes old", 6, (5, beats(20))),
    hangs("a heartbeat that says it is 14 minutes old", 6, (5, beats(14))),
    lives("an idle agent's heartbeat says it is 20 minutes old", (4, stop()), (5, beats(20))),
    lives("a heartbeat that says it is 20 minutes old, from an agent in a declared call",
          (1, begins("Bash", minutes=30)), (5, beats(20)), (30, ends("Bash")), (31, stop())),
    # A timestamp alone ends nobody.
    lives("a hook every 10 seconds, and a heartbeat of an hour ago every minute", every(1 / 6, 60, ends("Read")),
          every(1, 60, beats(60)), (61, stop()), alerts=("clock",)),
    lives("a hook every 10 minutes, and a container's clock an hour behind", every(10, 60, ends("Read")),
          every(1, 60, beats(60)), (61, stop()), alerts=("clock",)),
    lives("a hook every 10 minutes, and a heartbeat of 1970", every(10, 60, ends("Read")),
          (5, beats(56 * 365 * 24 * 60)), (61, stop()), alerts=("clock",)),
    lives("a clock that is hours behind, in a program that only beats", every(10, 350, beats(300)), specs=(PROGRAM,),
          watched=360, alerts=("clock",)),
    lives("a clock that is 20 minutes behind, in a program that beats twice a minute", every(0.5, 350, beats(20)),
          specs=(PROGRAM,), watched=360, alerts=("clock",)),
    lives("a heartbeat of 20 minutes ago, and a hook before the next check", every(5, 60, beats(20)),
          every(5, 61, ends("Read"), since=0.9), (61, stop())),
    lives("a heartbeat of 20 minutes ago, and the transcript grows before the next check", every(5, 60, beats(20)),
          every(5, 61, grows(), since=0.9), (61, stop())),
    lives("two agents write one file, and one of them has a clock that is 20 minutes behind", every(1, 60, beats()),
          every(1, 60, beats(20), since=0.5), (61, stop())),
    lives("the daemon is down between a claim and the check of it", (5, beats(20)), (5.5, daemon_down(5 * MINUTE)),
          (19, ends("Read")), (21, stop())),
    lives("a heartbeat of 20 minutes ago while it waits for a person", (5, asks()), (6, beats(20)), (50, allows()),
          (58, ends("Bash")), (60, stop()), alerts=("permission",)),
    hangs("a claim that only a subagent contradicts", 6, (5, beats(30)), (5.5, ends("Read", sub=True))),
    hangs("the same old heartbeat again and again", 6, (5, beats(20)), (5.02, beats(20)), (5.04, beats(20))),
    hangs("a program that beats once, at its start", 15.1, (0.1, beats()), specs=(PROGRAM,)),
    hangs("silent after its wrong clock was told", 20, (5, beats(60)), alerts=("clock", "hung")),
    # No evidence can come.
    lives("its hooks are missing: nothing can be concluded", (1, shows("working")), begins_turn=False,
          alerts=("hooks missing",)),
    lives("a program of which nothing is known to arrive", specs=(spec(prompt="Keep the till running."),)),
    hangs("an iteration that never says anything", 15, specs=(spec(kind=Kind.LOOP),)),
    # Neighbours.
    hangs("two agents in one repository: the busy one does not keep the hung one alive", 15,
          every(2, 60, ends("Bash", name="b")), specs=(claude("a"), claude("b"))),
    lives("two agents in one repository: the hung one does not take the busy one with it",
          every(2, 60, ends("Bash")), (61, stop()), specs=(claude("a"), claude("b")), alerts=("hung",)),
]
# fmt: on


def test_the_corpus_is_no_smaller_than_it_was() -> None:
    assert len(SITUATIONS) >= 70
    assert len({situation.name for situation in SITUATIONS}) == len(SITUATIONS)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_promise_4_no_false_kill_and_no_missed_hang(situation: Situation) -> None:
    found, alerts, watched = situation.play()

    told = "\n".join(watched.reasons)
    if situation.ends is None:
        assert found is None, told
    else:
        minute, code = situation.ends
        assert found is not None, told
        assert found[1] == code, told
        assert minute - 0.01 <= found[0] <= minute + situation.late, told
    assert alerts == situation.alerts


def test_situations_are_played_on_the_daemons_own_clock() -> None:
    watched = Watched(claude())
    watched.begin(True)
    freezes(HOUR)(watched)
    assert watched.minute == 0
    watched.wait_until(10)
    assert watched.minute == pytest.approx(10)
