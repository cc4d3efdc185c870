"""The package shows its public names and nothing else, and no file imports itself in a circle."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

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
