"""The circuit breaker with everything real: daemon, shims, loop agents and a git repository."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from phoenixd.config import read_configuration
from phoenixd.demo.stage import Stage
from tests.drivers.git.repositories import git, make_repository
from tests.ending import A_WHILE

pytestmark = pytest.mark.slow

IDLE = "true"
COMMIT = 'echo "$PHOENIX_INCARNATION" > kept.txt; git commit -q -a -m "$PHOENIX_INCARNATION"'
EDIT_AND_REVERT = "echo edited > kept.txt; git checkout -q kept.txt"
EDIT_IN_TURN = "if grep -q edited kept.txt; then git checkout -q kept.txt; else echo edited > kept.txt; fi"
NAME = "looper"


@pytest.fixture
def dirty(tmp_path: Path) -> Path:
    """A repository that was dirty before anybody ran."""
    work = make_repository(tmp_path)
    for key in ("name", "email"):
        git(work, "config", f"user.{key}", "x")
    (work / "edited.txt").write_text("dirty from before\n")
    (work / "untracked.txt").write_text("new from before\n")
    return work


def declare(stage: Stage, work: Path, script: str, more: str = "") -> None:
    stage.declare(
        NAME,
        f'[agent.{NAME}]\nkind = "loop"\nargv = ["sh", "-c", {json.dumps(script)}]\ncwd = "{work}"\n'
        f'[agent.{NAME}.loop]\npause = "0.05s"\n{more}',
    )


def breaker(stage: Stage) -> dict[str, Any]:
    return dict(json.loads(stage.ctl("breaker", "show", NAME, "--json").stdout))


def judged(stage: Stage) -> list[tuple[int, str]]:
    """What each iteration came to, from the journal: count and state."""
    events = json.loads(stage.ask("events", NAME, "--all", "--json"))["events"]
    return [
        (event["readings"]["no_progress"], event["reason"].partition("breaker ")[2].split()[0].strip(":;"))
        for event in events
        if "no_progress" in event["readings"]
    ]


def until_open(stage: Stage) -> None:
    stage.until("the breaker opens", lambda: stage.row(NAME)["state"] == "quarantined")


def test_g10_g30_g55_f_cb_1_idle_on_a_dirty_tree_half_open_at_3_and_open_at_exactly_5(
    stage: Stage, dirty: Path
) -> None:
    declare(stage, dirty, IDLE)
    stage.up()
    until_open(stage)
    row, shown = stage.row(NAME), stage.ctl("breaker", "show", NAME)

    assert judged(stage) == [(1, "CLOSED"), (2, "CLOSED"), (3, "HALF_OPEN"), (4, "HALF_OPEN"), (5, "OPEN")]
    assert (row["incarnation"], row["breaker"]) == (5, {"state": "OPEN", "no_progress_count": 5})
    assert (shown.returncode, shown.stdout.splitlines()[0]) == (3, f"! the breaker of {NAME} is OPEN")
    files = stage.state / "agents" / NAME
    stage.until("the file says so", lambda: '"OPEN"' in (files / ".circuit_breaker.json").read_text())
    written = json.loads((files / ".circuit_breaker.json").read_text())
    assert (written["state"], written["no_progress_count"]) == ("OPEN", 5)
    told = [json.loads(line)["meta"].get("reason", "") for line in (files / "ops.jsonl").read_text().splitlines()]
    changes = [reason.partition("; breaker ")[2].partition(":")[0] for reason in told if " (was " in reason]
    assert changes == ["HALF_OPEN (was CLOSED)", "OPEN (was HALF_OPEN)"]
    assert git(dirty, "status", "--porcelain").splitlines() == [" M edited.txt", "?? untracked.txt"]


def test_g64_f_cb_9_the_count_survives_kill_9_of_the_daemon_between_4_and_5(stage: Stage, dirty: Path) -> None:
    wait = stage.root / "wait"
    waits = f"while [ ! -e {wait} ] && {A_WHILE}; do sleep 0.02; done"
    declare(stage, dirty, f'[ "$PHOENIX_INCARNATION" -lt 5 ] || {waits}')
    stage.up()
    stage.until_running(NAME, 5)
    assert breaker(stage)["no_progress_count"] == 4
    stage.kill()
    wait.touch()
    stage.up()
    until_open(stage)

    assert [count for count, _ in judged(stage)] == [1, 2, 3, 4, 5]
    assert stage.row(NAME)["incarnation"] == 5
    stage.kill()
    stage.up()
    assert (stage.row(NAME)["state"], breaker(stage)["state"]) == ("quarantined", "OPEN")


def test_g14_f_cb_2_one_that_only_commits_never_opens_it(stage: Stage, dirty: Path) -> None:
    declare(stage, dirty, COMMIT)
    stage.up()
    stage.until("eight iterations", lambda: breaker(stage)["iteration"] >= 8)

    assert {count for count, _ in judged(stage)} == {0}
    assert stage.row(NAME)["state"] != "quarantined"


def test_x8b_a_branch_and_a_commit_for_each_iteration_back_on_main_never_opens_it(stage: Stage, dirty: Path) -> None:
    """The commonest loop there is: a pull request for each iteration. Its work is only in branches when it ends."""
    declare(stage, dirty, f"git checkout -q -b b$PHOENIX_INCARNATION; {COMMIT}; git checkout -q main")
    stage.up()
    stage.until("seven iterations", lambda: breaker(stage)["iteration"] >= 7)

    assert {count for count, _ in judged(stage)} == {0}
    assert breaker(stage)["last_verdict"] == "work: 1 commit"
    assert len(git(dirty, "branch", "--list", "b*").split()) >= 7


def test_x8b_notes_alone_open_it_at_notes_stop(stage: Stage, dirty: Path) -> None:
    script = 'echo "$PHOENIX_INCARNATION" >> PROGRESS.md; git add PROGRESS.md; git commit -q -m notes PROGRESS.md'
    declare(stage, dirty, script, '[agent.looper.breaker]\nnotes = ["PROGRESS.md"]\nnotes_stop = 3\n')
    stage.up()
    until_open(stage)
    shown = stage.ctl("breaker", "show", NAME)

    assert (breaker(stage)["no_progress_count"], breaker(stage)["notes_count"]) == (0, 3)
    assert "3 iterations left nothing but notes, the limit is 3" in " ".join(shown.stdout.split())
    assert "notes: notes alone changed" in shown.stdout


def test_x8b_two_agents_in_one_worktree_add_warns_and_the_breaker_says_so(stage: Stage, dirty: Path) -> None:
    declare(stage, dirty, COMMIT)
    stage.up()
    added = stage.ctl("add", "beside", "--cwd", str(dirty), "--", "sleep", "600")
    assert f"warning: {NAME} works in {dirty} too" in " ".join(added.stdout.split())
    stage.ask("start", "beside")
    stage.until("it says so", lambda: breaker(stage)["shared_with"] == ["beside"])

    assert "cannot be told apart" in " ".join(stage.ctl("breaker", "show", NAME).stdout.split())


RESIDENT = """turn() { echo '{"prompt": "<task-notification> go on"}' | "$PHOENIX_HOOK" prompt-submit; sleep 0.4
    echo '{}' | "$PHOENIX_HOOK" stop; }
"$PHOENIX_HOOK" session-start < /dev/null > /dev/null
while [ $((turns += 1)) -lt 999 ]; do turn; sleep 0.1; done"""


def test_residents_have_the_breaker_per_turn_where_it_is_asked_for(stage: Stage, dirty: Path) -> None:
    """A turn that is over before it was measured is unknown, so under load it only takes more of them."""
    stage.declare(
        NAME,
        f'[agent.{NAME}]\nargv = ["sh", "-c", {json.dumps(RESIDENT)}]\ncwd = "{dirty}"\n'
        f"[agent.{NAME}.breaker]\nper_turn = true\nwarn = 1\nstop = 3\n",
    )
    stage.up()
    until_open(stage)

    assert (breaker(stage)["state"], breaker(stage)["no_progress_count"]) == ("OPEN", 3)
    assert "3 turns without progress, the limit is 3" in stage.row(NAME)["reason"]
    assert [item["kind"] for item in json.loads(stage.ask("inbox", "--json"))["items"]] == ["quarantined"]
    written = stage.state / "agents" / NAME / ".circuit_breaker.json"
    stage.until("the file says so", lambda: '"OPEN"' in written.read_text())


@pytest.mark.parametrize("script", [EDIT_AND_REVERT, EDIT_IN_TURN], ids=["within one", "from one to the next"])
def test_f_cb_3_one_that_edits_and_reverts_opens_it(stage: Stage, dirty: Path, script: str) -> None:
    declare(stage, dirty, script)
    stage.up()
    until_open(stage)

    assert breaker(stage)["no_progress_count"] == 5
    assert stage.row(NAME)["incarnation"] == (5 if script is EDIT_AND_REVERT else 6)


def test_g32_g33_x8_start_is_a_trial_and_deleting_the_file_a_reset(stage: Stage, dirty: Path) -> None:
    declare(
        stage,
        dirty,
        f'if [ -e "{stage.root}/work" ]; then {COMMIT}; fi',
        "[agent.looper.breaker]\nwarn = 1\nstop = 2\n",
    )
    stage.up()
    until_open(stage)
    stage.ask("start", NAME)
    stage.until("the trial fails", lambda: breaker(stage)["no_progress_count"] == 3)
    until_open(stage)
    assert stage.row(NAME)["incarnation"] == 3
    (stage.root / "work").touch()
    stage.ask("start", NAME)
    stage.until("the trial succeeds", lambda: breaker(stage)["state"] == "CLOSED")
    (stage.root / "work").unlink()
    until_open(stage)

    written = stage.state / "agents" / NAME / ".circuit_breaker.json"
    stage.until("the file says so too", lambda: json.loads(written.read_text())["state"] == "OPEN")
    written.unlink()
    shown = stage.ctl("breaker", "show", NAME, "--json")
    assert (shown.returncode, json.loads(shown.stdout)["state"]) == (0, "CLOSED")
    assert stage.row(NAME)["state"] == "stopped"
    before = stage.row(NAME)["incarnation"]
    stage.ask("start", NAME)
    until_open(stage)
    assert stage.row(NAME)["incarnation"] == before + 2, "it began closed, and not on trial"
    stage.ask("breaker", "reset", NAME)
    assert breaker(stage)["state"] == "CLOSED"


def test_f_cb_10_a_loop_that_says_it_is_done_stays_down(stage: Stage, dirty: Path) -> None:
    declare(stage, dirty, '[ "$PHOENIX_INCARNATION" -lt 3 ] || exit 10', "done_code = 10\n")
    stage.up()
    stage.until("it is done", lambda: stage.row(NAME)["state"] == "stopped")
    row = stage.row(NAME)

    assert (row["incarnation"], row["desired"]) == (3, "stopped")
    assert row["reason"].startswith("done: ")


def test_g45_stop_after_iteration_ends_with_the_iteration(stage: Stage, dirty: Path) -> None:
    go = stage.root / "go"
    declare(stage, dirty, f"while [ ! -e {go} ] && {A_WHILE}; do sleep 0.02; done; {COMMIT}")
    stage.up()
    stage.until_running(NAME, 1)
    stage.ask("stop", NAME, "--after-iteration")
    assert stage.row(NAME)["state"] == "running"
    go.touch()
    stage.until("it stopped", lambda: stage.row(NAME)["state"] == "stopped")
    stage.until("it was judged", lambda: breaker(stage)["iteration"] == 1)
    assert stage.row(NAME)["incarnation"] == 1


def test_the_repository_disappears_and_comes_back_as_a_link(stage: Stage, dirty: Path, tmp_path: Path) -> None:
    """Whatever an agent does to the place that it works in, the loop goes on and is judged by what can be seen."""
    away = tmp_path / "away"
    script = f"""case $PHOENIX_INCARNATION in
        2) mv .git ../git-away ;;
        3) mv ../git-away .git ;;
        4) cd / && mv {dirty} {away} && ln -s {away} {dirty} ;;
    esac"""
    declare(stage, dirty, script, '[agent.looper.restart]\nbackoff_initial = "0s"\n')
    stage.up()
    until_open(stage)

    assert [count for count, _ in judged(stage)] == [1, 1, 1, 2, 3, 4, 5]
    subprocess.run(["git", "-C", str(dirty), "status"], check=True, capture_output=True)


def test_g36_g49_a_sequence_has_its_turns_and_opens_as_one(stage: Stage, dirty: Path) -> None:
    """Builder always, criticizer when there is a report, planner when a command says so; nobody achieves anything."""
    log = stage.root / "log"
    for name in ("builder", "criticizer", "planner"):
        stage.declare(
            name, f'[agent.{name}]\nkind = "loop"\nargv = ["sh", "-c", "echo {name} >> {log}"]\ncwd = "{dirty}"\n'
        )
    stage.declare(
        "sequence",
        '[sequence.shop]\nmembers = ["builder", "criticizer", "planner"]\n'
        f'[sequence.shop.when.criticizer]\nexists = "report*"\n'
        f'[sequence.shop.when.planner]\ncommand = ["sh", "-c", "test $(grep -c builder {log}) = 2"]\n'
        '[agent.builder.loop]\npause = "0.05s"\n[agent.builder.breaker]\nwarn = 1\nstop = 3\n',
    )
    (dirty / "report.md").write_text("from before")
    stage.up()
    stage.until("the breaker opens", lambda: stage.row("builder")["state"] == "quarantined", patience=90)

    assert log.read_text().split() == ["builder", "criticizer", "builder", "criticizer", "planner",
                                       "builder", "criticizer"]  # fmt: skip
    assert {row["state"] for name, row in stage.rows().items() if name != "builder"} == {"stopped"}
    assert stage.row("builder")["breaker"]["no_progress_count"] == 3


PAGE = (Path(__file__).resolve().parents[2] / "docs/how-to/run-loops.md").read_text(encoding="utf-8")


def test_the_how_to_page_does_what_it_says(stage: Stage, dirty: Path, short_tmp: Path) -> None:
    """Every command of docs/how-to/run-loops.md, in its order, in one shell, with an idle agent in claude's place."""
    commands = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    first = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0]
    idle = first.replace("/srv/shop", str(dirty)).replace('"claude", "-p"', '"sleep", "2"')
    idle = idle.replace('"claude"', '"command"').replace('pause = "10s"', 'pause = "0.05s"')
    stage.up()
    stage.declare("shop", idle)
    (short_tmp / ".local/state").mkdir(parents=True)
    (short_tmp / ".local/state/phoenixd").symlink_to(stage.state)
    phoenixctl = f"{sys.executable} -m phoenixd.ctl --socket {stage.runtime / 'api.sock'}"

    def run(script: str) -> str:
        ran = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f'phoenixctl() {{ {phoenixctl} "$@"; }}\n{script}'],
            env={**stage.environ, "HOME": str(short_tmp)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    apply_and_show, stopped, start, reset = commands
    assert "the breaker of shop is CLOSED" in run(apply_and_show)
    stage.until("it stops", lambda: stage.row("shop")["state"] == "quarantined")
    # An agent's documents follow what was decided within a second.
    stage.until("its file says so", lambda: '"OPEN"' in (stage.state / "agents/shop/.circuit_breaker.json").read_text())
    told = run(stopped)
    assert "it does not run" in told
    assert "5 iterations without progress" in told
    assert '"state": "OPEN"' in told
    assert "it is on trial" in run(start)
    stage.until("it stops again", lambda: stage.row("shop")["state"] == "quarantined")
    assert "the breaker of shop is CLOSED" in run(reset)


def test_the_how_to_pages_configuration_is_understood(tmp_path: Path) -> None:
    tables = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    loops = "".join(
        f'[agent.{name}]\nkind = "loop"\nargv = ["x"]\ncwd = "/"\n' for name in ("builder", "criticizer", "planner")
    )
    shop, rules, turns, done, sequence = tables
    done = done.replace("[agent.shop.loop]\n", "")
    keeper = '[agent.keeper]\nargv = ["x"]\ncwd = "/srv"\n'
    (tmp_path / "phoenixd.toml").write_text(f"{shop}\n{done}\n{rules}\n{keeper}{turns}\n{loops}\n{sequence}")
    found = read_configuration(tmp_path, tmp_path / "state", {})

    assert [str(problem) for problem in found.errors] == []
    assert found.agents["shop"].loop.done_text == "ALL DONE"
    assert found.agents["shop"].breaker.cooldown == 1800
    assert found.agents["shop"].breaker.notes == ("PROGRESS.md", "*.txt")
    assert found.agents["keeper"].breaker.per_turn
    assert found.agents["builder"].loop.sequence[1].when_agent == "planner-when"


def test_x8_since_tells_of_a_loop_that_was_tried_again_the_same_as_its_breaker(stage: Stage, dirty: Path) -> None:
    """Each trial ends with 0, and brings no progress: one entry, and no word that it was productive."""
    script = f'[ -e "{stage.root}/work" ] && date +%N >> work.txt; sleep 0.2'
    declare(stage, dirty, script, '[agent.looper.breaker]\nwarn = 1\nstop = 2\ncooldown = "1s"\n')
    stage.up()

    def over() -> list[dict[str, Any]]:
        return [one for one in json.loads(stage.ask("since", "--json"))["quarantines"] if one["to"] is not None]

    stage.until("three trials were in vain", lambda: len(over()) >= 3, 120.0)
    told = " ".join(stage.ask("since").split())
    assert "times" in told.partition("quarantine ")[2]
    assert "productive since" not in told
    (stage.root / "work").touch()
    stage.until("the breaker is closed", lambda: breaker(stage)["state"] == "CLOSED", 120.0)
    stage.until("since tells it", lambda: "progress since" in " ".join(stage.ask("since").split()), 60.0)
