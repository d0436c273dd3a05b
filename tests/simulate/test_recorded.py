"""What daemons decide in a few calm lives, row by row of their journals, as it was when it was last written down.

A row that is another one, or comes at another time, is shown as a difference. Where that is meant,
`python -m tests.core.recorded` writes all of it anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from phoenixd.ports.journal import Entry
from tests.simulate import test_lives, test_succession, test_tasks
from tests.simulate.host import Host
from tests.simulate.simulation import Simulation
from tests.simulate.virtual_loop import VirtualLoop

pytestmark = pytest.mark.usefixtures("quiet")

TOLD = Path(__file__).with_name("told")
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
"""Identifiers hang on dice, and one throw more anywhere makes others of them all."""


def life(strike_at: int | None = None, reboots: bool = False) -> Host:
    return test_lives.Life(strike_at, reboots).live().host


def handoff(kind: type[test_succession.Life], strike_at: int | None = None) -> Host:
    lived = kind(strike_at)
    lived.live()
    return lived.story.host


def tasks() -> Host:
    hosts: list[Host] = []

    async def main() -> None:
        simulation = Simulation("tasks", {"boss": test_tasks.BOSS})
        simulation.host.is_calm = True
        handed = test_tasks.Tasks(simulation)

        async def story() -> None:
            await handed.hand_out(420.0)
            await handed.settle()

        await simulation.play(story)
        hosts.append(simulation.host)

    anyio.run(main, backend_options={"loop_factory": VirtualLoop})
    return hosts[0]


LIVES: dict[str, Callable[[], Host]] = {
    "five-agents": life,
    "a-daemon-dies-before-its-starts": lambda: life(20),
    "a-daemon-dies-among-orders": lambda: life(60),
    "a-daemon-dies-while-a-shim-is-gone": lambda: life(97),
    "a-reboot": lambda: life(90, reboots=True),
    "a-handoff": lambda: handoff(test_succession.Life),
    "a-handoff-and-a-daemon-that-dies": lambda: handoff(test_succession.Life, 30),
    "an-orchestrator-with-tasks": tasks,
    "a-successor-that-dies": lambda: handoff(test_succession.Second),
}


@pytest.mark.parametrize("name", LIVES)
def test_a_recorded_life_is_decided_as_it_was(name: str) -> None:
    told = [line(row.entry) for row in LIVES[name]().journal.entries]
    path = TOLD / f"{name}.txt"
    if "PHOENIX_RECORD" in os.environ:
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join((*told, "")), encoding="utf-8")
    assert told == path.read_text(encoding="utf-8").splitlines()


def line(entry: Entry) -> str:
    """When, of whom, what was heard, what became of it, why, and what was done about it."""
    heard = " ".join((entry.event, *(f"{key}={value}" for key, value in entry.detail.items())))
    seen = " ".join(f"[{name} {value}]" for name, value in entry.readings)
    done = "".join(f" > {action}" for action in entry.actions)
    facts = "".join(f" + {fact.name}" for fact in entry.facts)
    whole = f"{entry.at:.3f} {entry.agent} #{entry.incarnation} {heard} : {entry.state} {entry.weight}: {entry.reason}"
    return UUID.sub("~", f"{whole} {seen}{done}{facts}".replace("\n", "\\n")).rstrip()
