"""Every key of the configuration is read by something: one that is checked and then ignored is a broken promise.

Read means: outside the tables themselves, some code takes the field of that name from a value of that table: by the
table's own name (`spec.restart.period`), or by a variable that the module annotates with its class or sets to it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from phoenixd.config.tables import ConfigurationTable
from phoenixd.config.tables.agent import AgentTable
from phoenixd.config.tables.daemon import FleetTable
from phoenixd.config.tables.sequence import SequenceTable, TurnTable
from phoenixd.core.rules import RestartRules
from phoenixd.core.spec import AgentSpec, FleetLimits

ROOT = Path(__file__).resolve().parents[2] / "phoenixd"
UNREAD: dict[str, str] = {}
"""Keys that nothing has to read, and why."""


def keys() -> Iterator[tuple[str, str, str]]:
    """Class that holds the key when it is used, by which name it is reached, and the key."""
    for name, field in ConfigurationTable.model_fields.items():
        kind = field.annotation
        if name in ("agent", "sequence", "defaults") or not isinstance(kind, type):
            continue
        holder = "FleetLimits" if name == "fleet" else kind.__name__
        reached = "limits" if name == "fleet" else name
        yield from ((holder, reached, key) for key in kind.model_fields)
    for key in SequenceTable.model_fields:
        yield "SequenceTable", "table", key
    for key in TurnTable.model_fields:
        yield "TurnTable", "when", key
    for name, field in AgentTable.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            holder = type(getattr(AgentSpec("a", (), "/"), name)).__name__
            yield from ((holder, name, key) for key in kind.model_fields)
        else:
            yield "AgentSpec", "spec", name


def test_something_reads_every_key() -> None:
    """`[journal] keep` was documented and checked, and nothing read it."""
    ignored = {f"{reached}.{key}" for holder, reached, key in keys() if key not in read_of(holder, reached)}

    assert len(list(keys())) > 100
    assert ignored == set(UNREAD), "checked and then ignored"


def test_what_the_core_calls_a_rule_is_a_key() -> None:
    """A rule that nobody can set is a number in disguise; and the search above rests on equal names."""
    for name, field in AgentTable.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            rules = {one.name for one in fields(getattr(AgentSpec("a", (), "/"), name))}
            # A sequence is a table of its own.
            assert rules - {"sequence"} == set(field.annotation.model_fields), name
    assert {one.name for one in fields(FleetLimits)} == set(FleetTable.model_fields)


def test_every_key_is_handed_on_to_the_rules_that_are_made_of_its_table() -> None:
    """A key that is checked, and not handed on from its table, has no effect, and no error says so."""
    spec = AgentSpec("a", (), "/")
    tables: dict[type[Any], type[BaseModel]] = {AgentSpec: AgentTable, FleetLimits: FleetTable}
    for name, field in AgentTable.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            tables[type(getattr(spec, name))] = field.annotation

    for rules, table in tables.items():
        lost = set(table.model_fields) - handed_on(rules)
        assert not lost, f"{rules.__name__} is made without {sorted(lost)} in phoenixd/config/"


def handed_on(rules: type[Any]) -> set[str]:
    """The fields that the configuration sets where it makes such rules: all of them where it unpacks a table."""
    given: set[str] = set()
    for path in (ROOT / "config").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _last(node.func) == rules.__name__:
                every = [one.name for one in fields(rules)]
                named = {one.arg for one in node.keywords if one.arg is not None}
                unpacked = set(every) if any(one.arg is None for one in node.keywords) else set()
                given |= {*every[: len(node.args)], *named, *unpacked}
    return given


@dataclass(frozen=True)
class Module:
    """What one file says of names and attributes."""

    held: tuple[tuple[str, frozenset[str]], ...]
    """A name, and the words by which what it holds is called: its annotation, or the last word of what it is set to."""
    classes: frozenset[str]
    loads: tuple[tuple[str, str], ...]
    """The last word before a dot, and the one after it."""
    matched: tuple[tuple[str, str], ...]
    """Class and key of a pattern, which reads what it matches."""


@cache
def modules() -> tuple[Module, ...]:
    paths = [path for path in ROOT.rglob("*.py") if path.parent.name != "tables"]
    return tuple(_module(list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))) for path in paths)


@cache
def read_of(holder: str, reached: str) -> frozenset[str]:
    """The attributes that the package takes from values of a class."""
    found: set[str] = set()
    for module in modules():
        names = {reached, *(name for name, words in module.held if words & {holder, reached})}
        names |= {"self"} if holder in module.classes else set()
        found |= {attribute for base, attribute in module.loads if base in names}
        found |= {key for kind, key in module.matched if kind == holder}
    return frozenset(found)


def _module(nodes: list[ast.AST]) -> Module:
    return Module(
        held=tuple(pair for node in nodes for pair in _held(node)),
        classes=frozenset(node.name for node in nodes if isinstance(node, ast.ClassDef)),
        loads=tuple(
            (_last(node.value), node.attr)
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        ),
        matched=tuple(
            (_last(node.cls), key) for node in nodes if isinstance(node, ast.MatchClass) for key in node.kwd_attrs
        ),
    )


def _held(node: ast.AST) -> Iterator[tuple[str, frozenset[str]]]:
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        name = node.arg if isinstance(node, ast.arg) else _last(node.target)
        yield name, frozenset(_last(one) for one in ast.walk(node.annotation)) - {name}
    if isinstance(node, ast.Assign):
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            yield from ((_last(one), frozenset({_last(value)})) for one, value in pairs)


def _last(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def test_the_search_finds_a_key_that_nothing_reads() -> None:
    assert "nothing_reads_this" not in read_of("RestartRules", "restart")
    assert "max_crashes" in read_of("RestartRules", "restart")
    assert RestartRules().max_crashes
