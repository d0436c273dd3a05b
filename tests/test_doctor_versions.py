"""What doctor finds of the CLIs' versions: each is asked once, beside the others, and none holds anything up."""

from __future__ import annotations

import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from phoenixd import doctor_versions
from phoenixd.core.fleet import Fleet
from phoenixd.doctor_agents import version_finding
from phoenixd.doctor_versions import AT_ONCE
from tests.ending import A_WHILE
from tests.examined import claude_agent, doctor, examined, program
from tests.hung_disk import hung_mount, told_while_ticking
from tests.waiting import eventually


@pytest.mark.parametrize(
    ("said", "tested", "level"),
    [
        ("2.1.197 (Claude Code)", ("2.1.197", "2.1.330"), "ok"),
        ("2.1.330 (Claude Code)", ("2.1.197", "2.1.330"), "ok"),
        ("codex-cli 0.169.0", ("0.169.0",), "ok"),
        ("codex-cli 0.170.0", ("0.169.0",), "warning"),
        ("0.61.0-nightly", (), "ok"),
        ("no number", ("0.61.0",), "warning"),
    ],
)
def test_another_version_than_the_tested_one_is_told(said: str, tested: tuple[str, ...], level: str) -> None:
    finding = version_finding("a", "x", said, tested)

    assert finding.level == level
    assert (finding.remedy != "") == (level != "ok")


def test_who_has_a_release_newer_than_the_tested_ones_is_not_told_to_install_the_oldest() -> None:
    finding = version_finding("a", "claude", "2.1.332 (Claude Code)", ("2.1.197", "2.1.330"))

    assert finding.remedy == "install 2.1.330, or watch its first start: phoenixctl attach a"


@pytest.mark.parametrize(
    ("script", "title"),
    [
        ("echo '3.0.0 (Claude Code)'", "warning: a: claude is 3.0.0 (Claude Code)"),
        ("echo no node >&2; exit 127", "problem: a: {home}/claude --version fails"),
        ("", "problem: a: {home}/claude --version fails"),
    ],
)
async def test_a_cli_that_is_not_the_tested_one_is_told(tmp_path: Path, script: str, title: str) -> None:
    program(tmp_path, script)

    assert title.format(home=tmp_path) in await examined(claude_agent(tmp_path), tmp_path)


async def test_each_cli_is_asked_once_for_its_version_however_many_agents_it_has(tmp_path: Path) -> None:
    count = tmp_path / "count"
    program(tmp_path, f"echo >> {count}; echo '2.1.197 (Claude Code)'")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "claude").symlink_to(tmp_path / "claude")
    agents = {f"a{number}": claude_agent(tmp_path, name=f"a{number}") for number in range(12)}
    agents["a3"] = claude_agent(tmp_path, name="a3", argv=(str(linked / "claude"),))

    found = await doctor(tmp_path).examine(Fleet(agents=agents))

    assert count.read_text() == "\n"
    told = [one.title for one in found if "2.1.197" in one.title]
    assert told == [f"a{number}: claude is 2.1.197 (Claude Code)" for number in sorted(range(12), key=str)]


async def test_clis_are_asked_side_by_side(tmp_path: Path) -> None:
    """Each of them answers only once all of them have been asked."""
    agents = {}
    for number in range(AT_ONCE):
        home = tmp_path / str(number)
        home.mkdir()
        wait = f"while [ $(ls {tmp_path}/asked.* | wc -l) -lt {AT_ONCE} ] && {A_WHILE}; do sleep 0.01; done"
        program(home, f": > {tmp_path}/asked.{number}; {wait}; echo '2.1.197 (Claude Code)'")
        agents[f"a{number}"] = claude_agent(tmp_path, name=f"a{number}", argv=(str(home / "claude"),))

    found = await doctor(tmp_path).examine(Fleet(agents=agents))

    assert sum("2.1.197" in one.title for one in found) == AT_ONCE


async def test_a_cli_that_is_slow_keeps_nobody_waiting_and_ends_with_what_it_started(tmp_path: Path) -> None:
    slow, quick = tmp_path / "slow", tmp_path / "quick"
    for home in (slow, quick):
        home.mkdir()
    program(slow, f"sleep 1000 & echo $! > {slow}/pid; wait")
    program(quick, "echo '2.1.197 (Claude Code)'; echo noise >&2")
    wanted = {
        doctor_versions.program_of(str(home / "claude"), {"PATH": "/bin"}): (str(home / "claude"), {"PATH": "/bin"})
        for home in (slow, quick)
    }

    said = await doctor_versions.ask(wanted, within=1.0)

    late, done = said.values()
    assert (late.how, done.how, done.words) == ("late", "told", "2.1.197 (Claude Code)")
    finding = doctor_versions.finding("a", "/x/claude", late, ())
    assert (finding.level, finding.remedy) == ("warning", "/x/claude --version")
    pid = int((slow / "pid").read_text())
    await eventually(lambda: not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text())


@pytest.mark.parametrize(
    ("content", "why"), [("#!/nowhere/sh\n", "No such file or directory"), ("echo 2.1.197\n", "Exec format error")]
)
async def test_a_cli_that_the_kernel_does_not_execute_is_no_cli(tmp_path: Path, content: str, why: str) -> None:
    """As the shim executes it, which is no shell."""
    claude = tmp_path / "claude"
    claude.write_text(content)
    claude.chmod(0o755)
    wanted = {doctor_versions.program_of(str(claude), {"PATH": "/bin"}): (str(claude), {"PATH": "/bin"})}
    (said,) = (await doctor_versions.ask(wanted)).values()
    assert (said.how, why in said.words) == ("not started", True)


ASKING = """
import sys
from phoenixd import doctor_versions
async def asking():
    wanted = {doctor_versions.Program("claude", "claude", ""): (sys.argv[1], {"PATH": "/bin"})}
    print(*(one.how for one in (await doctor_versions.ask(wanted, within=2.0)).values()))
"""


def test_a_cli_on_a_disk_that_hangs_stops_nothing_else_and_is_late(tmp_path: Path) -> None:
    """An operator asks doctor just when a home does not answer, and the whole daemon stood still with it."""
    with hung_mount(tmp_path / "dead") as dead:
        assert told_while_ticking(ASKING, str(dead / "claude")) == "late"


def test_a_cli_whose_disk_hangs_once_it_was_found_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its links were followed on the daemon's own loop, which stood still until the disk answered."""
    told, done = list[str](), threading.Event()

    async def examine(dead: Path) -> None:
        monkeypatch.setattr("phoenixd.doctor.find_command", lambda *_: str(dead / "claude"))
        with anyio.move_on_after(0.5):
            await doctor(tmp_path)._look(claude_agent(tmp_path))
            told.append("looked")
        done.set()

    with hung_mount(tmp_path / "dead") as dead:
        # A loop of its own: one that stands still must not hold up the end of this test.
        threading.Thread(target=anyio.run, args=(examine, dead), daemon=True).start()
        assert done.wait(30)
    assert told == []
