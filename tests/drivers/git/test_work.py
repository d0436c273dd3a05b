"""The fingerprint of an agent's work: what changes it, what does not, and what cannot be told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from phoenixd.core.rules import BreakerRules, LoopRules
from phoenixd.core.spec import AgentSpec
from phoenixd.drivers.git import work_files as git_work_files
from phoenixd.drivers.git.plumbing import PlumbingFailed
from phoenixd.drivers.git.reflog import appended
from phoenixd.drivers.git.work import THREADS, WorkPrints, survey
from phoenixd.drivers.git.work_files import MOST_PLACES, Excluded, WorkUnreadable, exists
from phoenixd.drivers.git.worktrees import MOST_LINKED, linked_worktrees
from phoenixd.errors import NoAnswer
from tests.agents import an_agent
from tests.drivers.git.repositories import IDENTITY, Armed, arm, git, make_repository
from tests.hung_disk import hung_mount

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="not run: git is not installed")

Change = Callable[[Path], object]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    repository = make_repository(tmp_path)
    (repository / "edited.txt").write_text("dirty from before\n")
    (repository / "untracked.txt").write_text("new from before\n")
    return repository


def look(*roots: Path, **details: object) -> str:
    return survey([str(root) for root in roots], **details).fingerprint  # type: ignore[arg-type]


def write(name: str, text: str) -> Change:
    def do(work: Path) -> None:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)

    return do


def run(*arguments: str) -> Change:
    return lambda work: git(work, *arguments)


def both(*changes: Change) -> Change:
    return lambda work: [change(work) for change in changes]


def touch_all(work: Path) -> None:
    for path in work.iterdir():
        if path.name != ".git":
            os.utime(path, (1, 1), follow_symlinks=False)


@pytest.mark.parametrize(
    "do",
    [
        write("kept.txt", "edited\n"),
        write("kept.txt", "KEPT.TXT\n"),
        write("edited.txt", "dirty once more\n"),
        write("untracked.txt", "NEW from before\n"),
        write("another.txt", ""),
        write("below/another.txt", "x"),
        lambda work: (work / "kept.txt").unlink(),
        lambda work: (work / "untracked.txt").rename(work / "renamed.txt"),
        lambda work: ((work / "link").unlink(), (work / "link").symlink_to("gone.txt")),
        run("add", "edited.txt"),
        run("add", "untracked.txt"),
        run("rm", "-q", "--cached", "kept.txt"),
        both(run("init", "-q", "inner"), write("inner/a", "x")),
    ],
    ids=[
        "g11 edit", "same length", "dirt on dirt", "new file rewritten", "g13 new file", "new file below", "delete",
        "rename", "relink", "g12 stage", "stage new", "untrack", "inner repository",
    ],
)  # fmt: skip
def test_g11_to_g14_x8b_what_is_progress(repository: Path, do: Change) -> None:
    """G12, G13: staged content and new untracked files among it."""
    before = look(repository)
    do(repository)

    assert look(repository) != before


@pytest.mark.parametrize(
    "do",
    [
        lambda work: None,
        write("noise.log", "ignored"),
        touch_all,
        lambda work: [path.chmod(0o755) for path in (work / "kept.txt", work / "untracked.txt")],
        run("status"),
        run("gc", "-q"),
        both(write("kept.txt", "edited\n"), write("kept.txt", "kept.txt\n")),
        both(run("stash", "-q", "-u"), run("stash", "pop", "-q")),
        lambda work: (work / ".git" / "index.lock").touch(),
        lambda work: (work / "empty").mkdir(),
        run("commit", "-q", "--amend", "-m", "Other words"),
        run("checkout", "-q", "-b", "other"),
        run("commit", "-q", "--allow-empty", "-m", "Nothing"),
        both(run("init", "-q", "inner"), run("-C", "inner", "commit", "-q", "--allow-empty", "-m", "x")),
    ],
    ids=["f-cb-1 nothing", "g13 ignored", "touch", "chmod", "status", "gc", "edit and revert", "stash and pop",
         "f-cb-6 locked", "empty directory", "amend", "branch", "empty commit", "empty repository"],
)  # fmt: skip
def test_x8b_what_is_no_progress(repository: Path, do: Change) -> None:
    before = look(repository)
    do(repository)

    assert look(repository) == before


def test_f_cb_4_our_own_files_and_excluded_ones_do_not_count(repository: Path, tmp_path: Path) -> None:
    own = Excluded(frozenset({os.fsencode(repository / "state")}), (b"*.tmp", b"cache"))
    before = look(repository, excluded=own)
    for name in ("state/journal.sqlite3", "x.tmp", "cache/deep"):
        write(name, "ours")(repository)

    assert look(repository, excluded=own) == before
    assert look(repository) != before


@pytest.mark.parametrize("is_repository", [True, False])
def test_f_cb_4_e18_what_phoenixd_writes_of_an_orchestrators_session_is_nobodys_work(
    repository: Path, tmp_path: Path, is_repository: bool
) -> None:
    """Its record changes as its context fills; what an agent writes beside it is its work."""
    top = repository
    if not is_repository:
        top = tmp_path / "plain"
        (top / "src").mkdir(parents=True)
    session = ".claude/orchestrators/orchestrator-1"
    before = look(top)
    for name in ("session.json", "handoff-package.json", "handoff-addendum.json", "init-prompt.md"):
        write(f"{session}/{name}", "ours")(top)

    assert look(top) == before
    write(f"{session}/memory/patterns.md", "mind the till")(top)
    assert look(top) != before


def test_a_directory_below_counts_as_the_whole_repository(repository: Path) -> None:
    (repository / "below").mkdir()

    assert look(repository / "below") == look(repository)


def test_f_cb_5_without_a_repository_the_files_count(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    before = look(tmp_path)
    assert before.startswith("files:")
    touch_all(tmp_path)
    assert look(tmp_path) == before

    (tmp_path / "a").write_text("b")

    assert look(tmp_path) != before


def test_f_cb_5_several_repositories_below_a_directory_that_is_none(tmp_path: Path) -> None:
    shops = [tmp_path / "shops" / name for name in ("one", "two")]
    for shop in shops:
        make_repository(shop.parent / shop.name)
    before = look(tmp_path / "shops")
    write("noise.log", "ignored")(shops[0] / "work")
    assert look(tmp_path / "shops") == before

    (shops[1] / "work" / "kept.txt").write_text("only here")

    assert look(tmp_path / "shops") != before


def test_f_cb_5_several_roots_count_together(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    before = look(repository, other)
    assert before.startswith("git+files:")

    (other / "a").write_text("a")

    assert look(repository, other) != before


def test_f_cb_5_work_in_a_submodule_counts(repository: Path, tmp_path: Path) -> None:
    library = make_repository(tmp_path / "library")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor")
    git(repository, "commit", "-q", "-m", "Add a submodule")
    before = look(repository)
    (repository / "vendor" / "kept.txt").write_text("edited there")
    assert look(repository) != before
    earlier = survey([str(repository)]).survey
    git(repository / "vendor", "commit", "-q", "-a", "-m", "There")
    found = survey([str(repository)], since=earlier)

    assert [(deed.kind, deed.where) for deed in found.deeds] == [("commit", str(repository / "vendor"))]


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    before = look(tmp_path)
    (tmp_path / "a").write_text("a")

    assert look(tmp_path) != before


def test_f_cb_7_a_gigabyte_untracked_is_not_read_whole(repository: Path) -> None:
    with (repository / "huge.bin").open("wb") as file:
        file.truncate(1 << 30)
    began = time.process_time()
    before = look(repository)
    cost = time.process_time() - began
    with (repository / "huge.bin").open("r+b") as file:
        file.seek(-10, os.SEEK_END)
        file.write(b"the end")

    assert look(repository) != before
    assert cost < 1, "a gigabyte takes more than a second to hash"


def test_f_cb_7_more_files_than_are_read_count_by_their_size(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_work_files, "MOST_FILES", 10)
    for number in range(30):
        (repository / f"new-{number:02}").write_text("x")
    monkeypatch.setattr("phoenixd.drivers.git.work.Budget", lambda deadline: git_work_files.Budget(deadline, files=10))
    found = survey([str(repository)])

    assert "too much to be read" in found.odd[0]
    (repository / "new-29").write_text("y")
    assert look(repository) == found.fingerprint
    (repository / "new-29").write_text("yy")
    assert look(repository) != found.fingerprint


def test_f_cb_7_a_tree_without_a_repository_is_walked_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        (tmp_path / f"{number:02}").write_text("x")
    monkeypatch.setattr("phoenixd.drivers.git.work.Budget", lambda deadline: git_work_files.Budget(deadline, walked=20))

    assert "too many files" in survey([str(tmp_path)]).odd[0]


def test_a_directory_that_goes_while_its_tree_is_walked_is_no_failure(tmp_path: Path) -> None:
    """A build removes what it made: nothing could be told of the work then."""
    (tmp_path / "a").touch()
    (tmp_path / "b").mkdir()
    found = git_work_files.walk(os.fsencode(tmp_path), git_work_files.Budget(time.monotonic() + 60), Excluded())
    assert next(found) == (os.fsencode(tmp_path / "a"), False)
    (tmp_path / "b").rmdir()
    assert list(found) == []


class Entries:
    """A directory of any number of files, which counts those that it gave, and that somebody holds."""

    def __init__(self, count: int, kind: Callable[[bytes], bytes | str] = bytes) -> None:
        self.count, self.kind = count, kind
        self.given = self.held = self.most = 0

    def __enter__(self) -> Iterator[Entry]:
        return (Entry(self, number) for number in range(self.count))

    def __exit__(self, *_: object) -> None:
        pass


class Entry:
    def __init__(self, entries: Entries, number: int) -> None:
        self._entries = entries
        name = b"%08d" % (entries.count - number)
        self.name, self.path = entries.kind(name), entries.kind(b"/full/" + name)
        entries.given += 1
        entries.held += 1
        entries.most = max(entries.most, entries.held)

    def __del__(self) -> None:
        self._entries.held -= 1

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        return False


def test_of_a_directory_with_any_number_of_files_no_more_are_held_than_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent makes millions of them; which ones are looked at hangs on their names alone."""
    full = Entries(5000)
    monkeypatch.setattr(os, "scandir", lambda place: full)
    budget = git_work_files.Budget(time.monotonic() + 60, walked=20)
    found = [path for path, _ in git_work_files.walk(os.fsencode(tmp_path), budget, Excluded())]
    assert found == [b"/full/%08d" % number for number in range(1, 21)]
    assert full.most < 50
    assert "too many files" in next(iter(budget.notes))


def test_of_any_number_of_worktrees_no_more_are_listed_than_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Entries(5000)
    monkeypatch.setattr(os, "scandir", lambda place: full)
    assert list(linked_worktrees(b"/none")) == []
    assert full.given == MOST_LINKED


def test_files_that_match_a_pattern_are_held_no_more_of_than_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Entries(5000, os.fsdecode)
    monkeypatch.setattr(os, "scandir", lambda place: full)
    assert exists("/full", "*")
    assert full.given == MOST_PLACES


async def test_looks_for_files_on_a_mount_that_never_answers_keep_no_other_agents_from_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each held a thread of the few, so that nothing could be told of anybody's work."""
    monkeypatch.setattr("phoenixd.drivers.git.work.FILE_PATIENCE", 3.0)
    (tmp_path / "plan.md").touch()
    work = WorkPrints()
    with hung_mount(tmp_path / "hung") as hung:
        async with anyio.create_task_group() as tasks:
            for number in range(2 * THREADS):
                tasks.start_soon(refused, work, str(hung / str(number)))
            with anyio.fail_after(60):
                assert await work.exists(str(tmp_path), "plan.md")


async def refused(work: WorkPrints, directory: str) -> None:
    with pytest.raises(NoAnswer):
        await work.exists(directory, "plan.md")


def test_nothing_outside_is_read_through_links_and_no_fifo_is_waited_for(repository: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("a")
    (repository / "way-out").symlink_to(outside)
    os.mkfifo(repository / "fifo")
    os.unlink(repository / "kept.txt")
    os.mkfifo(repository / "kept.txt")
    before = look(repository)

    (outside / "secret").write_text("b")

    assert look(repository) == before


def test_a_tree_with_links_in_a_circle_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").symlink_to(tmp_path)

    assert look(tmp_path)


def make_everything(work: Path) -> None:
    """Commits of every kind, a stash and a push, in a repository that runs something at each of them."""
    git(work.parent, "init", "-q", "--bare", "remote.git")
    # Its hooks would refuse each of them.
    off = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": "/dev/null"}
    unarmed = {**os.environ, **IDENTITY, **off}
    for script in (
        "git checkout -q -b side; echo a > a.txt; git add a.txt; git commit -q -m a",
        "git checkout -q main; echo b > b.txt; git add b.txt; git commit -q -m b; git merge -q --no-edit side",
        "git checkout -q -b other HEAD^; echo c > c.txt; git add c.txt; git commit -q -m c; git cherry-pick side",
        "git remote add origin ../remote.git; git push -q origin other; echo d > a.txt; git stash -q",
    ):
        subprocess.run(["sh", "-c", script], cwd=work, env=unarmed, capture_output=True, check=True)


def test_nothing_of_an_armed_repository_runs(repository: Path, tmp_path: Path) -> None:
    armed: Armed = arm(repository, tmp_path)
    inner = make_repository(repository / "inner")
    arm_inner = arm(inner, tmp_path / "inner-arms") if (tmp_path / "inner-arms").mkdir() is None else armed
    before = look(armed.work)
    assert (armed.fired(), arm_inner.fired()) == (set(), set())

    (armed.work / "edited.txt").write_text("edited.TxT\n")
    assert look(armed.work) != before
    assert (armed.fired(), arm_inner.fired()) == (set(), set())
    earlier = survey([str(armed.work)]).survey
    make_everything(armed.work)
    for trace in (*armed.traces.iterdir(), *arm_inner.traces.iterdir()):
        trace.unlink()
    found = survey([str(armed.work)], since=earlier)
    assert {deed.kind for deed in found.deeds} == {"commit", "stash", "push"}
    assert (armed.fired(), arm_inner.fired()) == (set(), set())
    git(armed.work, "status", check=False)
    assert "fsmonitor" in armed.fired(), "the trap does not bite"


def test_f_cb_6_a_git_that_hangs_is_unknown_in_time(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexec sleep 600\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")

    with pytest.raises(PlumbingFailed, match="in time"):
        look(repository, time_limit=0.3)


def test_a_directory_that_is_gone_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(WorkUnreadable, match="no directory"):
        look(tmp_path / "none")


def test_a_repository_that_loses_its_git_directory_is_another_kind_of_thing(repository: Path) -> None:
    before = look(repository)
    shutil.rmtree(repository / ".git")

    assert (before.partition(":")[0], look(repository).partition(":")[0]) == ("git", "files")


def test_a_broken_repository_is_unknown(repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(b"DIRC nonsense")

    with pytest.raises(PlumbingFailed):
        look(repository)


async def test_tokens_are_asked_for_only_where_a_ceiling_is(repository: Path) -> None:
    async def tokens(agent: object) -> int:
        return 1234

    spec = AgentSpec("a", ("true",), str(repository))
    without = await WorkPrints(tokens=tokens).measure(an_agent(spec=spec))
    limited = replace(spec, breaker=BreakerRules(token_ceiling=1000))
    with_ceiling = await WorkPrints(tokens=tokens).measure(an_agent(spec=limited))

    assert (without.tokens, with_ceiling.tokens) == (0, 1234)


async def test_measure_tells_what_it_found_and_whether_the_work_is_done(repository: Path, tmp_path: Path) -> None:
    spec = AgentSpec("a", ("true",), str(repository), loop=LoopRules(done_file="docs/DONE*"))
    agent = an_agent(spec=replace(spec, breaker=BreakerRules(exclude=("*.tmp",))))
    work = WorkPrints([repository / "state"])
    first = await work.measure(agent)
    assert (first.fingerprint, first.done) == (look(repository), False)
    for name in ("state/ours", "x.tmp"):
        write(name, "x")(repository)
    assert (await work.measure(agent)).fingerprint == first.fingerprint
    write("docs/DONE-today", "x")(repository)
    assert (await work.measure(agent)).done

    shutil.rmtree(repository)

    gone = await work.measure(agent)
    assert gone.fingerprint is None
    assert "no directory" in gone.note


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("a/b.txt", True), ("a/*.txt", True), ("*/b.???", True), ("a", True), ("a/c*", False), ("../x", False)],
)
def test_exists(tmp_path: Path, pattern: str, found: bool) -> None:
    (tmp_path / "inside" / "a").mkdir(parents=True)
    (tmp_path / "inside" / "a" / "b.txt").touch()
    (tmp_path / "x").touch()

    assert exists(str(tmp_path / "inside"), pattern) == found


def test_a_worktree_is_a_work_of_its_own(repository: Path, tmp_path: Path) -> None:
    """Two agents of one repository are told apart by their worktrees."""
    subprocess.run(["git", "worktree", "add", "-q", "-b", "side", str(tmp_path / "side")], cwd=repository, check=True)
    before = look(repository)
    (tmp_path / "side" / "kept.txt").write_text("there")
    git(tmp_path / "side", "commit", "-q", "-a", "-m", "There")

    assert look(repository) == before


def with_a_worktree_nowhere(work: Path) -> None:
    linked = work / ".git/worktrees/x"
    linked.mkdir(parents=True)
    (linked / "gitdir").write_bytes(b"/a\0b/.git\n")
    (linked / "commondir").write_text("../..")


def with_a_linked_reflog(work: Path) -> None:
    log = work / ".git/logs/HEAD"
    log.rename(work / ".git/moved")
    log.symlink_to(work / ".git/moved")


def with_a_directory_for_a_reflog(work: Path) -> None:
    log = work / ".git/logs/HEAD"
    log.unlink()
    log.mkdir()


@pytest.mark.parametrize("change", [with_a_worktree_nowhere, with_a_linked_reflog, with_a_directory_for_a_reflog])
def test_x8b_what_an_agent_puts_in_the_place_of_gits_small_files_ends_no_look(repository: Path, change: Change) -> None:
    before = survey([str(repository)])
    change(repository)
    after = survey([str(repository)], since=before.survey)

    assert (after.fingerprint, after.deeds) == (before.fingerprint, ())


def test_x8b_a_fault_of_the_disk_is_an_unknown_look_that_names_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pread", broken)
    found = WorkPrints().read(an_agent(spec=AgentSpec("a", ("true",), str(repository))))

    assert (found.fingerprint, found.note) == (None, "the work could not be read: Input/output error")


def test_promise_7_the_name_of_a_worktree_is_no_option_of_a_command(repository: Path, tmp_path: Path) -> None:
    """git has an option by which it writes a file, and an agent names the worktree that it makes."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    git(repository, "config", "core.logAllRefUpdates", "false")
    shutil.rmtree(repository / ".git" / "logs")
    git(repository, "branch", "side")
    before = survey([str(repository)])
    linked = repository / ".git" / "worktrees" / "w"
    linked.mkdir(parents=True)
    (linked / "HEAD").write_text("ref: refs/heads/side\n")
    (linked / "commondir").write_text("../..\n")
    (linked / "gitdir").write_text(f"{tmp_path}/x\n--output={victim}/.git\n")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Second")

    after = survey([str(repository)], since=before.survey)

    assert victim.read_text() == "precious"
    assert [place.heads for place in after.survey.places] != [place.heads for place in before.survey.places]


def test_heads_are_known_without_reflogs_also_beside_a_worktree_of_an_odd_name(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "config", "core.logAllRefUpdates", "false")
    shutil.rmtree(repository / ".git" / "logs")
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "odd\nname"))
    git(repository, "branch", "other")
    before = survey([str(repository)])
    write("new.txt", "new\n")(repository)
    git(repository, "add", "new.txt")
    git(repository, "commit", "-q", "-m", "Second")

    after = survey([str(repository)], since=before.survey)

    assert [deed.kind for deed in after.deeds] == ["commit"]


def test_x8b_a_repository_with_a_line_break_in_its_path_ends_no_look(repository: Path) -> None:
    before = survey([str(repository)])
    make_repository(repository / "a\nb")

    after = survey([str(repository)])

    assert after.fingerprint != before.fingerprint
    assert after.odd == ("a repository with a line break in its path was not looked at",)
    with pytest.raises(PlumbingFailed, match="line break"):
        survey([str(repository / "a\nb" / "work")])


def test_promise_7_reflogs_of_one_long_line_hold_up_nobody(repository: Path) -> None:
    """Matching holds the interpreter, and with it the daemon, whatever thread it is in."""
    before = survey([str(repository)])
    heads = repository / ".git" / "logs" / "refs" / "heads"
    for number in range(60):
        (heads / f"b{number}").write_bytes((b"a" * 40 + b" ") * 3100 + b"\n")
    git(repository, "commit", "-q", "--allow-empty", "-m", "Second")
    program = (
        "import sys; from phoenixd.core.work import Survey; from phoenixd.drivers.git.work import survey; "
        "print(survey([sys.argv[1]], since=Survey(float(sys.argv[2]), '', ())).fingerprint)"
    )

    asked = [sys.executable, "-c", program, str(repository), str(before.survey.at)]
    told = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout

    assert told.startswith("git:")


@pytest.mark.parametrize("name", ["A U Thor <a@example.org>", "A > B <a@example.org>", "<>", "A\xff <a>"])
def test_a_line_of_a_reflog_is_read_whoever_made_the_move(tmp_path: Path, name: str) -> None:
    log = tmp_path / "HEAD"
    old, new = "a" * 40, "b" * 64
    log.write_bytes(f"{old} {new} {name} 1795000000 +0100\tcommit: more\n{old} {new} torn".encode("latin-1"))

    (move,) = appended(os.fsencode(log), "", 0.0).moves

    assert (move.old, move.new, move.at, move.message) == (old, new, 1795000000, b"commit: more")


async def test_whether_an_agent_could_work_in_a_directory(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    work = WorkPrints(())
    found = [await work.can_enter(str(place)) for place in (tmp_path, file, tmp_path / "missing", file / "below")]
    assert found == [True, False, False, False]
