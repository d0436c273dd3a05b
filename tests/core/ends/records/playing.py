"""What the core decides of an end that is told by records: evidence, the tail of the transcript, the runs before it.

`tests.core.ends` plays it: here is only what each record means, written before a case was played.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.state import Parked, Quarantined, Starting
from phoenixd.core.deadlines import next_deadline
from phoenixd.core.events.runs import ShimLost, TreeGone
from phoenixd.core.kind import Kind
from tests.blind.frozen import Case, Corpus, wall_of
from tests.core.ends.playing import (
    CRASHED,
    FINISHED,
    FRESH,
    FULL,
    GIVE_UP,
    HANGS,
    LEAVE,
    LIMIT,
    LOGIN,
    OF_DETAIL,
    ORDER,
    OUTSIDE,
    PARK,
    PROVED,
    RESUME,
    START,
    End,
)
from tests.core.ends.reading import SIGNALS, WORDS, Facts, Turn
from tests.core.ends.records.missed import MISSED

RECORDS = Corpus(Path(__file__).parent, "ends-open.json", "ends-held.json", MISSED)


HEADLESS = {"claude": ("claude", "-p"), "codex": ("codex", "exec"), "gemini": ("gemini", "--prompt", "go on")}
CLASSES = {
    FINISHED: ("finished", "deliberate"), ORDER: ("deliberate",), CRASHED: ("crash",), START: ("crash", "refused"),
    LIMIT: ("limit",), LOGIN: ("refused",), FULL: ("context_full",), OUTSIDE: ("killed",), HANGS: ("killed",),
}  # fmt: skip
"""The words of `tests.core.ends` in those of these cases."""
NEXT = {
    RESUME: "resume",
    FRESH: "fresh with brief",
    PARK: "wait until",
    GIVE_UP: "give up and alert",
    LEAVE: "stays down",
}
FEW, LONG, CLOSE = 300.0, 300.0, 600.0
"""Seconds: a run before the first that is told of; from when on a run made a call; how near a time to wait until is."""
BACKOFF = 60.0
"""Seconds: who waits no longer is begun again after a pause, and does not wait for a limit."""
ENOUGH = 30 * 3600.0
"""Seconds within which a limit is over."""
_LEFT = re.compile(r"/quit|/exit|Ctrl-D|Ctrl-C|prompt_input_exit|SessionEnd")
_RESET = re.compile(r"resets?_at[= ]+(\S+Z)")


@dataclass(frozen=True, slots=True)
class Answer:
    """classes: every word of the cases for what the core concludes. until: until when is waited (wall)."""

    classes: tuple[str, ...]
    next: str
    go_on: bool
    until: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run before. by_us: phoenixd ended it as hung. fails: its last turn failed as that of the last run did."""

    ended: float
    code: int | None
    signal: int | None
    by_us: bool
    fails: bool
    turn: Turn


@dataclass(frozen=True, slots=True)
class Read:
    """late: seconds from the end until the daemon hears of it. lost: no record tells how it ended."""

    facts: Facts
    earlier: tuple[Earlier, ...] = ()
    late: float = 0.0
    lost: bool = False


def read(case: Case) -> Read:
    harness, context = case["harness"], case["context"]
    evidence, tail = " | ".join(case["evidence_who"]), case["transcript_tail"]
    is_headless = case["mode"] != "interactive resident" and case["mode"].partition(" ")[0] != "interactive"
    argv = HEADLESS.get(harness, (harness,)) if is_headless else (harness,)
    facts = Facts(harness, argv, Kind(case["kind"]), lived=float(case["ran_seconds"]), wall=wall_of(case["ended_at"]))
    facts = replace(
        facts,
        policy=context.get("restart_policy", context.get("policy", "on-failure")),
        session=context.get("loop_session", "fresh"),
        has_hooks=harness != "command",
        work="new" if context.get("workspace_changed") else "git:same",
        attended="no client attached" not in evidence and "client attached" in evidence,
        turn=_turn(case),
        calls=max(sum(one.get("result") == "ok" for one in tail), int(case["ran_seconds"] >= LONG)),
        in_flight=_in_flight(tail),
    )
    facts = _end(facts, case["exit"], evidence)
    facts = _said(facts, tail)
    ids = re.search(r"run id of the ended run: (\S+)", evidence)
    order = re.search(r"stop intent(?! *: none) recorded([^|]*)", evidence)
    if order is not None and (ids is None or ids[1] in order[1]):
        facts = replace(facts, ordered="restart" if "restart" in order[1] else "stop")
    if _LEFT.search(f"{evidence} {tail[-1]['text'] if tail else ''}") and facts.attended:
        facts = replace(facts, session_end=("prompt_input_exit",) if harness == "claude" else ("other",))
    if "No conversation found" in f"{evidence} {tail}":
        facts = replace(facts, resumed=True, turn="none")
    age = context.get("session_age")
    earlier = tuple(_earlier(one, facts) for one in case["earlier_runs"])
    if age is not None and not earlier and _seconds(age) > case["ran_seconds"] + FEW:
        facts = replace(facts, resumed=True)
    late = max(0.0, wall_of(case["judged_at"]) - wall_of(case["ended_at"]))
    return Read(facts, earlier, late, "unknown" in case["exit"])


def answer(case: Case) -> Answer:
    return _Recorded(read(case)).answered()


def is_right(case: Case, found: Answer) -> bool:
    """By the class, by what is done, until when is waited, and whether the next run is told to go on."""
    expected, also = case["expected"], case.get("also_accept", {})
    classes, nexts = ({expected[key], *also.get(key, ())} for key in ("class", "next"))
    told = {expected["tell_go_on"], *also.get("tell_go_on", ())}
    until = expected.get("wait_until")
    is_near = found.until is not None and until is not None and abs(found.until - wall_of(until)) <= CLOSE
    return (
        not classes.isdisjoint(found.classes)
        and found.next in nexts
        and (found.next != "wait until" or until is None or is_near)
        and ("either" in told or ("yes" if found.go_on else "no") in told)
    )


# --- what the records say ---


def _seconds(age: str) -> float:
    return sum(
        int(number) * {"d": 86400, "h": 3600, "m": 60, "s": 1}[unit]
        for number, unit in re.findall(r"(\d+)([dhms])", age)
    )


def _turn(case: Case) -> Turn:
    is_open, tail = case["context"].get("open_turn"), case["transcript_tail"]
    if is_open is None:
        is_open = not (tail and tail[-1]["text"].startswith(("Stop", "/"))) and case["harness"] != "command"
    return "open" if is_open else "ended"


def _in_flight(tail: list[Case]) -> str:
    calls = [one for one in tail if one["who"] == "tool"]
    return str(calls[-1].get("tool", "Bash")) if calls and "result" not in calls[-1] else ""


def _end(facts: Facts, how: Case, evidence: str) -> Facts:
    """The exit, and who brought it about where that is phoenixd, the host or the terminal."""
    code, signal = how.get("code"), how.get("signal")
    if signal is not None:
        signal = int(signal) if str(signal).isdigit() else SIGNALS[f"SIG{signal}"]
    facts = replace(facts, code=code, signal=signal)
    if code in (124, 125) and re.search(r"\bdaemon (?:killed|ended)", evidence):
        facts = replace(facts, by_us="hung" if code == 124 else "overtime")
    if re.search(
        r"exec(?:ve)? (?:of .*)?failed|[Nn]o such file or directory|command not found|not executable", evidence
    ):
        facts = replace(facts, never_ran=evidence)
    if re.search(
        r"tmux server (?:ended|died|was killed|gone)|terminal (?:was )?(?:lost|closed|gone)|SIGHUP from", evidence
    ):
        facts = replace(facts, cause="terminal_lost")
    if re.search(r"reboot|boot id|another boot", evidence):
        facts = replace(facts, cause="reboot")
    if signal == 9 and re.search(r"out of memory|oom", evidence, re.I) and "no kernel message" not in evidence:
        is_group = re.search(r"memcg|memory\.events|cgroup|oom_memcg|CONSTRAINT_MEMCG", evidence)
        facts = replace(facts, oom="agent" if is_group else "host")
    return facts


def _said(facts: Facts, tail: list[Case]) -> Facts:
    """What the CLI itself says of its last turn: its own records, and nothing that a tool or the agent wrote."""
    own = " ".join(one["text"] for one in tail[-2:] if one["who"] == "system" or one.get("model") == "<synthetic>")
    is_told = re.search(r"StopFailure|is_error true|API Error|turn\.failed|error:", own)
    if not is_told or facts.harness == "command":
        return facts
    named = re.search(r"error[= ]+([a-z]+(?:_[a-z]+)+)", own.partition("StopFailure")[2])
    word = named[1] if named else next((word for pattern, word in WORDS if re.search(pattern, own, re.I)), "unknown")
    told = re.search(r"<synthetic>: (.*)|result '([^']*)'|(\[?API Error: [^\]]*\]?)", own)
    text = next((one for one in told.groups() if one), own) if told else own
    reset = _RESET.search(own)
    return replace(facts, error=word, text=text.strip(), resets_at=wall_of(reset[1]) if reset else None)


def _earlier(one: Case, last: Facts) -> Earlier:
    said = str(one["end"])
    code = re.match(r"(?:exit(?: code)? )?(\d+)\b", said)
    signal = re.search(r"signal (\w+)|SIG(\w+)|\b(KILL|TERM|ABRT|SEGV|INT|HUP)\b", said)
    name = next((part for part in signal.groups() if part), "") if signal else ""
    number = (int(name) if name.isdigit() else SIGNALS.get(f"SIG{name}")) if name else None
    turn: Turn = "ended" if re.search(r"done|idle|clean|turn closed", said) else last.turn
    return Earlier(
        ended=wall_of(one["ended_at"]),
        code=int(code[1]) if code and number is None else None,
        signal=number,
        by_us=bool(code and code[1] == "124"),
        fails="same" in said and bool(last.error) and "same session" not in said,
        turn=turn,
    )


class _Recorded(End):
    def __init__(self, told: Read) -> None:
        self.read = told
        super().__init__(told.facts)
        assert told.facts.wall is not None
        first = told.earlier[0].ended - FEW if told.earlier else told.facts.wall - told.facts.lived
        self.wall = first - (PROVED if told.facts.resumed and not told.earlier else 0.0)

    def answered(self) -> Answer:
        facts = self.facts
        self.start()
        if facts.resumed and not self.read.earlier:
            self.runs_for(PROVED, "open", 1)
            self.ends(1, None)
            self.respawned()
        for one in self.read.earlier:
            self.decisions.clear()
            self.kept.clear()
            run = self.run.incarnation
            self.ran_before(one)
            if isinstance(self.state, Quarantined):
                # By an end before the last one; what the case tells after that cannot happen.
                return self.answer_of(run)
            self.respawned()
        assert facts.wall is not None
        self.pass_over(max(0.0, facts.wall - facts.lived - self.wall))
        self.decisions.clear()
        self.kept.clear()
        run = self.run.incarnation
        self.last_run()
        return self.answer_of(run)

    def answer_of(self, run: int) -> Answer:
        classes = tuple(dict.fromkeys(one for word in self.words(run) for one in CLASSES[word]))
        told = self.wall
        does = self.does()
        parking = self.agent.parking if does == PARK else None
        until = parking.until_wall if parking is not None else None
        begins, go_on = self.next_start()
        if until is not None and until - told <= BACKOFF:
            # Nothing is left to wait for: the same pause lies before a start after a crash.
            does, until = begins, None
        return Answer(classes, NEXT[does], go_on, until, self.agent.reason if "a" in self.fleet.agents else "")

    def ran_before(self, one: Earlier) -> None:
        # Nothing says how long it lived: as long as the last one did, as far as there was time.
        lived = max(5.0, min(one.ended - self.wall, self.facts.lived))
        self.pass_over(max(0.0, one.ended - lived - self.wall))
        if one.by_us:
            self.runs_for(lived, one.turn, 1, self.facts.in_flight)
            self.ended_by_us()
            return
        self.runs_for(lived, one.turn, int(lived >= LONG))
        if one.fails:
            self.fails()
        self.ends(one.code, one.signal)

    def ended_by_us(self) -> None:
        for _ in range(60):
            if self.agent.state_name == "stopping":
                break
            self.wait(45.0)
        self.ends(None, 9)

    def fails(self) -> None:
        # What is heard late is told when the daemon is there again.
        self.pass_over(self.read.late)
        super().fails()

    def ends(self, code: int | None, signal: int | None) -> None:
        if self.read.lost and not self.read.facts.cause == "reboot":
            run = self.run.incarnation
            self.tell(ShimLost("a", run))
            self.tell(TreeGone("a", run))
            return
        super().ends(code, signal)

    def words(self, run: int) -> tuple[str, ...]:
        found = self.what(run)
        if found == (ORDER,) and not self.facts.ordered and (why := self.diagnosis(run)) is not None:
            # phoenixd has ended it by itself, for what its clinic says.
            found = OF_DETAIL.get(why.detail, found)
        return (HANGS,) if HANGS in found else found

    def next_start(self) -> tuple[str, bool]:
        """How the next run begins, once what it waits for is over, and whether it is told to go on."""
        until = self.at + ENOUGH
        while "a" in self.fleet.agents and isinstance(self.state, Parked) and self.at < until:
            due = next_deadline(self.fleet, self.now)
            assert due is not None, "it waits for ever"
            self.wait(max(0.001, due - self.at))
        if "a" not in self.fleet.agents or not isinstance(self.state, Starting):
            return LEAVE, False
        return RESUME if self.spawn.mode == "resume" else FRESH, self.spawn.prompt is PromptKind.CONTINUE
