"""Each run has a cgroup leaf of its own, where one can be had; where none can, everything goes on without."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from phoenixd.drivers.cgroups.tree import CgroupTree, _candidates, tier
from tests.waiting import eventually_sync


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[CgroupTree]:
    found = CgroupTree.find(tmp_path)
    if found is None:
        pytest.skip("not run: no cgroup v2 tree is writable here")
    yield found
    eventually_sync(lambda: found.discard() or not found.root.exists(), what="nothing lives in the tree")


def member_of(leaf: str) -> subprocess.Popen[bytes]:
    def join() -> None:
        Path(leaf, "cgroup.procs").write_text("0")

    return subprocess.Popen(["sleep", "1000"], preexec_fn=join)


def test_a_leaf_holds_and_ends_its_run_alone(tree: CgroupTree) -> None:
    first, second = tree.create_leaf("a", 1), tree.create_leaf("b", 1)
    assert first is not None
    assert second is not None
    victim, bystander = member_of(first), member_of(second)
    (Path(first) / "below").mkdir()
    hidden = member_of(f"{first}/below")
    try:
        assert tree.members("a", 1) == {victim.pid, hidden.pid}
        assert tree.owner_of(victim.pid) == ("a", 1)
        assert tree.owner_of(hidden.pid) == ("a", 1)
        assert tree.owner_of(os.getpid()) is None
        assert tree.kill("a", 1)
        assert victim.wait(60) == hidden.wait(60) == -9
        assert bystander.poll() is None
        assert tree.members("a", 1) == frozenset()
    finally:
        for process in (victim, bystander, hidden):
            process.kill()
            process.wait()


def test_empty_leaves_of_old_incarnations_are_removed_and_living_ones_kept(tree: CgroupTree) -> None:
    leaves = [Path(str(tree.create_leaf("a", number))) for number in range(1, 5)]
    (leaves[0] / "below").mkdir()
    living = member_of(str(leaves[1]))
    try:
        tree.prune("a", keep=4)
        assert [leaf.exists() for leaf in leaves] == [False, True, False, True]
    finally:
        living.kill()
        living.wait()
    eventually_sync(lambda: tree.prune("a") or not leaves[3].parent.exists(), what="nothing is left of the agent")


def test_no_leaf_is_no_failure(tree: CgroupTree) -> None:
    assert not tree.kill("a", 99)
    assert tree.members("a", 99) == frozenset()
    tree.prune("a")
    Path(tree.root, "agents", "cgroup.max.descendants").write_text("0")
    assert tree.create_leaf("a", 1) is None
    Path(tree.root, "agents", "cgroup.max.descendants").write_text("max")


@pytest.mark.parametrize("name", ["", "..", "A", "a/b", "a\n", "a" * 33])
def test_a_name_cannot_lead_out_of_the_tree(tree: CgroupTree, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        tree.create_leaf(name, 1)


def test_where_nothing_can_be_written_the_tier_says_so(tmp_path: Path) -> None:
    assert CgroupTree.find(tmp_path, explicit=Path("/proc/phoenixd")) is None
    assert tier(None) == "subreaper"


def test_the_same_state_directory_gets_the_same_tree(tree: CgroupTree, tmp_path: Path) -> None:
    again = CgroupTree.find(tmp_path)
    assert again is not None
    assert again.root == tree.root
    assert tier(again) == "cgroup"


def test_the_empty_trees_of_dead_daemons_are_removed_and_those_in_use_kept(tree: CgroupTree, tmp_path: Path) -> None:
    def another(name: str) -> CgroupTree:
        found = CgroupTree.find(tmp_path / name)
        assert found is not None
        return found

    dead, lived_in, held = another("dead"), another("lived in"), another("held")
    other = tree.root.parent / f"{dead.root.name}-of-somebody"
    other.mkdir()
    (dead.root / "agents" / "a" / "1").mkdir(parents=True)
    roots = [dead.root, lived_in.root, held.root, other]
    survivor = member_of(str(lived_in.create_leaf("a", 1)))
    try:
        # A daemon that is gone holds nothing any more.
        del dead, lived_in
        again = CgroupTree.find(tmp_path)

        assert again is not None
        assert [root.exists() for root in roots] == [False, True, True, True]
        assert held.create_leaf("a", 1) is not None
        assert survivor.poll() is None
    finally:
        survivor.kill()
        survivor.wait()
        other.rmdir()
        held.discard()
    eventually_sync(lambda: CgroupTree.find(tmp_path) and not roots[1].exists(), what="it is removed when it is empty")


@pytest.mark.parametrize(
    ("home", "roots"),
    [
        ("system.slice/phoenixd-tmux.service", ["system.slice/phoenixd-tmux.service"]),
        ("system.slice/phoenixd-tmux.service/init", ["system.slice/phoenixd-tmux.service"]),
        ("user.slice/app.slice/phoenixd-tmux-0a1b2c3d.scope", ["user.slice/app.slice/phoenixd-tmux-0a1b2c3d.scope"]),
        ("user.slice/session-3.scope", []),
        ("system.slice/phoenixd.service", []),
    ],
)
def test_where_systemd_owns_the_hierarchy_only_what_it_delegates_is_taken(
    home: str, roots: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phoenixd.drivers.cgroups.tree._cgroup_of", lambda pid, mount: mount / home)
    monkeypatch.setattr("os.path.isdir", lambda path: path == "/run/systemd/system")

    assert [str(root) for root in _candidates(Path("/mnt"), tmp_path, None, 77)] == [f"/mnt/{root}" for root in roots]
