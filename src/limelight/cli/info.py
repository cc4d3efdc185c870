"""`limelight info`: a saved model: parameters by part, recipe, results."""

import argparse
from typing import Any

from ._output import metrics_table, print_result, table
from ._parser import add_flag, add_shared, show_value

HELP = "describe a model folder: parameters, recipe, results"
DESCRIPTION = """\
Describe a saved model or reader: parameters by part as in the paper's pruning table, recipe, results.

  limelight info model"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", 'folder of a saved model or reader, or "reader"')
    add_shared(parser, "--json")


def run(args: argparse.Namespace) -> None:
    data = _describe(args.model)
    print_result(args, data, _format_description(data))


def _describe(folder: str) -> dict[str, Any]:
    from ..network.parts import parameters_by_part
    from ..runtime.folder import open_folder
    from ..text.learnt_rows import LearntRows
    from ..text.tokenizer import SPECIAL

    found = open_folder(folder)
    learnt = LearntRows.from_fact(found.facts.get("learnt_rows"))
    common = {
        "vocabulary": len(found.tokenizer) - len(SPECIAL),
        "parameters": parameters_by_part({name: each.shape for name, each in found.weights.items()}),
        "facts": {name: fact for name, fact in found.facts.items() if name != "learnt_rows"},
        "learnt_rows": learnt and len(learnt), "limelight": found.version,
    }  # fmt: skip
    if found.is_reader:
        recipe = found.facts.get("pretraining", {})
        return {"reader": folder, "vector": found.recipe.model.vector_size, "recipe": recipe, **common}
    return {
        "model": folder, "kind": "pair" if found.pair else "text", "labels": list(found.labels),
        "recipe": found.recipe.to_dict(), "sha256": found.sha256, **common,
    }  # fmt: skip


def _format_description(data: dict[str, Any]) -> str:
    from ..reading.captions import NO_ASPECT
    from ..runtime.card import row_words, with_baselines

    facts, parts = data["facts"], {name: count for name, count in data["parameters"].items() if count}
    rows = [[name, f"{count:,}"] for name, count in parts.items()]
    rows.append(["total", f"{sum(parts.values()):,}"])
    lines = [_headline(data), "", table(["part", "parameters"], rows)]
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
    words = f"{data['vocabulary']:,} words"
    if "reader" in data:
        sizes = f"{words}, vectors of {data['vector']} numbers"
        learnt = f", learnt from {data['facts']['teacher']}" if "teacher" in data["facts"] else ""
        return f"{data['reader']}: a reader of {sizes}{learnt}; made by Limelight {data['limelight']}"
    labels = ", ".join(map(str, data["labels"][:20]))
    return f"{data['model']}: a {data['kind']} classifier of {words} into {labels}"
