"""Where the jobs that are done for an agent run: held as the agent's runs are, the CLI in a directory of its own."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from phoenixd.core.agent import Agent
from phoenixd.directories import Directories
from phoenixd.drivers.writers.job import Place, PlaceOf
from phoenixd.memory.files import Files
from phoenixd.start.fences import fence_of, leaf_of
from phoenixd.start.users_files import reader

FILE_LIMIT = 1 << 20


class JobPlaces:
    """create_leaf, end_leaf: make and take away the control group of a job of an agent's; None where there is none."""

    def __init__(
        self,
        directories: Directories,
        files: Files,
        create_leaf: Callable[[str, str], str | None] | None,
        end_leaf: Callable[[str, str], None] | None,
    ) -> None:
        self._directories = directories
        self._files = files
        self._create_leaf = create_leaf
        self._end_leaf = end_leaf
        self.users_file = reader(files, FILE_LIMIT)

    def place(self, agent: Agent, environment: Mapping[str, str]) -> Place:
        """The place of a CLI that writes a brief, once, in a directory that goes with it; raises as `of` says."""
        # An agent's own directory is not ours alone: a fenced agent may write there.
        above = self._directories.runtime / "writers"
        self._files.ensure_private_dir(above)
        directory = above / agent.spec.name
        return self._held("brief", agent, environment, directory, is_own=True)

    def of(self, job: str, directory: Path | None = None) -> PlaceOf:
        """The places of commands of this kind: in `directory`, which stays, else in the agent's own.

        Those raise LaunchFailed and OSError.
        """

        def place(agent: Agent, environment: Mapping[str, str]) -> Place:
            if directory is not None:
                self._files.ensure_private_dir(directory)
            return self._held(job, agent, environment, directory or Path(agent.spec.cwd), is_own=False)

        return place

    def _held(self, job: str, agent: Agent, environment: Mapping[str, str], directory: Path, *, is_own: bool) -> Place:
        spec = agent.spec
        name = f"{job}-{secrets.token_hex(4)}"
        # First of all: it may refuse, and nobody would end a control group that was made before.
        fence = fence_of(spec, self._directories, environment)
        leaf = leaf_of(spec, self._create_leaf, name)
        if fence is not None and str(directory) != spec.cwd:
            fence = {**fence, "shown": [*fence["shown"], {"path": str(directory), "write": True}]}
        own = str(directory) if is_own else None
        setup = {"cgroup": leaf, "required": spec.fence == "cgroup", "fence": fence, "directory": own}
        end_leaf = self._end_leaf

        def end() -> None:
            if leaf is not None and end_leaf is not None:
                end_leaf(spec.name, name)

        return Place(directory, ("--setup", json.dumps(setup)), end)
