"""An agent that is a bare chat API: `phoenixd` runs it as a `command`, and the library watches over its context.

    [agent.deepseek]
    argv = ["/path/to/python", "/path/to/api_worker.py", "{prompt}"]
    cwd = "/srv/shop"
    prompt = "Design the protocol."
    resonance = {preset = "deepseek"}
    [agent.deepseek.env]
    API_URL = "http://127.0.0.1:11434/v1/chat/completions"
    API_MODEL = "deepseek-r1"
    API_KEY = {file = "/etc/phoenixd/deepseek.key"}

The seed goes before each request with a code of its own, and is wanted back in each answer (`stateless`). A server that
drops the front in silence, as Ollama does, is so noticed at the next answer, and the session begins anew from the seed.
Each line that is typed is a turn. What becomes of the marker stands below RESONANCE in the working directory.

The interpreter has to be one that imports phoenixd; nothing else is needed.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from phoenixd.resonance import MarkerLost, Message, Pacemaker, Reply, SessionSeed, WindowExceeded

PAPERS = Path("RESONANCE")
TOO_LONG = ("context length", "maximum context", "too long", "context_length_exceeded")
PATIENCE = 600.0


def report(event: str, **said: object) -> None:
    """Tell phoenixd what happens, so that it can see a turn and its end; without phoenixd there is nobody to tell."""
    if hook := os.environ.get("PHOENIX_HOOK"):
        told = json.dumps({"session_id": os.environ.get("PHOENIX_SESSION_ID", ""), **said})
        subprocess.run([hook, event], input=told, text=True, check=False, stdout=subprocess.DEVNULL)


def ask(messages: list[Message]) -> Reply:
    """One request of a chat API in OpenAI's form, which DeepSeek, Ollama and most others have."""
    url = urlsplit(os.environ["API_URL"])
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    body = json.dumps({"model": os.environ["API_MODEL"], "messages": messages})
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('API_KEY', '')}"}
    connection = kind(url.netloc, timeout=PATIENCE)
    try:
        connection.request("POST", url.path, body, headers)
        answer = connection.getresponse()
        told = answer.read().decode("utf-8", "replace")
    finally:
        connection.close()
    if answer.status != 200:
        if any(words in told.lower() for words in TOO_LONG):
            raise WindowExceeded(told[:200])
        raise OSError(f"{answer.status} {answer.reason}: {told[:200]}")
    choice = json.loads(told)["choices"][0]
    return Reply(choice["message"]["content"] or "", choice.get("finish_reason") or "")


def turn(pacemaker: Pacemaker, text: str) -> None:
    """One turn, told to phoenixd from its beginning to its end."""
    report("prompt-submit", prompt=text)
    try:
        answer = pacemaker.turn(text)
        if answer.restored:
            # What it said rests on a context whose front was gone: the new session is asked once more.
            print("the front of the context was lost; a new session goes on from the seed", file=sys.stderr)
            answer = pacemaker.turn(text)
    except (OSError, http.client.HTTPException, LookupError, ValueError) as failure:
        report("stop-failure", error="server_error", error_details=str(failure))
        print(f"no answer: {failure}", file=sys.stderr)
        return
    finally:
        keep(pacemaker)
    print(answer.text, flush=True)
    report("stop", last_assistant_message=answer.text)


def keep(pacemaker: Pacemaker) -> None:
    PAPERS.mkdir(exist_ok=True)
    for name, text in pacemaker.papers().items():
        (PAPERS / name).write_text(text, encoding="utf-8")


def main() -> int:
    goal = sys.argv[1] if len(sys.argv) > 1 else ""
    persona = os.environ.get("PHOENIX_AGENT", "The Architect")
    pacemaker = Pacemaker(ask, SessionSeed(persona, (goal,) if goal else ()), transport="stateless", agent=persona)
    report("session-start", source="startup")
    try:
        if goal:
            turn(pacemaker, goal)
        for line in sys.stdin:
            if line.strip():
                turn(pacemaker, line.strip())
    except MarkerLost as lost:
        # Not zero: phoenixd then says that it failed, and why.
        print(lost, file=sys.stderr)
        return 1
    pacemaker.end()
    keep(pacemaker)
    return 0


if __name__ == "__main__":
    sys.exit(main())
