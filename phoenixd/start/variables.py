"""Where an agent's variables come from: the daemon, the login shell, the operator's table and files of credentials."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import anyio
import structlog
from anyio import to_thread

from phoenixd.core.agent import Agent
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.credential import credential_path
from phoenixd.documents.redact import secret_values
from phoenixd.drivers.evidence.signs import known_transcript
from phoenixd.errors import LaunchFailed, UnsafeFile
from phoenixd.harness.screens import harness_of
from phoenixd.memory.files import Files
from phoenixd.start import environment
from phoenixd.start.login import LoginShellFailed, login_environment
from phoenixd.terrain import TERRAIN

CREDENTIAL_LIMIT = 64 * 1024

log = structlog.get_logger("phoenixd.start")


class Variables:
    """The environments that agents start from, and what is put on top of them."""

    def __init__(self, environ: Mapping[str, str], files: Files) -> None:
        self._daemon = dict(environ)
        self._files = files
        self._login: dict[str, str] | None = None
        self._asking = anyio.Lock()

    async def base(self, env_from: str) -> Mapping[str, str]:
        """What an agent with this `env_from` starts from; the login shell is asked once."""
        if env_from == "login":
            async with self._asking:
                if self._login is None:
                    self._login = await to_thread.run_sync(self._ask_login_shell)
        return self.known_base(env_from) or {}

    def known_base(self, env_from: str) -> Mapping[str, str] | None:
        """The same without waiting; None for a login shell that was not asked yet."""
        match env_from:
            case "none":
                return environment.bare()
            case "login":
                return self._login
            case _:
                return self._daemon

    def compose(
        self, spec: AgentSpec, base: Mapping[str, str], ours: Mapping[str, str], needed: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """The whole environment of a run. Reads credential files, so for threads; raises LaunchFailed.

        needed: what the agent's CLI must find there; only the operator's own table wins over it.
        """
        own = {**(needed or {}), **{name: self._value(name, value) for name, value in spec.env}}
        alive = environment.answers(base.get("SSH_AUTH_SOCK"))
        return environment.compose(base, own, ours, spec.cwd, agent_answers=alive)

    async def environment_of(self, agent: Agent) -> Mapping[str, str]:
        """The environment that the agent's command would get, without what a run adds; raises LaunchFailed."""
        base = await self.base(agent.spec.env_from)
        return await to_thread.run_sync(lambda: self.compose(agent.spec, base, {}), abandon_on_cancel=True)

    def transcript_of(self, agent: Agent) -> str | None:
        """Path or glob of the transcript that the agent's session writes, where one is known."""
        base = self.known_base(agent.spec.env_from)
        return known_transcript(agent, base) if base is not None else None

    def keeps_transcript(self, agent: Agent) -> bool:
        """Whether it is known how the agent's CLI keeps what is said in its sessions."""
        return harness_of(agent.spec).transcript_form is not None

    def session_files(self, agent: Agent) -> str | None:
        """A glob for the files in which the agent's CLI says which process is in which session."""
        base = self.known_base(agent.spec.env_from)
        if base is None:
            return None
        return harness_of(agent.spec).session_files({**base, **dict(agent.spec.env)})

    def secrets(self, agent: Agent, variables: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """The values that no document may hold: of the environment as given, or as far as it is known now."""
        if variables is None:
            variables = {**(self.known_base(agent.spec.env_from) or self._daemon), **self._known(agent.spec)}
        from_files = [name for name, value in agent.spec.env if credential_path(value) is not None]
        given = {name: value for name, value in variables.items() if not name.startswith("PHOENIX_")}
        return secret_values(given, from_files)

    def _known(self, spec: AgentSpec) -> dict[str, str]:
        """The operator's variables, those from files included where these can be read now."""
        found: dict[str, str] = {}
        for name, value in spec.env:
            with contextlib.suppress(LaunchFailed):
                found[name] = self._value(name, value)
        return found

    def _value(self, name: str, value: str) -> str:
        path = credential_path(value)
        if path is None:
            return value
        if TERRAIN.is_file(path) is None:
            raise LaunchFailed(f"env.{name}: {path} does not answer", "have its file system answer")
        try:
            return self._files.read_plain(path, CREDENTIAL_LIMIT).decode().removesuffix("\n")
        except (OSError, UnsafeFile, UnicodeDecodeError) as error:
            raise LaunchFailed(f"env.{name}: {path} cannot be read: {error}", f"make {path} readable") from error

    def _ask_login_shell(self) -> dict[str, str]:
        try:
            return login_environment(environment.cleaned(self._daemon))
        except LoginShellFailed as failure:
            log.warning("login_environment_failed", reason=str(failure), instead="the daemon's own")
            return self._daemon
