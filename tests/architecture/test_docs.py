"""The documentation tells the truth: links lead somewhere, verbs and paths exist, the code map is whole."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from phoenixd import config
from phoenixd.api.operations import OPERATIONS, verbs
from phoenixd.core import alert_kinds
from phoenixd.core.agent.state import State
from phoenixd.core.alert_kinds.fleet import NOT_TOLD
from phoenixd.core.alerts import DEGRADED
from phoenixd.core.transitions import RECOVER, TOO_LONG
from phoenixd.ctl.command_line import PASSED_ON
from phoenixd.ctl.grammar import parse
from tests.architecture import feed_page, generated, reference

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))

    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]

    assert missing == []


@each_page
def test_verbs_exist(page: Path) -> None:
    known = {words[0] for words in verbs()}
    text = page.read_text(encoding="utf-8")

    named = set(re.findall(r"phoenixctl ([a-z][a-z-]+)", code_of(text)))

    assert named - known == set()


@each_page
def test_paths_and_commands_of_this_repository_exist(page: Path) -> None:
    code = code_of(page.read_text(encoding="utf-8"))
    paths = re.findall(r"(?<![\w/.~-])((?:phoenixd|tests|docs|config|systemd)/[\w./*-]*)", code)
    commands = set(re.findall(r"\./dev ([a-z-]+)", code))
    offered = set(re.findall(r"^  ([a-z-]+) ", (ROOT / "dev").read_text(encoding="utf-8"), re.MULTILINE))

    missing = [path for path in paths if path.rstrip(".") not in EXAMPLES and not (ROOT / path).exists()]
    assert missing == []
    assert commands - offered == set()


# Paths of the reader's own project.
EXAMPLES = {"docs/plan.md"}


def code_of(text: str) -> str:
    """What a page shows as code, in blocks and between backticks."""
    blocks = re.findall(r"^```.*?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", text)])


def test_the_reference_of_phoenixctl_is_drawn_from_the_table() -> None:
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page()


def test_the_reference_of_the_feed_is_drawn_from_its_schemas() -> None:
    """Remedy: python -m tests.architecture.feed_page."""
    assert feed_page.PAGE.read_text(encoding="utf-8") == feed_page.page()
    assert set(feed_page.WHEN) == set(feed_page.STREAMED["follow_feed"])


def test_the_reference_names_every_argument_that_phoenixctl_takes() -> None:
    """`events AGENT` is advised by phoenixctl itself, and could not be looked up."""
    rows = re.findall(r"^\| `([^`]+)` \|", reference.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    operations = [operation for operation in OPERATIONS if operation.words]

    lacking = [
        (row, parameter.name)
        for row, operation in zip(rows, operations, strict=True)
        for parameter in operation.parameters
        if not parameter.hidden and (parameter.flag or parameter.name.upper()) not in row
    ]
    assert lacking == []


def test_the_page_of_states_has_each_state_and_each_activity() -> None:
    """`parked` was missing, and it is what an operator sees on the night of a limit."""
    page = (ROOT / "docs/reference/states.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `([a-z_]+)` \|", page, re.MULTILINE)
    states = [get_args(get_type_hints(state)["name"])[0] for state in get_args(State)]

    assert sorted(told) == sorted(["state", *states])
    assert all(word in page for word in ("working", "idle", "waiting"))


def test_the_page_of_alerts_has_each_kind_that_is_raised() -> None:
    """Who reads `background jobs lost` at night looks it up, and it was not there."""
    page = (ROOT / "docs/how-to/get-told.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`[a-z. :]+`(?:, )?)+) \|", page, re.MULTILINE)
    told = {kind for row in rows for kind in re.findall(r"`([^`]+)`", row)}

    assert len(raised := kinds_raised()) > 20
    assert sorted(raised - told) == []


@pytest.mark.parametrize(("name", "begins"), generated.PARTS)
def test_the_parts_that_are_made_from_the_code_are_as_the_code_says(name: str, begins: str) -> None:
    """Remedy: python -m tests.architecture.generated."""
    page = (ROOT / name).read_text(encoding="utf-8")

    assert generated.rewritten(page, begins, generated.PARTS[name, begins]()) == page


def kinds_raised() -> set[str]:
    """The kinds of alerts and items that the code names, as words or by a constant of the same file."""
    found = {kind.name for kind in alert_kinds.TABLE if kind.is_question}
    for path in (ROOT / "phoenixd").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        known = {"DEGRADED": DEGRADED, "RECOVER": RECOVER, "TOO_LONG": TOO_LONG, "NOT_TOLD": NOT_TOLD}
        constants = known | dict(re.findall(r'^([A-Z_]+) = "([a-z ]+)"$', text, re.MULTILINE))
        for word, name in re.findall(r'\b(?:Alert|TroubleSeen|open_item)\([\w.]+, (?:"([a-z ]+)"|([A-Z_]+)\b)', text):
            found.add(word or constants[name])
    return found


def test_p88_the_sources_of_the_design_are_credited() -> None:
    page = (ROOT / "docs/credits.md").read_text(encoding="utf-8")

    for source in ("Phoenix Protocol", "Genesis", "Everlasting", "Resonance", "Ralph", "parallel-cc", "CC0"):
        assert source in page
    assert "credits.md" in (ROOT / "docs/README.md").read_text(encoding="utf-8")


def test_every_room_is_on_the_code_map() -> None:
    """Files beside the rooms, and rooms that only tests have, are looked for as well."""
    code_map = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rooms = {path.parent for path in (ROOT / "phoenixd").glob("*/*.py")}
    only_tests = {path.parent.name for path in (ROOT / "tests").glob("*/*.py")} - {room.name for room in rooms}
    beside = [path.name for path in (ROOT / "phoenixd").glob("[a-z]*.py")]

    assert sorted(room.name for room in rooms if f"`phoenixd/{room.name}/`" not in code_map) == []
    assert sorted(name for name in beside if name not in code_map) == []
    assert sorted(name for name in only_tests if f"`{name}/`" not in code_map) == []


@pytest.mark.parametrize("room", ["core", "memory", "runtime", "service", "start", "wiring", "jobs"])
def test_every_module_of_a_room_in_which_one_gets_lost_is_on_the_code_map(room: str) -> None:
    code_map = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")

    modules = {path.name for path in (ROOT / "phoenixd" / room).glob("*.py")} - {"__init__.py"}
    named = {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", code_map)}

    assert sorted(modules - named) == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 80


def test_the_configuration_with_every_default_loads(tmp_path: Path) -> None:
    loaded = config.load_configuration(ROOT / "config" / "phoenixd.toml", tmp_path, {})

    assert list(loaded.problems) == []


def test_every_test_that_a_promise_names_exists() -> None:
    promises = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
    names = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", promises)

    assert names
    for path, test in names:
        assert (ROOT / path).exists(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), test


def test_every_promise_by_tier_is_one_of_the_page_and_says_what_each_tier_holds() -> None:
    page = (ROOT / "docs/promises.md").read_text(encoding="utf-8")
    table, _, by_tier = page.partition("## By tier")
    promised = re.findall(r"^\| (\d+) \|", table, re.MULTILINE)
    rows = [line.strip("| ").split(" | ") for line in by_tier.splitlines() if re.match(r"\| \d+ \|", line)]

    assert "| | cgroup | subreaper | namespace |" in by_tier
    assert [number for number, *_ in rows if number not in promised] == []
    assert {"1", "2", "3", "4", "5", "7"} <= {number for number, *_ in rows}, (
        "what an agent that means harm would break"
    )
    for number, *tiers in rows:
        assert len(tiers) == 3, number
        assert all(re.search(r"[Aa]lways|Accidents|The same", told) for told in tiers), number


def test_no_page_names_a_machine_of_ours() -> None:
    """A path of somebody's machine is of no use to anybody else."""
    pattern = re.compile(r"(?<![\w.])/(?:work|root|tmp)/[\w]")

    assert [page.name for page in PAGES if pattern.search(page.read_text(encoding="utf-8"))] == []


def commands_of(page: Path) -> list[list[str]]:
    """The lines of a page's blocks that run phoenixctl, in words."""
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = "\n".join(blocks).splitlines()
    found = [re.search(r"(?:^|\| |sudo )phoenixctl (?P<words>[^|;&>]*)", line) for line in lines]
    return [shlex.split(one["words"], comments=True) for one in found if one is not None]


@each_page
def test_every_command_that_a_page_shows_is_understood(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = []
    for words in commands_of(page):
        try:
            _ = words[0] in PASSED_ON or parse(words)
        except SystemExit:
            refused.append((words, capsys.readouterr().err))

    assert refused == []


RUN_BY = {"run-as-a-service.md": "tests/systemd/test_install.py", "answer-questions.md": "tests/e2e/test_answers.py"}
"""Pages whose commands a test runs without reading the page: they need root and systemd, or a number from the inbox."""


def test_every_page_with_commands_is_run_by_a_test() -> None:
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    with_commands = [page for page in PAGES if page.parent.name in ("how-to", "tutorial") and commands_of(page)]

    unread = [page.name for page in with_commands if not any(page.name in test for test in tests)]

    assert len(with_commands) > 5
    assert sorted(unread) == sorted(RUN_BY)
    assert all((ROOT / test).exists() for test in RUN_BY.values())
