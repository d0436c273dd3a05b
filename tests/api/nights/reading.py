"""What a case tells of a night, in words, as steps that can be played. This is the translation of the cases.

A step is (time, verb, name, more). `python -m tests.api.nights --read FILE` shows the steps of each case, and beside
them the words that no pattern knows. Steps by hand stand in a file for `--readings`:
{"SIN-01": [["03:12:04", "dies", "builder", {"signal": 9}]]}.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.blind.frozen import Case

NIGHT = datetime(2026, 11, 28, tzinfo=UTC)
"""The day on whose evening the nights begin."""
CLOCK = r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?"
NAME = r"(?P<name>[a-z][a-z0-9_-]*)"
NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
NO_NAMES = frozenset(
    {"the", "a", "an", "account", "its", "each", "all", "others", "daemon", "disk", "host", "no", "second"}
)
OTHERS = ("other1", "other2")
"""Who "the others" of a night are."""


@dataclass(frozen=True)
class Step:
    at: float
    verb: str
    name: str = ""
    more: dict[str, Any] = field(default_factory=dict)


@dataclass
class Read:
    """began: the moment that `since` means. steps: in order. unread: words that no pattern knows."""

    since: str
    now: float
    began: float
    agents: dict[str, dict[str, Any]]
    steps: list[Step]
    unread: list[str]


def wall_of(clock: str, now: str) -> float:
    """A time of day is of the evening before, where it is later than now."""
    parts = [float(one) for one in clock.split(":")]
    seconds = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=False))
    limit = sum(float(part) * unit for part, unit in zip(now.split(":"), (3600, 60, 1), strict=False))
    return (NIGHT + timedelta(days=seconds <= limit + 59, seconds=seconds)).timestamp()


def read(case: Case) -> Read:
    told = case["situation"]
    by_hand: list[list[Any]] | None = case.get("by_hand")
    now = str(told["now"])
    since = str(told["since"])
    until = wall_of(now, now)
    began = wall_of(since, now) if re.fullmatch(CLOCK, since) else until - 14 * 3600
    found = Read(since, until, began, _agents(case), [], [])
    if by_hand is not None:
        found.steps = [Step(wall_of(at, now), verb, name, *more) for at, verb, name, *more in by_hand]
    else:
        at = found.began
        last = ""
        for line in told["history"]:
            for when, words in _parts(line):
                at = wall_of(when, now) if when else at
                steps, last = _steps(words, at, last, found)
                found.steps += steps
                if not steps and not QUIET.search(words):
                    found.unread.append(f"{when} {words}".strip())
    found.steps.sort(key=lambda one: one.at)
    for step in found.steps:
        for name in (step.name, *step.more.get("names", ())):
            if name and name not in found.agents:
                found.agents[name] = {}
    return found


def _parts(line: str) -> list[tuple[str, str]]:
    """The line in parts: each has its own time, or that of the part before."""
    found: list[tuple[str, str]] = []
    # "resets 04:00" and "(10:00)" name a time, and nothing happens then.
    pieces = re.split(rf"(?:^|(?<=[;,] ))(?={CLOCK} )|; ", line)
    for piece in pieces:
        words = piece.strip(" ;,")
        stands = re.match(rf"({CLOCK})\s+", words)
        if words:
            found.append((stands[1], words[stands.end() :]) if stands else ("", words))
    return found


def _agents(case: Case) -> dict[str, dict[str, Any]]:
    text = " ".join(case["situation"]["history"])
    names = {name: dict[str, Any]() for name in case["expected"]["state"] if re.fullmatch(r"[a-z][a-z0-9_-]*", name)}
    names.pop("daemon", None)
    if names.pop("others", None) is not None or re.search(r"\bothers\b|all agents", text):
        names |= {name: {} for name in OTHERS}
    if counted := re.search(r"\b(\d+|six|four|five|three) agents\b", text):
        number = NUMBERS.get(counted[1]) or int(counted[1])
        if not names:
            names = {f"agent{one}": {} for one in range(1, number + 1)}
    for name, keys in names.items():
        about = re.search(rf"`?{name}`? \(([^)]*)\)", text)
        words = about[1] if about else ""
        if "orchestrator" in words or re.search(rf"seat `?{name}`?", text):
            keys["kind"] = "orchestrator"
            keys["generation"] = int(gen[1]) if (gen := re.search(r"gen(?:eration)? (\d+)", words)) else 1
        keys |= {"kind": "loop"} if "loop" in words else {}
        keys |= {"harness": "command"} if re.search(r"command|plain program", words) else {}
    account = re.search(r"account (\w+)", text)
    if account:
        for keys in names.values():
            keys["account"] = account[1]
    return names


QUIET = re.compile(
    r"heartbeat|watchdog|looks|idle_prompt|nothing since|running$|is as right|down since|resumed|parked|one alert"
    r"|alert cured|dialog still|process alive|adopted|left down|idle now|brief of each|idle all night|no evidence"
    r"|its start was|no turn ended|SessionStart seen|shut down|has not started|pid and start|systemd|one retry"
    r"|holds the seat|productive$|notification|nobody attached|confirmed the package|^rolled back|exit.json written"
)
"""What needs no step: it is phoenixd's own doing, or nothing happens."""


def _steps(words: str, at: float, last: str, found: Read) -> tuple[list[Step], str]:
    """The steps of one part, and whom it is about."""
    named = [one for one in re.findall(r"[a-z][a-z0-9_-]*", words) if one in found.agents]
    if not named and (
        whose := re.match(rf"`?{NAME}`? (?:\(|died|killed|quarantined|asks|resumed|crashed|restarted)", words)
    ):
        named = [whose["name"]] if whose["name"] not in NO_NAMES else []
    name = named[0] if named else last
    for pattern, make in PATTERNS:
        if hit := re.search(pattern, words):
            return make(at, name, named, hit, words, found), name
    return [], name


def _dies(at: float, name: str, named: list[str], hit: re.Match[str], words: str, found: Read) -> list[Step]:
    code = re.search(r"(?:exit |\()(\d+)\b", words)
    number = int(code[1]) if code else None
    is_killed = "kill -9" in words or number == 137 or "SIGKILL" in words
    ended = {"signal": 9} if is_killed else {"code": 1 if number is None else number}
    before = [Step(at - 30, "turn begins", name)] if "open turn" in words else []
    return [*before, Step(at, "dies", name, ended)]


def _quarantined(at: float, name: str, named: list[str], hit: re.Match[str], words: str, found: Read) -> list[Step]:
    return [Step(at, "dies", name, {"times": int(hit["count"] or 5), "code": 1})]


def _works(at: float, name: str, named: list[str], hit: re.Match[str], words: str, found: Read) -> list[Step]:
    names = named or ([name] if name else [])
    if re.search(r"\bboth\b|\ball agents\b|\ball\b.* back", words):
        names = [one for one, keys in found.agents.items() if keys.get("account")] or list(found.agents)
    if re.search(r"\bno (?:turn|tool)", words):
        return []
    if "more turns" in words:
        return [Step(at + 600.0 * number, "works", one) for one in names for number in range(1, _more(words) + 1)]
    if "turn is open" in words:
        return [Step(found.now - 20, "turn begins", one) for one in names]
    later = 120.0 if re.search(r"had turns|productive", words) else 0.0
    return [Step(at + later, "works", one) for one in names]


def _more(words: str) -> int:
    counted = re.search(r"(\w+) more turns", words)
    return NUMBERS.get(counted[1], 1) if counted else 0


def _ordered(at: float, name: str, named: list[str], hit: re.Match[str], words: str, found: Read) -> list[Step]:
    who = re.search(r"\((\w+)\)|^(\w+) (?:order|start|stop|restart)", words)
    by = next((one for one in who.groups() if one), "operator") if who else "operator"
    return [Step(at, hit["verb"], hit["whom"], {"by": by})]


def _limit(at: float, name: str, named: list[str], hit: re.Match[str], words: str, found: Read) -> list[Step]:
    resets = re.search(rf"resets? (?:at )?({CLOCK})", words)
    whole = " ".join([words])
    return [Step(at, "limit", "", {"resets": resets[1] if resets else "", "names": named, "words": whole})]


def _asks(at: float, name: str, named: list[str], hit: re.Match[str], words: str, found: Read) -> list[Step]:
    asked = re.search(r"(?P<tool>[A-Z]\w+): (?P<text>[^;]+)", words)
    return [
        Step(at, "asks", name, {"tool": asked["tool"] if asked else "Bash", "text": asked["text"] if asked else "make"})
    ]


def _calls(at: float, name: str, named: list[str], hit: re.Match[str], words: str, found: Read) -> list[Step]:
    when = re.search(rf"at ({CLOCK})", words)
    return [Step(same_day(when[1], at) if when else at, "calls", name)]


def _by_hand(at: float, name: str, named: list[str], hit: re.Match[str], words: str, found: Read) -> list[Step]:
    said = hit.groupdict()
    return [Step(at, said["verb"], said.get("whom") or name, {"by": said.get("who") or "operator"})]


def _answered(at: float, name: str, named: list[str], hit: re.Match[str], words: str, found: Read) -> list[Step]:
    by = re.search(r"by (\w+)", words)
    return [Step(at, "answer", name, {"allow": "den" not in words, "by": by[1] if by else "operator"})]


def same_day(clock: str, at: float) -> float:
    """That time of day, of the day of another moment."""
    day = datetime.fromtimestamp(at, UTC).replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    return day + sum(float(part) * unit for part, unit in zip(clock.split(":"), (3600, 60, 1), strict=False))


def _one(verb: str, **more: Any) -> Any:
    return lambda at, name, named, hit, words, found: [Step(at, verb, name, dict(more))]


def _daemon(verb: str, **more: Any) -> Any:
    return lambda at, name, named, hit, words, found: [Step(at, verb, "", dict(more))]


PATTERNS: tuple[tuple[str, Any], ...] = (
    (r"(?:rate|usage) limit", _limit),
    (
        r"^(?:and [\w-]+ )?(?:[\w-]+(?:,| and) )*[\w-]+ parked$",
        lambda at, name, named, hit, words, found: [Step(at, "parked too", "", {"names": named})] if named else [],
    ),
    (
        r"daemon (?:is |was )?(?:killed|died|dies|crashed)|kill -9 (?:of|on) (?:the )?(?:daemon|phoenixd)",
        _daemon("daemon dies"),
    ),
    (r"it is up again|daemon (?:is )?(?:up|back|started)", _daemon("daemon begins")),
    (r"disk .*full|No space left|degraded, alert", _daemon("degraded")),
    (r"freed space|journal written again", _daemon("well again")),
    (r"host (?:was )?rebooted|reboot of the host|power cut", _daemon("reboot")),
    (r"link .*(?:is back|found again|is taken up again)$", _one("link back")),
    (r"link to .*lost|link .*is lost", _one("link lost")),
    (r"typed /(?:exit|quit)", _one("left")),
    (r"`?phoenixctl (?P<verb>start|stop|restart) (?P<whom>[\w-]+)", _ordered),
    (r"(?P<who>[a-z]\w*) (?P<verb>stop|start|restart|remove)(?:s|ed|ped) (?P<whom>[a-z][\w-]*)", _by_hand),
    (r"(?P<verb>stop|start|restart|remove)(?:p?ed) by (?:a person|the operator|(?P<who>[a-z]\w*))", _by_hand),
    (r"^removed", _one("remove")),
    (r"answered|(?:allowed|denied) (?:it|by|at)\b", _answered),
    (r"login|authentication|not logged in", _one("fails", error="authentication_failed", text="Invalid API key")),
    (r"overloaded|\b529\b", _one("fails", error="server_error", text="API Error: 529 Overloaded")),
    (r"quarantined(?: after (?P<count>\d+) (?:crashes|deaths))?", _quarantined),
    (r"asks? (?:for )?permission|permission (?:asked|dialog)", _asks),
    (r"successor did not confirm|never confirmed|handoff .*rolled back", _one("handoff", acks=False)),
    (r"handed off|handoff", _one("handoff", acks=True)),
    (r"killed by|\bdied\b|\bcrashed\b", _dies),
    (r"turns? (?:that )?ended well|turns? ended|more turns|productive|a turn is open", _works),
    (r"PreToolUse", _calls),
    (r"hung|hangs|stuck", _one("hangs")),
    (r"idle_prompt", _one("idle prompt")),
)
"""What a part of a line tells, by the first pattern that fits."""
