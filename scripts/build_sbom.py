"""Write what a base install consists of, as a CycloneDX document: limelight and all it needs, with licences.

    python scripts/build_sbom.py dist/limelight.cdx.json

It is made from the metadata of the packages that are installed, in whatever environment runs it, and says the
same whenever it is run: it has no date and no random number.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def main() -> None:
    found: dict[str, list[str]] = {}  # name -> what it needs
    collect("limelight", found)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": describe("limelight")},
        "components": [describe(name) for name in sorted(found) if name != "limelight"],
        "dependencies": [
            {"ref": reference(name), "dependsOn": sorted(map(reference, found[name]))}
            for name in sorted(found)
        ],
    }
    Path(sys.argv[1]).write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    print(f"{sys.argv[1]}: {len(found)} packages")


def collect(name: str, found: dict[str, list[str]]) -> None:
    """Add a package and all that it needs without extras, on this machine and this Python."""
    needs = [Requirement(each) for each in distribution(name).requires or ()]
    here = [each for each in needs if each.marker is None or each.marker.evaluate({"extra": ""})]
    found[name] = sorted({canonicalize_name(each.name) for each in here})
    for other in found[name]:
        if other not in found:
            collect(other, found)


def describe(name: str) -> dict[str, Any]:
    package = distribution(name)
    about = {"type": "library", "bom-ref": reference(name), "name": name, "version": package.version}
    licence = licence_of(package)
    return {**about, "purl": reference(name), **({"licenses": [licence]} if licence else {})}


def licence_of(package: Distribution) -> dict[str, Any] | None:
    """An SPDX expression where the package has one, or the name it gives."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return {"expression": expression}
    named = [
        each.rpartition(" :: ")[2] for each in about.get_all("Classifier", []) if each.startswith("License")
    ]
    name = named[0] if named else (about.get("License") or "").strip().partition("\n")[0]
    return {"license": {"name": name}} if name else None


def reference(name: str) -> str:
    return f"pkg:pypi/{name}@{distribution(name).version}"


if __name__ == "__main__":
    main()
