"""Every mutant of a file: which expression or statement, and what stands there instead.

Left alone is what decides nothing: docstrings, annotations, decorators, assertions for the type checker, logging,
and text for people (strings altogether, and the arguments that are reasons).
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Iterator
from dataclasses import dataclass

LOGS = {"log", "_log", "logger", "_logger"}
TEXTS = {"reason", "why", "text", "message", "summary", "detail", "remedy"}

OPPOSITES: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.FloorDiv,), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.Mult,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change; `start` and `end` are bytes of the file, because that is how the parser counts."""

    path: str
    line: int
    kind: str
    function: str
    """The qualified name of what holds the place; empty in the module's own lines."""
    start: int
    end: int
    becomes: str
    seen_at: int
    """The line whose tests see it: its own, and for a default of a parameter the first line of the body."""

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.becomes.encode() + source[self.end :]

    def key(self, source: bytes) -> tuple[str, str, str, str]:
        """Return what stays the same while lines move: file, function, and the changed lines without indentation."""
        old, new = changed_lines(source, self.applied(source))
        return self.path, self.function, old, new

    def diff(self, source: bytes) -> str:
        lines = [text.decode().splitlines(keepends=True) for text in (source, self.applied(source))]
        return "".join(difflib.unified_diff(*lines, fromfile=self.path, tofile=self.kind, n=1))


def changed_lines(before: bytes, after: bytes) -> tuple[str, str]:
    old, new = before.decode().splitlines(), after.decode().splitlines()
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    return tuple(" ".join(line.strip() for line in lines) for lines in (old, new))  # type: ignore[return-value]


def mutants(path: str, source: bytes) -> list[Mutant]:
    """Return all mutants of a file, in the order of its lines."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    tree = ast.parse(source)
    bodies = {
        id(default): _first(node)
        for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for default in _defaults(node)
    }  # fmt: skip
    for function, node, kind, becomes in _walk(tree, ""):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        seen_at = bodies.get(id(node), node.lineno)
        found.append(Mutant(path, node.lineno, kind, function, start, end, becomes, seen_at))
    return sorted(found, key=lambda mutant: (mutant.start, mutant.end, mutant.kind, mutant.becomes))


Place = tuple[str, ast.expr | ast.stmt, str, str]


def _walk(node: ast.AST, function: str) -> Iterator[Place]:
    if _is_left_alone(node):
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
    yield from ((function, *change) for change in _changes(node, bool(function)))
    for child in _children(node):
        yield from _walk(child, function)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.JoinedStr() | ast.arg() | ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name("TYPE_CHECKING")) | ast.Expr(value=ast.Call(func=ast.Name("assert_never"))):
            return True
        case ast.keyword(arg=name):
            return name in TEXTS
        case ast.Call(func=ast.Attribute(value=ast.Name(name))):
            return name in LOGS
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=name))):
            return name in LOGS
    return False


def _children(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [*_defaults(node), *node.body]
        case ast.ClassDef():
            return list(node.body)
        case ast.AnnAssign():
            return [node.value] if node.value is not None else []
    return list(ast.iter_child_nodes(node))


def _defaults(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    return [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]


def _first(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The line of the first statement that runs: a docstring is none."""
    told = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
    return node.body[told].lineno


def _changes(node: ast.AST, in_function: bool) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    match node:
        case ast.Compare(ops=[operator]):
            for other in OPPOSITES[type(operator)]:
                yield node, "comparison", _with(node, ops=[other()])
        case ast.BoolOp():
            yield node, "boolean", _with(node, op=OPPOSITES[type(node.op)][0]())
        case ast.UnaryOp(op=ast.Not()):
            yield node, "boolean", f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool(value)):
            yield node, "constant", repr(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield node, "constant", repr(value + 1)
        case ast.BinOp(op=ast.BitOr()) if not in_function:
            return  # A union of types.
        case ast.BinOp() if type(node.op) in OPPOSITES and not _is_sequence(node):
            yield node, "arithmetic", _with(node, op=OPPOSITES[type(node.op)][0]())
        case ast.AugAssign():
            yield node, "dropped statement", "pass"
            if type(node.op) in (ast.Add, ast.Sub):
                yield node, "arithmetic", ast.unparse(_copy(node, op=OPPOSITES[type(node.op)][0]()))
        case ast.Expr(value=ast.Call() | ast.Await() as value) if not _is_left_alone(value):
            yield node, "dropped statement", "pass"
        case ast.Break():
            yield node, "branch", "continue"
        case ast.Continue():
            yield node, "branch", "break"
        case ast.Raise():
            yield node, "dropped statement", "pass"
        case ast.Call(func=ast.Name("replace")):
            yield from _forgotten_fields(node)
    test = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else None
    if isinstance(node, ast.IfExp) and any(_is_told(said) for said in (node.body, node.orelse)):
        test = None  # Which of two sentences is told.
    if isinstance(node, ast.match_case):
        test = node.guard
    if test is not None and not isinstance(test, ast.Constant):
        yield test, "branch", "False"
        if not isinstance(node, ast.While):
            yield test, "branch", "True"
    if isinstance(node, ast.comprehension):
        for condition in node.ifs:
            yield condition, "branch", "True"


def _forgotten_fields(node: ast.Call) -> Iterator[tuple[ast.expr, str, str]]:
    for number, field in enumerate(node.keywords):
        if field.arg and field.arg not in TEXTS:
            kept = [*node.keywords[:number], *node.keywords[number + 1 :]]
            yield node, f"forgotten {field.arg}", ast.unparse(_copy(node, keywords=kept))


def _is_told(node: ast.expr) -> bool:
    """Whether it is a sentence and not a word: a word may be a state."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    )


def _is_sequence(node: ast.BinOp) -> bool:
    """Whether one side is plainly text or a sequence: with another operator it raises, which every test sees."""
    return any(
        isinstance(side, ast.Tuple | ast.List | ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        or (isinstance(side, ast.BinOp) and _is_sequence(side))
        for side in (node.left, node.right)
    )


def _with(node: ast.expr, **fields: object) -> str:
    return f"({ast.unparse(_copy(node, **fields))})"


def _copy(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other
