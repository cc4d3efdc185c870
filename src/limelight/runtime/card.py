"""The card of a saved folder, its README.md, for people and for the hub.

Its facts are plain JSON, all of them optional. Those of docs/format.md, and:

    name, language, license      of the model
    data                         {"name": "...", "train": 8544, "dev": 1101, "test": 2210}: rows
    results                      {"dev": {"accuracy": 0.48, ...}, "test": {...}}: numbers by split
    confusion                    (classes, classes): rows are the true labels, columns the predicted ones
    confusion_split              which split it was counted on
    intended_use, limits         a paragraph each
and of a reader
    teacher, texts, held_out     what it was taught by, {"files": [...], "rows": n}, texts of its figures
    cosine, overlap              to the teacher's vectors, and of two rows of attention
    pretraining, licences        its options; a paragraph
"""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from .. import __version__
from ..config.recipe import Recipe
from ..network.parts import encoder_of, pooling_of
from ..reading.captions import NO_ASPECT, trust_sentence
from ..text.labels import Label
from ..text.tasks import find_task
from .confidence import overview, reaching, saved_curve

_ALWAYS = ("encoder", "pooling", "word_size", "hidden", "rows", "head", "epochs", "seed")
_MEASURES = {"accuracy": "accuracy", "micro_f1": "f1", "r2": "r_squared"}  # ours, by what the hub calls them
_UNKNOWN = "All words outside its vocabulary look the same to the model. "
_LIMITS = "{calibrated} Its attention shows where it looked, which is not always why it decided."
_NOT_CALIBRATED = "Its probabilities are not calibrated."
_CALIBRATED = "Its probabilities are calibrated on texts like the development set's, and on no others."
_LICENCES = "To be filled in: the licence of the teacher, and those of the texts."
_TAGS = ["limelight", "sentence-embedding", "self-attention"]
_MARKS = str.maketrans({"&": "&amp;", "<": "&lt;", **{c: f"&#{ord(c)};" for c in "\\`*_[]#~>$"}})
_BASELINES = {"tf_idf": "TF-IDF + logistic regression", "largest_class": "largest class alone"}
_FIGURES = {"cosine": "cosine to the teacher's vectors", "overlap": "overlap of two rows of attention"}


@cache
def _templates() -> Any:
    import jinja2  # a prediction needs no card

    found = jinja2.Environment(loader=jinja2.PackageLoader("limelight.runtime"), keep_trailing_newline=True)
    found.filters |= {"quote": quote, "plain": plain, "cell": cell}
    return found


def model_card(
    *,
    recipe: Recipe,
    labels: Sequence[Label],
    pair: bool,
    vocabulary: int,
    facts: Mapping[str, Any],
    thresholds: Sequence[float] | np.ndarray | None = None,
) -> str:
    """The card of a classifier as Markdown, with the metadata block that the hub reads."""
    task, model = find_task(recipe.text.task), recipe.model
    what = "pairs of sentences" if pair else "texts"
    pooling = pooling_of(model).title(model)
    labels = [] if task.is_number else list(labels)
    calibrated = _CALIBRATED if _mapping(facts.get("confidence")) else _NOT_CALIBRATED
    limits = _UNKNOWN + _LIMITS if model.table_size else _LIMITS
    use = f"{task.use.format(what=what)}, and seeing which words decided."
    name, data = one_line(facts.get("name", "A Limelight model")), _mapping(facts.get("data"))
    results = {split: _mapping(scores) for split, scores in with_baselines(facts).items()}
    measures = list(dict.fromkeys(each for scores in results.values() for each in scores))
    card: str = _templates().get_template("model.md.jinja").render(
        metadata=_metadata(name, facts), name=name, version=__version__, vocabulary=vocabulary,
        does=task.does.format(what=what),
        how=f"{encoder_of(model).title} and {pooling}", labels=labels, data=data,
        thresholds=[] if thresholds is None else list(zip(labels, map(float, thresholds), strict=True)),
        modules=["encoder"] * model.has_encoder_module + ["pooling"] * model.has_pooling_module,
        call='"A man plays the guitar.", "A man makes music."' if pair else '"The soup was cold."',
        shown="reading.label, reading.confidence" if task.is_class else "reading.answer",
        data_rows=[(key, f"{value:,}") for key, value in data.items() if isinstance(value, int)],
        measures=measures,
        results=[(split, *(scores.get(each, "") for each in measures)) for split, scores in results.items()],
        confusion=_confusion(facts, labels),
        confusion_split=facts.get("confusion_split"), abstaining=_abstaining(facts),
        knows_rows="learnt_rows" in facts,
        trust=trust_sentence(facts.get("trust")), rows=_rows(facts), recipe=_options(recipe),
        intended_use=facts.get("intended_use") or use,
        limits=facts.get("limits") or limits.format(calibrated=calibrated),
    )  # fmt: skip
    return card


def reader_card(*, recipe: Recipe, vocabulary: int, facts: Mapping[str, Any]) -> str:
    """The card of a reader as Markdown.

    >>> facts = {"rows": [["no", "not"]], "held_out": 9, "teacher": "MiniLM"}
    >>> card = reader_card(recipe=Recipe(), vocabulary=5000, facts=facts)
    >>> "| 1 | no, not |" in card, "MiniLM" in card
    (True, True)
    """
    texts, held_out = _mapping(facts.get("texts")), facts.get("held_out")
    count, where = texts.get("rows"), f", in {held_out:,} held-out texts" if isinstance(held_out, int) else ""
    if "rows_from" in facts:
        where = f", in {quote(facts['rows_from'])}"
    fields = {"library_name": "limelight", "pipeline_tag": "sentence-similarity", "tags": _TAGS}
    card: str = _templates().get_template("reader.md.jinja").render(
        metadata=metadata({**fields, "license": "other"}), words=vocabulary, size=recipe.model.vector_size,
        teacher=facts.get("teacher", "unknown"), count=f"{count:,}" if isinstance(count, int) else "some",
        files=", ".join(map(str, texts.get("files", []))), where=where, rows=_rows(facts),
        figures=[(what, facts[key]) for key, what in _FIGURES.items() if key in facts],
        recipe=_mapping(facts.get("pretraining")) or dataclasses.asdict(recipe.model),
        licences=facts.get("licences") or _LICENCES,
    )  # fmt: skip
    return card


def with_baselines(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The results saved with a model, each followed by the accuracies of its baselines, if there are any."""
    results, saved = (facts.get(key) for key in ("results", "baselines"))
    shown: dict[str, Any] = {}
    for split, figures in _mapping(results).items():
        shown[split] = figures
        measured = _mapping(_mapping(saved).get(split))
        for key, name in _BASELINES.items():
            if isinstance(measured.get(key), float):  # a folder from elsewhere may hold anything
                shown[f"{split}, {name}"] = {"accuracy": measured[key]}
    return shown


def row_words(facts: Mapping[str, Any]) -> list[str]:
    rows = facts.get("rows")
    if not isinstance(rows, list):
        return []
    return [one_line(", ".join(map(str, row))) if isinstance(row, list) else "" for row in rows]


def _rows(facts: Mapping[str, Any]) -> list[tuple[int, str]]:
    return [(k, words or NO_ASPECT) for k, words in enumerate(row_words(facts), 1)]


def _metadata(name: str, facts: Mapping[str, Any]) -> str:
    """The hub's fields, with the measure that matters most on test data, if it is known."""
    results = _mapping(facts.get("results"))
    found = {**_mapping(results.get("dev")), **_mapping(results.get("test"))}
    ours = next((each for each in _MEASURES if each in found), "accuracy")
    value, task = _mapping(results.get("test")).get(ours), "text-classification"
    data, index = one_line(_mapping(facts.get("data")).get("name", "custom data")), []
    if isinstance(value, int | float):
        about = {"task": {"type": task}, "dataset": {"name": data, "type": data, "split": "test"}}
        measured = {**about, "metrics": [{"type": _MEASURES[ours], "value": value}]}
        index = [{"name": name, "results": [measured]}]
    return metadata({
        "language": facts.get("language"), "license": facts.get("license", "other"),
        "library_name": "limelight", "pipeline_tag": task, "tags": [*_TAGS, task, "onnx"],
        "metrics": [_MEASURES[ours]], "model-index": index,
    })  # fmt: skip


def _confusion(facts: Mapping[str, Any], labels: Sequence[Label]) -> list[tuple[Any, ...]]:
    matrix: Any = facts.get("confusion")
    is_matrix = isinstance(matrix, Sequence) and all(isinstance(row, Sequence) for row in matrix)
    if not is_matrix or {len(matrix), *map(len, matrix)} != {len(labels)}:
        return []
    return [(label, *row) for label, row in zip(labels, matrix, strict=True)]


def _abstaining(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the development set shows at some thresholds, and those for some wanted precisions."""
    curve, rows = saved_curve(facts.get("confidence"))
    if not curve:
        return {}
    shown = [
        (f"{each.threshold:.3f}", f"{each.share:.1%}", f"{each.precision:.1%}", f"{low:.1%} to {high:.1%}")
        for each, low, high in overview(curve, rows)
    ]
    promised = []
    for wanted in (0.9, 0.95, 0.99):
        found = reaching(curve, wanted, rows)
        cells = (f"{found.threshold:.3f}", f"{found.share:.1%}") if found else ("not shown", "")
        promised.append((f"{wanted:.0%}", *cells))
    return {"shown": shown, "promised": promised}


def _options(recipe: Recipe) -> list[tuple[str, Any, str]]:
    """The options that say most, and those that are not the default."""
    found = []
    for section in ("text", "model", "training"):
        chosen, default = getattr(recipe, section), getattr(Recipe(), section)
        for field in dataclasses.fields(chosen):
            value = getattr(chosen, field.name)
            if field.name in _ALWAYS or value != getattr(default, field.name):
                found.append((field.name, value, field.metadata["help"]))
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    """A mapping from outside; anything else counts as an empty one."""
    return value if isinstance(value, Mapping) else {}


def metadata(fields: Mapping[str, Any]) -> str:
    """The hub's block of YAML, every value quoted: no text can break out of it."""
    lines = [f"{key}: {yaml(value)}" for key, value in fields.items() if value]
    return "\n".join(["---", *lines, "---"])


def yaml(value: Any) -> str:
    """JSON, which is valid YAML but for emoji, which it may write as two halves."""
    text = json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass").decode(errors="replace")
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def cell(value: Any) -> str:
    """A value from outside as a cell of a table: a figure with four decimals, anything else quoted."""
    return f"{value:.4f}" if isinstance(value, float) else quote(value).replace("|", "\\|")


def quote(value: Any) -> str:
    """A text from outside on one line, without effect in Markdown or HTML: no image, no link, no list."""
    text = one_line(value).translate(_MARKS)
    text = re.sub(r"^(\d*)([-+=.)])(?=[-+=\s]|$)", lambda mark: f"{mark[1]}&#{ord(mark[2])};", text)
    # Addresses become links by themselves, even spelled with entities, unless something is between.
    return re.sub(r"(?i)(://|@|\bwww\.)", lambda mark: f"{mark[0][0]}&#8203;{mark[0][1:]}", text)


def one_line(value: Any) -> str:
    return " ".join(str(value).split())


def plain(value: Any) -> str:
    return str(value).replace("&", "&amp;").replace("<", "&lt;")
