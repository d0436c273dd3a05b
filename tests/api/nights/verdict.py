"""Whether what is told of a night is what its author said: the rules were written before any page was changed for them.

The page of `since` is compared, and for the words of agents that of `status`. Wording and order are free, so a fact is
told where all that it names is on the page: whom, when a condition began and ended, how many, and what became of it.
When a single death was stands in `events`, and is no part of the sum.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.api.nights.missed import MISSED
from tests.api.nights.playing import Told
from tests.api.nights.reading import CLOCK, Read
from tests.blind.frozen import Case, Corpus

HERE = Path(__file__).parent
BY_HAND: dict[str, list[list[Any]]] = {
    **json.loads((HERE / "nights-readings.json").read_text()),
    **json.loads((HERE / "nights-readings-today.json").read_text()),
}
"""The steps by hand of the held nights: those of the first play, and for two nights a step that the player lacked."""
NIGHTS = Corpus(HERE, "since-open.json", "since-held.json", MISSED, sure="sure", by_hand=BY_HAND)
CONDITION = re.compile(
    r"quarantined|limit|down \d|degraded|outage|handed off|rolled back|reboot|ended by|stopped by|breaker|lost"
)
"""What has a beginning and an end that are told; a death has neither."""
SAID: tuple[tuple[str, str], ...] = (
    (r"healed", r"healed|productive since|at work again"),
    (r"not yet proved|not yet healed", r"not yet productive"),
    (r"\bconfirmed\b", r"confirmed|done"),
    (r"handed off|handoff", r"handoff"),
    (r"\blimit\b", r"limit"),
    (r"outage|overload", r"outage|overload|out of reach"),
    (r"quarantined", r"quarantine"),
    (r"phoenixd itself was down|daemon (?:was )?(?:down|dead|killed)", r"daemon was|nobody watched"),
    (r"adopted", r"adopted|ran on|lived on"),
    (r"degraded|disk full", r"degraded"),
    (r"cured|over\b", r"over|cured|to \d\d:\d\d"),
    (r"\bboth back|all back|are back", r"back|over"),
    (r"ended by the person|by a person", r"person"),
    (r"reboot", r"boot"),
    (r"task", r"task"),
    (r"breaker", r"breaker|no progress"),
    (r"removed", r"removed"),
    (r"answered", r"answered"),
    (r"\bstopped by|ordered to stop", r"stopped"),
)
"""What a fact says, and what then is on the page."""
AS = {
    "stuck": r"stuck|hung",
    "down": r"\bdown\b|not back|stopped|quarantined",
    "dead": r"\bdead\b|died|death",
    "gone": r"gone",
    "healed": r"(?<!not )healed",
    "running": r"\brunning\b|\bworking\b|\bidle\b",
    "a death": r"death",
    "death": r"death",
    "not come back": r"not back|not healed",
    "crashed": r"crash",
    "crash": r"crash",
    "quarantined": r"quarantine",
    "waiting": r"waiting",
    "failed": r"failed",
    "lost": r"lost",
    "open": r"open|waiting",
    "resumed": r"resumed",
    "stopped": r"stopped",
    "needing": r"waiting",
}
"""What nobody may be told as, in the words of pages."""
NEVER: tuple[tuple[str, str], ...] = (
    (r"heartbeat", r"heartbeat"),
    (r"idle_prompt", r"idle_prompt|idle prompt"),
    (r"notification", r"notification"),
    (r"ends? of turns?|turn ended", r"turns? ended|end of (?:a )?turn"),
    (r"backoff", r"back-?off|backing off"),
    (r"\blooks?\b", r"\blook(?:ed|s)\b"),
    (r"per ?cent|context at", r"\d ?%"),
    (r"brief", r"brief"),
    (r"\bidle\b", r"\bidle\b"),
    (r"retr", r"retr|tried"),
    (r"restart that did not", r"restarted|resumed|healed"),
    (r"alert as open", r"^  waiting"),
    (r"flap", r"flap"),
    (r"compact", r"compact"),
    (r"start of the daemon", r"daemon began"),
)
STATES: tuple[tuple[str, str], ...] = (
    (r"^unknown", r"unknown|deaf"),
    (r"waiting for|asks", r"waiting|dialog|permission|question"),
    (r"quarantined", r"quarantined"),
    (r"stopped|down on purpose", r"stopped"),
    (r"parked", r"parked"),
    (r"backing off|backoff", r"backing off"),
    (r"\(working\)", r"working"),
    (r"\(idle\)|resting", r"idle"),
    (r"removed|gone", r"^$"),
    (r"handing off", r"handing off"),
    (r"running", r"working|idle|waiting|running|parked|handing off|dialog|permission|handoff|rolled"),
)
"""What the word of a state means in the line of `status`; the first that fits."""


def wrong(case: Case, read: Read, told: Told) -> list[str]:
    """Each thing that is told otherwise than the author said; empty where all is right."""
    expected = case["expected"]
    return [
        *_needs(expected["needs_operator_now"], read, told),
        *(f"not told: {one}: {why}" for one in expected["happened"] if (why := _missing(one, read, told))),
        *_deaths(expected["happened"], told),
        *(f"told: {one}" for one in expected["must_not_be_told"] if _is_told(one, read, told)),
        *(f"{name} is {word!r}, and should be {state}" for name, state, word in _states(expected["state"], read, told)),
    ]


def _flat(page: str) -> str:
    """The page with its wrapped lines put together; its heading says nothing of the night."""
    lines: list[str] = []
    for line in page.splitlines()[1:]:
        if line.startswith(" " * 8) and lines:
            lines[-1] += " " + line.strip()
        elif not line.startswith(("each event:", "It is not")):
            lines.append(line)
    return "\n".join(lines)


def _has(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _needs(expected: list[str], read: Read, told: Told) -> Iterator[str]:
    page = _flat(told.page)
    found = {one["agent"] or "daemon" for one in told.since["waiting"]}
    found |= {"daemon" for one in told.since.get("alerts", ())}
    named = {one.partition(":")[0].strip("` "): one for one in expected}
    wanted = {name if name in read.agents else "daemon" for name in named}
    if missing := wanted - found:
        yield f"needs the operator, and is not told so: {', '.join(sorted(missing))}"
    if more := found - wanted:
        yield f"needs nobody, and is told so: {', '.join(sorted(more))}"
    for one in expected:
        if (asked := re.search(r"\([A-Z]\w+: ([^)]+)\)", one)) and asked[1] not in page:
            yield f"not told what is asked: {asked[1]}"
        if "command that answers" in one and "phoenixctl answer" not in told.page:
            yield "not told how it is answered"


def _missing(fact: str, read: Read, told: Told) -> str:
    """What of a fact is not on the page."""
    page, lacks = _flat(told.page), []
    names = [one for one in read.agents if _has(one, fact)]
    lacks += [one for one in names if not _has(one, page)]
    if (account := re.search(r"account (\w+)", fact)) and not re.search(rf"account {account[1]}", page):
        lacks.append(account[0])
    if CONDITION.search(fact):
        lacks += [one for one in re.findall(CLOCK, fact) if one not in page]
    for pattern, on_page in SAID:
        if re.search(pattern, fact) and not re.search(on_page, page):
            lacks.append(f"{pattern}")
            continue
        if pattern == "healed" and re.search(pattern, fact) and "not healed" not in fact:
            lacks += [f"healed: {one}" for one in names if not _clause(one, on_page, page)]
    if (by := re.search(r"\bby (?!itself|the person|a person|phoenixd)([a-z]+)\b", fact)) and not _has(by[1], page):
        lacks.append(f"by {by[1]}")
    if (many := re.search(r"(\d+) agents", fact)) and many[0] not in page:
        lacks.append(many[0])
    if (gen := re.search(r"gen(?:eration)? (\d+)", fact)) and not re.search(
        rf"gen(?:eration)? {gen[1]}|-g{gen[1]}", page
    ):
        lacks.append(gen[0])
    return ", ".join(lacks)


def _clause(name: str, pattern: str, page: str) -> bool:
    """Whether a line or a clause of the page says it of this name."""
    return any(_has(name, one) and re.search(pattern, one) for one in re.split(r"\n|; | {2,}", page))


def _deaths(facts: list[str], told: Told) -> Iterator[str]:
    counts = [int(one[1]) for fact in facts for one in re.finditer(r"(\d+) deaths?\b", fact)]
    if told.since["deaths"]["total"] != sum(counts) and not any("reboot" in one for one in facts):
        yield f"{told.since['deaths']['total']} deaths are told, and there were {sum(counts)}"


def _is_told(what: str, read: Read, told: Told) -> bool:
    page = _flat(told.page)
    if "line of its own" in what:
        return len([one for one in page.splitlines() if "parked" in one]) > 1
    if "one by one" in what:
        return any(_has(one, page) for one in read.agents if one.startswith("other"))
    if said := re.search(r"(?:^|\b)as (?:a )?(.+)$", what):
        names = [one for one in read.agents if _has(one, what)] or list(read.agents)
        words = [AS[one] for one in re.split(r" or |, | (?=after|of)", said[1]) if one in AS]
        pages = [page, _lines_of(names, told)]
        clauses = [one for text in pages for one in re.split(r"\n|; |, (?=[a-z-]+ \d)| {2,}(?=not)", text)]
        if "gen " in what or "successor" in what:
            names = [f"{name}-g" for name in names]
            return any(name in one and re.search("death", one) for one in page.splitlines() for name in names)
        return any(_has(name, one) and re.search(word, one) for one in clauses for name in names for word in words)
    return any(re.search(pattern, what) and re.search(on_page, page, re.M) for pattern, on_page in NEVER)


def _lines_of(names: list[str], told: Told) -> str:
    """What `status` says of these agents."""
    return "\n".join(
        one for one in told.status_page.splitlines() if any(_has(name, one) for name in names) and one[1:2] == " "
    )


def _states(expected: dict[str, str], read: Read, told: Told) -> Iterator[tuple[str, str, str]]:
    rows = {row["name"]: row for row in told.status["agents"]}
    for name, state in expected.items():
        if name == "daemon":
            if told.status["daemon"]["degraded"] == ("well" in state):
                yield name, state, "degraded"
            continue
        names = [name] if name in rows else [one for one in read.agents if one not in expected]
        for one in names:
            word = _word(one, told)
            meant = next((pattern for known, pattern in STATES if re.search(known, state)), None)
            if meant is None or not re.search(meant, word):
                yield one, state, word
            if (gen := re.search(r"gen (\d+)", state)) and rows[one]["generation"] != int(gen[1]):
                yield one, state, f"generation {rows[one]['generation']}"
            if (until := re.search(rf"until ({CLOCK})", state)) and until[1] not in (rows[one]["parked_until"] or ""):
                yield one, state, f"until {rows[one]['parked_until']}"
            if "not yet healed" in state and not told.since["deaths"]["running_again"]:
                yield one, state, "told as something else"


def _word(name: str, told: Told) -> str:
    """The word of its state in the line of `status`."""
    line = next((one for one in told.status_page.splitlines() if re.match(rf". {re.escape(name)} ", one)), "")
    return " ".join(line.split()[3:6])
