"""What a daemon is at when its test fails: its stacks, or how it ended, beside the failure.

Of a test that waited in vain nothing else tells a daemon that hangs from one that is gone, or from one that is well.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from tests.waiting import eventually_sync

PATIENCE = 5.0
"""Seconds for a daemon to say it: the signal needs no event loop that turns."""
LONGEST = 32_000
"""Characters of them, the last ones."""


def tell(report: pytest.TestReport, arguments: Mapping[str, object]) -> None:
    """Add to a failure what each daemon is at that the test was given."""
    for stage in _stages(arguments.values()):
        report.sections.append(("what the daemon is at", stacks_of(stage)))


def stacks_of(stage: Stage) -> str:
    """The stacks of its daemon's threads; where there is no daemon, or it cannot say, how that is known."""
    process = stage.process
    if process is None:
        return "no daemon was started"
    if process.poll() is not None:
        return f"it has ended with {process.returncode}; what a signal ends has its number below 0"
    before = stage.log.stat().st_size

    def said() -> str:
        with stage.log.open(errors="replace") as log:
            log.seek(before)
            return log.read()

    process.send_signal(signal.SIGUSR2)
    try:
        # The main thread's stack is the last one, and the interpreter's first frame its last line.
        eventually_sync(lambda: "__main__.py" in said(), PATIENCE)
    except TimeoutError:
        status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        return f"it does not say; {next(line for line in status if line.startswith('State:'))}\n{said()[-LONGEST:]}"
    return said()[-LONGEST:]


def _stages(arguments: Iterable[object]) -> Iterator[Stage]:
    for argument in arguments:
        for one in (argument, getattr(argument, "stage", None)):
            if isinstance(one, Stage):
                yield one
