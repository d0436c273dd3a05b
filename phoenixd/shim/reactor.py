"""One epoll: file descriptors, deadlines and signals, and nothing that wakes up without a reason."""

from __future__ import annotations

import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

READABLE = select.EPOLLIN
WRITABLE = select.EPOLLOUT
HUNG_UP = select.EPOLLHUP | select.EPOLLERR
PEER_CLOSED = select.EPOLLRDHUP

# What became ready in one turn is served in this order: an agent's last words are read before its death is.
HOOKS_FIRST, LINK_NEXT, SIGNALS_LAST = 0, 1, 2


class Watch:
    __slots__ = ("callback", "rank")

    def __init__(self, callback: Callable[[int], None], rank: int) -> None:
        self.callback = callback
        self.rank = rank


class Reactor:
    """Calls back when a descriptor is ready or a deadline has passed; sleeps in the kernel otherwise."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._watches: dict[int, Watch] = {}
        self._deadlines: dict[str, tuple[float, Callable[[], None]]] = {}

    def watch(self, fd: int, mask: int, callback: Callable[[int], None], rank: int = LINK_NEXT) -> None:
        """Call `callback(mask)` while fd is ready; a mask of 0 still reports a hang-up."""
        self._epoll.register(fd, mask)
        self._watches[fd] = Watch(callback, rank)

    def change(self, fd: int, mask: int) -> None:
        self._epoll.modify(fd, mask)

    def forget(self, fd: int) -> None:
        if self._watches.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def at(self, name: str, when: float, callback: Callable[[], None]) -> None:
        """Call `callback()` once, at the monotonic time `when`; a name has one deadline."""
        self._deadlines[name] = (when, callback)

    def waits_for(self, name: str) -> bool:
        return name in self._deadlines

    def cancel(self, name: str) -> None:
        self._deadlines.pop(name, None)

    def turn(self) -> None:
        """Sleep until something happens, then serve it."""
        ready = self._epoll.poll(self._patience())
        due = [(self._watches[fd].rank, fd, mask, self._watches[fd]) for fd, mask in ready if fd in self._watches]
        due.sort(key=lambda entry: entry[0])
        for _, fd, mask, watch in due:
            # An earlier callback of this turn may have closed the descriptor, and its number may be in use again.
            if self._watches.get(fd) is watch:
                watch.callback(mask)
        self._serve_deadlines()

    def _patience(self) -> float:
        if not self._deadlines:
            return -1
        return max(0.0, min(when for when, _ in self._deadlines.values()) - time.monotonic())

    def _serve_deadlines(self) -> None:
        if not self._deadlines:
            return
        now = time.monotonic()
        for name, (when, callback) in list(self._deadlines.items()):
            if when <= now and self._deadlines.get(name) == (when, callback):
                del self._deadlines[name]
                callback()


class Signals:
    """Signals as readable bytes: their handlers do nothing, so no code of ours is ever interrupted."""

    CAUGHT = (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM)
    IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGPIPE)
    # Each would end the shim, and the agent with it; nobody has a use for them here.
    MEANINGLESS = (
        signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGPOLL, signal.SIGPWR,
        signal.SIGSTKFLT, signal.SIGXCPU, signal.SIGXFSZ, *range(signal.SIGRTMIN, signal.SIGRTMAX + 1),
    )  # fmt: skip

    def __init__(self, reactor: Reactor, callback: Callable[[set[int]], None]) -> None:
        self._callback = callback
        self._read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in self.CAUGHT:
            signal.signal(number, lambda _number, _frame: None)
        for number in (*self.IGNORED, *self.MEANINGLESS):
            signal.signal(number, signal.SIG_IGN)
        # The mask is inherited: a starter that blocked SIGTERM must not make this process deaf to it.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        reactor.watch(self._read_end, READABLE, self._readable, SIGNALS_LAST)

    def _readable(self, _mask: int) -> None:
        arrived: set[int] = set()
        while True:
            try:
                numbers = os.read(self._read_end, 4096)
            except BlockingIOError:
                break
            arrived.update(numbers)
        if arrived:
            self._callback(arrived)
