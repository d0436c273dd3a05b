"""What a case says in words, as facts. This translation was written before anybody saw what the core answers.

Words that no pattern knows say nothing; `python -m tests.core.ends --read FILE` shows what was understood of each case.
A file of corrections (`--readings`) sets fields by hand: {"EXI-01": {"attended": true}}.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from phoenixd.core.kind import Kind
from phoenixd.documents.times import read_time
from tests.blind.frozen import Case

Turn = Literal["open", "ended", "none"]

SECONDS = {
    "ms": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "min": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hours": 3600.0,
}
SECONDS |= {"d": 86400.0, "days": 86400.0}
LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|seconds|sec|s|minutes|min|hours|h|days|d)\b")
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
ORDINALS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9}
NOT_ITS_OWN = re.compile(r"tool (?:result|output)|output of (?:a|the) (?:command|test)|the agent (?:wrote|said)|pytest")
"""Such a sentence tells of words that are no word of the CLI about itself."""
BY_NO_ONE = re.compile(
    r"no(?:body|t| one)[^.;,]{0,20} attached|no client attached|detached|nobody at (?:the|its) term", re.I
)
AT_TERMINAL = re.compile(r"attached|at the terminal|in the pane|typed|pressed", re.I)
LEFT = re.compile(r"/exit|/quit|Ctrl-D|Ctrl-C (?:x ?2|twice)|prompt_input_exit")
WORDS: tuple[tuple[str, str], ...] = (
    # As the real CLI was recorded to call them in its hook (tests/eval_clinic/records).
    (r"hit your (?:\w+ )?limit|usage limit|limit reached|rate_limit|\b429\b", "rate_limit"),
    (r"credit balance|billing|\b402\b", "billing_error"),
    (r"invalid api key|not logged in|/login|oauth|authentication|expired|\b401\b|\b403\b", "authentication_failed"),
    (r"prompt is too long|context (?:window|length)|too many tokens|\b400\b|\b413\b", "invalid_request"),
    (r"output token|max_output_tokens", "max_output_tokens"),
    (r"overloaded|unable to connect|connection|econn|etimedout|\b5\d\d\b|server_error", "server_error"),
)
"""What Claude Code calls a failed turn, by what it says of it; the first that fits."""
SIGNAL_CODES = {137: 9, 139: 11, 134: 6, 136: 8, 135: 7}
"""A process that such a signal ends has no code; 129, 130 and 143 are codes by which CLIs end themselves."""
SIGNALS = {"SIGKILL": 9, "SIGTERM": 15, "SIGINT": 2, "SIGHUP": 1, "SIGSEGV": 11, "SIGABRT": 6}


@dataclass(frozen=True, slots=True)
class Facts:
    """One end. lived: seconds. wall: when it ended (wall), where the case names a time.

    error, text, resets_at: by which word, and in which, the CLI itself says that its last turn failed, and when a limit
    is over. session_end: the reasons that its hook of the session's end told. earlier: how long the runs lived that
    ended in the same way right before. resumed: it had been resumed, of whichever end. peers: how many others share its
    account. never_ran: it was never executed, and why. by_us: phoenixd ended it by a rule of its own.
    """

    harness: str
    argv: tuple[str, ...]
    kind: Kind
    session: str = "fresh"
    policy: str = "on-failure"
    code: int | None = None
    signal: int | None = None
    cause: str = "exit"
    never_ran: str = ""
    lived: float = 0.0
    wall: float | None = None
    turn: Turn = "none"
    calls: int = 0
    in_flight: str = ""
    error: str = ""
    text: str = ""
    resets_at: float | None = None
    session_end: tuple[str, ...] = ()
    ordered: str = ""
    by_us: str = ""
    attended: bool | None = None
    earlier: tuple[float, ...] = ()
    resumed: bool = False
    peers: int = 0
    work: str = "git:same"
    oom: Literal["", "agent", "host"] = ""
    has_hooks: bool = True

    @property
    def is_headless(self) -> bool:
        return any(one in ("-p", "--print", "exec", "--prompt") for one in self.argv)


def facts_of(case: Case) -> Facts:
    told = {name: str(said) for name, said in case["situation"].items()}
    cli, mode, more, said = told["cli"], told["mode"], told["more"], told["wrote_last"]
    found = re.search(r"\b(claude|codex|gemini)\b", cli)
    harness = found[0] if found else "command"
    argv = ("agent",) if found is None else tuple(cli.partition(",")[0].partition(" (")[0].split())
    own = " ".join(one for one in re.split(r"(?<=[.;]) ", said) if not NOT_ITS_OWN.search(one))
    facts = Facts(harness, argv, _kind(mode), lived=_seconds(told["lived"].partition(",")[0]))
    facts = replace(
        facts,
        session="resume" if re.search(r"session ?= ?\"?resume", mode) else "fresh",
        policy=next(
            (one for one in ("always", "never") if re.search(rf"policy {one}|policy = .?{one}", mode)), "on-failure"
        ),
        has_hooks=harness != "command" or bool(re.search(r"(?<!no )\bhooks\b", cli)),
        attended=_attended(f"{more} {said}"),
        work="new" if re.search(r"differs|new files|commit|changed", more) else "git:same",
    )
    facts = _end(facts, told["ended"], said, more)
    facts = _turn(facts, told["last_turn"])
    facts = _failure(facts, own, told["lived"])
    facts = _before(facts, told["stop_asked"], more)
    if LEFT.search(f"{more} {own}") and not re.search(r"no key was typed", more) and not facts.session_end:
        facts = replace(facts, session_end=("prompt_input_exit",) if harness == "claude" else ("other",))
    return _corrected(facts, case.get("by_hand", {}))


def _kind(mode: str) -> Kind:
    return next(kind for word, kind in KINDS if word in mode)


KINDS = (
    ("orchestrator", Kind.ORCHESTRATOR), ("ephemeral", Kind.EPHEMERAL), ("job", Kind.EPHEMERAL), ("loop", Kind.LOOP),
    ("", Kind.RESIDENT),
)  # fmt: skip


def _seconds(words: str) -> float:
    return sum(float(number) * SECONDS[unit] for number, unit in LENGTH.findall(words))


def _attended(words: str) -> bool:
    return not BY_NO_ONE.search(words) and bool(AT_TERMINAL.search(words)) and "no key was typed" not in words


def _end(facts: Facts, ended: str, said: str, more: str) -> Facts:
    """The exit, and who brought it about where that is phoenixd, the host or the terminal."""
    code = re.search(r"(?:exit|code|rc)(?: code)? (\d+)", ended)
    signal = next((number for name, number in SIGNALS.items() if name in ended), None)
    if re.search(r"kill -9", ended):
        signal = 9
    number = int(code[1]) if code else None
    if number is not None and number in SIGNAL_CODES:
        signal, number = SIGNAL_CODES[number], None
    elif number is not None:
        signal = None
    facts = replace(facts, code=number, signal=signal)
    if re.search(r"exec of .* failed|failed to exec", said) or re.search(r"could not be executed|exec failed", ended):
        facts = replace(facts, never_ran=said)
    if "phoenixd" in ended and number in (124, 125):
        facts = replace(facts, by_us="hung" if number == 124 else "overtime")
    if re.search(
        r"terminal (?:server )?(?:was )?(?:lost|died|gone|killed)|tmux (?:server )?(?:was )?(?:died|killed)",
        f"{ended} {more}",
    ):
        facts = replace(facts, cause="terminal_lost")
    if re.search(r"reboot|another boot|boot id", f"{ended} {more}"):
        facts = replace(facts, cause="reboot")
    if signal == 9 and re.search(r"out of memory|oom|memory\.events", f"{ended} {said} {more}", re.I):
        is_host = re.search(r"\bhost\b[^.;]*memory|system-wide|global", more, re.I)
        facts = replace(facts, oom="host" if is_host else "agent")
    return facts


def _turn(facts: Facts, words: str) -> Facts:
    lower = words.lower()
    turn: Turn = "none"
    if lower.startswith("open"):
        turn = "open"
    elif re.match(r"ended|idle|closed|done|failed", lower):
        turn = "ended"
    counted = re.search(
        r"(\d+|one|two|three|four|five|six|seven|eight)? ?(?:completed )?(?:main-thread )?tool calls?", lower
    )
    calls = 0
    if counted and not re.search(r"no (?:completed )?tool call", lower):
        calls = int(counted[1]) if counted[1] and counted[1].isdigit() else NUMBERS.get(counted[1] or "", 1)
    if turn == "ended" and not calls and "well" in lower:
        calls = 1
    flight = re.search(r"(?:an?|one) (\w+) call\b", words)
    return replace(facts, turn=turn, calls=calls, in_flight=flight[1] if flight and turn == "open" else "")


def _failure(facts: Facts, own: str, lived: str) -> Facts:
    """What the CLI itself says of its last turn, and the time at which a limit is over."""
    ends = tuple(re.findall(r"SessionEnd[ (]*(?:reason )?:? ?(\w+)", own))
    if ends and "three times" in own:
        ends = ends * 3
    facts = replace(facts, session_end=() if re.search(r"no SessionEnd", own) else ends)
    is_told = re.search(r"is_error\W+true|API Error|StopFailure|isApiErrorMessage|apiErrorStatus", own, re.I)
    if re.search(r"is_error\W+false", own) or facts.harness == "command":
        return facts
    named = re.search(r"(?:StopFailure[ (]*|error[ :=\"]+)(?:error )?([a-z]+_[a-z_]+)", own)
    word = next((word for pattern, word in WORDS if re.search(pattern, own, re.I)), "")
    known = {word for _, word in WORDS}
    if not is_told and not word:
        return facts
    facts = replace(facts, error=named[1] if named and named[1] in known else word, text=_said(own))
    reset = re.search(r"(?:resets?_?[aA]?t?|until)\W+(20\d\d-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d))", own)
    if reset is None:
        return facts
    at = read_time(reset[1])
    died = re.search(r"died (\d\d):(\d\d)", lived)
    if at is not None and died:
        day = datetime.fromtimestamp(at, UTC).replace(hour=int(died[1]), minute=int(died[2]), second=0)
        wall = (day if day.timestamp() < at else day - timedelta(days=1)).timestamp()
        return replace(facts, resets_at=at, wall=wall)
    return replace(facts, resets_at=at, wall=at - 7200 if at is not None else None)


def _said(own: str) -> str:
    """The CLI's own sentence."""
    found = re.search(
        r"API Error: [^;}\"]+|\"result\":\"([^\"]+)\"|(?:text|message|says|screen)[ :]+[\"'“]([^\"'”]+)", own
    )
    return (next((one for one in found.groups() if one), found[0]) if found else own).strip()


def _before(facts: Facts, stop: str, more: str) -> Facts:
    """What had been ordered, and what came before this run."""
    if not stop.lower().startswith("no"):
        facts = replace(facts, ordered="restart" if "restart" in stop else "stop")
    earlier: tuple[float, ...] = ()
    if nth := re.search(rf"the ({'|'.join(ORDINALS)}|\d+th) such", more):
        number = ORDINALS.get(nth[1]) or int(nth[1][:-2])
        earlier = (facts.lived,) * (number - 1)
    elif one := re.search(r"the run before(?: it)? lived ([\d.]+ \w+)", more):
        earlier = (_seconds(one[1]),) if re.search(r"same way|alike|too", more) else ()
    peers = re.search(r"(\d+|one|two|three|four|five|six) other agents?", more)
    count = (NUMBERS.get(peers[1]) or int(peers[1])) if peers and "account" in more else 0
    resumed = bool(re.search(r"(?<!not )(?:been |was )?resumed|a resume\b", more)) and not earlier
    return replace(facts, earlier=earlier, peers=count, resumed=resumed)


def _corrected(facts: Facts, corrections: dict[str, Any]) -> Facts:
    if not corrections:
        return facts
    known = {one.name for one in fields(Facts)}
    assert corrections.keys() <= known, f"no such fact: {corrections.keys() - known}"
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in corrections.items()
    }
    if "kind" in values:
        values["kind"] = Kind(values["kind"])
    return replace(facts, **values)
