"""Integrated gradients: against Captum and what they must add up to."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from explain.models import random_model
from limelight.explain.gradients import integrated_gradients, logits, network_of
from limelight.runtime.model import Model
from trained import LABELS


def inputs(model: Model, texts: list[str], *others: list[str]) -> tuple:
    """The network in float64, the word vectors of some texts, and the classes to explain."""
    network = network_of(model).double()
    sides = []
    for column in (texts, *others):
        ids = [torch.from_numpy(model.tokenizer.locate(text)[0].astype(np.int64)) for text in column]
        lengths = torch.tensor([len(each) for each in ids])
        sides.append((network.vectors(torch.nn.utils.rnn.pad_sequence(ids, True)).detach(), lengths))
    return network, sides, torch.arange(len(texts)) % len(LABELS)


TEXTS, SECOND = ["w1 w2 w3 w9", "w7 w8", "w5"], ["w3", "w2 w6 w2", "w1 w1"]


@pytest.mark.parametrize(
    ("pair", "bias", "steps", "close"),
    [(None, 100.0, 50, 1e-8), ("gated", 100.0, 50, 1e-8), (None, 0.0, 200, 2e-3), ("concat", 0.0, 200, 2e-3)],
)
def test_integrated_gradients_add_up_to_the_difference_of_the_logits(
    pair: str | None, bias: float, steps: int, close: float
):
    """Exactly where the path is smooth: with a large bias no ReLU switches; a switch costs accuracy."""
    network, sides, target = inputs(random_model(pair), TEXTS, *([SECOND] if pair else []))
    with torch.no_grad():
        network.head.b_1 += bias
    found = integrated_gradients(network, sides, target, steps)
    zeros = [(torch.zeros_like(S), lengths) for S, lengths in sides]
    difference = (logits(network, sides) - logits(network, zeros)).gather(1, target[:, None])[:, 0]
    torch.testing.assert_close(sum(part.sum(1) for part in found), difference, atol=close, rtol=0)


def test_gradients_are_those_of_captum():
    captum = pytest.importorskip("captum.attr", reason="captum is not installed: pip install captum")
    network, sides, target = inputs(random_model(), TEXTS)
    (S, lengths), steps = sides[0], 20

    def forward(vectors: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return logits(network, [(vectors, lengths)])

    theirs = captum.IntegratedGradients(forward, multiply_by_inputs=True).attribute(
        S, torch.zeros_like(S), target, additional_forward_args=(lengths,), n_steps=steps,
        method="gausslegendre", internal_batch_size=None,
    )  # fmt: skip
    ours = integrated_gradients(network, sides, target, steps)[0]
    torch.testing.assert_close(ours, theirs.sum(2), atol=1e-6, rtol=0)


WAYS = [
    {},
    {"author_code": True},
    {"max_row": True},
    {"projection": 5},
    {"pooling": "max"},
    {"encoder": "cnn", "pooling": "max"},
]


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_a_restored_network_answers_as_the_model_does(options):
    model = random_model(**options)
    network, sides, _ = inputs(model, TEXTS)
    with torch.no_grad():
        P = logits(network.float(), [(S.float(), n) for S, n in sides]).softmax(1)
    np.testing.assert_allclose(P.numpy(), model.predict_proba(TEXTS), atol=1e-6)


def test_restoring_leaves_the_random_numbers_alone():
    model = random_model()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    network_of(model)
    assert torch.equal(torch.rand(3), expected)
