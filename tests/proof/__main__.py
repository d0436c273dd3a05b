"""`./dev proof [--go-on] [--within MINUTES] [NAME...]`: run the long suites one after the other, and end with a table.

What follows one name is for that proof: `./dev proof mutants --count 60`, `./dev proof contract --newest`. Of a commit
whose work tree nobody changed it is kept what came of each proof, in the directory of `./dev proof mutants`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from math import inf
from pathlib import Path

from tests.proof import going_on
from tests.proof.going_on import FAILED, HELD, Outcome

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Proof:
    """One long suite: what it proves, the command whose exit code is the verdict, and the page that it writes."""

    name: str
    proves: str
    argv: tuple[str, ...]
    writes: str = ""


def _pytest(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "pytest", "-q", "--timeout", "1800", *words)


def _module(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-m", *words)


ELSEWHERE = ("claude_clinic", "contract", "cut_answers", "cut_reports", "opencode")
"""Files of tests/real that are proofs of their own."""

PROOFS: tuple[Proof, ...] = (
    Proof(
        "kills",
        "300 kills of the daemon, 100 of them at a chosen system call: none lost, none doubled, no order forgotten",
        _module("tests.proof.kills"),
    ),
    Proof(
        "mutants",
        "200 small changes of what decides, drawn by a seed: nine of ten are seen by the tests that run their lines",
        _module("tests.proof.mutants"),
    ),
    Proof(
        "properties",
        "the property tests, which the gate gives 40 examples on one Python, with 500 each",
        ("env", "HYPOTHESIS_PROFILE=ci", *_pytest("-m", "hypothesis and not proof")),
    ),
    Proof("plants", "bugs that no test saw are planted again, and must be seen", _module("tests.proof.plants")),
    Proof(
        "prompts", "1,000 prompts to misbehaving terminals: each once, or not at all", _module("tests.proof.prompts")
    ),
    Proof(
        "blind",
        "100 cases by somebody who knew neither code nor tests: who is hung, what is a restart worth, what is progress",
        _module("tests.blind"),
    ),
    Proof("faults", "I/O errors, SIGKILL at each system call, full disks", _pytest("-m", "faults")),
    Proof(
        "slow",
        "what takes more than ten seconds, with the tries that the gate leaves out",
        _pytest("-m", "slow and not faults"),
    ),
    Proof(
        "others",
        "every other test that takes minutes: races by the thousand, days in virtual time, daemons that are left alone",
        _pytest(
            "-m",
            "proof and not faults and not slow and not real_claude",
            *(f"--ignore=tests/{room}" for room in ("blind", "clinic", "proof")),
        ),
    ),
    Proof("systemd", "restart, crash and stop under a real systemd in a container", _pytest("tests/systemd")),
    Proof(
        "claude",
        "the real CLIs, trap by trap, with what the gate leaves out",
        _pytest("-m", "real_claude", *(f"--ignore=tests/real/test_{one}.py" for one in ELSEWHERE)),
    ),
    Proof(
        "contract",
        "three real CLIs in every situation; writes the table of harnesses.md",
        _module("tests.real"),
        "docs/reference/harnesses.md",
    ),
    Proof(
        "cuts",
        "answers and reports that are cut, in each way, with the three real CLIs",
        _pytest("-m", "real_claude", "tests/real/test_cut_answers.py", "tests/real/test_cut_reports.py"),
    ),
    Proof(
        "resonance",
        "fronts of contexts that models in process drop: each is found in time, and what lost nothing is left alone",
        _module("tests.proof.resonance"),
        "docs/explanation/resonance.md",
    ),
    Proof(
        "restoring",
        "kill -9 of the daemon 20 times at each of the seven steps of a restoration: it ends once, and loses no work",
        _module("tests.proof.restoring"),
    ),
    Proof(
        "clinic",
        "the clinic's library with the oldest and the newest pydantic-ai; failures of the real Claude Code",
        _pytest("-m", "proof", "tests/clinic", "tests/real/test_claude_clinic.py"),
    ),
    Proof(
        "opencode",
        "the recipe of docs/how-to, with the real opencode",
        _pytest("-m", "proof", "tests/real/test_opencode.py"),
    ),
    Proof(
        "healing",
        "every command of docs/how-to/self-healing.md, seed G's four tests among them",
        _module("tests.proof.healing"),
    ),
    Proof(
        "attacks",
        "twenty agents under attack: none lost, forgotten, or no longer heard",
        _pytest("-m", "proof", "tests/proof/attacks"),
    ),
    Proof("host", "faults of the host, each in a world of its own", _pytest("-m", "proof", "tests/proof/host")),
    Proof("soak", "40 agents under faults for 30 minutes: nothing grows, nobody is wrong", _module("tests.proof.soak")),
    Proof(
        "journals",
        "200 lost, old and damaged journals under ten agents, and 10,000 in a virtual world",
        _module("tests.proof.journals"),
    ),
    Proof(
        "twin",
        "an older step, or this one in another process, and today's hear 1,000,000 events, and decide the same",
        _module("tests.proof.twin"),
    ),
    Proof(
        "feed",
        "10,000 cuts of the feed and 100 kills of the daemon between any two frames: the client knows what is so",
        _module("tests.proof.feed"),
    ),
    Proof(
        "blocked",
        "how soon a dialog of each real CLI is in the feed, and out of it once it was answered: printed, not judged",
        _module("tests.proof.blocked"),
    ),
    Proof(
        "everlasting",
        "handoffs at the very token by a real Claude Code, 100 of programs, and kill -9 at each step; writes the page",
        _module("tests.proof.everlasting"),
        "docs/explanation/everlasting.md",
    ),
    Proof(
        "seats",
        "1,000 seeds of two seats in virtual time: one holder, one end to a handoff, no task or text lost or doubled",
        _module("tests.simulate", "--seats", "--hours", "0.2", "--seeds", "1000", "--jobs", "0"),
    ),
    Proof(
        "storms",
        "200 seeds of a fleet in virtual time under storms, then healed",
        _module("tests.simulate", "--agents", "8", "--hours", "2", "--seeds", "200", "--storm", "--jobs", "0"),
    ),
)


def main(arguments: list[str]) -> int:
    """Run the proofs that are named, or all; 1 when one of them did not hold."""
    given, options = _understood(arguments)
    names = [proof.name for proof in PROOFS if not given.names or proof.name in given.names]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    until = time.monotonic() + given.within * 60
    tree = _tree()
    if tree is None:
        print("nothing of this run is kept for --go-on: the work tree is not its commit; see git status", flush=True)
    known = going_on.kept(going_on.place_of(tree), options) if tree is not None and given.go_on else {}
    left = going_on.left(names, known)
    try:
        while left and time.monotonic() < until:
            outcome = _outcome(next(proof for proof in PROOFS if proof.name == left[0]), options)
            known[left.pop(0)] = outcome
            if tree is not None and _tree() == tree:
                going_on.keep(going_on.place_of(tree), outcome)
    finally:
        print(f"\n{going_on.table(names, known)}")
    if left:
        rest = shlex.join(["--go-on", *given.names, *options])
        print(f"the time ended before all were run; to go on: ./dev proof {rest}")
    return 1 if going_on.left(names, known) else 0


def _understood(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return what is asked of this program, and the options of the one proof that is named."""
    known = [proof.name for proof in PROOFS]
    first = next((place for place, word in enumerate(arguments) if word in known), len(arguments))
    behind = (place for place, word in enumerate(arguments) if place > first and word.startswith("-"))
    end = next(behind, len(arguments))
    # One name alone takes options, so that `./dev proof mutants --help` is answered by that proof.
    own, options = (arguments[:end], arguments[end:]) if end == first + 1 else (arguments, [])
    parser = argparse.ArgumentParser(
        prog="./dev proof", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--go-on", action="store_true", help="leave out what held of exactly this commit")
    parser.add_argument("--within", type=float, default=inf, metavar="MINUTES", help="begin no proof after that")
    parser.add_argument("names", nargs="*", choices=[*known, []], metavar="NAME")
    given = parser.parse_args(own)
    if "--newest" in options and given.names != ["contract"]:
        parser.error("only one proof asks for the newest CLIs: ./dev proof contract --newest")
    return given, options


def _tree() -> str | None:
    return going_on.tree_of(ROOT, {proof.writes for proof in PROOFS if proof.writes})


def _outcome(proof: Proof, options: list[str]) -> Outcome:
    print(f"--- {proof.name}: {proof.proves}", flush=True)
    began = time.monotonic()
    verdict = HELD if _played([*proof.argv, *options]) == 0 else FAILED
    at = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")
    return Outcome(proof.name, tuple(options), verdict, time.monotonic() - began, at, os.getloadavg()[0])


def _played(argv: list[str]) -> int:
    """The exit code of a proof; one that is interrupted ends what it began itself, and is waited for."""
    with subprocess.Popen(argv) as proof:
        try:
            return proof.wait()
        except KeyboardInterrupt:
            proof.terminate()
            proof.wait()
            raise


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
