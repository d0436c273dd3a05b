"""Loops of living agents: closed from the pane and from outside, with the daemon, without it, and while it starts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from phoenixd.demo.stage import Stage
from tests import quick_start
from tests.e2e.puppet import Puppet
from tests.typed import typed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SLEEP = 'argv = ["sleep", "100000"]\ncwd = "/"\n'

needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="not run: jq is not installed")


def days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()


def loop(loop_id: str, days: int = 1) -> dict[str, str]:
    return {"id": loop_id, "text": f"what {loop_id} left open", "added": days_ago(days)}


def plant(stage: Stage, name: str, ids: Iterable[str | dict[str, str]], **more: Any) -> Path:
    """Write a state.json as an operator would, over whatever is there."""
    directory = stage.state / "agents" / name
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = directory / "state.json"
    before = json.loads(path.read_text()) if path.exists() else {"agent": name}
    loops = [loop(one) if isinstance(one, str) else one for one in ids]
    path.write_text(json.dumps({**before, "open_loops": loops, **more}))
    return directory


def state(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((directory / "state.json").read_text())
    return found


def open_ids(directory: Path) -> list[str]:
    return [one["id"] for one in state(directory)["open_loops"]]


def brief(directory: Path) -> str:
    path = directory / "brief.md"
    return path.read_text() if path.exists() else ""


def log(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "resolved.jsonl").read_text().splitlines()]


def resolved_bytes(directory: Path) -> int:
    """How far session.json says that resolved.jsonl was taken over; -1 where there is none yet."""
    path = directory / "session.json"
    return int(json.loads(path.read_text())["documents"]["resolved_bytes"]) if path.exists() else -1


def in_pane(puppet: Puppet, *words: str) -> tuple[int, str, str]:
    """Run phoenixctl inside the agent's process tree, with nothing but what the agent was given."""
    argv = ["phoenixctl", *words]
    source = (
        "import subprocess\n"
        f"ran = subprocess.run({argv!r}, capture_output=True, text=True)\n"
        "out = [ran.returncode, ran.stdout, ran.stderr]"
    )
    code, out, err = json.loads(puppet.do(source + "\nimport json; out = json.dumps(out)").strip("'").encode().decode(
        "unicode_escape"))  # fmt: skip
    return int(code), str(out), str(err)


def test_p26_p51_a_resolve_is_in_log_state_and_brief_when_it_returns(stage: Stage) -> None:
    stage.declare("a", f"[agent.a]\n{SLEEP}")
    directory = plant(stage, "a", ["auth-flow", "other"])
    stage.up()
    stage.until_running("a", 1)

    told = stage.ask("resolve", "auth-flow", "tested\x1b[31m\nwell")

    assert told == "resolved auth-flow of a\n"
    assert open_ids(directory) == ["other"]
    assert state(directory)["resolved"][0]["reason"] == "tested well"
    (line,) = log(directory)
    assert (line["id"], line["reason"], line["domain"]) == ("auth-flow", "tested well", "a")
    assert "auth-flow" not in brief(directory)
    assert "resolved before" in stage.ask("resolve", "auth-flow", "again", "--agent", "a")
    refused = stage.ctl("resolve", "othr", "x")
    assert (refused.returncode, "near it: other" in refused.stderr) == (4, True)
    assert len(log(directory)) == 1


def test_p27_p44_an_agent_resolves_its_own_without_path_or_name_also_while_the_daemon_is_down(
    stage: Stage, short_tmp: Path
) -> None:
    puppet = Puppet(short_tmp / "puppet")
    body = f'argv = {json.dumps(puppet.argv)}\ncwd = "{Path.cwd()}"\nenv = {{ PATH = "/usr/bin:/bin" }}\n'
    stage.declare("a", f"[agent.a]\n{body}")
    stage.declare("b", f"[agent.b]\n{SLEEP}")
    own, others = (plant(stage, name, ["first", "second", "third"]) for name in ("a", "b"))
    stage.up()
    stage.until_running("a", 1)

    assert in_pane(puppet, "resolve", "first", "done") == (0, "resolved first of a\n", "")
    assert open_ids(own) == ["second", "third"]
    assert in_pane(puppet, "resolve", "third", "x", "--agent", "b")[0] == 5
    # Without its token it is still known by its place in the process tree.
    unset = "import os; out = os.environ.pop('PHOENIX_TOKEN')"
    token = puppet.do(unset)
    assert in_pane(puppet, "resolve", "nothing-such", "x")[0] == 4
    assert in_pane(puppet, "loops")[1].startswith("2 open loops of a")
    puppet.do(f"import os; os.environ['PHOENIX_TOKEN'] = {token}")

    stage.kill()
    code, out, _ = in_pane(puppet, "resolve", "second", "done while it was down")
    assert (code, out.startswith("resolved second of a; phoenixd is down")) == (0, True)
    assert in_pane(puppet, "resolve", "third", "x", "--agent", "b")[0] == 5
    assert open_ids(own) == ["second", "third"], "state.json is the daemon's"
    stage.up()
    stage.until("the next daemon takes it over", lambda: open_ids(own) == ["third"])
    assert [line["id"] for line in log(own)] == ["first", "second"]
    assert open_ids(others) == ["first", "second", "third"]


def test_f_st_10_what_was_resolved_while_the_daemon_was_down_is_applied_once(stage: Stage) -> None:
    """Also of an agent that is stopped, and to which nothing happens at the daemon's start."""
    stage.declare("a", f"[agent.a]\n{SLEEP}autostart = false\n")
    directory = plant(stage, "a", ["auth-flow", "other"])
    stage.up()
    stage.kill()

    assert "takes it into state.json" in stage.ask("resolve", "auth-flow", "tested")
    assert "resolved before" in stage.ask("resolve", "auth-flow", "again")
    stage.up()
    stage.until("it is applied", lambda: open_ids(directory) == ["other"])
    # A daemon that is killed before it has noted how far it read the log reads those lines again.
    stage.until("that is noted", lambda: resolved_bytes(directory) == (directory / "resolved.jsonl").stat().st_size)

    # The operator opens it again: the line that was applied once closes it no more.
    plant(stage, "a", ["auth-flow", "other"])
    stage.kill()
    stage.up()
    stage.until("it is published", lambda: "auth-flow" in brief(directory))
    assert open_ids(directory) == ["auth-flow", "other"]
    assert len(log(directory)) == 1


def test_p77_f_st_10_resolves_that_race_a_starting_daemon_are_all_there_once(stage: Stage) -> None:
    stage.declare("a", f"[agent.a]\n{SLEEP}")
    ids = [f"loop-{number}" for number in range(8)]
    directory = plant(stage, "a", [*ids, "stays"])
    stage.up()
    stage.kill()

    with ThreadPoolExecutor(4) as callers:
        first = [callers.submit(stage.ctl, "resolve", one, "done") for one in ids[:4]]
        stage.up(wait=False)
        rest = [callers.submit(stage.ctl, "resolve", one, "done") for one in [*ids[4:], *ids[:3]]]
        ran = [future.result() for future in [*first, *rest]]

    assert [one.returncode for one in ran] == [0] * len(ran), [one.stderr for one in ran if one.returncode]
    stage.until("the daemon answers", stage.answers)
    stage.until("all are applied", lambda: open_ids(directory) == ["stays"])
    assert sorted(line["id"] for line in log(directory)) == sorted(ids), "none twice, none lost"


def test_p28_p29_p85_loops_of_more_than_fourteen_days_are_flagged_without_any_command(stage: Stage) -> None:
    """F-ST-6: in state, brief and status, and by one alert."""
    stage.declare("a", f"[agent.a]\n{SLEEP}autostart = false\n")
    directory = plant(stage, "a", [loop("young", 13), loop("old", 16)], resolved=[
        {"id": "long-ago", "reason": "done", "resolved_date": days_ago(8)},
        {"id": "lately", "reason": "done", "resolved_date": days_ago(6)},
    ])  # fmt: skip

    stage.up()

    stage.until("they are flagged", lambda: any(one.get("stale") for one in state(directory)["open_loops"]))
    assert {one["id"]: one["stale"] for one in state(directory)["open_loops"]} == {"young": False, "old": True}
    assert [one["id"] for one in state(directory)["resolved"]] == ["lately"], "resolved items leave after seven days"
    stage.until("the brief tells", lambda: "`old` is stale" in brief(directory))
    assert f"1 open loop is stale (a). See: {typed(stage, 'loops')}" in stage.ask("status")
    assert (stage.row("a")["open_loops"], stage.row("a")["stale_loops"]) == (2, 1)
    told = json.loads(stage.ask("loops", "--json"))["loops"]
    assert [(one["id"], one["age_days"], one["stale"]) for one in told] == [
        ("old", 16, True),
        ("young", 13, False),
    ]
    assert stage.ask("loops", "a").splitlines()[0].startswith("2 open loops of a, 1 stale")

    stage.until("it is told", lambda: [one["kind"] for one in stage.row("a")["alerts"]] == ["stale loops"])
    assert stage.row("a")["group"] != "needs_you", "nobody has to act at once"
    stage.kill()
    stage.up()
    stage.until("the next daemon has written it", lambda: stage.row("a")["stale_loops"] == 1)
    stage.ask("resolve", "old", "done")
    stage.until("it is over", lambda: not stage.row("a")["alerts"])
    assert stage.ask("events", "a").count("alert raised: stale loops") == 1


def test_p40_p85_status_tells_how_old_the_brief_is_and_when_it_is_read_next(stage: Stage) -> None:
    stage.declare("a", f"[agent.a]\n{SLEEP}autostart = false\n")
    plant(stage, "a", ["auth-flow"])
    stage.up()

    stage.until("its next run is planned", lambda: bool((stage.row("a").get("brief") or {}).get("next_at")))
    told = stage.row("a")["brief"]
    assert told["age"] >= 0
    now = datetime.now(UTC)
    assert now < datetime.fromisoformat(told["next_at"]) <= now + timedelta(days=1, minutes=1)
    shown = " ".join(stage.ctl("status", "a").stdout.split())
    assert re.search(r" brief written \S+ ago; to be written again in \d+[hms]", shown), shown


def test_f_st_5_an_operators_edit_of_a_living_agents_state_is_merged_by_id(stage: Stage) -> None:
    stage.declare("a", f"[agent.a]\n{SLEEP}")
    directory = plant(stage, "a", ["one", "two"])
    stage.up()
    stage.until_running("a", 1)
    stage.until("the state is written", lambda: "last_active" in state(directory))

    mine = {**loop("one"), "text": "the operator's own words", "ticket": 7}
    plant(stage, "a", [mine, loop("three")], owner="ops", current_task="what the operator says")
    stage.ask("resolve", "three", "at once")

    assert [one["id"] for one in state(directory)["open_loops"]] == ["one"], "two was removed by hand"
    (kept,) = state(directory)["open_loops"]
    assert (kept["text"], kept["ticket"]) == ("the operator's own words", 7)
    assert (state(directory)["owner"], state(directory)["current_task"]) == ("ops", "what the operator says")
    stage.ask("restart", "a", "--wait")
    stage.until("it is published", lambda: json.loads((directory / "session.json").read_text())["incarnation"] == 2)
    assert open_ids(directory) == ["one"]


def test_p41_p78_f_st_1_broken_states_of_living_agents_are_kept_aside_and_rebuilt(stage: Stage) -> None:
    broken = {"a": '{"agent": "a", "open_', "b": "\x00" * 100, "c": '{"agent": "a"}'}
    directories = {}
    for name in broken:
        stage.declare(name, f"[agent.{name}]\n{SLEEP}")
        directories[name] = plant(stage, name, ["auth-flow", "other"])
    stage.up()
    for name, directory in directories.items():
        stage.until_running(name, 1)
        stage.ask("resolve", "other", "done", "--agent", name)
        (directory / "state.json").write_text(broken[name])

    told = json.loads(stage.ask("loops", "--json"))["loops"]

    assert [(one["agent"], one["id"]) for one in told] == [(name, "auth-flow") for name in broken]
    for name, directory in directories.items():
        assert open_ids(directory) == ["auth-flow"]
        assert [path.read_text() for path in directory.glob("state.json.damaged-*")] == [broken[name]]
    assert stage.ask("events").count("alert raised: state") == len(broken), "each is told once"
    assert [[alert["kind"] for alert in row["alerts"]] for row in stage.rows().values()] == [["state"]] * len(broken)


def test_p78_a_state_that_was_lost_with_the_daemon_is_rebuilt_from_the_brief(stage: Stage) -> None:
    stage.declare("a", f"[agent.a]\n{SLEEP}autostart = false\n")
    directory = plant(stage, "a", ["auth-flow", "other"], numbers={"tests_passing": "47/52"})
    stage.up()
    stage.until("a brief is written", lambda: "auth-flow" in brief(directory))
    stage.kill()
    (directory / "state.json").unlink()

    assert stage.ctl("resolve", "other", "done").returncode == 4, (
        "without a state nothing is known, and nothing written"
    )
    stage.up()

    stage.until("it is rebuilt", lambda: (directory / "state.json").exists())
    assert open_ids(directory) == ["auth-flow", "other"]
    assert state(directory)["numbers"] == {"tests_passing": "47/52"}


def test_p23_f_st_11_states_of_other_versions_are_upgraded_or_left_alone(stage: Stage) -> None:
    for name in ("old", "newer"):
        stage.declare(name, f"[agent.{name}]\n{SLEEP}autostart = false\n")
    old, newer = plant(stage, "old", []), plant(stage, "newer", ["auth-flow"], version=3)
    (old / "state.json").write_text('{"status": "working", "current_task": "Implementing feature X"}')
    before = (newer / "state.json").read_bytes()
    stage.up()

    stage.until("version 1 is upgraded", lambda: "open_loops" in state(old))
    assert (state(old)["agent"], state(old)["current_task"]) == ("old", "Implementing feature X")
    assert "auth-flow" in stage.ask("loops", "newer")
    refused = stage.ctl("resolve", "auth-flow", "tested")
    assert (refused.returncode, "newer version" in refused.stderr) == (6, True)
    assert (newer / "state.json").read_bytes() == before
    assert not (newer / "resolved.jsonl").exists()
    assert [one["kind"] for one in stage.row("newer")["alerts"]] == ["state"]
    assert "newer version" in stage.row("newer")["alerts"][0]["text"]


@needs_jq
def test_p15_p17_p87_the_seeds_quick_start_prints_the_recovery_line_and_the_loop_count(stage: Stage) -> None:
    """Its state.json as it is printed there, and its hook in the directory of an agent with an open turn."""
    stage.declare("myagent", f"[agent.myagent]\n{SLEEP}")
    directory = plant(stage, "myagent", [])
    (directory / "state.json").write_text(quick_start.STATE)

    def ask() -> str:
        argv = ["bash", "-c", quick_start.START_HOOK]
        return subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=True).stdout

    told = "RECOVERY DETECTED - Last task: Implementing feature X\nOpen loops: 1\n"
    assert ask() == told
    stage.up()
    stage.until_running("myagent", 1)
    stage.until("it is at work", lambda: "- Status: working" in brief(directory))
    assert ask() == told
    assert (state(directory)["numbers"], open_ids(directory)) == ({"tests_passing": "47/52"}, ["auth-flow"])
    stage.ask("resolve", "auth-flow", "tested")
    assert ask().endswith("Open loops: 0\n")
    stage.ask("stop", "myagent")
    stage.until("it is at rest", lambda: state(directory)["status"] == "idle")
    assert ask() == ""


@needs_jq
def test_the_how_to_page_does_what_it_says(stage: Stage, short_tmp: Path) -> None:
    """Every command of docs/how-to/close-open-loops.md, in its order, in one shell."""
    page = (ROOT / "docs/how-to/close-open-loops.md").read_text()
    commands = "".join(re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    assert commands.count("phoenixctl") == 5
    for name in ("shop", "docs"):
        stage.declare(name, f"[agent.{name}]\n{SLEEP}")
        plant(stage, name, ["changelog"])
    shop = plant(stage, "shop", [loop("auth-flow", 20), "changelog"], current_task="Implementing feature X")
    (short_tmp / ".local/state").mkdir(parents=True)
    (short_tmp / ".local/state/phoenixd").symlink_to(stage.state)
    stage.up()
    stage.until_running("shop", 1)
    phoenixctl = f"{sys.executable} -m phoenixd.ctl --socket {stage.runtime / 'api.sock'}"

    ran = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f'phoenixctl() {{ {phoenixctl} "$@"; }}\n{commands}'],
        env={**stage.environ, "HOME": str(short_tmp)}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (ran.returncode, ran.stderr) == (0, "")
    assert "3 open loops, 1 stale" in ran.stdout
    assert "resolved auth-flow of shop\nresolved changelog of shop\nImplementing feature X\n1\n" in ran.stdout
    assert [one["id"] for one in json.loads(stage.ask("loops", "shop", "--json"))["loops"]] == ["load-test"]
    assert open_ids(shop) == ["load-test"]
