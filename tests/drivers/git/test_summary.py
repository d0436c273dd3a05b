"""The summary of a repository, taken from ones that are armed to run something at every turn."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import anyio.to_thread
import pytest

from phoenixd.drivers.git import plumbing as git_plumbing
from phoenixd.drivers.git.plumbing import Plumbing, PlumbingFailed
from phoenixd.drivers.git.summary import GitSummaries, summarise
from tests.drivers.git.repositories import Armed, arm, git, make_repository
from tests.hung_disk import hung_mount
from tests.waiting import eventually_sync

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="not run: git is not installed")


def has_ended(pid: int) -> bool:
    """Gone, or waiting for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path)


def test_branch_commits_and_counts(repository: Path) -> None:
    for number in range(3):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"Commit {number}")
    (repository / "edited.txt").write_text("another length\n")
    (repository / "gone.txt").unlink()
    (repository / "new.txt").write_text("new")
    (repository / "directory").mkdir()
    (repository / "directory" / "deep.txt").write_text("deep")
    (repository / "noise.log").write_text("ignored")

    summary = summarise(str(repository))

    assert summary is not None
    assert summary.problem is None
    assert summary.branch == "main"
    assert [commit.subject for commit in summary.commits] == ["Commit 2", "Commit 1", "Commit 0"]
    assert (summary.changed, summary.untracked) == (2, 2)


def test_a_merge_under_way_is_told_with_the_time_at_which_git_began_it(repository: Path) -> None:
    def begin() -> tuple[str, float | None]:
        git(repository, "merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "other")
        found = summarise(str(repository))
        assert found is not None
        return found.operation, found.operation_at

    git(repository, "checkout", "-q", "-b", "other")
    git(repository, "commit", "-q", "--allow-empty", "-m", "other")
    git(repository, "checkout", "-q", "main")
    before = int(time.time())

    name, at = begin()
    os.utime(repository / ".git" / "MERGE_HEAD", (before - 3600, before - 3600))
    older = summarise(str(repository))
    git(repository, "merge", "--abort")
    again, later = begin()

    assert (name, again) == ("merge", "merge")
    assert at is not None
    assert later is not None
    assert before <= at <= later <= time.time()
    assert older is not None
    assert older.operation_at == before - 3600


def stage(work: Path) -> None:
    (work / "kept.txt").write_text("staged\n")
    git(work, "add", "kept.txt")


def rewrite_with_the_same_length(work: Path) -> None:
    (work / "kept.txt").write_text("KEPT.TXT\n")


def touch(work: Path) -> None:
    os.utime(work / "kept.txt", (1, 1))


def relink(work: Path) -> None:
    (work / "link").unlink()
    (work / "link").symlink_to("gone.txt")


def replace_by_a_fifo(work: Path) -> None:
    (work / "kept.txt").unlink()
    os.mkfifo(work / "kept.txt")


@pytest.mark.parametrize(
    ("do", "changed"),
    [
        (lambda work: None, 0),
        (stage, 1),
        (rewrite_with_the_same_length, 1),
        (touch, 0),
        (relink, 1),
        (replace_by_a_fifo, 1),
        (lambda work: git(work, "rm", "-q", "--cached", "kept.txt"), 1),
        (lambda work: git(work, "update-index", "--skip-worktree", "gone.txt") or (work / "gone.txt").unlink(), 0),
    ],
    ids=["nothing", "stage", "same length", "touch", "relink", "fifo", "untrack", "skip-worktree"],
)
def test_what_counts_as_changed(repository: Path, do: Callable[[Path], object], changed: int) -> None:
    do(repository)

    summary = summarise(str(repository))

    assert summary is not None
    assert (summary.problem, summary.changed) == (None, changed)


def test_a_directory_below_tells_the_whole_repository(repository: Path) -> None:
    (repository / "below").mkdir()
    (repository / "edited.txt").write_text("x")

    summary = summarise(str(repository / "below"))

    assert summary is not None
    assert (summary.branch, summary.changed) == ("main", 1)


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")

    summary = summarise(str(tmp_path))

    assert summary is not None
    assert (summary.branch, summary.commits, summary.changed, summary.problem) == ("trunk", (), 1, None)


def test_a_detached_head_has_no_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")

    summary = summarise(str(repository))

    assert summary is not None
    assert summary.branch is None
    assert len(summary.commits) == 1


def test_a_line_break_in_the_path_of_a_repository_is_a_problem(tmp_path: Path) -> None:
    summary = summarise(str(make_repository(tmp_path / "a\nb")))

    assert summary is not None
    assert "line break" in (summary.problem or "")


async def test_no_repository_is_none_and_no_directory_a_problem(tmp_path: Path) -> None:
    git = GitSummaries()
    assert await git.of(str(tmp_path)) is None
    missing = await git.of(str(tmp_path / "none"))
    assert missing is not None
    assert "no directory" in (missing.problem or "")


@pytest.mark.parametrize("name", ["not a git repository", "dubious ownership", "must be run in a work tree"])
def test_what_git_says_of_a_place_is_not_read_out_of_the_name_that_an_agent_gave_it(tmp_path: Path, name: str) -> None:
    plumbing = Plumbing(str(tmp_path / name / "none"), time.monotonic() + 10)

    with pytest.raises(PlumbingFailed, match="cannot change to") as failed:
        plumbing.output("rev-parse", "--show-toplevel")

    assert not failed.value.no_repository
    assert not failed.value.bare


def test_git_variables_of_the_daemon_itself_do_not_lead_elsewhere(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_WORK_TREE", "/")

    summary = summarise(str(repository))

    assert summary is not None
    assert summary.problem is None
    assert len(summary.commits) == 1


@pytest.mark.skipif(os.getuid() != 0, reason="not run: only root can make a repository of somebody else")
def test_a_repository_of_another_user_is_a_problem_with_a_remedy(repository: Path) -> None:
    for path in (repository, *repository.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)

    summary = summarise(str(repository))

    assert summary is not None
    assert "belongs to another user" in (summary.problem or "")
    assert "run the daemon as its owner" in (summary.problem or "")


@pytest.fixture
def armed(repository: Path, tmp_path: Path) -> Armed:
    return arm(repository, tmp_path)


def test_the_arms_bite(armed: Armed) -> None:
    """Without this the next test would prove nothing."""
    git(armed.work, "status", "--porcelain", check=False)
    git(armed.work, "diff", check=False)
    git(armed.work, "ls-files", "--modified", check=False)
    git(armed.work, "lf", check=False)

    assert {"fsmonitor", "clean", "diff-command", "alias-lf", "hook-post-index-change"} <= armed.fired()


def test_nothing_of_an_armed_repository_runs(armed: Armed) -> None:
    summary = summarise(str(armed.work))

    assert armed.fired() == set()
    assert summary is not None
    assert (summary.problem, summary.branch, summary.changed, summary.untracked) == (None, "main", 1, 1)
    assert summary.commits[0].subject == "Arm it"


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin"])
def test_promise_7_no_program_of_the_repository_is_taken_for_git(
    armed: Armed, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """Many have ./node_modules/.bin on their PATH, or an empty entry, which means the working directory."""
    monkeypatch.setenv("PATH", f"{entry}{os.pathsep}{os.environ['PATH']}")
    (armed.work / "bin").mkdir()
    for place in (armed.work / "git", armed.work / "bin" / "git"):
        shutil.copy(armed.program("git"), place)

    summary = summarise(str(armed.work))

    assert armed.fired() == set()
    assert summary is not None
    assert summary.problem is None


def test_a_missing_object_is_not_fetched_by_a_program_of_the_repository(armed: Armed) -> None:
    """A partial clone's remote may be `ext::PROGRAM`, and a protocol of its own allows it."""
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{armed.program('transport')}",
        "remote.origin.uploadpack": armed.program("uploadpack"),
        "protocol.ext.allow": "always",
        "protocol.allow": "always",
    }.items():
        armed.configure(key, value)
    tree = git(armed.work, "rev-parse", "HEAD^{tree}").strip()
    (armed.work / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    git(armed.work, "cat-file", "-p", tree, check=False)
    assert "transport" in armed.fired(), "the trap does not bite"
    (armed.traces / "transport").unlink()

    summary = summarise(str(armed.work))

    assert armed.fired() & {"transport", "uploadpack"} == set()
    assert summary is not None
    assert "ls-tree failed" in (summary.problem or "")
    assert summary.branch == "main"


def test_a_git_that_hangs_is_killed_with_all_that_it_started(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = tmp_path / "pids"
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\nsleep 600 &\necho $$ $! > '{pids}'\nwait\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")

    summary = summarise(str(repository), time_limit=1.0)

    assert summary is not None
    assert "in time" in (summary.problem or "")
    for pid in map(int, pids.read_text().split()):
        eventually_sync(lambda pid=pid: has_ended(pid), what=f"{pid} ends")


def test_output_without_end_is_cut_off(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!{sys.executable}\nimport sys\nwhile True: sys.stdout.write('x' * 65536)\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(git_plumbing, "OUTPUT_LIMIT", 1 << 20)

    summary = summarise(str(repository), time_limit=60)

    assert summary is not None
    assert "more files than" in (summary.problem or "")


def link_a_ref_to_zeros(repository: Path) -> None:
    ref = repository / ".git" / "refs" / "heads" / "main"
    ref.unlink()
    ref.symlink_to("/dev/zero")


def commit_what_unpacks_to_gigabytes(repository: Path) -> None:
    size, packing = 2 << 30, zlib.compressobj(1)
    block = b"a" * (1 << 24)
    packed = [packing.compress(b"commit %d\0" % size)]
    once = packing.compress(block) + packing.flush(zlib.Z_FULL_FLUSH)
    again = packing.compress(block) + packing.flush(zlib.Z_FULL_FLUSH)
    # What follows a full flush stands for itself, so one block is as good as the next. The end is never reached.
    packed += [once, again * (size // len(block) - 1)]
    name = "5" * 40
    (repository / ".git" / "objects" / name[:2]).mkdir(exist_ok=True)
    (repository / ".git" / "objects" / name[:2] / name[2:]).write_bytes(b"".join(packed))
    (repository / ".git" / "refs" / "heads" / "main").write_text(f"{name}\n")


@pytest.mark.parametrize("plant", [link_a_ref_to_zeros, commit_what_unpacks_to_gigabytes])
def test_promise_7_no_repository_fills_the_memory_through_git(
    repository: Path, plant: Callable[[Path], object]
) -> None:
    plant(repository)
    program = (
        "import resource, sys; from phoenixd.drivers.git import plumbing; plumbing.MEMORY_LIMIT = 100 << 20; "
        "from phoenixd.drivers.git.summary import summarise; print(summarise(sys.argv[1], 20.0).problem); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )

    told = subprocess.run(
        [sys.executable, "-c", program, str(repository)], capture_output=True, text=True, check=True, timeout=120
    ).stdout.splitlines()

    assert "failed: fatal: " in told[0]
    assert int(told[1]) < 200 << 10


def test_commits_that_were_made_in_this_working_tree_are_told_with_their_time(repository: Path, tmp_path: Path) -> None:
    """What was fetched, pulled or amended away is no work of a session here."""
    other = tmp_path / "other"
    git(repository, "clone", "-q", str(repository), str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "from elsewhere")
    before = time.time()
    git(repository, "commit", "-q", "--allow-empty", "-m", "wrong")
    git(repository, "commit", "-q", "--allow-empty", "--amend", "-m", "修复登录")
    git(repository, "fetch", "-q", str(other), "main")
    git(repository, "reset", "-q", "--hard", "FETCH_HEAD")
    pulled = summarise(str(repository))
    git(repository, "reset", "-q", "--hard", "ORIG_HEAD")
    summary = summarise(str(repository))

    assert pulled is not None
    assert "from elsewhere" not in [one.subject for one in pulled.made]
    assert summary is not None
    assert summary.made[0].subject == "修复登录"
    assert int(before) <= summary.made[0].at <= time.time()
    assert "wrong" not in [one.subject for one in summary.made]


@pytest.mark.parametrize("at", ["999999999999", "253402300800", "-1"])
def test_a_commit_with_a_date_that_no_calendar_has_is_passed_over(repository: Path, at: str) -> None:
    log = repository / ".git" / "logs" / "HEAD"
    head = git(repository, "rev-parse", "HEAD").strip()
    log.write_text(f"{'0' * 40} {head} A <a@b> {at} +0000\tcommit: x\n")

    summary = summarise(str(repository))

    assert summary is not None
    assert (summary.made, summary.problem) == ((), None)


def test_many_commits_are_told_up_to_a_bound(repository: Path) -> None:
    log = repository / ".git" / "logs" / "HEAD"
    head = git(repository, "rev-parse", "HEAD").strip()
    line = f"{'0' * 40} {head} A <a@b> 1700000000 +0000\tcommit: x\n"
    log.write_text(line * 20_000)

    summary = summarise(str(repository))

    assert summary is not None
    assert len(summary.made) == 1


def test_a_reflog_that_is_a_link_or_a_pipe_is_none(repository: Path) -> None:
    log = repository / ".git" / "logs" / "HEAD"
    for make in (lambda: log.symlink_to("/etc/passwd"), lambda: os.mkfifo(log)):
        log.unlink()
        make()
        summary = summarise(str(repository))
        assert summary is not None
        assert summary.made == ()


TICKING = (
    "import sys, threading, time\n"
    "from phoenixd.drivers.git.plumbing import Plumbing, PlumbingFailed\n"
    "ticks, over = [], threading.Event()\n"
    "def tick():\n"
    "    while not over.wait(0.05): ticks.append(1)\n"
    "threading.Thread(target=tick, daemon=True).start()\n"
    "try: Plumbing(sys.argv[1], time.monotonic() + 2.0).output('rev-parse', '--show-toplevel')\n"
    "except PlumbingFailed as failed: print(failed)\n"
    "print(len(ticks))\n"
)


def test_git_in_a_directory_that_never_answers_holds_up_no_thread_and_is_given_up(tmp_path: Path) -> None:
    """Where a disk dies between two questions, a process that has to enter the directory stops the whole daemon."""
    with hung_mount(tmp_path / "dead") as dead:
        asked = subprocess.Popen([sys.executable, "-c", TICKING, str(dead)], stdout=subprocess.PIPE, text=True)
        try:
            told = asked.communicate(timeout=60)[0].splitlines()
        finally:
            asked.kill()
    assert told[0] == "git did not answer in time"
    assert int(told[1]) > 0


async def test_a_repository_on_a_mount_that_never_answers_is_a_problem_and_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each brief of each agent there took a thread of the daemon's for good, until none was left for anything."""
    monkeypatch.setattr("phoenixd.drivers.git.summary.SLACK", 0.5)
    git = GitSummaries()
    with hung_mount(tmp_path / "dead") as dead:
        for _ in range(2):
            found = await git.of(str(dead), 0.5)
            assert found is not None
            assert found.problem is not None
            assert "answer" in found.problem
        assert anyio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
