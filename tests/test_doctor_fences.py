"""What doctor says of the fence around a run: which one is in force, by the kernel's word, and what it holds."""

from __future__ import annotations

import os
import subprocess

import pytest

from phoenixd.doctor_fences import FenceSeen, fence_finding, seen
from tests.core.story import Story, spec

CASES = [
    ("auto", FenceSeen(True, False), False, "ok", "fence cgroup", "it holds accidents"),
    ("auto", FenceSeen(False, False), False, "ok", "no fence", "it holds accidents"),
    ("none", FenceSeen(False, False), False, "ok", "no fence", "what its shim finds"),
    ("namespace", FenceSeen(True, True), False, "ok", "namespace and cgroup", "out of its reach"),
    ("namespace", FenceSeen(False, True), False, "ok", "fence namespace", "also of one that means harm"),
    ("namespace", FenceSeen(True, True), True, "warning", "as root", "root gets round"),
    ("namespace", FenceSeen(True, False), False, "warning", 'no fence "namespace" yet', "before"),
    ("cgroup", FenceSeen(False, False), False, "warning", 'no fence "cgroup" yet', "before"),
    ("auto", FenceSeen(None, None), False, "warning", "not to be seen", "hides"),
    ("auto", FenceSeen(None, None), True, "warning", "not to be seen", "root is kept from"),
]


@pytest.mark.parametrize(("asked", "found", "root", "level", "summary", "detail"), CASES)
def test_doctor_names_the_fence_in_force_and_what_it_holds(
    asked: str, found: FenceSeen, root: bool, level: str, summary: str, detail: str
) -> None:
    agent = Story(spec(fence=asked)).agent

    told = fence_finding(agent, found, is_root=root)

    assert told.level == level
    assert summary in told.title
    assert detail in told.detail
    assert not (root and "as root" in str(told.remedy)), "root is not told to be root"


def test_nothing_holds_a_process_that_is_gone() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()

    assert seen(gone.pid, None) is None


def test_what_is_in_force_is_the_kernels_word() -> None:
    assert seen(os.getpid(), None) == FenceSeen(False, False)
    command = ["unshare", "-Ur", "sh", "-c", "echo in; exec sleep 1000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as inside:
        assert inside.stdout is not None
        if inside.stdout.readline() != b"in\n":
            pytest.skip("not run: no user namespaces here")
        found = seen(inside.pid, None)
        inside.kill()

    assert found.namespace is True
