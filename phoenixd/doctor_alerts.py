"""What `phoenixctl doctor` finds of the programs and addresses that are named in the configuration. Blocking."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from phoenixd.api.finding import Finding
from phoenixd.command_remedies import command_remedy
from phoenixd.command_search import find_command
from phoenixd.config.tables.daemon import AlertsTable, web_address
from phoenixd.core.agent import Agent
from phoenixd.core.rules import WriterKind
from phoenixd.core.spec import Kind

SECRET_LIMIT = 16 * 1024


def alert_findings(alerts: AlertsTable, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Whether alerts reach the operator: by a program that can be run, by an address and secrets that can be read."""
    ways, found = [], []
    if alerts.command:
        ways.append(alerts.command[0])
        if find_command(alerts.command[0], environment.get("PATH", os.defpath), "/") is None:
            title = "alerts are told to a command that cannot be run"
            remedy = command_remedy(alerts.command[0], "command in [alerts]")
            found.append(Finding("problem", title, alerts.command[0], remedy))
    if alerts.webhook is not None:
        ways.append("a webhook")
        if not isinstance(alerts.webhook, str):
            found += _secret("the webhook's address", alerts.webhook.file, is_address=True)
    if alerts.webhook_authorization is not None:
        found += _secret("the webhook's authorization", alerts.webhook_authorization.file)
    yield from found
    if not found and ways:
        yield Finding("ok", f"alerts are told by {' and '.join(ways)}")
    elif not ways:
        how = "command or webhook in [alerts] would tell you"
        yield Finding("ok", "alerts are told by nobody: log, status and inbox have them", how)


def named_findings(agent: Agent, environment: Mapping[str, str]) -> Iterator[Finding]:
    """The programs that are named beside an agent's own: those that write its brief, and its handoffs' papers."""
    spec, named = agent.spec, []
    if spec.brief.writer is WriterKind.COMMAND and spec.brief.command:
        named.append(("its brief is", "brief.command", spec.brief.command[0]))
    if spec.kind is Kind.ORCHESTRATOR and spec.handoff.writer == "command" and spec.handoff.command:
        named.append(("the papers of its handoffs are", "handoff.command", spec.handoff.command[0]))
    for what, key, command in named:
        if find_command(command, environment.get("PATH", os.defpath), spec.cwd) is None:
            title = f"{agent.name}: {what} to be written by a command that cannot be run"
            remedy = command_remedy(command, f"command in [agent.{spec.role}.{key.removesuffix('.command')}]")
            yield Finding("problem", title, f"{key}: {command}", remedy)


def _secret(what: str, path: str, *, is_address: bool = False) -> Iterator[Finding]:
    """A file that is read for each alert; what it holds is never shown."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            held = (file.read(SECRET_LIMIT) or b"").decode().partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        yield Finding("problem", f"{what} cannot be read", f"{path}: {why}", f"ls -l {path}")
        return
    if is_address:
        try:
            web_address(held)
        except ValueError:
            yield Finding("problem", f"{what} is no http or https address", path, f"write one into {path}")
    elif not held:
        yield Finding("problem", f"{what} is empty", path, f"write it into {path}")
