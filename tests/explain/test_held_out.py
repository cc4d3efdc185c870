"""A report of rows that a model learnt from, and of others: every figure is of the others."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from explain.models import random_model
from limelight.explain.report import measure_report
from limelight.text.learnt_rows import LearntRows, row_hash
from limelight.text.metrics import wilson
from trained import LABELS, texts_of

TEXTS = [f"{text or 'w1'} {k}" for k, text in enumerate(texts_of(40))]
TRUTH = [LABELS[k % 3] for k in range(40)]


def visible(page: str) -> str:
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split())


def report_of(learnt: int, **facts: Any):
    """A report on a model that has learnt from so many of the first texts; -1: it does not know."""
    model = random_model()
    if learnt >= 0:
        model.learnt_rows = LearntRows.of([row_hash(text) for text in [*TEXTS[:learnt], "another text"]])
    model.facts |= facts
    return measure_report(model, TEXTS, TRUTH, name="one", data="test.csv")


def test_figures_are_of_the_rows_that_were_not_learnt_from():
    report = report_of(30)
    right = np.array(report.model.model.predict(TEXTS)) == np.array(TRUTH)
    found = report.to_dict()
    assert (found["of_rows"], found["learnt_from"]) == (40, 30)
    assert found["models"]["one"]["accuracy"] == right[30:].mean()
    assert report.model.interval == wilson(right[30:].mean(), 10)
    text = visible(report.html())
    assert "30 of these 40 rows were learnt from; the figures are of the other 10." in text
    assert f"Accuracy {right[30:].mean():.2%} of 10 rows not learnt from; 95% interval" in text
    assert f"Of all 40 rows, learnt from or not, {right.mean():.2%} are right." in text
    assert sum(report.model.metrics.counts[2]) == 10


def test_rows_that_are_all_new_or_all_learnt_or_unknown():
    assert "None of these rows was learnt from." in visible(report_of(0).html())
    results = {"dev": {"accuracy": 0.5, "rows": 12}}
    text = visible(report_of(40, results=results).html())
    assert "All of these 40 rows were learnt from: the figures say how well it remembers" in text
    assert "Training measured an accuracy of 50.0% on 12 development rows that it held out." in text
    assert "of 40 rows, all learnt from; 95% interval" in text
    unknown = report_of(-1)
    assert unknown.to_dict()["learnt_from"] is None
    text = visible(unknown.html())
    assert "This model does not know which rows it learnt from;" in text
    assert "learnt from; 95%" not in text
