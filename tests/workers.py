"""`-n N`: the tests in N processes, which are forks of the one that has collected them.

To import and collect the suite takes longer than most of its rooms, so it is done once. A worker asks for one unit at a
time (tests/distribution.py) and sends the reports back; this process hands them to pytest as if they were its own.
A worker that ends in the middle of a test is a failure of that test, and another worker goes on with the rest.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading
from collections import deque
from itertools import pairwise
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import pytest

from tests import warm
from tests.distribution import COMPUTING, units, waits


def add_option(parser: pytest.Parser) -> None:
    group = parser.getgroup("workers", "workers")
    # pytest keeps short lower-case names for itself; this one is what everybody types.
    group._addoption("-n", dest="workers", type=int, default=0, metavar="N", help="run the tests in N processes")


def share(session: pytest.Session) -> bool | None:
    """Run the session's tests in as many processes as -n says; None where it says 0, and pytest runs them itself."""
    count, config = session.config.option.workers, session.config
    if count < 1 or not session.items or session.testsfailed or config.option.collectonly or config.option.usepdb:
        return None
    Foreman(session, count).run()
    return True


class Worker:
    """The parent's end of one worker: what it was given, and which test it is at."""

    def __init__(self, number: int, pid: int, link: Connection) -> None:
        self.number, self.pid, self.link = number, pid, link
        self.unit: list[int] = []
        self.at: pytest.Item | None = None


class Foreman:
    """Forks the workers, hands out the units and tells pytest what became of them."""

    def __init__(self, session: pytest.Session, count: int) -> None:
        self.session, self.config = session, session.config
        self.queue = deque(units(session.items))
        self.count = min(count, len(self.queue))
        self.workers: dict[Connection, Worker] = {}
        self.begun = 0
        # Made here, so that all workers' folders are below it.
        self.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]

    def run(self) -> None:
        if threading.active_count() > 1:
            raise pytest.UsageError(f"-n: a module that was collected has begun a thread: {threading.enumerate()}")
        if any(waits(item.nodeid) for item in self.session.items):
            warm.prepare()
        for number in range(self.count):
            self._begin(number)
        try:
            while self.workers:
                for link in wait(list(self.workers)):
                    assert isinstance(link, Connection)
                    self._hear(self.workers[link])
                if self.session.shouldfail:
                    raise self.session.Failed(self.session.shouldfail)
                if self.session.shouldstop:
                    raise self.session.Interrupted(self.session.shouldstop)
        finally:
            # Only where it was interrupted is there one left. It takes down its fixtures, and what they run.
            for worker in self.workers.values():
                os.kill(worker.pid, signal.SIGINT)
                worker.link.close()
                os.waitpid(worker.pid, 0)

    def _begin(self, number: int) -> None:
        ours, theirs = Pipe()
        pid = os.fork()
        if pid == 0:
            for other in (ours, *self.workers):
                other.close()
            labour(self.session, theirs, f"w{number}-{self.begun}")
        theirs.close()
        self.begun += 1
        worker = Worker(number, pid, ours)
        self.workers[ours] = worker
        self._give(worker)

    def _give(self, worker: Worker) -> None:
        if self.queue:
            worker.unit = self.queue.pop() if worker.number == COMPUTING and self.count > 1 else self.queue.popleft()
        try:
            worker.link.send(worker.unit)
        except BrokenPipeError:
            return  # It has ended, and its link says so next.

    def _hear(self, worker: Worker) -> None:
        try:
            kind, said = worker.link.recv()
        except (EOFError, OSError, pickle.UnpicklingError):  # An OSError as well where it ended in mid report.
            self._bury(worker)
            return
        for data in said:
            report = self.config.hook.pytest_report_from_serializable(config=self.config, data=data)
            self.config.hook.pytest_runtest_logreport(report=report)
        if kind == "ends":
            assert worker.at is not None
            self.config.hook.pytest_runtest_logfinish(nodeid=worker.at.nodeid, location=worker.at.location)
            worker.unit = worker.unit[1:]
        worker.at = self.session.items[worker.unit[0]] if worker.unit else None
        if worker.at is None:
            self._give(worker)

    def _bury(self, worker: Worker) -> None:
        """Tell what a worker was at when it ended too early, and begin another one for the rest."""
        del self.workers[worker.link]
        worker.link.close()
        _, status = os.waitpid(worker.pid, 0)
        if worker.at is not None:
            worker.unit = worker.unit[1:]
        code = os.waitstatus_to_exitcode(status)
        if code == 0 and worker.at is None and not worker.unit:
            return
        why = f"the worker that ran this test ended with {code}; what a signal ends has its number below 0"
        place = "tests/workers.py"
        nodeid, location = (worker.at.nodeid, worker.at.location) if worker.at else (place, (place, None, ""))
        self.config.hook.pytest_runtest_logreport(report=pytest.TestReport(nodeid, location, {}, "failed", why, "call"))
        if worker.unit:
            self.queue.appendleft(worker.unit)
        if self.queue:
            self._begin(worker.number)


# --- The worker ------------------------------------------------------------------------------------------------------


def labour(session: pytest.Session, link: Connection, name: str) -> None:
    """Run what comes over the link until nothing does, and end this process."""
    code = 1
    # A child that a test leaves behind would keep the link open, and the end of this process would be told to nobody.
    os.register_at_fork(after_in_child=link.close)
    try:
        reporter = _become_worker(session.config, link, name)
        while places := link.recv():
            link.send(("begins", []))
            # After a unit the session itself stands as the next item: all fixtures go with the unit, but the session's.
            unit: list[Any] = [*(session.items[place] for place in places), session]
            for item, after in pairwise(unit):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                link.send(("ends", reporter.take()))
            set_apart()
        code = 0
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass  # The run is over.
    finally:
        try:
            session.config.hook.pytest_sessionfinish(session=session, exitstatus=code)
        finally:
            # The interpreter's own end is the parent's: what it registered there would run twice.
            os._exit(code)


def set_apart() -> None:
    """Leave what is still there out of the next looks for garbage.

    Modules, caches and pytest's own records live until the worker ends. To look through them again and again was a
    sixth of the time of the tests that compute.
    """
    gc.collect()
    gc.freeze()


def _become_worker(config: pytest.Config, link: Connection, name: str) -> _Reporter:
    # What a shell runs beside itself ignores this signal, and by it a worker is told to end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # By this name pytest's own plugins know a process that reports to another, since xdist.
    config.workerinput = {"workerid": name}  # type: ignore[attr-defined]
    manager: Any = config.pluginmanager
    for plugin in list(manager.get_plugins()):
        if type(plugin).__name__ in ("LogXML", "LFPlugin", "NFPlugin"):
            manager.unregister(plugin)
    capture = manager.getplugin("capturemanager")
    # The files in which output is kept are the parent's, and those of all workers.
    capture.stop_global_capturing()
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), 1)
    capture.start_global_capturing()
    capture.suspend_global_capture()
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / name
    factory._basetemp.mkdir(mode=0o700)
    reporter = _Reporter(config, link)
    manager.register(reporter)
    config.hook.pytest_worker_begins(config=config)
    return reporter


class _Reporter:
    """Keeps what a test comes to until it ends: to send each phase by itself doubles what a short test costs.

    A failure is sent at once, for the worker may die of what the test does next.
    """

    def __init__(self, config: pytest.Config, link: Connection) -> None:
        self._config, self._link = config, link
        self._kept: list[Any] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._kept.append(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))
        if report.failed:
            self._link.send(("found", self.take()))

    def take(self) -> list[Any]:
        kept, self._kept = self._kept, []
        return kept


class Hooks:
    """What other plugins may hear of workers."""

    def pytest_worker_begins(self, config: pytest.Config) -> None:
        """Called in each worker before its first test."""
