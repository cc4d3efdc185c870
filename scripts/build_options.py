"""Write docs/options.md, the reference of all options and presets, from the code.

python scripts/build_options.py
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from limelight.config.presets import PRESETS, preset
from limelight.config.pretrain_recipe import ReaderRecipe
from limelight.config.recipe import SECTIONS, Recipe, options

PATH = Path(__file__).parents[1] / "docs" / "options.md"
HEAD = """\
# Options

Generated from the code by `python scripts/build_options.py`. Each option is a flag of `limelight train`
(`--batch-size 64`), an argument of `TextClassifier`, `PairClassifier` and `limelight.fit` (`batch_size=64`)
and a field of `limelight.Recipe`; the classifiers and `limelight.fit` call the random seed `random_state`.
Defaults are those of preset `small`; another preset has its own, and without one
[the table decides](train.md#presets-and-options). A symbol in brackets is the paper's. A few more fields of
the recipe are set by presets and experiments alone.
"""

READER = """\
## Pretraining

Flags of `limelight pretrain` and arguments of `limelight.pretrain`.
"""


def reference() -> str:
    """The whole page."""
    small = preset("small")
    tables = [
        f"## {name.capitalize()}\n\n{cls.__doc__}\n\n{_table(getattr(small, name))}"
        for name, cls in SECTIONS.items()
    ]
    return "\n".join([HEAD, *tables, _presets(small), f"{READER}\n{_table(ReaderRecipe())}"])


def _table(section: Any) -> str:
    rows = ["| option | default | what it does | has an effect with |", "|---|---|---|---|"]
    for f in (f for f in dataclasses.fields(section) if f.metadata["flag"]):
        values = f" One of {', '.join(map(_code, f.metadata['choices']))}." if f.metadata["choices"] else ""
        needs = " and ".join(each.what for each in f.metadata["needs"])
        help = f.metadata["help"].replace("|", "\\|")
        rows.append(f"| `{f.name}` | {_code(getattr(section, f.name))} | {help}{values} | {needs} |")
    return "\n".join(rows) + "\n"


def _presets(small: Recipe) -> str:
    """What each preset changes from `small`."""
    rows = [
        "## Presets\n\nWhat each preset changes from the defaults above, those of `small`.\n",
        "| preset | options |",
        "|---|---|",
    ]
    usual, flags = small.values(), {name for name, f in options().items() if f.metadata["flag"]}
    for name, recipe in PRESETS.items():
        changed = {k: v for k, v in recipe.values().items() if v != usual[k] and k in flags}
        rows.append(f"| `{name}` | {', '.join(f'{k} {_code(v)}' for k, v in changed.items())} |")
    return "\n".join(rows) + "\n"


def _code(value: Any) -> str:
    shown = (
        {"": "none", True: "yes", False: "no"}.get(value, value) if isinstance(value, (str, bool)) else value
    )
    return f"`{shown}`"


if __name__ == "__main__":
    PATH.write_text(reference(), encoding="utf-8")
