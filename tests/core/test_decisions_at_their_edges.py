"""What plain decisions come to at their edges, as it was when it was last written down.

What a decision says, orders and changes: as it is, with one fact changed, and with two where they mean something else
together. Behind each change stands a digest of what it comes to with each other one.
`python -m tests.core.recorded` writes the tables anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from hashlib import sha256
from itertools import combinations
from typing import Any

import pytest

from phoenixd.core import armed
from phoenixd.core import breaker as breakers
from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Running, Stopped
from phoenixd.core.armed_answer import Armed, ArmedAnswer
from phoenixd.core.breaker import Breaker, Closed, HalfOpen, Open, Signals, Tally
from phoenixd.core.decision import Decision, Seen
from phoenixd.core.events.resonance import AnchorSeen, CodesPlanted, CodesSeen, FooterSeen, PlantingFailed, SeedRead
from phoenixd.core.limits.state import Parking, ParkingKind
from phoenixd.core.moment import Moment
from phoenixd.core.resonance import checks, codes, due, verdict
from phoenixd.core.resonance.state import ANCHOR, Asked, Challenge, Resonance, Restoration, Step
from phoenixd.core.rules import BreakerRules, ResonanceRules
from phoenixd.core.work import Deed, Findings
from phoenixd.documents.hooks import hook_of
from tests.core.happening import PLANTING
from tests.core.recorded.rendering import changes, value
from tests.core.recorded.tables import compare
from tests.core.resonating import resonant
from tests.core.story import EPOCH, Story
from tests.core.test_edges import Edges, of

NOW = Moment(10_000.0, EPOCH, 0.5)


Said = tuple[str, ...]
Rule = Callable[[dict[str, Any]], Said]


def rows(rule: Rule, base: dict[str, Any], edges: Edges) -> Iterator[str]:
    """What a rule says of a base, of each change of it, and of two that mean something else together."""
    plain = rule(base)
    edited = [(name, one) for name, found in edges.items() for one in found]
    alone = [rule({**base, name: one}) for name, one in edited]
    beside = [""] * len(edited)
    others = []
    for (first, (name, one)), (second, (other, two)) in combinations(enumerate(edited), 2):
        if name == other:
            continue
        both = rule({**base, name: one, other: two})
        beside[first] += "; ".join(both)
        beside[second] += "; ".join(both)
        kept = {said for said in plain if said in alone[first] and said in alone[second]}
        new = {said for said in (*alone[first], *alone[second]) if said not in plain}
        if set(both) not in (kept | new, set(alone[first]), set(alone[second])):
            others.append(f"{name}={value(one)} {other}={value(two)}: {'; '.join(both)}")
    yield f"as it is: {'; '.join(plain)}"
    for (name, one), said, more in zip(edited, alone, beside, strict=True):
        digest = sha256(more.encode()).hexdigest()[:6]
        yield f"{name}={value(one)}: {'; '.join(said) if said != plain else 'as it is'} #{digest}"
    yield from others


def came(before: Agent, decision: Decision | None) -> Said:
    """What a decision about one agent says, orders and changes."""
    if decision is None:
        return ("nothing",)
    orders = (*decision.actions, *decision.facts)
    said = (
        *([decision.reason] if decision.reason else ()),
        *(f"{name}={value(one)}" for name, one in decision.readings),
    )
    weight = (f"[{decision.weight}]",) if decision.weight else ()
    return (*said, *map(value, orders), *weight, *changed(before, decision.agent))


def changed(before: Any, after: Any) -> Said:
    return tuple(changes("", before, after)) if after is not None else ("gone",)


# Breakers.

TALLY = Tally(9, last_progress=5, seen=("older", "same"), made=("k1",), newest="nothing", verdict="nothing")
BREAKERS: Edges = {
    "breaker": ("warned", "on trial", "open"),
    "before": (None,), "after": (None, "new", "older"), "excuse": ("rate limit",), "error": ("429", "500"),
    "denials": (1,), "tokens": (500, 501), "achieved": ("it passed",), "no_progress": (0, 2, 3), "notes": (0, 2),
    "deeds": ((Deed("commit", "k1"),), (Deed("push", "k2"), Deed("push", "k3")),
              (Deed("commit", "k4", notes=True),)),
    "noted": (("n1", "n1"), ("n1", "n2")), "lost": ("git is slow",), "ruled": (True,),
}  # fmt: skip


def judgement(given: dict[str, Any]) -> Said:
    tally = replace(TALLY, no_progress=given["no_progress"], notes=given["notes"])
    if given["ruled"]:
        tally = replace(tally, error="429", same_error=1, denied=1, tokens=500)
    states: dict[str, Breaker] = {
        "closed": Closed(tally), "warned": HalfOpen(tally, "warning", "w"), "on trial": HalfOpen(tally, "trial", "t"),
        "open": Open(tally, "o", 9_000.0, EPOCH - 1000),
    }  # fmt: skip
    before = states[given["breaker"]]
    rules = BreakerRules(warn=2, stop=4, notes_stop=3)
    if given["ruled"]:
        rules = replace(rules, permission_denials=2, same_error=2, token_ceiling=1000)
    found = Findings(deeds=given["deeds"], notes=given["noted"], lost=given["lost"])
    judged = breakers.judge(before, given["before"], given["after"], of(Signals, given), rules, NOW, found)
    flags = [name for name in ("progress", "held", "changed") if getattr(judged, name)]
    return (judged.reason, *flags, *changed(before, judged.breaker))


def vars_of(one: Any) -> dict[str, Any]:
    return {field.name: getattr(one, field.name) for field in fields(one)}


# Resonance.

RESONANT = Story(resonant(interval_turns=3)).works().agent
assert isinstance(RESONANT.state, Running)
RESONANT = replace(RESONANT, state=replace(RESONANT.state, run=replace(RESONANT.state.run, link=armed.LINK)))
MARKER, CODES = PLANTING.marker, PLANTING.codes
CHALLENGE = Challenge("c1", 2, RESONANT.incarnation, kept=True, kept_wall=EPOCH - 20)
GOES_ON = Restoration(Step.SEED, "two checks were missed", EPOCH - 60, 9_940.0, 1)
KNOWN = Resonance(PLANTING, told=True, proven=True, state="intact", turns=1, note="before", persona="The Architect")


def resonates(given: dict[str, Any]) -> Agent:
    """An agent with what is known of its marker, and what stands ready with its shim."""
    known = of(Resonance, {**vars_of(KNOWN), **given})
    if known.planting is not None and "burnt" in given:
        known = replace(known, planting=replace(known.planting, burnt=frozenset(CODES[: given["burnt"]])))
    agent = replace(RESONANT, resonance=known, armed=given.get("armed", ()))
    if "rules" in given:
        agent = replace(agent, spec=replace(agent.spec, resonance=given["rules"]))
    if "state_is" in given:
        agent = replace(agent, state=given["state_is"])
    return agent


def judged(given: dict[str, Any]) -> Said:
    agent = resonates({**given, "state": given["was"]})
    challenge = of(Challenge, {**vars_of(CHALLENGE), **given})
    assert agent.resonance is not None
    return came(agent, verdict.answered(agent, agent.resonance, challenge, given["answer"], NOW))


def withdrawn(given: dict[str, Any]) -> Said:
    agent = resonates({"asked": Asked("aaaaa2", given["asked"], given["judged"]), "due": given["due"]})
    assert agent.resonance is not None
    return came(agent, verdict.withdrawn(agent, agent.resonance, frozenset(given["codes"]), given["at"]))


def hears(handler: Callable[..., Decision], event: Callable[[dict[str, Any]], Any]) -> Rule:
    def heard(given: dict[str, Any]) -> Said:
        agent = resonates(given)
        if given.get("unknown"):
            agent = replace(agent, resonance=None)
        return came(agent, handler(agent, event(given), Seen(agent, Decision(agent)), NOW))

    return heard


def stands(uses: int = 0, **changes: Any) -> tuple[Armed, ...]:
    answer = ArmedAnswer("c1", "stop", "Which code?", 20_000.0, "challenge", spares_questions=True)
    return (Armed(replace(answer, **changes), RESONANT.incarnation, uses=uses),)


def ready(given: dict[str, Any]) -> Said:
    agent = resonates(given)
    assert agent.resonance is not None
    return (f"put off: {due.put_off(agent, agent.resonance)}", *came(agent, due.follow(agent, NOW)))


READY = replace(CHALLENGE, kept=False)
HOOKS: dict[str, dict[str, Any]] = {
    "stop": {"text": "Done, aaaaa1."}, "stop-blocked": {"text": "Done."}, "stop-failure": {"error": "API Error"},
    "prompt-submit": {"text": "Go on."}, "compacted": {}, "session-start": {"source": "clear"},
}  # fmt: skip
PARKED = replace(RESONANT.limits, parking=Parking(ParkingKind.LIMIT, EPOCH + 60, 9_900.0, "its limit"))
OFF = ResonanceRules(enabled="off")
COMPACTS = ResonanceRules(enabled="on", overflow="compaction")
UNKNOWN: Edges = {"unknown": (True,), "ordered": (None,)}

TABLES: dict[str, tuple[Rule, dict[str, Any], Edges]] = {
    "breakers": (
        judgement,
        {
            "breaker": "closed",
            "before": "same",
            "after": "same",
            "no_progress": 1,
            "notes": 1,
            "deeds": (),
            "noted": (None, None),
            "lost": "",
            "ruled": False,
        },
        BREAKERS,
    ),
    "checks": (
        judged,
        {"answer": "I do not know.", "was": "intact", "number": 2},
        {
            "answer": ("aaaaa2", "the weight of the morning", " ", "aaaaa1"),
            "number": (ANCHOR,),
            "calls": (("Bash", "Read", "Bash"),),
            "shown": (True,),
            "disturbed": (True,),
            "proven": (False,),
            "compacted": (True,),
            "misses": (1,),
            "degraded": (verdict.MOST_DEGRADED - 1, verdict.MOST_DEGRADED),
            "due": ("footer",),
            "planting": (None,),
            "rules": (OFF, ResonanceRules(overflow="compaction")),
            "restoration": (GOES_ON,),
        },
    ),
    "checks-in-which-it-worked": (
        judged,
        {"answer": "The lint is well now.", "was": "intact", "number": 2, "calls": ("Bash",), "rules": COMPACTS},
        {
            "answer": ("aaaaa2", " "),
            "shown": (True,),
            "disturbed": (True,),
            "proven": (False,),
            "compacted": (True,),
            "misses": (1,),
            "due": ("footer",),
            "restoration": (GOES_ON,),
        },
    ),
    "proofs-that-are-withdrawn": (
        withdrawn,
        {"codes": ("aaaaa2",), "asked": 100.0, "judged": 110.0, "at": 105.0, "due": ""},
        {
            "codes": (("aaaaa1",),),
            "at": (99.9, 100.0, 110.0, 110.1),
            "judged": (90.0,),
            "due": ("footer",),
        },
    ),
    "codes-that-are-planted": (
        hears(
            codes.hear_planted,
            lambda given: CodesPlanted(
                "a",
                1,
                given["planted"],
                EPOCH,
                given["as_persona"],
                rebuilt=given["rebuilt"],
            ),
        ),
        {"planted": PLANTING, "as_persona": "", "rebuilt": "", "ordered": "start"},
        {
            **UNKNOWN,
            "ordered": (None, "spent", "clear", "degraded", "missing", "restoration"),
            "as_persona": ("The Tester",),
            "rebuilt": ("it was torn",),
            "planted": (replace(PLANTING, codes=("aaaaa1", "aaaaa1")),),
        },
    ),
    "codes-that-are-not-planted": (
        hears(codes.hear_failed_planting, lambda given: PlantingFailed("a", 1, "no room")),
        {"ordered": "start"},
        {**UNKNOWN, "due": ("footer",)},
    ),
    "anchors": (
        hears(codes.hear_anchor, lambda given: AnchorSeen("a", 1, given["marker"], EPOCH)),
        {"marker": MARKER.code, "proven": False, "told": False},
        {
            "unknown": (True,),
            "planting": (None,),
            "proven": (True,),
            "marker": ("000000",),
            "told": (True,),
        },
    ),
    "codes-that-are-seen": (
        hears(codes.hear_seen, lambda given: CodesSeen("a", 1, given["seen"], given["where"], EPOCH - 10)),
        {"seen": ("aaaaa2",), "where": "a file"},
        {
            "unknown": (True,),
            "planting": (None, replace(PLANTING, burnt=frozenset({"aaaaa2"}))),
            "seen": (("bbbbbb",), ("aaaaa1", "aaaaa3")),
            "where": ("x" * 90,),
            "challenge": (CHALLENGE, replace(CHALLENGE, number=ANCHOR), READY),
            "asked": (Asked("aaaaa2", EPOCH - 20, EPOCH),),
        },
    ),
    "footers": (
        hears(codes.hear_footer, lambda given: FooterSeen("a", 1, MARKER.code, given["role"], given["says"], EPOCH)),
        {"role": "The Architect", "says": "Stable"},
        {
            "unknown": (True,),
            "role": ("The Tester", "x" * 90),
            "says": ("Degraded", "Unsure"),
            "persona": ("",),
            "due": ("error",),
            "footer": (("The Architect", "Stable"), ("The Architect", "Degraded")),
        },
    ),
    "seeds": (
        hears(codes.hear_seed, lambda given: SeedRead("a", 1, given["rebuilt"], "its words", EPOCH - 60)),
        {"rebuilt": "", "restoration": GOES_ON},
        {
            "unknown": (True,),
            "rebuilt": ("it was torn",),
            "restoration": (None, replace(GOES_ON, read=True), replace(GOES_ON, step=Step.SESSION)),
        },
    ),
    "what-a-turns-end-is-to-bring": (
        ready,
        {"due": "again"},
        {
            "planting": (None, replace(PLANTING, mode="classic")),
            "burnt": (1, 2, 3),
            "told": (False,),
            "ordered": ("spent",),
            "misses": (1,),
            "lost": ("no seed",),
            "due": ("",),
            "turns": (2, 3),
            "deferred": (1, due.MOST_DEFERRED - 1, due.MOST_DEFERRED),
            "challenge": (READY, CHALLENGE, replace(READY, spares=False)),
            "armed": (stands(), stands(1), stands(until=NOW.at), stands(purpose="freeze")),
            "restoration": (GOES_ON, replace(GOES_ON, step=Step.VERIFY), replace(GOES_ON, step=Step.RESUME)),
            "rules": (OFF, ResonanceRules(interval_turns=2, overflow="silent")),
            "state_is": (Stopped(), replace(RESONANT.state, exit_due=NOW.at + 1)),  # type: ignore[arg-type]
        },
    ),
    "hooks-that-checks-hear": (
        hears(checks.hear, lambda given: hook_of("a", 1, given["kind"], sub=given["sub"], **HOOKS[given["kind"]])),
        {"kind": "stop", "sub": False},
        {
            "unknown": (True,),
            "kind": tuple(HOOKS),
            "sub": (True,),
            "planting": (None,),
            "ordered": ("spent",),
            "told": (False,),
            "state": ("unverifiable",),
            "turns": (0, 2),
            "due": ("again",),
            "deferred": (1,),
            "misses": (1,),
            "compacted": (True,),
            "degraded": (2,),
            "lost": ("no seed",),
            "note": ("",),
            "challenge": (READY, CHALLENGE),
            "armed": (stands(), stands(1)),
            "rules": (OFF,),
            "state_is": (Stopped(),),
        },
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_decision_comes_at_its_edges_to_what_it_came_to(name: str) -> None:
    compare(name, rows(*TABLES[name]))
