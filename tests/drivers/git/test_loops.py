"""Loops as they are found in the field, each a script in a real repository: which of them the breaker opens on."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core import breaker as breakers
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff, Stopped
from phoenixd.core.rules import BreakerRules
from phoenixd.core.spec import AgentSpec, Kind
from tests.agents import an_agent
from tests.drivers.git.loops import Loop, Town, sh
from tests.drivers.git.repositories import git

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="not run: git is not installed"),
    pytest.mark.slow,  # Hundreds of gits, which are the same for every user.
]

NOTES = BreakerRules(notes=("PROGRESS.md", "*.log2"), notes_stop=4, warn=1, stop=3)


SHORT = BreakerRules(warn=1, stop=3)
"""The same rule in fewer iterations, for a real git takes its time."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Town:
    return Town.built(tmp_path_factory.mktemp("town"))


@pytest.fixture
def town(built: Town, tmp_path: Path) -> Town:
    town = built.copied(tmp_path)
    (town.work / "edited.txt").write_text("dirty from before\n")
    (town.work / "untracked.txt").write_text("new from before\n")
    return town


BUSY = {
    "a branch and a commit, back on main": (
        "git checkout -q -b b$n; echo $n > kept.txt; git commit -qm $n kept.txt; git checkout -q main"
    ),
    "a branch, pushed and deleted": (
        "git checkout -q -b b$n; echo $n > kept.txt; git commit -qm $n kept.txt; git push -q origin b$n;"
        " git checkout -q main; git branch -qD b$n"
    ),
    "a commit": "echo $n > kept.txt; git commit -qm $n kept.txt",
    "an amendment": "echo $n > kept.txt; git commit -q --amend -m same kept.txt",
    "a commit and a push": "echo $n > kept.txt; git commit -qm $n kept.txt; git push -q origin HEAD:refs/heads/b",
    "a detached commit": "git checkout -q --detach main; echo $n > kept.txt; git commit -qm $n kept.txt",
    "a commit that is left behind": "echo $n > kept.txt; git commit -qm $n kept.txt; git reset -q --keep HEAD^",
    "an edit": "echo $n > kept.txt",
    "a new file": "echo $n > new-$n.txt",
    "a staged edit": "echo $n > kept.txt; git add kept.txt",
    "a deletion": "echo $n > new-$n.txt; rm -f new-$((n - 2)).txt",
    "a stash": "echo $n > kept.txt; git stash push -q kept.txt",
    "a merge of its own branch": (
        "git checkout -q -b b$n; echo $n > new-$n.txt; git add new-$n.txt; git commit -qm $n; git checkout -q main;"
        " git merge -q --no-ff -m merged b$n"
    ),
    "a rebase on the neighbour's, with a commit": (
        "echo $n > kept.txt; git commit -qm $n kept.txt; git stash -q; git pull -q --rebase; git stash pop -q"
    ),
    "a worktree of its own, kept": (
        "[ -d ../side ] || git worktree add -q -b side ../side; cd ../side; echo $n > kept.txt; git commit -qam $n"
    ),
    "a worktree for each iteration": (
        "git worktree add -q -b b$n ../side-$n; cd ../side-$n; echo $n > kept.txt; git commit -qam $n"
    ),
    "a worktree below": (
        "git worktree add -q -b b$n .worktrees/$n; cd .worktrees/$n; echo $n > kept.txt; git commit -qam $n"
    ),
    "a worktree, edited only": "[ -d ../side ] || git worktree add -q -b side ../side; echo $n > ../side/kept.txt",
    "a worktree that is gone again": (
        "git worktree add -q -b b$n ../side; cd ../side; echo $n > kept.txt; git commit -qam $n; cd ../work;"
        " git worktree remove ../side"
    ),
    "plumbing alone": (
        "blob=$(echo $n | git hash-object -w --stdin); tree=$(printf '100644 blob %s\\tf\\n' $blob | git mktree);"
        " git update-ref HEAD $(git commit-tree -p HEAD -m $n $tree)"
    ),
    "a clone within, with commits": (
        "[ -d inner ] || git clone -q ../remote.git inner; cd inner; echo $n > kept.txt; git commit -qam $n"
    ),
    "a squash": (
        "git checkout -q -b b$n; echo $n > kept.txt; git commit -qm $n kept.txt; git checkout -q main;"
        " git merge -q --squash b$n; git commit -qm squashed"
    ),
    "a commit of another time": (
        "echo $n > kept.txt; GIT_COMMITTER_DATE=2001-01-01T00:00:00Z git commit -qm $n kept.txt; git reset -q --keep @^"
    ),
    "renames": "git mv $(ls | grep '^r\\?[0-9]*kept.txt$' | head -1) r${n}kept.txt; git commit -qm $n",
}


@pytest.mark.parametrize("script", BUSY.values(), ids=BUSY)
def test_x8b_a_loop_that_works_never_opens_it(town: Town, script: str) -> None:
    loop = Loop(town.work, SHORT)

    assert loop.opens_after(script, 3, town.publish) is None
    assert loop.breaker.tally.no_progress == 0, loop.why


IDLE = {
    "nothing": "true",
    "empty commits": "git commit -q --allow-empty -m $n",
    "empty commits, pushed": "git commit -q --allow-empty -m $n; git push -q origin HEAD:refs/heads/idle",
    "other words for a commit": "git commit -q --amend -m $n",
    "a fetch": "git fetch -q",
    "a fetch and a branch": "git fetch -q; git checkout -q -b b$n origin/main; git checkout -q main",
    "a pull": "git pull -q",
    "a pull by a reset": "git fetch -q; git stash -q; git reset -q --hard origin/main; git stash pop -q",
    "a rebase": "git stash -q; git fetch -q; git rebase -q origin/main; git stash pop -q",
    "branches": "git checkout -q -b b$n; git checkout -q main",
    "tags": "git tag t$n",
    "garbage": "git gc -q --prune=now",
    "an edit and its revert": "echo $n > kept.txt; git checkout -q kept.txt",
    "a stash and its end": "git stash -q -u; git stash pop -q",
    "touches": "touch *; chmod +x kept.txt; chmod -x kept.txt",
    "the same commit once more": "git reset -q --soft HEAD; git commit -q --allow-empty -m same",
    "ignored files": "echo $n > noise.log",
    "a checkout of the upstream": "git fetch -q; git stash -q; git checkout -q -B b origin/main; git stash pop -q",
    "a clone made anew": "rm -rf inner; git clone -q ../remote.git inner",
    "a worktree made anew": "git fetch -q; git worktree remove ../s || true; git worktree add -q ../s origin/main",
    "an empty branch, merged": (
        "git checkout -q -b b$n; git commit -q --allow-empty -m x; git checkout -q main; git merge -q --no-ff -m m b$n"
    ),
    "a push of what is known": "git push -q origin HEAD:refs/heads/b$n",
}  # fmt: skip


@pytest.mark.parametrize("script", IDLE.values(), ids=IDLE)
def test_x8b_a_loop_that_does_nothing_opens_it(town: Town, script: str) -> None:
    loop = Loop(town.work, SHORT)

    assert loop.opens_after(script, 4, town.publish) == 3, loop.why


OWN_COMMIT_FIRST = {
    "a pull that merges": "git -c pull.rebase=false pull -q --no-edit",
    "a pull that rebases": "git pull -q --rebase --autostash",
    "a rebase of what it has": "git fetch -q; git rebase -q --autostash origin/main",
    "a merge of the upstream": "git fetch -q; git merge -q --no-edit origin/main",
}


@pytest.mark.parametrize("script", OWN_COMMIT_FIRST.values(), ids=OWN_COMMIT_FIRST)
def test_x8b_taking_in_what_others_published_is_no_work_though_it_makes_commits(town: Town, script: str) -> None:
    sh(town.work, "git checkout -q edited.txt; echo mine > mine.txt; git add mine.txt; git commit -qm mine")
    loop = Loop(town.work, SHORT)

    assert loop.opens_after(script, 4, town.publish) == 3, loop.why


def test_x8b_a_conflict_that_was_resolved_is_work(town: Town) -> None:
    loop = Loop(town.work)
    sh(town.work, "git checkout -q edited.txt; echo mine > theirs.txt; git add theirs.txt; git commit -qm mine")
    town.publish(1)
    judged = loop.iterate(
        "git -c pull.rebase=false pull -q --no-edit || true; echo both > theirs.txt; git add theirs.txt;"
        " git commit -qm resolved"
    )

    assert judged.progress, judged.reason


def test_f_cb_3_commits_that_go_back_and_forth_are_no_progress(town: Town) -> None:
    loop = Loop(town.work, SHORT)

    assert loop.opens_after("echo $((n % 2)) > kept.txt; git commit -qam $n", 12) == 5, loop.why


def test_f_cb_3_the_same_stash_over_and_over_is_no_progress(town: Town) -> None:
    loop = Loop(town.work, SHORT)

    assert loop.opens_after("echo x > kept.txt; git stash push -q kept.txt", 12) == 4, loop.why


A_BUSY = {
    "commits": "echo $n > kept.txt; git commit -qam $n",
    "branches": "git checkout -q -b a$n; echo $n > kept.txt; git commit -qam $n",
    "pushes": "echo $n > kept.txt; git commit -qam $n; git push -q origin HEAD:refs/heads/a",
    "stashes": "echo $n > kept.txt; git stash -q",
    "dirt": "echo $n > kept.txt",
}


@pytest.mark.parametrize("where", ["../a", ".worktrees/a"])
@pytest.mark.parametrize("script", A_BUSY.values(), ids=A_BUSY)
def test_x8b_a_busy_and_b_idle_in_two_worktrees_of_one_repository_b_opens(town: Town, script: str, where: str) -> None:
    sh(town.work, f"git worktree add -q -b side {where}")
    place = (town.work / where).resolve()
    busy = an_agent(spec=AgentSpec("a", ("true",), str(place), Kind.LOOP))
    loop = Loop(town.work, SHORT, others=(busy,))

    assert loop.opens_after("true", 4, lambda number: sh(place, script, number)) == 3, loop.why
    assert loop.breaker.tally.shared == ()
    assert Loop(place, SHORT).opens_after(script, 3, first=20) is None


@pytest.mark.parametrize("end", ["", "; cd ../a; git worktree remove ../a-$n"], ids=["kept", "removed"])
def test_x8b_a_worktree_that_either_of_two_agents_may_have_made_is_unknown(town: Town, end: str) -> None:
    sh(town.work, "git worktree add -q -b side ../a")
    busy = an_agent(spec=AgentSpec("a", ("true",), str(town.tmp / "a"), Kind.LOOP))
    loop = Loop(town.work, others=(busy,))
    script = f"git worktree add -q -b a$n ../a-$n; cd ../a-$n; echo $n > kept.txt; git commit -qam $n{end}"

    assert loop.opens_after("true", 3, lambda number: sh(town.tmp / "a", script, number)) is None
    assert [(judged.held, judged.progress) for judged in loop.judgements] == [(True, False)] * 3, loop.why
    git(town.tmp / "a", "commit", "-q", "--allow-empty", "-m", "where only a has been")
    told = loop.iterate(lambda: sh(town.tmp / "a", script.replace(end, ""), 9))
    assert (told.held, told.progress) == (False, False), "it was made from there"


def test_x8b_a_worktree_that_was_entered_is_judged_and_its_old_dirt_is_not(town: Town) -> None:
    """As a hook tells of it by its `cwd`."""
    sh(town.work, "git worktree add -q -b side ../side; echo old > ../side/kept.txt")
    loop = Loop(town.work)
    entered = (str(town.tmp / "side"),)

    def enter(script: str) -> bool:
        def do() -> None:
            sh(town.tmp / "side", script)
            loop.agent = an_agent(spec=loop.agent.spec, workplaces=entered)

        return loop.iterate(do).progress

    assert not enter("true"), f"what was dirty there before is not its work: {loop.why}"
    assert not enter("true")
    assert enter("git commit -qam there")
    assert enter("echo new > kept.txt")
    assert not enter("true")


def test_x8b_two_agents_in_one_worktree_cannot_be_told_apart_and_the_breaker_says_so(town: Town) -> None:
    (town.work / "below").mkdir()
    beside = AgentSpec("a", ("true",), str(town.work / "below"), Kind.LOOP)
    running = an_agent(spec=beside, state=BackingOff(0.0, Mode.FRESH, PromptKind.GOAL))
    loop = Loop(town.work, others=(running,))
    judged = loop.iterate("echo x > kept.txt")

    assert judged.progress
    assert "cannot be told apart from the work of a" in judged.reason
    assert loop.breaker.tally.shared == ("a",)
    stopped = an_agent(spec=beside, state=Stopped())
    assert Loop(town.work, others=(stopped,)).iterate("true").breaker.tally.shared == ()


def test_f_cb_5_in_a_monorepo_a_root_is_the_limit_of_the_work(town: Town) -> None:
    for name in ("one", "two"):
        (town.work / name).mkdir()
        (town.work / name / "file").write_text("x")
    sh(town.work, "git add one two; git commit -qm two-shops")
    rules = [replace(SHORT, roots=(str(town.work / name),)) for name in ("one", "two")]
    busy = an_agent(spec=AgentSpec("a", ("true",), str(town.work), Kind.LOOP, breaker=rules[0]))
    loop = Loop(town.work, rules[1], (busy,))
    script = "echo $n > one/file; echo $n > one/new-$n; git add one; git commit -qm $n one"

    assert loop.opens_after(script, 4) == 3, loop.why
    assert loop.breaker.tally.shared == ()
    assert Loop(town.work, rules[0]).opens_after(script, 4, first=9) is None
    assert Loop(town.work / "two", SHORT).opens_after("echo 2$n > ../one/file", 4) is None, (
        "without roots all of it counts"
    )


@pytest.mark.parametrize(
    "script",
    [
        "echo $n >> PROGRESS.md",
        "echo $n >> PROGRESS.md; git add .; git commit -qm $n PROGRESS.md",
        "mkdir -p deep; echo $n >> deep/run.log2",
        "git checkout -q -b b$n; echo $n >> PROGRESS.md; git add PROGRESS.md; git commit -qm $n PROGRESS.md",
        "echo $n >> PROGRESS.md; git add .; git commit -qm $n PROGRESS.md; git push -q origin HEAD:refs/heads/b",
        "echo $((n % 2)) > kept.txt; echo $n >> PROGRESS.md; git add .; git commit -qm $n kept.txt PROGRESS.md",
    ],
    ids=["edited", "committed", "below", "on branches", "pushed", "with work that goes back and forth"],
)
def test_notes_alone_open_it_at_notes_stop(town: Town, script: str) -> None:
    loop = Loop(town.work, NOTES)
    sh(town.work, "git checkout -q edited.txt; rm untracked.txt")

    assert loop.opens_after(script, 8) in (4, 6), loop.why
    assert "4 iterations left nothing but notes, the limit is 4" in breakers.reason_of(loop.breaker)
    assert Loop(town.work).iterate(f"n=99; {script}").progress, "without a pattern it is work"


def test_notes_neither_reset_nor_advance_the_count_and_work_resets_both(town: Town) -> None:
    loop = Loop(town.work, NOTES)
    counts = []
    for number, script in enumerate(["true", "echo $n >> PROGRESS.md", "true", "echo $n > kept.txt", "true"]):
        loop.iterate(script, number)
        counts.append((loop.breaker.tally.no_progress, loop.breaker.tally.notes))

    assert counts == [(1, 0), (1, 1), (2, 1), (0, 0), (1, 0)]


@pytest.mark.parametrize(
    "script",
    [
        "echo $n > kept.txt; git commit -qam $n; git checkout -q -B b$n; git checkout -q main",
        "git checkout -q -b b$n; echo $n > kept.txt; git commit -qam $n; git checkout -q main",
    ],
)
def test_without_reflogs_local_heads_tell_what_was_committed(town: Town, script: str) -> None:
    sh(town.work, "git config core.logAllRefUpdates false; rm -rf .git/logs; git checkout -q edited.txt")

    assert Loop(town.work, SHORT).opens_after(script, 4) is None
    assert Loop(town.work, SHORT).opens_after("git fetch -q; git reset -q --hard origin/main", 4, town.publish) == 3
    assert Loop(town.work, SHORT).opens_after("git commit -q --allow-empty -m $n", 4) == 3


def test_a_bare_repository_is_judged_by_its_heads(town: Town) -> None:
    bare = town.tmp / "remote.git"
    commit = (
        "blob=$(echo $n | git hash-object -w --stdin); tree=$(printf '100644 blob %s\\tf\\n' $blob | git mktree);"
        " git update-ref refs/heads/new $(git commit-tree -m $n $tree)"
    )

    assert Loop(bare, SHORT).opens_after(commit, 4) is None
    assert Loop(bare, SHORT).opens_after("git rev-parse main", 4) == 3


def test_a_reflog_that_is_expired_meanwhile_is_judged_by_what_is_left_or_unknown(town: Town) -> None:
    loop = Loop(town.work, SHORT)
    expire = "git reflog expire --expire=now --all; git gc -q --prune=now"
    commit = "git checkout -q -b b$n; echo $n > kept.txt; git commit -qm $n kept.txt; git checkout -q main"

    assert loop.opens_after(f"{commit}; {expire}", 4) is None
    assert loop.breaker.tally.no_progress == 0
    assert any("reflog" in why for why in loop.why), loop.why
    assert loop.opens_after(f"{expire}; {commit}", 4, first=20) is None
    assert loop.breaker.tally.last_progress > 0


def test_a_shallow_clone_is_judged_like_any_other(town: Town) -> None:
    git(town.tmp, "clone", "-q", "--depth", "1", f"file://{town.tmp}/remote.git", "shallow")
    shallow = town.tmp / "shallow"

    assert Loop(shallow, SHORT).opens_after("git pull -q", 4, town.publish) == 3
    assert Loop(shallow, SHORT).opens_after("echo $n > kept.txt; git commit -qam $n", 4) is None


def test_a_submodule_is_a_place_of_its_own(town: Town) -> None:
    sh(town.work, "git -c protocol.file.allow=always submodule --quiet add ../remote.git vendor; git commit -qm sub")

    assert Loop(town.work, SHORT).opens_after("cd vendor; echo $n > kept.txt; git commit -qam $n", 4) is None
    assert Loop(town.work, SHORT).opens_after("cd vendor; git fetch -q", 4, town.publish) == 3


def test_old_commits_are_not_counted_when_a_loop_begins(town: Town) -> None:
    sh(town.work, "for i in 1 2 3; do echo $i > kept.txt; git commit -qam $i; git push -q; done; git stash -q")

    assert Loop(town.work, SHORT).opens_after("true", 4) == 3
