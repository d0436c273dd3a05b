"""Armed answers: what an agent's shim is told beforehand to answer a hook with, and what became of that.

Other parts arm and disarm; the shim answers without asking anybody, and tells each use. What stands is armed again
wherever its run is adopted, and what is spent never is. Of two answers that would hold up a turn's end one stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from phoenixd.core.actions import Action, Arm, Disarm
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Stopping
from phoenixd.core.armed_answer import Armed, ArmedAnswer, On
from phoenixd.core.decision import Decision, Seen, one_reason
from phoenixd.core.events.runs import AgentStarted, ArmedUsed, RunAdopted
from phoenixd.core.moment import Instant, Moment, in_words
from phoenixd.core.spec import Kind
from phoenixd.core.traits import traits_of
from phoenixd.core.transitions import with_run

LINK = 2
"""The first protocol of the link that knows armed answers."""

MOST, REMEMBERED = 8, 24
"""Answers that may stand for one run, and those of it that are remembered."""
MAX_TEXT, MAX_TIMES, MAX_TOOLS, MAX_TOOL = 4000, 1000, 32, 128
MAX_SECONDS = 24 * 3600.0

FIRST = ("freeze", "challenge")
"""The purposes that hold up a turn's end before others; any other purpose comes after these."""

WHEN: dict[On, str] = {"stop": "at a turn's end", "tool": "before a call", "compaction": "before a compaction"}
GIVEN: dict[On, str] = {
    "stop": "its turn was not let end",
    "tool": "a call of its was denied",
    "compaction": "its compaction was blocked",
}

DOES: dict[On, str] = {
    "stop": "does not let its turn end",
    "tool": "denies calls",
    "compaction": "blocks its compaction",
}

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Able:
    """Whether an agent can be armed; why_not is a sentence for people, and empty where it can."""

    why_not: str = ""

    def __bool__(self) -> bool:
        return not self.why_not


def can(agent: Agent, on: On = "stop") -> Able:
    """Whether this agent's CLI and its shim take such an answer now; where they do not, `send` is the other way."""
    run, spec = agent.run, agent.spec
    traits = traits_of(spec.harness)
    if run is None or isinstance(agent.state, Stopping):
        return Able("no run of it is alive")
    if spec.kind is Kind.EPHEMERAL:
        return Able("an ephemeral agent is done when its turn is over, and nothing holds that up")
    alone = next((one for one in spec.argv[1:] if one in traits.one_turn_flags), None)
    if alone is not None:
        return Able(f"with {alone} its CLI is done when its turn is over, and nothing holds that up")
    if on not in traits.takes_armed:
        return Able(f"its CLI takes no answer {WHEN[on]}")
    if not spec.has_hooks and not agent.hooks_seen:
        return Able("its program has reported no event, so nothing tells that it reads what the hook program prints")
    if run.link == 0:
        return Able("its shim has not said yet what it can do")
    if run.link < LINK:
        return Able(
            "its shim is of an older version, which takes no answers beforehand; it goes with: phoenixctl down --agents"
        )
    return Able()


def refusal(agent: Agent, answer: ArmedAnswer, now: Moment) -> str:
    """Why this answer cannot be armed; empty where it can."""
    able = can(agent, answer.on)
    if not able:
        return able.why_not
    if problem := _problem(answer, now):
        return problem
    others = [one for one in standing(agent, now.at) if one.answer.id != answer.id]
    known = of(agent, answer.id)
    if known is not None:
        if replace(known.answer, until=answer.until) != answer:
            return f"{answer.id} is the name of another answer"
        if known.is_spent or known.over:
            return f"{answer.id} was {'taken back' if known.over else 'given already'}: arm another one"
    if answer.on == "stop":
        held = next((one.answer for one in others if one.answer.on == "stop"), None)
        if held is not None and _rank(held) <= _rank(answer):
            return f"its next turn's end is held up already ({held.purpose})"
    return f"{MOST} answers stand ready for it already" if len(others) >= MOST else ""


def arm(decision: Decision, answer: ArmedAnswer, now: Moment) -> Decision:
    """The decision with that answer armed. Where it cannot be, the reason says so; `refusal` tells beforehand.

    The same answer once more only moves its end. One at a turn's end takes the place of a less urgent one.
    """
    agent = decision.agent
    if agent is None:
        return decision
    if why := refusal(agent, answer, now):
        return _noted(decision, f"not armed ({answer.purpose}): {why}")
    known = of(agent, answer.id)
    if known is not None and known.answer == answer:
        return decision
    actions: list[Action] = []
    if answer.on == "stop":
        late = [one.answer for one in standing(agent, now.at) if one.answer.on == "stop" and one.answer.id != answer.id]
        actions += [Disarm(agent.name, agent.incarnation, one.id) for one in late]
        agent = _taken_back(agent, {one.id for one in late})
    entry = Armed(answer, agent.incarnation, known.uses if known is not None else 0)
    kept = [one for one in agent.armed if one.incarnation == agent.incarnation and one.answer.id != answer.id]
    forgotten = [one for one in kept if not one.stands(agent.incarnation, now.at)][: max(0, len(kept) + 1 - REMEMBERED)]
    armed = replace(agent, armed=(*(one for one in kept if one not in forgotten), entry))
    actions.append(Arm(agent.name, agent.incarnation, answer))
    said = f"armed {WHEN[answer.on]} ({answer.purpose})" if known is None else f"armed for longer ({answer.purpose})"
    return _noted(replace(decision, agent=armed, actions=(*decision.actions, *actions)), said)


def disarm(decision: Decision, *ids: str) -> Decision:
    """The decision with these answers taken back; of those that do not stand nothing is said."""
    agent = decision.agent
    if agent is None:
        return decision
    mine = [one for one in (of(agent, id) for id in ids) if one is not None and not one.over]
    if not mine:
        return decision
    actions = tuple(Disarm(agent.name, agent.incarnation, one.answer.id) for one in mine)
    agent = _taken_back(agent, {one.answer.id for one in mine})
    told = ", ".join(dict.fromkeys(one.answer.purpose for one in mine))
    return _noted(replace(decision, agent=agent, actions=(*decision.actions, *actions)), f"disarmed ({told})")


def of(agent: Agent, id: str) -> Armed | None:
    """What is known of an answer that was armed for the living run, given, taken back or not; None for any other."""
    if agent.run is None:
        return None
    return next((one for one in agent.armed if (one.answer.id, one.incarnation) == (id, agent.incarnation)), None)


def standing(agent: Agent, at: Instant) -> tuple[Armed, ...]:
    """What its shim would answer now."""
    if agent.run is None:
        return ()
    return tuple(one for one in agent.armed if one.stands(agent.incarnation, at))


def are_ours(agent: Agent, text: str) -> bool:
    """Whether a prompt is the reason that held up a turn's end: some CLIs tell it as one, and nobody submitted it."""
    said = text.strip()
    mine = (one.answer for one in agent.armed if one.incarnation == agent.incarnation and one.answer.on == "stop")
    return bool(said) and any(one.text.strip().startswith(said) for one in mine)


def told(agent: Agent, at: Instant) -> tuple[str, ...]:
    """What stands, for people; without denials that another one, for the same purpose and of every call, covers."""
    known = standing(agent, at)
    whole = {one.answer.purpose for one in known if one.answer.on == "tool" and not one.answer.tools}
    return tuple(words(one, at) for one in known if not (one.answer.tools and one.answer.purpose in whole))


def words(one: Armed, at: Instant) -> str:
    """An answer that stands, for people: who wants it, what it does and how often, and how long it stands."""
    answer = one.answer
    left, tools = answer.times - one.uses, f" of {', '.join(answer.tools)}" if answer.tools else ""
    does = "denies every call" if answer.on == "tool" and not answer.tools else f"{DOES[answer.on]}{tools}"
    times = "once" if left == 1 else f"up to {left} times"
    return f"{answer.purpose}: {does}, {times}, for {in_words(answer.until - at)}"


def hear_use(agent: Agent, event: ArmedUsed, seen: Seen, now: Moment) -> Decision:
    """An answer was given. The shim counts, and says the same again until it is known to be kept."""
    known = of(agent, event.id)
    if known is None or event.uses <= known.uses:
        return Decision(agent)
    used = _counted(agent, known, event.uses)
    if known.uses and known.answer.on == "tool":
        # A model that tries again and again is one row, and a count.
        return Decision(used)
    readings = (("armed", event.id), ("uses", event.uses), ("times", known.answer.times))
    return Decision(used, reason=f"{GIVEN[known.answer.on]}, as armed ({known.answer.purpose})", readings=readings)


def meet(agent: Agent, event: AgentStarted | RunAdopted, seen: Seen, now: Moment) -> Decision:
    """A run began, or was found alive: take in what its shim can and what it holds, and arm again what it lacks."""
    decision, run = seen.decision, agent.run
    if run is None:
        return decision
    if event.link and event.link != run.link:
        agent = with_run(agent, replace(run, link=event.link))
        decision = replace(decision, agent=agent)
    held = event.armed if isinstance(event, RunAdopted) else None
    if held is None:
        return decision
    for id, uses in held:
        known = of(agent, id)
        if known is not None and uses > known.uses:
            agent = _counted(agent, known, uses)
            decision = _noted(
                replace(decision, agent=agent), f"{GIVEN[known.answer.on]} meanwhile ({known.answer.purpose})"
            )
    if isinstance(agent.state, Stopping):
        return decision
    # Nobody here armed it, or it was taken back and that may never have arrived.
    strange = [
        Disarm(agent.name, agent.incarnation, id) for id, _ in held if (one := of(agent, id)) is None or one.over
    ]
    lacking = [one.answer for one in standing(agent, now.at)]
    again = [Arm(agent.name, agent.incarnation, one) for one in lacking]
    told = ", ".join(dict.fromkeys(one.purpose for one in lacking))
    decision = replace(decision, actions=(*decision.actions, *strange, *again))
    return _noted(decision, f"armed again ({told})") if told else decision


def _problem(answer: ArmedAnswer, now: Moment) -> str:
    """What is wrong with an answer by itself."""
    if not _ID.fullmatch(answer.id):
        return f"{answer.id!r:.80} is no name of an answer"
    if not answer.text or len(answer.text) > MAX_TEXT:
        return f"its text has {len(answer.text)} characters, and may have 1 to {MAX_TEXT}"
    if not 1 <= answer.times <= MAX_TIMES:
        return f"it is to be given {answer.times} times, and may be 1 to {MAX_TIMES} times"
    if not 0 < answer.until - now.at <= MAX_SECONDS:
        return f"it is to stand for {answer.until - now.at:.0f} s, and may for 1 to {MAX_SECONDS:.0f} s"
    if answer.tools and answer.on != "tool":
        return "it names tools, and is not about calls"
    if len(answer.tools) > MAX_TOOLS or any(not 0 < len(one) <= MAX_TOOL for one in answer.tools):
        return f"it names more than {MAX_TOOLS} tools, or one of more than {MAX_TOOL} characters"
    return ""


def _rank(answer: ArmedAnswer) -> int:
    return FIRST.index(answer.purpose) if answer.purpose in FIRST else len(FIRST)


def _counted(agent: Agent, known: Armed, uses: int) -> Agent:
    counted = replace(known, uses=uses)
    return replace(agent, armed=tuple(counted if one is known else one for one in agent.armed))


def _taken_back(agent: Agent, ids: set[str]) -> Agent:
    over = (replace(one, over=True) if one.answer.id in ids else one for one in agent.armed)
    return replace(agent, armed=tuple(over))


def _noted(decision: Decision, words: str) -> Decision:
    return replace(decision, reason=one_reason(decision.reason, words))
