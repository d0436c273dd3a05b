"""Lines of text for people: hostile words made harmless, columns that hold, signs that may be coloured."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from shlex import quote

from phoenixd.api.times import is_yet_to_come

COLOURS = {"!": "31;1", "~": "33", "*": "32", ".": "2", "?": "35"}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
KEPT_MARKS = 2
"""Combining marks kept after one character; more of them only smear over the neighbouring lines."""
COMMAND = "phoenixctl "
_BEGINS = re.compile(r"(?<!&& )(?=phoenixctl )")
_ENDS = re.compile(r"(; |, )")
ITS_OWN = frozenset({"up", "demo", "install-service", "hooks", "help"})
"""Verbs that ask no daemon, or name its directories."""
ELLIPSIS = "..."
OF_A_NUMBER = "0123456789.,"
NUMBER_GOES_ON = re.compile(r"[.,]?[0-9]|%")
UNCUT = 1000
"""The widest page that a client can ask for: what goes to a pipe or a file, where nothing is to be cut."""
WHOLE = 1_000_000
NAME_COLUMNS = 12
NUMBER_COLUMNS = 5
"""The usual width of a column of names."""
SET_IN = "  "
"""Before what goes on below: where it breaks, an agent's words can choose, and none of them may begin a line."""


@dataclass(frozen=True, slots=True)
class Page:
    """Where text goes: width in columns, the reader's time zone (None: the machine's), whether signs are coloured.

    socket: what --socket named, which the commands on the page have to name again; empty where nothing was.
    """

    now: float
    width: int = 80
    zone: tzinfo | None = None
    colour: bool = False
    socket: str = ""

    def local(self, wall: float) -> datetime:
        """A wall time in the reader's zone; what no calendar holds becomes the epoch."""
        try:
            moment = datetime.fromtimestamp(wall, self.zone)
        except (OverflowError, ValueError, OSError):
            moment = datetime.fromtimestamp(0, self.zone)
        return moment if moment.tzinfo else moment.astimezone()

    def clock(self, wall: float) -> str:
        """Time of day with seconds, with the date before it when that is not today's."""
        return f"{self._date(wall)}{self.local(wall):%H:%M:%S}"

    def minute(self, wall: float) -> str:
        """Time of day without seconds, with the date before it when that is not today's."""
        return f"{self._date(wall)}{self.local(wall):%H:%M}"

    def start(self, wall: float) -> str:
        """When a count begins: the minute, with its seconds where it begins within one.

        Of two counts that begin within the same minute the later one is smaller; without seconds both would have one
        heading, and deaths would seem to vanish.
        """
        return self.minute(wall) if self.local(wall).second == 0 else self.clock(wall)

    def exact(self, wall: float) -> str:
        """The second as a command takes it, with the zone."""
        return f"{self.local(wall):%Y-%m-%dT%H:%M:%S%z}"

    def sign(self, sign: str) -> str:
        """A group's sign; the word stands beside it, so colour is never alone."""
        return f"\x1b[{COLOURS[sign]}m{sign}\x1b[0m" if self.colour else sign

    def reaching(self, words: str) -> str:
        """Words of ours whose commands reach the daemon that was asked, and no other."""
        return reaching(words, self.socket)

    def ending(self, words: str) -> str:
        """Such words as a line of their own; where they are too wide for it, each command has one, and stays whole."""
        told = self.reaching(words)
        return told if columns(told) <= self.width else "\n".join(_with_own_lines(told, self.width))

    @property
    def name_columns(self) -> int:
        """The most columns of a name: a third of the line, so that the rest has room."""
        return max(1, self.width // 3)

    def _date(self, wall: float) -> str:
        """Empty today; the day and the month, with the year where it is another one."""
        moment, today = self.local(wall), self.local(self.now)
        if moment.date() == today.date():
            return ""
        year = f" {moment.year}" if moment.year != today.year else ""
        return f"{moment.day} {MONTHS[moment.month - 1]}{year} "


def reaching(words: str, socket: str) -> str:
    """Words of ours whose commands reach the daemon at that socket; as they are where none was named."""
    first, *commands = words.split(COMMAND) if socket else (words,)
    named = f"{COMMAND}--socket {quote(clean(socket))} "
    return first + "".join((COMMAND if _is_its_own(one) else named) + one for one in commands)


def _with_own_lines(words: str, width: int) -> Iterator[str]:
    label, *commands = _BEGINS.split(words)
    for behind in commands:
        command, _, rest = _ENDS.split(behind, maxsplit=1) if _ENDS.search(behind) else (behind, "", "")
        if label.strip():
            yield from wrap(label, width, SET_IN)
        yield f"{SET_IN}{command.strip()}"
        label = rest
    if label.strip():
        yield from wrap(label, width, SET_IN)


def _is_its_own(words: str) -> bool:
    """Whether a command asks no daemon, or names one itself. words: what stands behind `phoenixctl `."""
    alone = words.partition(" && ")[0].partition(";")[0].partition(", ")[0].split()
    return not alone or alone[0] in ITS_OWN or "--socket" in alone


def clean(text: str, *, lines: bool = False) -> str:
    """Take out what could move a cursor, reverse the reading direction or forge a line.

    Control, format (bidi, zero width), surrogate, private and unassigned characters go; white space becomes a space.
    With `lines`, newlines and tabs stay.
    """
    if text.isascii() and text.isprintable():
        return text
    kept: list[str] = []
    marks = 0
    for character in text:
        if " " <= character <= "~":
            kept.append(character)
            marks = 0
        elif character in "\n\t" and lines:
            kept.append(character)
            marks = 0
        elif character.isspace():
            kept.append(" ")
        elif (category := unicodedata.category(character)) in ("Mn", "Me"):
            marks += 1
            if marks <= KEPT_MARKS:
                kept.append(character)
        elif category[0] != "C":
            kept.append(character)
            marks = 0
    return "".join(kept)


def columns(text: str) -> int:
    """How many columns a terminal gives the text."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def page_columns(asked: int) -> int:
    """How many columns a page has when `asked` are asked for; nothing is cut on the widest."""
    return WHOLE if asked >= UNCUT else asked


def clip(text: str, width: int) -> str:
    """The cleaned text in at most `width` columns; where it was cut it ends with a whole word, and that is marked.

    No number is cut: its beginning would be read as another one.
    """
    text = clean(text)
    if columns(text) <= width:
        return text
    room = width - len(ELLIPSIS)
    if room <= 0:
        return ELLIPSIS[: max(0, width)]
    kept: list[str] = []
    left = room
    for character in text:
        left -= _columns_of(character)
        if left < 0:
            break
        kept.append(character)
    shown = whole_numbers("".join(kept), text)
    if text[len(shown)] != " ":
        words = shown.rpartition(" ")[0]
        # Unless half of the room would be left empty by that.
        shown = words if columns(words) * 2 >= room else shown
    return shown.rstrip() + ELLIPSIS


def whole_numbers(beginning: str, text: str) -> str:
    """The beginning of a text without a number at its end that goes on in the text."""
    is_cut = beginning[-1:] in OF_A_NUMBER and beginning.rstrip(".,")[-1:].isdigit()
    is_cut = is_cut and NUMBER_GOES_ON.match(text, len(beginning)) is not None
    return beginning.rstrip(OF_A_NUMBER) if is_cut else beginning


def pad(text: str, width: int) -> str:
    """The text clipped or filled to exactly `width` columns."""
    text = clip(text, width)
    return text + " " * (width - columns(text))


def name_column(names: Iterable[str], here: Page, least: int = NAME_COLUMNS) -> int:
    """How wide a column of names is: as the longest of them, but a third of the line at most."""
    return min(max(least, max(map(columns, names), default=0)), here.name_columns)


def number_column(numbers: Iterable[int]) -> int:
    """How wide a column of item numbers is, with a space behind the longest."""
    return max(NUMBER_COLUMNS, max((len(str(one)) + 1 for one in numbers), default=0))


def wrap(words: str, width: int, indent: str = "") -> list[str]:
    """Cleaned words in lines of at most `width` columns, later ones indented; no word is cut unless it must."""
    lines: list[str] = []
    line = ""
    for word in clean(words).split():
        lead = indent if lines else ""
        candidate = f"{line} {word}" if line else lead + word
        if columns(candidate) <= width:
            line = candidate
            continue
        if line:
            lines.append(line)
        line = clip(indent + word, width)
    return [*lines, line] if line else lines


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 time, 2 times."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def of_yesterday(words: str, start: float, here: Page) -> str:
    """Which day a time of day means that was typed, where that is not today; else nothing. start: what was found."""
    if not is_yet_to_come(words, here.now, here.zone):
        return ""
    return f"It is not {words.strip()} yet: this begins yesterday, at {here.start(start)}"


def fold(line: str, width: int) -> list[str]:
    """The cleaned line, every character of it, on as many lines of at most `width` columns as it takes."""
    parts, room = [""], width
    for character in clean(line):
        room -= _columns_of(character)
        if room < 0:
            parts.append("")
            room = width - _columns_of(character)
        parts[-1] += character
    return parts


def with_command(words: str, command: str, here: Page) -> list[str]:
    """Words and the command that follows from them, which gets a line of its own rather than be broken or cut."""
    command = here.reaching(command)
    if columns(words) + 1 + columns(command) <= here.width:
        return [f"{clean(words)} {command}"]
    return [*wrap(words, here.width), f"  {command}"]


def side_by_side(first: str, second: str, here: Page) -> str:
    """Two hints on one line, or only the first: a command that is cut is none."""
    both = f"{here.reaching(first)}     {here.reaching(second)}"
    return both if columns(both) <= here.width else here.ending(first)


def page(lines: Iterable[str]) -> str:
    """The lines as one text without trailing blanks."""
    return "".join(line.rstrip() + "\n" for line in lines)


def _columns_of(character: str) -> int:
    if character < "\x7f":
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
