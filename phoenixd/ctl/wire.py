"""HTTP over the control socket by hand: a request goes out, bytes come back. Built-in modules alone.

HTTP/1.0 is spoken, so that an answer ends where the connection does.
"""

import _socket
import posix
import sys

Environment = dict[bytes, bytes]
TIMEOUT = 15.0
"""Seconds for which a daemon is waited for that answers nothing at all."""
SILENCE, LOOK = 3.0, 2.0
"""Seconds after which a daemon that says nothing is asked whether it answers at all, and those for that answer."""
AGAIN = 0.25
"""Seconds for which a full queue is waited for where it was waited for before."""
RETURNS = 10.0
"""Seconds for which a socket is waited for that a living daemon lacks: it makes the socket anew within 5."""
LOOK_EVERY = 0.1
"""Seconds between two looks whether that socket is there."""
TRACED_LOOKS, TRACED_PAUSE = 20, 0.02
"""How many looks, with how many seconds before each, must find a process held before it is called stopped."""
GONE = (2, 20, 104, 111)
"""ENOENT, ENOTDIR, ECONNRESET, ECONNREFUSED: nobody is there. Whatever else connecting says is told as it is."""
COLOURS = ("auto", "always", "never")
ITS_OWN = (b"up", b"demo", b"install-service", b"hooks", b"help")
"""Verbs that ask no daemon, or name its directories."""
NARROWEST, USUAL, UNCUT = 20, 80, 1000
"""Columns of a page; with the most that can be asked for, nothing on it is cut."""


class Answer:
    """What the daemon said. exit: what it wants phoenixctl to exit with."""

    __slots__ = ("body", "exit", "status", "type")

    def __init__(self, status: int, exit_code: int, media_type: str, body: bytes) -> None:
        self.status = status
        self.exit = exit_code
        self.type = media_type
        self.body = body


def environment() -> Environment:
    """The process's environment as it came."""
    return posix.environ


def sockets(environ: Environment, explicit: str | None = None) -> list[bytes]:
    """Where the daemon may listen: the place that was named, else the default places, the likeliest first."""
    if explicit is not None:
        return [explicit.encode("utf-8", "surrogateescape")]
    if named := environ.get(b"PHOENIX_SOCKET"):
        return [named]
    for name in (b"PHOENIX_RUNTIME_DIR", b"RUNTIME_DIRECTORY"):
        if named := environ.get(name):
            return [named.partition(b":")[0] + b"/api.sock"]
    places: list[bytes] = []
    if session := environ.get(b"XDG_RUNTIME_DIR"):
        places.append(session + b"/phoenixd/api.sock")
    if state := state_directory(environ):
        places.append(state + b"/run/api.sock")
    return [*places, b"/run/phoenixd/api.sock"]


def state_directory(environ: Environment) -> bytes | None:
    """STATE_DIR as phoenixd.directories finds it (a test compares both)."""
    if names_state(environ):
        return environ[b"PHOENIX_STATE_DIR"]
    if from_systemd := environ.get(b"STATE_DIRECTORY", b"").partition(b":")[0]:
        return from_systemd
    root = environ.get(b"XDG_STATE_HOME", b"")
    if not root.startswith(b"/"):
        home = environ.get(b"HOME")
        if not home:
            return None
        root = home + b"/.local/state"
    return root + b"/phoenixd"


def names_state(environ: Environment) -> bool:
    """Whether the environment names a daemon's state directory; in an agent's pane it names the agent's own."""
    return b"PHOENIX_AGENT" not in environ and bool(environ.get(b"PHOENIX_STATE_DIR"))


def connect(places: list[bytes], timeout: float | None = TIMEOUT) -> _socket.socket | None:
    """A connection to the first place that answers. Raises OSError where somebody is there and does not let us in."""
    refused: OSError | None = None
    for place in places:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            _enter(connection, place, TIMEOUT if timeout is None else min(timeout, TIMEOUT))
            connection.settimeout(timeout)
        except OSError as error:
            connection.close()
            if error.errno not in GONE:
                refused = refused or error
            continue
        return connection
    if refused is not None:
        raise refused
    return None


def _enter(connection: _socket.socket, place: bytes, timeout: float) -> None:
    """Connect. A full queue is waited for, but not that of a daemon that was stopped: it lets nobody in."""
    first = min(timeout, AGAIN if _Shown.silent else SILENCE)
    try:
        _connect(connection, place, first)
        return
    except BlockingIOError:
        from phoenixd.ctl.holders import holder_of

        _Shown.silent = _Shown.silent or is_stopped(holder_of(place))
        if timeout <= first or _Shown.silent:
            raise
    try:
        _connect(connection, place, timeout - first)
    except BlockingIOError:
        _Shown.silent = timeout >= TIMEOUT
        raise


def _connect(connection: _socket.socket, place: bytes, timeout: float) -> None:
    # A socket with a timeout of Python's does not wait for a place in a full backlog; one with the kernel's does.
    connection.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, _timeval(timeout))
    connection.connect(place)


def _timeval(seconds: float) -> bytes:
    whole = int(seconds)
    return whole.to_bytes(8, sys.byteorder) + int((seconds - whole) * 1e6).to_bytes(8, sys.byteorder)


def request(
    connection: _socket.socket,
    method: str,
    target: str,
    body: bytes | None = None,
    *,
    accept: str = "text/plain",
    headers: tuple[str, ...] = (),
) -> bytes:
    """A request as it goes over the wire. The run's token goes along when there is one, to the run's own daemon."""
    lines = [f"{method} {target} HTTP/1.0", "host: phoenixd", f"accept: {accept}", *headers]
    token = environment().get(b"PHOENIX_TOKEN")
    if token and token.isalnum() and _is_the_runs_own(connection):
        lines.append(f"authorization: Bearer {token.decode()}")
    if body is not None:
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join((*lines, "", "")).encode() + (body or b"")


def _is_the_runs_own(connection: _socket.socket) -> bool:
    """Whether the daemon is the one of this pane; another one, as of a demo in it, would take the token for stolen."""
    named = environment().get(b"PHOENIX_SOCKET")
    return not named or connection.getpeername() == named.decode("utf-8", "surrogateescape")


def ask(
    places: list[bytes],
    method: str,
    target: str,
    body: bytes | None = None,
    *,
    as_json: bool = False,
    headers: tuple[str, ...] = (),
    timeout: float | None = TIMEOUT,
) -> Answer | None:
    """Ask and read to the end; None when no daemon answers, or went away before it had answered.

    A daemon that answered nothing at all for TIMEOUT is not waited for again, until it answers.
    """
    if _Shown.silent and is_silent(places):
        return None
    _Shown.silent = False
    try:
        connection = reach(places, timeout)
        if connection is None:
            return None
        try:
            accept = "application/json" if as_json else "text/plain"
            try:
                connection.sendall(request(connection, method, target, body, accept=accept, headers=headers))
            except (BrokenPipeError, ConnectionResetError):
                pass  # It may have answered already: a body that is too large is refused before it is read.
            received, whole = bytearray(), 0
            while chunk := heard(connection, places, timeout):
                received += chunk
                whole = whole or whole_length(received)
                if 0 < whole <= len(received):
                    break
        finally:
            connection.close()
    except OSError:
        return None
    return parse(bytes(received))


def reach(places: list[bytes], timeout: float | None = TIMEOUT) -> _socket.socket | None:
    """As `connect`; a daemon that lives without its socket is given the time to make it anew."""
    return connect(places, timeout) or _returned(places, timeout)


def _returned(places: list[bytes], timeout: float | None) -> _socket.socket | None:
    """A connection to a daemon whose socket is there again within RETURNS seconds; that is waited for once."""
    if _Shown.waited or (timeout is not None and timeout < RETURNS):
        return None
    from phoenixd.ctl.holders import without_socket

    if not (pid := without_socket(places)):
        return None
    _Shown.waited = True
    import time

    if posix.isatty(2):
        write(2, f"phoenixd (pid {pid}) has no socket just now; waiting for {RETURNS:.0f} s until it has\n".encode())
    deadline = time.monotonic() + RETURNS
    while time.monotonic() < deadline and without_socket(places) and not is_stopped(pid):
        time.sleep(LOOK_EVERY)
        if (connection := connect(places, timeout)) is not None:
            return connection
    return None


def heard(connection: _socket.socket, places: list[bytes], timeout: float | None) -> bytes:
    """The next bytes; raises OSError where they do not come in time, or the daemon answers nobody else either."""
    left, silent = timeout if timeout is not None else float("inf"), 0.0
    while True:
        connection.settimeout(min(left, SILENCE))
        try:
            return connection.recv(65536)
        except TimeoutError:
            left -= SILENCE
            if left <= 0:
                raise
        if not (stopped := is_stopped(_peer(connection))) and not is_silent(places):
            silent = 0.0
            continue
        left, silent = left - LOOK, silent + SILENCE + LOOK
        if left <= 0 or silent >= TIMEOUT or stopped:
            _Shown.silent = True
            raise TimeoutError
        if silent == SILENCE + LOOK and posix.isatty(2):
            write(2, f"phoenixd has not answered for {silent:.0f} s; waiting for {TIMEOUT:.0f} s\n".encode())


def is_stopped(pid: int) -> bool:
    """Whether somebody stopped this process (SIGSTOP, a debugger): no waiting helps."""
    state = _state(pid)
    if state != b"t":
        return state == b"T"
    # Under strace a process is held for a moment at each call, and under a debugger for good.
    import time

    for _ in range(TRACED_LOOKS):
        time.sleep(TRACED_PAUSE)
        if _state(pid) != b"t":
            return False
    return True


def _state(pid: int) -> bytes:
    """What the kernel says that a process is at, as one letter; empty where it has ended."""
    try:
        descriptor = posix.open(f"/proc/{pid}/stat", posix.O_RDONLY)
    except OSError:
        return b""
    try:
        return b"".join(posix.read(descriptor, 4096).rpartition(b")")[2].split()[:1])
    except OSError:
        return b""  # It has ended meanwhile.
    finally:
        posix.close(descriptor)


def _peer(connection: _socket.socket) -> int:
    """The pid of the process that listens at the other end."""
    return int.from_bytes(connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)[:4], sys.byteorder)


def is_silent(places: list[bytes]) -> bool:
    """Whether somebody is there who answers nothing at all, not even that it is well."""
    try:
        connection = connect(places, LOOK)
        if connection is None:
            return False
        try:
            if is_stopped(_peer(connection)):
                return True
            connection.sendall(request(connection, "GET", "/healthz"))
            connection.recv(1)
        finally:
            connection.close()
    except (TimeoutError, BlockingIOError):
        return True
    except OSError:
        pass  # It has gone: the call that waits for its answer learns that as well.
    return False


def whole_length(received: bytearray) -> int:
    """How long the answer is with its head, so that nobody waits for the connection's end; 0 where that is unknown."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return 0
    announced = received[:end].lower().partition(b"content-length:")[2].partition(b"\r\n")[0].strip()
    return end + 4 + int(announced) if announced.isdigit() else 0


def parse(received: bytes) -> Answer | None:
    """An answer as it came over the wire; None when it is cut short."""
    head, separator, body = received.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    first = lines[0].split(" ", 2)
    if not separator or len(first) < 2 or not first[1].isdigit():
        return None
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    length = headers.get("content-length", "")
    if length.isdigit() and len(body) < int(length):
        return None
    code = headers.get("phoenix-exit", "")
    return Answer(int(first[1]), int(code) if code.isdigit() else 1, headers.get("content-type", ""), body)


def tell(answer: Answer) -> int:
    """Copy an answer: data to standard output, refusals to standard error. Returns the exit code."""
    if answer.exit in (0, 3):
        write(1, answer.body)
    else:
        why, do, remedy = answer.body.rpartition(b"\ndo: ")
        write(2, why + do + (reaching(remedy) if do else remedy))
    return answer.exit


def write(descriptor: int, data: bytes) -> None:
    """Write everything; a reader that has gone away is no failure of ours. Where it cannot be written, that is told."""
    view = memoryview(data)
    try:
        while view:
            view = view[posix.write(descriptor, view) :]
    except BrokenPipeError:
        pass
    except OSError as error:
        if descriptor == 1:
            lose(error)


def lose(error: OSError) -> None:
    """Say, once, that standard output cannot be written; where that cannot be said either, the exit code says it."""
    if not _Shown.lost:
        _Shown.lost = True
        write(2, f"standard output cannot be written: {error.strerror}\n".encode())


def is_given_up() -> bool:
    """Whether a daemon that is there answered nobody for as long as anybody waits."""
    return _Shown.silent


def is_lost() -> bool:
    """Whether something of what was asked for could not be written."""
    return _Shown.lost


def quoted(text: str) -> str:
    """Text as it may stand in a path or a query."""
    kept = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
    return "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def with_query(path: str, query: list[str], *, looks: bool = False) -> str:
    """The path with the query, and with what the daemon has to know of this terminal. looks: a person's look counts."""
    parts = [*query, *terminal(), *(look() if looks else [])]
    return f"{path}?{'&'.join(parts)}" if parts else path


class _Shown:
    """How this process shows what it is told: as its command line said."""

    colour = "auto"
    pager = True
    lost = False
    silent = False
    waited = False
    socket: str | None = None


def show(*, colour: str | None = None, pager: bool = True, socket: str | None = None) -> None:
    """Say how to show; the last word counts. colour: one of COLOURS, None where nothing was said."""
    _Shown.colour = colour or "auto"
    _Shown.pager = pager
    _Shown.socket = socket


def reaching(remedy: bytes) -> bytes:
    """A remedy whose commands reach the daemon that --socket named, and no other; `up` names its directories."""
    if _Shown.socket is None:
        return remedy
    named = b"phoenixctl --socket " + shell_word(_Shown.socket.encode("utf-8", "surrogateescape")) + b" "
    told, *commands = remedy.split(b"phoenixctl ")
    for words in commands:
        alone = words.split(b" && ")[0].split(b";")[0].split(b", ")[0].split()
        is_its_own = not alone or alone[0] in ITS_OWN or b"--socket" in alone
        told += (b"phoenixctl " if is_its_own else named) + words
    return told


def shell_word(word: bytes) -> bytes:
    """The word as a shell takes it."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/@%+=:,"
    return word if word and not word.strip(plain) else b"'" + word.replace(b"'", b"'\"'\"'") + b"'"


def terminal() -> list[str]:
    """The width to render for, the zone of its times, and whether signs may be coloured."""
    columns = width()
    parts = [*([] if columns == USUAL else [f"width={columns}"]), *zone(), *named()]
    return [*parts, "colour=1"] if is_coloured() else parts


def named() -> list[str]:
    """The socket that --socket named, which the commands on a page are to name as well."""
    return [f"socket={quoted(_Shown.socket)}"] if _Shown.socket is not None else []


def named_socket() -> str:
    """The same as it was typed; empty where none was named."""
    return _Shown.socket or ""


def zone() -> list[str]:
    """The time zone of this shell, where it has another than the machine."""
    given = environment().get(b"TZ")
    return [f"zone={quoted(given.decode('utf-8', 'replace'))}"] if given is not None else []


def width() -> int:
    """The terminal's columns; what goes to a pipe or a file is not cut, unless COLUMNS says how wide that is."""
    if posix.isatty(1):
        try:
            columns = posix.get_terminal_size(1).columns or USUAL
        except OSError:
            columns = USUAL
        return min(UNCUT, max(NARROWEST, columns))
    given = environment().get(b"COLUMNS", b"")
    return min(UNCUT, max(NARROWEST, int(given))) if given.isdigit() else UNCUT


def is_coloured() -> bool:
    """Whether signs and names are coloured: as --color says, else on a terminal that knows colours."""
    if _Shown.colour != "auto":
        return _Shown.colour == "always"
    environ = environment()
    return posix.isatty(1) and not environ.get(b"NO_COLOR") and environ.get(b"TERM", b"dumb") != b"dumb"


def wants_pager(text: bytes) -> bool:
    """Whether a person would lose the first line of this: it is longer than the terminal that shows it.

    Never within an agent's run: a pager that waits for a key would hold it up for ever.
    """
    environ = environment()
    if not _Shown.pager or b"PHOENIX_AGENT" in environ or environ.get(b"TERM", b"dumb") == b"dumb":
        return False
    if not (posix.isatty(0) and posix.isatty(1)):
        return False
    try:
        lines = posix.get_terminal_size(1).lines
    except OSError:
        return False
    return 0 < lines <= text.count(b"\n")


def is_terminal() -> bool:
    """Whether a terminal shows what is printed."""
    return posix.isatty(1)


def look() -> list[str]:
    """Say that a person reads, when one does: the next look back begins here."""
    return ["look=1"] if posix.isatty(1) else []
