"""What the kernel's counters say of a run that SIGKILL ended (F-PROC-24); on files in the kernel's own format."""

from __future__ import annotations

from pathlib import Path

import pytest

from phoenixd.drivers.cgroups.oom import VMSTAT, OomCounters

VMSTAT_TEXT = "nr_free_pages 100\noom_kill {}\npgfault 5\n"
EVENTS = "low 0\nhigh 0\nmax {oom}\noom {oom}\noom_kill {killed}\noom_group_kill 0\n"


class Kernel:
    """A run's leaf and the host's sum, as files."""

    def __init__(self, root: Path) -> None:
        self.leaf, self.vmstat = root / "leaf", root / "vmstat"
        self.leaf.mkdir()
        self.host(7)
        self.counters = OomCounters(lambda agent, incarnation: self.leaf, self.vmstat)

    def host(self, kills: int) -> None:
        self.vmstat.write_text(VMSTAT_TEXT.format(kills))

    def run(self, oom: int, killed: int) -> None:
        (self.leaf / "memory.events").write_text(EVENTS.format(oom=oom, killed=killed))


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


@pytest.mark.parametrize(
    ("oom", "killed", "killer"), [(0, 0, ""), (3, 0, ""), (1, 1, "agent"), (12, 4, "agent"), (0, 1, "host")]
)
def test_f_proc_24_the_runs_own_counters_name_its_killer(kernel: Kernel, oom: int, killed: int, killer: str) -> None:
    kernel.run(oom, killed)
    # A neighbour's death by memory is in the host's sum as well, and says nothing about this run.
    kernel.host(9)
    assert kernel.counters.killer_of("a", 1) == killer


def test_f_proc_24_without_them_the_hosts_sum_tells_once(kernel: Kernel) -> None:
    assert kernel.counters.killer_of("a", 1) == ""
    kernel.host(8)
    assert kernel.counters.killer_of("a", 1) == "host"
    assert kernel.counters.killer_of("a", 2) == ""
    kernel.host(9)
    kernel.counters.note()
    assert kernel.counters.killer_of("a", 3) == "", "it was killed before this run began"


@pytest.mark.parametrize("content", [None, "", "oom_kill\n", "oom_kill many\n", "\x00\xff" * 4000])
def test_counters_that_cannot_be_read_say_nothing(kernel: Kernel, content: str | None) -> None:
    kernel.vmstat.unlink()
    if content is not None:
        kernel.vmstat.write_text(content)
    assert kernel.counters.killer_of("a", 1) == ""


def test_this_kernel_has_that_counter() -> None:
    if not VMSTAT.exists():
        pytest.skip("this kernel shows no /proc/vmstat")
    counters = OomCounters(lambda agent, incarnation: None)
    counters.note()
    assert counters.killer_of("a", 1) in ("", "host")
