"""A captured screen with its colours: SGR sequences stay, nothing else that a terminal obeys does, and no secret.

A sequence in the middle of a secret would hide it, so secrets are looked for in the text without sequences; a line that
holds one is given without its colours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

SGR = re.compile(r"\x1b\[[0-9;:]{0,64}m")
RESET = "\x1b[0m"


def coloured(captured: str, most: int, clean: Callable[[str], str]) -> str:
    """The last lines of a screen, ended by a reset where a colour was set. clean: takes the secrets out of a text."""
    # tmux keeps the blanks at the ends of lines that it joins.
    painted = [_painted(line).rstrip(" ") for line in captured.rstrip().split("\n")[-most:]]
    plain = [SGR.sub("", line) for line in painted]
    told = clean("\n".join(plain)).split("\n")
    if len(told) != len(plain):
        return _ended(told)
    return _ended(
        [
            shown if left == before else f"{RESET}{left}"
            for shown, before, left in zip(painted, plain, told, strict=True)
        ]
    )


def _painted(line: str) -> str:
    """A line in which nothing is left of control characters but what sets a colour."""
    kept, at = [], 0
    for found in SGR.finditer(line):
        kept += [_shown(line[at : found.start()]), found[0]]
        at = found.end()
    return "".join([*kept, _shown(line[at:])])


def _shown(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(character for character in text if unicodedata.category(character)[0] != "C")


def _ended(lines: list[str]) -> str:
    while lines and not lines[-1].strip():
        lines.pop()
    text = "".join(f"{line}\n" for line in lines)
    return f"{text.removesuffix(chr(10))}{RESET}\n" if RESET[0] in text else text
