"""Write docs/options.md, the reference of all options and presets, from the code.

python scripts/build_options.py
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import Field
from pathlib import Path
from typing import Any

from limelight.config.presets import PRESETS, preset
from limelight.config.pretrain_recipe import ReaderRecipe
from limelight.config.recipe import SECTIONS, options

PATH = Path(__file__).parents[1] / "docs" / "options.md"
HEAD = """\
# Options

Generated from the code by `python scripts/build_options.py`. Each option is a flag of `limelight train`
(`--batch-size 64`), an argument of `TextClassifier`, `PairClassifier` and `limelight.fit` (`batch_size=64`)
and a field of `limelight.Recipe`; the classifiers and `limelight.fit` call the random seed `random_state`.
Defaults are those of preset `small`; without a preset
[the table decides](train.md#presets-and-options). A symbol in brackets is the paper's. Presets
and experiments set a few more fields of the recipe.
"""

READER = """\
## Pretraining

Flags of `limelight pretrain` and arguments of `limelight.pretrain`.
"""


def reference() -> str:
    """The whole page."""
    small = preset("small")
    tables = [
        f"## {name.capitalize()}\n\n{cls.__doc__}\n\n{_table(getattr(small, name), {})}"
        for name, cls in SECTIONS.items()
    ]
    return "\n".join([HEAD, *tables, _presets(), f"{READER}\n{_table(ReaderRecipe(), options())}"])


def _table(section: Any, known: Mapping[str, Field]) -> str:
    """A row for each option, and a line with those that are `known` from another table."""
    rows, same = ["| option | default | what it does |", "|---|---|---|"], []
    for f in (f for f in dataclasses.fields(section) if f.metadata["flag"]):
        default = _code(getattr(section, f.name))
        if f.name in known and known[f.name].metadata["help"] == f.metadata["help"]:
            same.append(f"`{f.name}` ({default})")
            continue
        values = f" One of {', '.join(map(_code, f.metadata['choices']))}." if f.metadata["choices"] else ""
        needs = " and ".join(each.what for each in f.metadata["needs"])
        help = f.metadata["help"].replace("|", "\\|") + values + (f" Only with {needs}." if needs else "")
        rows.append(f"| `{f.name}` | {default} | {help} |")
    if same:
        rows.append(f"\nAnd, as above: {', '.join(same)}.")
    return "\n".join(rows) + "\n"


def _presets() -> str:
    """What each preset changes from `small`, or from an earlier preset that is far more like it."""
    rows = [
        "## Presets\n\nWhat each preset changes from the defaults above, `small`, or from another preset.\n",
        "| preset | options |",
        "|---|---|",
    ]
    for name in PRESETS:
        earlier = list(PRESETS)[: list(PRESETS).index(name)]
        nearest = min(earlier, key=lambda each: len(_changes(each, name)), default="small")
        base = nearest if len(_changes(nearest, name)) < 0.6 * len(_changes("small", name)) else "small"
        changed = ", ".join(f"{k} {_code(v)}" for k, v in _changes(base, name).items())
        rows.append(f"| `{name}` | {changed if base == 'small' else f'as `{base}`, but {changed}'} |")
    return "\n".join(rows) + "\n"


def _changes(base: str, name: str) -> dict[str, Any]:
    usual, flags = preset(base).values(), {each for each, f in options().items() if f.metadata["flag"]}
    return {k: v for k, v in preset(name).values().items() if v != usual[k] and k in flags}


def _code(value: Any) -> str:
    shown = (
        {"": "none", True: "yes", False: "no"}.get(value, value) if isinstance(value, (str, bool)) else value
    )
    return f"`{shown}`"


if __name__ == "__main__":
    PATH.write_text(reference(), encoding="utf-8")
