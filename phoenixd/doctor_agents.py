"""What `phoenixctl doctor` finds of one agent's CLI: its version, login, trust, hooks and terminal. Blocking.

A login is looked for by the name of its file; no file that holds one is ever opened.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import assert_never

from phoenixd.api.finding import Finding
from phoenixd.core.agent import Agent
from phoenixd.core.briefing import tokens_of_a_run
from phoenixd.core.meter import parts as meters
from phoenixd.core.meter.reading import limit, read
from phoenixd.core.moment import Moment, in_words
from phoenixd.core.projection import Row
from phoenixd.core.rules import WriterKind
from phoenixd.core.spec import Kind
from phoenixd.drivers.files.plain import read_plain
from phoenixd.errors import UnsafeFile
from phoenixd.harness import HARNESSES, Harness
from phoenixd.remedies import Command

SMALLEST = (60, 15)
"""Columns and lines below which a CLI's input line and dialogs can no longer be told apart."""

TRUST_LIMIT = 32 << 20


def version_finding(name: str, program: str, said: str, tested: tuple[str, ...]) -> Finding:
    """What the CLI says of its version, against those that the contract suite runs."""
    told = f"{name}: {program} is {said[:60]}"
    found = re.search(r"\d+\.\d+(\.\d+)?", said)
    if not tested or (found is not None and found[0] in tested):
        return Finding("ok", told, "a tested version" if tested else "")
    pinned = " and ".join(tested)
    return Finding(
        "warning",
        told,
        f"phoenixd was tested with {pinned}; another one may ask, draw or write otherwise",
        f"install {tested[-1]}, or watch its first start: phoenixctl attach {name}",
    )


def cli_findings(agent: Agent, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Login, trust and the files that hooks need."""
    harness = HARNESSES.get(agent.spec.harness)
    if harness is None:
        return
    yield from _login(agent.name, harness, environment)
    yield from _trust(agent, harness, environment)
    yield from _own_files(agent, harness, environment)


def writer_finding(agent: Agent, environment: Mapping[str, str]) -> Finding:
    """Who writes the agent's brief, and why that is not who it could be; the title is to stand behind its name."""
    rules = agent.spec.brief
    harness = HARNESSES.get(agent.spec.harness)
    headless = harness.headless if harness is not None else None
    match rules.writer:
        case WriterKind.COMMAND:
            return Finding("ok", f"its brief is written by {rules.command[0]}")
        case WriterKind.MODEL:
            return Finding("ok", f"its brief is written by the model {rules.model}")
        case WriterKind.DETERMINISTIC:
            can = headless is not None
            why = (
                f'its CLI could: writer = "auto" in [agent.{agent.spec.role}.brief]'
                if can
                else "its program cannot write one"
            )
            return Finding("ok", "its brief is written without a model", why)
        case WriterKind.AUTO:
            return _cli_finding(agent, harness, environment)
        case _:
            assert_never(rules.writer)


def marker_findings(agent: Agent) -> Iterator[Finding]:
    """Whether an agent that is to bear a marker bears one, and can be asked for it."""
    known, name = agent.resonance, agent.spec.role
    if not agent.spec.has_resonance or agent.run is None:
        return
    see = f"phoenixctl resonance status {name}"
    if known is None:
        why = "its session began before resonance was on: a lost context is not noticed"
        yield Finding("warning", f"{name} bears no marker", why, f"phoenixctl restart {name} --fresh")
    elif known.lost:
        yield Finding("problem", f"{name} has lost its marker", known.lost, f"phoenixctl start {name}")
    elif known.note:
        yield Finding("warning", f"{name}: its marker cannot be checked", known.note, see)
    else:
        yield Finding("ok", f"{name}: its marker is {known.state.replace('_', ' ')}")


def window_findings(agent: Agent) -> Iterator[Finding]:
    """Whether it is known how large its window is, where a handoff hangs on that, and whether context.limit counts."""
    meter, rules, name = meters.of(agent), agent.spec.context, agent.spec.role
    if agent.run is None:
        return
    known, table = limit(meter, rules), f"[agent.{name}.context]"
    if rules.limit is not None and known is not None and known[0] != rules.limit:
        title = f"{name}: its window has {known[0]:,} tokens, and not the {rules.limit:,} of context.limit"
        yield Finding("warning", title, f"its {known[1]} says so, which counts first", f"correct limit in {table}")
    elif agent.spec.kind is not Kind.ORCHESTRATOR:
        return
    elif known is not None:
        yield Finding("ok", f"{name}: its window has {known[0]:,} tokens, by its {known[1]}")
    elif meter.tokens is None:
        yield Finding("ok", f"{name}: how large its window is may be told with its first answer")
    else:
        title = f"{name}: nobody knows how large its window is, so nothing tells when it has to be handed over"
        yield Finding("warning", title, read(meter, rules).reason, f"write limit = TOKENS into {table}")


def _cli_finding(agent: Agent, harness: Harness | None, environment: Mapping[str, str]) -> Finding:
    table = f"[agent.{agent.spec.role}.brief]"
    told = 'its brief is written without a model, though it says writer = "auto"'
    if harness is None or harness.headless is None:
        remedy = f'set writer = "deterministic" or "command" in {table}'
        return Finding("warning", told, f"{agent.spec.harness} cannot write one", remedy)
    if (problem := harness.headless.problem(agent.spec)) is not None:
        return Finding("warning", told, *problem)
    login = harness.needed_login(environment)
    if login is not None and login.is_missing(os.path.exists):
        return Finding("warning", told, "no login is to be found", login.remedy)
    rules = agent.spec.brief
    if 0 < rules.tokens_per_day < tokens_of_a_run(rules):
        why = f"a call may take {tokens_of_a_run(rules)} tokens, and a day has {rules.tokens_per_day}"
        return Finding("warning", told, why, f"raise tokens_per_day in {table}, or lower transcript_chars there")
    cap = f"at most {rules.tokens_per_day} tokens a day" if rules.tokens_per_day else "without a cap of tokens"
    return Finding("ok", f"its brief is written by its own CLI ({harness.headless.model}), {cap}")


def hearing_findings(shown: Row, now: Moment) -> Iterator[Finding]:
    """Whether what the agent says arrives: its shim's link, its hooks, and what its shim had to turn away."""
    name = shown.name
    if shown.deaf is not None:
        lost = in_words(max(0.0, now.wall - shown.deaf.since_wall))
        detail = f"{shown.deaf.why}; it is tried again, and its screen is looked at meanwhile; a restart ends it"
        title = f"{name}: for {lost} nothing that it says arrives"
        yield Finding("problem", title, detail, f"phoenixctl explain {name}")
    if shown.hooks == "missing":
        detail = "no hook has arrived a minute after its start: turns, dialogs and hangs cannot be seen"
        yield Finding("warning", f"{name}: its hooks are missing", detail, "phoenixctl hooks test")
    if shown.refused:
        detail = "what they told is not known: its state may be behind what it does"
        title = f"{name}: its shim refused {shown.refused} of its hooks in this run"
        yield Finding("warning", title, detail, f"phoenixctl explain {name}")
    if shown.strangers:
        detail = "a request without a token gets one of four places, for a second, and gives way to the agent"
        title = f"{name}: {shown.strangers} requests at its hooks bore no token of its, and were turned away"
        yield Finding("warning", title, detail, "see who connects: ss -tnp src 127.0.0.1")


def moved_finding(name: str, before: str, now: str) -> Finding:
    """An agent that lives, and whose directories were moved from where it was begun."""
    detail = f"{before} is {now} now: what it and its hook program write there comes to nobody, until its next start"
    remedy = Command(f"ln -s {quote(now)} {quote(before)}")
    return Finding("problem", f"{name}: it was begun with a directory that was moved", detail, remedy)


def size_finding(name: str, size: tuple[int, int] | None) -> Finding | None:
    """Whether the terminal is large enough to be read."""
    if size is None or (size[0] >= SMALLEST[0] and size[1] >= SMALLEST[1]):
        return None
    return Finding(
        "warning",
        f"{name}: its terminal is {size[0]} columns by {size[1]} lines",
        f"below {SMALLEST[0]} by {SMALLEST[1]} its screen cannot be read, and nothing can be sent",
        "detach the small client, or enlarge its window",
    )


def _login(name: str, harness: Harness, environment: Mapping[str, str]) -> Iterator[Finding]:
    login = harness.needed_login(environment)
    if login is None or not login.is_missing(os.path.exists):
        return
    looked = f"looked for {' or '.join(login.files)}"
    yield Finding("problem", f"{name}: no login is to be found", looked, login.remedy)


def _trust(agent: Agent, harness: Harness, environment: Mapping[str, str]) -> Iterator[Finding]:
    path, cwd = harness.trust_file(environment), os.path.realpath(agent.spec.cwd)
    try:
        if path is not None and not agent.spec.seed_trust and (content := _content(path)) is not None:
            json.loads(content)
        asked = harness.asks_at_start(agent.spec, environment, cwd, _content)
    except (OSError, UnsafeFile, ValueError, RecursionError) as error:
        yield Finding("problem", f"{agent.name}: {path} cannot be read", str(error), f"fix or remove {path}")
        return
    if asked is not None:
        remedy = f"answer its dialogs once: phoenixctl attach {agent.name}; or say seed_trust = true"
        yield Finding("warning", f"{agent.name}: its CLI will ask before it starts", asked, remedy)


def _content(path: str) -> bytes | None:
    """A file that the agent could write, None where there is none."""
    try:
        return read_plain(os.path.realpath(path), TRUST_LIMIT)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _own_files(agent: Agent, harness: Harness, environment: Mapping[str, str]) -> Iterator[Finding]:
    if agent.incarnation == 0:
        return  # They are written when it starts.
    for path in harness.own_files(environment):
        if not Path(path).is_file():
            told = f"{agent.name}: {path} is missing"
            yield Finding("warning", told, "its hooks come by that file", f"phoenixctl restart {agent.name}")
