"""What may stand on a command line, and in a glob."""

from __future__ import annotations

import re

MAX_ARGUMENT_BYTES = 131_071
"""Linux takes no longer single argument (MAX_ARG_STRLEN, less its NUL); a longer prompt belongs into the brief."""


def single_argument(text: str) -> str:
    """The text unchanged; ValueError when no program could be started with it."""
    if "\0" in text or len(text.encode("utf-8", "surrogateescape")) > MAX_ARGUMENT_BYTES:
        raise ValueError(f"the prompt does not fit into one argument ({MAX_ARGUMENT_BYTES} bytes, no NUL)")
    return text


def literal(path: str) -> str:
    """The path as a part of a glob in which it stands for itself."""
    return re.sub(r"([*?[])", r"[\1]", path)
