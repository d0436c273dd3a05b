"""What the daemon needs of an agent CLI, whichever it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from phoenixd.core.armed_answer import On
from phoenixd.core.spec import AgentSpec
from phoenixd.core.traits import Traits
from phoenixd.documents.transcript import TranscriptForm
from phoenixd.harness.armed import ArmedBody
from phoenixd.harness.headless import Headless
from phoenixd.harness.login import Login
from phoenixd.harness.prompts import Prompt
from phoenixd.harness.trust import Read


@dataclass(frozen=True, slots=True)
class PermissionTold:
    """What a record tells of the permission for one call.

    allowed, denied: by a hook's answer, and so not at the terminal. ended: the call is over, however it was settled.
    refused: a person said No to it, or broke it off when it was under way already; nobody can tell which. call: its
    id. at: when the CLI made the record (wall), which is before it wrote it. words: of a call that failed, what its
    model reads of that, in which a denial has its reason.
    """

    what: Literal["allowed", "denied", "ended", "refused"]
    call: str
    at: float
    words: str = ""


_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def is_session_id(text: str) -> bool:
    """Whether a session id, which the agent itself may have named, can be part of a path and be an argument."""
    return _SESSION_ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class LaunchPlaces:
    """Where a launch finds its files: the brief, the settings file of harnesses that take one, the hook program.

    out: the directory in which a worker leaves what it makes.
    """

    brief: str
    settings: str
    hook: str = ""
    out: str = ""


@dataclass(frozen=True, slots=True)
class ProcessInSession:
    """A process that says in which session it is. start_time: clock ticks since boot."""

    pid: int
    start_time: int
    session_id: str


class Harness(Protocol):
    """One agent CLI. What is answered here is the answer of a CLI that has nothing of the kind."""

    @property
    def default_argv(self) -> tuple[str, ...]:
        """The program when the operator names none."""
        ...

    @property
    def traits(self) -> Traits:
        """In what it differs from others, as far as decisions hang on it."""
        ...

    @property
    def login_variables(self) -> tuple[str, ...]:
        """What of its environment decides by which login it works."""
        ...

    @property
    def tested_versions(self) -> tuple[str, ...]:
        """The versions that the contract suite runs, the whole of it with the first; none where there is no such
        program."""
        ...

    def problems(self, spec: AgentSpec) -> list[str]:
        """What of the operator's command cannot be supervised, one sentence each."""
        ...

    def takes_prompt(self, spec: AgentSpec) -> bool:
        """Whether the prompt is told by an argument."""
        ...

    @property
    def reads_brief_at_once(self) -> bool:
        """Whether the program may read brief.md (by PHOENIX_BRIEF or an argument) as soon as it runs: then that stands
        before the order goes out. A CLI is told its brief by the hook of its session's start, which waits for it."""
        return False

    def command_line(
        self,
        spec: AgentSpec,
        mode: Literal["fresh", "resume"],
        session_id: str,
        prompt: str | None,
        places: LaunchPlaces,
    ) -> list[str]:
        """The whole argv; raises ValueError when the prompt does not fit."""
        ...

    def settings(self, spec: AgentSpec, hook_url: str, token: str, hook_program: str) -> dict[str, Any] | None:
        """The content of the settings file; None for a harness without one."""
        return None

    def status_line(self, spec: AgentSpec, hook_program: str, version: str | None) -> dict[str, Any]:
        """What the settings hold besides, so that the CLI's status line tells the window; nothing where the operator
        wants none, or where the screen of that version cannot be read with it."""
        return {}

    def own_status_line(self, environment: Mapping[str, str], cwd: str, read: Read) -> str | None:
        """The command of the operator's own status line, which ours takes the place of; None for none. `cwd` is without
        symbolic links."""
        return None

    def window_of(self, model: str) -> int | None:
        """The tokens that a model's context holds, where its name alone says it."""
        return None

    def armed(self, on: On, text: str) -> ArmedBody | None:
        """An answer that stands ready for one of its hooks, as the CLI takes it; None where it takes none."""
        ...

    def variables(self) -> dict[str, str]:
        """What the CLI must find in its environment; the operator's own values win."""
        return {}

    def own_files(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Path and content of what has to lie in the CLI's own directory for its hooks to come. It is ours alone, and
        does nothing in sessions that are not."""
        return {}

    def transcript(self, spec: AgentSpec, session_id: str, environment: Mapping[str, str], cwd: str) -> str | None:
        """Path or glob of the session's transcript; `cwd` without symbolic links. None where there is none to know."""
        ...

    @property
    def needs_transcript(self) -> bool:
        """Whether a resume is refused where no good transcript is."""
        ...

    def transcript_is_resumable(self, head: bytes, tail: bytes, size: int) -> bool:
        """Whether a transcript with these first and last bytes can be resumed."""
        ...

    def runs_session(self, spec: AgentSpec, argv: Sequence[str], session_id: str) -> bool:
        """Whether a process with this command line is the CLI at work in that session."""
        ...

    def session_files(self, environment: Mapping[str, str]) -> str | None:
        """A glob for the files in which the CLI's processes say in which session they are; None without any."""
        return None

    def process_in_session(self, record: Mapping[str, Any]) -> ProcessInSession | None:
        """What such a file says; None where it says nothing."""
        return None

    def trust_file(self, environment: Mapping[str, str]) -> str | None:
        """The CLI's own file that remembers which directories are trusted; None where it is told by an argument."""
        return None

    def trusted(self, existing: Mapping[str, Any], cwd: str, environment: Mapping[str, str]) -> dict[str, Any]:
        """That file's content with `cwd` trusted; raises ValueError for a content of another shape."""
        return dict(existing)

    def asks_at_start(self, spec: AgentSpec, environment: Mapping[str, str], cwd: str, read: Read) -> str | None:
        """What the CLI will ask a person before it works in `cwd`, and which file holds no answer; None for nothing.

        `cwd` is without symbolic links; nothing but files is looked at."""
        return None

    def needed_login(self, environment: Mapping[str, str]) -> Login | None:
        """The login that the CLI needs as a file; None where the environment has a key."""
        return None

    def call_limit(self, spec: AgentSpec, tool: str) -> float | None:
        """Seconds after which the CLI itself ends a call of a tool that declares no timeout; None where it does not."""
        return None

    @property
    def tells_failures(self) -> bool:
        """Whether a hook tells that the API refused a turn; else it is looked for in the transcript."""
        ...

    def told_length(self, text: str) -> int:
        """How long a text for the session is by the CLI's own count; it cuts what a hook tells it beyond 10,000."""
        ...

    def screen_says(self, screen: str) -> str: ...

    @property
    def dismissible(self) -> tuple[str, ...]:
        """Dialogs, by what `screen_says` calls them, to which Escape says no and ends nothing else."""
        return ()

    def takes_leave(self, screen: str, session_id: str) -> bool:
        """Whether the screen shows the farewell to a person who left this session, and which no signal brings about."""
        return False

    def input_line(self, screen: str) -> str | None:
        """What stands in the input line, unsent; None where no input line is to be seen."""
        ...

    def holds(self, screen: str, text: str) -> bool:
        """Whether the screen shows that the CLI holds this text until it has time for it."""
        return False

    def prompt(self, text: str) -> Prompt:
        """What the CLI makes of a text that is typed into it."""
        ...

    def queued_prompt(self, record: Mapping[str, Any]) -> str | None:
        """The prompt that this transcript record says was put off until the CLI has time for it."""
        return None

    @property
    def permission_told(self) -> Callable[[Mapping[str, Any]], tuple[PermissionTold, ...]] | None:
        """What a transcript record tells of permissions; None for a CLI that writes nothing of the kind."""
        return None

    @property
    def headless(self) -> Headless | None:
        """The CLI as the writer of its agent's brief; None for one that cannot be asked so."""
        return None

    @property
    def transcript_form(self) -> TranscriptForm | None:
        """How transcripts are read; None where what they hold is not known."""
        return None
