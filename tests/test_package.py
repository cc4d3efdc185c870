"""The package shows its public names and nothing else, and no file imports itself in a circle."""

from __future__ import annotations

import runpy
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

import limelight
import limelight.explain
import limelight.reading


def test_packages_show_their_public_names_only():
    for package in (limelight, limelight.explain, limelight.reading):
        assert dir(package) == sorted(package.__all__)
        assert all(getattr(package, name) for name in package.__all__)


def test_no_circle_of_files():
    """Imports inside functions count too; those for type checkers alone do not."""
    graph = grimp.build_graph("limelight", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
        pytest.fail(f"these files import each other in a circle: {circle}")


def test_the_picture_of_the_rooms_is_that_of_the_contract():
    path = Path(__file__).parents[1] / "scripts" / "build_architecture.py"
    script = runpy.run_path(str(path))
    assert script["PICTURE"].read_text("utf-8") == script["draw"]()
    named = {name for layer in script["rooms"]() for name in layer}
    assert named == script["ABOUT"].keys()
    documented = (script["ROOT"] / "docs" / "architecture.md").read_text("utf-8")
    assert all(f"| `{name}/` |" in documented for name in named - {"errors"})
