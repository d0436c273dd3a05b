"""hooks print|install|test, add as it is typed; what the grammar takes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phoenixd.api.operations import GROUPS, verbs
from phoenixd.api.operations.operation import parameters
from phoenixd.clis import HTTP_EVENTS
from phoenixd.ctl import hooks
from phoenixd.ctl.grammar import _group_help, parse, parser
from tests.api.daemon import FakeDaemon
from tests.ctl.conftest import Ctl

FOREIGN = {
    "model": "opus",
    "hooks": {
        "PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "make lint"}]}],
        "Setup": [{"hooks": [{"type": "command", "command": "true"}]}],
    },
}


def test_help_names_each_verb_of_a_group_once() -> None:
    """Two operations may stand behind one verb: `task status` with an id, and without one."""
    told = " ".join(parser().format_help().split())

    assert " task Hand tasks to workers: run, status, cancel" in told
    groups = {words[0] for words in verbs() if len(words) == 2}
    assert set(GROUPS) == groups, "each says what it is about"
    for group in groups:
        members = _group_help(group).split(", ")
        assert len(members) == len(set(members)), group


def test_help_says_how_to_begin_in_commands_that_are_understood() -> None:
    told = parser().format_help().partition("to begin with:\n")[2].partition("\n\n")[0]
    typed = [re.split(r"  +", line.strip())[0] for line in told.splitlines()]

    assert [words.split()[1] for words in typed] == ["demo", "run", "status", "help"]
    for words in typed:
        parse(words.replace("NAME", "docs").replace("VERB", "status").split()[1:])
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.parametrize(
    ("verb", "default"),
    [("down", "2m"), ("start", "1m"), ("wait", "10m"), ("mute", "1h"), ("since", "last"), ("turns", "20")],
)
def test_the_help_of_a_verb_tells_the_default_of_what_may_be_left_out(
    verb: str, default: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """`--for TIME  for how long` did not say for how long without it."""
    with pytest.raises(SystemExit):
        parse([verb, "--help"])
    told = " ".join(capfd.readouterr().out.split())
    assert f"; default: {default}" in told

    shown = [one for of_verb in verbs().values() for one in parameters(of_verb) if not one.hidden]
    having = [one for one in shown if one.default not in (None, "", True, False)]
    untold = [one.name for one in having if str(one.default) not in one.told]
    assert untold == []


def test_g24_every_event_has_a_hook_whatever_the_tool() -> None:
    printed = hooks.settings()["hooks"]

    assert set(printed) == {"SessionStart", *HTTP_EVENTS}
    assert all(group["matcher"] == "" for groups in printed.values() for group in groups)


def test_merging_keeps_what_is_foreign_and_is_done_once() -> None:
    once = hooks.merged(FOREIGN)

    assert hooks.merged(once) == once
    assert once["model"] == "opus"
    assert once["hooks"]["PostToolUse"][0] == FOREIGN["hooks"]["PostToolUse"][0]  # type: ignore[index]
    assert once["hooks"]["Setup"] == FOREIGN["hooks"]["Setup"]  # type: ignore[index]
    assert len(once["hooks"]["PostToolUse"]) == 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["hooks", "Stop", "x"]), inner, max_size=3)
    ),
)


@given(json_values)
def test_odd_settings_are_refused_or_kept(settings: object) -> None:
    try:
        once = hooks.merged(settings)
    except ValueError:
        return
    assert hooks.merged(once) == once


async def test_g23_install_is_atomic_idempotent_and_keeps_links_and_modes(alone: Ctl, home: Path) -> None:
    dotfiles = home / "dotfiles.json"
    dotfiles.write_text(json.dumps(FOREIGN))
    dotfiles.chmod(0o640)
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").symlink_to(dotfiles)

    first, second = await alone("hooks", "install", "--user"), await alone("hooks", "install", "--user")

    assert (first.code, second.code) == (0, 0)
    assert "the program that $PHOENIX_HOOK names" in first.out
    assert "already" in second.out
    assert (home / ".claude/settings.json").is_symlink()
    assert json.loads(dotfiles.read_text()) == hooks.merged(FOREIGN)
    assert dotfiles.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in home.iterdir() if path.name.startswith(".settings")] == []


@pytest.mark.parametrize("content", ["{", "[]", '{"hooks": 1}', '{"hooks": {"Stop": {}}}', "\xff"])
async def test_settings_that_are_not_understood_are_not_touched(alone: Ctl, home: Path, content: str) -> None:
    path = home / "project/.claude/settings.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content.encode("latin-1"))

    ran = await alone("hooks", "install", "--project", os.fspath(home / "project"))

    assert ran.code == 1
    assert "was not touched" in ran.err
    assert path.read_bytes() == content.encode("latin-1")


async def test_g29_hooks_test_sees_a_program_that_does_not_do_its_part(alone: Ctl, tmp_path: Path) -> None:
    good = await alone("hooks", "test", "--json")
    assert good.code == 0, good.err
    assert all(outcome["ok"] for outcome in good.json["hooks"])
    broken = tmp_path / "phoenix-hook"
    for script, why in (("exit 3", "exit code 3"), ("echo noise", "noise"), ("exit 0", "did not arrive")):
        broken.write_text(f"#!/bin/sh\n{script}\n")
        ran = await alone("hooks", "test", PHOENIX_HOOK=os.fspath(broken))
        assert ran.code == 1
        assert why in ran.out


def test_an_installed_hook_does_nothing_outside_an_agent() -> None:
    command = hooks.settings()["hooks"]["Stop"][0]["hooks"][0]["command"]
    for env in ({}, {"PHOENIX_HOOK": "/bin/false", "PHOENIX_HOOKS": "settings"}):
        ran = subprocess.run(["/bin/sh", "-c", command], env=env, capture_output=True, check=False)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


async def test_add_means_what_the_shell_means(ctl: Ctl, daemon: FakeDaemon, tmp_path: Path) -> None:
    """The command is found on the caller's PATH, the directory is the caller's."""
    program = tmp_path / "bin/agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    ran = await ctl(
        "add", "docs", "--", "agent", "--flag", "a b", cwd=tmp_path, PATH=f"{program.parent}:{os.environ['PATH']}"
    )

    assert ran.code == 0, ran.err
    spec = daemon.state.agents["docs"].spec
    assert (spec.argv, spec.cwd) == ((os.fspath(program), "--flag", "a b"), os.fspath(tmp_path))


@pytest.mark.parametrize("verb", ["add", "run"])
async def test_a_missing_program_is_taken_with_one_warning(ctl: Ctl, daemon: FakeDaemon, verb: str) -> None:
    """The daemon's, which looks where the agent's own PATH leads."""
    ran = await ctl(verb, "docs", *(["-d"] if verb == "run" else []), "--", "missing")

    assert ran.code == 0
    assert (ran.out + ran.err).count("warning: ") == 1, ran
    assert "warning: missing is not there yet" in ran.out + ran.err
    assert daemon.state.agents["docs"].spec.argv == ("missing",)


@pytest.mark.parametrize(("stands", "words"), [(False, "is no directory yet"), (True, "is no directory\n")])
async def test_add_takes_a_missing_directory_with_a_warning(ctl: Ctl, tmp_path: Path, stands: bool, words: str) -> None:
    place = tmp_path / "place"
    if stands:
        place.write_text("")

    ran = await ctl("add", "docs", "--cwd", os.fspath(place), "--", "/bin/true")

    assert ran.code == 0
    assert f"warning: {place} {words}" in ran.err


async def test_send_reads_standard_input_for_a_dash(ctl: Ctl, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    text = "line one\nline two \u00e4\n" * 1000

    ran = await ctl("send", "docs", "-", stdin=text.encode())

    assert (ran.code, ran.out) == (0, "delivered to docs (prompt-submit)\n")
    assert [order.text for order in daemon.orders] == [text[:-1]]  # type: ignore[union-attr]
    too_much = await ctl("send", "docs", "-", stdin=b"x" * 3_000_000)
    assert too_much.code == 2
    assert "larger than" in too_much.err


async def test_nothing_hostile_reaches_the_terminal(ctl: Ctl, daemon: FakeDaemon) -> None:
    from tests.api.fleets import HOSTILE

    daemon.declare("docs")
    daemon.wait("docs", tool=HOSTILE, text=HOSTILE)
    daemon.change("docs", reason=HOSTILE)
    daemon.panes["docs"] = HOSTILE
    for words in ("status", "status docs", "inbox", "explain docs", "events", "logs docs", "since", "status --json",
                  "send docs x"):  # fmt: skip
        ran = await ctl(*words.split())
        assert not set(ran.out + ran.err) & set("\x1b\x07\x9b\u202e\u2066\x00"), words


def test_the_grammar_takes_flags_on_both_sides_of_the_verb() -> None:
    assert parse(["--json", "add", "x", "--env", "A=1", "--env", "B=2", "--", "run", "--json"]).given == {
        "name": "x", "env": ["A=1", "B=2"], "argv": ["run", "--json"],
    }  # fmt: skip
    assert parse(["inbox", "--json"]).as_json
    assert parse(["--socket", "/x", "inbox"]).socket == "/x"
    assert parse(["send", "docs", "--", "--text"]).given["text"] == "--text"
    assert parse(["status"]).operation.name == "list_agents"
    assert parse(["status", "docs"]).operation.name == "show_agent"
