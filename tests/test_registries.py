"""The names of tasks and of the network's parts are asked for nowhere but in their registries."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from limelight.config.recipe import TASKS
from limelight.network import parts
from limelight.network.onnx import layers
from limelight.network.torch import attention, encoder, heads
from limelight.text.tasks import find_task
from limelight.training.loss import TASK_LOSSES

SOURCE = Path(parts.__file__).parents[1]
REGISTRIES = {  # where names are at home, today's and those of older versions
    "config", "network/parts.py", "network/modules.py", "network/onnx/layers.py",
    "network/torch/attention.py",
    "network/torch/encoder.py", "network/torch/heads.py", "runtime/old_reader.py", "text/tasks.py",
    "training/loss.py",
}  # fmt: skip
PARTS = {*parts.ENCODERS, *parts.POOLINGS, *parts.HEADS, "module", "word-module"}
OPTION = re.compile(r"\b(encoder|pooling|head)$")
FILES = [
    path
    for path in sorted(SOURCE.rglob("*.py"))
    if not any(path.relative_to(SOURCE).as_posix().startswith(each) for each in REGISTRIES)
]


def asked(tree: ast.AST) -> list[str]:
    """The names of tasks that a module mentions, and those of parts beside their option."""
    found = []
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in TASKS and id(node) not in documented:
            found.append(f"{node.lineno}: {node.value!r}")
        if isinstance(node, ast.Compare) and OPTION.search(ast.unparse(node.left)):
            values = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            found += [f"{node.lineno}: {ast.unparse(node)}"] if values & PARTS else []
        if isinstance(node, ast.Match) and OPTION.search(ast.unparse(node.subject)):
            found.append(f"{node.lineno}: match {ast.unparse(node.subject)}")
    return found


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('if model.task == "ordinal": pass', 1),
        ('NAMES = {"regression": "value"}', 1),
        ('if recipe.head == "linear": pass', 1),
        ('if recipe.model.pooling in ("max", "mean"): pass', 1),
        ('match recipe.head:\n    case "full": pass', 1),
        ('"""ordinal"""\nx = {"max": 1}', 0),
    ],
)
def test_a_name_that_is_asked_for_is_found(source, count):
    assert len(asked(ast.parse(source))) == count


def test_no_other_file_asks_for_a_name():
    found = {path.relative_to(SOURCE).as_posix(): asked(ast.parse(path.read_text())) for path in FILES}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_every_part_is_in_every_registry():
    for name in ("ENCODERS", "POOLINGS"):
        described = set(getattr(parts, name))
        built = set(getattr(encoder if name == "ENCODERS" else attention, name))
        assert described == built == set(getattr(layers, name)), name
    assert set(parts.HEADS) == set(layers.HEADS) == {*heads.HEADS, "vector"}


def keys(path, name):
    """Those of an object that a JavaScript file writes down."""
    rest = path.read_text().partition(f"const {name} = {{")[2]
    body = re.split(r"}(?: //.*)?$", rest, maxsplit=1, flags=re.MULTILINE)[0]
    flat = re.sub(r"{[^{}]*}|\([^()]*\)", "", body)
    return set(re.findall(r'(?:^|,|\n)\s*"?([\w-]*)"?:', flat))


def test_the_page_and_the_javascript_package_have_every_pooling_and_task():
    page, js = SOURCE / "serve/explorer/page", SOURCE.parents[1] / "js"
    assert keys(page / "network.js", "POOLINGS") == set(parts.POOLINGS)
    assert keys(page / "tasks.js", "TASKS") == set(TASKS) == set(TASK_LOSSES) - {"auto"}
    assert keys(js / "index.js", "ACTIVATIONS") == {find_task(name).operator for name in TASKS}
