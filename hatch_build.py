"""What is made at each build of a wheel: man pages and completions out of the table of operations, and the project's
addresses out of the repository that it is built from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ADDRESS = "PHOENIXD_REPOSITORY"
"""The variable that names the repository's web address; without it, the remote `origin` does."""
LINK = re.compile(r"(\]\()(?!\w+:|#)([^)\s]+)(\))")


class Faces(BuildHookInterface[Any]):
    """Puts man pages and completions where man and the shells look for them, below the prefix of an installation."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        try:
            from phoenixd.ctl import manual
            from phoenixd.ctl.shells import bash, fish, zsh
        finally:
            sys.path.remove(self.root)
        configuration = Path(self.root, "config/phoenixd.toml").read_text(encoding="utf-8")
        made = {
            "share/man/man1/phoenixctl.1": manual.phoenixctl(),
            "share/man/man8/phoenixd.8": manual.phoenixd(),
            "share/man/man5/phoenixd.toml.5": manual.configuration(configuration),
            "share/bash-completion/completions/phoenixctl": bash.script(),
            "share/zsh/site-functions/_phoenixctl": zsh.script(),
            "share/fish/vendor_completions.d/phoenixctl.fish": fish.script(),
        }
        self._made = tempfile.TemporaryDirectory(prefix="phoenixd-build-")
        for place, text in made.items():
            path = Path(self._made.name, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(path)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._made.cleanup()


class Addresses(MetadataHookInterface):
    """The README as an index shows it, where a link has to name its host, and the project's addresses.

    A build without a known repository has neither: an address that leads nowhere helps nobody.
    """

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        address = web_address(self.root)
        if address is not None:
            text = absolute(text, address)
            metadata["urls"] = {
                "Repository": address,
                "Documentation": f"{address}/blob/HEAD/docs/README.md",
                "Changelog": f"{address}/blob/HEAD/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def web_address(root: str) -> str | None:
    """Where the repository can be seen, without any login that the remote's address may hold; None where unknown."""
    named = os.environ.get(ADDRESS) or (_origin(root) if Path(root, ".git").exists() else "")
    found = re.fullmatch(
        r"(?:(https?)://|ssh://)?(?:[^@/\s]+@)?([\w.-]+\.\w+)(:\d+)?[:/]([\w./~-]+?)(?:\.git)?/?", named
    )
    if found is None:
        return None
    # The port of ssh is not that of the pages.
    return f"https://{found[2]}{(found[3] or '') if found[1] else ''}/{found[4]}"


def absolute(text: str, address: str) -> str:
    """Links into the repository as links to its web pages."""
    return LINK.sub(lambda link: f"{link[1]}{address}/blob/HEAD/{link[2]}{link[3]}", text)


def _origin(root: str) -> str:
    try:
        asked = ["git", "-C", root, "config", "--get", "remote.origin.url"]
        return subprocess.run(asked, capture_output=True, text=True, check=False, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
