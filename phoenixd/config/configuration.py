"""The whole configuration, as the daemon and `phoenixctl config` see it."""

from __future__ import annotations

import grp
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from phoenixd.config.environment import environment_layers
from phoenixd.config.inheritance import spell_out, with_defaults
from phoenixd.config.layers import Layer, Origin, Stack, configuration_files, lay_all, read_layer, unread_places
from phoenixd.config.places import shared_projects, shared_work
from phoenixd.config.problems import Problem, declared_twice, problem_at, problems_of
from phoenixd.config.sequences import sequence_problems, with_sequences
from phoenixd.config.specifications import agent_problems, shared_heartbeats, specification
from phoenixd.config.tables import ConfigurationTable
from phoenixd.config.tables.agent import AgentTable
from phoenixd.config.tables.values import CredentialTable
from phoenixd.core.spec import AgentSpec, FleetLimits
from phoenixd.core.tasks.state import JobRules
from phoenixd.core.treatment.authority import Caps
from phoenixd.core.treatment.examined import ReaderRules
from phoenixd.errors import ConfigurationError
from phoenixd.terrain import TERRAIN, Terrain

LOOKS = 3
"""Looks at most, where files come or go during each."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """What all files together say. An agent with an error is in `problems`, and not in `agents`."""

    agents: Mapping[str, AgentSpec] = field(default_factory=dict)
    limits: FleetLimits = field(default_factory=FleetLimits)
    settings: ConfigurationTable = field(default_factory=ConfigurationTable, repr=False)
    """All tables, with every default: `settings.brief.max_chars`, `settings.agent["x"].breaker.warn`."""
    problems: tuple[Problem, ...] = ()
    files: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    """Dotted key -> the file and line that set it last."""
    set_at: Mapping[str, Origin] = field(default_factory=dict, repr=False)
    """The same, as file and line; a table is set where it begins."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def read(self) -> frozenset[str]:
        """The files without the places that cannot be looked through."""
        return frozenset(self.files) - {problem.file for problem in self.problems if problem.is_unread}

    @property
    def jobs(self) -> JobRules:
        """The rules of workers."""
        return JobRules(**self.settings.jobs.model_dump())

    @property
    def clinic(self) -> Caps:
        """How many treatments the clinic orders at most, and who reads what no rule knows."""
        table = self.settings.clinic
        reader = ReaderRules(
            table.model or "", table.command, table.timeout, table.questions_per_day, table.tokens_per_day
        )
        return Caps(table.per_case, table.per_agent, table.per_fleet, reader)

    def shown(self) -> dict[str, Any]:
        """Every key with its value in force, as plain data; the values of env are masked."""
        plain = self.settings.model_dump(mode="json")
        plain["alerts"]["webhook"] = _masked_address(self.settings.alerts.webhook)
        plain["defaults"]["env"] = _masked(self.settings.defaults)
        for name, table in self.settings.agent.items():
            plain["agent"][name]["env"] = _masked(table)
        return plain


def load_configuration(
    place: Path | None,
    state: Path,
    environ: Mapping[str, str],
    terrain: Terrain = TERRAIN,
    *,
    begins: bool = False,
) -> Configuration:
    """Read all layers; raises ConfigurationError that lists every error. Warnings stay in `problems`.

    begins: for a daemon at its start, which ends nobody whom it finds declared nowhere: it does without what cannot be
    looked through, and doctor tells.
    """
    configuration = read_configuration(place, state, environ, terrain)
    errors = [error for error in configuration.errors if not (begins and error.is_unread)]
    if errors:
        told = "\n".join(map(str, sorted(errors, key=lambda error: (error.file, error.line or 0))))
        raise ConfigurationError(told, "fix it, then look again with: phoenixctl config check")
    return configuration


def read_configuration(
    place: Path | None, state: Path, environ: Mapping[str, str], terrain: Terrain = TERRAIN
) -> Configuration:
    """Read all layers and keep whatever is wrong with them as `problems`; never raises for what files contain.

    terrain: what looks at agents' places, and remembers which of them hang.
    """
    declarations = state / "agents.d"
    for _ in range(LOOKS):
        files = tuple(configuration_files(place, declarations))
        written = [read_layer(path) for path in files if path.parent != declarations]
        declared = [read_layer(path) for path in files if path.parent == declarations]
        unread = tuple(unread_places(place, declarations))
        # What came meanwhile was not there before: who takes that for all there is ends agents that are declared.
        if tuple(configuration_files(place, declarations)) == files:
            break
    else:
        unread = (*unread, Layer(str(place or declarations), error="its files change all the time", is_unread=True))
    return assemble([*unread, *written, *environment_layers(environ), *declared], state, terrain)


def assemble(layers: Iterable[Layer], state: Path, terrain: Terrain) -> Configuration:
    """Lay the layers over each other, lowest first, and judge the sum."""
    layers = [spell_out(layer) for layer in layers]
    stack = lay_all(layers)
    problems = [
        Problem(layer.error, file=layer.file, line=layer.error_line, is_unread=layer.is_unread)
        for layer in layers
        if layer.error
    ]
    settings, found = _validate(stack)
    problems += [
        *found,
        *declared_twice(layers, state / "agents.d"),
        *_group_problems(settings.daemon.api_group, stack),
    ]
    for name, table in settings.agent.items():
        problems += agent_problems(name, table, stack, terrain)
    problems += shared_heartbeats(settings.agent, state, stack, terrain)
    problems += sequence_problems(settings.sequence, settings.agent, stack)
    problems += shared_work(settings.agent, settings.sequence, stack, terrain)
    problems += shared_projects(settings.agent, stack, terrain)
    unusable = {problem.agent for problem in problems if problem.severity == "error"}
    usable = {
        name: specification(name, table, _source(stack, name), settings.fence)
        for name, table in sorted(settings.agent.items())
        if name not in unusable
    }
    return Configuration(
        agents=dict(sorted(with_sequences(usable, settings.sequence).items())),
        limits=FleetLimits(**settings.fleet.model_dump()),
        settings=settings,
        problems=tuple(problems),
        files=tuple(layer.file for layer in layers),
        origins={".".join(path): str(origin) for path, origin in stack.origins.items()},
        set_at={".".join(path): origin for path, origin in stack.origins.items()},
    )


def json_schema() -> dict[str, Any]:
    """JSON Schema of a configuration file."""
    schema = ConfigurationTable.model_json_schema(mode="validation")
    return {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "phoenixd.toml"}


def _validate(stack: Stack) -> tuple[ConfigurationTable, list[Problem]]:
    """Validate all tables at once; where that fails, go on with those that are right."""
    tables = with_defaults(stack.tables)
    try:
        return ConfigurationTable.model_validate(tables), []
    except ValidationError as error:
        problems = list(problems_of(error, stack))
        locations = [finding["loc"] for finding in error.errors(include_url=False, include_input=False)]
    wrong_agents = {location[1] for location in locations if location[0] == "agent" and len(location) > 1}
    wrong_tables = {location[0] for location in locations if location[0] != "agent" or len(location) == 1}
    kept = {key: value for key, value in tables.items() if key not in wrong_tables}
    if isinstance(agents := kept.get("agent"), Mapping):
        kept["agent"] = {name: table for name, table in agents.items() if name not in wrong_agents}
    return ConfigurationTable.model_validate(kept), problems


def _group_problems(name: str, stack: Stack) -> Iterator[Problem]:
    """A group that is not there now keeps no daemon from its agents."""
    try:
        if name:
            grp.getgrnam(name)
    except KeyError:
        told = f"there is no group {name} now: the socket is its owner's alone. groupadd {shlex.quote(name)}"
        yield problem_at(stack, ("daemon", "api_group"), told, "warning")


def _source(stack: Stack, name: str) -> str:
    origin = stack.origin(("agent", name))
    return origin.file if origin else ""


def _masked_address(webhook: str | CredentialTable | None) -> Any:
    """Chat services accept posts from anybody who knows the path, so the path is never shown."""
    if isinstance(webhook, CredentialTable):
        return {"file": webhook.file}
    return f"{urlsplit(webhook).scheme}://{urlsplit(webhook).hostname}/***" if webhook is not None else None


def _masked(table: AgentTable) -> dict[str, Any]:
    return {
        name: {"file": value.file} if isinstance(value, CredentialTable) else "***" for name, value in table.env.items()
    }
