"""docs/examples/api_worker.py, the DeepSeek case of the Resonance Echo Protocol, against a server on loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from phoenixd.config import read_configuration
from phoenixd.planting import parse
from tests.resonance.models import Model, dropping

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "api_worker.py"


class Api(ThreadingHTTPServer):
    """A chat API whose model once loses the front in silence: in a request, and in both checks of it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.model = Model()
        self.answered = 0
        self.refuses = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/chat/completions"


class Handler(BaseHTTPRequestHandler):
    server: Api

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        api = self.server
        if api.refuses:
            api.refuses -= 1
            return self._say(400, {"error": {"message": "This model's maximum context length is 8 tokens."}})
        api.answered += 1
        api.model.view = dropping(60) if api.answered in (3, 4, 5) else lambda messages: messages
        reply = api.model(asked["messages"])
        said = {"choices": [{"message": {"role": "assistant", "content": reply.text}, "finish_reason": "stop"}]}
        return self._say(200, said)

    def _say(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing of this is worth a line."""


@pytest.fixture
def api() -> Iterator[Api]:
    server = Api()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def run(api: Api, room: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    given = {name: value for name, value in os.environ.items() if not name.startswith("PHOENIX_")}
    environ = {**given, "API_URL": api.url, "API_MODEL": "deepseek-r1", "PHOENIX_AGENT": "The Architect"}
    command = [sys.executable, str(EXAMPLE), "Design the protocol."]
    typed = "".join(f"{line}\n" for line in lines)
    return subprocess.run(
        command, cwd=room, env=environ, input=typed, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_configuration_at_its_top_is_one_and_gives_it_no_marker_of_ours(tmp_path: Path) -> None:
    told = re.search(r"(?ms)^    \[agent\.deepseek\]$.*?(?=^$)", EXAMPLE.read_text(encoding="utf-8"))
    assert told is not None
    place = tmp_path / "phoenixd.toml"
    (tmp_path / "deepseek.key").write_text("k")
    place.write_text(
        textwrap.dedent(told[0]).replace("/srv/shop", str(tmp_path)).replace("/etc/phoenixd", str(tmp_path))
    )

    found = read_configuration(place, tmp_path, {})

    assert [str(problem) for problem in found.problems] == []
    spec = found.agents["deepseek"]
    assert (spec.resonance.overflow, spec.resonance.transport) == ("silent", "stateless")
    assert not spec.has_resonance


def test_r66_a_front_that_the_server_drops_is_found_and_the_session_begins_anew_from_the_seed(
    api: Api, tmp_path: Path
) -> None:
    done = run(api, tmp_path, "And the handshake.", "And the errors.", "And the end.")

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the front of the context was lost") == 1
    assert len(done.stdout.splitlines()) == 4, "each turn has an answer, and none of them bears a code"
    anchor = json.loads((tmp_path / "RESONANCE/resonance_anchor_The Architect.json").read_text())
    assert parse(anchor["marker"])
    assert anchor["ended_at"] is not None
    first = api.model.requests[0]
    assert "Design the protocol." in first[0]["content"], "the seed stands in the first ordinary message"
    assert first[0]["role"] == "user"
    given = (tmp_path / "RESONANCE/marker_ledger.jsonl").read_text().splitlines()
    assert len(given) == len({json.loads(line)["hex"] for line in given})


def test_a_request_that_is_refused_as_too_long_goes_on_from_the_seed_and_other_errors_are_told(
    api: Api, tmp_path: Path
) -> None:
    api.refuses = 1
    done = run(api, tmp_path)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1), done.stderr

    api.server_close()
    failed = run(api, tmp_path)
    assert failed.returncode == 0
    assert "no answer: " in failed.stderr
