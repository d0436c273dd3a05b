"""Bugs by which an orchestrator would not be everlasting, planted as those of plants.py are."""

from __future__ import annotations

from tests.proof.plant import Plant

MACHINE, SUCCESSION = "phoenixd/core/handoff/machine.py", "phoenixd/core/seat/succession.py"

OF_HANDOFFS = (
    Plant(
        "believes an ack without the package's hash",
        (
            (
                "phoenixd/core/handoff/verdict.py",
                "    if not _is_same(package, handoff.package):\n",
                "    if False:\n",
            ),
        ),
        ("tests/core/test_handoff_ack.py", "-k", "f_ho_10"),
    ),
    Plant(
        "fences the predecessor only when it is shut down",
        (
            (MACHINE, '{handoff.predecessor} is fenced", ("pass",)\n', '{handoff.predecessor} is fenced"\n'),
            (MACHINE, 'holds the seat alone")\n', 'holds the seat alone", ("pass",))\n'),
            (SUCCESSION, "    if generation == seat.generation:\n", "    if False:\n"),
        ),
        ("tests/core/test_handoff_failures.py", "-k", "f_ho_11"),
    ),
    Plant(
        "reads an unknown context as an empty one",
        (
            (
                "phoenixd/core/meter/reading.py",
                "    if meter.tokens is None or window is None:\n",
                "    meter = replace(meter, tokens=meter.tokens or 0)\n    if window is None:\n",
            ),
        ),
        ("tests/core/test_meter.py", "-k", "e18 or f_ho_3"),
    ),
    Plant(
        "reads usage that is not told as 0",
        (
            (
                "phoenixd/harness/claude/transcript.py",
                "    if not (fresh or read or written):\n",
                "    if False:\n",
            ),
        ),
        ("tests/harness/claude/test_transcript.py", "-k", "e18"),
    ),
    Plant(
        "counts a sidechain's usage",
        (
            (
                "phoenixd/harness/claude/transcript.py",
                '    if found is None or found.get("isSidechain") is True:\n',
                "    if found is None:\n",
            ),
        ),
        ("tests/harness/claude/test_transcript.py", "-k", "e23"),
    ),
    Plant(
        "arms a block at a turn's end again that was given",
        (
            (
                "phoenixd/core/armed_answer.py",
                "        return self.uses >= self.answer.times\n",
                "        return False\n",
            ),
        ),
        ("tests/core/test_armed.py", "tests/core/test_handoff_late.py", "-k", "given or spent or f_ho_12 or counted"),
    ),
    Plant(
        "a shim holds the same turn's end up twice",
        (
            (
                "phoenixd/shim/arming.py",
                "        return self.uses < self.times and time.monotonic() < self.until\n",
                "        return time.monotonic() < self.until\n",
            ),
        ),
        ("tests/shim/test_armed.py",),
    ),
    Plant(
        "starts a generation again that was shut down",
        (
            (
                SUCCESSION,
                "            return end_run(going, Afterwards.REMOVE, why, now)\n",
                "            return end_run(going, Afterwards.RESTART, why, now)\n",
            ),
            (
                SUCCESSION,
                "    going = replace(settled(agent), desired=Desired.STOPPED, removing=True)\n",
                "    going = replace(settled(agent), desired=Desired.RUNNING, removing=True)\n",
            ),
        ),
        ("tests/core/test_handoff_failures.py", "-k", "f_ho_14"),
    ),
)
