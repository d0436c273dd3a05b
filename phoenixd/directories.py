"""Where phoenixd keeps things: configuration, state and runtime directories. Standard library alone, because phoenixctl
looks in the same places on its hot path."""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from phoenixd.errors import ConfigurationError

SOCKET_PATH_LIMIT = 107
"""Bytes of a socket's path that the kernel takes (sun_path), without the closing zero."""

STATE_POINTER = "state-dir"
"""A file in the runtime directory that names the state directory, for phoenixctl while no daemon can be asked."""

CONFIGURATION_POINTER = "configuration"
"""A file beside it that names what the daemon was told to read; it is empty where the daemon found that by itself."""

LINGER = Path("/var/lib/systemd/linger")


def make_private(path: str | os.PathLike[str]) -> None:
    """Make a directory that is there for us alone, and so each one above it that is missing; raises OSError.

    os.makedirs gives the mode to the last one alone, and the umask decides on the others.
    """
    missing = Path(path)
    for directory in (*reversed(missing.parents), missing):
        if not directory.is_dir():
            with contextlib.suppress(FileExistsError):
                directory.mkdir(mode=0o700)
    if not missing.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(path))


def sync_directory(path: str | os.PathLike[str]) -> None:
    """Make the names in a directory durable; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Directories:
    """The three places of one daemon. `configuration` is None when there is none; it may name a single file."""

    configuration: Path | None
    state: Path
    runtime: Path

    @property
    def declarations(self) -> Path:
        """Where `add` keeps its agents: the last layer of the configuration."""
        return self.state / "agents.d"

    def agent_state(self, name: str) -> Path:
        return self.state / "agents" / name

    def agent_runtime(self, name: str) -> Path:
        return self.runtime / "agents" / name

    def task(self, task_id: str) -> Path:
        """Where prompt, outputs, manifest and report of a task are kept."""
        return self.state / "tasks" / task_id

    def task_out(self, task_id: str, incarnation: int) -> Path:
        """PHOENIX_OUT of one run of a task's worker."""
        return self.task(task_id) / f"run-{incarnation}" / "out"


def find_directories(
    environ: Mapping[str, str],
    *,
    configuration: str | None = None,
    state: str | None = None,
    runtime: str | None = None,
    linger: Path = LINGER,
    system: Path = Path("/etc/phoenixd"),
) -> Directories:
    """Find all three; the arguments are the flags of the same name, and win. Raises ConfigurationError."""
    state_directory = find_state_directory(environ, state)
    return Directories(
        configuration=find_configuration(environ, configuration, system=system),
        state=state_directory,
        runtime=find_runtime_directory(environ, state_directory, runtime, linger=linger),
    )


def find_configuration(
    environ: Mapping[str, str], flag: str | None = None, *, system: Path = Path("/etc/phoenixd")
) -> Path | None:
    """The configuration directory, or the file that `--config` names; None when no place has one."""
    if flag is not None:
        named = Path(flag).absolute()
        try:
            os.stat(named)
        except FileNotFoundError:
            remedy = "bring it back, or name one that is there; what is found without it: phoenixctl config check"
            raise ConfigurationError(f"--config {flag}: there is no such file or directory", remedy) from None
        except OSError as error:
            remedy = f"look why with: ls -ld {shlex.quote(str(named.parent))}"
            raise ConfigurationError(f"--config {flag} cannot be read: {error.strerror or error}", remedy) from None
        return named
    from_systemd = environ.get("CONFIGURATION_DIRECTORY", "").partition(":")[0]
    places = [Path(from_systemd)] if from_systemd else [system, _xdg(environ, "XDG_CONFIG_HOME", ".config")]
    # A system-wide directory that this user may not read belongs to another daemon.
    return next((place for place in places if place.is_dir() and os.access(place, os.R_OK | os.X_OK)), None)


def find_state_directory(environ: Mapping[str, str], flag: str | None = None) -> Path:
    """The directory of everything that has to survive."""
    if flag is not None:
        return Path(flag).absolute()
    # Inside an agent's pane PHOENIX_STATE_DIR is the agent's own directory, never a daemon's.
    own = "" if "PHOENIX_AGENT" in environ else environ.get("PHOENIX_STATE_DIR", "")
    if own:
        return _absolute("PHOENIX_STATE_DIR", own)
    from_systemd = environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if from_systemd:
        return _absolute("STATE_DIRECTORY", from_systemd)
    return _xdg(environ, "XDG_STATE_HOME", ".local/state")


def find_runtime_directory(
    environ: Mapping[str, str], state: Path, flag: str | None = None, *, linger: Path = LINGER
) -> Path:
    """The directory of sockets and orders. $XDG_RUNTIME_DIR counts only where it outlives the last logout."""
    if flag is not None:
        return Path(flag).absolute()
    if own := environ.get("PHOENIX_RUNTIME_DIR", ""):
        return _absolute("PHOENIX_RUNTIME_DIR", own)
    if from_systemd := environ.get("RUNTIME_DIRECTORY", "").partition(":")[0]:
        return _absolute("RUNTIME_DIRECTORY", from_systemd)
    session = environ.get("XDG_RUNTIME_DIR", "")
    if session and os.path.isabs(session) and (linger / _user_name()).exists():
        return Path(session) / "phoenixd"
    return state / "run"


def are_named(environ: Mapping[str, str], state: str | None = None, runtime: str | None = None) -> bool:
    """Whether somebody said which state and which runtime directory is meant: by flag, or in the environment."""
    own = "" if "PHOENIX_AGENT" in environ else environ.get("PHOENIX_STATE_DIR", "")
    return bool(state or own) and bool(runtime or environ.get("PHOENIX_RUNTIME_DIR"))


def start_again(environ: Mapping[str, str], directories: Directories) -> str:
    """The command that starts a daemon of these directories, with those that this environment does not lead to."""
    words = ["phoenixctl", "up"]
    if directories.state != find_state_directory(environ):
        words += ["--state-dir", os.fspath(directories.state)]
    if directories.runtime != find_runtime_directory(environ, directories.state):
        words += ["--runtime-dir", os.fspath(directories.runtime)]
    if directories.configuration is not None and directories.configuration != find_configuration(environ):
        words += ["--config", os.fspath(directories.configuration)]
    return shlex.join(words)


def for_any_shell(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without what it alone says of the directories: a command for a person names them then."""
    return {name: value for name, value in environ.items() if name not in ("PHOENIX_STATE_DIR", "PHOENIX_RUNTIME_DIR")}


def check_socket_paths(runtime: Path, agents: Iterable[str] = ()) -> None:
    """Refuse a runtime directory whose sockets the kernel could not bind; raises ConfigurationError."""
    sockets = [runtime / "tmux.sock", runtime / "api.sock"]
    sockets += [runtime / "agents" / name / "link.sock" for name in agents]
    longest = max(sockets, key=lambda path: len(os.fsencode(path)))
    length = len(os.fsencode(longest))
    if length > SOCKET_PATH_LIMIT:
        raise ConfigurationError(
            f"the socket path {longest} has {length} bytes, and the kernel takes {SOCKET_PATH_LIMIT}",
            "choose a shorter directory: --runtime-dir DIR, or PHOENIX_RUNTIME_DIR",
        )


def _absolute(name: str, value: str) -> Path:
    if not os.path.isabs(value):
        raise ConfigurationError(f"{name}={value} is not an absolute path", "give the whole path, from /")
    return Path(value)


def _xdg(environ: Mapping[str, str], name: str, below_home: str) -> Path:
    root = environ.get(name, "")
    # The XDG specification has relative values ignored.
    if not os.path.isabs(root):
        root = os.path.join(environ.get("HOME") or _home(), below_home)
    return Path(root) / "phoenixd"


def _home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"  # As for an agent of such a user.


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
