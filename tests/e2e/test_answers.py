"""`phoenixctl answer`: the first answer wins, the loser is told, and nothing but what was shown is approved (P9)."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests.e2e import asking_agent
from tests.e2e.asking_agent import EXPIRES
from tests.e2e.census import all_ends
from tests.e2e.inbox import Inbox
from tests.typed import typed

pytestmark = pytest.mark.slow

CONFLICT, DENIED, USAGE = 6, 5, 2
RESTART = (
    "restart = {max_crashes = 100, max_unproductive = 0, "
    'period = "1m", backoff_initial = "10ms", backoff_max = "10ms"}\n'
)
"""One turn of an agent has all its races, so a run that dies between two of them has no turn that ended well."""
HAZARDS = {3: "two tools", 7: "daemon dies", 13: "agent dies", 17: "expiry"}
"""What else happens in every twentieth race."""


class Asking:
    """One agent that asks on command, and what came of each ask."""

    def __init__(self, stage: Stage, agent: str) -> None:
        self.stage, self.agent, self.room = stage, agent, stage.root / agent
        self.room.mkdir()
        os.mkfifo(self.room / "asks.fifo")
        self._asks = os.open(self.room / "asks.fifo", os.O_RDWR)
        self._inbox = Inbox(stage.runtime)
        self.answer, self.recheck = self._inbox.answer, self._inbox.recheck
        argv = json.dumps([sys.executable, "-I", "-S", asking_agent.__file__, str(self.room)])
        transcript = str(self.room / "transcript.jsonl")
        more = f'transcript = "{transcript}"\nenv = {{TRANSCRIPT = "{transcript}"}}\n'
        stage.declare(
            agent, f'[agent.{agent}]\nargv = {argv}\ncwd = "{os.getcwd()}"\nhold_permissions = true\n{more}{RESTART}'
        )

    def items(self) -> list[dict[str, Any]]:
        return [item for item in self._inbox.items() if item["agent"] == self.agent]

    def row(self) -> dict[str, Any]:
        return self.stage.row(self.agent)

    def close(self) -> None:
        os.close(self._asks)

    def put(self, *names: str) -> None:
        """Have it ask for each of these files, one after the other."""
        os.write(self._asks, f"{' '.join(names)}\n".encode())

    def ask(self, *names: str) -> dict[str, Any]:
        """Have it ask, and return the first one's inbox item once it is there."""
        self.put(*names)
        return self.item(names[0])

    def ask_question(self, name: str) -> dict[str, Any]:
        """The same for a question with options."""
        self.put(name)
        items: list[dict[str, Any]] = []

        def shown() -> bool:
            items[:] = [one for one in self.items() if one["title"] == f"{name}: welche?"]
            return bool(items)

        self.stage.until(f"{name} is in the inbox", shown)
        assert (items[0]["kind"], items[0]["answer_by"]) == ("question", "answer")
        return items[0]

    def until_shown(self, words: str) -> None:
        self.stage.until(f"the terminal shows {words}", lambda: words in self.tmux("capture-pane", "-pJ"))

    def item(self, name: str) -> dict[str, Any]:
        item: dict[str, Any] = {}

        def shown() -> bool:
            item.update(next((one for one in self.items() if one["text"] == f"Bash touch {name}"), {}))
            return bool(item)

        self.stage.until(f"{name} is in the inbox", shown)
        return item

    def item_or_fate(self, name: str) -> dict[str, Any] | None:
        """Its inbox item, or None when it was answered before."""
        found: list[dict[str, Any] | None] = []

        def settled() -> bool:
            shown = next((one for one in self.items() if one["text"] == f"Bash touch {name}"), None)
            found[:] = [shown]
            return shown is not None or self.fate(name)[0] != "nobody"

        self.stage.until(f"{name} is asked for", settled)
        return found[0]

    def glimpse(self, name: str) -> dict[str, Any] | None:
        """Its inbox item, unless it was gone before anybody saw it."""
        until = time.monotonic() + EXPIRES
        while time.monotonic() < until:
            if shown := next((one for one in self.items() if one["text"] == f"Bash touch {name}"), None):
                return shown
        return None

    def until_asked(self, name: str) -> None:
        """Until it shows on the terminal, for no daemon could tell."""
        self.stage.until(f"{name} is asked for", lambda: f"allow {name}?" in self.tmux("capture-pane", "-p"))

    def story(self) -> str:
        """Why everything was done, one reason a line."""
        rows = (self.stage.state / "agents" / self.agent / "ops.jsonl").read_text().splitlines()
        return "\n".join(json.loads(row)["meta"].get("reason", "") for row in rows)

    def strike(self, hazard: str, row: dict[str, Any] | None) -> None:
        if hazard == "daemon dies":
            self.stage.kill()
        if row is not None:
            os.kill(row["pid"], signal.SIGKILL)

    def type(self, text: str) -> None:
        self.tmux("send-keys", text, "Enter")

    def tmux(self, verb: str, *words: str) -> str:
        argv = ["tmux", "-S", str(self.stage.runtime / "tmux.sock"), verb]
        target = ["-t", f"=phx-{self.agent}:"]
        return subprocess.run([*argv, *target, *words], check=True, capture_output=True, text=True).stdout

    def fate(self, name: str) -> tuple[str, str]:
        """What became of the ask of an agent that was killed meanwhile: it may have heard nobody."""
        log = self.room / "log"
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        by, came = next((line[1:] for line in lines if line[0] == name), ["nobody", "no"])
        return by, came

    def outcome(self, name: str) -> tuple[str, str]:
        """Who answered, and what."""
        found: list[str] = []

        def logged() -> bool:
            log = self.room / "log"
            lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
            found[:] = next((line[1:] for line in lines if line[0] == name), [])
            return bool(found)

        self.stage.until(f"{name} is answered", logged)
        assert (self.room / name).exists() == (found[1] == "yes")
        return found[0], found[1]

    def is_quiet(self) -> None:
        self.stage.until("nothing waits", lambda: self.items() == [])


@pytest.fixture(scope="module")
def crowd() -> Iterator[list[Asking]]:
    """One daemon and four agents for all these tests; each asks for files of its own."""
    root = Path(tempfile.mkdtemp(prefix="phx-"))
    stage = Stage(root)
    agents = [Asking(stage, f"a{number}") for number in range(4)]
    stage.up()
    for one in agents:
        stage.until_running(one.agent, 1)
    yield agents
    stage.down()
    for one in agents:
        one.close()
    all_ends(root)
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def asking(crowd: list[Asking]) -> Asking:
    return crowd[0]


def test_promise_11_an_operator_allows_once_and_denies_with_a_reason(asking: Asking) -> None:
    stage = asking.stage
    item = asking.ask("allowed")
    assert (item["kind"], item["answer_by"]) == ("permission", "answer")
    assert typed(stage, "answer", str(item["id"]), "allow") in stage.ask("inbox")
    assert "allowed" in stage.ask("answer", str(item["id"]), "allow")
    assert asking.outcome("allowed") == ("answer", "yes")
    asking.is_quiet()
    # Once: what is asked next has another number, and an answer to the old one reaches nobody.
    again = asking.ask("denied")
    assert stage.ctl("answer", str(item["id"]), "allow").returncode == CONFLICT
    assert stage.ctl("answer", str(again["id"]), "deny", "no", "--hash", "0" * 64).returncode == CONFLICT
    stage.ask("answer", str(again["id"]), "deny", "not before the release")
    assert asking.outcome("denied") == ("answer", "no")
    assert "not before the release" in (asking.room / "transcript.jsonl").read_text()
    asking.is_quiet()


@pytest.mark.parametrize("typed", ["yes", "no"])
def test_promise_11_the_terminal_stays_usable_and_a_late_answer_is_told_so(asking: Asking, typed: str) -> None:
    item = asking.ask(f"typed-{typed}")
    asking.type(typed)
    assert asking.outcome(f"typed-{typed}") == ("keyboard", typed)
    assert asking.answer(item["id"], "allow" if typed == "no" else "deny") is False
    asking.is_quiet()


def test_promise_11_two_tools_in_one_message_are_two_items(asking: Asking) -> None:
    first = asking.ask("both-1", "both-2")
    assert asking.answer(first["id"], "deny") is True
    second = asking.item("both-2")
    assert second["id"] != first["id"]
    assert asking.answer(first["id"], "allow") is False
    assert asking.answer(second["id"], "allow") is True
    assert (asking.outcome("both-1"), asking.outcome("both-2")) == (("answer", "no"), ("answer", "yes"))
    asking.is_quiet()


def test_promise_11_an_item_survives_kill_9_of_the_daemon_and_is_answered_by_the_next(asking: Asking) -> None:
    item = asking.ask("survives")
    asking.stage.kill()
    asking.stage.up()
    kept = asking.items()
    assert [(one["id"], one["text_hash"], one["answer_by"]) for one in kept] == [
        (item["id"], item["text_hash"], "answer")
    ]
    assert asking.answer(item["id"], "allow") is True
    assert asking.outcome("survives") == ("answer", "yes")
    asking.is_quiet()


@pytest.mark.parametrize("verdict", ["allow", "deny"])
def test_promise_11_an_answer_that_the_agent_took_is_told_though_the_daemon_died_before_it_could(
    asking: Asking, verdict: str
) -> None:
    """The daemon dies between the answer and its evidence: tmux stands still, and the verdict waits for its word."""
    stage, name = asking.stage, f"{verdict}-lingers"
    item = asking.ask(name)
    server = int(asking.tmux("display-message", "-p", "#{pid}"))
    said: list[bool | None] = []
    operator = threading.Thread(target=lambda: said.append(asking.answer(item["id"], verdict)))
    try:
        os.kill(server, signal.SIGSTOP)
        operator.start()
        assert asking.outcome(name) == ("answer", "yes" if verdict == "allow" else "no")
        stage.kill()
    finally:
        os.kill(server, signal.SIGCONT)
    operator.join()
    assert said == [None], "the operator was told nothing"

    stage.up()

    asking.is_quiet()
    (asking.room / f"{name}.over").touch()
    stage.until("the story tells of it", lambda: f"#{item['id']}: its answer was taken" in asking.story())
    assert f"#{item['id']} was being answered ({verdict}) when phoenixd was restarted" in asking.story()
    assert asking.answer(item["id"], verdict) is False
    assert [line.split()[0] for line in (asking.room / "log").read_text().splitlines()].count(name) == 1


def test_promise_11_a_hundred_rechecks_by_cron_leave_every_question_answerable(asking: Asking) -> None:
    item = asking.ask("rechecked")
    asking.stage.ask("watchdog", "--once")
    for _ in range(99):
        asking.recheck()
    assert [(one["id"], one["answer_by"]) for one in asking.items()] == [(item["id"], "answer")]
    assert asking.answer(item["id"], "allow") is True
    assert asking.outcome("rechecked") == ("answer", "yes")
    asking.is_quiet()


def test_promise_11_what_was_asked_and_answered_while_no_daemon_lived_cannot_be_answered_again(asking: Asking) -> None:
    known = asking.ask("known")
    asking.stage.kill()
    asking.type("no")
    assert asking.outcome("known") == ("keyboard", "no")
    asking.put("unknown")
    asking.until_asked("unknown")
    asking.type("no")
    assert asking.outcome("unknown") == ("keyboard", "no")
    asking.stage.up()
    assert asking.answer(known["id"], "allow") is False
    asking.is_quiet()
    assert not (asking.room / "known").exists()


def test_promise_11_neither_the_token_nor_the_tree_of_an_agent_can_answer(asking: Asking) -> None:
    item = asking.ask("tempting")
    pid = asking.row()["pid"]
    environ = dict(
        entry.split("=", 1) for entry in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in entry
    )
    outside = asking.stage.environ
    asking.stage.environ = {**outside, "PHOENIX_TOKEN": environ["PHOENIX_TOKEN"]}
    denied = asking.stage.ctl("answer", str(item["id"]), "allow")
    asking.stage.environ = outside
    assert denied.returncode == DENIED
    assert asking.answer(item["id"], "deny") is True
    assert asking.outcome("tempting") == ("answer", "no")
    asking.is_quiet()


def test_promise_11_the_death_of_the_agent_closes_the_question(asking: Asking) -> None:
    item = asking.ask("dying")
    row = asking.row()
    os.kill(row["pid"], signal.SIGKILL)
    asking.stage.until_running(asking.agent, row["incarnation"] + 1)
    assert asking.answer(item["id"], "allow") is False
    assert not (asking.room / "dying").exists()
    asking.is_quiet()


def test_p14_a_question_is_answered_by_its_options_and_one_left_by_a_dead_run_by_typing(asking: Asking) -> None:
    stage = asking.stage
    first = asking.ask_question("question-1")
    assert first["shown"][1:] == ["  question-1: welche?", "  1. SQLite - a file", "  2. größer - a server"]
    assert stage.ctl("answer", asking.agent, "allow").returncode == USAGE
    stage.ask("answer", asking.agent, "2")
    assert asking.outcome("question-1") == ("answer", "yes")
    assert json.loads((asking.room / "question-1").read_text()) == {"question-1: welche?": "größer"}
    asking.is_quiet()

    left = asking.ask_question("question-2")
    row = asking.row()
    os.kill(row["pid"], signal.SIGKILL)
    stage.until_running(asking.agent, row["incarnation"] + 1)
    (again,) = asking.items()
    assert (again["id"], again["left"], again["incarnation"]) == (left["id"], True, row["incarnation"])
    assert "welche?" in stage.ask("brief", "show", asking.agent)
    stage.kill()
    stage.up()
    stage.until_running(asking.agent, row["incarnation"] + 1)
    stage.ask("answer", str(left["id"]), "SQLite")
    asking.is_quiet()
    asking.until_shown("The answer is: SQLite")


@pytest.mark.parametrize("races", [20, pytest.param(1000, marks=pytest.mark.proof)])
def test_promise_11_in_a_race_of_keyboard_and_answer_one_wins_and_the_other_is_told(
    crowd: list[Asking], races: int
) -> None:
    """The operator says the opposite of the keyboard, so that it shows whose word counted."""
    dice, tally = random.Random(races), Counter[str]()
    for number in range(races):
        # Of one agent's questions no more than some are told in a second.
        asking, name, typed = crowd[number % 4], f"r{races}-{number}", dice.choice(["yes", "no"])
        hazard = HAZARDS.get(number % 20, "")
        name += "-expires" if hazard == "expiry" else ""
        # The other tool of its message is asked for as soon as this one is settled, and both share the keyboard.
        names = (name, f"{name}-next") if hazard == "two tools" else (name,)
        asking.put(*names)
        item = asking.glimpse(name) if hazard == "expiry" else asking.item(name)
        before = asking.row() if hazard == "agent dies" else None
        # A request that expires is answered about when it does, and the keyboard comes after that.
        about = EXPIRES - 0.1 if hazard == "expiry" else 0.0
        keyboard = threading.Timer(about + dice.uniform(0.0, 0.1), asking.type, [typed])
        keyboard.start()
        peril = threading.Timer(dice.uniform(0.0, 0.1), asking.strike, [hazard, before])
        peril.start()
        time.sleep(about + dice.uniform(0.0, 0.02))
        taken = item is not None and asking.answer(item["id"], "deny" if typed == "yes" else "allow")
        keyboard.join()
        peril.join()
        if hazard == "daemon dies":
            asking.stage.up()
        if before is not None:
            asking.stage.until_running(asking.agent, before["incarnation"] + 1)
        by, came = asking.fate(name) if before is not None else asking.outcome(name)
        tally[by] += 1
        tally[hazard] += 1
        assert by == "nobody" or (came == typed if by == "keyboard" else came != typed)
        # A client that is told that it counted is told of what came about; None: the daemon died, and told nothing.
        unsaid = (hazard == "daemon dies" and taken is None) or (hazard == "agent dies" and taken is False)
        assert taken is (by == "answer") or unsaid, (name, by, came, taken, hazard)
        if hazard == "two tools":
            second = asking.item_or_fate(names[1])
            allowed = second is not None and asking.answer(second["id"], "allow")
            # A line that was typed too late for the first question is an answer to the second one, as in any terminal.
            assert asking.outcome(names[1]) == (("answer", "yes") if allowed else ("keyboard", typed))
        asking.is_quiet()
    told = ", ".join(f"{tally[one]} with {one}" for one in HAZARDS.values())
    print(f"{races} races: the keyboard won {tally['keyboard']}, the operator {tally['answer']}; {told}")
