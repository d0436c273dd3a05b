"""What the runtime saw of an agent's terminal, and what its hooks told."""

from __future__ import annotations

from dataclasses import dataclass, field

from phoenixd.core.dialogs import SCREEN_DIALOGS


@dataclass(frozen=True, slots=True)
class Begun:
    """Nothing was seen yet. problem: why the CLI must not be given this text; empty where it may."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class Screen:
    """One frame. line: what stands in the input line, unsent; None where no input line is to be seen.

    verdict: the harness's word for what is there in place of an input line. holds: the CLI shows that it keeps our
    text for its next step. frame: the text of the whole screen.
    """

    line: str | None
    verdict: str = ""
    holds: bool = False
    frame: str = field(default="", repr=False)

    @property
    def dialog(self) -> str | None:
        """What has the keyboard in place of the input line, in words for people.

        A menu of commands that what stands there could become is no dialog: the input line keeps the keyboard.
        """
        return SCREEN_DIALOGS.get(self.verdict) if self.line is None else None


@dataclass(frozen=True, slots=True)
class Sight:
    """One look. What was not to be looked at has its default.

    typed: when a person last pressed a key in the pane (wall, whole seconds); None where nobody who can type is
    attached. asks: what the hooks say stands on the screen. is_over: the run that the text is meant for has ended.
    queued: the transcript says that the CLI has put the text off. unread: bytes that were typed and that the program
    has not read; None where that cannot be told. small: why the screen is too small to be read. parked: what it waits
    out, so that a text would be lost to the same limit; empty where it waits for nothing, or was told to go on.
    """

    screen: Screen | None = None
    typed: float | None = None
    asks: str = ""
    is_over: bool = False
    queued: bool = False
    unread: int | None = None
    small: str = ""
    parked: str = ""


@dataclass(frozen=True, slots=True)
class Pasted:
    """The text went to the terminal: `text` without what no terminal takes, in the CLI's form."""

    text: str = field(repr=False)
    is_command: bool = False


@dataclass(frozen=True, slots=True)
class Pressed:
    """The keys of the last order went to the terminal."""


@dataclass(frozen=True, slots=True)
class Discarded:
    """What the program had not read was taken back. problem: why it could not be; empty where it was."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class PromptSubmitted:
    """A hook: the CLI took a prompt. sha256: of its text; None where the hook does not say."""

    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class PermissionAsked:
    """A hook: a dialog opens, and has the keyboard from now on."""


Told = PromptSubmitted | PermissionAsked
"""What hooks tell. They come at any instant, late, twice or never."""
Seen = Begun | Sight | Pasted | Pressed | Discarded | Told
