"""Configuration files under a daemon that runs."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from phoenixd.demo.stage import Stage
from phoenixd.runtime.reloads import MOST
from tests.config.test_plan import IN_FORCE, SAMPLES
from tests.hung_disk import hung_mount
from tests.typed import typed
from tests.waiting import eventually_sync

AGENT = '[agent.late]\nargv = ["sleep", "1000"]\nharness = "command"\nautostart = false\ncwd = "/"\n'


def test_a_configuration_directory_that_is_made_later_is_found_by_plan_and_apply(stage: Stage, short_tmp: Path) -> None:
    stage.up()
    assert json.loads(stage.ask("plan", "--json")) == {"changes": [], "settings": [], "after_restart": []}

    os.makedirs(short_tmp / "config" / "phoenixd")
    (short_tmp / "config" / "phoenixd" / "phoenixd.toml").write_text(AGENT)

    (change,) = json.loads(stage.ask("plan", "--json"))["changes"]
    assert (change["agent"], change["action"]) == ("late", "add")
    stage.ask("apply")
    assert stage.row("late")["state"] == "stopped"


@pytest.mark.parametrize("is_made_later", [False, True])
def test_a_configuration_directory_that_vanishes_ends_no_agent(
    stage: Stage, short_tmp: Path, *, is_made_later: bool
) -> None:
    """Its disk is not mounted, say, and somebody applies, or sends a SIGHUP."""
    place, aside = short_tmp / "config" / "phoenixd", short_tmp / "aside"
    if is_made_later:
        stage.up()
    os.makedirs(place)
    (place / "phoenixd.toml").write_text(AGENT.replace("autostart = false\n", ""))
    if is_made_later:
        stage.ask("apply")
    else:
        stage.up()
    pid = stage.until_running("late", 1)["pid"]

    place.rename(aside)

    for verb in ("plan", "apply"):
        refused = stage.ctl(verb)
        assert refused.returncode != 0, refused
        assert f"{place}: it is gone" in refused.stderr
    assert stage.process is not None
    stage.process.send_signal(signal.SIGHUP)
    stage.until("the log tells of the refusal", lambda: "reload_refused" in stage.log_tail(5))
    assert stage.row("late")["pid"] == pid
    aside.rename(place)
    (change,) = json.loads(stage.ask("plan", "--json"))["changes"]
    assert change["action"] == "keep"
    aside.mkdir()
    place.rename(short_tmp / "old")
    aside.rename(place)
    stage.ask("apply")
    eventually_sync(lambda: "late" not in stage.rows(), what="an empty directory is a configuration")


@pytest.mark.parametrize("makes", [False, True])
def test_a_daemon_that_begins_without_the_configuration_ends_no_agent_that_it_declared(
    stage: Stage, short_tmp: Path, *, makes: bool
) -> None:
    """makes: a service's manager makes a directory that is missing, and it is empty."""
    place, aside = short_tmp / "config" / "phoenixd", short_tmp / "aside"
    os.makedirs(place)
    agent = AGENT.replace("autostart = false\n", "") + 'env = { KEY = "1" }\n'
    (place / "phoenixd.toml").write_text(agent + agent.replace("late", "other"))
    stage.up()
    pid = stage.until_running("late", 1)["pid"]
    stage.until_running("other", 1)
    stage.kill()
    place.rename(aside)
    if makes:
        place.mkdir()

    stage.up()

    for verb in ("plan", "apply"):
        refused = stage.ctl(verb)
        assert refused.returncode != 0, refused
        assert f"{place}: it {'holds no file any more' if makes else 'is gone'}, and it declared late, other" in (
            refused.stderr
        )
        assert typed(stage, "remove", "late", "other") in refused.stderr
    assert stage.process is not None
    stage.process.send_signal(signal.SIGHUP)
    stage.until("the log tells of the refusal", lambda: "reload_refused" in stage.log_tail(5))
    assert stage.row("late")["pid"] == pid
    stage.ask("remove", "other")
    if makes:
        place.rmdir()
    aside.rename(place)
    (place / "phoenixd.toml").write_text(agent)
    (change,) = json.loads(stage.ask("apply", "--json"))["changes"]
    assert change["action"] == "keep"
    (place / "phoenixd.toml").write_text("")
    stage.ask("apply")
    eventually_sync(lambda: "late" not in stage.rows(), what="what its file says no more is given up")


def test_a_configuration_that_came_back_after_another_was_found_in_its_place_is_not_given_up(
    stage: Stage, short_tmp: Path
) -> None:
    """As that of a first place that was not mounted when the daemon began."""
    place, other = short_tmp / "config" / "phoenixd", short_tmp / "other" / "phoenixd"
    os.makedirs(place)
    (place / "phoenixd.toml").write_text(AGENT)
    stage.up()
    stage.ask("down")
    os.makedirs(other)
    first, stage.environ = stage.environ, {**stage.environ, "XDG_CONFIG_HOME": str(other.parent)}
    stage.up()

    refused = stage.ctl("apply")

    assert refused.returncode != 0, refused
    assert f"{place}: this daemon does not read it, and it declared late" in refused.stderr
    assert f"--config {place}" in refused.stderr
    assert list(stage.rows()) == ["late"]
    stage.environ = first
    stage.ask("down")
    stage.up()
    assert [one["action"] for one in json.loads(stage.ask("apply", "--json"))["changes"]] == ["keep"]


def test_settings_of_the_daemons_own_wait_for_its_restart_and_plan_and_apply_say_so(
    stage: Stage, short_tmp: Path
) -> None:
    stage.up()
    os.makedirs(short_tmp / "config" / "phoenixd")
    (short_tmp / "config" / "phoenixd" / "phoenixd.toml").write_text('[alerts]\ncommand = ["/bin/true"]\n')
    for verb in ("plan", "apply"):
        assert json.loads(stage.ask(verb, "--json")) == {
            "changes": [],
            "settings": [],
            "after_restart": ["alerts.command"],
        }
        assert f"{typed(stage, 'down')}; phoenixctl up" in stage.ask(verb)

    stage.ask("down")
    stage.up()

    assert json.loads(stage.ask("plan", "--json")) == {"changes": [], "settings": [], "after_restart": []}


def test_plan_says_of_each_setting_under_a_living_daemon_whether_apply_puts_it_in_force(
    stage: Stage, short_tmp: Path
) -> None:
    """What the fleet goes by is compared, so a second plan tells what the first apply has done."""
    stage.up()
    place = short_tmp / "config" / "phoenixd" / "phoenixd.toml"
    os.makedirs(place.parent)
    wrong = []
    for table, keys in SAMPLES.items():
        for key, value in keys.items():
            place.write_text(f"[{table}]\n{key} = {in_toml(value)}\n")
            name = [f"{table}.{key}"]
            applied, waits = (name, []) if table in IN_FORCE else ([], name)
            for verb in ("plan", "apply"):
                told = json.loads(stage.ask(verb, "--json"))
                if (told["settings"], told["after_restart"]) != (applied, waits):
                    wrong.append((verb, told))
            told = json.loads(stage.ask("plan", "--json"))
            if (told["settings"], told["after_restart"]) != ([], waits):
                wrong.append(("plan again", told))
            place.write_text("")
            stage.ask("apply")

    assert wrong == []
    assert "agree; nothing to do" in stage.ask("plan")


def in_toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {json.dumps(one)}" for key, one in value.items()) + "}"
    return json.dumps(value)


def test_a_program_for_alerts_is_asked_from_the_daemons_next_start_on_as_plan_says(
    stage: Stage, short_tmp: Path
) -> None:
    """Then it is told what stands as well, for nobody else has told it."""
    stage.up()
    told = short_tmp / "told"
    os.makedirs(short_tmp / "config" / "phoenixd")
    command = json.dumps(["sh", "-c", f"cat >> {told}"])
    (short_tmp / "config" / "phoenixd" / "phoenixd.toml").write_text(f"[alerts]\ncommand = {command}\n")
    assert "alerts.command: in force after a restart" in stage.ask("apply")
    quarantined(stage, "one")

    stage.ask("down")
    assert not told.exists()
    stage.up()
    quarantined(stage, "two")

    eventually_sync(lambda: told.exists() and "two" in told.read_text(), 60, "the program was told of the second")
    eventually_sync(lambda: '"agent": "one"' in told.read_text(), 60, "the program was told of the first, which stands")


def quarantined(stage: Stage, name: str) -> None:
    """An alert is raised of an agent whose command does not exist."""
    stage.ask("add", name, "--cwd", "/", "--", "/nonexistent/program")
    stage.ask("start", name)
    eventually_sync(lambda: stage.row(name)["state"] == "quarantined", 60, f"{name} is given up")


def test_what_apply_puts_in_force_is_told_in_words(stage: Stage, short_tmp: Path) -> None:
    stage.up()
    os.makedirs(short_tmp / "config" / "phoenixd")
    (short_tmp / "config" / "phoenixd" / "phoenixd.toml").write_text("[fleet]\nmax_starting = 3\n[jobs]\nat_once = 7\n")
    assert stage.ask("plan").splitlines() == [
        "fleet.max_starting, jobs.at_once: in force once it is applied, for the whole fleet", "",
        f"do it: {typed(stage, 'apply')}",
    ]  # fmt: skip
    assert stage.ask("apply").splitlines()[0] == ("fleet.max_starting, jobs.at_once: in force now, for the whole fleet")
    assert "nothing to do" in stage.ask("plan")


@pytest.mark.slow
def test_an_agent_that_is_removed_and_added_again_goes_on_counting_over_kill_9_of_the_daemon(stage: Stage) -> None:
    """No incarnation is given twice: what the first life left on disk or in flight can mean nothing to the second."""
    stage.up()
    stage.ask("add", "a", "--cwd", "/", "--", "sleep", "1000")
    stage.ask("start", "a", "--wait")
    stage.ask("restart", "a", "--wait")
    stage.ask("remove", "a")
    stage.kill()
    stage.up()
    stage.ask("add", "a", "--cwd", "/", "--", "sleep", "1000")
    stage.ask("start", "a", "--wait")

    row = stage.row("a")
    assert (row["incarnation"], row["restarts"], row["mode"]) == (3, 0, "fresh")


def test_f_sy_11_an_invalid_configuration_at_reload_changes_nothing_and_is_told(stage: Stage) -> None:
    stage.declare("a", '[agent.a]\nargv = ["sleep", "1000"]\ncwd = "/"\n')
    stage.up()
    pid = stage.until_running("a", 1)["pid"]
    stage.declare("b", '[agent.b]\nargv = ["sleep", "1000"]\ncwd = "/"\nkindd = "loop"\n')
    stage.declare("a", '[agent.a]\nargv = ["sleep", "2000"]\ncwd = "/"\n')

    refused = stage.ctl("apply")

    assert refused.returncode == 2
    assert "kindd" in refused.stderr
    assert list(stage.rows()) == ["a"]
    assert stage.row("a")["pid"] == pid
    stage.declare("b", '[agent.b]\nargv = ["sleep", "1000"]\ncwd = "/"\n')
    stage.ask("apply")
    assert sorted(stage.rows()) == ["a", "b"]


def test_promise_7_a_number_that_no_interpreter_converts_ends_no_daemon_at_a_sighup(stage: Stage) -> None:
    """Once it did, and an agent of the same user can write a declaration."""
    stage.declare("a", AGENT.replace("late", "a"))
    stage.up()
    assert stage.process is not None
    (stage.state / "agents.d" / "b.toml").write_text(f"[fleet]\nmax_starting = {'9' * 5000}\n")

    stage.process.send_signal(signal.SIGHUP)
    stage.until("it is refused", lambda: "reload_refused" in stage.log_tail(50) or stage.process.poll() is not None)

    assert stage.process.poll() is None, stage.log_tail()
    assert list(stage.rows()) == ["a"]


def test_a_loop_of_sighups_makes_no_loop_of_reloads(stage: Stage, short_tmp: Path) -> None:
    """200 signals in 10 s were 200 reloads, and as many rows of the journal."""
    place = short_tmp / "config" / "phoenixd"
    os.makedirs(place)
    (place / "phoenixd.toml").write_text(AGENT)
    stage.up()
    assert stage.process is not None
    for number in range(MOST + 1):
        (place / "phoenixd.toml").write_text(f'{AGENT}labels = ["n{number}"]\n')
        stage.process.send_signal(signal.SIGHUP)
        if number < MOST:
            labels = [f"n{number}"]
            stage.until("it was applied", partial(lambda wanted: stage.row("late")["labels"] == wanted, labels))

    stage.until("the log tells that one waits", lambda: "reloads_put_off" in stage.log_tail(5))

    assert stage.row("late")["labels"] == [f"n{MOST - 1}"]


def test_a_group_that_is_not_there_keeps_no_daemon_from_its_agents(stage: Stage, short_tmp: Path) -> None:
    """It ended by a traceback once it had begun, and under systemd once a second."""
    place = short_tmp / "config" / "phoenixd"
    os.makedirs(place)
    (place / "phoenixd.toml").write_text(f'[daemon]\napi_group = "no-such-group"\n{AGENT}')
    stage.up()

    assert stage.row("late")["state"] == "stopped"
    assert "api_group_missing" in stage.log_tail(20)
    assert (stage.runtime / "api.sock").stat().st_mode & 0o777 == 0o600


def test_what_apply_is_refused_is_told_and_done_by_the_next_apply(stage: Stage, short_tmp: Path) -> None:
    """An agent whose declaration comes back while it is being removed was said to be added, and then was gone."""
    place = short_tmp / "config" / "phoenixd"
    os.makedirs(place)
    slow = ["sh", "-c", "trap '' TERM HUP INT; for i in $(seq 300); do sleep 1; done"]
    declaration = f'[agent.slow]\nargv = {json.dumps(slow)}\nharness = "command"\ncwd = "/"\n'
    (place / "phoenixd.toml").write_text(declaration)
    stage.up()
    stage.until_running("slow", 1)
    (place / "phoenixd.toml").write_text("")
    stage.ask("apply")
    assert stage.row("slow")["state"] == "stopping"

    (place / "phoenixd.toml").write_text(declaration)
    refused = stage.ctl("apply")
    (change,) = json.loads(stage.ctl("apply", "--json").stdout)["changes"]
    assert stage.process is not None
    stage.process.send_signal(signal.SIGHUP)
    stage.until("the log tells of the refusal", lambda: "change_refused" in stage.log_tail(50))
    stage.until("it is removed", lambda: "slow" not in stage.rows())
    stage.ask("apply")

    assert refused.returncode == 6, refused
    assert "NOT done: slow is being removed" in refused.stderr
    assert "the rest is done" in refused.stderr
    assert (change["action"], change["refused"]) == ("add", "slow is being removed")
    stage.until_running("slow", 2)


def test_f_proc_9_plan_and_apply_warn_of_a_directory_that_is_missing_as_add_does(stage: Stage, short_tmp: Path) -> None:
    """They warned of a missing command alone, and a page's own path, typed as it stood, was taken without a word."""
    place, missing = short_tmp / "config" / "phoenixd", short_tmp / "not-there"
    os.makedirs(place)
    stage.up()
    declared = AGENT.replace('cwd = "/"', f'cwd = "{missing}"')
    (place / "phoenixd.toml").write_text(declared)

    for verb in ("plan", "apply"):
        assert f"warning: {missing} is no directory now" in " ".join(stage.ask(verb).split())
    missing.mkdir()
    (place / "phoenixd.toml").write_text(f'{declared}labels = ["a"]\n')
    assert "warning" not in stage.ask("plan")


def test_f_proc_9_an_agent_whose_wrong_command_is_corrected_is_started_by_apply_and_plan_says_so(
    stage: Stage, short_tmp: Path
) -> None:
    place = short_tmp / "config" / "phoenixd"
    os.makedirs(place)
    wrong = AGENT.replace("autostart = false\n", "").replace('"sleep"', '"no-such-program"')
    (place / "phoenixd.toml").write_text(wrong)
    stage.up()
    stage.until("its command cannot run", lambda: stage.row("late")["state"] == "quarantined")

    (place / "phoenixd.toml").write_text(f'{wrong}prompt_via = "none"\nlabels = ["a"]\n')
    told = " ".join(stage.ask("plan").split())
    assert "warning: no-such-program is not to be found" in told
    (place / "phoenixd.toml").write_text(f'{wrong}labels = ["a"]\n')
    assert "it stays in quarantine until: phoenixctl start late" in " ".join(stage.ask("apply").split())
    assert stage.row("late")["state"] == "quarantined"

    (place / "phoenixd.toml").write_text(wrong.replace("no-such-program", "sleep"))
    for verb in ("plan", "apply"):
        (change,) = json.loads(stage.ask(verb, "--json"))["changes"]
        assert "it is started, which ends its quarantine" in change["detail"]
        assert "warning" not in change["detail"]
        assert change["restart"] is False
    stage.until_running("late", 2)
    assert "no-such-program" not in stage.ask("explain", "late").split("\n", 1)[0]


def test_f_proc_9_a_correction_made_while_no_daemon_lived_starts_the_agent_and_no_other_change_does(
    stage: Stage, short_tmp: Path
) -> None:
    place = short_tmp / "config" / "phoenixd"
    os.makedirs(place)
    wrong = AGENT.replace("autostart = false\n", "").replace('"sleep"', '"no-such-program"')
    both = wrong + wrong.replace("agent.late", "agent.other")
    (place / "phoenixd.toml").write_text(both)
    stage.up()
    for name in ("late", "other"):
        stage.until("its command cannot run", lambda name=name: stage.row(name)["state"] == "quarantined")
    stage.kill()

    corrected = wrong.replace("no-such-program", "sleep")
    changed = wrong.replace("agent.late", "agent.other").replace('cwd = "/"', 'cwd = "/tmp"\nenv = { KEY = "value" }')
    (place / "phoenixd.toml").write_text(corrected + changed)
    stage.up()

    stage.until_running("late", 2)
    other = stage.row("other")
    assert (other["state"], other["incarnation"]) == ("quarantined", 1)
    assert {one["action"] for one in json.loads(stage.ask("plan", "--json"))["changes"]} == {"keep"}


def test_plan_says_that_a_run_ends_only_of_an_agent_that_has_one(stage: Stage, short_tmp: Path) -> None:
    place = short_tmp / "config" / "phoenixd"
    os.makedirs(place)
    (place / "phoenixd.toml").write_text(AGENT)
    stage.up()
    (place / "phoenixd.toml").write_text(AGENT.replace("1000", "999"))
    (change,) = json.loads(stage.ask("plan", "--json"))["changes"]
    assert change["restart"] is False
    stage.ask("start", "late", "--wait")
    (change,) = json.loads(stage.ask("plan", "--json"))["changes"]
    assert change["restart"] is True


def test_a_dead_mount_keeps_nobody_from_adding_removing_and_applying(stage: Stage, short_tmp: Path) -> None:
    """Each of them looks at every agent's directory, and one that hung held the turn of all of them."""
    with hung_mount(short_tmp / "dead") as dead:
        for name in ("first", "second"):
            stage.declare(name, f'{AGENT.replace("late", name).replace("/", f"{dead}/{name}")}env = {{ A = "1" }}\n')
        stage.up()
        stage.ask("add", "well", "--cwd", "/", "--", "sleep", "1000")
        refused = stage.ctl("add", "lost", "--cwd", f"{dead}/lost", "--", "sleep", "1000")
        assert refused.returncode == 2, refused
        assert f"{dead}/lost does not answer" in refused.stderr
        assert "lost" not in stage.rows()

        stage.declare("second", AGENT.replace("late", "second").replace("/", f"{dead}/other"))
        shown = stage.ask("apply")
        assert f"{dead}/other" in shown
        stage.ask("remove", "well", "--yes")
        assert set(stage.rows()) == {"first", "second"}
        assert f"{dead}/first does not answer" in stage.ctl("doctor").stdout


def test_a_dead_mount_holds_up_no_end_of_the_daemon(stage: Stage, short_tmp: Path) -> None:
    """A read that hangs has a thread that never ends, and an interpreter waits for its threads."""
    with hung_mount(short_tmp / "dead") as dead:
        stage.up()
        stage.declare("late", AGENT.replace('cwd = "/"', f'cwd = "{dead}/late"').replace("sleep", "./work"))
        assert f"{dead}/late gave no answer" in stage.ask("plan")
        assert stage.process is not None
        stage.process.send_signal(signal.SIGTERM)
        assert stage.process.wait(60) == 0
