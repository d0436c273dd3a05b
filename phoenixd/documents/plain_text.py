"""Text of unknown origin made harmless to show: no terminal control, nothing invisible, no disguised direction."""

from __future__ import annotations

import re
import unicodedata

_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*+(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS and their kind
    r"|\x1b[ -/]*+[0-~]?"
)
_OPENING = re.compile("[\x1b\x80-\x9f]")
"""What each of them begins with."""
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, or turning the order
    "\ud800-\udfff\U000e0000-\U000e0fff]"  # lone surrogates, and the tags that smuggle text past the eye
)
_SHOWN = re.compile("[^\t\n -~]")
"""What a text holds in which anything may be hidden."""
_BLANK = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and signs, by their category, that show nothing."""


def plain(text: str) -> str:
    """Take out escape sequences, control characters but tab and newline, and characters that show nothing."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSHOWABLE.sub("", _SEQUENCES.sub("", text) if _OPENING.search(text) else text)


def without_sequences(text: str) -> str:
    """Take out the escape sequences, whole; all else stays."""
    return _SEQUENCES.sub("", text) if _OPENING.search(text) else text


def without_hidden(text: str) -> str:
    """Take out every character that any face may leave out: control, format, private and unassigned ones, marks that
    stand on others, and blanks that are no space. Tab, newline and carriage return stay."""
    if _SHOWN.search(text) is None:
        return text
    hidden = {ord(character): None for character in set(text) if _is_hidden(character)}
    return text.translate(hidden) if hidden else text


def _is_hidden(character: str) -> bool:
    if " " <= character <= "~" or character in "\t\n\r":
        return False
    category = unicodedata.category(character)
    is_mark = category in ("Mn", "Me")
    return is_mark or category[0] == "C" or character in _BLANK or _UNSHOWABLE.match(character) is not None


def one_line(text: str, limit: int) -> str:
    """The same on one line, with runs of blanks as one, of at most `limit` characters."""
    # What is cut away need not be cleaned first: four times the limit leaves enough after the cleaning.
    return clip(" ".join(plain(text[: 4 * limit + 64]).split()), limit)


def in_quotes(text: str, limit: int) -> str:
    """Somebody else's words on one line, as such: nothing in them ends the quotation."""
    return f'"{one_line(text, limit).replace(chr(34), chr(39))}"'


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, the last one an ellipsis where something is missing."""
    return text if len(text) <= limit else f"{text[: max(0, limit - 1)]}…"


def utf16_units(text: str) -> int:
    """How long a text is for a program in JavaScript."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
