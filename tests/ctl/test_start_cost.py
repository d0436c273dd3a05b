"""`status` may import next to nothing; figures are in tests/bench, here only what is loaded."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from phoenixd import __version__
from phoenixd.api.operations import OPERATIONS
from phoenixd.ctl import calls, grammar, wire
from phoenixd.ctl.__main__ import plain_target, without_common
from phoenixd.ctl.command_line import OWN
from phoenixd.ctl.grammar import parse
from phoenixd.directories import find_state_directory
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import ROOT, environment

BUILT_IN_AND_OURS = {
    "posix",
    "_socket",
    "phoenixd",
    "phoenixd.ctl",
    "phoenixd.ctl.__main__",
    "phoenixd.ctl.wire",
}
FORBIDDEN = {"argparse", "json", "asyncio", "pydantic", "socket", "os", "re", "site", "typing", "dataclasses"}


async def test_the_status_path_loads_two_modules_of_ours_and_a_socket(
    live: Live, daemon: FakeDaemon, home: Path
) -> None:
    daemon.declare("docs")
    script = f"import sys; sys.path.append({os.fspath(ROOT)!r}); from phoenixd.ctl.__main__ import entry; entry()"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-X", "importtime", "-S", "-E", "-I", "-c", script, "status",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=environment(home, PHOENIX_SOCKET=os.fspath(live.socket)),
    )  # fmt: skip
    out, err = await process.communicate()
    loaded = {line.rpartition("|")[2].strip() for line in err.decode().splitlines() if "|" in line}
    bare = subprocess.run(
        [sys.executable, "-X", "importtime", "-S", "-E", "-I", "-c", "pass"], capture_output=True, text=True, check=True
    ).stderr
    floor = {line.rpartition("|")[2].strip() for line in bare.splitlines()}

    assert b"1 of 1 alive" in out
    assert loaded & FORBIDDEN == set()
    assert loaded - floor <= BUILT_IN_AND_OURS


async def test_the_launcher_finds_its_package_through_links_and_can_do_more_than_status(
    live: Live, daemon: FakeDaemon, home: Path, tmp_path: Path
) -> None:
    """As installers lay it out: bin/python, bin/phoenixctl, lib/python3.X/site-packages/phoenixd, a link elsewhere."""
    daemon.declare("docs")
    environ = environment(home, PHOENIX_SOCKET=os.fspath(live.socket))
    del environ["PYTHONPATH"]
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (packages,) = venv.glob("lib/python3.*/site-packages")
    (packages / "phoenixd").symlink_to(ROOT / "phoenixd")
    shutil.copy(ROOT / "phoenixd/ctl/launcher.sh", venv / "bin/phoenixctl")
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere/phoenixctl"
    link.symlink_to(os.path.relpath(venv / "bin/phoenixctl", link.parent))

    outputs = []
    for program, words in (
        (venv / "bin/phoenixctl", ["status"]),
        (link, ["status", "docs", "--json"]),
        (link, ["inbox"]),
        (link, ["version"]),
    ):
        process = await asyncio.create_subprocess_exec(
            program, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environ, cwd="/"
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        outputs.append(out.decode())

    assert "1 of 1 alive" in outputs[0]
    assert '"name": "docs"' in outputs[1]
    assert "Nothing waits" in outputs[2]
    assert outputs[3].startswith(f"phoenixctl {__version__}")


@pytest.mark.parametrize(
    ("tools", "named"),
    [
        ("home/.local/share/uv/tools", {}), ("elsewhere", {"UV_TOOL_DIR": "elsewhere"}),
        ("data/uv/tools", {"XDG_DATA_HOME": "data"}), ("home/.local/share/pipx/venvs", {}),
        ("home/.local/pipx/venvs", {}), ("pipx/venvs", {"PIPX_HOME": "pipx"}),
    ],
)  # fmt: skip
def test_the_launcher_knows_where_installers_of_tools_put_it(tools: str, named: dict[str, str], tmp_path: Path) -> None:
    """They put a link into PATH, and a process that reads it would cost a status as much as all else of the launcher.
    So here there is nothing to read a link with."""
    link, environ = _installed_as_a_tool(tmp_path, tools)
    environ |= {name: os.fspath(tmp_path / place) for name, place in named.items()}

    ran = subprocess.run([link, "version"], env=environ, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stderr, ran.stdout) == (0, "", f"{tmp_path / tools}/phoenixd/bin/python\n")


def test_the_launcher_reads_a_link_that_leads_elsewhere(tmp_path: Path) -> None:
    """Another installation is where it would be looked for first."""
    link, environ = _installed_as_a_tool(tmp_path, "own")
    _installed_as_a_tool(tmp_path, "home/.local/share/uv/tools")
    link.unlink()
    link.symlink_to(tmp_path / "own/phoenixd/bin/phoenixctl")

    ran = subprocess.run(
        [link, "version"], env={**environ, "PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False
    )

    assert ran.stdout == f"{tmp_path}/own/phoenixd/bin/python\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a directory to another user")
def test_the_launcher_runs_no_python_that_lies_beside_it_in_somebody_elses_directory(tmp_path: Path) -> None:
    """Below sudo HOME may be a user's, whose hard link to the launcher is the same file."""
    link, environ = _installed_as_a_tool(tmp_path, "home/.local/share/uv/tools")
    os.chown(tmp_path / "home/.local/share/uv/tools/phoenixd/bin", 65534, 65534)

    ran = subprocess.run([link, "version"], env=environ, capture_output=True, text=True, check=False)

    assert "readlink" in ran.stderr
    assert "phoenixd/bin/python" not in ran.stdout


def _installed_as_a_tool(tmp_path: Path, tools: str) -> tuple[Path, dict[str, str]]:
    """The launcher in a virtualenv below a directory of tools, whose python says where it is, and the link to it."""
    venv = tmp_path / tools / "phoenixd"
    packages = venv / "lib/python3.11/site-packages/phoenixd/ctl"
    for place in (venv / "bin", packages, tmp_path / "home/.local/bin"):
        place.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "phoenixd/ctl/launcher.sh", venv / "bin/phoenixctl")
    (packages / "__main__.py").touch()
    python = venv / "bin/python"
    python.write_text('#!/bin/sh\necho "$0"\n')
    python.chmod(0o755)
    link = tmp_path / "home/.local/bin/phoenixctl"
    link.unlink(missing_ok=True)
    link.symlink_to(venv / "bin/phoenixctl")
    return link, {"HOME": os.fspath(tmp_path / "home"), "PATH": os.fspath(tmp_path / "nothing")}


@pytest.mark.parametrize(
    "words",
    [
        "", "status", "status docs", "status --all", "status --json", "inbox", "since", "events", "explain docs --json",
        "since 8h", "since 18:00 --json", "since yesterday", "--socket /a.sock status", "status docs --socket=/a.sock",
        "since 8h --socket /a.sock --socket /b.sock", "prompt",
        "status --color always", "--color=never status docs", "--no-pager since", "status --color auto --color always",
    ],
)  # fmt: skip
def test_the_short_way_asks_what_the_table_says(words: str) -> None:
    command = parse(words.split() or ["status"])

    plain, common = without_common(words.split())
    assert plain_target(plain) == calls.spell(command.operation, command.given)[0]
    assert common.get("--socket") == command.socket


@pytest.mark.parametrize(
    "words",
    ["status a b", "status ../x", "status --fish", "stop docs", "status docs --all", "inbox docs", "since -5",
     "since 8h 9h", "since --all", "status --sock /a.sock", "--socket /a.sock", "status --socket", "--socket -x status",
     "status --socket=", "status --color", "status --color red", "status --color= docs", "status --no-pagers",
     "explain", "events -f", "explain a b", "--help", "status -h"],
)  # fmt: skip
def test_whatever_does_more_goes_the_long_way(words: str) -> None:
    assert plain_target(without_common(words.split())[0]) is None


def test_a_verb_that_reads_no_configuration_loads_nothing_that_a_daemon_is_made_of() -> None:
    """One import of the core's or of pydantic's makes a verb cost eight times as much."""
    asked = {one.name for one in OPERATIONS if one.words and one.path is not None} | {"run", "up", "down"}
    asked |= {"hooks_print", "hooks_install", "hooks_test"}
    places = sorted({OWN.get(name, "phoenixd.ctl.calls:call").partition(":")[0] for name in asked})
    script = (
        "import sys; from importlib import import_module\n"
        "heavy = {'phoenixd.core.agent', 'phoenixd.config', 'phoenixd.harness', 'pydantic', 'asyncio', 'structlog'}\n"
        "for place in sys.argv[1:]:\n"
        "    import_module(place)\n"
        "    found = heavy & sys.modules.keys()\n"
        "    assert not found, (place, found)\n"
    )

    ran = subprocess.run([sys.executable, "-c", script, *places], cwd=ROOT, capture_output=True, text=True, check=False)

    assert len(places) > 10
    assert ran.stderr == ""


def test_a_verb_that_reads_the_configuration_loads_no_state_of_agents() -> None:
    """Harnesses are asked what is wrong with an agent's table: neither what an agent has come to, nor its brief."""
    script = (
        "import sys, phoenixd.ctl.configuration\n"
        "print(*{'phoenixd.core.agent', 'phoenixd.core.actions', 'phoenixd.documents.brief.page'} & sys.modules.keys())"
    )

    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == ""


@pytest.mark.parametrize(
    "words",
    [
        "stop docs", "--socket /a.sock stop docs", "--json --color never phase list", "--socket stop status docs",
        "--socket=/a.sock loops -h", "stop --help", "--help stop", "stop --fast", "--fast stop", "phase", "phase lost",
        "lost", "run a -- stop", "--socket", "",
    ],
)  # fmt: skip
def test_a_verb_is_understood_alone_as_among_all_others(
    words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the grammar of the verb that was typed is made, a quarter of what a verb costs less."""

    def understood() -> object:
        try:
            return parse(words.split())
        except SystemExit as leaving:
            return leaving.code, capsys.readouterr()

    alone = understood()
    monkeypatch.setattr(grammar, "_verb", lambda _: None)

    assert understood() == alone


def test_phoenixctl_and_the_daemon_mean_the_same_directories() -> None:
    """The hot path cannot import phoenixd.directories, so it says the same again."""
    cases: list[dict[str, str]] = [
        {"HOME": "/home/me"},
        {"HOME": "/home/me", "XDG_STATE_HOME": "/state"},
        {"HOME": "/home/me", "XDG_STATE_HOME": "relative"},
        {"HOME": "/home/me", "PHOENIX_STATE_DIR": "/own"},
        {"HOME": "/home/me", "PHOENIX_STATE_DIR": "/agent/dir", "PHOENIX_AGENT": "docs"},
        {"HOME": "/home/me", "STATE_DIRECTORY": "/var/lib/phoenixd:/other"},
    ]
    for environ in cases:
        raw = {name.encode(): value.encode() for name, value in environ.items()}
        found = wire.state_directory(raw)
        assert found is not None
        assert os.fsdecode(found) == os.fspath(find_state_directory(environ)), environ


def test_the_socket_is_looked_for_in_the_promised_order() -> None:
    everything = {
        b"PHOENIX_SOCKET": b"/a.sock", b"PHOENIX_RUNTIME_DIR": b"/b", b"XDG_RUNTIME_DIR": b"/run/user/1", b"HOME": b"/h"
    }  # fmt: skip
    without_socket = {key: value for key, value in everything.items() if key != b"PHOENIX_SOCKET"}
    defaults = {key: value for key, value in without_socket.items() if key != b"PHOENIX_RUNTIME_DIR"}

    assert wire.sockets(everything, "/flag.sock") == [b"/flag.sock"]
    assert wire.sockets(everything) == [b"/a.sock"]
    assert wire.sockets(without_socket) == [b"/b/api.sock"]
    assert wire.sockets(defaults) == [
        b"/run/user/1/phoenixd/api.sock", b"/h/.local/state/phoenixd/run/api.sock", b"/run/phoenixd/api.sock"
    ]  # fmt: skip
