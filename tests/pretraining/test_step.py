"""What is learnt in a step, and the same on several processes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

from limelight.cli import main
from limelight.runtime.folder import open_folder
from limelight.text.dataset import Split
from limelight.training.teacher import Vectors
from limelight.training.vector_objective import divergence, even_directions, fit_words, reduce_vectors
from pretraining.teachers import SMALL, write
from torchruns import torchrun

TESTS = Path(__file__).parents[1]


def test_the_divergence_is_that_of_the_similarities():
    random = np.random.default_rng(0)
    v, t = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in random.standard_normal((2, 5, 4)))

    def softmax(x: np.ndarray) -> np.ndarray:
        similar = np.exp(x @ x.T / 0.1)
        np.fill_diagonal(similar, 0)
        return similar / similar.sum(1, keepdims=True)

    p, q = softmax(t), softmax(v)
    off = ~np.eye(5, dtype=bool)
    expected = (p[off] * np.log(p[off] / q[off])).sum() / 5
    assert divergence(torch.from_numpy(v), torch.from_numpy(t), 0.1).item() == pytest.approx(expected)


def test_directions_in_which_the_teacher_varies_little_count_as_well():
    random = np.random.default_rng(0)
    t = random.standard_normal((4000, 5)) * [2, 1, 0.5, 0.2, 0] + [0, 3, 0, 0, 0]
    t = t @ np.linalg.qr(random.standard_normal((5, 5)))[0]
    unit = t / np.linalg.norm(t, axis=1, keepdims=True)
    spread, U = np.linalg.eigh(np.cov(unit.T, bias=True))
    weights = np.maximum(spread, 0.01 * spread.mean()) ** -0.5
    weights *= spread.sum() / (spread * weights).sum()
    e = random.standard_normal((3, 5))
    found = (torch.from_numpy(e).float() @ even_directions(Vectors([t]))).square().sum(1)
    np.testing.assert_allclose(found.numpy(), ((e @ U) ** 2 @ weights), rtol=1e-4)


def test_a_teacher_that_says_the_same_of_all_texts_has_no_directions():
    same = Vectors([np.array([[1.0, 2, 3, 4], [2, 4, 6, 8], [3, 6, 9, 12]])])
    np.testing.assert_array_equal(even_directions(same), np.eye(4))


def test_two_processes_make_the_same_reader_as_one(tmp_path):
    write(tmp_path)
    options = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    common = ["pretrain", str(tmp_path / "texts.txt"), "--quiet", "--device", "cpu"]
    common += ["--teacher", str(tmp_path / "vectors.npy"), *options, "--json"]
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    environment |= {"PYTHONPATH": str(TESTS.parent / "src")}
    command = torchrun(2, *common, "--out", str(tmp_path / "two"))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["out"] == str(tmp_path / "two")
    assert main([*common, "--out", str(tmp_path / "one")]) == 0
    one, two = (open_folder(tmp_path / name).weights for name in ("one", "two"))
    for name, weights in one.items():
        # stored in 4 or 8 bits: a difference in the last bits may move a number by one step
        np.testing.assert_allclose(two[name], weights, atol=2 * np.abs(weights).max() / 7, err_msg=name)
        assert np.isclose(two[name], weights, rtol=0, atol=1e-5).mean() > 0.99, name


# ---------------------------------------------------------------- the words to start from


def test_words_start_as_principal_components():
    random = np.random.default_rng(0)
    plane = random.standard_normal((30, 2)) @ random.standard_normal((2, 9))
    vectors = np.vstack([plane, np.zeros((1, 9))])
    start = reduce_vectors(vectors, 4, seed=0)
    np.testing.assert_allclose(start[:30, 2:], 0, atol=1e-5)  # two directions say it all
    lengths = np.linalg.norm(plane - plane.mean(0), axis=1)
    ratio = np.linalg.norm(start[:30], axis=1) / lengths
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-4)
    assert start[30].any()  # a word without a vector starts from noise


def test_fitted_words_explain_the_sentences(tmp_path):
    random = np.random.default_rng(0)
    true, lengths = random.standard_normal((22, 6)), random.integers(2, 6, 400).astype(np.int32)
    ids = random.integers(2, 22, lengths.sum()).astype(np.int32)
    split = Split(ids, lengths)
    means = np.add.reduceat(true[ids], split.starts) / lengths[:, None]
    found = fit_words(split, Vectors([means]), 22, torch.device("cpu"), seed=0)
    fitted = np.add.reduceat(found[ids], split.starts) / lengths[:, None]
    wanted = means / np.linalg.norm(means, axis=1, keepdims=True)
    assert np.corrcoef(fitted.ravel(), (wanted - wanted.mean(0)).ravel())[0, 1] > 0.9
