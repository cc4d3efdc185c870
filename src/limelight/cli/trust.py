"""`limelight trust`: how faithful the pictures of a model are, in numbers."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._parser import add_flag
from ._shared import add_shared, check_least, check_out, load_models, print_result, sample, save_page, table

if TYPE_CHECKING:
    from ..explain.faithfulness import Faithfulness
    from ..explain.model_agreement import Agreement
    from ..explain.overview import RowEffect
    from ..explain.trust import Trust

HELP = "measure how faithful the pictures of a model are"
DESCRIPTION = """\
Measure how faithful each kind of picture is: comprehensiveness (how far the probability drops without the
words it highlights; high is good) and sufficiency (how far it drops with only these; low is good), and the
effect of removing each row. --with a second model, such as one trained with another seed, also measures
agreement.

  limelight trust model test.csv
  limelight trust model test.csv --out trust.html
  limelight trust model test.csv --with model-of-another-seed"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "model", "MODEL", "folder of a saved model")
    add_flag(parser, "data", "DATA", "table of texts, with or without labels")
    add_flag(parser, "--with", "MODEL", "a second model, to compare their attention", dest="other")
    add_flag(parser, "--texts", "N", "number of texts to sample", 200)
    add_flag(parser, "--seed", "N", "random seed", 0)
    add_shared(parser, "--text", "--text2", "--skip-bad")
    add_flag(parser, "--label", "COL", "label column: also measure what each row does for the accuracy")
    add_flag(parser, "--out", "FILE", "also write the result as an HTML page")
    add_shared(parser, "--overwrite", "--json")


def run(args: argparse.Namespace) -> None:
    """Measure on a sample of the table and print the result."""
    from ..explain import agreement, measure_trust
    from ..explain.pages import trust_page
    from ..network.parts import rows_of

    check_out(args, page=True)
    check_least(args, texts=1, seed=0)
    _, (model, *others) = load_models(args.model, args.other)
    rows, _, _ = sample(args, model, args.texts, args.seed, need_label=False)
    texts = [row.text for row in rows]
    texts2: Any = [row.text2 for row in rows] if model.pair else None
    labels: Any = [row.label for row in rows] if args.label else None
    alike = None
    for other in others:  # first, because it is quick and finds models that cannot be compared
        alike = agreement(list(model.read_many(texts, texts2)), list(other.read_many(texts, texts2)))
    found = measure_trust(model, texts, texts2, labels=labels, seed=args.seed, progress=True)
    data = found.to_dict() | ({"agreement": alike._asdict()} if alike else {})
    if args.out:
        names = {"name": Path(args.model).resolve().name, "data": Path(args.data).name}
        save_page(args, trust_page(found, model, **names, agreement=alike, other=str(args.other)))
    print_result(args, data, _format_trust(found, alike, rows_of(model.recipe.model).has_max_row))


def _format_trust(found: Trust, alike: Agreement | None, max_row: bool) -> str:
    over = f"mean over {found.texts:,} texts ± standard error" if found.texts > 1 else "one text"
    ways = [_way(each, found.texts > 1) for each in found.attributions]
    pictures = table(["picture", "comprehensiveness", "sufficiency"], ways)
    head = ["row removed", "predictions changed", "drop in probability", "drop in accuracy"]
    rows = table(head, [_row(row) for row in found.rows])
    last = "\n(the last row is the max-pooled one)" if max_row and found.rows else ""
    blocks = [textwrap.fill(found.verdict, 100), f"{pictures}\n({over})", rows + last]
    if found.until_change is not None:
        words = f"{found.until_change:.1%} of the words of a text (median)"
        blocks.append(f"words to remove until the answer changes, those that decided first: {words}")
    if alike:
        figures = f"Spearman {alike.spearman:.3f}, Jensen-Shannon {alike.divergence:.3f} bits"
        blocks.append(f"overall attention of both models: {figures}")
        if alike.decided is not None:
            blocks[-1] += f"\nwhat decided, where both answer alike: Spearman {alike.decided:.3f}"
    return "\n\n".join(blocks)


def _way(found: Faithfulness, several: bool) -> list[str]:
    f, cells = found.to_dict(), []
    for kind in ("comprehensiveness", "sufficiency"):
        cells.append(f"{f[kind]:.3f}" + (f" ± {f[f'{kind}_error']:.3f}" if several else ""))
    return [f["name"], *cells]


def _row(row: RowEffect) -> list[Any]:
    accuracy = "-" if row.accuracy_drop is None else f"{row.accuracy_drop:.1%}"
    return [row.row + 1, f"{row.changed:.1%}", f"{row.drop:.3f}", accuracy]
