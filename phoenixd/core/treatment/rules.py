"""The rules of triage: a table, read from top to bottom, whose first row that fits says what was wrong.

A row rests on typed facts alone. Where a type exists, no rule looks for words in a sentence; what a program without
types prints is read into `Evidence.failure` where the words are known (documents/failures.py). A row whose cause is
None knows what happened, and none of the six causes names it: that is an honest unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phoenixd.core.causes import BLAMELESS
from phoenixd.core.hooks import is_refusal
from phoenixd.core.traits import traits_of
from phoenixd.core.treatment.evidence import Evidence
from phoenixd.core.treatment.words import RootCause, Treatment

NEARLY_FULL = 0.85
"""The share of the window from which on a refusal that names no reason is believed to be for its length."""
AT_ONCE = 2.0
"""Seconds after a resume within which a death means that the session was refused (design section 3)."""
NOT_EXECUTABLE = (126, 127)
TERMINATED, KILLED = frozenset({1, 15}), frozenset({9})
"""Signals: of a hang-up or a polite end, and the one that nothing can answer."""
BY_SIGNAL = 128
"""What a program adds to the number of a signal that it ends by."""
NO_SUCH_MODEL = frozenset({"model_not_found"})
"""What a harness calls a model that does not exist, compared whole."""
SET_UP = frozenset({"trust", "api-key", "hooks", "bypass-warning", "settings", "renderer"})
"""Dialogs of a start that a person has to settle once."""

COMPLAINTS = SET_UP | {"login", "resume-picker", "in-use", "limit"}
"""What a screen shows of a run that cannot go on."""

When = Callable[[Evidence], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """One row. rests_on: the facts by name. treatments: what helps against it, the mildest first."""

    name: str
    cause: RootCause | None
    detail: str
    confidence: float
    treatments: tuple[Treatment, ...]
    rests_on: tuple[str, ...]
    when: When


@dataclass(frozen=True, slots=True)
class Fine:
    """A row of what is no failure."""

    name: str
    rests_on: tuple[str, ...]
    when: When


def _is_unexplained_end(e: Evidence) -> bool:
    return not e.is_alive and not e.asked


def _is_early_death_after_resume(e: Evidence) -> bool:
    ended = _is_unexplained_end(e) and e.mode == "resume" and not e.worked and not e.disk_full
    # Of a command no hook has to tell that its session began.
    is_silent = not e.session_seen and traits_of(e.harness).has_hooks
    return ended and (is_silent or (e.lived is not None and e.lived <= AT_ONCE))


def _is_cut(e: Evidence, how: str) -> bool:
    return e.cut == how and not e.went_on


def _is_status(e: Evidence, *statuses: int) -> bool:
    """What the API answered, where no class of the failure is known."""
    return e.failure == "" and e.status in statuses


def _is_ended_by(e: Evidence, signals: frozenset[int]) -> bool:
    by_code = e.signal is None and e.code is not None and e.code - BY_SIGNAL in signals
    return _is_unexplained_end(e) and (e.signal in signals or by_code)


CONTEXT: RootCause = "context_length_exceeded"
LOGIC: RootCause = "logic_error"
TRANSIENT: RootCause = "transient_error"

RULES: tuple[Rule, ...] = (
    # What a turn failed for, by the type that its harness gave it.
    Rule(
        "the window cannot hold what was asked", CONTEXT, "window", 0.97, ("summarise", "fresh", "ask"),
        ("failure", "word"), lambda e: e.failure == "full" or e.status == 413,
    ),
    Rule(
        "an answer ended at the end of the window", CONTEXT, "window", 0.95, ("summarise", "fresh", "ask"),
        ("cut", "went_on"), lambda e: _is_cut(e, "window"),
    ),
    Rule(
        "a request was refused in a context that is nearly full", CONTEXT, "window", 0.8, ("summarise", "fresh", "ask"),
        ("failure", "fill"),
        lambda e: e.failure in ("request", "length") and e.fill is not None and e.fill >= NEARLY_FULL,
    ),
    Rule("the login was refused", LOGIC, "login", 0.97, ("ask", "abort"), ("failure", "word", "status"),
         lambda e: e.failure == "login" or _is_status(e, 401, 403)),
    Rule("the bill is not paid", LOGIC, "billing", 0.97, ("ask", "abort"), ("failure", "word", "status"),
         lambda e: e.failure == "billing" or _is_status(e, 402)),
    Rule("there is no such model", LOGIC, "model", 0.95, ("ask", "abort"), ("failure", "word", "status"),
         lambda e: e.status == 404 or (e.failure != "" and e.word in NO_SUCH_MODEL)),
    Rule("a limit of the account", TRANSIENT, "limit", 0.95, ("park", "ask"), ("failure", "word", "status", "reset"),
         lambda e: e.failure == "limit" or _is_status(e, 429) or e.screen == "limit"
         or (e.failure in ("request", "overload") and e.reset) or (e.failure == "overload" and e.status == 429)),
    Rule("a filter of the model's vendor", LOGIC, "content_filter", 0.9, ("ask", "abort"), ("cut",),
         lambda e: _is_cut(e, "filtered")),
    Rule("the stream of an answer broke off", TRANSIENT, "stream", 0.9, ("go_on", "resume", "ask"), ("cut", "failure"),
         lambda e: _is_cut(e, "stream")),
    Rule("the service is overloaded or out of reach", TRANSIENT, "overload", 0.9, ("park", "resume", "ask"),
         ("failure", "word", "status"),
         lambda e: _is_status(e, 500, 502, 503, 504, 529) or (e.failure == "overload" and not is_refusal(e.status))),
    Rule("the limit of an answer's length", LOGIC, "output_limit", 0.9, ("go_on", "ask"), ("failure", "cut"),
         lambda e: e.failure == "length" or _is_cut(e, "output_limit")),
    Rule("the API refuses the request", LOGIC, "request", 0.6, ("ask", "fresh", "abort"), ("failure", "word", "status"),
         lambda e: e.failure == "request" or (e.failure == "overload" and is_refusal(e.status))),
    # What stood in the way of a start.
    Rule("it says by its exit code that it has no login", LOGIC, "login", 0.9, ("ask", "abort"), ("told", "code"),
         lambda e: e.told == "login"),
    Rule("it says by its exit code that its settings are wrong", LOGIC, "configuration", 0.9, ("ask", "abort"),
         ("told", "code"), lambda e: e.told == "configuration"),
    Rule("it used up what its operator lets a run take", LOGIC, "usage_limit", 0.9, ("ask", "abort"), ("told", "code"),
         lambda e: e.told == "usage_limit"),
    Rule("the command cannot be executed", LOGIC, "configuration", 0.95, ("abort",), ("code", "worked"),
         lambda e: e.code in NOT_EXECUTABLE and not e.worked and not e.is_alive),
    Rule("its session is in use elsewhere", TRANSIENT, "session_in_use", 0.9, ("resume", "ask"), ("obstacle", "screen"),
         lambda e: e.obstacle == "session in use" or e.screen == "in-use"),
    Rule("the session could not be resumed", None, "resume_refused", 0.9, ("fresh", "ask"),
         ("obstacle", "mode", "session_seen", "screen", "lived"),
         lambda e: e.obstacle == "resume refused" or e.occasion == "refused_resume" or e.screen == "resume-picker"
         or _is_early_death_after_resume(e)),
    Rule("a login is asked for on its screen", LOGIC, "login", 0.85, ("ask", "abort"), ("screen",),
         lambda e: e.screen == "login"),
    Rule("a dialog of its start waits for a person", LOGIC, "configuration", 0.85, ("ask",), ("screen", "worked"),
         lambda e: e.screen in SET_UP and not e.worked),
    # What the host did.
    Rule("no memory was left", TRANSIENT, "memory", 0.85, ("resume", "fresh", "ask"), ("oom", "signal"),
         lambda e: e.oom != ""),
    Rule("the disk was full", LOGIC, "disk_full", 0.8, ("ask",), ("disk_full", "disks", "obstacle"),
         lambda e: e.disk_full),
    Rule("the host ended it", TRANSIENT, "host", 0.9, ("resume",), ("cause",), lambda e: e.cause in BLAMELESS),
    # What was seen of the end alone.
    Rule("it hung in a call", LOGIC, "hang_in_call", 0.7, ("advise", "resume", "fresh", "ask"), ("cause", "call"),
         lambda e: e.cause == "hung" and e.call != ""),
    Rule("no answer came in its turn", TRANSIENT, "hang", 0.6, ("resume", "fresh", "ask"),
         ("cause", "turn_open", "call"), lambda e: e.cause == "hung" and e.turn_open),
    Rule("it hung", None, "hang", 0.4, ("resume", "fresh", "ask"), ("cause", "occasion"),
         lambda e: e.cause == "hung" or e.occasion == "hung"),
    Rule("its time was over", None, "overtime", 0.6, ("fresh",), ("cause", "occasion"),
         lambda e: e.cause == "overtime" or e.occasion == "overtime"),
    Rule("it was asked to end from outside", TRANSIENT, "terminated", 0.75, ("resume", "fresh", "ask"),
         ("signal", "code", "asked"), lambda e: _is_ended_by(e, TERMINATED)),
    Rule("it was killed, and nothing says by whom", None, "killed", 0.4, ("resume", "fresh", "ask"),
         ("signal", "code", "oom"), lambda e: _is_ended_by(e, KILLED)),
    Rule("a dialog stands in its turn that no rule knows", None, "dialog", 0.4, ("ask",), ("screen", "turn_open"),
         lambda e: e.screen == "dialog" and e.turn_open),
    Rule("a turn failed for a reason that no rule knows", None, "failed_turn", 0.3, ("ask",), ("failure", "word"),
         lambda e: e.failure == "other" or _is_status(e, 400)),
    Rule("it could not be started", None, "failed_start", 0.3, ("resume", "ask"), ("cause", "code"),
         lambda e: e.cause == "not started" or e.occasion == "failed_start"),
    Rule("a handoff was rolled back", None, "rolled_back", 0.3, ("handoff", "ask"), ("occasion",),
         lambda e: e.occasion == "rolled_back"),
    Rule("it lost its marker", None, "lost_marker", 0.3, ("summarise", "ask"), ("occasion",),
         lambda e: e.occasion == "lost_marker"),
    Rule("it was given up", None, "given_up", 0.3, ("abort",), ("occasion",), lambda e: e.occasion == "quarantine"),
    Rule("it ended, and nothing says why", None, "crash", 0.3, ("resume", "fresh", "abort"),
         ("code", "signal", "cause"), lambda e: True),
)  # fmt: skip
"""Facts that name a cause come before those that only tell how something ended."""

INTERRUPTED, SIGINT = 130, 2


def _has_no_complaint(e: Evidence) -> bool:
    """No turn failed, nothing is cut for good, and no dialog of a start stands there."""
    is_cut = e.cut != "" and not e.went_on
    asks = e.screen in COMPLAINTS or (e.screen == "dialog" and e.turn_open)
    return e.failure == "" and e.status is None and e.obstacle == "" and not is_cut and not asks


FINE: tuple[Fine, ...] = (
    Fine("somebody asked for its end", ("asked",), lambda e: e.asked and _has_no_complaint(e)),
    Fine("it ended by itself, as it should", ("code", "turn_open"),
         lambda e: e.code == 0 and e.cause in ("", "exit") and not e.is_alive and not e.turn_open
         and not e.disk_full and _has_no_complaint(e)),
    Fine("somebody pressed Ctrl-C", ("code", "signal"),
         lambda e: e.cause in ("", "exit") and (e.code == INTERRUPTED or e.signal == SIGINT) and _has_no_complaint(e)),
    Fine("it lives, and nothing failed", ("is_alive",),
         lambda e: e.is_alive and e.occasion == "end" and _has_no_complaint(e)),
)  # fmt: skip
"""What is no failure, asked before the rules."""
