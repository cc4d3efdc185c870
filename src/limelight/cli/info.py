"""`limelight info`: a saved model or a preset: parameters by part, recipe, results."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..config.presets import PRESETS
from ..errors import LimelightError
from ._parser import add_flag, add_options, conflict, given_options, show_value
from ._shared import add_json, metrics_table, print_result, table

ORDER = 6
HELP = "describe a model folder or a preset: parameters, recipe, results"
USAGE = "%(prog)s MODEL [options]"
DESCRIPTION = """\
Describe a saved model or a preset: parameters by part as in the paper's pruning table, recipe, results.

  limelight info model
  limelight info yelp --head pruned --classes 5"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add its flags."""
    add_flag(parser, "what", "MODEL", f"folder of a saved model or reader, or: reader, {', '.join(PRESETS)}")
    add_flag(parser, "--classes", "N", "number of classes, for a preset (default: 5; 3 for pairs)")
    add_flag(parser, "--pairs", "", "for a preset: classify pairs of texts")
    add_json(parser)
    add_options(parser, ("model",))


def run(args: argparse.Namespace) -> int:
    """Describe a model if there is one, otherwise a preset: a data folder may have the same name."""
    from ..runtime.folder import is_reader, is_reader_folder

    if is_reader(args.what) or is_reader_folder(args.what):
        data = _describe_reader(args)
        print_result(args, data, _format_reader(data))
        return 0
    is_model = (Path(args.what) / "config.json").is_file()
    data = _describe_folder(args) if is_model or args.what not in PRESETS else _describe_preset(args)
    print_result(args, data, _format_description(data))
    return 0


def _describe_folder(args: argparse.Namespace) -> dict[str, Any]:
    from ..network.parts import parameters_by_part, shapes
    from ..runtime.folder import open_folder
    from ..storage.files import old_folders
    from ..text.tokenizer import SPECIAL

    if not Path(args.what).exists() and not old_folders(args.what):
        raise LimelightError(
            f"{args.what} is neither a folder nor a preset; presets: {', '.join(PRESETS)}",
            code="file-missing",
        )
    found = open_folder(args.what)  # first, so that a folder that is not a model says so
    if given_options(args) or args.classes is not None or args.pairs:
        raise conflict(f"{args.what} is already trained; its options and classes cannot be changed")
    tensors = shapes(found.recipe.model, len(found.tokenizer), len(found.labels), found.pair)
    return {
        "model": args.what, "kind": "pair" if found.pair else "text", "labels": list(found.labels),
        "vocabulary": len(found.tokenizer) - len(SPECIAL), "parameters": parameters_by_part(tensors),
        "recipe": found.recipe.to_dict(), "facts": found.facts, "sha256": found.sha256,
        "limelight": found.version,
    }  # fmt: skip


def _describe_reader(args: argparse.Namespace) -> dict[str, Any]:
    from ..network.parts import parameters_by_part
    from ..runtime.folder import BUNDLED, is_reader, open_folder
    from ..text.tokenizer import SPECIAL

    found = open_folder(BUNDLED if is_reader(args.what) else args.what)
    return {
        "reader": args.what, "vocabulary": len(found.tokenizer) - len(SPECIAL),
        "vector": found.recipe.model.vector_size,
        "parameters": parameters_by_part({name: each.shape for name, each in found.weights.items()}),
        "recipe": found.facts.get("pretraining", {}), "facts": found.facts, "limelight": found.version,
    }  # fmt: skip


def _format_reader(data: dict[str, Any]) -> str:
    from ..runtime.card import row_words

    facts, parts = data["facts"], {name: count for name, count in data["parameters"].items() if count}
    learnt = f", learnt from {facts['teacher']}" if "teacher" in facts else ""
    sizes = f"{data['vocabulary']:,} words, vectors of {data['vector']} numbers"
    lines = [f"{data['reader']}: a reader of {sizes}{learnt}; made by Limelight {data['limelight']}"]
    rows = [[name, f"{count:,}"] for name, count in parts.items()]
    lines += ["", table(["part", "parameters"], [*rows, ["total", f"{sum(parts.values()):,}"]])]
    if words := row_words(facts):
        lines += ["", "words that each row attends to most, relative to their frequency:"]
        lines += [f"{number:>4}  {some}" for number, some in enumerate(words, 1)]
    lines += ["", "recipe: " + ", ".join(f"{k} {show_value(v) or 'none'}" for k, v in data["recipe"].items())]
    return "\n".join(lines)


def _describe_preset(args: argparse.Namespace) -> dict[str, Any]:
    from ..config.presets import FOR_PAIRS, preset
    from ..network.parts import parameters_by_part, shapes

    recipe = preset(args.what).override(**given_options(args))
    pair = args.pairs or args.what in FOR_PAIRS
    usual = 3 if pair else 5
    classes = usual if args.classes is None else args.classes
    if classes < 2:
        raise LimelightError(f"--classes is {classes}; it must be at least 2", code="option-value")
    parts = parameters_by_part(shapes(recipe.model, 2, classes, pair))
    del parts["words"]  # the vocabulary depends on the data
    return {
        "preset": args.what, "kind": "pair" if pair else "text", "classes": classes, "parameters": parts,
        "recipe": recipe.to_dict(),
    }  # fmt: skip


def _format_description(data: dict[str, Any]) -> str:
    parts = {name: count for name, count in data["parameters"].items() if count}
    rows = [[name, f"{count:,}"] for name, count in parts.items()]
    total = "total" if "words" in parts else "total without words"
    lines = [_headline(data), "", table(["part", "parameters"], [*rows, [total, f"{sum(parts.values()):,}"]])]
    results = data.get("facts", {}).get("results")
    if isinstance(results, dict) and results:
        lines += ["", metrics_table(results)]
    for section, values in data["recipe"].items():
        lines += ["", f"{section}: " + ", ".join(f"{k} {show_value(v) or 'none'}" for k, v in values.items())]
    if "sha256" in data:
        lines += ["", f"made by Limelight {data['limelight']}; sha256 of config.json: {data['sha256']}"]
    return "\n".join(lines)


def _headline(data: dict[str, Any]) -> str:
    if "preset" in data:
        return f"preset {data['preset']} for {data['kind']}s, {data['classes']} classes"
    labels = ", ".join(map(str, data["labels"][:20]))
    return f"{data['model']}: a {data['kind']} classifier of {data['vocabulary']:,} words into {labels}"
