"""A seat comes to the step that a case names, and its messages are told as the daemon would hear them.

What a message is stands here, written before a case was played: nothing depends on which case it is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phoenixd.core.actions import Alert, CheckPackage, UpdatePapers, WritePackage
from phoenixd.core.decision import Refusal
from phoenixd.core.events.evidence import UsageSeen
from phoenixd.core.events.handoffs import AckFileSeen, HandoffAcked, PackageChecked, PackageWritten, PapersUpdated
from phoenixd.core.handoff import verdict
from phoenixd.core.handoff.state import Step
from phoenixd.documents.hooks import hook_of
from tests.blind.frozen import Case, Corpus, wall_of
from tests.core.acks.missed import MISSED
from tests.core.handing import OPENING, WORD, HandoffStory, orchestrator
from tests.core.story import Story

ACKS = Corpus(Path(__file__).parent, "acks-open.json", "acks-held.json", MISSED)

Message = dict[str, Any]

HOLDER, SUCCESSOR, STRANGER, WORKER = "o", "o-g2", "p", "w"
RETIRED, REWRITTEN, BACK, TOLD, NOTHING = (
    "predecessor retired", "package rewritten", "rollback", "alert", "nothing",
)  # fmt: skip
_FILL = re.compile(r"(\d[\d ]*) of (\d[\d ]*)")


@dataclass(frozen=True, slots=True)
class Answer:
    answer: str
    follows: tuple[str, ...]
    reason: str


def is_right(case: Case, found: Answer) -> bool:
    expected, also = case["expected"], case["also_accept"]
    answers = {expected["answer"], *also.get("answer", ())}
    follows = {expected["follows"], *also.get("follows", ())}
    must = expected.get("must_also")
    musts = {must} if isinstance(must, str) else set(must or ())
    return found.answer in answers and not follows.isdisjoint(found.follows) and musts <= set(found.follows)


def answer(case: Case) -> Answer:
    return _Seat(case).answered()


def _facts(package: Case) -> tuple[tuple[str, str], ...]:
    """What an ack has to quote, as the package of the case has it."""
    state = package["projectState"]
    return (
        ("phase", package["currentPhase"]),
        ("step", str(state["currentStep"])),
        ("completed", str(len(state["completedTasks"]))),
        ("pending", str(len(state["pendingTasks"]))),
    )


def _read(body: dict[str, Any]) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Hash, word and facts of a body, with all keys of it."""
    said = {key: value for key, value in body.items() if key not in ("facts", "package_hash")}
    return verdict.read({"word": WORD, **said, **(body.get("facts") or {}), "package": body.get("package_hash", "")})


class _Seat(HandoffStory):
    """The seat `o` with its successor `o-g2`; another seat `p`, and an agent `w` that is no orchestrator."""

    def __init__(self, case: Case) -> None:
        self.case, self.package, self.given = case, case["package"], case["daemon_state"]
        super().__init__(orchestrator(), orchestrator(STRANGER))
        self.first_run = 0
        self.refused: Refusal | None = None

    def tell(self, event: Any) -> Refusal | None:
        """As the story does, with the package of the case; what is written again takes its time."""
        seen = len(self.decisions)
        refusal = Story.tell(self, event)
        for action in [one for decision in self.decisions[seen:] for one in decision.actions]:
            if isinstance(action, UpdatePapers):
                self.tell(PapersUpdated(action.agent, action.handoff))
            if isinstance(action, WritePackage) and self.files != "never":
                own = self.package
                written = PackageWritten(
                    action.agent,
                    action.handoff,
                    own["recorded_hash"],
                    WORD,
                    _facts(own),
                    OPENING,
                    own["previousSessionId"],
                    own["newSessionId"],
                )
                self.tell(written)
            if isinstance(action, CheckPackage):
                self.tell(PackageChecked(action.agent, action.handoff, action.package, *self.doubted()))
        return refusal

    def doubted(self) -> tuple[bool, str]:
        """What the disk says against the package: that it was changed, and which of its files is gone."""
        disk, own = self.case["disk"], self.package
        is_changed = disk["package_file"] != "present" or disk["sha256_of_canonical_package"] != own["recorded_hash"]
        return is_changed, "" if disk["all_named_files_exist"] else "a file that the package names is not there"

    def comes_to_its_step(self) -> None:
        step, attempt = Step(self.given["step"]), int(self.given.get("attempt", 1))
        if step in (Step.FREEZE, Step.DRAIN, Step.UPDATE, Step.SNAPSHOT):
            self.works()
            self.begins()
            return
        self.drained()
        if step is Step.SPAWN and attempt == 1:
            return
        self.started_of(SUCCESSOR)
        self.first_run = self.incarnation(SUCCESSOR)
        if attempt > 1:
            self.wait(301)
            self.exits(SUCCESSOR, None, 15)
            self.started_of(SUCCESSOR)
        if step in (Step.ROLLBACK, Step.ROLLED_BACK):
            if attempt == 1:
                self.wait(301)
                self.exits(SUCCESSOR, None, 15)
                self.started_of(SUCCESSOR)
            self.wait(301)
            if step is Step.ROLLED_BACK:
                self.exits(SUCCESSOR, None, 15)
        elif step in (Step.FENCE, Step.SHUTDOWN, Step.DONE):
            own = self.package
            assert self.ack(SUCCESSOR, package=own["recorded_hash"], facts=_facts(own)) is None
            if step is Step.DONE:
                self.exits(HOLDER, None, 15)
        assert self.step is step, f"{self.step}, and not {step}"

    def incarnation(self, name: str) -> int:
        run = self.fleet.agents[name].run
        assert run is not None
        return run.incarnation

    def answered(self) -> Answer:
        self.comes_to_its_step()
        self.files = "never"
        if (fill := _FILL.search(str(self.given.get("note", "")))) is not None and self.find(SUCCESSOR) is not None:
            tokens, window = (int(one.replace(" ", "")) for one in fill.groups())
            run = self.incarnation(SUCCESSOR)
            self.tell(UsageSeen(SUCCESSOR, run, tokens, window, "transcript", self.wall))
        since = wall_of(self.given["awaiting_since"]) if self.given.get("awaiting_since") else None
        began = self.at
        asked = self.case["question"]["about_message"]
        for message in self.case["says"]:
            was = self.step
            if since is not None and self.step is Step.AWAIT_ACK:
                self.wait(max(0.0, wall_of(message["at"]) - since - (self.at - began)))
            before, seen = self.seat.generation, len(self.decisions)
            self.refused = self.says(message)
            if message["n"] == asked:
                break
        acts = [action for decision in self.decisions[seen:] for action in decision.actions]
        is_taken = self.seat.generation > before
        follows = [
            word
            for word, is_so in (
                (RETIRED, is_taken),
                (REWRITTEN, any(isinstance(one, WritePackage) for one in acts)),
                (BACK, was is Step.AWAIT_ACK and self.step in (Step.ROLLBACK, Step.ROLLED_BACK)),
                (TOLD, is_taken and self.is_told(seen)),
            )
            if is_so
        ]
        how = "accepted" if is_taken else "refused" if self.refused is not None else "ignored"
        return Answer(how, tuple(follows) or (NOTHING,), self.refused.message if self.refused else self.reasons[-1])

    def is_told(self, seen: int) -> bool:
        """Whether people are told of it, once the predecessor is gone."""
        if self.step is Step.SHUTDOWN:
            self.exits(HOLDER, None, 15)
        return any(isinstance(one, Alert) for decision in self.decisions[seen:] for one in decision.actions)

    # --- messages ---

    def says(self, message: Message) -> Refusal | None:
        """An ack command is an order; the end of an answer is heard by a hook; a file is found; all else is none."""
        channel, body, who = message["channel"], message["body"], self.sender(message["from"])
        if channel.startswith("ack command"):
            return self.commands(who, body)
        if channel.startswith("assistant text"):
            text = body if isinstance(body, str) else json.dumps(body)
            self.speaks(SUCCESSOR if who is None else who, text)
        elif channel.startswith("file"):
            self.writes(who, body)
        elif channel.startswith("tool"):
            self.hook_of(SUCCESSOR if who is None else who, "tool-end", tool="Bash")
        return None

    def sender(self, told: str) -> str | None:
        """Which agent it is by its run; None for the run of an attempt that is over."""
        own = self.package
        if own["newSessionId"] in told:
            return SUCCESSOR
        if own["previousSessionId"] in told:
            return HOLDER
        if re.search(r"attempt|first-try", told):
            return None
        return STRANGER

    def commands(self, who: str | None, body: Any) -> Refusal | None:
        if not isinstance(body, dict):
            return Refusal("invalid", "the acknowledgement is no JSON object", "")
        read = _read(body)
        if who is None:
            # No process of that run lives; a hook of it may come late.
            quoted = {"package": read[0], "word": read[1], **dict(read[2])}
            self.tell(hook_of(SUCCESSOR, self.first_run, "stop", text=f"HANDOFF-ACK {json.dumps(quoted)}"))
            return None
        if self.find(who) is None:
            return Refusal("conflict", "no successor is there", "")
        is_changed, gone = self.doubted()
        return self.tell(HandoffAcked(who, *read, by=who, changed=is_changed, missing=gone))

    def writes(self, who: str | None, body: dict[str, Any]) -> None:
        """A file in the successor's directory. The run that it names is that of its writer."""
        package, word, facts = _read(body)
        agent = self.find(who) if who is not None else self.find(SUCCESSOR)
        assert agent is not None
        assert agent.run is not None
        run = agent.run.run_id if who is not None else "the run of the try before"
        number = self.handoff.successor + body["generation"] - self.package["generation"]
        self.tell(AckFileSeen("o", self.handoff.id, "a", package, word, facts, run, body["session"], str(number)))

    def speaks(self, who: str, text: str) -> None:
        if self.find(who) is not None and self.fleet.agents[who].run is not None:
            self.hook_of(who, "stop", text=text)
