"""Whatever the package tells people to do can be done: commands parse, keys are accepted, options exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from phoenixd.api.operations import OPERATIONS, verbs
from phoenixd.config.tables import ConfigurationTable
from phoenixd.config.tables.agent import AgentTable
from phoenixd.ctl.command_line import PASSED_ON
from phoenixd.ctl.grammar import parse
from phoenixd.documents import entering
from phoenixd.remedies import Command, Remedy, Sentence, anew, then
from tests.architecture.remedies import KEY, ROOT, SAMPLE, commands, remedies, texts

OTHERS_OPTIONS = frozenset({"--help", "--version", "--reinstall"})
"""Options of every program, and of apt-get."""
PROSE = frozenset({"and", "answered", "for", "is", "phoenixctl", "prints"})
"""Words with which a sentence about phoenixctl goes on."""
COMMANDS = frozenset("phoenixctl apt-get chmod chown findmnt ls loginctl mkdir mv pip rm systemctl tail tmux".split())
"""With which words a remedy begins that is a command, and no sentence."""
OWN_OPTIONS = re.compile(r'add_argument\(\s*"(--[a-z-]+)"')


def test_every_command_that_a_text_names_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    told = {tuple(words): text for text in texts() for words in commands(text.words)}

    assert len(told) > 50
    assert [str(text) for words, text in told.items() if not is_understood(list(words), capsys)] == []


def test_every_key_that_a_remedy_names_is_accepted() -> None:
    """ "[daemon] tmux" was the remedy against a tmux that is too old, and a key that is refused."""
    wrong = []
    for text in remedies():
        for table, key, short_table, short_key in KEY.findall(text.words):
            known = keys_of(table or short_table)
            if known is not None and (key or short_key) not in known:
                wrong.append(str(text))

    assert wrong == []
    assert keys_of("daemon") is not None
    assert "tmux" not in (keys_of("daemon") or ())


def test_every_option_that_a_remedy_names_exists() -> None:
    named = {(option, str(text)) for text in remedies() for option in re.findall(r"(?<![\w-])--[a-z-]+", text.words)}
    known = OTHERS_OPTIONS | set(options())

    assert {option for option, _ in named} > {"--state-dir"}
    assert [text for option, text in sorted(named) if option not in known] == []


def test_a_remedy_that_begins_with_a_command_is_one_to_its_end() -> None:
    """`findmnt (its file system ...)` and `phoenixctl doctor, again in a moment` are what no shell runs."""
    begun = {text.words: str(text) for text in remedies() if text.words.partition(" ")[0] in COMMANDS}
    # What is given a name first, or said elsewhere, begins with a verb of ours.
    ours = re.compile(rf"phoenixctl ({'|'.join({spoken[0] for spoken in verbs()})})\b")
    begun |= {text.words.removesuffix(" && "): str(text) for text in texts() if ours.match(text.words)}

    assert len(begun) > 100
    assert [where for words, where in begun.items() if not can_be_typed(words)] == []
    assert can_be_typed(anew())
    assert can_be_typed(anew("phoenixctl up --config /srv/c", agents=True))
    assert not can_be_typed("findmnt (its file system has to be mounted again)")
    assert not can_be_typed("phoenixctl doctor, again in a moment")
    assert can_be_typed('phoenixctl down --agents && phoenixctl answer 7 deny "not now, please"')


@pytest.mark.parametrize("failed", ["ENOTCONN", "ENOTDIR", "ENOENT", "ELOOP", "EACCES", "EPERM", "EIO", "EBUSY"])
@pytest.mark.parametrize("way", ["", "/srv/my shop", "/srv/it's (old)"])
def test_what_makes_a_directory_one_that_can_be_entered_is_a_line_for_a_shell(failed: str, way: str) -> None:
    told = entering.remedy("/srv/it's (old)", failed, way, 1000)

    assert told.partition(" ")[0] in COMMANDS
    assert can_be_typed(told), told


def can_be_typed(words: str) -> bool:
    """Whether a shell takes the words, and none of them but a quoted one has a sign of prose behind it."""
    if subprocess.run(["bash", "-n", "-c", words], capture_output=True, check=False).returncode != 0:
        return False
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "quoted", words)
    return not re.search(rf"[,:](?: |$)|;(?! phoenixctl | {SAMPLE}$)|\.$", bare)


def test_nothing_that_is_told_starts_the_daemon_only_where_down_ended_one() -> None:
    """`down` ends with 7 where no daemon runs, and a shell does nothing then behind `&&`."""
    never = re.compile(r"phoenixctl\b[^;&\n]*\bdown\b[^;&\n]*&&")

    told = [str(text) for text in texts() if never.search(text.words)]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "config").rglob("*.toml")]

    assert told == []
    assert [page.name for page in pages if never.search(page.read_text(encoding="utf-8"))] == []
    assert never.search("phoenixctl down --agents && phoenixctl up")
    ran = subprocess.run(["bash", "-c", anew().replace("phoenixctl down", "(exit 7)").replace("phoenixctl", "echo")],
        capture_output=True, text=True, check=False)  # fmt: skip
    assert ran.stdout == "up\n"


def is_understood(words: list[str], capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether the words are a command, perhaps with prose after it; an option that is named has to be understood."""
    if words[0] in (*PASSED_ON, *PROSE, SAMPLE) or tuple(words) in verbs():
        return True
    for length in range(len(words), 0, -1):
        if any(word.startswith("-") for word in words[length:]):
            break
        try:
            parse(words[:length])
        except SystemExit as leaving:
            if leaving.code == 0:
                return True
            continue
        finally:
            capsys.readouterr()
        return True
    return False


def keys_of(table: str) -> set[str] | None:
    """The keys of a table of the configuration, or of an agent's; None where there is no such table."""
    if table == "agent":
        return set(AgentTable.model_fields)
    for model in (ConfigurationTable, AgentTable):
        field = model.model_fields.get(table)
        if field is not None and isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            return set(field.annotation.model_fields)
    return None


def options() -> Iterator[str]:
    for operation in OPERATIONS:
        yield from (parameter.flag for parameter in operation.parameters if parameter.flag)
    yield "--socket"
    yield "--json"
    for path in (ROOT / "phoenixd").rglob("*.py"):
        yield from OWN_OPTIONS.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (Command("mkdir -p '/srv/my shop'"), "mkdir -p '/srv/my shop' && phoenixctl start docs"),
        (Command("sudo apt-get install -y tmux"), "sudo apt-get install -y tmux && phoenixctl start docs"),
        (Command("podman start shop"), "podman start shop && phoenixctl start docs"),
        (Sentence("install tmux 3.2 or newer"), "install tmux 3.2 or newer; then: phoenixctl start docs"),
        (Sentence("kill it by its pid"), "kill it by its pid; then: phoenixctl start docs"),
    ],
)
def test_two_steps_are_one_line_for_a_shell_where_the_first_is_one_whatever_its_first_word(
    first: Remedy, told: str
) -> None:
    both = then(first, "phoenixctl start docs")
    assert both == told
    assert then(both, "phoenixctl status").startswith(f"{told}{' &&' if isinstance(first, Command) else ';'}")
    assert then(first, "") is first
