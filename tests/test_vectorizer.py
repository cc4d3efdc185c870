"""The reader as a step of a scikit-learn pipeline."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import limelight
import trained
from refusing import refuses

TEXTS = ["The soup was cold.", "Chilly broth!", "The train is late.", "No bus came."]


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return limelight.load("reader").encode(TEXTS)


def test_the_vectors_are_the_reader_s_with_names(expected):
    vectorizer = limelight.TextVectorizer().fit(TEXTS)
    np.testing.assert_allclose(vectorizer.transform(np.array(TEXTS)), expected, atol=1e-6)
    names = vectorizer.get_feature_names_out()
    assert (len(names), names[383]) == (384, "textvectorizer383")


def test_clones_and_pickles_hold_the_settings_alone(expected):
    vectorizer = limelight.TextVectorizer(truncate_dim=8).fit()
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    stored = pickle.dumps(vectorizer)
    assert len(stored) < 1000
    found = pickle.loads(stored).transform(TEXTS)
    np.testing.assert_allclose(found, limelight.load("reader").encode(TEXTS, truncate_dim=8), atol=1e-6)


def test_a_pipeline_tells_food_from_travel():
    model = make_pipeline(limelight.TextVectorizer(), LogisticRegression(C=100))
    assert model.fit(TEXTS, ["food", "food", "travel", "travel"]).predict(["Warm soup."]).tolist() == ["food"]


def test_saved_without_pickle(expected, tmp_path):
    limelight.TextVectorizer().save(tmp_path / "reader-folder")
    found = limelight.TextVectorizer.load(tmp_path / "reader-folder")
    np.testing.assert_allclose(found.transform(TEXTS), expected, atol=1e-6)


def test_what_is_no_reader_or_no_text(tmp_path):
    with refuses("model-kind"):
        limelight.TextVectorizer(trained.save(tmp_path / "stars")).fit()
    with refuses("option-value"):  # a reader that is open: no clone and no pickle could hold it
        limelight.TextVectorizer(limelight.load("reader")).fit()
    with refuses("text-type"):
        limelight.TextVectorizer().transform([1])


def test_one_column_of_a_frame_is_a_column(expected):
    table = pd.DataFrame({"text": TEXTS, "stars": [1, 2, 3, 4]})
    columns = ColumnTransformer([("text", limelight.TextVectorizer(), ["text"])], remainder="passthrough")
    found = columns.fit_transform(table)
    np.testing.assert_allclose(found[:, :384], expected, atol=1e-6)
    assert found[:, 384].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(columns.transform(table), found)
