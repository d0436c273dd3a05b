"""The order to start an agent: a file that the daemon writes, and the shim reads once and removes."""

from __future__ import annotations

import os

import fence
import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ORDER_LIMIT = 8 * 1024 * 1024
RUN_ID_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


class Unacceptable(Exception):
    """An order that cannot be carried out; a sentence that names the field."""


class Order:
    """What to start; arguments, environment and directory are the bytes that the agent gets, without any change."""

    __slots__ = (
        "agent",
        "argv",
        "cgroup",
        "cwd",
        "environment",
        "epoch",
        "fence",
        "holds",
        "incarnation",
        "mode",
        "run_id",
        "session_id",
        "token",
        "zero_is_clean",
    )

    def __init__(self, content: dict[str, Any]) -> None:
        """Raises Unacceptable."""
        # An order with a fence is of protocol 2, so that an older shim refuses it instead of starting without.
        if content.get("protocol") not in (1, 2):
            raise Unacceptable("protocol: this shim reads orders of protocol 1 and 2")
        self.agent = _text(content, "agent")
        self.incarnation = _incarnation(content)
        self.run_id = _run_id(content)
        self.argv = [_bytes(argument, "argv") for argument in _list(content, "argv")]
        self.environment = _environment(content)
        self.cwd = _absolute(content, "cwd")
        self.token = _text(content, "token")
        if len(self.token) < 16:
            raise Unacceptable("token: shorter than 16 characters")
        self.cgroup = _absolute(content, "cgroup").decode("utf-8", "surrogateescape") if content.get("cgroup") else None
        self.fence = _fence(content)
        self.zero_is_clean = content.get("interpret_exit_zero_as_clean") is True
        self.holds = content.get("holds_permissions") is True
        # When it was ordered, as the daemon counts; an older one does not say it.
        epoch = content.get("epoch")
        self.epoch = epoch if isinstance(epoch, int) and not isinstance(epoch, bool) and epoch > 0 else 0
        # Copied into run.json, for people; the shim itself makes nothing of them.
        self.mode = content.get("mode")
        self.session_id = content.get("session_id")


def take(path: str) -> Order:
    """Read the order and remove it, readable or not; raises records.Unreadable or Unacceptable."""
    try:
        content = records.read_bytes(path, ORDER_LIMIT)
    finally:
        _remove(path)
    return Order(records.decode_object(content, path))


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:  # Reading it said already what is wrong with the place.
        pass


def _text(content: dict[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str) or not value:
        raise Unacceptable(f"{name}: a text is required")
    return value


def _list(content: dict[str, Any], name: str) -> list[Any]:
    value = content.get(name)
    if not isinstance(value, list) or not value:
        raise Unacceptable(f"{name}: a list with at least one element is required")
    return value


def _incarnation(content: dict[str, Any]) -> int:
    value = content.get("incarnation")
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Unacceptable("incarnation: a number is required")
    return value


def _run_id(content: dict[str, Any]) -> str:
    # The sweep for leftovers kills by this id: a short one might stand in a stranger's environment.
    run_id = _text(content, "run_id")
    if not 8 <= len(run_id) <= 64 or not RUN_ID_CHARACTERS.issuperset(run_id):
        raise Unacceptable("run_id: 8 to 64 letters, digits, dashes or underscores are required")
    return run_id


def _absolute(content: dict[str, Any], name: str) -> bytes:
    path = _bytes(_text(content, name), name)
    if not path.startswith(b"/"):
        raise Unacceptable(f"{name}: {content[name]!r} is not an absolute path")
    return path


def _fence(content: dict[str, Any]) -> fence.Fence | None:
    try:
        return fence.of(content.get("fence"), _absolute)
    except (AttributeError, KeyError, TypeError):
        raise Unacceptable("fence: a table of lists of paths is required") from None


def _bytes(value: object, name: str) -> bytes:
    # Bytes that are not UTF-8 travel through JSON as Python's lone surrogates.
    if not isinstance(value, str):
        raise Unacceptable(f"{name}: holds something that is not a text")
    content = value.encode("utf-8", "surrogateescape")
    if b"\0" in content:
        raise Unacceptable(f"{name}: holds a NUL byte, which no program can be given")
    return content


def _environment(content: dict[str, Any]) -> dict[bytes, bytes]:
    value = content.get("env")
    if not isinstance(value, dict):
        raise Unacceptable("env: a table is required")
    environment = {_bytes(name, "env"): _bytes(text, "env") for name, text in value.items()}
    if any(not name or b"=" in name for name in environment):
        raise Unacceptable("env: holds a name that is empty or has an equals sign")
    return environment
