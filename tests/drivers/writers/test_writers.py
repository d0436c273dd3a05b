"""Brief writers outside the process: what a command or a model may do to us, and what becomes of it."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from phoenixd.core.agent import Agent
from phoenixd.core.agent.state import Desired, Stopped
from phoenixd.core.rules import BriefRules, HandoffRules, WriterKind
from phoenixd.core.spec import AgentSpec
from phoenixd.documents.brief.material import BriefMaterial
from phoenixd.documents.conversation import Conversation, Utterance
from phoenixd.documents.state import StateDocument
from phoenixd.drivers.processes.pidfds import Processes
from phoenixd.drivers.writers import project_command, project_model
from phoenixd.drivers.writers.command import AGENT, CommandWriter, unwrapped
from phoenixd.drivers.writers.job import Place
from phoenixd.drivers.writers.model import ModelWriter
from phoenixd.drivers.writers.project_model import ProjectModel
from phoenixd.errors import WriterFailed
from phoenixd.installed import SOURCE, interpreter
from tests.ending import ALARM
from tests.hung_disk import hung_mount, told_while_ticking
from tests.stub.messages import MessagesStub
from tests.stub.scenario import Step
from tests.waiting import eventually_sync

NONCE = "5c1f0e6b9a7d4c3e8f2b1a0d9c8e7f6a"
RUNNER = (interpreter(), "-I", "-S", str(SOURCE), "--job")
SPINS = f"{ALARM}\nimport sys\nsys.stdin.close()\nwhile True: pass"


def material(*said: Utterance) -> BriefMaterial:
    state = StateDocument(agent="a", numbers={"n": "1"})
    return BriefMaterial("a", 1.8e9, state, Conversation("s", said, is_whole=True), nonce=NONCE)


def agent(tmp_path: Path, **rules: Any) -> Agent:
    spec = AgentSpec("a", ("x",), str(tmp_path), brief=BriefRules(**rules))
    return Agent(spec, Desired.STOPPED, Stopped(), 0.0, "")


def seat(tmp_path: Path, **rules: Any) -> Agent:
    spec = AgentSpec("a", ("x",), str(tmp_path), handoff=HandoffRules(**rules))
    return Agent(spec, Desired.STOPPED, Stopped(), 0.0, "")


def program(tmp_path: Path, text: str) -> tuple[str, ...]:
    path = tmp_path / "writer.py"
    path.write_text(textwrap.dedent(text))
    return (sys.executable, "-I", str(path))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "MARK": "of the agent", "HOME": str(tmp_path)}


@pytest.fixture
def writer(environment: dict[str, str]) -> CommandWriter:
    processes = Processes(leaves=None, reaper_of=lambda name: None)

    async def environment_of(_: Agent) -> dict[str, str]:
        return environment

    return CommandWriter(lambda: RUNNER, environment_of, lambda run_id: processes.fence(AGENT, 0, run_id, None), here)


def here(agent: Agent, environment: Mapping[str, str]) -> Place:
    return Place(Path(agent.spec.cwd))


def is_alive(path: Path) -> bool:
    """Whether a process that wrote its pid there still lives."""
    try:
        stat = Path(f"/proc/{path.read_text()}/stat").read_text()
    except (OSError, ValueError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


async def test_the_command_gets_the_prompt_and_the_agents_environment_and_no_terminal(
    tmp_path: Path, writer: CommandWriter
) -> None:
    command = program(
        tmp_path,
        """
        import json, os, sys
        prompt = sys.stdin.read()
        try:
            os.open("/dev/tty", os.O_RDWR)
            terminal = True
        except OSError:
            terminal = False
        print(json.dumps([len(prompt), "the token refresh" in prompt, os.environ["MARK"], terminal, os.getcwd(),
                          os.getsid(0) == os.getpid()]))
        """,
    )
    said = Utterance("assistant", "the token refresh is untested")

    answer = await writer.write(agent(tmp_path, command=command), material(said))

    length, *rest = json.loads(answer.text)
    assert length > 1000
    assert rest == [True, "of the agent", False, str(tmp_path), True]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import sys; sys.exit('no credit, key sk-ant-api03-abcdefghijklmnopqrstuvwx1234')", "exit 1: no credit, key"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "exit 137"),
        ("import sys\nwhile True: sys.stdout.write('x' * 65536)", "more than"),
        (SPINS, "no answer within 0.5 s"),
        ("import time\ntime.sleep(1000)", "no answer within 0.5 s"),
    ],
)
async def test_f_br_5_a_command_that_misbehaves_is_ended_and_said_why(
    tmp_path: Path, writer: CommandWriter, text: str, why: str
) -> None:
    asked = agent(tmp_path, command=program(tmp_path, text), timeout=0.5 if "within" in why else 20.0)

    with pytest.raises(WriterFailed, match=re.escape(why)) as failed:
        await writer.write(asked, material())

    assert "sk-ant" not in failed.value.message


async def test_a_command_that_is_not_there(tmp_path: Path, writer: CommandWriter) -> None:
    with pytest.raises(WriterFailed, match=r"exit 127: /nowhere/writer: No such file"):
        await writer.write(agent(tmp_path, command=("/nowhere/writer",)), material())


DETACHED = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        text = '''
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
open({path!r} + ".new", "w").write(str(os.getpid()))
os.rename({path!r} + ".new", {path!r})
time.sleep(1000)
'''
        os.execve(sys.executable, [sys.executable, "-I", "-c", text], {{}})
    os._exit(0)
while not os.path.exists({path!r}):
    time.sleep(0.01)
{then}
"""


@pytest.mark.parametrize("then", ["print('{}')", "time.sleep(1000)"])
async def test_p5_the_whole_tree_of_a_command_is_gone_when_it_answered_or_ran_out_of_time(
    tmp_path: Path, writer: CommandWriter, then: str
) -> None:
    """Also what called setsid, forked twice and emptied its environment."""
    path = tmp_path / "pid"
    command = program(tmp_path, DETACHED.format(path=str(path), then=then))
    asked = agent(tmp_path, command=command, timeout=3.0)

    if "print" in then:
        assert (await writer.write(asked, material())).text == "{}\n"
    else:
        with pytest.raises(WriterFailed):
            await writer.write(asked, material())

    assert path.exists()
    assert not is_alive(path)


async def test_a_run_that_is_cancelled_leaves_nothing(tmp_path: Path, writer: CommandWriter) -> None:
    path = tmp_path / "pid"
    command = program(tmp_path, DETACHED.format(path=str(path), then="time.sleep(1000)"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(writer.write, agent(tmp_path, command=command), material())
        with anyio.fail_after(60):
            while not path.exists():
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()

    assert not is_alive(path)


def test_a_job_ends_with_the_daemon_that_started_it(tmp_path: Path) -> None:
    """kill -9 of the process that started the runner: the kernel tells the runner, which ends its tree."""
    path = tmp_path / "pid"
    command = program(tmp_path, DETACHED.format(path=str(path), then="time.sleep(1000)"))
    daemon = os.fork()
    if daemon == 0:
        os.posix_spawn(RUNNER[0], [*RUNNER, *command], {"PATH": os.environ["PATH"]})
        signal.pause()
        os._exit(0)
    try:
        eventually_sync(path.exists)
    finally:
        os.kill(daemon, signal.SIGKILL)
        os.waitpid(daemon, 0)

    eventually_sync(lambda: not is_alive(path))


def test_claudes_json_output_is_unwrapped_with_its_tokens() -> None:
    told = {"type": "result", "result": "{}", "usage": {"input_tokens": 7, "output_tokens": 5, "service_tier": "x"}}

    answer = unwrapped(json.dumps(told))

    assert (answer.text, answer.tokens) == ("{}", 12)
    assert unwrapped('{"agent": "a"}').text == '{"agent": "a"}'


class TestModel:
    ANSWER = '{"agent": "a", "open_loops": []}'

    @pytest.fixture
    def stub(self) -> Iterator[MessagesStub]:
        with MessagesStub(responder=lambda request: Step(text=self.ANSWER)) as stub:
            yield stub

    async def test_a_model_is_asked_over_the_network_with_the_agents_own_key(
        self, tmp_path: Path, stub: MessagesStub
    ) -> None:
        pytest.importorskip("anthropic", reason="not run: the extra clinic is not installed")

        async def environment_of(_: Agent) -> dict[str, str]:
            return {"ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": stub.base_url}

        writer = ModelWriter(environment_of)
        rules = {"writer": WriterKind.MODEL, "model": "anthropic:claude-test", "timeout": 30.0}

        answer = await writer.write(agent(tmp_path, **rules), material(Utterance("user", "hello there")))

        assert answer.text == self.ANSWER
        assert answer.tokens > 0
        assert "hello there" in stub.requests[-1].whole_text

    async def test_a_scripted_model_and_one_that_never_answers(self, tmp_path: Path) -> None:
        pydantic_ai = pytest.importorskip("pydantic_ai", reason="not run: the extra clinic is not installed")
        from pydantic_ai.messages import ModelResponse, TextPart
        from pydantic_ai.models.function import FunctionModel

        assert pydantic_ai

        async def environment_of(_: Agent) -> dict[str, str]:
            return {}

        async def answers(messages: object, info: object) -> ModelResponse:
            return ModelResponse(parts=[TextPart(self.ANSWER)])

        async def never(messages: object, info: object) -> ModelResponse:
            await anyio.sleep_forever()
            raise AssertionError

        async def fails(messages: object, info: object) -> ModelResponse:
            raise RuntimeError("key sk-ant-api03-abcdefghijklmnopqrstuvwx1234 is wrong")

        rules = {"writer": WriterKind.MODEL, "model": "test:x", "timeout": 20.0}
        good = ModelWriter(environment_of, lambda name, _: FunctionModel(answers))
        assert (await good.write(agent(tmp_path, **rules), material())).text == self.ANSWER
        slow = ModelWriter(environment_of, lambda name, _: FunctionModel(never))
        with pytest.raises(WriterFailed, match="no answer within 1 s"):
            await slow.write(agent(tmp_path, **{**rules, "timeout": 1.0}), material())
        bad = ModelWriter(environment_of, lambda name, _: FunctionModel(fails))
        with pytest.raises(WriterFailed, match=r"RuntimeError: key \[redacted\] is wrong"):
            await bad.write(agent(tmp_path, **rules), material())

    async def test_without_the_extra_it_says_what_to_install(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def environment_of(_: Agent) -> dict[str, str]:
            return {}

        monkeypatch.setitem(sys.modules, "pydantic_ai", None)
        rules = {"writer": WriterKind.MODEL, "model": "anthropic:x"}
        with pytest.raises(WriterFailed, match="pydantic-ai is not installed") as failed:
            await ModelWriter(environment_of).write(agent(tmp_path, **rules), material())
        assert failed.value.remedy == "uv tool install '.[clinic]' in the checkout"


class TestProjectModel:
    FILES: ClassVar[dict[str, str]] = {"claude.md": "# Work\n\nVAT is odd.\n"}

    async def test_the_model_of_handoffs_answers_by_a_schema_with_the_agents_key(self, tmp_path: Path) -> None:
        pytest.importorskip("pydantic_ai", reason="not run: the extra clinic is not installed")
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import AgentInfo, FunctionModel

        seen: list[tuple[str, str]] = []

        async def environment_of(_: Agent) -> dict[str, str]:
            return {"ANTHROPIC_API_KEY": "of the agent"}

        async def answers(messages: object, info: AgentInfo) -> ModelResponse:
            (tool,) = info.output_tools
            assert set(tool.parameters_json_schema["properties"]) == {"files"}
            return ModelResponse(parts=[ToolCallPart(tool.name, {"files": self.FILES})], finish_reason="tool_call")

        async def cut(messages: object, info: AgentInfo) -> ModelResponse:
            tool = info.output_tools[0].name
            return ModelResponse(parts=[ToolCallPart(tool, {"files": self.FILES})], finish_reason="length")

        async def talks(messages: object, info: AgentInfo) -> ModelResponse:
            return ModelResponse(parts=[TextPart("I have done it.")])

        def model_of(answer: Any) -> Any:
            def model(name: str, environment: Any) -> FunctionModel:
                seen.append((name, environment["ANTHROPIC_API_KEY"]))
                return FunctionModel(answer)

            return model

        asked = seat(tmp_path, writer="model", model="anthropic:x")
        said = await ProjectModel(environment_of, model_of(answers)).write(asked, "Word it.")
        assert json.loads(said.text) == {"files": self.FILES}
        assert said.tokens > 0
        assert seen == [("anthropic:x", "of the agent")]
        with pytest.raises(WriterFailed, match="cut at its end") as short:
            await ProjectModel(environment_of, model_of(cut)).write(asked, "Word it.")
        assert short.value.tokens > 0
        with pytest.raises(WriterFailed, match="anthropic:x failed"):
            await ProjectModel(environment_of, model_of(talks)).write(asked, "Word it.")

    async def test_one_that_is_too_slow_is_told_with_its_own_key(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("pydantic_ai", reason="not run: the extra clinic is not installed")
        from pydantic_ai.messages import ModelResponse
        from pydantic_ai.models.function import FunctionModel

        monkeypatch.setattr(project_model, "TIME_LIMIT", 2.0)

        async def environment_of(_: Agent) -> dict[str, str]:
            return {}

        async def never(messages: object, info: object) -> ModelResponse:
            await anyio.sleep_forever()
            raise AssertionError

        words = ProjectModel(environment_of, lambda name, _: FunctionModel(never))
        with pytest.raises(WriterFailed, match="no answer within 2 s") as failed:
            await words.write(seat(tmp_path, model="test:x"), "Word it.")
        assert "handoff.model a faster one" in failed.value.remedy
        assert "[agent.a.handoff]" in failed.value.remedy


async def test_a_program_of_handoff_command_that_takes_too_long_is_told_with_its_own_key(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_command, "TIME_LIMIT", 0.5)
    processes = Processes(leaves=None, reaper_of=lambda name: None)

    async def environment_of(_: Agent) -> dict[str, str]:
        return environment

    words = project_command.ProjectCommand(
        lambda: RUNNER, environment_of, lambda run_id: processes.fence(AGENT, 0, run_id, None), here
    )
    with pytest.raises(WriterFailed) as failed:
        await words.write(seat(tmp_path, command=program(tmp_path, "import time\ntime.sleep(1000)")), "{}")
    assert "no answer within 0.5 s" in failed.value.message
    assert "[agent.a.handoff]" in failed.value.remedy
    assert "brief" not in failed.value.remedy


ASKING = """
import os, sys
from pathlib import Path
from phoenixd.drivers.writers.job import Job, Place, run
from phoenixd.errors import WriterFailed
async def end(run_id):
    pass
async def asking():
    job = Job(("true",), sys.argv[1], dict(os.environ), b"", 2.0, Place(Path("/")))
    try:
        await run(job, lambda: sys.argv[2:], end)
    except WriterFailed as failed:
        print(failed.message)
"""


def test_a_command_in_a_directory_that_never_answers_stops_nothing_else_and_is_given_up(tmp_path: Path) -> None:
    """A process that has to enter the directory before it is a program held up the whole daemon."""
    with hung_mount(tmp_path / "dead") as dead:
        assert told_while_ticking(ASKING, str(dead), *RUNNER) == "true gave no answer within 2 s"


async def test_a_command_whose_directory_is_gone_says_so(tmp_path: Path, writer: CommandWriter) -> None:
    who = agent(tmp_path / "gone", writer=WriterKind.COMMAND, command=("true",))
    with pytest.raises(WriterFailed, match=r"true: .*gone: No such file or directory"):
        await writer.write(who, material())
