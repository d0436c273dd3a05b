"""`./dev proof resonance`: how surely, how late and at what price a lost front is found, and what is falsely found.

It writes its tables into docs/explanation/resonance.md, unless it ran with fewer trials or something did not hold.

Each figure is a count out of trials, with the Clopper-Pearson interval of 95 % beside it, exact by bisection.
Deterministic: model, conversation and codes come from numbers that are counted up.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any, get_args

from phoenixd.planting import Mode
from phoenixd.resonance import MarkerLost, Pacemaker, SessionSeed
from phoenixd.resonance.session import Transport
from tests.resonance import models
from tests.resonance.models import Model, dropping, tokens

SEED = SessionSeed("The Architect", ("Design the protocol",), ("Markers are hybrid",))
INTERVAL = 10
TRIALS, CHECKS = 200, 1000
PAGE = Path(__file__).resolve().parents[2] / "docs/explanation/resonance.md"
BEGIN = "<!-- written by ./dev proof resonance -->"
END = "<!-- end -->"
BOUND = INTERVAL + 3 + 1
TRUNCATED: tuple[type[Model], ...] = (Model, models.DisobeyingOnce, models.Paraphrasing, models.Listing)
HEALTHY = {"healthy": Model, "disobeys once": models.DisobeyingOnce, "paraphrases": models.Paraphrasing}


def at_most(successes: int, trials: int, chance: float) -> float:
    """The probability of `successes` successes or fewer."""
    return sum(comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(successes + 1))


def interval(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Clopper and Pearson's: the chances under which what was seen is not too rare on either side."""
    tail = (1 - confidence) / 2

    def root(is_below: Callable[[float], bool]) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if is_below(middle) else (low, middle)
        return low

    failures = trials - successes
    lower = root(lambda chance: at_most(failures, trials, 1 - chance) < tail) if successes else 0.0
    upper = root(lambda chance: at_most(successes, trials, chance) > tail) if failures else 1.0
    return lower, upper


def pacemaker(model: Any, number: int, **given: Any) -> Pacemaker:
    dice = random.Random(number)
    clock = iter(range(1_790_000_000, 10**12, 3600))
    return Pacemaker(
        model, SEED, draw=lambda count: dice.randbytes(count).hex(), now=lambda: float(next(clock)), **given
    )


def truncations(mode: Mode, transport: Transport, trials: int) -> tuple[int, list[int]]:
    """How many dropped fronts were found in time, and after how many turns each."""
    delays = []
    for number in range(trials):
        dice = random.Random(number)
        model = TRUNCATED[number % len(TRUNCATED)](view=dropping(dice.randint(2000, 5000), pinned=number % 2 == 0))
        pace = pacemaker(model, number, mode=mode, transport=transport, system="You are of use.")
        dropped = 0
        for turn in range(1, 400):
            before = len(model.requests)
            verdict = pace.turn(models.FILLER * dice.randint(1, 4)).verdict
            if not dropped and any(len(model.view(one)) < len(one) for one in model.requests[before:]):
                dropped = turn
            if verdict == "lost" or (dropped and turn > dropped + BOUND):
                break
        if dropped and verdict == "lost" and turn <= dropped + BOUND:
            delays.append(turn - dropped)
    return len(delays), delays


def false_losses(kind: Callable[[], Any], mode: Mode, transport: Transport, checks: int) -> int:
    """Verdicts of a loss among `checks` checks of models that lost nothing; a model is given 50 of them."""
    lost = 0
    for number in range(checks // 50):
        pace = pacemaker(kind(), number, mode=mode, transport=transport, interval=1)
        lost += sum(pace.turn(f"Part {part}.").verdict == "lost" for part in range(50))
    return lost


def echoes(mode: Mode, transport: Transport, checks: int) -> int:
    """Checks that an echo passed whose front is gone."""
    passed = 0
    for number in range(checks):
        model = models.Echoing()
        pace = pacemaker(model, number, mode=mode, transport=transport, interval=3)
        for part in range(10):
            pace.turn(f"Part {part}.")
        model.view = lambda messages: messages[1:]
        try:
            passed += pace.check() == "intact"
        except MarkerLost:
            pass
    return passed


def compactions(wanted: int) -> tuple[int, int]:
    """Losses among `wanted` compactions that dropped the codes."""
    lost = seen = number = 0
    while seen < wanted:
        model = models.Compacting(window=800)
        pace = pacemaker(model, number, transport="compaction")
        lost += sum(pace.turn("Go on.").verdict == "lost" for _ in range(120))
        seen, number = seen + model.compactions, number + 1
    return lost, seen


def price(mode: Mode, transport: Transport, turns: int = 60) -> float:
    """Tokens that a turn costs more than without a pacemaker, sent and answered."""
    model, bare = Model(), Model()
    said: list[Any] = []
    pace = pacemaker(model, 1, mode=mode, transport=transport)
    for part in range(turns):
        pace.turn(f"Part {part}.")
        said.append({"role": "user", "content": f"Part {part}."})
        said.append({"role": "assistant", "content": bare(list(said)).text})
    return (sum(map(tokens, model.requests)) - sum(map(tokens, bare.requests))) / turns


def unaided(mode: Mode, trials: int) -> tuple[int, int]:
    """Models that refuse what is too long, and models that never obey: whose session began anew, who was given up."""
    renewed = paused = 0
    for number in range(trials):
        pace = pacemaker(models.Rejecting(window=900), number, mode=mode)
        for _ in range(30):
            pace.turn(models.FILLER)
        renewed += any(one.kind == "rejected" for one in pace.records.happened)
        pace = pacemaker(models.DisobeyingForEver(), number, mode=mode, interval=2)
        try:
            for _ in range(10):
                pace.turn("Go on.")
        except MarkerLost:
            paused += 1
    return renewed, paused


def shown(successes: int, trials: int) -> str:
    low, high = interval(successes, trials)
    return f"{successes}/{trials} ({low:.2%} to {high:.2%})"


def write(lines: list[str]) -> None:
    """Put the tables in the place of those that stand in the page."""
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE} lacks the lines {BEGIN} and {END}")
    PAGE.write_text(before + BEGIN + "\n\n" + "\n".join(lines) + "\n\n" + END + after)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev proof resonance", description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS, help="truncations for each transport and mode")
    parser.add_argument("--checks", type=int, default=CHECKS, help="checks of each model that lost nothing")
    given = parser.parse_args(arguments)
    wrong: list[str] = []
    lines: list[str] = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    say("| transport | mode | found in time (95 %) | delay in turns: median, most | tokens per turn |")
    say("|---|---|---|---|---|")
    for transport in get_args(Transport):
        for mode in get_args(Mode):
            found, delays = truncations(mode, transport, given.trials)
            delays.sort()
            delay = f"{delays[len(delays) // 2]}, {delays[-1]}" if delays else "none"
            cost = price(mode, transport)
            say(f"| {transport} | {mode} | {shown(found, given.trials)} | {delay} | {cost:.0f} |")
            if found < given.trials:
                wrong.append(f"{transport}, {mode}: {given.trials - found} were not found within {BOUND} turns")
    say("\n| what lost nothing | transport | mode | taken for lost (95 %) |\n|---|---|---|---|")
    for name, kind in HEALTHY.items():
        for transport in get_args(Transport):
            for mode in get_args(Mode):
                lost = false_losses(kind, mode, transport, given.checks)
                say(f"| {name} | {transport} | {mode} | {shown(lost, given.checks)} |")
                if lost:
                    wrong.append(f"{name}, {transport}, {mode}: {lost} false losses")
    lost, seen = compactions(100)
    say(f"| compactions that dropped the codes | compaction | one_time | {shown(lost, seen)} |")
    if lost:
        wrong.append(f"{lost} ordinary compactions were taken for losses")
    say("\n| an echo without its front | mode | passes (95 %) |\n|---|---|---|")
    for transport in get_args(Transport):
        for mode in get_args(Mode):
            passed = echoes(mode, transport, given.checks)
            say(f"| {transport} | {mode} | {shown(passed, given.checks)} |")
            if passed != (given.checks if mode == "classic" else 0):
                wrong.append(f"{transport}, {mode}: an echo passed {passed} times")
    say("\n| a model that | mode | what is done (95 %) |\n|---|---|---|")
    for mode in get_args(Mode):
        renewed, paused = unaided(mode, given.trials)
        say(f"| refuses what is too long | {mode} | a new session from the seed: {shown(renewed, given.trials)} |")
        say(f"| never obeys | {mode} | restored once, then given up: {shown(paused, given.trials)} |")
        if (renewed, paused) != (given.trials, given.trials):
            wrong.append(f"{mode}: {renewed} and {paused} of {given.trials}")
    if not wrong and (given.trials, given.checks) == (TRIALS, CHECKS):
        write(lines)
    print("\n" + ("\n".join(wrong) or "held"))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
