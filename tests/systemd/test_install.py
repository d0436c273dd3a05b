"""install-service: whom it refuses, with which code and remedy, and what it leaves on disk."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path

import pytest

from phoenixd import service_install
from phoenixd.service_install import DENIED, DONE, FAILED, NOT_FOUND, USAGE, main

ROOT = ["--system", "--user", "root", "--allow-root"]


@pytest.fixture(autouse=True)
def tmux_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: found(name) or f"/usr/bin/{name}")


def test_root_is_refused_without_allow_root(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--system", "--user", "root", "--dry-run"]) == DENIED
    assert "--allow-root" in capsys.readouterr().err


def test_an_unknown_account_is_not_found_and_the_remedy_creates_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--system", "--user", "no-such-account"]) == NOT_FOUND
    assert "\ndo: useradd --create-home" in capsys.readouterr().err


def test_an_account_without_a_home_of_its_own_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Agents keep logins, keys and caches there."""
    assert main(["--system", "--user", "nobody", "--dry-run"]) == FAILED
    assert "home" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="not run: root may write there")
def test_system_units_need_root(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ROOT) == DENIED
    assert "sudo" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [[], ["--system"], ["--user", "root"], ["--system", "--user", "root", "--python", "python3"]]
)
def test_a_half_said_wish_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == USAGE
    why, _, remedy = capsys.readouterr().err.partition("\ndo: ")
    assert why.startswith("phoenixctl install-service: ")
    assert remedy.startswith("phoenixctl install-service --help")


def test_a_dry_run_prints_all_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ROOT, "--dry-run", "--root", str(tmp_path)]) == DONE

    printed = capsys.readouterr().out
    assert "Type=notify" in printed
    assert "Delegate=yes" in printed
    assert list(tmp_path.iterdir()) == []


def test_units_are_rewritten_and_the_configuration_is_the_operators(tmp_path: Path) -> None:
    assert main([*ROOT, "--root", str(tmp_path)]) == DONE
    unit = tmp_path / "etc/systemd/system/phoenixd.service"
    configuration = tmp_path / "etc/phoenixd/conf.d/10-service.toml"
    expected = unit.read_text()
    unit.write_text("[Service]\n")
    configuration.write_text("# mine\n")

    assert main([*ROOT, "--root", str(tmp_path)]) == DONE

    assert unit.read_text() == expected
    assert configuration.read_text() == "# mine\n"


def test_the_interpreter_must_work_for_the_account(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A virtualenv below /root is there for root, and absent for the account that the unit names."""
    if os.geteuid() != 0:
        pytest.skip("not run: only root may become another account")
    account = next((entry for entry in pwd.getpwall() if entry.pw_uid and owns_home(entry)), None)
    if account is None:
        pytest.skip("not run: no ordinary account with a home is here")
    private = tmp_path / "python"
    private.write_text("#!/bin/sh\nexit 0\n")
    private.chmod(0o700)

    code = main(["--system", "--user", account.pw_name, "--python", str(private)])

    assert code == FAILED
    assert "cannot run phoenixd" in capsys.readouterr().err


def owns_home(account: pwd.struct_passwd) -> bool:
    home = Path(account.pw_dir)
    return home != Path("/") and home.is_dir() and home.stat().st_uid == account.pw_uid


@pytest.mark.skipif(os.geteuid() != 0, reason="not run: only root may become another account")
def test_an_interpreter_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One on a disk that hangs, say: the verb stood still, and nothing said why."""
    monkeypatch.setattr(service_install, "IMPORT_LIMIT", 0.5)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 60\n")
    python.chmod(0o755)
    account = pwd.getpwuid(os.geteuid())
    with pytest.raises(service_install.Refused, match=r"cannot run phoenixd with .* timed out after 0.5 seconds"):
        service_install.check_python(str(python), account)
