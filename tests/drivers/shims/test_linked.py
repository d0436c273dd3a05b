"""Which shims are linked: looked up by pid at each connection of the control socket."""

from __future__ import annotations

from phoenixd.drivers.shims.peer import Linked
from phoenixd.ports.processes import ProcessIdentity

BOOT = "boot"


def shim(pid: int, start: int = 1) -> ProcessIdentity:
    return ProcessIdentity(BOOT, pid, start)


def test_a_shim_is_found_by_its_pid_as_long_as_there_is_a_link_to_it() -> None:
    linked = Linked()
    linked.set("a", shim(10))
    linked.set("b", shim(11))
    linked.set("a", None)

    assert (linked.shims, linked.agents) == ({"b": shim(11)}, {11: "b"})


def test_an_agents_new_shim_takes_the_place_of_the_one_before() -> None:
    linked = Linked()
    linked.set("a", shim(10))
    linked.set("a", shim(12))

    assert (linked.shims, linked.agents) == ({"a": shim(12)}, {12: "a"})


def test_a_pid_that_is_anothers_by_now_stays_the_others() -> None:
    """The end of a link is heard later than its shim's number is given to the next one."""
    linked = Linked()
    linked.set("a", shim(10))
    linked.set("b", shim(10, start=2))
    linked.set("a", None)

    assert (linked.shims, linked.agents) == ({"b": shim(10, start=2)}, {10: "b"})
