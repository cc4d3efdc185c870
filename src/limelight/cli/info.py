"""`limelight info`: a saved model or a preset: parameters by part, recipe, results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..config.presets import PRESETS
from ..errors import LimelightError
from ._flags import add_shared, check_least
from ._parser import add_flag, add_options, conflict, given_options, show_value
from ._results import metrics_table, print_result, table

HELP = "describe a model folder or a preset: parameters, recipe, results"
USAGE = "%(prog)s MODEL [options]"
DESCRIPTION = """\
Describe a saved model or a preset: parameters by part as in the paper's pruning table, recipe, results.

  limelight info model
  limelight info yelp --head pruned --classes 5"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "what", "MODEL", f"folder of a saved model or reader, or: reader, {', '.join(PRESETS)}")
    add_flag(parser, "--classes", "N", "number of classes, for a preset (default: 5; 3 for pairs)")
    add_flag(parser, "--pairs", "", "for a preset: classify pairs of texts")
    add_shared(parser, "--json")
    add_options(parser, ("model",))


def run(args: argparse.Namespace) -> None:
    """Describe a model if there is one, otherwise a preset: a data folder may have the same name."""
    is_model = (Path(args.what) / "config.json").is_file()
    data = _describe_folder(args) if is_model or args.what not in PRESETS else _describe_preset(args)
    print_result(args, data, _format_description(data))


def _describe_folder(args: argparse.Namespace) -> dict[str, Any]:
    from ..network.parts import parameters_by_part
    from ..runtime.folder import is_reader, open_folder
    from ..storage.files import old_folders
    from ..text.learnt_rows import LearntRows
    from ..text.tokenizer import SPECIAL

    if not is_reader(args.what) and not Path(args.what).exists() and not old_folders(args.what):
        raise LimelightError(
            f"{args.what} is neither a folder nor a preset; presets: {', '.join(PRESETS)}",
            code="file-missing",
        )
    found = open_folder(args.what)  # first, as it may not be a model
    if given_options(args) or args.classes is not None or args.pairs:
        raise conflict(f"{args.what} is already trained; its options and classes cannot be changed")
    learnt = LearntRows.from_fact(found.facts.get("learnt_rows"))
    common = {
        "vocabulary": len(found.tokenizer) - len(SPECIAL),
        "parameters": parameters_by_part({name: each.shape for name, each in found.weights.items()}),
        "facts": {name: fact for name, fact in found.facts.items() if name != "learnt_rows"},
        "learnt_rows": learnt and len(learnt), "limelight": found.version,
    }  # fmt: skip
    if found.is_reader:
        recipe = found.facts.get("pretraining", {})
        return {"reader": args.what, "vector": found.recipe.model.vector_size, "recipe": recipe, **common}
    return {
        "model": args.what, "kind": "pair" if found.pair else "text", "labels": list(found.labels),
        "recipe": found.recipe.to_dict(), "sha256": found.sha256, **common,
    }  # fmt: skip


def _describe_preset(args: argparse.Namespace) -> dict[str, Any]:
    from ..config.presets import FOR_PAIRS, preset
    from ..network.parts import parameters_by_part, shapes

    recipe = preset(args.what).override(**given_options(args))
    pair = args.pairs or args.what in FOR_PAIRS
    check_least(args, classes=2)
    classes = args.classes or (3 if pair else 5)
    parts = parameters_by_part(shapes(recipe.model, 2, classes, pair))
    del parts["words"]  # the vocabulary depends on the data
    return {
        "preset": args.what, "kind": "pair" if pair else "text", "classes": classes, "parameters": parts,
        "recipe": recipe.to_dict(),
    }  # fmt: skip


def _format_description(data: dict[str, Any]) -> str:
    from ..reading.captions import NO_ASPECT
    from ..runtime.card import row_words, with_baselines

    facts, parts = data.get("facts", {}), {name: count for name, count in data["parameters"].items() if count}
    rows = [[name, f"{count:,}"] for name, count in parts.items()]
    total = "total without words" if "preset" in data else "total"
    lines = [_headline(data), "", table(["part", "parameters"], [*rows, [total, f"{sum(parts.values()):,}"]])]
    if results := with_baselines(facts):
        lines += ["", metrics_table(results)]
    if "reader" in data and (words := row_words(facts)):
        lines += ["", "words that each row attends to most, relative to their frequency:"]
        lines += [f"{number:>4}  {some or NO_ASPECT}" for number, some in enumerate(words, 1)]
    for section, values in ({"recipe": data["recipe"]} if "reader" in data else data["recipe"]).items():
        lines += ["", f"{section}: " + ", ".join(f"{k} {show_value(v) or 'none'}" for k, v in values.items())]
    if "sha256" in data:
        lines += ["", f"made by Limelight {data['limelight']}; sha256 of config.json: {data['sha256']}"]
    return "\n".join(lines)


def _headline(data: dict[str, Any]) -> str:
    if "preset" in data:
        return f"preset {data['preset']} for {data['kind']}s, {data['classes']} classes"
    words = f"{data['vocabulary']:,} words"
    if "reader" in data:
        sizes = f"{words}, vectors of {data['vector']} numbers"
        learnt = f", learnt from {data['facts']['teacher']}" if "teacher" in data["facts"] else ""
        return f"{data['reader']}: a reader of {sizes}{learnt}; made by Limelight {data['limelight']}"
    labels = ", ".join(map(str, data["labels"][:20]))
    return f"{data['model']}: a {data['kind']} classifier of {words} into {labels}"
