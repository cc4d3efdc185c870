"""The module of sentence-transformers: the same vectors, gradients, its trainer and evaluators, SetFit's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.sentence_transformer import evaluation
from sentence_transformers.sentence_transformer.losses import (
    CachedMultipleNegativesRankingLoss,
    CosineSimilarityLoss,
)

import limelight
import trained
from limelight.runtime.folder import save_folder
from refusing import refuses

TEXTS = ["The soup was cold.", "Chilly brothh!", "The trainn is late, zzyzx.", "", "汤很冷", "soup " * 200]
PAIRS = {
    "sentence1": ["Cold soup.", "A late bus."] * 2,
    "sentence2": ["Chilly broth!", "Cold soup.", "Warm tea.", "The train came latee."],
    "score": [0.9, 0.1, 0.4, 0.8],
}


@pytest.fixture
def model() -> SentenceTransformer:
    return SentenceTransformer(modules=[limelight.sentence_transformers.Reader()], device="cpu")


@pytest.fixture(scope="module")
def reader() -> limelight.Reader:
    return limelight.load("reader")


def test_the_vectors_are_the_reader_s(model, reader):
    np.testing.assert_allclose(model.encode(TEXTS), reader.encode(TEXTS), atol=1e-6)
    assert model.get_sentence_embedding_dimension() == 384
    expected = reader.encode([f"Food: {text}" for text in TEXTS[:2]])
    np.testing.assert_allclose(model.encode(TEXTS[:2], prompt="Food: "), expected, atol=1e-6)


def test_words_that_hold_known_words_are_read_like_the_reader_does(reader, tmp_path):
    parts = replace(reader.parts, recipe=reader.recipe.override(stems=not reader.recipe.model.stems))
    save_folder(tmp_path / "stems", parts)
    model = SentenceTransformer(modules=[limelight.sentence_transformers.Reader(tmp_path / "stems")])
    texts = [*TEXTS, "A genome-wide soupbowling."]
    expected = limelight.load(tmp_path / "stems").encode(texts)
    assert np.abs(expected[-1] - reader.encode(texts[-1])).max() > 1e-3
    np.testing.assert_allclose(model.encode(texts), expected, atol=1e-6)


def test_what_is_saved_is_opened_by_both(model, reader, tmp_path):
    model.save(str(tmp_path / "model"))
    expected = reader.encode(TEXTS)
    again = SentenceTransformer(str(tmp_path / "model"), trust_remote_code=True, device="cpu")
    np.testing.assert_allclose(again.encode(TEXTS), expected, atol=1e-6)
    np.testing.assert_allclose(
        limelight.load(tmp_path / "model" / "0_Reader").encode(TEXTS), expected, atol=1e-6
    )


def test_evaluators_agree_with_the_reader_s_cosines(model, reader):
    evaluator = evaluation.EmbeddingSimilarityEvaluator(
        PAIRS["sentence1"], PAIRS["sentence2"], PAIRS["score"]
    )
    cosines = (reader.encode(PAIRS["sentence1"]) * reader.encode(PAIRS["sentence2"])).sum(axis=1)
    expected = np.corrcoef(cosines, PAIRS["score"])[0, 1]
    assert evaluator(model)["pearson_cosine"] == pytest.approx(expected, abs=1e-5)


def test_every_weight_that_was_read_has_a_gradient(model):
    features = model.preprocess(["Chilly brothh!"])
    grams_read = features["grams"][features["grams"] > 0].unique()
    model(features)["sentence_embedding"].sum().backward()
    missing = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert missing == []
    words, grams = model[0].network.words.weight.grad, model[0].network.grams.weight.grad
    assert (words.abs().sum(1) > 0).sum() == 3  # chilly, ! and the broth in brothh
    assert (grams.abs().sum(1) > 0).sum() == len(grams_read) > 0  # of brothh


@pytest.mark.parametrize("loss", [CosineSimilarityLoss, CachedMultipleNegativesRankingLoss])
def test_training_changes_the_vectors_and_survives_saving(loss, model, tmp_path):
    before = model.encode(TEXTS[:2])
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path / "run"), max_steps=2, per_device_train_batch_size=4, learning_rate=3e-4,
        report_to="none", use_cpu=True, save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    names = list(PAIRS) if loss is CosineSimilarityLoss else ["sentence1", "sentence2"]
    table = Dataset.from_dict({name: PAIRS[name] for name in names})
    SentenceTransformerTrainer(model=model, args=arguments, train_dataset=table, loss=loss(model)).train()
    after = model.encode(TEXTS[:2])
    assert np.abs(after - before).max() > 1e-3
    model.save(str(tmp_path / "model"))
    saved = limelight.load(tmp_path / "model" / "0_Reader").encode(TEXTS[:2])
    assert (saved * after).sum(axis=1).min() > 0.98  # the weights are stored in few bits


def test_a_classifier_is_no_reader(tmp_path):
    folder = trained.save(tmp_path / "stars")
    with refuses("model-kind"):
        limelight.sentence_transformers.Reader(folder)


def test_tensors_where_they_are_asked_for(reader):
    found = reader.encode(["Cold soup."], convert_to_tensor=True)
    assert isinstance(found, torch.Tensor)
    assert found.shape == (1, 384)
