"""Agents that `add` declares: one file each in STATE_DIR/agents.d, which is the last layer of the configuration."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from phoenixd.config.configuration import Configuration
from phoenixd.config.tables.values import AGENT_NAME
from phoenixd.config.toml import write_toml
from phoenixd.directories import make_private, sync_directory
from phoenixd.errors import ConfigurationError

REMOVED = "removed"
"""Below the state directory: declarations that were withdrawn and can be put back."""


def write_agent(state: Path, name: str, table: Mapping[str, Any], configuration: Configuration | None = None) -> Path:
    """Declare an agent, or replace its declaration, so that a crash leaves the old or the new one.

    Raises ConfigurationError when the name is none, or another layer of `configuration` declares the agent.
    """
    if not AGENT_NAME.fullmatch(name):
        raise ConfigurationError(f'"{name[:40]}" is no agent name', "use 1 to 32 of a-z, 0-9, _ and -")
    path = declaration(state, name)
    _refuse_foreign(path, name, configuration)
    try:
        text = write_toml({"agent": {name: table}})
    except ValueError as error:
        raise ConfigurationError(f"the declaration of {name} cannot be written: {error}") from None
    _replace(path, f"# Declared by `phoenixctl add`; `phoenixctl remove {name}` takes it away.\n\n{text}".encode())
    return path


def remove_agent(state: Path, name: str, configuration: Configuration | None = None, act: str = "") -> bool:
    """Withdraw a declaration; False when there was none. Raises ConfigurationError for an agent of other layers.

    act: under which name it can be taken back; without one the file is gone for good.
    """
    path = declaration(state, name)
    _refuse_foreign(path, name, configuration, f"take [agent.{name}] out of {{file}}, or delete that file")
    try:
        if act:
            kept = _kept(state, name, act)
            make_private(kept.parent)
            os.replace(path, kept)
            os.utime(kept)
            sync_directory(kept.parent)
        else:
            path.unlink()
    except FileNotFoundError:
        return False
    sync_directory(path.parent)
    return True


def restore_agent(state: Path, name: str, act: str) -> bool:
    """Put a declaration back as it was before this act; False where none is kept. Raises ConfigurationError where the
    name is declared again."""
    kept, path = _kept(state, name, act), declaration(state, name)
    make_private(path.parent)
    try:
        # A link, because a rename would take the place of what stands there.
        os.link(kept, path, follow_symlinks=False)
    except FileExistsError:
        raise ConfigurationError(
            f"{path} stands in the place of its declaration", f"mv {path} {path}.other && phoenixctl undo {name}"
        ) from None
    except FileNotFoundError:
        return False
    kept.unlink()
    sync_directory(path.parent)
    sync_directory(kept.parent)
    return True


def is_kept(state: Path, name: str, act: str) -> bool:
    """Whether the declaration that this act withdrew waits to be put back."""
    return os.path.lexists(_kept(state, name, act))


def forget_removed(state: Path, before_wall: float, known: Collection[str] = ()) -> None:
    """Delete the declarations that were withdrawn before this time, but by no act of `known`: those can come back."""
    try:
        with os.scandir(state / REMOVED) as found:
            old = [
                entry.path
                for entry in found
                if entry.stat(follow_symlinks=False).st_mtime < before_wall and _act_of(entry.name) not in known
            ]
    except FileNotFoundError:
        return
    for path in old:
        os.unlink(path)


def declaration(state: Path, name: str) -> Path:
    """The file of an agent that was added."""
    return state / "agents.d" / f"{name}.toml"


def _kept(state: Path, name: str, act: str) -> Path:
    return state / REMOVED / f"{name}.{act}.toml"


def _act_of(file: str) -> str:
    return file.partition(".")[2].removesuffix(".toml")


def _refuse_foreign(path: Path, name: str, configuration: Configuration | None, edit: str = "edit {file}") -> None:
    """Raise for an agent that another file declares. edit: what to do to that file."""
    spec = configuration.agents.get(name) if configuration else None
    if spec is not None and spec.source and Path(spec.source) != path:
        raise ConfigurationError(
            f'the agent "{name}" is declared in {spec.source}',
            f"{edit.replace('{file}', spec.source)}, then run: phoenixctl apply",
        )


def _replace(path: Path, content: bytes) -> None:
    make_private(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    # A declaration may hold environment values, so it is private from its first byte on.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    os.replace(temporary, path)
    sync_directory(path.parent)
