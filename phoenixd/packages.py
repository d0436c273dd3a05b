"""The command that installs a program here. Standard library alone."""

from __future__ import annotations

import os
import shutil

from phoenixd.remedies import Command, Remedy, Sentence


def install_line(package: str) -> Remedy:
    """What to type as this user; where there is no apt-get, what to do in words."""
    if shutil.which("apt-get") is None:
        return Sentence(f"install {package} with this system's package manager")
    line = f"apt-get install -y {package}"
    return Command(line if os.geteuid() == 0 else f"sudo {line}")
