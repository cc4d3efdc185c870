"""The package shows its public names, and nothing else."""

from __future__ import annotations

import limelight
import limelight.explain
import limelight.reading


def test_packages_show_their_public_names_only():
    for package in (limelight, limelight.explain, limelight.reading):
        assert dir(package) == sorted(package.__all__)
        assert all(getattr(package, name) for name in package.__all__)
