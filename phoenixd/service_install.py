"""`phoenixctl install-service`: put the systemd units in place and start them. Standard library alone."""

from __future__ import annotations

import argparse
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from phoenixd.errors import ConfigurationError
from phoenixd.service_units import FIRST_CONFIGURATION, UNITS, Service, render_units

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

IMPORT_LIMIT = 60.0
"""Seconds for which an interpreter is waited for that is to import phoenixd."""

DONE, FAILED, USAGE, NOT_FOUND, DENIED = 0, 1, 2, 4, 5


class Refused(Exception):
    """The units were not installed; `code` is phoenixctl's exit code."""

    def __init__(self, message: str, remedy: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.code = code


def main(arguments: list[str]) -> int:
    """Install the units and start them; returns phoenixctl's exit code."""
    options = parse(arguments)
    try:
        service = choose_service(options)
        units = render_units(service)
        if options.dry_run:
            for path, text in {**units, service.configuration: FIRST_CONFIGURATION}.items():
                print(f"# {path}\n{text}")
            return DONE
        if service.scope == "system" and options.root == Path("/"):
            check_python(service.python, account_named(service.user))
        install(service, units, start=not options.no_start and options.root == Path("/"))
    except Refused as refusal:
        return refuse(refusal.code, str(refusal), refusal.remedy)
    except ConfigurationError as error:
        return refuse(USAGE, error.message, error.remedy or "phoenixctl install-service --help")
    return DONE


def refuse(code: int, why: str, remedy: str) -> int:
    """Refuse as every verb of phoenixctl does: what and why, then what to do, on standard error."""
    print(f"{why}\ndo: {remedy}", file=sys.stderr)
    return code


class Parser(argparse.ArgumentParser):
    """argparse whose complaints have that form too."""

    def error(self, message: str) -> NoReturn:
        raise SystemExit(refuse(USAGE, f"{self.prog}: {message}", f"{self.prog} --help"))


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="phoenixctl install-service",
        description="Run phoenixd by systemd: for an account of a server (--system --user NAME), or for you (--user).",
        epilog="Two units: phoenixd-tmux holds the agents, phoenixd supervises them and may be restarted any time.",
    )
    parser.add_argument("--system", action="store_true", help="units for the whole machine; needs root")
    parser.add_argument("--user", nargs="?", const="", metavar="NAME", help="the account whose agents these are")
    parser.add_argument("--allow-root", action="store_true", help="let the agents be root")
    parser.add_argument("--dry-run", action="store_true", help="print the units and change nothing")
    parser.add_argument("--no-start", action="store_true", help="write the units, enable and start nothing")
    parser.add_argument("--state-dir", metavar="DIR", help="instead of /var/lib/phoenixd, or ~/.local/state/phoenixd")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has phoenixd (this one)")
    parser.add_argument("--root", default="/", type=Path, metavar="DIR", help="write below DIR, and start nothing")
    options = parser.parse_args(arguments)
    if options.system and not options.user:
        parser.error("--system needs --user NAME: the agents run as that account")
    if not options.system and options.user is None:
        parser.error("choose --system --user NAME, or --user")
    if not options.system and options.user:
        parser.error(f"--user {options.user} needs --system; for yourself give --user alone, as that account")
    for name in ("python", "state_dir"):
        value = getattr(options, name)
        if value is not None and not os.path.isabs(value):
            parser.error(f"--{name.replace('_', '-')} {value}: give the whole path, from /")
    return options


def choose_service(options: argparse.Namespace) -> Service:
    account = account_named(options.user) if options.system else pwd.getpwuid(os.geteuid())
    check_account(account, allow_root=options.allow_root)
    tmux = shutil.which("tmux")
    if tmux is None:
        raise Refused("tmux is not on PATH", "apt-get install tmux")
    if options.system:
        directory = options.root / "etc/systemd/system"
        configuration = options.root / "etc"
        if os.geteuid() != 0 and not options.dry_run and options.root == Path("/"):
            raise Refused(
                f"only root writes to {directory}",
                "the same line with sudo; or --user, which needs no root",
                DENIED,
            )
    else:
        home_configuration = os.environ.get("XDG_CONFIG_HOME") or f"{account.pw_dir}/.config"
        configuration = options.root / Path(home_configuration).relative_to("/")
        directory = configuration / "systemd/user"
    return Service(
        scope="system" if options.system else "user",
        user=account.pw_name,
        directory=directory,
        configuration=configuration / "phoenixd/conf.d/10-service.toml",
        python=options.python,
        tmux=tmux,
        state_dir=options.state_dir,
        has_own_boot_id=BOOT_ID.stat().st_dev != BOOT_ID.parent.stat().st_dev,
    )


def account_named(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise Refused(
            f"there is no account '{name}'", f"useradd --create-home --shell /bin/bash {name}", NOT_FOUND
        ) from None


def check_account(account: pwd.struct_passwd, *, allow_root: bool) -> None:
    """Agents need a home for their logins, and root's agents need someone who wanted that."""
    if account.pw_uid == 0 and not allow_root:
        raise Refused(
            "agents of root could do anything to this machine",
            "choose an account for them: --system --user NAME; or say --allow-root",
            DENIED,
        )
    home = Path(account.pw_dir)
    if home == Path("/") or not home.is_dir() or home.stat().st_uid != account.pw_uid:
        raise Refused(
            f"{account.pw_name} has no home of its own ({home}), and agents keep their logins there",
            f"usermod --home /home/{account.pw_name} --move-home {account.pw_name}, or choose another account",
        )


def check_python(python: str, account: pwd.struct_passwd) -> None:
    """An interpreter below /root, say, is there for root and absent for the account that the unit names."""
    try:
        probe = subprocess.run(
            [python, "-P", "-c", "import phoenixd"],
            cwd="/",
            env={"PATH": os.defpath},
            user=account.pw_uid,
            group=account.pw_gid,
            extra_groups=(),
            capture_output=True,
            text=True,
            timeout=IMPORT_LIMIT,
        )
        problem = probe.stderr.strip().rpartition("\n")[2]
        usable = probe.returncode == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        problem, usable = str(error), False
    if not usable:
        raise Refused(
            f"{account.pw_name} cannot run phoenixd with {python}: {problem}",
            "install phoenixd where every account can read it, /opt for one, and run its phoenixctl; or give --python",
        )


def install(service: Service, units: dict[Path, str], *, start: bool) -> None:
    changed = [path for path, text in units.items() if write_file(path, text)]
    for path in units:
        print(f"{'wrote' if path in changed else 'unchanged'} {path}")
    if not service.configuration.exists():
        write_file(service.configuration, FIRST_CONFIGURATION)
        print(f"wrote {service.configuration}")
    systemctl = ["systemctl"] if service.scope == "system" else ["systemctl", "--user"]
    then = " ".join([*systemctl, "enable --now", *UNITS])
    if not start or not Path("/run/systemd/system").is_dir():
        print(f"start them with: {then}")
        return
    if service.scope == "user":
        enable_linger(service.user)
    # The tmux unit is started and never restarted: that would end every agent.
    for command in (
        ["daemon-reload"],
        ["enable", *UNITS],
        ["start", "phoenixd-tmux.service"],
        ["restart", "phoenixd.service"],
    ):
        run([*systemctl, *command])
    if any(path.name == "phoenixd-tmux.service" for path in changed):
        print("a change of phoenixd-tmux.service counts from its next start, and restarting it stops every agent")
    print("running; see: phoenixctl status")


def write_file(path: Path, text: str) -> bool:
    """Write one file whole or not at all; returns whether it differs from what was there."""
    try:
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return False
        _make_readable(path.parent)
        unfinished = path.with_name(f".{path.name}.new")
        unfinished.unlink(missing_ok=True)
        # No instant at which another user may write what systemd will run, whatever the umask is.
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(descriptor, 0o644)
            file.write(text)
        unfinished.replace(path)
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror}", "check the directory's owner and space") from error
    return True


def _make_readable(directory: Path) -> None:
    """Make it and what is missing above it, for all to read and for us to write."""
    for place in (*reversed(directory.parents), directory):
        if not place.is_dir():
            place.mkdir(mode=0o755)


def enable_linger(user: str) -> None:
    """Without linger a user's services, and with them all agents, end at the last logout."""
    if Path("/var/lib/systemd/linger", user).exists():
        return
    try:
        run(["loginctl", "enable-linger"])
    except Refused as refusal:
        raise Refused(
            f"agents would stop when {user} logs out: {refusal}",
            f"sudo loginctl enable-linger {user}, then the same command again",
        ) from refusal


def run(command: list[str]) -> None:
    try:
        finished = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"{' '.join(command)}: {error}", "journalctl -xe may say more") from error
    if finished.returncode != 0:
        said = finished.stderr.strip() or f"exit code {finished.returncode}"
        raise Refused(f"{' '.join(command)}: {said}", "journalctl -xe may say more")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
