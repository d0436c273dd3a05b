"""How each CLI is driven into each end. What a good clinician says of it is written by hand, beside the record.

A recipe's id is "<harness><pin>-<kind>-<fault>"; two recipes of one fault and harness differ in kind or pin, so that
a draw can put one of them into each half.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from phoenixd.harness.pins import PINS
from tests.eval_clinic import deaths, ends, healthy, scarce
from tests.eval_clinic.faults import RARER, REFUSALS
from tests.eval_clinic.room import Room

Drive = Callable[[Room], None]
OLDER, NEWER = PINS["claude"]
CODEX, GEMINI = PINS["codex"][0], PINS["gemini"][0]
THINKS_ON = ("no credit", "429 without a reset", "529", "500")
"""At these Gemini CLI goes on for minutes in a terminal, and tells nothing."""


@dataclass(frozen=True, slots=True)
class Recipe:
    harness: str
    pin: str
    kind: str
    fault: str
    drive: Drive

    @property
    def id(self) -> str:
        pin = f"-{self.pin.rpartition('.')[2]}" if self.harness == "claude" else ""
        return f"{self.harness}{pin}-{self.kind}-{self.fault}".replace(" ", "-").replace(",", "").replace("/", "")


def recipes() -> Iterator[Recipe]:
    yield from _refused()
    yield from _rarer()
    yield from _cut()
    yield from _context()
    yield from _processes()
    yield from _healthy()


def _refused() -> Iterator[Recipe]:
    """What the API refuses for ever: of each fault and CLI once headless and once in a terminal."""
    for harness, refusals in REFUSALS.items():
        for number, (fault, rejection) in enumerate(refusals.items()):
            for kind in ("headless", "terminal"):
                if (harness, kind) == ("gemini", "terminal") and fault in THINKS_ON:
                    continue
                pin = (OLDER, NEWER)[(number + (kind == "terminal")) % 2] if harness == "claude" else PINS[harness][0]
                yield Recipe(harness, pin, kind, fault, ends.refused(kind, rejection, unknown=fault == "unknown model"))


def _rarer() -> Iterator[Recipe]:
    for harness, refusals in RARER.items():
        for fault, rejection in refusals.items():
            yield Recipe(harness, PINS[harness][0], "headless", fault, ends.refused("headless", rejection))
            yield Recipe(harness, PINS[harness][-1], "terminal", fault, ends.refused("terminal", rejection))
    for harness, pins in PINS.items():
        yield Recipe(harness, pins[0], "headless", "unknown flag", deaths.unknown_flag("headless"))
        if harness != "codex":
            # Codex tries for minutes.
            yield Recipe(harness, pins[0], "headless", "nobody listens", deaths.nobody_listens("headless"))
        segmentation = deaths.killed("headless", signal.SIGSEGV)
        yield Recipe(harness, pins[0], "headless", "killed by SIGSEGV", segmentation)
    yield Recipe("claude", NEWER, "terminal", "unknown flag", deaths.unknown_flag("terminal"))
    yield Recipe("claude", NEWER, "terminal", "nobody listens", deaths.nobody_listens("terminal"))
    yield Recipe("claude", NEWER, "terminal", "killed by SIGSEGV", deaths.killed("terminal", signal.SIGSEGV))
    yield Recipe("gemini", GEMINI, "headless", "little heap", scarce.little_heap)


def _cut() -> Iterator[Recipe]:
    for harness in PINS:
        pins = {"headless": PINS[harness][0], "terminal": PINS[harness][-1]}
        for kind, pin in pins.items():
            for fault in ends.STREAMS:
                if harness == "gemini" and kind == "terminal" and fault != "stream ends inside a block":
                    continue
                yield Recipe(harness, pin, kind, fault, ends.cut(kind, fault=fault))
            if harness != "gemini":
                yield Recipe(harness, pin, kind, "window exceeded", ends.cut(kind, stop="window"))
                yield Recipe(harness, pin, kind, "output limit for ever", ends.cut(kind, stop="output_limit"))
            if harness == "claude":
                yield Recipe(harness, pin, kind, "filtered", ends.cut(kind, stop="filtered"))
    yield Recipe("gemini", GEMINI, "headless", "output limit once", ends.cut("headless", stop="output_limit", times=1))
    yield Recipe("gemini", GEMINI, "terminal", "output limit once", ends.cut("terminal", stop="output_limit", times=1))


def _context() -> Iterator[Recipe]:
    long = "prompt too long with history"
    yield Recipe("claude", OLDER, "headless", long, ends.too_long_with_history("headless"))
    yield Recipe("claude", NEWER, "terminal", long, ends.too_long_with_history("terminal"))
    yield Recipe("codex", CODEX, "headless", long, ends.too_long_with_history("headless"))
    yield Recipe("codex", CODEX, "terminal", long, ends.too_long_with_history("terminal"))
    yield Recipe("gemini", GEMINI, "headless", long, ends.too_long_with_history("headless"))
    yield Recipe("gemini", GEMINI, "terminal", long, ends.too_long_with_history("terminal"))
    full = "context refused by the CLI"
    yield Recipe("claude", OLDER, "terminal", full, ends.full_context("terminal"))
    yield Recipe("claude", NEWER, "terminal", full, ends.full_context("terminal"))
    yield Recipe("claude", OLDER, "headless", full, ends.full_context("headless"))


def _processes() -> Iterator[Recipe]:
    for harness, pins in PINS.items():
        pin_of = {"headless": pins[0], "terminal": pins[-1]}
        for kind in ("headless", "terminal"):
            yield Recipe(harness, pin_of[kind], kind, "missing binary", deaths.missing(kind))
            yield Recipe(harness, pin_of[kind], kind, "resume refused", deaths.resume_refused(kind))
            yield Recipe(harness, pin_of[kind], kind, "killed by SIGKILL", deaths.killed(kind, signal.SIGKILL))
            yield Recipe(harness, pin_of[kind], kind, "killed by SIGTERM", deaths.killed(kind, signal.SIGTERM))
            yield Recipe(harness, pin_of[kind], kind, "tool that never returns", deaths.hung_tool(kind))
            yield Recipe(harness, pin_of[kind], kind, "API that never answers", deaths.hung_api(kind))
        yield Recipe(harness, pins[0], "headless", "out of memory", scarce.out_of_memory)
        yield Recipe(harness, pins[-1], "terminal", "trust dialog", deaths.trust_dialog)
    yield Recipe("claude", OLDER, "terminal", "trust dialog", deaths.trust_dialog)
    yield Recipe("claude", NEWER, "terminal", "out of memory", scarce.out_of_memory_in_terminal)
    yield Recipe("codex", CODEX, "terminal", "hooks dialog", deaths.hooks_dialog)
    yield Recipe("claude", OLDER, "headless", "not executable", deaths.not_executable)
    yield Recipe("claude", OLDER, "headless", "disk full", scarce.disk_full("headless"))
    yield Recipe("claude", NEWER, "terminal", "disk full", scarce.disk_full("terminal"))
    yield Recipe("codex", CODEX, "headless", "disk full", scarce.disk_full("headless"))
    yield Recipe("gemini", GEMINI, "headless", "disk full", scarce.disk_full("headless"))
    for pin in PINS["claude"]:
        yield Recipe("claude", pin, "headless", "refused tool", deaths.refused_tool)
    yield Recipe("claude", OLDER, "headless", "id in use", deaths.id_in_use)


def _healthy() -> Iterator[Recipe]:
    for harness, pins in PINS.items():
        pin_of = {"headless": pins[0], "terminal": pins[-1]}
        # Enough for a control of twenty, so that each half has ten and more.
        yield Recipe(harness, pin_of["headless"], "headless", "healthy, one-shot", healthy.one_shot)
        yield Recipe(harness, pin_of["headless"], "headless", "healthy, iteration of a loop", healthy.iteration)
        yield Recipe(harness, pin_of["terminal"], "terminal", "healthy, stopped by the operator", healthy.stopped)
        yield Recipe(harness, pin_of["terminal"], "terminal", "healthy, left", healthy.left)
        yield Recipe(harness, pin_of["terminal"], "terminal", "healthy, idle", healthy.idle)
        yield Recipe(harness, pin_of["headless"], "headless", "healthy, overload that passed", healthy.passed("529"))
        yield Recipe(harness, pin_of["terminal"], "terminal", "healthy, tool failed", healthy.tool_failed("terminal"))
        yield Recipe(harness, pin_of["headless"], "headless", "healthy, tool failed", healthy.tool_failed("headless"))
        yield Recipe(harness, pin_of["terminal"], "terminal", "healthy, quiet tool", healthy.quiet_tool("terminal"))
        yield Recipe(harness, pin_of["terminal"], "terminal", "healthy, interrupted", healthy.interrupted)
        yield Recipe(harness, pin_of["headless"], "headless", "healthy, resumed", healthy.resumed)
    yield Recipe("claude", NEWER, "terminal", "healthy, overload that passed", healthy.passed("529", "terminal"))
    yield Recipe("claude", OLDER, "headless", "healthy, limit waited out", healthy.waited_out)
    yield Recipe("codex", CODEX, "headless", "healthy, limit waited out", healthy.waited_out)
    yield Recipe("gemini", GEMINI, "headless", "healthy, limit waited out", healthy.waited_out)
    for pin in PINS["claude"]:
        yield Recipe("claude", pin, "headless", "healthy, stream cut once", healthy.stream_cut_once)
        yield Recipe("claude", pin, "terminal", "healthy, stream cut once", healthy.stream_ended_once)
    yield Recipe("claude", NEWER, "terminal", "healthy, compaction asked for", healthy.compacted)
    yield Recipe("claude", OLDER, "terminal", "healthy, compaction by itself", healthy.compacted_by_itself)
    yield Recipe("codex", CODEX, "terminal", "healthy, compaction asked for", healthy.compacted)
    yield Recipe("claude", OLDER, "terminal", "healthy, refused by a person", healthy.refused_by_a_person)
    yield Recipe("claude", OLDER, "headless", "output limit once", healthy.went_on("headless"))
    yield Recipe("claude", NEWER, "terminal", "healthy, output limit once", healthy.went_on("terminal"))
    yield Recipe("claude", NEWER, "headless", "healthy, talks of errors", healthy.talks_of_errors)
    yield Recipe("codex", CODEX, "headless", "healthy, talks of errors", healthy.talks_of_errors)
    yield Recipe("gemini", GEMINI, "headless", "healthy, talks of errors", healthy.talks_of_errors)
    yield Recipe("claude", OLDER, "terminal", "healthy, cleared", healthy.cleared)
