"""Where the CLI that writes an agent's brief runs: held as the agent's runs are, in a directory of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping

from phoenixd.core.agent import Agent
from phoenixd.directories import Directories
from phoenixd.drivers.writers.cli import Place
from phoenixd.errors import LaunchFailed, UnsafeFile
from phoenixd.memory.files import Files
from phoenixd.start.fences import fence_of

FILE_LIMIT = 1 << 20


class JobPlaces:
    """create_leaf and end_leaf: make and take away the control group of an agent's job; None where there is none."""

    def __init__(
        self,
        directories: Directories,
        files: Files,
        create_leaf: Callable[[str], str | None] | None,
        end_leaf: Callable[[str], None] | None,
    ) -> None:
        self._directories = directories
        self._files = files
        self._create_leaf = create_leaf
        self._end_leaf = end_leaf

    def users_file(self, path: str) -> bytes | None:
        """What a file of the user's holds, which may be a link of theirs; None where it cannot be read."""
        try:
            return self._files.read_plain(os.path.realpath(path), FILE_LIMIT)
        except (OSError, UnsafeFile):
            return None

    def place(self, agent: Agent, environment: Mapping[str, str]) -> Place:
        """The place of one call; raises LaunchFailed and OSError."""
        spec = agent.spec
        # An agent's own directory is not ours alone: a fenced agent may write there.
        above = self._directories.runtime / "writers"
        self._files.ensure_private_dir(above)
        directory = above / spec.name
        leaf = self._create_leaf(spec.name) if self._create_leaf is not None and spec.fence != "none" else None
        if leaf is None and spec.fence == "cgroup":
            remedy = "phoenixctl install-service, or fence another way"
            raise LaunchFailed("no control group is to be had here, and its fence is one", remedy)
        fence = fence_of(spec, self._directories, environment)
        if fence is not None:
            fence = {**fence, "shown": [*fence["shown"], {"path": str(directory), "write": True}]}
        setup = json.dumps({"cgroup": leaf, "fence": fence, "directory": str(directory)})
        end_leaf = self._end_leaf

        def end() -> None:
            if leaf is not None and end_leaf is not None:
                end_leaf(spec.name)

        return Place(directory, ("--setup", setup), end)
