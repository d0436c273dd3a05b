"""What can go wrong, named after who is at fault; drivers translate foreign errors into these."""

from __future__ import annotations


class PhoenixdError(Exception):
    """Anything that phoenixd itself raises. `remedy` is the next thing to do, in words or as a command."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class ConfigurationError(PhoenixdError):
    """The configuration cannot be used; the message names file and key."""


class TerminalFailed(PhoenixdError):
    """The terminal server refused, or could not be asked in time. Says nothing about the agents."""


class NoTerminal(TerminalFailed):
    """The terminal server answers, and has no pane of that agent."""


class ShimFailed(PhoenixdError):
    """A shim could not be reached, or speaks a protocol that this daemon does not know."""


class ShimGone(ShimFailed):
    """The link to a shim that was spoken to has ended before it could be told this."""


class LaunchFailed(PhoenixdError):
    """An order could not be composed or written. `code` is 126 or 127 when the command itself cannot run."""

    def __init__(self, message: str, remedy: str = "", code: int = 0) -> None:
        super().__init__(message, remedy)
        self.code = code


class ResumeRefused(LaunchFailed):
    """The session cannot be resumed: a fresh start is the answer."""

    def __init__(self, why: str) -> None:
        super().__init__(f"resume refused: {why}")


class SessionInUse(LaunchFailed):
    """Somebody else works in the session that was to be resumed; the start waits for that to be over."""


class JournalFailed(PhoenixdError):
    """The journal did not take a batch; nothing of it may be acted on, except what ends processes."""


class WriterFailed(PhoenixdError):
    """A brief writer gave no answer. tokens: what it cost all the same, as far as known."""

    def __init__(self, message: str, remedy: str = "", tokens: int = 0) -> None:
        super().__init__(message, remedy)
        self.tokens = tokens


class UnsafeFile(PhoenixdError):
    """A file that an agent can write is not a plain file of ours within bounds; it was not read."""


class FileUnreadable(UnsafeFile):
    """The host lacked what reading a file takes: descriptors, memory, a sound disk. The file may be as it should."""


class NoAnswer(PhoenixdError):
    """A place, such as a dead mount, was asked and did not answer in time; the message names it."""


class BadProject(PhoenixdError):
    """A name, a plan or a document of a project cannot be used; the message names it, and nothing was changed."""


class AlreadyRunning(PhoenixdError):
    """Another process owns this state or runtime directory.

    passing: it does so for a moment alone. ending: it is a daemon that was told to end, and has not ended yet.
    """

    def __init__(self, message: str, remedy: str = "", *, passing: bool = False, ending: bool = False) -> None:
        super().__init__(message, remedy)
        self.passing = passing
        self.ending = ending


class BelongsToAnother(AlreadyRunning):
    """No process owns the directory now, but agents live there that another state directory answers for."""
