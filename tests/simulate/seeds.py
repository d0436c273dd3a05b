"""Many seeds, in this process or in several; what comes of each is told in their order, so that nobody sees which."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

import structlog

from tests.simulate.simulation import Broke

T = TypeVar("T")


def each(play: Callable[[str], T], seeds: Sequence[int], jobs: int) -> Iterator[T | Broke]:
    """Play each seed, and yield what it came to, or how it broke. jobs: processes; play has to be picklable for more
    than one."""
    if jobs <= 1:
        quiet()
        yield from (_played(play, seed) for seed in seeds)
        return
    # A fork would share what the parent has done so far; what a seed comes to must not hang on that.
    with ProcessPoolExecutor(min(jobs, len(seeds)), get_context("spawn"), quiet) as pool:
        try:
            yield from pool.map(partial(_played, play), seeds)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def quiet() -> None:
    """What the simulated daemons log is left out."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def _played(play: Callable[[str], T], seed: int) -> T | Broke:
    try:
        return play(str(seed))
    except Broke as breach:
        # Without its cause, which cannot pass from one process to another: the message has the story.
        return Broke(str(breach))
