"""Layers, origins, refusals: what the operator wrote, and what is answered."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from phoenixd.config import configuration, layers, load_configuration, read_configuration
from phoenixd.core.rules import RestartPolicy
from phoenixd.core.spec import Kind
from phoenixd.documents.credential import credential_path
from phoenixd.errors import ConfigurationError

AGENT = '[agent.a]\nargv = ["sleep", "1"]\ncwd = "/"\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    directory = tmp_path / "etc"
    directory.mkdir()
    return directory


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def complaint(place: Path, state: Path, text: str) -> str:
    write(place / "phoenixd.toml", text)
    with pytest.raises(ConfigurationError) as refused:
        load_configuration(place, state, {})
    return refused.value.message


def test_nothing_configured_is_a_configuration(state: Path) -> None:
    assert load_configuration(None, state, {}).agents == {}


def test_an_agent_is_read_with_the_rules_of_its_kind(place: Path, state: Path) -> None:
    write(
        place / "phoenixd.toml",
        AGENT
        + """
kind = "loop"
prompt = "Work."
resume = false
[agent.a.env]
TOKEN = "t"
KEY = {file = "/etc/hostname"}
[agent.a.restart]
policy = "always"
period = "1h30m"
[agent.a.loop]
pause = 2.5
""",
    )

    spec = load_configuration(place, state, {}).agents["a"]

    assert (spec.argv, spec.cwd, spec.kind, spec.prompt) == (("sleep", "1"), "/", Kind.LOOP, "Work.")
    assert (spec.restart.policy, spec.restart.period, spec.loop.pause) == (RestartPolicy.ALWAYS, 5400.0, 2.5)
    assert not spec.resume.enabled
    assert spec.source == str(place / "phoenixd.toml")
    env = dict(spec.env)
    assert env["TOKEN"] == "t"
    assert credential_path(env["KEY"]) == "/etc/hostname"


def test_a_harness_knows_its_own_program(place: Path, state: Path) -> None:
    write(place / "phoenixd.toml", '[agent.a]\nharness = "claude"\ncwd = "/"\n')

    assert load_configuration(place, state, {}).agents["a"].argv == ("claude",)


def test_later_layers_win_and_the_state_directory_is_the_last(place: Path, state: Path) -> None:
    write(place / "phoenixd.toml", AGENT + 'prompt = "main"\naccount = "main"\nproject = "main"\nautostart = false\n')
    write(place / "conf.d" / "20-second.toml", '[agent.a]\nproject = "second"\n')
    write(place / "conf.d" / "10-first.toml", '[agent.a]\nproject = "first"\naccount = "first"\n')
    write(place / "conf.d" / "ignored.conf", "this is not read")
    write(place / "agents.d" / "b.toml", '[agent.b]\nargv = ["true"]\ncwd = "/"\n')
    write(state / "agents.d" / "c.toml", '[agent.c]\nargv = ["true"]\ncwd = "/"\n[agent.a]\nprompt = "last"\n')

    configuration = load_configuration(place, state, {})

    a = configuration.agents["a"]
    assert (a.prompt, a.project, a.account, a.autostart) == ("last", "second", "first", False)
    assert set(configuration.agents) == {"a", "b", "c"}
    assert configuration.origins["agent.a.project"] == f"{place}/conf.d/20-second.toml:2"
    assert configuration.origins["agent.a.prompt"] == f"{state}/agents.d/c.toml:5"
    assert configuration.agents["c"].source == f"{state}/agents.d/c.toml"
    assert a.source == f"{place}/phoenixd.toml"


def test_config_may_name_a_single_file(place: Path, state: Path) -> None:
    file = write(place / "other.toml", AGENT)

    assert set(load_configuration(file, state, {}).agents) == {"a"}


def test_defaults_hold_for_all_that_do_not_set_the_key_themselves(place: Path, state: Path) -> None:
    write(
        place / "phoenixd.toml",
        """
[defaults]
cwd = "/"
argv = ["true"]
[defaults.restart]
max_crashes = 7
period = "1h"
[defaults.env]
A = "default"
B = "default"
[agent.a.restart]
max_crashes = 3
[agent.a.env]
B = "own"
[agent.b]
""",
    )

    agents = load_configuration(place, state, {}).agents

    assert (agents["a"].restart.max_crashes, agents["a"].restart.period) == (3, 3600.0)
    assert (agents["b"].restart.max_crashes, agents["b"].cwd) == (7, "/")
    assert dict(agents["a"].env) == {"A": "default", "B": "own"}


def test_g19_g20_g21_g22_the_seeds_environment_names_are_accepted(place: Path, state: Path) -> None:
    write(place / "phoenixd.toml", AGENT + '[defaults.liveness]\nstale = "1h"\n')
    environ = {
        "HEARTBEAT_STALE_MINUTES": "20",
        "HEARTBEAT_CHECK_INTERVAL": "30",
        "CB_WARNING_THRESHOLD": "2",
        "CB_STOP_THRESHOLD": "4",
    }

    configuration = load_configuration(place, state, environ)

    liveness = configuration.agents["a"].liveness
    assert (liveness.stale, liveness.check_interval) == (1200.0, 30.0)
    breaker = configuration.settings.agent["a"].breaker
    assert (breaker.warn, breaker.stop) == (2, 4)
    assert configuration.origins["defaults.liveness.stale"] == "environment variable HEARTBEAT_STALE_MINUTES"


def test_a_bad_environment_value_is_refused_by_name(state: Path) -> None:
    with pytest.raises(ConfigurationError, match="CB_STOP_THRESHOLD: must be a number"):
        load_configuration(None, state, {"CB_STOP_THRESHOLD": "many"})
    with pytest.raises(ConfigurationError, match=r"defaults\.breaker: warn must be less than stop"):
        load_configuration(None, state, {"CB_STOP_THRESHOLD": "3"})


@pytest.mark.parametrize(
    ("text", "place_of_it", "suggestion"),
    [
        ("[agent.a]\ncwdd = '/'\n", "phoenixd.toml:2: agent.a.cwdd", "did you mean cwd?"),
        (AGENT + "[agent.a.restart]\nmax_crash = 3\n", "phoenixd.toml:5: agent.a.restart.max_crash", "max_crashes?"),
        (AGENT + "stale = 3\n", "phoenixd.toml:4: agent.a.stale", "did you mean liveness.stale?"),
        (AGENT + "max_crashs = 3\n", "phoenixd.toml:4: agent.a.max_crashs", "did you mean restart.max_crashes?"),
        (
            AGENT + "[agent.a.liveness]\nstale_after = 3\n",
            "toml:5: agent.a.liveness.stale_after",
            "did you mean stale?",
        ),
        ("[agent.a]\ncommand = 'worker'\n", "phoenixd.toml:2: agent.a.command", "did you mean argv?"),
        (
            AGENT + "cooldown = 3\n",
            "phoenixd.toml:4: agent.a.cooldown",
            "did you mean loop.pause, or breaker.cooldown?",
        ),
        ("[agents.a]\n", "phoenixd.toml:1: agents", "did you mean agent?"),
        ("[defaults]\nharnes = 'claude'\n", "phoenixd.toml:2: defaults.harnes", "did you mean harness?"),
        ("[daemon]\nzzzzzz = 1\n", "phoenixd.toml:2: daemon.zzzzzz", "known here: api_group, log_format, log_level"),
    ],
)
def test_an_unknown_key_is_refused_with_file_line_key_and_suggestion(
    place: Path, state: Path, text: str, place_of_it: str, suggestion: str
) -> None:
    message = complaint(place, state, text)

    assert place_of_it in message
    assert suggestion in message


def test_errors_are_told_in_the_order_of_the_lines_that_make_them(place: Path, state: Path) -> None:
    told = complaint(place, state, "[agent.a]\nargv = 'x'\ncwd = '/'\nkind = 'ever'\ncwdd = 1\n[daemon]\nzzzzzz = 1\n")

    assert [line.split(":")[1] for line in told.splitlines() if "phoenixd.toml:" in line] == ["2", "4", "5", "7"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (AGENT.replace('"/"', '"work"'), 'agent.a.cwd: "work" is a relative path'),
        ("[agent.a]\nargv = ['x']\n", "cwd is missing"),
        ("[agent.a]\ncwd = '/'\n", "argv is missing"),
        ("[agent.a]\ncwd = '/'\nharness = 'codex'\nargv = ['codex', 'exec']\n", "ends after one turn"),
        ("[agent.a]\ncwd = '/'\nharness = 'gemini'\nargv = ['gemini', '-r', '5']\n", "phoenixd chooses the session"),
        (AGENT.replace("sleep", "{prompt}"), "agent.a.argv: {prompt}: the program itself cannot be a placeholder"),
        (
            "[agent.a]\nharness='claude'\ncwd='/'\nargv=['claude','-c']\n",
            "agent.a.argv: -c: phoenixd chooses the session",
        ),
        (AGENT + "harness = 'emacs'\n", "agent.a.harness: must be 'claude', 'codex', 'gemini' or 'command'"),
        (AGENT + "[agent.a.breaker]\nwarn = 5\nstop = 5\n", "phoenixd.toml:4: agent.a.breaker: warn must be less"),
        (AGENT + "[agent.a.breaker]\nwarn = 9\n", "warn must be less than stop"),
        (AGENT + "[agent.a.restart]\nbackoff_initial = '10m'\n", "backoff_initial must not exceed backoff_max"),
        (AGENT + "[agent.a.liveness]\ncheck_interval = '1h'\n", "check_interval must lie above 0"),
        (AGENT + "[agent.a.liveness]\nstale = '20s'\n", "not exceed stale; it is 60 s, stale 20 s"),
        (AGENT + "[agent.a.liveness]\nstale = '3h'\n", "subagent_max must not be less than stale"),
        (AGENT + "[agent.a.liveness]\nstale = 'soon'\n", '"soon" is no duration'),
        (AGENT + "[agent.a.liveness]\nstale = -1\n", "between 0 and ten years"),
        (AGENT + "[agent.a.liveness]\nstale = true\n", "a duration is a number of seconds"),
        (AGENT + f"[agent.a.liveness]\nstale = {10**400}\n", "between 0 and ten years"),
        (AGENT + "[agent.a.restart]\nmax_crashes = 1000\n", "less than or equal to 100"),
        (AGENT + "argv = 3\n", "is not TOML"),
        (AGENT + "fresh_args = [1]\n", "phoenixd.toml:4: agent.a.fresh_args.0: must be a text"),
        (AGENT + 'prompt = "a\\u0000b"\n', "agent.a.prompt: must not contain a zero byte"),
        (AGENT + "heartbeat_file = 'beat.json'\n", "relative path"),
        (AGENT + "[agent.a.env]\n'A B' = 'x'\n", "no name of an environment variable"),
        (AGENT + "[agent.a.env]\nPHOENIX_TOKEN = 'x'\n", "PHOENIX_TOKEN is set by phoenixd itself"),
        (AGENT + "[agent.a.env]\nA = 5\n", "agent.a.env.A: must be a text"),
        (AGENT + "[agent.a.env]\nA = {path = '/x'}\n", "agent.a.env.A"),
        ("[agent.a]\nargv = ['x']\ncwd = 3\n", "phoenixd.toml:3: agent.a.cwd: must be a text"),
        (AGENT + "restart = 'always'\n", "agent.a.restart: must be a table"),
        ("[agent.a]\nargv = 'x'\ncwd = '/'\n", "agent.a.argv: must be a list"),
        ("[agent]\na = 3\n", "agent.a: must be a table"),
        ("agent = 3\n", "agent: must be a table"),
        ("[agent.Abc]\nargv=['x']\ncwd='/'\n", "agent.Abc: a name is 1 to 32"),
        ("[agent.'a\\n']\nargv=['x']\ncwd='/'\n", "a name is 1 to 32"),
        ("[agent.'../a']\nargv=['x']\ncwd='/'\n", "a name is 1 to 32"),
        (f"[agent.{'a' * 33}]\nargv=['x']\ncwd='/'\n", "a name is 1 to 32"),
        ("[fleet]\nmax_starting = 0\n", "fleet.max_starting"),
        (AGENT + "autostart = 'yes'\n", "phoenixd.toml:4: agent.a.autostart: must be true or false, without quotes"),
        (
            AGENT + "[agent.a.restart]\nmax_crashes = '5'\n",
            "agent.a.restart.max_crashes: must be a whole number, without",
        ),
        ("[agent.a]\nargv = 'x y'\ncwd = '/'\n", 'agent.a.argv: must be a list, as in ["one", "two"]'),
        ("[agent]\nargv = ['x']\n", "agent.argv: must be a table: the keys of an agent stand below [agent.NAME]"),
        ("[[agent]]\nargv = ['x']\n", "agent: must be a table: the keys of an agent stand below [agent.NAME]"),
        ("[journal]\nkeep = '5m'\n", "journal.keep: must be greater than or equal to 1h"),
        ("= broken", "phoenixd.toml:1: is not TOML"),
        ("x = " + "[" * 100_000, "is not TOML"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(place: Path, state: Path, text: str, expected: str) -> None:
    """F-ST-14: also a name that leads out of the directory of agents."""
    assert expected in complaint(place, state, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (AGENT + "env = { A = 5 }\n", "4: agent.a.env.A: must be a text, or { file = ... } that"),
        (AGENT + "env = { A = { fiel = '/x' } }\n", "4: agent.a.env.A: must be a text, or { file = ... } that"),
        (AGENT + "env = { A = { file = 'x' } }\n", '4: agent.a.env.A.file: "x" is a relative path'),
        ("[alerts]\nwebhook = 'chat.example'\n", "2: alerts.webhook: must be an http or https address, or { file"),
        ("[alerts]\nwebhook = 5\n", "2: alerts.webhook: must be a text, or { file = ... } that"),
        ("[alerts]\nwebhook = { path = '/x' }\n", "2: alerts.webhook: must be a text, or { file = ... } that"),
    ],
)  # fmt: skip
def test_what_may_be_a_text_or_a_table_is_told_once_by_the_key_that_was_written(
    place: Path, state: Path, text: str, expected: str
) -> None:
    """It was told once for each thing that it could have been, and by keys that nobody wrote."""
    said = complaint(place, state, text)

    assert expected in said
    assert len(said.splitlines()) == 1, said


def test_a_group_that_is_not_there_is_a_warning_by_its_key(place: Path, state: Path) -> None:
    """The daemon ended by a traceback, and check said that all is in order."""
    write(place / "phoenixd.toml", "[daemon]\napi_group = 'no-such-group'\n")

    (found,) = read_configuration(place, state, {}).problems

    assert (found.severity, found.key, found.line) == ("warning", "daemon.api_group", 2)
    assert (
        found.message == "there is no group no-such-group now: the socket is its owner's alone. groupadd no-such-group"
    )


def test_a_socket_in_place_of_a_file_is_called_no_regular_file(place: Path, state: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(place / "phoenixd.toml"))

    (found,) = read_configuration(place, state, {}).errors

    assert found.message == "cannot be read: it is not a regular file"


@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000])
def test_promise_7_a_number_of_thousands_of_digits_is_a_problem_and_no_fault_of_ours(
    place: Path, state: Path, number: str
) -> None:
    """The interpreter converts no such number. At a SIGHUP that once ended the daemon."""
    (place / "phoenixd.toml").write_text(f"[fleet]\nmax_starting = {number}\n")

    (found,) = read_configuration(place, state, {}).errors

    assert found.message == "cannot be used: one of its numbers has thousands of digits"


def test_promise_7_a_file_that_would_have_to_be_waited_for_is_a_problem_and_no_fault_of_ours(
    place: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link to /proc/kmsg is such a one, which root alone can try: here a FIFO is taken for a regular file."""
    os.mkfifo(place / "phoenixd.toml")
    writer = os.open(place / "phoenixd.toml", os.O_RDWR | os.O_NONBLOCK)
    monkeypatch.setattr(stat, "S_ISREG", lambda mode: True)

    (found,) = read_configuration(place, state, {}).errors

    os.close(writer)
    assert found.message == "cannot be read: nothing can be read from it without waiting"


def test_every_error_is_told_at_once(place: Path, state: Path) -> None:
    write(place / "conf.d" / "x.toml", "[daemon]\nlog_level = 'loud'\n")

    message = complaint(place, state, AGENT + "kindd = 'x'\n[agent.b]\nargv = ['x']\n")

    assert len(message.splitlines()) == 3


def test_an_error_in_defaults_is_told_once(place: Path, state: Path) -> None:
    message = complaint(place, state, "[defaults.liveness]\nstale = 'soon'\n" + AGENT + AGENT.replace(".a", ".b"))

    assert message.count("soon") == 1
    assert "defaults.liveness.stale" in message


def test_a_wrong_agent_does_not_take_the_right_ones_with_it(place: Path, state: Path) -> None:
    write(place / "phoenixd.toml", AGENT + "[agent.b]\ncwd = 3\n[fleet]\nmax_starting = 2\n")

    configuration = read_configuration(place, state, {})

    assert set(configuration.agents) == {"a"}
    assert configuration.limits.max_starting == 2
    assert [problem.agent for problem in configuration.errors] == ["b"]


def test_f_hb_6_x23_two_agents_may_not_share_a_heartbeat_file(place: Path, state: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    text = AGENT + f"heartbeat_file = '{tmp_path}/beat'\n" + AGENT.replace(".a", ".b")

    assert 'already the heartbeat of "a"' in complaint(
        place, state, text + f"heartbeat_file = '{tmp_path}/link/beat'\n"
    )
    own = f"heartbeat_file = '{state}/agents/a/heartbeat.json'\n"
    assert 'already the heartbeat of "a"' in complaint(place, state, AGENT + AGENT.replace(".a", ".b") + own)


def test_secrets_are_in_no_message_and_no_rendering(place: Path, state: Path) -> None:
    secret = "hunter2-hunter2"
    write(place / "phoenixd.toml", AGENT + f"[agent.a.env]\nA = '{secret}'\n")
    configuration = load_configuration(place, state, {})
    wrong = complaint(
        place, state, AGENT + f"[agent.a.env]\nA = '{secret}'\nB = ['{secret}']\nPHOENIX_X = '{secret}'\n"
    )

    assert dict(configuration.agents["a"].env) == {"A": secret}
    assert secret not in repr(configuration)
    assert secret not in repr(configuration.settings)
    assert secret not in repr(configuration.shown())
    assert secret not in wrong


def test_a_missing_directory_or_credential_is_a_warning(place: Path, state: Path) -> None:
    write(
        place / "phoenixd.toml",
        "[agent.a]\nargv = ['x']\ncwd = '/nowhere/at/all'\n[agent.a.env]\nK = {file = '/nowhere/key'}\n",
    )

    configuration = load_configuration(place, state, {})

    assert {problem.severity for problem in configuration.problems} == {"warning"}
    assert {problem.key for problem in configuration.problems} == {"agent.a.cwd", "agent.a.env.K"}


@pytest.mark.parametrize(
    ("keys", "is_told"),
    [
        ("prompt = 'go'", True),
        ("harness = 'command'\nprompt = 'go'\nfresh_args = ['{session_id}']", True),
        ("", False),
        ("prompt = 'go'\nprompt_via = 'paste'", False),
        ("prompt = 'go'\nprompt_via = 'none'", False),
        ("prompt = 'go'\nfresh_args = ['{prompt}']", False),
        ("prompt = 'go'\nfresh_args = ['--goal', '{brief}']", False),
        ("harness = 'claude'\nprompt = 'go'", False),
    ],
)
def test_a_prompt_that_nothing_tells_the_program_is_a_warning_with_the_remedy(
    place: Path, state: Path, keys: str, is_told: bool
) -> None:
    write(place / "phoenixd.toml", f"[agent.a]\nargv = ['x']\ncwd = '/'\n{keys}\n")

    found = load_configuration(place, state, {}).problems

    assert [(one.key, one.severity) for one in found] == [("agent.a.prompt", "warning")] * is_told
    assert all('prompt_via = "paste"' in one.message and "--prompt-via paste" in one.message for one in found)


@pytest.mark.parametrize(
    ("kind", "runtime", "is_told"),
    [("loop", "15m", True), ("loop", "16m", False), ("loop", "0s", False), ("resident", "15m", False)],
)
def test_x7b_a_run_that_ends_before_silence_can_be_judged_is_a_warning(
    place: Path, state: Path, kind: str, runtime: str, is_told: bool
) -> None:
    more = f"kind = '{kind}'\nprompt = 'go'\nprompt_via = 'none'\n"
    more += f"loop = {{ max_runtime = '{runtime}' }}\nliveness = {{ stale = '15m' }}\n"
    write(place / "phoenixd.toml", f"[agent.a]\nargv = ['x']\ncwd = '/'\n{more}")

    found = load_configuration(place, state, {}).problems

    assert [(one.key, one.severity) for one in found] == [("agent.a.loop.max_runtime", "warning")] * is_told


def test_a_fifo_or_a_giant_in_place_of_a_declaration_is_a_problem_and_no_hang(state: Path) -> None:
    (state / "agents.d").mkdir(parents=True)
    os.mkfifo(state / "agents.d" / "pipe.toml")
    (state / "agents.d" / "large.toml").write_bytes(b"#" * (2 << 20))
    (state / "agents.d" / "bytes.toml").write_bytes(b"\xff\xfe")

    problems = [str(problem) for problem in read_configuration(None, state, {}).problems]

    assert len(problems) == 3
    assert any("not a regular file" in problem for problem in problems)
    assert any("larger than" in problem for problem in problems)
    assert any("not UTF-8" in problem for problem in problems)


def test_a_home_directory_is_written_as_a_tilde(place: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(place))
    write(place / "phoenixd.toml", AGENT.replace('"/"', '"~/"'))

    assert load_configuration(place, state, {}).agents["a"].cwd == str(place)


def test_a_program_in_a_home_directory_is_written_with_a_tilde_as_a_directory_is(
    place: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No shell is there to say where, so it was looked for below the working directory."""
    monkeypatch.setenv("HOME", str(place))
    write(place / "phoenixd.toml", '[agent.a]\nargv = ["~/bin/worker", "~/notes"]\ncwd = "/"\n')
    assert load_configuration(place, state, {}).agents["a"].argv == (f"{place}/bin/worker", "~/notes")

    write(place / "phoenixd.toml", '[agent.a]\nargv = ["~no-such-user/worker"]\ncwd = "/"\n')
    (problem,) = read_configuration(place, state, {}).errors
    assert "there is no such home directory; write the program from /" in str(problem)


DIALOG = '[agent.a]\nharness = "{}"\ncwd = "/"\n[[agent.a.answers]]\ndialog = "dialog"\nasks = "{}"\nanswer = "{}"\n'


def test_a_dialog_can_be_said_no_to_beforehand_and_nothing_else(place: Path, state: Path) -> None:
    """Whatever accepts a dialog would accept what a later release asks in its place."""
    write(place / "phoenixd.toml", DIALOG.format("claude", "offer of another renderer", "deny"))
    answer = load_configuration(place, state, {}).agents["a"].answers[0]
    assert (answer.dialog, answer.asks, answer.allow) == ("dialog", "offer of another renderer", False)

    for harness, asks, given, told in (
        ("claude", "offer of another renderer", "allow", "seed_trust"),
        ("claude", "trust dialog", "deny", "offer of another renderer"),
        ("gemini", "offer of another renderer", "deny", "known: none"),
    ):
        assert told in complaint(place, state, DIALOG.format(harness, asks, given))


def test_the_fence_of_all_is_that_of_each_agent_which_names_none(tmp_path: Path) -> None:
    text = '[fence]\nkind = "namespace"\n' + "".join(
        f'[agent.{name}]\nargv = ["true"]\ncwd = "/"\n{more}' for name, more in (("a", ""), ("b", 'fence = "none"\n'))
    )
    (tmp_path / "phoenixd.toml").write_text(text)

    read = read_configuration(tmp_path, tmp_path, {})

    assert {name: spec.fence for name, spec in read.agents.items()} == {"a": "namespace", "b": "none"}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("threshold = 0", "agent.a.context.threshold"),
        ("threshold = 1.01", "agent.a.context.threshold"),
        ("threshold = -0.5", "agent.a.context.threshold"),
        ("warn = 0", "agent.a.context.warn"),
        ("hard = 1.2", "agent.a.context.hard"),
        ("threshold = 0.97", "threshold must be less than hard"),
        ("threshold = 1.0", "threshold must be less than hard"),
        ("hard = 0.5", "threshold must be less than hard"),
        ("warn = 1", "warn is a share of threshold"),
        ("limit = 0", "agent.a.context.limit"),
        ("limit = 1000000000000", "agent.a.context.limit"),
        ('threshold = "90%"', "agent.a.context.threshold"),
    ],
)
def test_e16_a_threshold_outside_0_to_1_or_an_order_that_does_not_hold_is_refused_with_file_and_key(
    place: Path, state: Path, keys: str, expected: str
) -> None:
    told = complaint(place, state, f"{AGENT}[agent.a.context]\n{keys}\n")

    assert expected in told
    assert "phoenixd.toml" in told
    assert "agent.a.context" in told


def test_the_keys_of_the_context_are_read(place: Path, state: Path) -> None:
    keys = "threshold = 0.8\nwarn = 0.5\nhard = 0.9\nlimit = 400000\npredict = false\nstatus_line = false\n"
    write(place / "phoenixd.toml", f"{AGENT}[agent.a.context]\n{keys}")
    rules = load_configuration(place, state, {}).agents["a"].context

    assert (rules.threshold, rules.warn, rules.hard, rules.limit) == (0.8, 0.5, 0.9, 400_000)
    assert (rules.predict, rules.status_line) == (False, False)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("max_lines = 3001", "agent.a.phase.max_lines"),
        ("max_lines = 0", "agent.a.phase.max_lines"),
        ("warn_lines = true", "agent.a.phase.warn_lines"),
        ("max_lines = 2000", "warn_lines must not exceed max_lines"),
        ("auto_spilt = false", "auto_split"),
    ],
)
def test_f_ph_1_lengths_that_do_not_hold_are_refused_with_file_and_key(
    place: Path, state: Path, keys: str, expected: str
) -> None:
    told = complaint(place, state, f"{AGENT}[agent.a.phase]\n{keys}\n")

    assert expected in told
    assert "phoenixd.toml" in told


def _taken_away(path: Path) -> None:
    path.rename(path.with_name("aside"))


def _a_file(path: Path) -> None:
    _taken_away(path)
    path.write_text("")


def _a_link_to_nowhere(path: Path) -> None:
    _taken_away(path)
    path.symlink_to(path.with_name("nowhere"))


@pytest.mark.parametrize(
    ("which", "spoil", "why"),
    [
        ("etc", _taken_away, "it is gone, and nobody knows what it declares"),
        ("etc", _a_link_to_nowhere, "it is a link that leads nowhere"),
        ("etc/agents.d", _a_file, "Not a directory"),
        ("etc/agents.d", _a_link_to_nowhere, "it is a link that leads nowhere"),
        ("etc/conf.d", _a_file, "Not a directory"),
        ("etc/phoenixd.toml", _a_link_to_nowhere, "it is a link that leads nowhere"),
        ("state/agents.d", _a_file, "Not a directory"),
    ],
)
def test_what_cannot_be_looked_through_is_no_empty_configuration(
    place: Path, state: Path, which: str, spoil: Callable[[Path], None], why: str
) -> None:
    """Else apply ends all agents of a directory whose disk is not mounted just now."""
    for directory in (place / "conf.d", place / "agents.d", state / "agents.d"):
        directory.mkdir(parents=True)
    write(place / "phoenixd.toml", AGENT)
    assert set(load_configuration(place, state, {}).agents) == {"a"}
    spoil(place.parent / which)
    with pytest.raises(ConfigurationError, match=why) as refused:
        load_configuration(place, state, {})
    assert refused.value.message.startswith(f"{place.parent / which}: ")
    load_configuration(place, state, {}, begins=True)


def test_what_comes_back_while_it_is_read_is_no_empty_configuration(
    place: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that is made anew is gone for a moment, and so is a disk that is mounted just now."""
    write(state / "agents.d" / "b.toml", AGENT.replace("agent.a", "agent.b"))
    write(place / "phoenixd.toml", AGENT)
    link, read = place.with_name("link"), layers.read_layer

    def read_late(path: Path) -> layers.Layer:
        if not link.is_symlink():
            link.symlink_to(place)
        return read(path)

    monkeypatch.setattr(configuration, "read_layer", read_late)

    assert set(load_configuration(link, state, {}).agents) == {"a", "b"}


def test_a_configuration_that_changes_all_the_time_is_refused(
    place: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place / "phoenixd.toml", AGENT)
    read, number = layers.read_layer, iter(range(1000))

    def read_and_add(path: Path) -> layers.Layer:
        write(place / "conf.d" / f"{next(number)}.toml", "")
        return read(path)

    monkeypatch.setattr(configuration, "read_layer", read_and_add)

    with pytest.raises(ConfigurationError, match="change all the time"):
        load_configuration(place, state, {})


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
@pytest.mark.parametrize("mode", [0o000, 0o400, 0o300])
def test_a_configuration_that_may_not_be_read_is_no_empty_one(place: Path, state: Path, mode: int) -> None:
    write(place / "agents.d" / "a.toml", AGENT)
    for directory in (place, place / "agents.d"):
        directory.chmod(mode)
        with pytest.raises(ConfigurationError, match="cannot be read: Permission denied"):
            load_configuration(place, state, {})
        directory.chmod(0o700)


def test_no_directory_of_drop_ins_is_needed(place: Path, state: Path) -> None:
    assert load_configuration(place, state, {}).agents == {}
    assert load_configuration(None, state, {}).agents == {}
