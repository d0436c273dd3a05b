"""Where the daemon and phoenixctl look, in the order of the design."""

from __future__ import annotations

import os
import pwd
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.directories import (
    Directories,
    check_socket_paths,
    find_configuration,
    find_directories,
    for_any_shell,
    start_again,
)
from phoenixd.errors import ConfigurationError

USER = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def linger(tmp_path: Path) -> Path:
    directory = tmp_path / "linger"
    directory.mkdir()
    return directory


def test_flags_win_over_everything(tmp_path: Path, linger: Path) -> None:
    environ = {"PHOENIX_STATE_DIR": "/x", "STATE_DIRECTORY": "/y", "PHOENIX_RUNTIME_DIR": "/z", "HOME": "/h"}

    found = find_directories(environ, configuration=str(tmp_path), state="/s", runtime="/r", linger=linger)

    assert (found.configuration, found.state, found.runtime) == (tmp_path, Path("/s"), Path("/r"))


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"PHOENIX_STATE_DIR": "/a", "STATE_DIRECTORY": "/b", "HOME": "/h"}, "/a"),
        ({"STATE_DIRECTORY": "/b:/c", "HOME": "/h"}, "/b"),
        ({"XDG_STATE_HOME": "/d", "HOME": "/h"}, "/d/phoenixd"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/phoenixd"),
        ({"HOME": "/h"}, "/h/.local/state/phoenixd"),
        ({"PHOENIX_AGENT": "a", "PHOENIX_STATE_DIR": "/a/agents/a", "HOME": "/h"}, "/h/.local/state/phoenixd"),
    ],
)
def test_the_state_directory(environ: dict[str, str], expected: str, linger: Path) -> None:
    assert find_directories(environ, linger=linger, system=linger / "none").state == Path(expected)


def test_the_runtime_directory_of_a_login_counts_only_where_linger_keeps_it(linger: Path) -> None:
    environ = {"XDG_RUNTIME_DIR": "/run/user/7", "HOME": "/h", "PHOENIX_STATE_DIR": "/s"}

    assert find_directories(environ, linger=linger).runtime == Path("/s/run")
    (linger / USER).touch()
    assert find_directories(environ, linger=linger).runtime == Path("/run/user/7/phoenixd")
    assert find_directories({**environ, "RUNTIME_DIRECTORY": "/run/p"}, linger=linger).runtime == Path("/run/p")
    assert find_directories({**environ, "PHOENIX_RUNTIME_DIR": "/q"}, linger=linger).runtime == Path("/q")


def test_the_configuration_is_searched_in_order(tmp_path: Path) -> None:
    system, home = tmp_path / "system", tmp_path / "home"
    environ = {"XDG_CONFIG_HOME": str(home)}
    assert find_configuration(environ, system=system) is None
    (home / "phoenixd").mkdir(parents=True)
    assert find_configuration(environ, system=system) == home / "phoenixd"
    system.mkdir()
    assert find_configuration(environ, system=system) == system
    assert find_configuration({**environ, "CONFIGURATION_DIRECTORY": str(home)}, system=system) == home
    assert find_configuration(environ, str(system), system=home) == system


@pytest.mark.parametrize("name", ["PHOENIX_STATE_DIR", "PHOENIX_RUNTIME_DIR", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"])
def test_p80_a_relative_path_is_refused(name: str, linger: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}=x is not an absolute path"):
        find_directories({name: "x", "HOME": "/h"}, linger=linger)


def test_a_configuration_that_is_named_and_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such file") as refused:
        find_configuration({}, str(tmp_path / "none"))
    assert refused.value.remedy.endswith(": phoenixctl config check")


def test_a_configuration_that_is_named_and_cannot_be_looked_at_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot be read: Not a directory") as refused:
        find_configuration({}, str(tmp_path / "file" / "none"))
    assert refused.value.remedy == f"look why with: ls -ld {tmp_path / 'file'}"


def test_a_socket_path_is_checked_against_what_the_kernel_takes() -> None:
    fits = Path("/" + "r" * (107 - len("/agents//link.sock") - 32 - 1))

    check_socket_paths(fits, ["a" * 32])
    with pytest.raises(ConfigurationError, match="108 bytes") as refused:
        check_socket_paths(Path(f"{fits}r"), ["a" * 32])
    assert "--runtime-dir" in refused.value.remedy
    check_socket_paths(Path(f"{fits}r"), ["a"])


def test_f_sy_18_nothing_that_has_to_survive_is_put_below_tmp(linger: Path) -> None:
    """A service's private or cleaned /tmp takes nothing away, wherever TMPDIR points."""
    found = find_directories({"HOME": "/h", "TMPDIR": "/tmp", "TMP": "/tmp"}, linger=linger, system=linger / "none")

    assert not {Path("/tmp"), Path("/var/tmp")} & {*found.state.parents, *found.runtime.parents}


def test_what_begins_a_daemon_again_names_the_directories_that_its_environment_named() -> None:
    """The shell in which it is typed has other variables, and would begin another daemon."""
    environ = {"HOME": "/home/dev", "PHOENIX_STATE_DIR": "/srv/state", "PHOENIX_RUNTIME_DIR": "/srv/run"}
    directories = Directories(None, Path("/srv/state"), Path("/srv/run"))

    assert start_again(environ, directories) == "phoenixctl up"
    assert start_again(for_any_shell(environ), directories) == (
        "phoenixctl up --state-dir /srv/state --runtime-dir /srv/run"
    )
    assert start_again(for_any_shell({"HOME": "/home/dev"}), replace(directories, runtime=Path("/srv/state/run"))) == (
        "phoenixctl up --state-dir /srv/state"
    )


def test_a_user_without_a_home_that_the_host_does_not_know_names_the_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container the daemon may run as a number that stands in no passwd."""

    def nobody(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    monkeypatch.setattr("pwd.getpwuid", nobody)
    found = find_directories({}, state=str(tmp_path / "state"), runtime=str(tmp_path / "run"), system=tmp_path / "none")
    assert (found.configuration, found.state) == (None, tmp_path / "state")
    assert find_directories({}, system=tmp_path / "none").state == Path("/.local/state/phoenixd")
