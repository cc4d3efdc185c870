"""How well a model's confidence tells texts of its own kind from others that have none of its classes.

python experiments/benchmarks/out_of_scope.py MODEL TEST OTHER [OTHER ...] --label label
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from limelight.errors import LimelightError
from limelight.explain.model_report import measure_calibration
from limelight.runtime.confidence import answered
from limelight.runtime.model import Model
from limelight.runtime.predictions import predict_labelled
from limelight.tables.columns import choose_columns
from limelight.tables.rows import TableRows


def texts_of(table: str, most: int, seed: int) -> list[str]:
    """Texts of a table, at most so many, drawn at random."""
    columns = choose_columns(table, need_label=False)
    texts = [row.text for row in TableRows(table, columns, on_bad="skip")]
    rows = np.random.default_rng(seed).permutation(len(texts))[:most]
    return [texts[k] for k in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder of a model with a saved development set")
    parser.add_argument("test", help="labelled table of its own kind")
    parser.add_argument("other", nargs="+", help="tables of texts that have none of its classes")
    parser.add_argument("--label", default=None)
    parser.add_argument("--most", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    model = Model.load(args.model)
    P, truth, _ = predict_labelled(model, args.test, choose_columns(args.test, label=args.label))
    sure, right = P.max(axis=1), P.argmax(axis=1) == truth
    calibration = measure_calibration(sure.astype(float), right)
    print(f"accuracy {right.mean():.1%}, calibration error {calibration.error:.3f} ({len(right):,} texts)")
    points = {}
    for wanted in (0.9, 0.95, 0.99):
        try:
            points[wanted] = answered(sure, right, model.threshold(wanted))
        except LimelightError as error:  # too few development texts to show it
            print(f"wanted {wanted:.0%}: {error}")
    for wanted, point in points.items():
        print(f"wanted {wanted:.0%}: below {point.threshold:.3f} it abstains; it {point}")
    for table in args.other:
        texts = texts_of(table, args.most, args.seed)
        other = model.predict_proba(texts).max(axis=1)
        auroc = roc_auc_score(np.repeat([1, 0], [len(sure), len(other)]), np.concatenate([sure, other]))
        wrong = ", ".join(
            f"{(other >= point.threshold).mean():.1%} at {wanted:.0%}" for wanted, point in points.items()
        )
        print(f"{Path(table).parent.name} ({len(texts):,} texts): AUROC {auroc:.3f}; answered {wrong}")


if __name__ == "__main__":
    main()
