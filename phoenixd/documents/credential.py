"""Environment values that live in a file of their own, so that neither the configuration nor the journal holds them."""

from __future__ import annotations

_MARK = "\0file:"
"""No environment value can contain a zero byte, so a reference cannot be mistaken for a value."""


def credential_reference(path: str) -> str:
    """The value of `AgentSpec.env` that stands for the content of a file, read at every start."""
    return _MARK + path


def credential_path(value: str) -> str | None:
    """The file that a value refers to; None when it is the value itself."""
    return value.removeprefix(_MARK) if value.startswith(_MARK) else None
