"""1,000 prompts to terminals that swallow Enters, redraw stale frames, sit in copy mode or are 2x1 cells large."""

from __future__ import annotations

import argparse
import http.client
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from phoenixd.demo.stage import Stage
from tests.e2e import balky_cli

PROMPTS = 1000
CLI = Path(balky_cli.__file__)
COLUMNS = ("sent", "delivered", "not", "wrong", "approved", "swallowed", "s each")
HEADER = f"{'terminal':45}" + "".join(f"{column:>10}" for column in COLUMNS)


@dataclass(frozen=True, slots=True)
class Terminal:
    """What is wrong with one agent's terminal. The program does `traits`; copy mode and size are done to it."""

    traits: tuple[str, ...] = ()
    copy_mode: bool = False
    tiny: bool = False

    @property
    def text(self) -> str:
        done = (*self.traits, *(("copy mode",) if self.copy_mode else ()), *(("2x1",) if self.tiny else ()))
        return ", ".join(done) or "well-behaved"


ALL = ("swallows", "stale", "stalls", "asks")
TERMINALS = (
    Terminal(("swallows",)),
    Terminal(("stale",)),
    Terminal(copy_mode=True),
    Terminal(tiny=True),
    Terminal(("stalls",)),
    Terminal(("asks",)),
    Terminal(("swallows", "stale")),
    Terminal(("swallows",), copy_mode=True, tiny=True),
    Terminal(("swallows", "stale"), copy_mode=True, tiny=True),
    Terminal(ALL, copy_mode=True, tiny=True),
)


@dataclass(slots=True)
class Correspondence:
    """The texts that were sent to one agent, what was said of each, and what its program took."""

    name: str
    terminal: Terminal
    log: Path
    said: dict[str, bool] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def records(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    @property
    def wrong(self) -> list[str]:
        """What contradicts the program's own record: each text once if it was called delivered, and else never."""
        took = Counter(str(record["submitted"]) for record in self.records if "submitted" in record)
        found = [
            f"delivered: {delivered} ({self.why[text]}), but taken {took[text]} times: {text!r:.60}"
            for text, delivered in self.said.items()
            if took[text] != int(delivered)
        ]
        return found + [f"never sent, but taken: {text!r:.60}" for text in took if text not in self.said]

    @property
    def reasons(self) -> Counter[str]:
        return Counter(self.why[text] for text, delivered in self.said.items() if not delivered)

    @property
    def approved(self) -> int:
        return sum("approved" in record for record in self.records)

    @property
    def row(self) -> str:
        swallowed = max((int(record["did"].get("swallowed", 0)) for record in self.records), default=0)  # type: ignore[attr-defined]
        delivered, sent = sum(self.said.values()), len(self.said)
        counts = (sent, delivered, sent - delivered, len(self.wrong), self.approved, swallowed)
        each = f"{self.seconds / max(1, sent):10.2f}"
        return f"{self.terminal.text:45}" + "".join(f"{count:10}" for count in counts) + each


def correspond(stage: Stage, terminals: Iterable[Terminal], each: int, seed: int) -> list[Correspondence]:
    """Send `each` prompts to an agent at every one of the terminals, all of them side by side."""
    (stage.root / "home").mkdir()
    stage.declare("00", "[fleet]\nmax_starting = 10\n")
    all_of_them = []
    for number, terminal in enumerate(terminals):
        name = f"t{number}"
        log = stage.root / f"{name}.log"
        argv = json.dumps([sys.executable, str(CLI), str(log), f"{seed}-{number}", *terminal.traits])
        env = f'{{ HOME = "{stage.root}/home" }}'
        stage.declare(name, f'[agent.{name}]\nharness = "claude"\nargv = {argv}\ncwd = "{stage.root}"\nenv = {env}\n')
        all_of_them.append(Correspondence(name, terminal, log))
    stage.up()
    names = {one.name for one in all_of_them}
    stage.until("all run", lambda: {name for name, row in stage.rows().items() if row["state"] == "running"} == names)
    threads = [
        threading.Thread(target=_send_all, args=(stage, one, each, random.Random(f"{seed}-{one.name}")), daemon=True)
        for one in all_of_them
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return all_of_them


def send(stage: Stage, name: str, text: str) -> tuple[bool, str]:
    """What the daemon says of one text: whether it was delivered, and why."""
    connection = http.client.HTTPConnection("phoenixd", timeout=300)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(stage.runtime / "api.sock"))
    try:
        connection.request("POST", f"/v1/agents/{name}/send", json.dumps({"text": text, "timeout": "4m"}))
        answer = connection.getresponse()
        body = json.loads(answer.read())
    finally:
        connection.close()
    if answer.status == 409:
        return False, str(body["detail"])
    if body["delivered"] is None:
        raise RuntimeError(f"{name}: neither delivered nor not delivered: {body['message']}")
    return bool(body["delivered"]), str(body["evidence"])


def _send_all(stage: Stage, one: Correspondence, each: int, dice: random.Random) -> None:
    began = time.monotonic()
    over = threading.Event()
    meddler = threading.Thread(target=_meddle, args=(stage, one, over, random.Random(dice.random())), daemon=True)
    meddler.start()
    for number in range(each):
        if one.terminal.tiny and number % 3 == 0:
            _tmux(stage, "resize-window", "-t", f"=phx-{one.name}:0", "-x", "2", "-y", "1")
        if one.terminal.copy_mode:
            _tmux(stage, "copy-mode", "-t", f"=phx-{one.name}:0.0")
        text = _prompt(one.name, number, dice)
        delivered, why = send(stage, one.name, text)
        one.said[text], one.why[text] = delivered, why
    one.seconds = time.monotonic() - began
    over.set()
    meddler.join()


def _meddle(stage: Stage, one: Correspondence, over: threading.Event, dice: random.Random) -> None:
    """Go into copy mode again at any moment."""
    while one.terminal.copy_mode and not over.wait(dice.uniform(0.1, 1.0)):
        _tmux(stage, "copy-mode", "-t", f"=phx-{one.name}:0.0")


def _prompt(name: str, number: int, dice: random.Random) -> str:
    text = f"{name} prompt {number} {dice.getrandbits(64):x}"
    match dice.randrange(10):
        case 0:
            return text + "".join(f"\nline {line}: {dice.getrandbits(512):x}" for line in range(dice.randint(50, 140)))
        case 1:
            return text + "".join(f"\n{line}. naïve – 汉字 🙂" for line in range(dice.randint(1, 4)))
        case 2:
            return text + " word" * dice.randint(20, 100)
        case _:
            return text


def _tmux(stage: Stage, *arguments: str) -> None:
    subprocess.run(["tmux", "-N", "-S", str(stage.runtime / "tmux.sock"), *arguments], capture_output=True, check=False)


def main(arguments: list[str]) -> int:
    """Send, count, and print what came of it."""
    parser = argparse.ArgumentParser(prog="./dev proof prompts", description=__doc__)
    parser.add_argument("--prompts", type=int, default=PROMPTS)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="phx-") as root:
        stage = Stage(Path(root))
        try:
            found = correspond(stage, TERMINALS, given.prompts // len(TERMINALS), given.seed)
            print(HEADER, *(one.row for one in found), sep="\n")
            reasons = sum((one.reasons for one in found), Counter())
            wrong = [f"{one.name}: {what}" for one in found for what in one.wrong]
            approved = sum(one.approved for one in found)
        finally:
            stage.down()
    for reason, count in reasons.most_common():
        print(f"not delivered, {count} times: {reason}")
    print(*wrong, sep="\n")
    sent = sum(len(one.said) for one in found)
    delivered = sum(sum(one.said.values()) for one in found)
    print(
        f"{sent} prompts, seed {given.seed}: {delivered} delivered exactly once, {sent - delivered} reported as not "
        f"delivered, {len(wrong)} wrong, {approved} dialogs answered by mistake, {time.monotonic() - began:.0f} s"
    )
    return 1 if wrong or approved else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
