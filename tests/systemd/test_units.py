"""The units that install-service writes: what systemd itself says of them, and what agents' lives hang on."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from phoenixd.errors import ConfigurationError
from phoenixd.service_units import Scope, Service, quoted, render_units

needs_systemd_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="not run: systemd-analyze is absent (apt-get install systemd)"
)
both_scopes = pytest.mark.parametrize("scope", ["system", "user"])


def service(scope: Scope, directory: Path, **changes: str) -> Service:
    programs = {"python": sys.executable, "tmux": shutil.which("tmux") or "/usr/bin/tmux", **changes}
    return Service(scope, "builder", directory, directory / "10-service.toml", **programs)


def written(installed: Service) -> list[Path]:
    units = render_units(installed)
    for path, text in units.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [path for path in units if path.suffix == ".service"]


def settings(scope: Scope, unit: str) -> dict[str, list[str]]:
    """The unit's settings by key; a key may be given more than once."""
    text = render_units(service(scope, Path("/units")))[Path("/units") / unit]
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            found.setdefault(key, []).append(value)
    return found


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    # A user's manager is imitated only where it would have a runtime directory.
    environment = {**os.environ, "XDG_RUNTIME_DIR": tempfile.gettempdir()}
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, env=environment)


@needs_systemd_analyze
@both_scopes
def test_systemd_has_no_complaint(scope: Scope, tmp_path: Path) -> None:
    manager = ["--user"] if scope == "user" else []

    verified = analyze(*manager, "verify", *map(str, written(service(scope, tmp_path))))

    complaints = [line for line in verified.stderr.splitlines() if str(tmp_path) in line]
    assert complaints == []
    assert verified.returncode == 0, verified.stderr


@needs_systemd_analyze
def test_the_daemons_exposure_is_at_most_2(tmp_path: Path) -> None:
    unit = next(path for path in written(service("system", tmp_path)) if path.name == "phoenixd.service")

    scored = analyze("security", "--offline=true", "--threshold=20", str(unit))

    assert scored.returncode == 0, scored.stdout.splitlines()[-1]


@needs_systemd_analyze
def test_a_path_with_blanks_and_percent_signs_reaches_systemd_whole(tmp_path: Path) -> None:
    """`verify` looks for each program, so a path that it misreads is a complaint."""
    directory = tmp_path / "my 100%n tools"
    directory.mkdir()
    python = directory / "python"
    python.symlink_to(sys.executable)

    verified = analyze("verify", *map(str, written(service("system", tmp_path, python=str(python)))))

    assert verified.returncode == 0, verified.stderr


@pytest.mark.parametrize("path", ["/opt/python\nExecStartPre=/bin/evil", '/opt/"python"', "/opt/\\python"])
def test_a_path_that_systemd_could_misread_is_refused(path: str) -> None:
    with pytest.raises(ConfigurationError):
        quoted(path)


@both_scopes
@pytest.mark.parametrize("unit", ["phoenixd.service", "phoenixd-tmux.service"])
def test_no_placeholder_is_left(scope: Scope, unit: str) -> None:
    assert not re.search("@[A-Z]+@", render_units(service(scope, Path("/units")))[Path("/units") / unit])


@both_scopes
def test_agents_outlive_the_daemon_because_nothing_of_theirs_is_in_its_unit(scope: Scope) -> None:
    daemon, tmux = settings(scope, "phoenixd.service"), settings(scope, "phoenixd-tmux.service")

    assert "RuntimeDirectory" not in daemon
    assert tmux["RuntimeDirectory"] == ["phoenixd"]
    assert tmux["RuntimeDirectoryPreserve"] == ["yes"]
    # Stopping the daemon or losing tmux must not pull the other one along.
    for key in ("Requires", "BindsTo", "PartOf"):
        assert key not in daemon
        assert key not in tmux
    assert daemon["Wants"] == ["phoenixd-tmux.service"]


@both_scopes
def test_one_agent_out_of_memory_does_not_end_the_fleet(scope: Scope) -> None:
    tmux = settings(scope, "phoenixd-tmux.service")

    assert tmux["OOMPolicy"] == ["continue"]
    assert tmux["Delegate"] == ["yes"]


@both_scopes
@pytest.mark.parametrize("unit", ["phoenixd.service", "phoenixd-tmux.service"])
def test_systemd_never_gives_up_on_either_unit(scope: Scope, unit: str) -> None:
    """F-SY-2: a crash loop of the daemon is never given up on; agents do not notice."""
    found = settings(scope, unit)

    assert found["Restart"] == ["always"]
    assert found["StartLimitIntervalSec"] == ["0"]


@both_scopes
def test_a_wrong_configuration_is_not_tried_again(scope: Scope) -> None:
    assert settings(scope, "phoenixd.service")["RestartPreventExitStatus"] == ["78"]


def test_what_would_blind_the_daemon_or_break_agents_is_off() -> None:
    daemon, tmux = settings("system", "phoenixd.service"), settings("system", "phoenixd-tmux.service")

    forbidden_anywhere = {"PrivateTmp", "DynamicUser", "PrivateUsers", "ProtectControlGroups", "MemoryDenyWriteExecute"}
    assert forbidden_anywhere.isdisjoint(daemon)
    assert daemon["ProtectHome"] == ["read-only"]
    # Agents inherit the tmux unit's: their own sandboxes need namespaces and a /proc without masks.
    masks = {"RestrictNamespaces", "ProtectKernelTunables", "ProtectKernelLogs", "ProtectProc", "SystemCallFilter"}
    assert (forbidden_anywhere | masks | {"PrivateNetwork", "ProtectSystem", "ProtectHome"}).isdisjoint(tmux)


@needs_systemd_analyze
@both_scopes
def test_systemd_has_no_complaint_about_another_state_directory(scope: Scope, tmp_path: Path) -> None:
    """A drop-in is read with its unit; a path that lost its blank or gained quotes is a complaint."""
    units = written(service(scope, tmp_path, state_dir="/srv/phoenix 100%n state"))

    assert analyze("verify", *map(str, units)).stderr == ""


def test_another_state_directory_is_a_drop_in_that_may_be_written_to() -> None:
    installed = Service(
        "system", "root", Path("/units"), Path("/c"), "/usr/bin/python3", "/usr/bin/tmux", "/srv/phoenix state"
    )
    drop_in = configparser.RawConfigParser(strict=False)
    drop_in.optionxform = str  # type: ignore[assignment,method-assign]
    drop_in.read_string(render_units(installed)[Path("/units/phoenixd.service.d/10-state-dir.conf")])

    assert dict(drop_in["Service"]) == {
        "Environment": '"PHOENIX_STATE_DIR=/srv/phoenix state"',
        "StateDirectory": "",
        "ReadWritePaths": '"/srv/phoenix state"',
        "WorkingDirectory": "/srv/phoenix state",
    }


def test_a_container_with_a_boot_id_of_its_own_shows_it_to_the_daemon_as_well() -> None:
    installed = Service(
        "system", "root", Path("/units"), Path("/c"), "/usr/bin/python3", "/usr/bin/tmux", has_own_boot_id=True
    )

    drop_in = render_units(installed)[Path("/units/phoenixd.service.d/10-container.conf")]

    assert drop_in.endswith("[Service]\nProtectKernelTunables=no\n")
