"""Evaluation counts every row exactly once, whatever the batches are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from limelight.training import evaluate
from limelight.training.starting_network import build_network
from training import toys


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("words", [1, 30, 8192])
def test_scores_are_those_of_a_plain_loop(pair: bool, words: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(evaluate.WORDS, "cpu", words)
    data = toys.dataset(rows=61, pair=pair)
    network = build_network(data, toys.recipe(dropout=0.5, dropout_words=0.5, seed=3)).train()
    split = data.splits["train"]
    expected = plain_logits(network, split)
    network.train()
    found = evaluate.logits(network, split)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert network.training, "it must leave the network as it was"

    scores = evaluate.evaluate(network, split)
    probabilities = np.exp(expected) / np.exp(expected).sum(1, keepdims=True)
    entropy = -np.log(probabilities[np.arange(61), split.labels]).mean()
    assert scores.score == (expected.argmax(1) == split.labels).mean()
    assert scores.loss == pytest.approx(entropy, abs=1e-6)
    assert scores.weighted is None

    w = np.random.default_rng(0).random(61)
    weighted = evaluate.evaluate(network, split, w)
    entropies = -np.log(probabilities[np.arange(61), split.labels])
    assert weighted[:2] == scores[:2]
    assert weighted.weighted == pytest.approx(
        ((expected.argmax(1) == split.labels) @ w / w.sum(), entropies @ w / w.sum()), abs=1e-6
    )


@torch.no_grad()
def plain_logits(network, split) -> np.ndarray:  # type: ignore[no-untyped-def]
    """One row at a time, without any padding."""
    network.eval()
    sides = [
        (np.split(ids, np.cumsum(lengths)[:-1]), lengths)
        for ids, lengths in ((split.ids, split.lengths), (split.ids2, split.lengths2))
        if ids is not None
    ]
    rows = []
    for row in range(len(split)):
        inputs = []
        for sentences, lengths in sides:
            inputs += [torch.tensor(sentences[row])[None].long(), torch.tensor([int(lengths[row])])]
        rows.append(network(*inputs).logits[0].double().numpy())
    return np.array(rows)


def test_every_row_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = toys.dataset(rows=50)
    seen: list[int] = []
    gather = evaluate.gather
    monkeypatch.setitem(evaluate.WORDS, "cpu", 40)
    monkeypatch.setattr(evaluate, "gather", lambda split, rows: seen.extend(rows) or gather(split, rows))
    evaluate.evaluate(build_network(data, toys.recipe()), data.splits["train"])
    assert sorted(seen) == list(range(50))
