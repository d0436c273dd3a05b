"""`./dev` on machines that lack something: it says what, how to get it, and exits 2 before it touches anything."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What every Debian has; tmux, git, python and apt-get are what a test adds.
ESSENTIAL = (
    "cat chmod cut dirname env flock id mkdir mktemp printf rm sed sh sha256sum sort tail tar tee uname wc find".split()
)


class Machine:
    """A PATH with the essentials and what a test puts there; no terminal, no CI."""

    def __init__(self, directory: Path) -> None:
        self.programs = directory / "bin"
        self.programs.mkdir()
        self.environment = {
            "PATH": str(self.programs),
            "HOME": str(directory),
            "PHOENIX_DEV_VENVS": str(directory / "v"),
        }
        for name in ESSENTIAL:
            self.has(name)

    def has(self, name: str) -> None:
        if found := shutil.which(name):
            (self.programs / name).symlink_to(found)

    def pretends(self, name: str, script: str) -> None:
        program = self.programs / name
        program.unlink(missing_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(stat.S_IRWXU)

    def has_this_python(self) -> None:
        self.pretends("python3", f'exec {sys.executable} "$@"')

    def dev(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(ROOT / "dev"), *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_help_needs_nothing(machine: Machine) -> None:
    answered = machine.dev("help")

    assert answered.returncode == 0
    assert all(
        f"  {verb} " in answered.stdout for verb in ("demo", "test", "lint", "bench", "proof", "simulate", "house")
    )


def test_python_is_the_one_that_has_what_the_tests_need() -> None:
    """A page said `python -m tests.architecture.generated`, and the machine's own python has no module anyio."""
    if not (Path(sys.prefix) / "complete").exists():
        pytest.skip("this is no virtualenv of ./dev")
    environment = os.environ | {"PHOENIX_DEV_VENVS": str(Path(sys.prefix).parent)}
    asked = [str(ROOT / "dev"), "python", "-c", "import anyio, pytest, tests, sys; print(sys.prefix)"]

    told = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=300)

    assert (told.returncode, told.stdout.strip()) == (0, sys.prefix), told.stderr


def test_an_unknown_command_is_refused_with_the_list(machine: Machine) -> None:
    refused = machine.dev("tset")

    assert refused.returncode == 2
    assert "'tset'" in refused.stderr
    assert "./dev COMMAND" in refused.stderr


def test_another_system_than_linux_is_refused_at_once(machine: Machine) -> None:
    machine.pretends("uname", "echo Darwin")

    refused = machine.dev("test")

    assert refused.returncode == 2
    assert "Linux only" in refused.stderr


def test_without_a_python_it_names_one(machine: Machine) -> None:
    machine.pretends("python3", 'case "$*" in *"-I -c"*) exit 0 ;; esac')

    refused = machine.dev("setup")

    assert refused.returncode == 2
    assert "no Python 3.11 or newer" in refused.stderr
    assert "apt-get install python3 python3-venv" in refused.stderr


def test_a_missing_package_is_named_in_one_line_that_nobody_ran(machine: Machine) -> None:
    machine.has_this_python()
    machine.pretends("apt-get", f"touch {machine.programs}/was-run")

    refused = machine.dev("demo")

    assert refused.returncode == 2
    assert "apt-get update && apt-get install -y --no-install-recommends tmux git" in refused.stderr
    assert not (machine.programs / "was-run").exists()


def test_ci_installs_unasked(machine: Machine) -> None:
    machine.environment["CI"] = "true"
    machine.has_this_python()
    log = machine.programs / "log"
    machine.pretends("apt-get", f'echo "$@" >>{log}; exit 1')
    machine.pretends("id", "echo 0")

    refused = machine.dev("demo")

    assert refused.returncode == 2
    assert log.read_text() == "update\n"
    assert "the lines above say why" in refused.stderr


def test_without_root_the_line_begins_with_sudo(machine: Machine) -> None:
    machine.has_this_python()
    machine.pretends("apt-get", "exit 1")
    machine.pretends("id", "echo 1000")

    assert "sudo sh -c 'apt-get update && apt-get install" in machine.dev("demo").stderr


def test_another_distribution_gets_the_names(machine: Machine) -> None:
    machine.has_this_python()

    refused = machine.dev("demo")

    assert refused.returncode == 2
    assert "needed: tmux git" in refused.stderr


PYTHON_OF_A_FRESH_MACHINE = """\
case "$*" in
    "-I -c "*) echo "11 $0" ;;
    "-m venv "*) mkdir -p "$3/bin"; printf '%s\\n' '#!/bin/sh' 'echo "$@" >>{log}' \\
        'case $2 in pip) echo "Collecting anyio<5 (from phoenixd)"; echo "ERROR: no wool" ; exit {code} ;; esac' \\
        >"$3/bin/python"; chmod +x "$3/bin/python" ;;
    *) exec {python} "$@" ;;
esac"""


@pytest.mark.parametrize("code", [0, 1])
def test_the_demo_installs_what_it_needs_and_no_test_needs_and_names_it_as_it_comes(
    machine: Machine, code: int
) -> None:
    log = machine.programs / "log"
    machine.pretends("python3", PYTHON_OF_A_FRESH_MACHINE.format(log=log, python=sys.executable, code=code))
    machine.pretends("tmux", "")
    machine.pretends("git", "")

    ran = machine.dev("demo")

    installing, *then = log.read_text().splitlines()
    assert installing.endswith("-e .")
    assert "dev:   anyio\n" in ran.stderr
    assert then == (["-m phoenixd.ctl demo"] if code == 0 else [])
    assert ran.returncode == (0 if code == 0 else 2)
    assert ("no wool" in ran.stderr) == (code != 0), "what pip said stands above only where it failed"


@pytest.mark.parametrize("script", ["dev", ".ci/run"])
def test_scripts_are_executable(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)


DEV_OF_CI = """\
#!/bin/sh
echo "$1" >>called
wait_for() {{
    looks=0
    until [ -e "$1" ]; do sleep 0.02; looks=$((looks + 1)); [ $looks -lt 6000 ] || exit 9; done
}}
case $1 in
    lint) wait_for test; touch lint; echo "lint says {lint}"; exit {lint} ;;
    test) touch test; wait_for lint; echo "test says {test}"; exit {test} ;;
esac
exit {setup}
"""


@pytest.mark.parametrize(
    ("setup", "lint", "test", "code"), [(0, 0, 0, 0), (0, 1, 0, 1), (0, 0, 1, 1), (0, 2, 1, 1), (2, 0, 0, 2)]
)
def test_ci_lints_beside_the_tests_and_fails_where_either_does(
    tmp_path: Path, setup: int, lint: int, test: int, code: int
) -> None:
    """Each waits here for the other. What lint says is whole, and below what the tests say."""
    (tmp_path / ".ci").mkdir()
    shutil.copy2(ROOT / ".ci/run", tmp_path / ".ci/run")
    (tmp_path / "dev").write_text(DEV_OF_CI.format(setup=setup, lint=lint, test=test))
    (tmp_path / "dev").chmod(stat.S_IRWXU)

    done = subprocess.run([tmp_path / ".ci/run"], capture_output=True, text=True, timeout=120)

    assert done.returncode == code, done
    called = (tmp_path / "called").read_text().split()
    assert called[0] == "setup"
    if setup:
        assert called == ["setup"], "what is not there can be asked nothing"
        return
    said = [line for line in done.stdout.splitlines() if " took " not in line]
    failed = [f"ci: failed: ./dev {name}" for name, its in (("test", test), ("lint", lint)) if its]
    assert said == [f"test says {test}", f"lint says {lint}", *(failed or ["ci: all well"])]


def directory_in_memory(enough: int, **environment: str) -> str:
    """What the suite's function of that name prints."""
    text = (ROOT / "dev").read_text()
    function = text[text.index("directory_in_memory() {") : text.index("enough_memory=$")]
    script = f"set -eu\nenough_memory={enough}\n{function}\ndirectory_in_memory"
    variables = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(
        ["sh", "-c", script], env=variables, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_suites_files_lie_in_memory_where_there_is_enough_and_nobody_said_where() -> None:
    assert directory_in_memory(1, TMPDIR="/elsewhere") == ""
    assert directory_in_memory(1 << 40) == ""
    made = directory_in_memory(1)
    if not made:
        pytest.skip("not run: no program may run below /dev/shm")
    try:
        assert stat.S_IMODE(os.stat(made).st_mode) == 0o711, "other users come to what is theirs, and see nothing else"
        assert len(made) <= len("/tmp/phx.XXXXXX/tmp"), "a socket's path is limited"
    finally:
        shutil.rmtree(made)


def test_of_several_pythons_of_a_version_one_that_was_built_with_a_profile_is_taken(tmp_path: Path) -> None:
    """pyenv builds without one unless it is told to, and stands before the system's on many a PATH."""
    for name, told in (("pyenv", "11 1 slow\\n"), ("system", "11 0 fast\\n"), ("newer", "13 1 newer\\n")):
        (tmp_path / name).mkdir()
        python = tmp_path / name / "python3"
        python.write_text(f"#!/bin/sh\nprintf '{told}'\n")
        python.chmod(stat.S_IRWXU)
    path = ":".join([*(str(tmp_path / name) for name in ("pyenv", "system", "newer")), os.environ["PATH"]])
    functions = (ROOT / "dev").read_text().replace('main "$@"', "")
    script = (
        functions
        + "\nlist_candidates() { printf '%s\\n' "
        + " ".join(str(tmp_path / name / "python3") for name in ("pyenv", "system", "newer"))
        + '; }\nfind_pythons\nprintf \'%s\\n\' "$every_python" -- "$pythons"\n'
    )
    here = tmp_path / "dev"
    here.write_text(script)
    done = subprocess.run(
        ["sh", str(here)], env={"PATH": path, "HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n") == ["11 fast", "11 slow", "13 newer", "--", "11 fast", "13 newer", ""]
