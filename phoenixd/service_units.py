"""The systemd units as text: the templates of systemd/, filled in for one machine. Standard library alone.

The templates lie in systemd/ of the repository, and in phoenixd/data/systemd of an installed package.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from phoenixd.errors import ConfigurationError

Scope = Literal["system", "user"]

UNITS = ("phoenixd-tmux.service", "phoenixd.service")

FIRST_CONFIGURATION = """\
# Written once by `phoenixctl install-service`; it is yours now.
# A service is started without a login, so agents would miss what the login shell sets: PATH, node, ssh and gh.
[defaults]
env_from = "login"
"""


@dataclass(frozen=True, slots=True)
class Service:
    """What is to be installed: whose daemon, run by which programs, in which directory of units."""

    scope: Scope
    user: str
    directory: Path
    configuration: Path
    python: str
    tmux: str
    state_dir: str | None = None
    has_own_boot_id: bool = False


CONTAINER_DROP_IN = """\
# This container was given a boot id of its own, by a mount below /proc. ProtectKernelTunables= would show phoenixd a
# fresh /proc without it, and phoenixd would take every living process for one of another boot.
[Service]
ProtectKernelTunables=no
"""


def render_units(service: Service) -> dict[Path, str]:
    """Return the text of each file that is phoenixd's own to rewrite, by the path where systemd looks for it."""
    values = {
        "@PYTHON@": quoted(service.python),
        "@TMUX@": quoted(service.tmux),
        "@USER@": service.user,
    }
    templates = template_directory() / ("user" if service.scope == "user" else ".")
    units: dict[Path, str] = {}
    for name in UNITS:
        text = (templates / name).read_text(encoding="utf-8")
        for placeholder, value in values.items():
            text = text.replace(placeholder, value)
        units[service.directory / name] = text
    if service.state_dir is not None:
        drop_in = service.directory / "phoenixd.service.d" / "10-state-dir.conf"
        units[drop_in] = state_drop_in(service.scope, service.state_dir)
    if service.scope == "system" and service.has_own_boot_id:
        units[service.directory / "phoenixd.service.d" / "10-container.conf"] = CONTAINER_DROP_IN
    return units


def state_drop_in(scope: Scope, state_dir: str) -> str:
    lines = ["[Service]", f"Environment={quoted('PHOENIX_STATE_DIR=' + state_dir)}"]
    if scope == "system":
        # The system unit sees all else read-only.
        lines += ["StateDirectory=", f"ReadWritePaths={quoted(state_dir)}"]
        # This one setting takes the rest of the line, and would take quotes for part of the path.
        lines += [f"WorkingDirectory={escaped(state_dir)}"]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """One word of a unit file."""
    return f'"{escaped(text)}"' if " " in text else escaped(text)


def escaped(text: str) -> str:
    """A text in which nothing is a specifier, an escape or the end of the line; raises ConfigurationError."""
    if not text.isprintable() or any(character in text for character in "\"'\\"):
        raise ConfigurationError(
            f"systemd takes no quotes, backslashes or control characters in {text!r}", "choose another path"
        )
    return text.replace("%", "%%")


def template_directory() -> Path:
    package = Path(__file__).resolve().parent
    for directory in (package / "data" / "systemd", package.parent / "systemd"):
        if (directory / UNITS[0]).is_file():
            return directory
    raise ConfigurationError("the unit files are missing from this installation", "install phoenixd again")
