"""Bugs that were planted, and that no test saw: each is planted again in a copy of the tree, and named tests must fail.

`python -m tests.proof.plants [NAME...]`. A plant whose text is no longer there is a failure too: a change of the place
has to plant it anew, so that the table never proves nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.proof.plant import Plant
from tests.proof.plants_of_handoffs import OF_HANDOFFS

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "node_modules", ".hypothesis")
SEAM = "tests/runtime/test_seam.py"


COMMITS, DUES = "phoenixd/runtime/commits.py", "phoenixd/runtime/dues.py"
TREATMENT = "phoenixd/core/treatment"
TYPING, TYPES = "phoenixd/core/typing", "tests/core/test_typing.py"
ESCAPING, ESCAPES = f"{TYPING}/escaping.py", ("tests/core/test_escaping.py",)

ACTS = "            for action in due.actions:\n                self._act(action)\n"
ANSWERS = "            for answer in due.answers:\n                answer(None)\n"
URGENT = "            if isinstance(action, OF_NO_DELAY):\n                self._dispatch(action)\n"
NOT_URGENT = "        due.actions = [action for action in due.actions if not isinstance(action, OF_NO_DELAY)]\n"

PLANTS = (
    Plant(
        "acts before the save",
        (
            (
                COMMITS,
                "        ticket, keep = None, None\n",
                "        ticket, keep = None, None\n        self._dues.add(Due(None, turn.actions, []))\n"
                "        turn.actions = []\n",
            ),
        ),
        (SEAM,),
    ),
    Plant(
        "acts on what failed to commit",
        ((DUES, "        return self.ticket is None or self.ticket.seqs is not None\n", "        return True\n"),),
        (SEAM,),
    ),
    Plant(
        "acknowledges what failed to commit",
        ((COMMITS, "                due.answers.append(done)\n", "                done(None)\n"),),
        (SEAM,),
    ),
    Plant(
        "acts before it is remembered outside the journal",
        (
            (
                DUES,
                "            if not due.kept.is_set():\n                was_begun",
                "            if False:\n                was_begun",
            ),
        ),
        (SEAM,),
    ),
    Plant(
        "forgets what was late while the journal failed",
        ((DUES, "        if forget and not (due.actions or due.receipts or due.answers):\n", "        if forget:\n"),),
        (SEAM,),
    ),
    Plant(
        "forgets what was withheld while the journal failed",
        ((DUES, "            self._withheld.append(action)\n", "            pass\n"),),
        (SEAM,),
    ),
    Plant(
        "does twice what was not withheld",
        ((DUES, NOT_URGENT, ""),),
        (SEAM,),
    ),
    Plant(
        "never hears that what was late has landed",
        (
            (
                COMMITS,
                "        self._dues.settle()\n        self.on_saved(newest)\n",
                "        self.on_saved(newest)\n",
            ),
        ),
        (SEAM, "tests/runtime/test_slow_journal.py"),
    ),
    Plant(
        "answers before it acts",
        (
            (DUES, ACTS, ANSWERS),
            (DUES, f"                acknowledge()\n{ANSWERS}", f"                acknowledge()\n{ACTS}"),
        ),
        (SEAM,),
    ),
    Plant(
        "never gives a receipt",
        ((DUES, "                acknowledge()\n", "                pass\n"),),
        (SEAM,),
    ),
    Plant(
        "withholds also what ends processes",
        ((DUES, URGENT, "            pass\n"), (DUES, NOT_URGENT, "")),
        (SEAM,),
    ),
    Plant(
        "never remembers the boot",
        (("phoenixd/runtime/recovery.py", "    await journal.remember(BOOT_KEY, now.boot_id)\n", "    pass\n"),),
        ("tests/simulate/test_lives.py",),
    ),
    Plant(
        "a shim kills by bare pid",
        (("phoenixd/shim/tree.py", "signal.pidfd_send_signal(pidfd, signal.SIGKILL)", "os.kill(pid, signal.SIGKILL)"),),
        ("tests/shim/test_reused_pid.py",),
    ),
    Plant(
        "the link serves an agent's process as a shim",
        (("phoenixd/drivers/shims/links.py", "        if is_of_a_run:\n", "        if False:\n"),),
        ("tests/drivers/shims/test_hostile_links.py", "-k", "is_told_nothing"),
    ),
    Plant(
        "the daemon takes an agent's process for a shim",
        (("phoenixd/wiring/ground.py", "is_of_a_run=kin.is_of_a_run, ", ""),),
        ("tests/e2e/test_attacks.py", "-k", "is_told_no_order"),
    ),
    Plant(
        "presses Enter though a hook has told of a dialog",
        ((f"{TYPING}/enter.py", "    if delivery.asked or sight.asks:\n", "    if sight.asks:\n"),),
        (TYPES,),
    ),
    Plant(
        "presses Enter on a dialog",
        (
            (f"{TYPING}/enter.py", "or (line is not None and screen.line != line):\n", "or False:\n"),
            (f"{TYPING}/enter.py", "    if screen.dialog is not None:\n", "    if False:\n"),
            (f"{TYPING}/after.py", "    stands = sight.screen.line == step.line\n", "    stands = True\n"),
        ),
        (TYPES,),
    ),
    Plant(
        "presses Enter on what a person typed meanwhile",
        ((f"{TYPING}/enter.py", "    if delivery.touched:\n", "    if False:\n"),),
        (TYPES, "tests/core/test_typing_unseen.py"),
    ),
    Plant(
        "presses Enter a second time though a hook has told that the text was taken",
        (
            (
                f"{TYPING}/machine.py",
                "    return delivered(delivery, TAKEN)\n",
                "    return Outcome(delivery, delivery.order, TAKEN)\n",
            ),
        ),
        (TYPES,),
    ),
    Plant(
        "finds no verdict on a text that stays where it is",
        (
            (
                f"{TYPING}/after.py",
                "    if is_over and (is_still or not stands):\n",
                "    if is_over and not stands:\n",
            ),
            (f"{TYPING}/machine.py", "    if now.at >= delivery.deadline:\n", "    if False:\n"),
        ),
        (TYPES,),
    ),
    Plant(
        "takes out what a person wrote while no daemon lived",
        (
            (
                f"{TYPING}/orphans.py",
                "    found = which(step.line, step.texts) if step.line and is_alone else None\n",
                "    found = step.texts[-1] if step.line else None\n",
            ),
            (f"{TYPING}/clearing.py", "or not is_ours:\n", "or False:\n"),
        ),
        (TYPES,),
    ),
    Plant(
        "leaves a half line after the daemon's death",
        ((f"{TYPING}/orphans.py", "    if is_settled and found is not None:\n", "    if False:\n"),),
        (TYPES,),
    ),
    Plant(
        "gives an answer though its dialog has left the screen",
        (
            (
                f"{TYPING}/answering.py",
                "        case Standing(), DialogLooked(stands=True):\n",
                "        case Standing(), DialogLooked():\n",
            ),
        ),
        ("tests/core/test_answering.py",),
    ),
    Plant(
        "waits for ever for the proof of an answer",
        ((f"{TYPING}/answering.py", "        counted = answering.allow\n", "        counted = None\n"),),
        ("tests/core/test_answering.py",),
    ),
    Plant(
        "presses Escape though the dialog that was judged has left the screen",
        ((ESCAPING, "    if SCREEN_DIALOGS.get(seen.verdict) != dialog:\n", "    if False:\n"),),
        ESCAPES,
    ),
    Plant(
        "presses Escape on a dialog in place of a turn",
        ((ESCAPING, '    if seen.verdict not in ("working", "idle"):\n', "    if False:\n"),),
        ESCAPES,
    ),
    Plant(
        "presses Escape again where a turn goes on",
        (
            (
                ESCAPING,
                '            return Outcome(again, Look(now.at + LOOK_INTERVAL), "whether the turn has ended")\n',
                '            return _press(again, Pressing(tells_end=True), "the turn goes on")\n',
            ),
        ),
        ESCAPES,
    ),
    Plant(
        "waits for ever for the end of a turn after Escape",
        ((ESCAPING, "            if agrees or now.at >= step.until:\n", "            if agrees:\n"),),
        ESCAPES,
    ),
    Plant(
        "presses Escape by what was known before the look",
        (("phoenixd/runtime/screening.py", "        now = self._find(action.agent)\n", "        now = agent\n"),),
        ("tests/runtime/test_escape.py",),
    ),
    Plant(
        "takes a person's line out",
        ((f"{TYPING}/clearing.py", "or not is_ours:\n", "or False:\n"),),
        (TYPES,),
    ),
    Plant(
        "leaves a dead daemon's client at tmux",
        (
            (
                "phoenixd/drivers/tmux/commands.py",
                "            end_clients(await control.run(CLIENTS, timeout=self._timeout), argv)\n",
                "            pass\n",
            ),
        ),
        ("tests/drivers/tmux/test_strays.py",),
    ),
    Plant(
        "100 and 101 are exits like any other",
        (("phoenixd/core/restart.py", "RECYCLE_CODES = (100, 101)", "RECYCLE_CODES = ()"),),
        ("tests/core/test_recycling.py",),
    ),
    Plant(
        "a turn that was open at the death counts as closed, and the other way round",
        (
            (
                "phoenixd/core/lifecycle/ends.py",
                "    turn_open = state.activity.turn_open or run.goes_on or owed\n",
                "    turn_open = not (state.activity.turn_open or run.goes_on or owed)\n",
            ),
        ),
        (
            "tests/core/test_session.py",
            "tests/core/test_failed_turns.py",
            "tests/core/test_restart.py",
            "tests/core/test_resume.py",
            "tests/core/test_productive.py",
        ),
    ),
    Plant(
        "the breaker loses when there was progress",
        (
            (
                "phoenixd/core/breaker.py",
                "last_progress=number if progress is not None else tally.last_progress",
                "last_progress=tally.last_progress",
            ),
        ),
        ("tests/core/test_breaker.py",),
    ),
    Plant(
        "a breaker that is reset loses when there was progress",
        (
            (
                "phoenixd/core/breaker.py",
                "Tally(iterations=tally.iterations, last_progress=tally.last_progress, opens=tally.opens)",
                "Tally(iterations=tally.iterations, opens=tally.opens)",
            ),
        ),
        ("tests/core/test_breaker.py",),
    ),
    Plant(
        "the first prompt that a shim ever told of begins a turn each time",
        (
            (
                "phoenixd/core/step.py",
                "or 0 < event.seq <= state.run.hook_seq:",
                "or 1 < event.seq <= state.run.hook_seq:",
            ),
        ),
        ("tests/core/test_turns.py",),
    ),
    Plant(
        "a neighbour's end closes a question",
        (
            (
                "phoenixd/core/turn/liveness.py",
                "(waiting.sub == event.sub and event.tool in (None, waiting.tool))",
                "(waiting.sub == event.sub or event.tool in (None, waiting.tool))",
            ),
        ),
        ("tests/core/test_needs_you.py", "-k", "neighbours"),
    ),
    Plant(
        "who tries whether an outage is over forgets its session",
        (
            (
                "phoenixd/core/requests.py",
                "def queue(agent: Agent, why: str, now: Moment, fresh: bool = False)",
                "def queue(agent: Agent, why: str, now: Moment, fresh: bool = True)",
            ),
        ),
        ("tests/core/test_requests.py", "-k", "who_is_queued"),
    ),
    # Of the clinic.
    Plant(
        "words in a sentence say why a run died, and not its type",
        (
            (
                f"{TREATMENT}/rules.py",
                "         lambda e: e.disk_full),\n",
                '         lambda e: "no space left" in e.said.lower()),\n',
            ),
        ),
        ("tests/core/test_case_evidence.py", "-k", "full_disk"),
    ),
    Plant(
        "words in a sentence say why a run of the library failed, and not its type",
        (
            (
                "phoenixd/clinic/rules.py",
                "    for kinds, finding in TABLE:\n        if isinstance(error, kinds):\n",
                "    for kinds, finding in TABLE:\n"
                "        if isinstance(error, kinds) or finding.detail in str(error).lower():\n",
            ),
        ),
        ("tests/clinic/test_causes.py", "tests/clinic/test_hostile.py"),
    ),
    Plant(
        "the library runs again after abort",
        (
            (
                "phoenixd/clinic/recovery.py",
                "            if treated is None:\n                after(state, Turn.GIVEN_UP)\n                break\n",
                "            if treated is None:\n                treated = order\n",
            ),
        ),
        ("tests/clinic/test_recovery.py", "tests/clinic/test_causes.py", "tests/clinic/test_too_long.py"),
    ),
    Plant(
        "an agent is started again after abort",
        (
            (
                f"{TREATMENT}/effects.py",
                "            decision = give_up(agent, case, why, now)\n",
                "            decision = Decision(agent, reason=why)\n",
            ),
        ),
        ("tests/core/test_treatment.py",),
    ),
    Plant(
        "the outcome of a treatment is counted before it is known",
        (
            (
                f"{TREATMENT}/outcome.py",
                "    return replace(one, productive=now.wall, since=now.at, ended=None)\n",
                '    return decided(replace(one, productive=now.wall, since=now.at), "held", "productive", now)\n',
            ),
        ),
        ("tests/core/test_outcomes.py",),
    ),
    Plant(
        "authority is read from the model's answer",
        (
            (
                f"{TREATMENT}/acting.py",
                "    authority = agent.spec.clinic.authority.over(treatment)\n",
                "    authority = agent.spec.clinic.authority.over(treatment)\n"
                '    authority = "act" if case.examined is not None else authority\n',
            ),
        ),
        ("tests/core/test_examining.py",),
    ),
    Plant(
        "an answer brings powers along",
        (("phoenixd/documents/clinic.py", 'frozen=True, extra="forbid",', 'frozen=True, extra="ignore",'),),
        ("tests/clinic/test_answers.py",),
    ),
    *OF_HANDOFFS,
)


class Missing(Exception):
    """The text of a plant is not there, or more than once."""


def plant(tree: Path, edits: Sequence[tuple[str, str, str]]) -> None:
    """Make the edits; raises Missing."""
    for name, old, new in edits:
        path = tree / name
        text = path.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise Missing(f"{name} holds {old!r} {text.count(old)} times, not once")
        path.write_text(text.replace(old, new), encoding="utf-8")


def sees(bug: Plant, source: Path = ROOT) -> tuple[bool, str]:
    """Whether the tests fail with the bug, and how pytest closed."""
    with tempfile.TemporaryDirectory(prefix="phx-") as root:
        tree = Path(root) / "tree"
        shutil.copytree(source, tree, ignore=NOT_COPIED, symlinks=True)
        plant(tree, bug.edits)
        environ = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout", "600", *bug.tests],
            cwd=tree, env=environ, capture_output=True, text=True, check=False,
        )  # fmt: skip
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or [""]
    # 1 is a test that failed; all else is a plant that broke the tests themselves, or tests that are not there.
    return done.returncode == 1, lines[-1]


def main(arguments: list[str]) -> int:
    """Plant those that are named, or all; 1 when one was not seen."""
    parser = argparse.ArgumentParser(prog="./dev proof plants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args(arguments)
    unseen = 0
    for bug in PLANTS:
        if given.names and bug.name not in given.names:
            continue
        began = time.monotonic()
        try:
            seen, last = sees(bug)
        except Missing as missing:
            seen, last = False, f"plant it anew: {missing}"
        unseen += not seen
        verdict = "seen" if seen else "NOT SEEN"
        print(f"{verdict:8} {time.monotonic() - began:4.0f} s  {bug.name}{'' if seen else f': {last}'}", flush=True)
    print(f"{unseen} plants are not seen" if unseen else "every plant is seen")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
