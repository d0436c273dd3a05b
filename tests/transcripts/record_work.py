"""Records the newer samples of Claude Code anew: `python -m tests.transcripts.record_work [NAME...]`.

Each story is one session; it ends with its program killed, as the samples are of what a killed session leaves behind.
"""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.real.claude_room import Room
from tests.real.installed import locate
from tests.transcripts.claude_stories import STORIES
from tests.transcripts.neutral import neutral

HERE = Path(__file__).parent
ALL_ALLOWED = {"permissions": {"allow": ["Bash(*)", "Write", "Edit", "WebFetch"]}, "skipWebFetchPreflight": True}


def main(names: list[str]) -> int:
    located = locate("claude")
    if located.binary is None:
        print(f"not run: {located.reason}")
        return 1
    for name in names or STORIES:
        with tempfile.TemporaryDirectory() as directory, Room(located.binary, Path(directory)) as room:
            room.extra_settings, room.extra_env = ALL_ALLOWED, {"CLAUDE_CODE_DISABLE_AGENT_VIEW": "1"}
            repository(room.workspace)
            with page(Path(directory)) as (url, certificate):
                room.extra_env |= {"PAGE": url, "NODE_EXTRA_CA_CERTS": certificate}
                STORIES[name](room).kill()
            home, workspace = str(room.home), os.path.realpath(room.workspace)
            (HERE / f"claude-{name}.jsonl").write_text(neutral(room.transcript().read_text(), home, workspace))
            if name == "work":
                keep_tasks(room.home)
        print(f"recorded claude-{name}.jsonl")
    return 0


def keep_tasks(home: Path) -> None:
    kept = HERE / "claude-work-tasks"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    for path in (home / ".claude" / "tasks").glob("*/*.json"):
        shutil.copy(path, kept)


def repository(directory: Path) -> None:
    (directory / "README.md").write_text("# shop\nThe till.\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(directory), "init", "-q", "-b", "main"], check=True)
    for key, value in (("user.name", "a"), ("user.email", "a@example.org")):
        subprocess.run(["git", "-C", str(directory), "config", key, value], check=True)
    subprocess.run(["git", "-C", str(directory), "add", "."], check=True)
    subprocess.run(["git", "-C", str(directory), *who, "commit", "-qm", "init"], check=True)


@contextmanager
def page(directory: Path) -> Iterator[tuple[str, str]]:
    """A page on loopback by https, which is all that WebFetch takes; its address, and the certificate to be trusted."""
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}", str(certificate)
    finally:
        server.shutdown()
        server.server_close()


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html><body><h1>Rates</h1><p>The limit is 60 a minute.</p></body></html>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
