"""The rules of triage: a table, read from top to bottom, whose first row that fits says what was wrong.

A row rests on typed facts alone. Where a type exists, no rule looks for words in a sentence; what a program without
types prints is read into `Evidence.failure` where the words are known (documents/failures.py). A row whose cause is
None knows what happened, and none of the six causes names it: that is an honest unknown.

Above a row that claims a cause stands what else could look the same ("alike"), and what tells them apart ("apart").
Where nothing does, the row claims no cause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phoenixd.core.causes import BLAMELESS
from phoenixd.core.hooks import OF_A_SERVICE, WRONG_BY_STATUS, is_refusal
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
ANSWERED_ELSEWHERE = frozenset({"Task", "Agent", "AskUserQuestion", "ExitPlanMode", "google_web_search", "ask_user"})
"""Tools that a subagent, a network or a person answers; beside them those of servers (mcp) and the web."""

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


def _is_early_death_after_resume(e: Evidence) -> bool:
    if e.cause in BLAMELESS or e.cause == "not started":
        # What somebody else ended has refused nothing, and nor has what was never executed.
        return False
    if e.sessionless:
        # Such a start is called a resume as well, and nothing shows that it had a session to refuse.
        return False
    ended = not e.is_alive and e.mode == "resume" and not e.worked and not e.disk_full
    # Of a command no hook has to tell that its session began.
    is_silent = not e.session_seen and traits_of(e.harness).has_hooks
    return ended and (is_silent or (e.lived is not None and e.lived <= AT_ONCE))


def _has_its_reason(e: Evidence) -> bool:
    """Whether its newest turn had failed, for what no memory has to do with, and no other was begun."""
    is_named = e.failure in ("login", "billing", "full", "length") or (e.failure == "request" and e.named == "request")
    return is_named and not e.turn_open


def _is_cut(e: Evidence, how: str) -> bool:
    return e.cut == how and not e.went_on


def _is_status(e: Evidence, *statuses: int) -> bool:
    """What the API answered, where no class of the failure is known."""
    return e.failure == "" and e.status in statuses


def _is_ended_by(e: Evidence, signals: frozenset[int]) -> bool:
    by_code = e.signal is None and e.code is not None and e.code - BY_SIGNAL in signals
    return not e.is_alive and (e.signal in signals or by_code)


def _is_limit(e: Evidence) -> bool:
    """A vendor sends an unpaid bill by the status of a limit: its words, or the time at which it is over, tell."""
    is_class = e.failure == "limit" or (e.failure == "overload" and e.status == 429)
    is_reset = e.reset and e.failure in ("limit", "request", "overload")
    return is_reset or (is_class and e.named != "other") or e.told == "limit"


def _is_outage(e: Evidence) -> bool:
    """A CLI calls much by one word that is none: the status, the code of a connection or fixed words have to say it."""
    is_untold = e.named == "" and (e.word == "" or e.status in OF_A_SERVICE)
    return _is_status(e, *OF_A_SERVICE) or (e.failure == "overload" and (e.named == "service" or is_untold))


def _is_bare(e: Evidence) -> bool:
    """Refused, and nobody says what is wrong with the request."""
    return e.failure == "request" or (e.failure == "overload" and is_refusal(e.status))


def _is_wrong_request(e: Evidence) -> bool:
    return (_is_bare(e) and e.named == "request") or (e.failure != "" and e.status in WRONG_BY_STATUS)


def _is_in_a_command(e: Evidence) -> bool:
    """A call of a tool that only this host answers. What a network, a subagent or a person has to answer may come."""
    return e.call != "" and e.call not in ANSWERED_ELSEWHERE and not e.call.startswith(("mcp_", "Web", "web_"))


CONTEXT: RootCause = "context_length_exceeded"
LOGIC: RootCause = "logic_error"
TRANSIENT: RootCause = "transient_error"

RULES: tuple[Rule, ...] = (
    # What the kernel says of the end: no word of a vendor explains it better.
    # Alike: a command of the agent that had no memory, which the agent outlived; an agent that rests because its turn
    # had failed for a reason of its own. Apart: the signal; that reason.
    Rule("no memory was left", TRANSIENT, "memory", 0.85, ("resume", "fresh", "ask"),
         ("oom", "signal", "code", "failure"),
         lambda e: e.oom != "" and _is_ended_by(e, KILLED) and not _has_its_reason(e)),
    # What a turn failed for, by the type that its harness gave it.
    # Alike: a limit for each minute of tokens, and a gateway's 413 for that. Apart: `named`.
    Rule(
        "the window cannot hold what was asked", CONTEXT, "window", 0.97, ("summarise", "fresh", "ask"),
        ("failure", "word", "status"), lambda e: e.failure == "full" or (e.status == 413 and e.named != "limit"),
    ),
    # Alike: nothing; it is a stop reason of its own.
    Rule(
        "an answer ended at the end of the window", CONTEXT, "window", 0.95, ("summarise", "fresh", "ask"),
        ("cut", "went_on"), lambda e: _is_cut(e, "window"),
    ),
    # Alike: whatever else a request is refused for. Apart: a refusal that names it.
    Rule(
        "a request was refused in a context that is nearly full", CONTEXT, "window", 0.8, ("summarise", "fresh", "ask"),
        ("failure", "named", "fill"),
        lambda e: e.failure in ("request", "length") and e.named == "" and e.fill is not None and e.fill >= NEARLY_FULL,
    ),
    # Alike: 403 for a quota (Google, gateways). Apart: `named`. Where anything else is forbidden, a person has to act.
    Rule("the login was refused", LOGIC, "login", 0.97, ("ask", "abort"), ("failure", "word", "status"),
         lambda e: (e.failure == "login" and e.named != "other") or _is_status(e, 401, 403)),
    # Alike: a limit that names money too. Apart: codes and whole phrases (documents/failures.py), and no reset time.
    Rule("the bill is not paid", LOGIC, "billing", 0.97, ("ask", "abort"), ("failure", "word", "status"),
         lambda e: e.failure == "billing" or e.status == 402),
    # Alike: a service that failed and names a model, as a cloud does. Apart: the status.
    Rule("there is no such model", LOGIC, "model", 0.95, ("ask", "abort"), ("failure", "word", "status"),
         lambda e: e.failure != "" and e.word in NO_SUCH_MODEL and e.status not in OF_A_SERVICE),
    # Alike: a model, a path of a gateway, an item of the history. All of them need a person.
    Rule("what it asks for is not there", LOGIC, "model", 0.9, ("ask", "abort"), ("failure", "word", "status"),
         lambda e: e.status == 404),
    # Alike: an unpaid bill. Apart: its words, see _is_limit.
    Rule("a limit of the account", TRANSIENT, "limit", 0.95, ("park", "ask"),
         ("failure", "word", "named", "status", "reset", "told"), _is_limit),
    # An exit code is that status without a word: a day's quota, a rate, or credits that are used up.
    Rule("by its exit code alone, a limit or a bill", None, "limit", 0.4, ("park", "ask"), ("status", "code"),
         lambda e: _is_status(e, 429)),
    # Alike: nothing; it is a stop reason of its own.
    Rule("a filter of the model's vendor", LOGIC, "content_filter", 0.9, ("ask", "abort"), ("cut",),
         lambda e: _is_cut(e, "filtered")),
    # Alike: a disk that took no more of the transcript, a run that was killed in its answer, and a refusal that a CLI
    # calls so. Apart: the kernel, the open turn, `named`.
    Rule("the stream of an answer broke off", TRANSIENT, "stream", 0.9, ("go_on", "resume", "ask"),
         ("cut", "failure", "named"),
         lambda e: _is_cut(e, "stream") and e.named != "other" and not e.disk_full
         and (e.occasion == "cut_answer" or not e.turn_open)),
    # Alike: an overload, by the CLI's word. Apart: the code of the certificate.
    Rule("a certificate is not trusted", LOGIC, "configuration", 0.9, ("ask", "abort"), ("failure", "named"),
         lambda e: e.failure == "overload" and e.named == "certificate"),
    # Alike: a gateway that wraps another's refusal, a certificate, credentials of a cloud. Apart: see _is_outage.
    Rule("the service is overloaded or out of reach", TRANSIENT, "overload", 0.9, ("park", "resume", "ask"),
         ("failure", "word", "named", "status"), _is_outage),
    # Alike: an answer that met the end of the window, which comes in the same class. Apart: its words, rows above.
    Rule("the limit of an answer's length", LOGIC, "output_limit", 0.9, ("go_on", "ask"), ("failure", "cut"),
         lambda e: e.failure == "length" or _is_cut(e, "output_limit")),
    # Alike: by 400 anything at all is refused. Apart: the part of the request that is wrong, or a status for it alone.
    Rule("the API refuses the request", LOGIC, "request", 0.8, ("ask", "fresh", "abort"),
         ("failure", "word", "named", "status"), _is_wrong_request),
    Rule("a request was refused, and nothing says why", None, "request", 0.4, ("ask", "fresh", "abort"),
         ("failure", "word", "named", "status"), _is_bare),
    Rule("a turn failed, and nothing but its class says why", None, "failed_turn", 0.3,
         ("park", "resume", "ask"), ("failure", "word", "named", "status"),
         lambda e: e.failure in ("limit", "overload")),
    # What stood in the way of a start. An exit code of a CLI's own closed table has one meaning; 1 has none.
    Rule("it says by its exit code that it has no login", LOGIC, "login", 0.9, ("ask", "abort"), ("told", "code"),
         lambda e: e.told == "login"),
    Rule("it says by its exit code that its settings are wrong", LOGIC, "configuration", 0.9, ("ask", "abort"),
         ("told", "code"), lambda e: e.told == "configuration"),
    Rule("it used up what its operator lets a run take", LOGIC, "usage_limit", 0.9, ("ask", "abort"), ("told", "code"),
         lambda e: e.told == "usage_limit"),
    # Alike: a command that the agent ran. Apart: the agent had done nothing yet.
    Rule("the command cannot be executed", LOGIC, "configuration", 0.95, ("abort",), ("code", "worked"),
         lambda e: e.code in NOT_EXECUTABLE and not e.worked and not e.is_alive),
    Rule("its directory is missing", LOGIC, "configuration", 0.95, ("resume",), ("obstacle",),
         lambda e: e.obstacle == "no directory"),
    Rule("its directory cannot be entered", LOGIC, "configuration", 0.95, ("resume",), ("obstacle",),
         lambda e: e.obstacle == "directory closed"),
    Rule("its session is in use elsewhere", TRANSIENT, "session_in_use", 0.9, ("resume", "ask"), ("obstacle",),
         lambda e: e.obstacle == "session in use"),
    # Alike: a flag that the CLI does not know, or a kill. It claims no cause, and the next run is a fresh one.
    Rule("the session could not be resumed", None, "resume_refused", 0.9, ("fresh", "ask"),
         ("obstacle", "cause", "mode", "session_seen", "lived"),
         lambda e: e.obstacle == "resume refused" or e.occasion == "refused_resume"
         or _is_early_death_after_resume(e)),
    # What the host did. Alike: an end that was good although the disk is full; what it wrote last may be lost.
    Rule("the disk was full", LOGIC, "disk_full", 0.8, ("ask",), ("disk_full", "disks", "obstacle"),
         lambda e: e.disk_full),
    Rule("the host ended it", TRANSIENT, "host", 0.9, ("resume",), ("cause",), lambda e: e.cause in BLAMELESS),
    # What was seen of the end alone.
    # Alike: a network, a subagent or a person that does not answer the call. Apart: the tool.
    Rule("it hung in a call", LOGIC, "hang_in_call", 0.7, ("advise", "resume", "fresh", "ask"), ("cause", "call"),
         lambda e: e.cause == "hung" and _is_in_a_command(e)),
    # Alike: a dialog, which is waited for and is no hang; a hang of the CLI itself, which another run cures as well.
    Rule("no answer came in its turn", TRANSIENT, "hang", 0.6, ("resume", "fresh", "ask"),
         ("cause", "turn_open", "call"), lambda e: e.cause == "hung" and e.turn_open and e.call == ""),
    Rule("it hung", None, "hang", 0.4, ("resume", "fresh", "ask"), ("cause", "occasion"),
         lambda e: e.cause == "hung" or e.occasion == "hung"),
    Rule("its time was over", None, "overtime", 0.6, ("fresh",), ("cause", "occasion"),
         lambda e: e.cause == "overtime" or e.occasion == "overtime"),
    # Alike: an agent that ends itself so, which nothing tells of. An end that an operator asked for opens no Case.
    Rule("it was asked to end from outside", TRANSIENT, "terminated", 0.75, ("resume", "fresh", "ask"),
         ("signal", "code"), lambda e: _is_ended_by(e, TERMINATED)),
    Rule("it was killed, and nothing says by whom", None, "killed", 0.4, ("resume", "fresh", "ask"),
         ("signal", "code", "oom"), lambda e: _is_ended_by(e, KILLED)),
    Rule("a turn failed for a reason that no rule knows", None, "failed_turn", 0.3, ("ask",), ("failure", "word"),
         lambda e: e.failure in ("other", "login") or _is_status(e, 400)),
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
