"""Text on its way into and out of tmux: what is pasted, what a screen shows, and words of a command."""

from __future__ import annotations

import re
import unicodedata

from phoenixd.errors import TerminalFailed

SESSION_PREFIX = "phx-"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_UNUSUAL = re.compile(r"[^\n -~]+")
PLAIN_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-")


def session_of(agent: str) -> str:
    """The name of an agent's session. Checked here again: a name that holds `#(` would be run by tmux."""
    if not NAME.fullmatch(agent):
        raise TerminalFailed(f"no agent's name: {agent!r:.50}", remedy="names match [a-z0-9][a-z0-9_-]{0,31}")
    return SESSION_PREFIX + agent


def agent_of(session: str) -> str | None:
    """The agent whose session this is; None for any other session."""
    name = session.removeprefix(SESSION_PREFIX)
    return name if session != name and NAME.fullmatch(name) else None


def quote(word: str) -> str:
    """One word of a tmux command line, in which every byte stands for itself.

    tmux expands nothing in octal escapes, and a line of plain ASCII cannot be cut short: `;`, newline, `$`, `#`, `~`
    and quotes arrive as data. Whether the command then reads a word as a format is for the caller to know.
    """
    content = word.encode("utf-8", "surrogateescape")
    if b"\0" in content:
        raise ValueError("a word of a command holds no NUL")
    return '"' + "".join(chr(byte) if byte in PLAIN_BYTES else f"\\{byte:03o}" for byte in content) + '"'


def pasteable(text: str) -> bytes:
    """Text as it may be typed into a program: no control characters but newline and tab, and else unchanged.

    ESC[201~ in a pasted text would end the bracketed paste, and what follows would be keys: it ran commands in a real
    shell. C1 characters are ESC sequences in one character, and a CR is the Enter key.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(filter(_is_typeable, lines)).encode("utf-8")


def readable(screen: bytes) -> str:
    """A captured screen without control characters, and without what makes text look like another (bidi and such)."""
    return _UNUSUAL.sub(_shown, screen.decode("utf-8", "replace"))


def _shown(found: re.Match[str]) -> str:
    return "".join(character for character in found[0] if unicodedata.category(character)[0] != "C")


def _is_typeable(character: str) -> bool:
    # Cc is C0, DEL and C1. Lone surrogates cannot be encoded; JSON can hold them.
    return character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs")
