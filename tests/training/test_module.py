"""Training with an encoder and a loss of the user's own."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from tests.modules import FrozenTable, Gru, Pieces
from tests.refusing import refuses
from torch.nn import functional as F

from limelight import TextClassifier
from limelight.config.presets import preset
from limelight.config.recipe import TextRecipe
from limelight.network.modules import Modules, recipe_with
from limelight.text.encode import encode_texts
from limelight.training import Callback, fit
from limelight.training.starting_network import build_network, fit_first_head, read_features

TEXTS = ["Good soup!", "Cold soup.", "What a good waiter!", "The waiter was cold."] * 5
LABELS = ["+", "-", "+", "-"] * 5
SMALL = {
    "rows": 3,
    "attention_hidden": 4,
    "row_units": 2,
    "epochs": 2,
    "learning_rate": 0.01,
    "batch_size": 8,
}


def encoded(all_words: bool = True):
    dev = (["A good day"], ["+"])
    return encode_texts(TEXTS, LABELS, recipe=TextRecipe(), dev=dev, all_words=all_words)


def trained(module, folder=None, resume=False, **options):
    recipe = recipe_with(preset("tiny").override(**{**SMALL, **options}), Modules(module))
    return fit(encoded(), recipe, folder, encoder=module, show=False, resume=resume)


def test_words_of_all_splits_are_known():
    assert "day" in encoded().tokenizer.vocabulary
    assert "day" not in encoded(all_words=False).tokenizer.vocabulary


@pytest.mark.parametrize("module", [Gru(), Pieces()], ids=lambda each: type(each).__name__)
def test_the_module_is_copied_and_its_copy_trained(module):
    before = copy.deepcopy(module.state_dict())
    fitted = trained(module)
    assert all(torch.equal(w, before[name]) for name, w in module.state_dict().items())
    after = fitted.network.encoder.module.state_dict()
    moved = [name for name, w in after.items() if w.is_floating_point() and not torch.equal(w, before[name])]
    assert len(moved) >= len(before) - 3  # the bias of keys, and the counter


def test_a_frozen_module_stays_and_the_rest_learns():
    fitted = trained(FrozenTable(), epochs=30)
    assert torch.equal(fitted.network.encoder.module.table, FrozenTable().table)
    assert fitted.history[-1]["accuracy"] == 1


def test_a_rate_of_zero_leaves_the_encoder_as_it_is():
    module = Pieces()
    fitted = trained(module, encoder_rate=0.0)
    found = fitted.network.encoder.module.state_dict()
    assert all(torch.equal(w, found[name]) for name, w in module.state_dict().items())


def test_adam_moves_the_encoder_by_its_rate():
    """The first step of Adam moves each weight by the rate, times the encoder's factor for its weights."""
    module = Gru()
    start = module.gru.weight_ih_l0.clone()
    fitted = trained(
        module, epochs=1, batch_size=100, encoder_rate=0.1, clip_norm=0.0, dropout=0.0, schedule="constant",
    )  # fmt: skip
    step = (fitted.network.encoder.module.gru.weight_ih_l0 - start).abs()
    moved = step[step > 0]
    np.testing.assert_allclose(moved.detach().median().item(), 0.1 * 0.01, rtol=0.02)


def test_a_run_is_resumed_with_the_same_bits(tmp_path):
    module = Pieces()
    whole = trained(module, epochs=3)
    trained(module, tmp_path / "run", epochs=1)
    again = trained(module, tmp_path / "run", resume=True, epochs=3)
    for name, w in whole.network.state_dict().items():
        assert torch.equal(w, again.network.state_dict()[name]), name
    torch.manual_seed(9)
    with refuses("run-differs"):  # another module
        trained(Pieces(), tmp_path / "run", resume=True, epochs=4)


def test_a_recipe_with_a_module_needs_the_module():
    recipe = recipe_with(preset("tiny"), Modules(Gru()))
    with refuses("encoder-missing"):
        fit(encoded(), recipe, show=False)
    with refuses("encoder-other"):
        fit(encoded(), preset("tiny"), encoder=Gru(), show=False)


def test_the_first_classifier_is_logistic_regression_on_M():
    """More features than rows are fitted by their coordinates: the gradient of the objective is zero."""
    dataset, module = encoded(), FrozenTable()
    recipe = recipe_with(preset("small").override(rows=9, attention_hidden=4), Modules(module))
    network = build_network(dataset, recipe, None, Modules(module)).eval()
    found = fit_first_head(network, dataset.splits["train"], None, 0)
    rows = np.arange(len(TEXTS))
    v = read_features(network, dataset.splits["train"], rows)
    assert v.shape[1] > len(v)
    scale = v.norm(dim=1).mean()
    W, b = (each.detach().double().clone() for each in network.head.last_layer())
    W = (W * scale).requires_grad_()
    y = torch.from_numpy(np.asarray(dataset.splits["train"].labels)).long()
    loss = found.strength * F.cross_entropy(v / scale @ W.T + b, y, reduction="sum") + W.square().sum() / 2
    (gradient,) = torch.autograd.grad(loss, W)
    assert gradient.abs().max() < 1e-2
    found = fit(dataset, recipe.override(epochs=0), encoder=module, show=False)  # that takes no epoch
    assert (found.history, found.state.finished) == ([], True)


# ---------------------------------------------------------------- losses


def focal(output, labels):
    losses = F.cross_entropy(output.logits, labels, reduction="none")
    return (1 - torch.exp(-losses)) ** 2 * losses


def test_a_loss_of_ones_own():
    """One step of gradient descent on the user's loss, computed by hand."""
    dataset = encoded()
    options = {
        **SMALL,
        "optimizer": "sgd",
        "learning_rate": 0.5,
        "epochs": 1,
        "batch_size": 100,
        "penalty": 0.0,
    }
    recipe = preset("tiny").override(**options, dropout=0.0, clip_norm=0.0)
    network = build_network(dataset, recipe)
    split = dataset.splits["train"]
    ids = torch.nn.utils.rnn.pad_sequence(
        [torch.from_numpy(split.row(k)[0]) for k in range(len(split))], True
    )
    lengths, labels = torch.from_numpy(np.asarray(split.lengths)), torch.from_numpy(np.asarray(split.labels))
    focal(network(ids.long(), lengths.long()), labels.long()).mean().backward()
    expected = network.head.W_o - 0.5 * network.head.W_o.grad
    fitted = fit(dataset, recipe, loss=focal, show=False)
    torch.testing.assert_close(fitted.network.head.W_o, expected, atol=1e-6, rtol=1e-5)


def test_the_usual_loss_given_as_ones_own_changes_nothing():
    recipe = preset("tiny").override(**SMALL)
    plain = fit(encoded(), recipe, show=False)
    for own in (
        lambda output, labels: F.cross_entropy(output.logits, labels, reduction="none"),
        lambda output, labels: F.cross_entropy(output.logits, labels),
    ):
        same = fit(encoded(), recipe, loss=own, show=False)
        assert same.history[-1]["loss"] == pytest.approx(plain.history[-1]["loss"], rel=1e-5)


@pytest.mark.parametrize("found", [torch.zeros(3), 0.0, None])
def test_a_loss_of_another_shape_is_refused(found):
    with refuses("loss-output"):
        fit(encoded(), preset("tiny").override(**SMALL), loss=lambda *_: found, show=False)


def test_a_loss_must_be_callable():
    with refuses("loss-type"):
        fit(encoded(), preset("tiny").override(**SMALL), loss="focal", show=False)  # type: ignore[arg-type]


def test_an_estimator_takes_encoder_loss_and_callbacks():
    seen = []

    class Seen(Callback):
        def on_epoch_end(self, run, record):
            seen.append(type(run.network.encoder.module).__name__)

    clf = TextClassifier("tiny", encoder=Pieces(), loss=focal, callbacks=[Seen()], progress=False, **SMALL)
    assert type(clf.get_params()["encoder"]) is Pieces
    clf.fit(TEXTS, LABELS)
    assert seen == ["Pieces", "Pieces"]
