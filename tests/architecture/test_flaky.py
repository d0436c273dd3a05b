"""`./dev test --flaky`: it repeats what a change touches, on busy cores, and names what failed with how often."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flaky import BURN, changed_tests, imported, repeat, told
from tests.waiting import eventually_sync


class Repository:
    """A branch that left main, with tests."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q", "-b", "main")
        self.writes("tests/core/test_old.py", "")
        self.writes("tests/core/story.py", "")
        self.writes("tests/core/test_story.py", "from tests.core import (\n    other,\n    story,\n)\n")
        self.commits()

    def writes(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commits(self) -> None:
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--no-gpg-sign", "-m", "change")

    def git(self, *words: str) -> None:
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        subprocess.run(["git", "-C", str(self.root), *words], check=True, env=environment, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_branch_is_compared_with_where_it_left_main(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "branch")
    repository.writes("tests/core/test_first.py", "")
    repository.commits()
    repository.writes("tests/core/test_second.py", "")
    repository.commits()
    repository.writes("tests/core/test_not_added.py", "")

    assert changed_tests(repository.root) == [
        "tests/core/test_first.py",
        "tests/core/test_not_added.py",
        "tests/core/test_second.py",
    ]


def test_on_main_the_last_commit_counts(repository: Repository) -> None:
    repository.writes("tests/core/test_new.py", "")
    repository.commits()

    assert changed_tests(repository.root) == ["tests/core/test_new.py"]


def test_on_main_what_is_not_committed_counts_alone(repository: Repository) -> None:
    repository.writes("tests/core/test_new.py", "")
    repository.commits()
    repository.writes("tests/core/test_old.py", "changed = True\n")

    assert changed_tests(repository.root) == ["tests/core/test_old.py"]


def test_a_changed_module_of_the_tests_counts_for_those_that_import_it(repository: Repository) -> None:
    repository.writes("tests/core/story.py", "changed = True\n")

    assert changed_tests(repository.root) == ["tests/core/test_story.py"]


def test_a_file_that_is_gone_is_not_repeated(repository: Repository) -> None:
    (repository.root / "tests/core/test_old.py").unlink()

    assert changed_tests(repository.root) == []


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("import tests.waiting", "tests.waiting"),
        ("from tests import agents, waiting", "tests.waiting"),
        ("from tests.waiting import until", "tests.waiting"),
        ("from tests.core.story import (\n    A,\n    B,\n)", "tests.core.story"),
    ],
)
def test_every_way_to_import_is_known(line: str, module: str) -> None:
    assert module in imported(f"import os\n{line}\n")


FAILS_ONCE = """
import os
from pathlib import Path

def test_fails_once():
    try:
        os.close(os.open(Path(__file__).with_name("seen"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    assert False

def test_passes():
    pass
"""


def test_a_test_that_fails_sometimes_is_named_with_how_often(tmp_path: Path) -> None:
    counted = tmp_path / "test_counted.py"
    counted.write_text(FAILS_ONCE)

    failed = repeat(3, [str(counted)])

    assert list(failed.values()) == [1]
    assert told(failed, 3).startswith("1 of 3  ")
    assert told(failed, 3).endswith("test_counted::test_fails_once")


def test_a_path_that_holds_no_test_is_no_success(tmp_path: Path) -> None:
    assert repeat(1, [str(tmp_path)]).total() == 1


STARTS = """
import os, subprocess, sys
print(subprocess.Popen([sys.executable, "-c", sys.argv[1], str(os.getpid())]).pid, flush=True)
sys.stdin.read()
"""


def test_what_keeps_a_core_busy_ends_with_the_process_that_started_it() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", STARTS, BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    assert parent.stdin is not None
    burner = int(parent.stdout.readline())

    parent.kill()
    parent.wait()
    parent.stdin.close()
    parent.stdout.close()

    eventually_sync(lambda: not runs(burner), timeout=60)


def runs(pid: int) -> bool:
    """A process that nobody reaped has ended all the same."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
