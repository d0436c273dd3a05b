"""What a run is given: argv, environment, first words, settings; and what is refused before it starts."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from phoenixd.core.agent.activity import LostJobs, PromptKind
from phoenixd.core.agent.run import LastExit, Mode, Session
from phoenixd.core.rules import ResumeRules
from phoenixd.core.spec import Kind
from phoenixd.documents.credential import credential_reference
from phoenixd.documents.seal import request_alone
from phoenixd.drivers.processes.proc import read_stat
from phoenixd.errors import LaunchFailed
from phoenixd.harness.screens import Screens
from phoenixd.memory.brief.task_in_hand import is_ours
from tests.start.places import NOW, RUN_ID, SESSION_ID, Room
from tests.waiting import eventually


async def test_the_open_contract_is_kept(room: Room) -> None:
    spec = room.spec(fresh_args=("--id", "{session_id}", "--goal", "{prompt}", "--brief", "{brief}"))

    order = await room.order(room.agent(spec))

    brief = str(room.state / "brief.md")
    assert order["argv"] == ["agent", "--flag", "--id", SESSION_ID, "--goal", "Do it.", "--brief", brief]
    assert order["cwd"] == str(room.work)
    assert (order["protocol"], order["agent"], order["incarnation"], order["run_id"]) == (1, "a", 1, RUN_ID)
    assert (order["mode"], order["session_id"], order["cgroup"]) == ("fresh", SESSION_ID, None)
    env = order["env"]
    assert env["PHOENIX_AGENT"] == "a"
    assert (env["PHOENIX_INCARNATION"], env["PHOENIX_RUN_ID"]) == ("1", RUN_ID)
    assert (env["PHOENIX_MODE"], env["PHOENIX_SESSION_ID"]) == ("fresh", SESSION_ID)
    assert env["PHOENIX_BRIEF"] == brief
    assert env["PHOENIX_STATE_DIR"] == str(room.state)
    assert env["PHOENIX_HOOK_DIR"] == str(room.directories.agent_runtime("a"))
    assert env["PHOENIX_SOCKET"] == str(room.directories.runtime / "api.sock")
    assert env["PHOENIX_TOKEN"] == order["token"] == room.starter.token(RUN_ID)
    assert len(order["token"]) >= 32
    assert os.access(env["PHOENIX_HOOK"], os.X_OK)


async def test_g42_the_seeds_scripts_find_the_agents_name_under_theirs_too(room: Room) -> None:
    order = await room.order(room.agent())
    assert (order["env"]["PHOENIX_AGENT"], order["env"]["GENESIS_AGENT"]) == ("a", "a")

    order = await room.order(room.agent(room.spec(env=(("GENESIS_AGENT", "builder"),))))
    assert (order["env"]["PHOENIX_AGENT"], order["env"]["GENESIS_AGENT"]) == ("a", "builder")


async def test_the_order_is_private_and_the_token_survives_the_daemon(room: Room) -> None:
    order = await room.order(room.agent())

    path = room.directories.agent_runtime("a") / "order.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    room.restarted()
    assert room.starter.token(RUN_ID) == order["token"]
    assert room.starter.token("another") != order["token"]


@pytest.mark.parametrize(("kind", "clean"), [(Kind.RESIDENT, True), (Kind.LOOP, False), (Kind.ORCHESTRATOR, True)])
async def test_x4_exit_zero_of_a_loop_leaves_no_marker(room: Room, kind: Kind, clean: bool) -> None:
    order = await room.order(room.agent(room.spec(kind=kind)))

    assert order["interpret_exit_zero_as_clean"] is clean


GOAL = "Do it.\n\nWith `care`, $HOME and ünïcode \x01."


@pytest.mark.parametrize(
    ("mode", "prompt", "told"),
    [
        (Mode.FRESH, PromptKind.GOAL, GOAL),
        (Mode.FRESH, PromptKind.NONE, ""),
        (Mode.RESUME, PromptKind.NONE, ""),
        (
            Mode.RESUME,
            PromptKind.CONTINUE,
            "You were interrupted at 2026-11-21T10:00:00Z (SIGKILL). The task in hand: Fix the login. Continue.",
        ),
        (
            Mode.FRESH,
            PromptKind.CONTINUE,
            f"{GOAL}\n\nYou were interrupted at 2026-11-21T10:00:00Z (SIGKILL). "
            "The task in hand: Fix the login. Continue.",
        ),
    ],
)
async def test_what_a_run_is_told_first(room: Room, mode: Mode, prompt: PromptKind, told: str) -> None:
    spec = room.spec(prompt=GOAL, argv=("agent", "{prompt}"))
    agent = room.agent(spec, last_exit=LastExit(0, None, 9, "exit", 9.0, NOW), last_prompt="Fix the login")

    order = await room.order(agent, mode, prompt)

    assert order["argv"] == ["agent", told]


async def test_the_operators_own_words_to_continue_stand_in_for_ours(room: Room) -> None:
    spec = room.spec(argv=("agent", "{prompt}"), resume=ResumeRules(prompt="Carry on."))

    assert (await room.order(room.agent(spec), Mode.RESUME, PromptKind.CONTINUE))["argv"] == ["agent", "Carry on."]
    assert (await room.order(room.agent(spec), Mode.FRESH, PromptKind.CONTINUE))["argv"] == [
        "agent",
        "Do it.\n\nCarry on.",
    ]


@pytest.mark.parametrize("own", [None, "Carry on."])
async def test_a_run_that_goes_on_is_told_what_ended_with_the_one_before(room: Room, own: str | None) -> None:
    spec = room.spec(argv=("agent", "{prompt}"), resume=ResumeRules(prompt=own))
    lost = LostJobs(1, ("shell: make world", "schedule: 0 4 * * * Tidy up."), NOW)
    agent = replace(room.agent(spec), lost=lost)

    words = (await room.order(agent, Mode.RESUME, PromptKind.CONTINUE))["argv"][1]

    assert words.startswith(own or "You were interrupted")
    assert words.endswith(
        "none of them runs any more: shell: make world; schedule: 0 4 * * * Tidy up. Begin again what is still needed."
    )
    assert is_ours(agent, words)
    assert "shell: make world" in (room.state / "brief.md").read_text()


async def test_p60_the_command_line_is_rebuilt_from_the_base_each_time(room: Room) -> None:
    spec = room.spec(resume_args=("--resume", "{session_id}"))
    agent = room.agent(spec)
    for _ in range(5):
        order = await room.order(agent, Mode.RESUME, PromptKind.NONE)

        assert order["argv"] == ["agent", "--flag", "--resume", SESSION_ID]


async def test_the_environment_is_cleaned_and_the_operators_variables_win(tmp_path: Path) -> None:
    secret = tmp_path / "credential"
    secret.write_text("from a file\n")
    environ = {
        "TMUX": "/tmp/x,1,0",
        "TMUX_PANE": "%1",
        "PHOENIX_AGENT": "outer",
        "PHOENIX_TOKEN": "outer",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "outer",
        "CLAUDE_CODE_WHATEVER": "outer",
        "CLAUDE_CODE_OAUTH_TOKEN": "login",
        "NOTIFY_SOCKET": "/run/notify",
        "WATCHDOG_USEC": "1",
        "LISTEN_FDS": "1",
        "INVOCATION_ID": "i",
        "JOURNAL_STREAM": "8:1",
        "STATE_DIRECTORY": "/var/lib/x",
        "RUNTIME_DIRECTORY": "/run/x",
        "SSH_AUTH_SOCK": str(tmp_path / "dead.sock"),
        "TERM": "dumb",
        "KEPT": "kept",
        "OVERRIDDEN": "base",
    }
    room = Room(tmp_path, environ)
    spec = room.spec(env=(("OVERRIDDEN", "own"), ("SECRET", credential_reference(str(secret)))))

    env = (await room.order(room.agent(spec)))["env"]

    gone = set(environ) - {"KEPT", "OVERRIDDEN", "TERM", "PHOENIX_AGENT", "PHOENIX_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}
    assert gone & set(env) == set()
    assert (env["KEPT"], env["OVERRIDDEN"], env["SECRET"]) == ("kept", "own", "from a file")
    assert env["CLAUDE_CODE_OAUTH_TOKEN"] == "login"
    assert env["PHOENIX_AGENT"] == "a"
    assert env["TERM"] in ("tmux-256color", "screen-256color")
    assert env["PWD"] == str(room.work)


async def test_a_users_settings_for_claude_stay_when_no_session_is_around_us(tmp_path: Path) -> None:
    room = Room(tmp_path, {"CLAUDE_CODE_MAX_RETRIES": "3"})

    assert (await room.order(room.agent()))["env"]["CLAUDE_CODE_MAX_RETRIES"] == "3"


async def test_what_claude_must_find_is_there_also_below_a_session_of_its_own_and_only_the_operator_takes_it_back(
    tmp_path: Path,
) -> None:
    """Without it a Left arrow on an empty prompt moves the session into the CLI's own daemon."""
    environ = {"CLAUDECODE": "1", "CLAUDE_CODE_DISABLE_AGENT_VIEW": "0"}
    room = Room(tmp_path, environ)
    spec = room.spec(harness="claude", argv=("claude",), hold_permissions=False)
    taken_back = replace(spec, env=(("CLAUDE_CODE_DISABLE_AGENT_VIEW", ""),))

    assert (await room.order(room.agent(spec)))["env"]["CLAUDE_CODE_DISABLE_AGENT_VIEW"] == "1"
    assert (await room.order(room.agent(taken_back)))["env"]["CLAUDE_CODE_DISABLE_AGENT_VIEW"] == ""


async def test_an_ssh_agent_that_answers_is_kept(tmp_path: Path) -> None:
    import socket

    path = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        room = Room(tmp_path, {"SSH_AUTH_SOCK": str(path)})

        assert (await room.order(room.agent()))["env"]["SSH_AUTH_SOCK"] == str(path)


async def test_env_from_none_gives_the_least(tmp_path: Path) -> None:
    room = Room(tmp_path, {"KEPT": "kept"})

    env = (await room.order(room.agent(room.spec(env_from="none"))))["env"]

    assert "KEPT" not in env
    assert {"PATH", "HOME", "USER", "SHELL", "LANG", "TERM"} <= set(env)


async def test_env_from_login_is_what_the_login_shell_makes_and_is_asked_once(tmp_path: Path) -> None:
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\necho asked >> "$HOME/asked"\necho noise from a start-up file\nexport FROM_RC=yes\n'
                     'shift\nexec /bin/sh -c "$1"\n')  # fmt: skip
    shell.chmod(0o755)
    room = Room(tmp_path, {"SHELL": str(shell), "TMUX": "x"})
    spec = room.spec(env_from="login")

    for _ in range(2):
        env = (await room.order(room.agent(spec)))["env"]
        assert env["FROM_RC"] == "yes"
        assert "TMUX" not in env
    assert (room.home / "asked").read_text() == "asked\n"


async def test_a_login_shell_that_hangs_is_given_up_and_the_daemons_environment_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from phoenixd.start import login, variables

    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {tmp_path}/pid\nwait\n")
    shell.chmod(0o755)
    monkeypatch.setattr(variables, "login_environment", lambda environ: login.login_environment(environ, 0.5))
    room = Room(tmp_path, {"SHELL": str(shell), "KEPT": "kept"})

    env = (await room.order(room.agent(room.spec(env_from="login"))))["env"]

    assert env["KEPT"] == "kept"
    pid = int((tmp_path / "pid").read_text())
    # The signal is sent by now, and takes its time.
    await eventually(lambda: (found := read_stat(pid)) is None or found.state == "Z", 60, "what it started is gone")


async def test_a_credential_that_cannot_be_read_is_named_and_its_name_is_all(room: Room, tmp_path: Path) -> None:
    spec = room.spec(env=(("KEY", credential_reference(str(tmp_path / "none"))),))

    with pytest.raises(LaunchFailed, match=r"env\.KEY: .*none cannot be read"):
        await room.order(room.agent(spec))


class TestClaude:
    def transcript(self, room: Room, text: str) -> Path:
        name = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(room.work))
        path = room.home / ".claude" / "projects" / name / f"{SESSION_ID}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def agent(self, room: Room, **changes: object) -> object:
        return room.agent(room.spec(harness="claude", argv=("claude",), **changes))

    async def test_a_fresh_start_names_session_settings_and_goal(self, room: Room) -> None:
        order = await room.order(room.agent(room.spec(harness="claude", argv=("claude", "--model", "x"))))

        settings = str(room.state / "settings.json")
        assert order["argv"] == [
            "claude", "--model", "x", "--settings", settings, "--session-id", SESSION_ID, "--", "Do it.",
        ]  # fmt: skip
        hooks = json.loads(Path(settings).read_text())["hooks"]
        assert hooks["PostToolUse"][0]["hooks"][0]["url"] == "http://127.0.0.1:40001/hook"
        assert hooks["PostToolUse"][0]["hooks"][0]["headers"]["Authorization"] == f"Bearer {order['token']}"
        assert hooks["SessionStart"][0]["hooks"][0]["command"] == order["env"]["PHOENIX_HOOK"]
        assert stat.S_IMODE(os.stat(settings).st_mode) == 0o600

    async def test_a_good_transcript_is_resumed(self, room: Room) -> None:
        self.transcript(room, '{"type":"user","message":{"content":"x"}}\n')
        agent = room.agent(room.spec(harness="claude", argv=("claude",)))

        order = await room.order(agent, Mode.RESUME, PromptKind.NONE)

        assert order["argv"][-2:] == ["--resume", SESSION_ID]

    async def test_a_worker_that_forgot_its_seal_is_asked_for_new_words_alone_in_its_session(self, room: Room) -> None:
        self.transcript(room, '{"type":"user","message":{"content":"x"}}\n')
        worker = room.agent(replace(room.spec(harness="claude", argv=("claude",)), task="t1"))
        argv = (await room.order(worker, Mode.RESUME, PromptKind.SEAL))["argv"]

        seal = room.starter.secrets.seal(worker, 1)
        assert seal is not None
        assert seal != room.starter.secrets.seal(worker, 2), "each run has a seal of its own"
        assert argv[-1] == request_alone(seal)
        assert argv[argv.index("--resume") + 1] == SESSION_ID
        assert "-p" in argv

    @pytest.mark.parametrize(
        ("content", "reason"),
        [(None, "there is no transcript"), ("", "holds no message"), ("garbage\n", "holds no message")],
    )
    async def test_f_res_1_a_resume_that_cannot_work_is_refused_before_it_starts(
        self, room: Room, content: str | None, reason: str
    ) -> None:
        if content is not None:
            self.transcript(room, content)
        agent = room.agent(room.spec(harness="claude", argv=("claude",)))

        with pytest.raises(LaunchFailed, match=f"^resume refused: .*{reason}") as refused:
            await room.order(agent, Mode.RESUME, PromptKind.NONE)
        assert refused.value.code == 0
        assert not (room.directories.agent_runtime("a") / "order.json").exists()

    async def test_a_transcript_that_is_a_fifo_is_no_hang(self, room: Room) -> None:
        path = self.transcript(room, "")
        path.unlink()
        os.mkfifo(path)

        with pytest.raises(LaunchFailed, match="resume refused"):
            await room.order(room.agent(room.spec(harness="claude", argv=("claude",))), Mode.RESUME)

    async def test_a_flag_that_takes_the_session_from_us_cannot_run(self, room: Room) -> None:
        with pytest.raises(LaunchFailed, match="--resume") as failed:
            await room.order(room.agent(room.spec(harness="claude", argv=("claude", "--resume"))))
        assert failed.value.code == 126

    async def test_a_goal_too_long_for_an_argument_is_left_to_the_brief(self, room: Room) -> None:
        goal = "ü" * 100_000
        order = await room.order(room.agent(room.spec(harness="claude", argv=("claude",), prompt=goal)))

        assert str(room.state / "brief.md") in order["argv"][-1]
        assert len(order["argv"][-1]) < 1000
        assert goal in room.text("brief.md")

    async def test_trust_is_seeded_only_where_the_operator_said_so_and_keeps_all_else(self, tmp_path: Path) -> None:
        room = Room(tmp_path, {"ANTHROPIC_API_KEY": "sk-test-" + "k" * 30})
        file = room.home / ".claude.json"
        file.write_text('{"mine": [1], "projects": {"/other": {"x": 1}}}')
        spec = room.spec(harness="claude", argv=("claude",))

        await room.order(room.agent(spec))
        assert json.loads(file.read_text()) == {"mine": [1], "projects": {"/other": {"x": 1}}}
        await room.order(room.agent(replace(spec, seed_trust=True)))

        seeded = json.loads(file.read_text())
        assert seeded["mine"] == [1]
        assert seeded["projects"]["/other"] == {"x": 1}
        assert seeded["projects"][os.path.realpath(room.work)]["hasTrustDialogAccepted"] is True
        assert seeded["customApiKeyResponses"]["approved"] == ["k" * 20]
        before = file.stat().st_mtime_ns
        await room.order(room.agent(replace(spec, seed_trust=True)))
        assert file.stat().st_mtime_ns == before

    async def test_a_trust_file_of_another_shape_is_not_repaired(self, room: Room) -> None:
        (room.home / ".claude.json").write_text("[]")

        with pytest.raises(LaunchFailed, match="seed_trust"):
            await room.order(room.agent(room.spec(harness="claude", argv=("claude",), seed_trust=True)))
        assert (room.home / ".claude.json").read_text() == "[]"

    def test_the_screen_is_read_by_the_harness(self, room: Room) -> None:
        screen = "Quick safety check: Is this a project you created or one you trust?"

        assert Screens(lambda: NOW).classify(room.agent(room.spec(harness="claude")), screen) == "trust"
        assert Screens(lambda: NOW).classify(room.agent(), screen) == "unknown"


async def test_p62_a_fresh_marker_refuses_the_resume_and_is_consumed_by_the_fresh_start(room: Room) -> None:
    await room.order(room.agent())
    (room.state / ".fresh").touch()

    with pytest.raises(LaunchFailed, match=r"^resume refused: \.fresh asks"):
        await room.order(room.agent(), Mode.RESUME)
    await room.order(room.agent(), Mode.FRESH)
    assert not (room.state / ".fresh").exists()
    await room.order(room.agent(), Mode.RESUME)


async def test_p57_a_clean_exit_marker_of_an_earlier_run_is_removed(room: Room) -> None:
    await room.order(room.agent())
    (room.state / ".clean-exit").write_text("{}")

    await room.order(room.agent())

    assert not (room.state / ".clean-exit").exists()


async def test_a_session_id_that_an_agent_made_up_reaches_no_path_and_no_argument(room: Room) -> None:
    from phoenixd.core.actions import Spawn
    from phoenixd.ports.processes import ProcessIdentity
    from phoenixd.ports.shims import ShimHello

    for odd in ("../../x", "--fork-session", "", "a b", "x" * 200, "a\n"):
        agent = replace(room.starting(room.agent(), Mode.RESUME), session=Session(odd, NOW, NOW))
        spawn = Spawn("a", 1, RUN_ID, Mode.RESUME, odd, PromptKind.NONE)
        shim = ShimHello("a", ProcessIdentity("boot", 1, 1), 1, "0.1.0", 40001, None, None)
        with pytest.raises(LaunchFailed, match=r"^resume refused: the session id"):
            await room.starter.write_order(agent, spawn, shim)


async def test_geminis_hooks_are_put_where_it_looks_for_them_and_nothing_else_is_touched(room: Room) -> None:
    home = Path(room.environ["HOME"])
    spec = room.spec(harness="gemini", argv=("gemini",), env=(("HOME", str(home)),))

    order = await room.order(room.agent(spec))
    hooks = home / ".gemini" / "extensions" / "phoenixd" / "hooks" / "hooks.json"
    written = hooks.stat().st_mtime_ns
    await room.order(room.agent(spec))

    assert "PHOENIX_HOOK" in hooks.read_text()
    assert hooks.stat().st_mtime_ns == written
    assert order["env"]["GEMINI_CLI_NO_RELAUNCH"] == "true"
    assert {path.name for path in (home / ".gemini").rglob("*") if path.is_file()} == {
        "gemini-extension.json", "hooks.json",
    }  # fmt: skip


async def test_codex_is_told_its_hooks_and_its_resume_needs_a_rollout(room: Room) -> None:
    home = Path(room.environ["HOME"])
    spec = room.spec(harness="codex", argv=("codex",), env=(("HOME", str(home)),))

    order = await room.order(room.agent(spec))
    assert any(argument.startswith("hooks={") for argument in order["argv"])

    with pytest.raises(LaunchFailed, match=r"^resume refused: there is no transcript"):
        await room.order(room.agent(spec), Mode.RESUME)
    rollouts = home / ".codex" / "sessions" / "2026" / "11" / "21"
    rollouts.mkdir(parents=True)
    rollout = rollouts / f"rollout-2026-11-21T14-48-34-{SESSION_ID}.jsonl"
    rollout.write_bytes(b"no session\n")
    with pytest.raises(LaunchFailed, match=r"^resume refused: the transcript"):
        await room.order(room.agent(spec), Mode.RESUME)
    rollout.write_bytes(b'{"type":"session_meta"}\n')
    assert SESSION_ID in (await room.order(room.agent(spec), Mode.RESUME))["argv"]


async def test_a_harness_of_another_version_cannot_run(room: Room) -> None:
    with pytest.raises(LaunchFailed, match="cannot drive") as failed:
        await room.order(room.agent(room.spec(harness="other")))
    assert failed.value.code == 126


async def test_a_state_directory_that_cannot_be_written_is_a_failed_launch(room: Room) -> None:
    await room.order(room.agent())
    order = room.directories.agent_runtime("a") / "order.json"
    order.unlink()
    order.mkdir()

    with pytest.raises(LaunchFailed, match="could not be written"):
        await room.order(room.agent())


async def test_the_shim_is_run_from_its_copy_by_the_interpreter_itself(room: Room) -> None:
    argv = (await room.starter.shim_command("a")).argv

    assert argv[1:3] == ("-I", "-S")
    assert Path(argv[0]).resolve() == Path(argv[0])
    assert Path(argv[3]).parent.parent == room.directories.state / "lib"
    help_text = subprocess.run([*argv[:4], "--wrong"], capture_output=True, text=True, check=False)
    assert help_text.returncode == 64
    assert argv[4:10] == (
        "--agent", "a", "--state", str(room.state), "--run", str(room.directories.agent_runtime("a")),
    )  # fmt: skip


async def test_a_missing_command_is_a_warning_at_add(room: Room) -> None:
    assert "not to be found" in (room.starter.command_problem(room.spec()) or "")
    (room.work / "file").write_text("true")
    found = room.starter.command_problem(room.spec(argv=("./file",))) or ""
    assert found.startswith("./file cannot be run now: it is not executable")
    assert room.starter.command_problem(room.spec(argv=("sh",))) is None
    assert room.starter.command_problem(room.spec(argv=("/bin/sh",))) is None


async def test_f_proc_16_what_stands_in_the_way_of_an_unattended_start_is_named_beforehand(tmp_path: Path) -> None:
    """A login that is missing, and questions that nobody has answered: by the CLI's own files, without running it."""
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    room = Room(tmp_path, {"HOME": str(home), "PATH": "/bin"})
    agent = room.agent(room.spec(harness="claude", argv=("sh",)))

    login, trust = await room.starter.start_problems(agent)

    assert "no login is to be found" in login
    assert str(home / ".claude" / ".credentials.json") in login
    assert f"whether it may trust {room.work}" in trust
    assert "--seed-trust" in trust
    (home / ".claude" / ".credentials.json").write_text("{}")
    seeded = room.agent(room.spec(harness="claude", argv=("sh",), seed_trust=True))
    assert await room.starter.start_problems(seeded) == ()


async def test_what_stands_in_the_way_of_a_start_is_looked_for_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Places that an agent or an operator names can lie on a file system that does not answer."""
    room, asked = Room(tmp_path, {"PATH": "/bin"}), set[int]()
    realpath, access = os.path.realpath, os.access

    def seen_realpath(path: str, **how: bool) -> str:
        asked.add(threading.get_ident())
        return realpath(path, **how)

    def seen_access(path: str, mode: int, **how: bool) -> bool:
        asked.add(threading.get_ident())
        return access(path, mode, **how)

    monkeypatch.setattr(os.path, "realpath", seen_realpath)
    monkeypatch.setattr(os, "access", seen_access)
    await room.starter.start_problems(room.agent(room.spec(harness="claude", argv=("sh",))))

    assert asked
    assert threading.get_ident() not in asked


async def test_a_workers_run_never_takes_the_files_of_an_earlier_run_for_its_own(room: Room) -> None:
    worker = room.agent(replace(room.spec(), task="t1"))
    out = room.directories.task_out("t1", 1)
    order = await room.order(worker)
    assert order["env"]["PHOENIX_OUT"] == str(out)
    await room.order(worker)
    (out / "old").write_bytes(b"of another run")

    with pytest.raises(LaunchFailed, match="holds files of an earlier run") as refused:
        await room.order(worker)
    assert refused.value.remedy == f"mv {out} {out}.kept"
    assert (out / "old").read_bytes() == b"of another run"
