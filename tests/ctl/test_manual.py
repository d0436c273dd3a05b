"""The man pages say what the programs take: the same verbs, options, keys and exit codes."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from phoenixd import daemon, directories
from phoenixd.api import exits
from phoenixd.ctl import manual
from phoenixd.ctl.grammar import parser
from phoenixd.ctl.shells.spoken import spoken

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = (ROOT / "config/phoenixd.toml").read_text(encoding="utf-8")


def plain(page: str) -> str:
    """The page without what is meant for roff."""
    text = re.sub(r"\\f[BIR]|\\&", "", page)
    for escaped, character in (
        (r"\-", "-"),
        (r"\(aq", "'"),
        (r"\(ga", "`"),
        (r"\(ti", "~"),
        (r"\(ha", "^"),
        (r"\e", "\\"),
    ):
        text = text.replace(escaped, character)
    return text


def test_phoenixctl_1_has_every_verb_option_and_exit_code() -> None:
    page = plain(manual.phoenixctl())

    for verb in spoken():
        assert re.search(rf"^\.SS {verb.name}( |$)", page, re.MULTILINE), verb.name
        assert verb.summary in page
        assert all(option.flag in page for option in verb.options)
    assert all(f"{code}\n{meaning}" in page for code, meaning in exits.MEANINGS.items())


def test_phoenixctl_1_has_the_words_for_values_that_help_has(capfd: pytest.CaptureFixture[str]) -> None:
    page = plain(manual.phoenixctl())

    for verb in spoken():
        with pytest.raises(SystemExit):
            parser(verb.words[0]).parse_args([*verb.words, "--help"])
        helped = re.split(r"^options:$", capfd.readouterr().out, flags=re.MULTILINE)[1]
        section = re.split(rf"^\.SS {verb.name}(?: .*)?$", page, flags=re.MULTILINE)[1].partition("\n.SS ")[0]
        for flag, value in re.findall(r"^  (--[a-z-]+)(?:, -\w)? ([A-Z_=]+)", helped, re.MULTILINE):
            where = section if flag != "--socket" else page
            assert re.search(rf"^(-\w, )?{flag} {value}$", where, re.MULTILINE), (verb.name, flag, value)


def test_help_names_each_verb_of_a_group_once(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--help"])
    told = " ".join(capfd.readouterr().out.split())

    assert "task Hand tasks to workers: run, status, cancel memory" in told
    assert "breaker What stops a loop that changes nothing: show, reset cleanup" in told


def test_phoenixd_8_has_each_variable_that_names_a_directory() -> None:
    read = set(re.findall(r'"((?:[A-Z]+_)+(?:DIR|DIRECTORY|HOME))"', inspect.getsource(directories)))

    assert len(read) > 7
    assert [one for one in read if one not in plain(manual.phoenixd())] == []


def test_a_comment_that_goes_on_is_one_sentence_and_a_table_that_is_an_example_a_section() -> None:
    lines = plain(manual.configuration(CONFIGURATION)).splitlines()

    assert any(
        line.endswith("asked without tools), command, or model (needs: pip install 'phoenixd[clinic]')")
        for line in lines
    )
    assert any(line.endswith("the first one leads, and is started and stopped for all:") for line in lines)
    assert ".SS [agent.builder]" in lines
    assert "a turn without a condition always comes" in lines


@pytest.mark.parametrize("page", [manual.phoenixctl(), manual.phoenixd(), manual.configuration(CONFIGURATION)])
def test_man_has_nothing_to_warn_of(page: str, tmp_path: Path) -> None:
    man = shutil.which("man")
    if man is None:
        pytest.skip("not run: man is not installed")
    (tmp_path / "page").write_text(page)
    told = subprocess.run(
        [man, "--warnings=w", "-l", str(tmp_path / "page")], capture_output=True, text=True, timeout=60, check=True
    )
    assert (told.stderr, "SEE ALSO" in told.stdout) == ("", True)


def test_phoenixd_8_has_the_options_of_the_daemon(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        daemon.main(["--help"])
    told = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}

    assert {option.flag for option in manual.DAEMON_OPTIONS} == told
    assert all(flag in plain(manual.phoenixd()) for flag in told)


def test_phoenixd_toml_5_has_every_key_with_its_default() -> None:
    page = plain(manual.configuration(CONFIGURATION))
    lines = set(page.splitlines())
    keys: list[str] = []

    def look(table: dict[str, object], above: str) -> None:
        for key, value in table.items():
            if isinstance(value, dict):
                has_keys = not value or any(not isinstance(one, dict) for one in value.values())
                assert not has_keys or f".SS [{above}{key}]" in lines, f"{above}{key}"
                look(value, f"{above}{key}.")
            else:
                keys.append(key)

    look(tomllib.loads(CONFIGURATION), "")
    assert len(keys) > 100
    assert [key for key in keys if not any(line.startswith(f"{key} = ") for line in lines)] == []
    assert "restart" in page
    assert 'webhook = "https://chat.example/hook" (example)' in page


@pytest.mark.parametrize("page", [manual.phoenixctl(), manual.phoenixd(), manual.configuration(CONFIGURATION)])
def test_no_word_is_taken_for_a_request(page: str) -> None:
    """A line of words that begins with a dot or an apostrophe would vanish."""
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}

    assert requests <= {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".BR", ".nh", ".ad", '.\\"'}
    assert page.isascii()
