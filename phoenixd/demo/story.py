"""The story that the demo tells: what kills agents and what fills or cuts their contexts, and what becomes of them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from phoenixd.demo.stage import Stage, StageFailed
from phoenixd.service_install import Parser

NAME, LEADER, KEEPER = "demo", "leader", "keeper"
GOAL = "Count the steps of the demo. Never begin again at one if you can help it."


def main(arguments: list[str]) -> int:
    """Tell the whole story; 0 when every part of it came true."""
    Parser(prog="phoenixctl demo", description=__doc__).parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="phx-demo-") as root:
        stage = Stage(Path(root))
        stage.declare(NAME, _declaration(stage))
        stage.declare(LEADER, _answering(stage, LEADER, 'kind = "orchestrator"\nproject = "demo"\n'))
        stage.declare(KEEPER, _answering(stage, KEEPER, "[agent.keeper.resonance]\nenabled = true\n"))
        try:
            outcomes = _tell(stage)
        except StageFailed as failure:
            print(f"   FAILED: {failure}")
            return 1
        finally:
            stage.down()
    print(f"All {len(outcomes)} came true in {time.monotonic() - began:.0f} s:")
    for outcome in outcomes:
        print(f"  ok  {outcome}")
    print(f"\nNext: {_phoenixctl()} run NAME -- claude      (docs/tutorial/first-agent.md)")
    return 0


def _phoenixctl() -> str:
    """The command as it can be typed: this installation's own, wherever the PATH leads."""
    return shlex.quote(str(Path(sys.executable).with_name("phoenixctl")))


def _tell(stage: Stage) -> list[str]:
    outcomes = []
    for number, chapter in enumerate(CHAPTERS, 1):
        print(f"{number}. {chapter.__doc__}", flush=True)
        outcomes.append(chapter(stage))
        print(f"   {outcomes[-1]}\n", flush=True)
    return outcomes


def _declaration(stage: Stage) -> str:
    program = Path(__file__).with_name("agent.py")
    return f"""\
[agent.{NAME}]
argv = [{json.dumps(sys.executable)}, {json.dumps(str(program))}]
cwd = {json.dumps(str(stage.root))}
prompt = {json.dumps(GOAL)}
prompt_via = "none"
autostart = false
# Short limits, so that minutes become seconds.
[agent.{NAME}.restart]
productive = "1s"
early_exit = "0s"
[agent.{NAME}.resume]
refused_within = "0.3s"
[agent.{NAME}.liveness]
stale = "2s"
check_interval = "1s"
"""


def _answering(stage: Stage, name: str, keys: str) -> str:
    program = Path(__file__).with_name("answering_agent.py")
    return f"""\
[agent.{name}]
argv = [{json.dumps(sys.executable)}, {json.dumps(str(program))}, "{{prompt}}"]
cwd = {json.dumps(str(stage.root))}
prompt = "Do your part of the demo."
autostart = false
resume = {{ enabled = false }}
{keys}"""


def begin(stage: Stage) -> str:
    """An agent is declared, and started under a fresh daemon."""
    stage.up()
    stage.ask("start", NAME)
    row = stage.until_running(NAME, 1, ["fresh"])
    stage.until("the agent works", lambda: stage.row(NAME)["activity"] == "working")
    return f"{NAME} works in its own tmux session, pid {row['pid']}"


def crash(stage: Stage) -> str:
    """The agent is killed with SIGKILL in the middle of its work."""
    _live_a_while(stage)
    took = _kill(stage, 2, "resume")
    return f"killed, and {took * 1000:.0f} ms later a new process resumed the same session"


def refused(stage: Stage) -> str:
    """Its transcript is deleted, then it is killed again: the resume will be refused."""
    _live_a_while(stage)
    for conversation in _files(stage).glob("demo-conversation-*.txt"):
        conversation.unlink()
    _kill(stage, 4, "fresh")
    told = _files(stage) / "demo-told.txt"
    stage.until("the fresh session is told its goal", lambda: GOAL in told.read_text())
    return "resume refused, then fresh at once; the brief told the new session its goal, byte for byte"


def hang(stage: Stage) -> str:
    """It is made to hang on a child that left its process group. The limit here is 2 s instead of 15 min."""
    _live_a_while(stage)
    stage.ask("send", NAME, "hang")
    stage.until_running(NAME, 5, ["resume"])
    return "its silence with an open turn was seen, its whole tree ended (exit 124), and it went on"


def kill_daemon(stage: Stage) -> str:
    """The daemon itself is killed with SIGKILL, and started again."""
    before = stage.row(NAME)["pid"]
    stage.kill()
    if not Path(f"/proc/{before}").exists():
        raise StageFailed("the agent died with the daemon")
    stage.up()
    after = stage.until_running(NAME, 5)["pid"]
    if before != after:
        raise StageFailed(f"the agent was pid {before} and is {after} now")
    return f"the agent lived on as pid {after}, and the new daemon adopted it"


def clean_exit(stage: Stage) -> str:
    """The agent is told to quit, and then the daemon is killed and started once more."""
    stage.ctl("send", NAME, "quit")
    stage.until("it has stopped", lambda: stage.row(NAME)["state"] == "stopped")
    stage.kill()
    stage.up()
    row = stage.row(NAME)
    if row["state"] != "stopped" or row["desired"] != "stopped":
        raise StageFailed(f"it is {row['state']}")
    return "exit 0 is an agent's own end: it stays down, also over a restart of the daemon"


def hand_over(stage: Stage) -> str:
    """An orchestrator asks to be relieved, as phoenixd has it relieved by itself at 90 % of a context."""
    stage.ask("phase", "init", "--project", "demo", "--workspace", str(stage.root), "phase-01-count")
    stage.ask("start", LEADER)
    stage.until("it rests", lambda: stage.row(LEADER)["activity"] == "idle")
    before = stage.row(LEADER)
    began = time.monotonic()
    stage.ask("handoff", "start", LEADER, "--project", "demo")
    told: dict[str, Any] = {}

    def is_over() -> bool:
        told.update(json.loads(stage.ask("handoff", "status", LEADER, "--json")))
        return told["handoff"] is not None and told["handoff"]["step"] in ("done", "rolled_back")

    stage.until("the seat has passed", is_over)
    after = stage.row(LEADER)
    if told["handoff"]["step"] != "done" or (told["generation"], after["pid"]) == (1, before["pid"]):
        raise StageFailed(f"the handoff came to nothing: {told['handoff']}")
    took = time.monotonic() - began
    return f"in {took:.1f} s a successor read the package, proved that by what it quoted, and took the seat"


def forget(stage: Stage) -> str:
    """The front of an agent's context is dropped, and neither its CLI nor the agent says a word."""
    stage.ask("start", KEEPER)
    stage.until("it rests", lambda: stage.row(KEEPER)["activity"] == "idle")
    first = stage.row(KEEPER)["session_id"]
    _checked(stage, "count", "intact")
    stage.ask("send", KEEPER, "forget")
    _checked(stage, "count", "missed")
    stage.ask("send", KEEPER, "count")
    stage.until("a new session has begun", lambda: stage.row(KEEPER)["session_id"] not in (None, first))
    # It had nothing to do, and has nothing now: the turn that proves what it knows would come after a minute.
    stage.ask("send", KEEPER, "count")
    stage.until("it is verified", lambda: stage.row(KEEPER)["resonance"]["state"] == "intact")
    return "two answers lacked a code that stood there, so a new session began from its seed, and knows its own code"


def _checked(stage: Stage, prompt: str, verdict: str) -> None:
    """Ask for a code at the end of the keeper's next turn."""
    stage.ask("resonance", "check", KEEPER)
    stage.ask("send", KEEPER, prompt)
    stage.until(f"a code is {verdict}", lambda: stage.row(KEEPER)["resonance"]["state"] == verdict)


def look_back(stage: Stage) -> str:
    """What was wrong all this time?"""
    cases = json.loads(stage.ask("clinic", "list", "--json"))["cases"]
    failures = sum(case["incidents"] for case in cases)
    causes = ", ".join(sorted({case["detail"].replace("_", " ") for case in cases}))
    return f"{failures} failures in {len(cases)} Cases ({causes}): the clinic counts what was done, and whether it held"


CHAPTERS: tuple[Callable[[Stage], str], ...] = (
    begin, crash, refused, hang, kill_daemon, clean_exit, hand_over, forget, look_back,
)  # fmt: skip


def _files(stage: Stage) -> Path:
    return stage.state / "agents" / NAME


def _live_a_while(stage: Stage) -> None:
    """Let the run pass the second that counts as productive here."""
    stage.until("it has evidence", lambda: stage.row(NAME)["last_evidence"] is not None)
    began = stage.row(NAME)["pid"]
    stage.until("it lives a second", lambda: _age(began) > 1.2)


def _age(pid: int) -> float:
    """Seconds that a process has lived."""
    with open(f"/proc/{pid}/stat") as stat, open("/proc/uptime") as uptime:
        started = int(stat.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return float(uptime.read().split()[0]) - started


def _kill(stage: Stage, incarnation: int, mode: str) -> float:
    """Kill the agent, wait for an incarnation, and return the seconds until its process was started."""
    pid = stage.row(NAME)["pid"]
    killed = time.time()
    os.kill(pid, signal.SIGKILL)
    stage.until_running(NAME, incarnation, [mode])
    record = json.loads((_files(stage) / "run.json").read_text())
    return datetime.fromisoformat(record["started_at"]).timestamp() - killed
