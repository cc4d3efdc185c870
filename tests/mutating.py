"""Small wrong changes to Python source: what `make mutants` puts in, one at a time."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

OPERATORS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,), ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.BitXor: (ast.BitOr,),
}  # fmt: skip
NAMES = {
    "min": "max",
    "any": "all",
    "minimum": "maximum",
    "argmin": "argmax",
    "zeros": "ones",
    "floor": "ceil",
}
NAMES |= {right: left for left, right in NAMES.items()}
# Types, decorators and the wording of errors: no test asks for them.
LEFT_ALONE = {"annotation", "returns", "decorator_list", "type_params"}
# Calls whose first two arguments may change places, and arguments that make a failure louder and no more.
UNORDERED = {
    "min",
    "max",
    "minimum",
    "maximum",
    "isinstance",
    "issubclass",
    "cast",
    "getattr",
    "hasattr",
    "array_equal",
}
GUARDS = {"strict", "daemon"}
EVERYWHERE = 1, 10**9  # the lines of what stands outside of functions
Node = Any  # ast.AST, whose fields no type names


@dataclass
class Mutant:
    """A change of one node: `holder.field` becomes `value`."""

    file: str
    function: str  # "Class.method"; empty at the top of the file
    change: str  # the line before -> the line after
    lines: tuple[int, int]  # whoever executes one of these may notice
    tree: ast.Module
    holder: Node
    field: str
    value: Any

    @property
    def key(self) -> str:
        return f"{self.file}::{self.function}: {self.change}"

    def source(self) -> str:
        """The file with the change."""
        before = _swap(self.holder, self.field, self.value)
        try:
            return ast.unparse(self.tree)
        finally:
            _swap(self.holder, self.field, before)


def mutants(file: str, source: str) -> list[Mutant]:
    """Every change of a file, those of one line in one function told apart by a number."""
    found = list(_inside(file, tree := ast.parse(source), tree, "", tree, EVERYWHERE))
    seen: Counter[str] = Counter()
    for each in found:
        seen[each.key] += 1
        if seen[each.key] > 1:
            each.change += f" #{seen[each.key]}"
    return found


def _inside(
    file: str, tree: ast.Module, node: Node, function: str, statement: Node, lines: tuple[int, int]
) -> Iterator[Mutant]:
    for field, value in ast.iter_fields(node):
        if field in LEFT_ALONE:
            continue
        children = value if isinstance(value, list) else [value]
        for place, child in enumerate(children):
            if not isinstance(child, ast.AST) or _is_wording(child) or _is_guard(child):
                continue
            at, where, name = statement, lines, function
            if isinstance(child, ast.stmt):
                at, where = child, _lines(child, node, function)
            for new in _changed(child):
                put = [*children[:place], new, *children[place + 1 :]] if isinstance(value, list) else new
                change = _described(at, node, field, put, new if child is at else None)
                yield Mutant(file, function, change, where, tree, node, field, put)
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{function}.{child.name}".lstrip(".")
            if not isinstance(child, ast.Raise):
                yield from _inside(file, tree, child, name, at, where)


def _changed(node: Node) -> Iterator[Node]:
    """Other nodes in the place of this one."""
    match node:
        case ast.Compare(left, operators, right):
            for k, each in enumerate(operators):
                for new in OPERATORS[type(each)]:
                    yield ast.Compare(left, [*operators[:k], new(), *operators[k + 1 :]], right)
        case ast.BinOp(left, operator, right) if not _is_text(left) and not _is_text(right):
            for new in OPERATORS.get(type(operator), ()):
                yield ast.BinOp(left, new(), right)
            if isinstance(operator, ast.BitAnd | ast.BitOr):
                yield from (left, right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(OPERATORS[type(operator)][0](), values)
            for k in range(len(values)):
                rest = [*values[:k], *values[k + 1 :]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest)
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield ast.Constant(value + 1 if isinstance(value, int) else 2 * value + (value == 0))
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.If(test, body, orelse) if not isinstance(test, ast.Compare | ast.UnaryOp):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Slice(lower, upper, step):
            if lower:
                yield ast.Slice(None, upper, step)
            if upper:
                yield ast.Slice(lower, None, step)
        case ast.comprehension(target, iterable, conditions, is_async) if conditions:
            yield ast.comprehension(target, iterable, [], is_async)
        case ast.Return(value) if value and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()
        case ast.Call():
            yield from _changed_calls(node)
        case ast.Expr(ast.Call()) | ast.Raise() | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.AugAssign(target, operator, value):
            yield ast.Pass()
            for new in () if _is_text(value) else OPERATORS.get(type(operator), ()):
                yield ast.AugAssign(target, new(), value)


def _changed_calls(node: ast.Call) -> Iterator[Node]:
    """The first two arguments swapped, an argument by name left out, max for min."""
    name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
    plain = [each for each in node.args if not isinstance(each, ast.Starred)]
    if len(node.args) > 1 and plain[:2] == node.args[:2] and name not in UNORDERED:
        yield ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
    for k, each in enumerate(node.keywords):
        if each.arg not in GUARDS:
            yield ast.Call(node.func, node.args, [*node.keywords[:k], *node.keywords[k + 1 :]])
    if new := NAMES.get(name):
        inner = ast.Name(new) if isinstance(node.func, ast.Name) else ast.Attribute(node.func.value, new)
        yield ast.Call(inner, node.args, node.keywords)


def _is_text(node: Node) -> bool:
    return isinstance(node, ast.JoinedStr) or isinstance(getattr(node, "value", None), str | bytes)


def _is_wording(node: Node) -> bool:
    """A message to people: an f-string, or what `warnings.warn` is given."""
    warns = isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "warn"
    return isinstance(node, ast.JoinedStr) or warns


def _is_guard(node: Node) -> bool:
    """An argument that makes a failure louder, or a name for several types."""
    names = isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and _is_union(node.value)
    return names or (isinstance(node, ast.keyword) and node.arg in GUARDS)


def _is_union(node: Node) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr) and _is_union(node.left)
    name = getattr(node.value if isinstance(node, ast.Subscript) else node, "id", "")
    return name == "str" or name[:1].isupper()


def _lines(statement: Node, holder: Node, function: str) -> tuple[int, int]:
    """Of a statement within a function, without the body of an `if`; of a function for its header.

    What stands outside of functions runs when the file is imported: all that use the file may notice.
    """
    if isinstance(statement, ast.FunctionDef):
        return statement.body[0].lineno, statement.end_lineno or 0
    if not function or isinstance(statement, ast.ClassDef) or isinstance(holder, ast.ClassDef):
        return EVERYWHERE
    if body := getattr(statement, "body", None):
        return statement.lineno, max(statement.lineno, body[0].lineno - 1)
    return statement.lineno, statement.end_lineno or 0


def _described(statement: Node, holder: Node, field: str, value: Any, replaced: Node | None) -> str:
    before = _head(statement)
    if replaced is not None:
        return f"{before} -> {_head(replaced)}"
    old = _swap(holder, field, value)
    try:
        return f"{before} -> {_head(statement)}"
    finally:
        _swap(holder, field, old)


def _head(statement: Node) -> str:
    """Its first line, without decorators."""
    lines = ast.unparse(ast.fix_missing_locations(statement)).splitlines()
    return next(line for line in lines if not line.startswith("@"))


def _swap(holder: Node, field: str, value: Any) -> Any:
    old = getattr(holder, field)
    setattr(holder, field, value)
    return old
