"""What the core says of an agent at a moment: each sign is told as the daemon would hear it, in virtual time.

What a sign is stands here, written before a case was played: nothing depends on which case it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from phoenixd.core.actions import Deliver
from phoenixd.core.agent.run import Run
from phoenixd.core.agent.state import Running
from phoenixd.core.condition import activity_word
from phoenixd.core.kind import Kind
from phoenixd.core.limits.state import ParkingKind
from phoenixd.core.question.call import DIALOGS
from phoenixd.core.rules import LivenessRules
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.session_facts import SessionReading
from phoenixd.harness import HARNESSES
from phoenixd.harness.failed_turn import failed_turn
from tests.blind.frozen import Case, Corpus, wall_of
from tests.blind.tables import quantity
from tests.blind.world import World
from tests.core.full_contexts.writing import encoded, writer
from tests.core.turns.missed import MISSED

TURNS = Corpus(Path(__file__).parent, "turns-open.json", "turns-held.json", MISSED)

Sign = dict[str, Any]

NAME, GOAL = "a", "Build the shop."
WORKING, IDLE, WAITS, HUNG, FAILED, LIMITED = (
    "working", "idle", "waiting for a person", "hung", "failed turn", "limited",
)  # fmt: skip
_PREFIX = re.compile(r"^(?:event_msg )?(?:\w+ )?error:\s*")
"""What stands before the words of a failure in a record."""


@dataclass(frozen=True, slots=True)
class Answer:
    """words: every word of the cases that says what the core concludes."""

    words: tuple[str, ...]
    reason: str


def answer(case: Case) -> Answer:
    return _Signs(case).answered()


def is_right(case: Case, found: Answer) -> bool:
    return not {case["expected"], *case["also_accept"]}.isdisjoint(found.words)


def _spec(case: Case) -> AgentSpec:
    told = {**case["config"], **({"subagent_max": case["subagent_max"]} if "subagent_max" in case else {})}
    known: dict[str, Any] = {name: quantity(value) for name, value in told.items() if name in LivenessRules.__slots__}
    kind, harness = Kind(case["kind"]), case["harness"]
    return AgentSpec(
        name=NAME,
        argv=(harness,),
        cwd="/srv/shop",
        kind=kind,
        harness=harness,
        prompt=GOAL if kind in (Kind.LOOP, Kind.EPHEMERAL) else None,
        heartbeat_file="/srv/shop/beat.json" if harness == "command" else None,
        liveness=replace(LivenessRules(), **known),
    )


class _Unanswered(World):
    """Nobody takes what the daemon types: what is not among the signs did not happen."""

    def _delivered(self, name: str, action: Deliver) -> None:
        pass


class _Signs:
    def __init__(self, case: Case) -> None:
        self.case, self.spec = case, _spec(case)
        self.began, self.calls = wall_of(case["spawned_at"]), 0
        self.world = _Unanswered([self.spec], self.begins, self.began)

    def begins(self, name: str, run: Run) -> None:
        """The signs are those of the first run."""
        if run.incarnation != 1:
            return
        asleep = 0.0
        signs = self.case["signs"]
        for at, sign in enumerate(signs):
            self.world.at(wall_of(sign["at"]) - self.began - asleep, self.told(sign))
            if sign["sign"] == "host_suspended":
                woke = next(one for one in signs[at:] if one["sign"] == "host_resumed")
                asleep += wall_of(woke["at"]) - wall_of(sign["at"])
        self.until = wall_of(self.case["T"]) - self.began - asleep

    def told(self, sign: Sign) -> Callable[[], None]:
        def tell() -> None:
            run = self.world.agent(NAME).run
            if run is not None and run.incarnation == 1:
                self.tell(sign)

        return tell

    def answered(self) -> Answer:
        # The run begins at once, and its signs say until when it is watched.
        self.world.play(0.0)
        self.world.play(self.until)
        words, reason = self.words(), self.world.agent(NAME).reason
        if HUNG not in words:
            # It is looked at every check_interval: so much later it may be ended.
            self.world.play(self.until + self.spec.liveness.check_interval)
            if self.is_hung():
                return Answer((*words, HUNG), reason)
        return Answer(words, reason)

    def is_hung(self) -> bool:
        return any(kind == "hung" for _, kind in self.world.ends[NAME])

    def words(self) -> tuple[str, ...]:
        agent = self.world.agent(NAME)
        if self.is_hung():
            return (HUNG,)
        if agent.parking is not None:
            return (LIMITED,) if agent.parking.kind is ParkingKind.LIMIT else (FAILED,)
        state = agent.state
        if isinstance(state, Running) and (waiting := state.activity.waiting) is not None:
            # A turn that failed waits for a person as well.
            return (WAITS,) if waiting.kind in DIALOGS else (WAITS, FAILED)
        word = activity_word(agent)
        if word is None and isinstance(state, Running):
            word = WORKING if state.activity.turn_open else IDLE
        return (word or agent.state_name,)

    # --- signs ---

    def tell(self, sign: Sign) -> None:
        world, name = self.world, sign["sign"]
        match name:
            case "session_start":
                world.say(NAME, "session-start", source=sign.get("source", "startup"))
            case "prompt_submitted":
                world.say(NAME, "prompt-submit", prompt=sign.get("text", GOAL))
            case "tool_start" | "tool_end" | "tool_failed":
                self.call(sign)
            case "stop":
                world.say(NAME, "subagent-stop" if "agent_id" in sign else "stop", **_whose(sign))
            case "stop_failure":
                self.fails(sign)
            case "notification":
                world.say(NAME, "notification", notification_type=sign.get("type", ""), **_whose(sign))
            case "heartbeat":
                world.evidence(NAME, "heartbeat", quantity(sign.get("age", 0)))
            case "transcript_growth":
                self.grows(sign)
            case "api_error":
                world.evidence(NAME, "transcript")
            case "screen":
                world.screens[NAME] = _screen(sign["shows"])
            case "cpu":
                self.works(sign)
            case "host_suspended":
                signs = self.case["signs"]
                woke = next(one for one in signs[signs.index(sign) :] if one["sign"] == "host_resumed")
                world.wall += wall_of(woke["at"]) - wall_of(sign["at"])
            case "child_output" | "process_started" | "host_resumed":
                # The daemon hears nothing of these.
                pass
            case other:
                raise ValueError(f"a sign that nobody plays: {other}")

    def call(self, sign: Sign) -> None:
        ended = sign["sign"] != "tool_start"
        failed = sign["sign"] == "tool_failed" or sign.get("ok") is False
        kind = ("tool-failure" if failed else "tool-end") if ended else "tool-start"
        self.calls += 1
        asked: dict[str, Any] = {"command": sign.get("command", "make")}
        limit = sign.get("timeout", sign.get("declared_timeout"))
        if limit is not None:
            asked["timeout"] = int(quantity(limit) * 1000)
        if sign.get("background") or sign.get("run_in_background"):
            asked["run_in_background"] = True
        own = next(
            (
                one["tool"]
                for one in self.case["signs"]
                if "tool" in one and one.get("tool_use_id", "") == sign.get("tool_use_id")
            ),
            "Bash",
        )
        if own == "AskUserQuestion":
            asked = {"questions": [{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]}
        self.world.say(
            NAME,
            kind,
            tool_name=sign.get("tool", own),
            tool_use_id=sign.get("tool_use_id", f"n{self.calls}"),
            tool_input=asked,
            **_whose(sign),
        )

    def works(self, sign: Sign) -> None:
        """So much a minute, until the same processes are seen again."""
        of_a_call = _is_of_a_call(sign)
        cpu = float(sign.get("cpu_seconds_last_minute") or sign.get("cpu_seconds") or 0)
        io = float(sign.get("io_mib_last_minute", 0)) * 2**20
        later = [one for one in self.case["signs"] if one["sign"] == "cpu" and one["at"] > sign["at"]]
        following = next((one for one in later if _is_of_a_call(one) == of_a_call), None)
        minutes = (wall_of(following["at"] if following else self.case["T"]) - wall_of(sign["at"])) / 60
        for minute in range(max(1, int(minutes))):
            now = self.world.elapsed
            self.world.at(now + 60 * minute, lambda: self.world.works(NAME, cpu, io, of_a_call))

    def fails(self, sign: Sign) -> None:
        more: dict[str, Any] = {"resets_at": wall_of(sign["resets_at"])} if "resets_at" in sign else {}
        if said := sign.get("text", sign.get("message", sign.get("record"))):
            more["last_assistant_message"] = said
        self.world.say(NAME, "stop-failure", error=sign.get("error", "unknown"), **more)

    def grows(self, sign: Sign) -> None:
        if "agent_id" in sign or sign.get("sidechain"):
            return
        self.world.evidence(NAME, "transcript")
        record, cli = str(sign.get("record", "")), self.case["harness"]
        if re.search(r"\berror\b", record, re.I) is None or HARNESSES[cli].transcript_form is None:
            return
        agent, reading = self.world.agent(NAME), SessionReading()
        form = HARNESSES[cli].transcript_form
        assert form is not None
        assert agent.run is not None
        for line in writer(cli, agent.run.session_id).failed(self.world.wall, None, _PREFIX.sub("", record)):
            if (made := form.record(encoded(line))) is not None:
                reading.hear(made)
        failed = failed_turn(agent, reading.facts(), HARNESSES[cli], self.world.wall)
        if failed is not None:
            self.world.tell(failed)


def _whose(sign: Sign) -> dict[str, Any]:
    return {"agent_id": sign["agent_id"]} if "agent_id" in sign else {}


def _is_of_a_call(sign: Sign) -> bool:
    return re.search(r"\bown\b|CLI|begun before", str(sign.get("of", ""))) is None


def _screen(shows: str) -> str:
    if re.search(r"dialog|Do you want|1\.? Yes|\by/n\b|trust|permission", shows, re.I):
        return "permission"
    if re.search(r"(?<!no )spinner|esc to interrupt|Thinking|Working", shows, re.I):
        return "working"
    return "idle" if re.search(r"empty (?:input|prompt)|idle|input line|^❯|> $", shows, re.I) else "unknown"
