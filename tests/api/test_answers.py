"""What the operations answer: JSON that the published schemas hold, streams that resume, keys that act once."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import validate

from phoenixd.api import arguments, examples, openapi
from phoenixd.api.application import HANDLERS
from phoenixd.api.finding import Finding
from phoenixd.api.operations import BY_NAME, OPERATIONS, served, verbs
from phoenixd.api.operations.operation import NAME_PATTERN, NAME_SHAPE, SEND_LIMIT
from phoenixd.api.problems import Problem
from phoenixd.api.schemas import SCHEMAS
from phoenixd.api.values import BriefPage, Change
from phoenixd.core.agent.activity import PromptKind
from phoenixd.core.agent.run import Mode
from phoenixd.core.agent.state import BackingOff
from phoenixd.core.events.fleet import TerminalSeen
from phoenixd.core.events.orders import AnswerRequested, SendRequested, StopRequested
from phoenixd.core.meter.reading import UsageSample
from phoenixd.documents.brief.health import Fault
from phoenixd.documents.log_lines import LogLine
from phoenixd.documents.turn_rows import TurnRow
from phoenixd.errors import NoTerminal
from tests.api.conftest import Live
from tests.api.daemon import FakeDaemon
from tests.documents.project.projects import PLANNING, plan_of, tree_of

DOCUMENTS: list[tuple[str, str, str, Any]] = [
    ("list_agents", "GET", "/v1/agents", None),
    ("follow_feed", "GET", "/v1/stream", None),
    ("list_lives", "GET", "/v1/agents/docs/lives?limit=5", None),
    ("show_agent", "GET", "/v1/agents/docs", None),
    ("add_agent", "POST", "/v1/agents", {"name": "new", "argv": ["missing"], "cwd": "/", "env": {"A": "b"}}),
    ("start_agent", "POST", "/v1/agents/off/start", {"wait": True, "timeout": 0.1}),
    ("restart_agent", "POST", "/v1/agents/docs/restart", {"fresh": True}),
    ("stop_agent", "POST", "/v1/agents/docs/stop", None),
    ("remove_agent", "DELETE", "/v1/agents/docs", None),
    ("read_pane", "GET", "/v1/agents/docs/pane", None),
    ("send_text", "POST", "/v1/agents/docs/send", {"text": "hello"}),
    ("act", "POST", "/v1/act", {"verb": "stop", "select": "do* boss"}),
    ("undo", "POST", "/v1/undo", {}),
    ("read_log", "GET", "/v1/log?select=docs", None),
    ("prompt", "GET", "/v1/prompt", None),
    ("list_events", "GET", "/v1/events?agent=docs&since=8h", None),
    ("explain_agent", "GET", "/v1/agents/docs/explain", None),
    ("inbox", "GET", "/v1/inbox", None),
    ("show_item", "GET", "/v1/inbox/1", None),
    ("answer_item", "POST", "/v1/inbox/1/answer", {"verdict": "allow"}),
    ("since", "GET", "/v1/since?time=8h", None),
    ("wait_agent", "GET", "/v1/agents/docs/wait?for=running&timeout=1", None),
    ("doctor", "GET", "/v1/doctor", None),
    ("plan", "GET", "/v1/plan", None),
    ("apply", "POST", "/v1/apply", None),
    ("recover", "GET", "/v1/recover", None),
    ("confirm_recovery", "POST", "/v1/recover", None),
    ("resolve_loop", "POST", "/v1/resolve", {"id": "auth-flow", "reason": "tested", "agent": "docs"}),
    ("brief_show", "GET", "/v1/agents/docs/brief", None),
    ("brief_check", "GET", "/v1/agents/docs/brief/check", None),
    ("brief_generate", "POST", "/v1/agents/docs/brief", None),
    ("list_loops", "GET", "/v1/loops", None),
    ("tokens_check", "GET", "/v1/tokens?agent=docs", None),
    ("handoff_start", "POST", "/v1/handoff", {"agent": "boss"}),
    ("handoff_status", "GET", "/v1/handoff?agent=boss", None),
    ("handoff_rollback", "POST", "/v1/handoff/rollback", {"agent": "boss"}),
    ("handoff_ack", "POST", "/v1/handoff/ack", {"agent": "boss", "said": '{"package": "p", "word": "w"}'}),
    ("list_resonance", "GET", "/v1/resonance", None),
    ("show_resonance", "GET", "/v1/agents/boss/resonance", None),
    ("check_resonance", "POST", "/v1/agents/boss/resonance/check", {"why": "a release"}),
    ("restore_resonance", "POST", "/v1/agents/boss/resonance/restore", None),
    ("mint_marker", "POST", "/v1/resonance/mint", {"phrase": "salt on the threshold"}),
    ("clinic_list", "GET", "/v1/clinic", None),
    ("clinic_show", "GET", "/v1/clinic/c1", None),
    ("clinic_replay", "GET", "/v1/clinic/c1/replay", None),
    ("task_run", "POST", "/v1/tasks", {"prompt": "Do it.", "agent": "hand"}),
    ("list_tasks", "GET", "/v1/tasks", None),
    ("show_task", "GET", "/v1/tasks/t1", None),
    ("cancel_task", "POST", "/v1/tasks/t1/cancel", None),
    ("memory_list", "GET", "/v1/memory?workspace=/srv&project=shop", None),
    ("memory_share", "POST", "/v1/memory/share", {"withdraw": "shop"}),
    ("phase_list", "GET", "/v1/phases?workspace=/srv&project=shop", None),
    ("phase_check", "GET", "/v1/phases/check?workspace=/srv", None),
    ("heartbeat_show", "GET", "/v1/agents/docs/heartbeat", None),
    ("clean_fleet", "POST", "/v1/cleanup", None),
    ("clean_agent", "POST", "/v1/agents/docs/cleanup", {"dry_run": True}),
    ("heartbeat_simulate", "POST", "/v1/agents/docs/heartbeat", {"age": "20m"}),
    ("breaker_show", "GET", "/v1/agents/docs/breaker", None),
    ("breaker_reset", "POST", "/v1/agents/docs/breaker/reset", None),
    ("watchdog", "POST", "/v1/watchdog", None),
    ("down", "POST", "/v1/down", {"agents": True}),
    ("version", "GET", "/v1/version", None),
    ("health", "GET", "/healthz", None),
    ("list_breakers", "GET", "/v1/breakers", None),
    ("mute_agent", "POST", "/v1/agents/asks/mute", {"for": "2h"}),
    ("unmute_agent", "POST", "/v1/agents/asks/unmute", None),
    ("ack_alert", "POST", "/v1/alerts/1/ack", None),
    ("looked", "POST", "/v1/looked", {"upto": "1"}),
    ("list_items", "GET", "/v1/items?state=closed", None),
    ("show_usage", "GET", "/v1/agents/docs/usage?since=8h&limit=5", None),
    ("list_turns", "GET", "/v1/agents/docs/turns?limit=5", None),
    ("read_screen", "GET", "/v1/agents/docs/screen?ansi=1", None),
    ("openapi", "GET", "/openapi.json", None),
]


def test_the_description_is_valid_openapi_3_1() -> None:
    document = openapi.document("1.2.3")

    validate(document)
    assert document["openapi"].startswith("3.1")


def test_every_question_and_every_answer_has_an_example_that_its_schema_holds() -> None:
    document = openapi.document("1.2.3")
    whole = {"components": {"schemas": SCHEMAS}}
    checked = jsonschema.FormatChecker()
    for paths in document["paths"].values():
        for told in paths.values():
            for parameter in told["parameters"]:
                if parameter["in"] != "header":
                    jsonschema.validate(parameter["example"], {**parameter["schema"], **whole}, format_checker=checked)
            for content in [told["responses"]["200"], told.get("requestBody", {"content": {}})]:
                found = content["content"].get("application/json")
                if found is not None:
                    jsonschema.validate(found["example"], {**found["schema"], **whole}, format_checker=checked)
            if told["operationId"] != "openapi":
                assert told["responses"]["200"]["content"]["application/json"]["example"], told["operationId"]
    assert {tag for paths in document["paths"].values() for told in paths.values() for tag in told["tags"]} == {
        one["name"] for one in document["tags"]
    }


@pytest.mark.parametrize(("operation", "events"), openapi.STREAMED.items(), ids=lambda one: str(one)[:12])
def test_the_example_of_a_stream_has_each_event_as_its_schema_says(operation: str, events: dict[str, str]) -> None:
    found = [dict(line.split(": ", 1) for line in block.splitlines())
             for block in examples.frames(events).strip().split("\n\n")]  # fmt: skip
    assert [one.get("event", "message") for one in found] == list(events)
    for frame, schema in zip(found, events.values(), strict=True):
        whole = {"$ref": f"#/components/schemas/{schema}", "components": {"schemas": SCHEMAS}}
        jsonschema.validate(json.loads(frame["data"]), whole, format_checker=jsonschema.FormatChecker())


async def test_the_examples_of_questions_are_understood(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("shop-api")
    for operation in served():
        if operation.at("body") and operation.method == "POST":
            assert arguments.from_body(operation, json.dumps(examples.body(operation)).encode()), operation.name


def test_every_operation_is_served_described_and_tried_here() -> None:
    assert set(HANDLERS) | {"openapi"} == {one.name for one in served()}
    assert {name for name, *_ in DOCUMENTS} == {one.name for one in served()}
    assert len({(one.method, one.path) for one in served()}) == len(served())
    assert {one.response for one in served()} <= set(SCHEMAS)


def test_how_a_value_is_written_is_said_in_words() -> None:
    """A newcomer who typed `clinic show 1` was shown a regular expression."""
    patterns = {
        (one.pattern, arguments.shape(one)) for operation in OPERATIONS for one in operation.parameters if one.pattern
    }

    assert patterns
    for pattern, words in patterns:
        assert (words == NAME_SHAPE) <= (pattern == NAME_PATTERN), f"{pattern} is told in the words of another one"
        assert not set("^$[]{}") & set(words)


@pytest.mark.parametrize(
    ("operation", "id", "remedy"),
    [
        ("clinic_show", "1", "phoenixctl clinic list"),
        ("show_task", "99", "phoenixctl task status"),
        ("cancel_task", "99", "phoenixctl task status"),
        ("show_item", "!", "phoenixctl inbox"),
        ("ack_alert", "!", "phoenixctl inbox"),
    ],
)
def test_a_wrong_id_is_answered_by_what_lists_the_right_ones(operation: str, id: str, remedy: str) -> None:
    with pytest.raises(Problem) as refused:
        arguments.from_path(BY_NAME[operation], {"id": id})

    assert refused.value.remedy == remedy
    assert f"cannot be {id!r}; it is " in refused.value.detail


def test_the_verbs_of_this_release_and_no_others() -> None:
    promised = """status up down run add remove start stop restart attach logs send events explain doctor config-check
        config-show config-schema plan apply inbox since wait hooks-print hooks-install hooks-test heartbeat-show
        heartbeat-simulate breaker-show breaker-reset cleanup watchdog install-service demo version completion
        handoff-start handoff-status handoff-rollback handoff-ack
        resonance-status resonance-check resonance-restore resonance-mint memory-list memory-share
        resolve loops tokens-check brief-show brief-check brief-generate answer recover phase-list phase-check
        phase-init phase-split phase-archive phase-summarise phase-import schema-export
        task-run task-status task-cancel clinic-list clinic-show clinic-replay
        screen log undo prompt help mute unmute ack looked turns top"""

    assert {"-".join(words) for words in verbs()} == set(promised.split()) | {"install-service"}


@pytest.mark.parametrize(("name", "method", "path", "body"), DOCUMENTS, ids=[name for name, *_ in DOCUMENTS])
async def test_an_answer_is_what_its_schema_says(
    live: Live, daemon: FakeDaemon, name: str, method: str, path: str, body: Any
) -> None:
    daemon.declare("off", start=False)
    daemon.declare("docs")
    daemon.declare("asks")
    daemon.wait("asks", text="npm test", held=True)
    daemon.declare("boss", kind="orchestrator")
    if name.startswith("clinic_"):
        daemon.declare("ill", harness="claude")
        daemon.hook("ill", "session-start", source="startup")
        daemon.die("ill")
    if name == "check_resonance":
        daemon.report("boss")
    if name.startswith("handoff_") and name != "handoff_start":
        daemon.hand_over("boss")
    if name == "task_run":
        daemon.declare("hand", argv=("hand", "{prompt}"), start=False)
    if name == "undo":
        daemon.happen(StopRequested("docs", act="1"))
    daemon.journal.samples = [UsageSample("docs", 1, "s", 45_000, 200_000, "model", daemon.now().wall)]
    daemon.turned = [TurnRow(1.7e9, 1.7e9 + 5, "done", "go", 1, (("Bash", 2),), 1, 45_000, 900)]
    if name == "list_items":
        daemon.happen(AnswerRequested("asks", 1, allow=True, by="uid 7"))
    daemon.spoken = [LogLine("docs", "tool", "npm test", 1.7e9, "Bash")]
    daemon.happen(TerminalSeen(alive=False))
    daemon.changes = (Change("docs", "change", "argv", restart=True),)
    daemon.findings = (Finding("warning", "w", "d", "r"),)
    daemon.begin("docs", "auth-flow")
    daemon.briefs["docs"] = BriefPage("/state/brief.md", "# docs\x1b[2J\n", 1.7e9)
    daemon.faults = (Fault("brief.md", "age", "", "it is old"),)
    daemon.hand_out("Do the first thing.")
    daemon.heartbeats["docs"] = {"agent": "docs", "timestamp": "2026-11-21T10:00:00Z"}
    daemon.trees["/srv", "shop"] = tree_of({PLANNING: plan_of(("1", "completed"), ("2", "pending"))})

    answer = await live.ask(method, path, body)

    assert answer.status in (200, 201, 202), answer.text
    schema = {"$ref": f"#/components/schemas/{BY_NAME[name].response}", "components": {"schemas": SCHEMAS}}
    jsonschema.validate(answer.json, schema, format_checker=jsonschema.FormatChecker())
    assert answer.headers["content-type"] == "application/json"
    assert "\x1b" not in answer.text


async def test_status_has_every_key_of_the_contract(live: Live, daemon: FakeDaemon) -> None:
    """Design section 6, to the letter."""
    daemon.declare("loops")
    daemon.wait("loops")
    daemon.begin("loops", "old", added="2026-01-01")
    daemon.begin("loops", "young")

    told = (await live.ask("GET", "/v1/agents")).json

    assert set(told) == {"agents", "daemon"}
    (agent,) = told["agents"]
    keys = """name kind harness desired state activity incarnation pid session_id mode started_at last_heartbeat
        last_evidence restarts reason waiting_for context breaker resonance open_loops stale_loops parked_until hooks"""
    assert set(keys.split()) <= set(agent)
    assert (agent["context"], agent["resonance"]) == (None, None)
    assert agent["breaker"] == {"state": "CLOSED", "no_progress_count": 0}
    assert (agent["open_loops"], agent["stale_loops"]) == (2, 1)
    assert (agent["state"], agent["activity"], agent["waiting_for"]) == ("running", "waiting", "permission (Bash)")
    assert agent["started_at"].endswith("Z")
    assert {"version", "pid", "started_at", "tmux", "tier", "degraded"} <= set(told["daemon"])
    assert told["daemon"]["degraded"] is False


async def test_problems_have_the_form_of_rfc_9457(live: Live) -> None:
    for method, path, body, status, code in (
        ("GET", "/v1/agents/nobody", None, 404, "not_found"),
        ("GET", "/v1/agents/No!", None, 404, "not_found"),
        ("GET", "/nowhere", None, 404, "not_found"),
        ("PUT", "/v1/agents", None, 405, "invalid"),
        ("POST", "/v1/agents", {"name": "x", "fish": 1}, 400, "invalid"),
        ("POST", "/v1/agents", b"{", 400, "invalid"),
        ("POST", "/v1/agents", b"[]", 400, "invalid"),
        ("POST", "/v1/agents", b"[" * 60_000, 400, "invalid"),
        ("POST", "/v1/agents", b'{"name": "x", "prompt": "\\ud800"}', 400, "invalid"),
        ("POST", "/v1/agents", b'{"name": "x", "prompt": "\\u0000"}', 400, "invalid"),
        ("POST", "/v1/agents", b'{"name": NaN}', 400, "invalid"),
        ("POST", "/v1/agents", b'{"name": ' + b"9" * 9000 + b"}", 400, "invalid"),
        ("POST", "/v1/agents", b" " * 70_000, 413, "too_large"),
        ("GET", "/v1/agents?fish=1", None, 400, "invalid"),
        ("GET", "/v1/agents?width=1&width=2", None, 400, "invalid"),
        ("GET", "/v1/agents?" + "a=1&" * 40, None, 400, "invalid"),
        ("GET", "/v1/agents", {"a": 1}, 400, "invalid"),
    ):
        answer = await live.ask(method, path, body)
        assert (answer.status, answer.json["code"]) == (status, code), (path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        jsonschema.validate(answer.json, {**SCHEMAS["Problem"]})
        assert answer.json["detail"]
        assert answer.json["remedy"]
        assert answer.json["status"] == status


async def test_an_unknown_field_is_refused_with_what_was_meant(live: Live) -> None:
    answer = await live.ask("POST", "/v1/agents/docs/start", {"frseh": True})

    assert "did you mean fresh?" in answer.json["detail"]


async def test_a_body_is_bounded_by_what_it_is_for(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    long = {"text": "x" * (SEND_LIMIT - 100)}
    assert (await live.ask("POST", "/v1/agents/docs/send", long)).json["delivered"] is True
    assert (await live.ask("POST", "/v1/agents/docs/send", {"text": "x" * SEND_LIMIT})).status == 413
    chunked = b"POST /v1/agents/docs/stop HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    flood = chunked + (b"8000\r\n" + b"x" * 0x8000 + b"\r\n") * 4
    assert b" 413 " in (await live.raw(flood)).split(b"\r\n")[0]


async def test_the_same_key_acts_once_also_when_asked_twice_at_once(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")

    answers = await asyncio.gather(
        *(live.ask("POST", "/v1/agents/docs/send", {"text": "hello"}, idempotency_key="k1") for _ in range(5))
    )
    other = await live.ask("POST", "/v1/agents/docs/send", {"text": "other"}, idempotency_key="k1")
    fresh = await live.ask("POST", "/v1/agents/docs/send", {"text": "hello"}, idempotency_key="k2")

    sent = [order for order in daemon.orders if isinstance(order, SendRequested)]
    assert [order.message_id for order in sent] == ["k1", "k2"]
    assert {answer.body for answer in answers} == {answers[0].body}
    assert (other.status, other.json["code"]) == (409, "conflict")
    assert fresh.json["delivered"] is True
    assert (await live.ask("POST", "/v1/apply", idempotency_key="x" * 200)).status == 400


async def test_a_refusal_frees_its_key(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs", start=False)
    assert (await live.ask("POST", "/v1/agents/docs/send", {"text": "x"}, idempotency_key="k")).status == 409
    await live.ask("POST", "/v1/agents/docs/start", {"wait": True})

    assert (await live.ask("POST", "/v1/agents/docs/send", {"text": "x"}, idempotency_key="k")).status == 200


async def test_a_keyed_act_goes_on_when_its_asker_has_gone(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    daemon.performs = False
    body = json.dumps({"text": "x", "timeout": "20s"}).encode()
    head = f"POST /v1/agents/docs/send HTTP/1.1\r\nhost: x\r\nidempotency-key: k\r\ncontent-length: {len(body)}\r\n\r\n"
    _, writer = await asyncio.open_unix_connection(os.fspath(live.socket))
    writer.write(head.encode() + body)
    await writer.drain()
    async with asyncio.timeout(5):
        while not daemon.waiting:
            await asyncio.sleep(0)
    writer.close()
    daemon.happen(daemon.delivered("docs", "k"))

    again = await live.ask("POST", "/v1/agents/docs/send", {"text": "x", "timeout": "20s"}, idempotency_key="k")

    assert again.json["delivered"] is True
    assert len(daemon.orders) == 1


async def test_a_wait_ends_with_whoever_waits(live: Live, daemon: FakeDaemon) -> None:
    """Otherwise a client could pile up waits by asking and leaving."""
    daemon.declare("docs")
    _, writer = await asyncio.open_unix_connection(os.fspath(live.socket))
    writer.write(b"GET /v1/agents/docs/wait?for=stopped&timeout=7d HTTP/1.1\r\nhost: x\r\n\r\n")
    async with asyncio.timeout(5):
        while not daemon.waiting:
            await asyncio.sleep(0)
        writer.close()
        while daemon.waiting:
            await asyncio.sleep(0)


async def test_down_says_of_each_agent_that_still_stops_what_is_waited_for(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("shop-api")
    daemon.outlives = True
    answer = await live.ask("POST", "/v1/down", {"agents": True, "timeout": "0.1s"})
    assert answer.status == 202
    assert "shop-api (stopping: stopped by " in answer.json["message"], answer.json


async def test_down_answers_before_it_ends(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")

    answer = await live.ask("POST", "/v1/down", {})

    assert answer.json["done"] is True
    assert "1 agent runs on" in answer.json["message"]
    assert daemon.ended
    assert daemon.state.agents["docs"].run is not None


async def test_a_text_for_one_that_waits_for_its_start_is_refused_in_words(live: Live, daemon: FakeDaemon) -> None:
    daemon.declare("docs")
    waits = BackingOff(daemon.now().at + 60, Mode.FRESH, PromptKind.GOAL)
    daemon.change("docs", state=waits)

    refused = await live.ask("POST", "/v1/agents/docs/send", {"text": "hello"})

    assert refused.json["detail"] == "docs is backing off: nobody would read it"


async def test_a_look_moves_on_only_after_the_sitting(live: Live, daemon: FakeDaemon) -> None:
    """The second status of a sitting shows what the first has shown; the next morning's shows what is new."""
    daemon.declare("docs")
    daemon.die("docs")
    daemon.produce("docs")
    await live.ask("GET", "/v1/agents?look=1", text=True)
    again = await live.ask("GET", "/v1/agents?look=1", text=True)
    daemon.wall_offset += 3600
    later = await live.ask("GET", "/v1/agents?look=1", text=True)

    assert "1 death: 1 healed." in again.text
    assert "nothing happened" in later.text or "no deaths" in later.text


def test_no_operation_acts_on_a_get() -> None:
    acting = {"add_agent", "remove_agent", "start_agent", "stop_agent", "restart_agent", "send_text", "down", "apply",
              "clean_agent", "clean_fleet", "heartbeat_simulate", "breaker_reset", "watchdog", "resolve_loop",
              "handoff_start", "handoff_rollback", "handoff_ack",
              "check_resonance", "restore_resonance", "mint_marker",
              "memory_share", "brief_generate", "answer_item", "confirm_recovery", "task_run", "cancel_task",
              "act", "undo", "mute_agent", "unmute_agent", "ack_alert", "looked"}  # fmt: skip
    assert {one.name for one in OPERATIONS if one.path and one.method != "GET"} == acting


async def test_screen_of_an_agent_whose_terminal_is_gone_says_what_gives_it_one(
    live: Live, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said `has no pane`, and advised the doctor, who finds nothing."""

    async def gone(name: str, lines: int) -> str:
        raise NoTerminal(f"{name} has no terminal now")

    daemon.declare("docs")
    monkeypatch.setattr(daemon, "pane", gone)
    living = await live.ask("GET", "/v1/agents/docs/pane")
    daemon.happen(StopRequested("docs"))
    told = await live.ask("GET", "/v1/agents/docs/pane")

    assert (living.exit, living.json["remedy"]) == (1, "phoenixctl doctor"), "it runs, and should have one"
    assert (told.exit, told.json["remedy"]) == (4, "phoenixctl start docs")
    assert told.json["detail"] == "docs has no terminal now: what it left went when the tmux server ended"


def test_p31_x2_no_verb_has_agents_keep_their_own_state() -> None:
    """What an agent may forget must not be what recovery rests on."""
    words = {" ".join(spoken) for spoken in verbs()}

    assert not {word for word in words if "state" in word.split()}
    assert not {word for word in words if "update" in word}


async def test_of_what_a_command_ends_nobody_says_that_its_terminal_has_it(live: Live, daemon: FakeDaemon) -> None:
    """Of an agent in quarantine no terminal is left."""
    daemon.fails_with = 127
    daemon.declare("docs")

    (item,) = (await live.ask("GET", "/v1/inbox")).json["items"]

    assert (item["kind"], item["answer_by"]) == ("quarantined", "command")
    assert item["limits"] == "no answer ends it: a command does"
    assert item["advice"] == "phoenixctl start docs"
