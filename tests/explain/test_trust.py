"""Attributions and how faithful they are, held against plain loops and models whose answer is known."""

from __future__ import annotations

import contextlib
import sys
from math import ceil, exp

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import spearmanr

from explain.readings import make_reading
from limelight.config.recipe import Recipe
from limelight.errors import LimelightError
from limelight.explain import agreement, attribute, measure_trust, variants
from limelight.explain.attribution import BY
from limelight.explain.faithfulness import SHARES, faithfulness
from limelight.explain.gradients import effect, gradient_times_input, integrated_gradients, logits
from limelight.explain.trust import jensen_shannon, remove_rows, spearman
from limelight.explain.variants import answers, words_of
from limelight.reading import to_html
from limelight.runtime.model import Model
from limelight.text.tokenizer import Tokenizer
from limelight.training.restore import network_of
from trained import LABELS, recipe_of, texts_of, tokenizer, weights_of
from trained import network_of as random_network


def random_model(pair: str | None = None, **options) -> Model:
    recipe = recipe_of({"rows": 3, **options}, pair)
    network = random_network(recipe, pair is not None)
    return Model.from_parts(
        weights=weights_of(network), recipe=recipe, tokenizer=tokenizer(), labels=LABELS,
        pair=pair is not None, threads=1,
    )  # fmt: skip


def word_spotter() -> Model:
    """A model that says "+" with probability 1 / (1 + e^-2) if it finds "good", else 1 / (1 + e^2)."""
    recipe = Recipe().override(embedding="cnn", word_size=1, hidden=1, head_hidden=1)
    weights = {
        "words.weight": np.array([[0], [0], [1], [0], [0]]),  # padding, unknown, good, bad, soup
        "encoder.W": np.array([[[0, 1, 0]], [[0, 0, 0]]]), "encoder.b": np.zeros(2),
        "head.W_1": np.array([[1, 0]]), "head.b_1": np.zeros(1),
        "head.W_2": np.array([[-2], [2]]), "head.b_2": np.array([1, -1]),
    }  # fmt: skip
    return Model.from_parts(
        weights={name: array.astype(np.float32) for name, array in weights.items()}, recipe=recipe,
        tokenizer=Tokenizer.from_words(["good", "bad", "soup"]), labels=["-", "+"], threads=1,
    )  # fmt: skip


HIGH, LOW = 1 / (1 + exp(-2)), 1 / (1 + exp(2))


# ---------------------------------------------------------------- models whose answer is known


def test_a_model_that_spots_one_word_is_explained_exactly():
    model, text = word_spotter(), "soup bad good soup"
    assert model.read(text).confidence == pytest.approx(HIGH, abs=1e-6)
    found = attribute(model, [text], by="leave-one-out")[0]
    np.testing.assert_allclose(found, [0, 0, HIGH - LOW, 0], atol=1e-6)
    trust = measure_trust(model, [text] * 3)
    for name in ("Leave one out", "Effect through attention", "Integrated gradients"):
        assert trust[name].comprehensiveness == pytest.approx(HIGH - LOW, abs=1e-6), name
        assert trust[name].sufficiency == pytest.approx(0, abs=1e-6), name
    # in reading order the word is never among the first 1 to 50 % of four words
    assert trust["Uniform"].comprehensiveness == pytest.approx(0, abs=1e-6)
    assert trust["Uniform"].sufficiency == pytest.approx(HIGH - LOW, abs=1e-6)


def test_where_words_mean_nothing_every_attribution_is_worth_nothing():
    recipe = recipe_of({"rows": 2})
    weights = weights_of(random_network(recipe))
    weights["head.W_2"] = np.zeros_like(weights["head.W_2"])
    model = Model.from_parts(weights=weights, recipe=recipe, tokenizer=tokenizer(), labels=LABELS, threads=1)
    trust = measure_trust(model, texts_of(12, seed=3))
    for each in trust.attributions:
        np.testing.assert_allclose(each.needed, 0, atol=1e-6)
        np.testing.assert_allclose(each.enough, 0, atol=1e-6)
    assert all(row.changed == 0 and abs(row.drop) < 1e-6 for row in trust.rows)


def test_words_are_left_out_of_the_sequence_and_not_zeroed():
    model = random_model()
    text = "w1 w2 w3 w4"
    words = words_of(model, [model.read(text)])
    kept = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]], bool)
    expected = model.predict_proba([text, "w1 w3", ""])
    np.testing.assert_allclose(answers(model, words, [kept])[0], expected, atol=1e-6)


# ---------------------------------------------------------------- against plain implementations


def naive_scores(model: Model, text: str, weights: np.ndarray) -> tuple[list[float], list[float]]:
    words, P = text.split(), model.predict_proba([text])[0]
    answer = int(P.argmax())
    needed, enough = [], []
    for share in SHARES:
        top = sorted(range(len(words)), key=lambda k: (-weights[k], k))[: ceil(round(share * len(words), 6))]
        without = " ".join(word for k, word in enumerate(words) if k not in top)
        only = " ".join(word for k, word in enumerate(words) if k in top)
        needed.append(P[answer] - model.predict_proba([without])[0][answer])
        enough.append(P[answer] - model.predict_proba([only])[0][answer])
    return needed, enough


@pytest.mark.parametrize("options", [{}, {"embedding": "max"}, {"head": "pruned"}])
def test_scores_are_those_of_a_plain_loop(options: dict):
    model = random_model(**options)
    texts = [text for text in texts_of(12, seed=1) if text] + ["w1 " * 20]
    readings = model.read_many(texts)
    words = words_of(model, readings)
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=len(text)).round(1) for text in words]  # rounded: there are equal ones
    found = faithfulness(model, readings, words, {"some": weights, "none": [w * 0 for w in weights]})[0]
    for k, text in enumerate(texts):
        needed, enough = naive_scores(model, text, weights[k])
        np.testing.assert_allclose(found.needed[k], needed, atol=1e-6)
        np.testing.assert_allclose(found.enough[k], enough, atol=1e-6)


def test_leaving_one_out_is_what_a_plain_loop_finds():
    model, text = random_model(), "w1 w2 w3 w4 w5 w2"
    P = model.predict_proba([text])[0]
    words = text.split()
    without = model.predict_proba([" ".join(words[:k] + words[k + 1 :]) for k in range(6)])
    found = attribute(model, [text], by="leave-one-out")[0]
    np.testing.assert_allclose(found, P.max() - without[:, P.argmax()], atol=1e-6)


def test_few_texts_at_once_change_nothing(monkeypatch: pytest.MonkeyPatch):
    model, texts = random_model(), ["w1 w2 w3", "w2", "w4 w5 w1 w2", "w3 w3"]
    together = attribute(model, texts, by="leave-one-out")
    monkeypatch.setattr(variants, "_TOGETHER", 10)
    for found, expected in zip(attribute(model, texts, by="leave-one-out"), together, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_bars_count_the_texts_and_only_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    model, texts = random_model(), ["w1 w2 w3", "w2", "w4 w5 w1 w2"]
    quiet = measure_trust(model, texts, progress=True).to_dict()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert measure_trust(model, texts, progress=True).to_dict() == quiet
    shown = capsys.readouterr().err
    for name in (
        "Reading",
        "Leave one out",
        "Integrated gradients",
        "Effect through attention",
        "Faithfulness",
    ):
        assert f"{name}:   0%" in shown
    assert measure_trust(model, texts).to_dict() == quiet
    assert capsys.readouterr().err == ""


def test_a_bar_moves_while_a_group_of_texts_is_worked_on(monkeypatch: pytest.MonkeyPatch):
    seen: list[float] = []

    class Bar(contextlib.nullcontext):
        n = 0

        def __enter__(self):
            return self

        def update(self, texts: int) -> None:
            self.n += texts
            seen.append(self.n)

    monkeypatch.setattr(variants, "texts_bar", lambda name, total: Bar())
    monkeypatch.setattr(variants, "BATCH_WORDS", 4)
    attribute(random_model(), ["w1 w2 w3 w4 w5", "w2 w3 w1 w5 w4", "w4 w5 w1 w2 w3"], by="leave-one-out")
    assert seen == sorted(seen)
    assert set(seen) == {0, 1, 2, 3}


def test_very_long_texts_are_left_out_and_counted():
    model, long = random_model(), "w1 " * 2001
    with pytest.warns(UserWarning, match="left out 1 of 3 texts, which have more than 2,000 words"):
        some = measure_trust(model, ["w1 w2", long, "w3 w4"], labels=["bad", "good", "fair"])
    assert some.to_dict() == measure_trust(model, ["w1 w2", "w3 w4"], labels=["bad", "fair"]).to_dict()
    with pytest.raises(LimelightError, match="every text has more than 2,000 words"):
        measure_trust(model, [long])
    with pytest.raises(LimelightError, match="got 2 texts and 1 labels"):
        measure_trust(model, ["w1 w2", "w3 w4"], labels=["bad"])


def test_pairs_leave_words_out_of_either_text():
    model = random_model(pair="concat")
    first, second = "w1 w2 w3", "w4 w5"
    P = model.predict_proba([first], [second])[0]
    found = attribute(model, [first], [second], by="leave-one-out")[0]
    without = model.predict_proba(["w1 w2", first], [second, "w5"])[:, P.argmax()]
    assert found[0][2] == pytest.approx(P.max() - without[0], abs=1e-6)
    assert found[1][0] == pytest.approx(P.max() - without[1], abs=1e-6)
    assert measure_trust(model, [first], [second]).texts == 1


def test_removing_a_row_that_the_classifier_ignores_changes_nothing():
    recipe = recipe_of({"rows": 3})
    weights = weights_of(random_network(recipe))
    size = 2 * recipe.model.hidden
    weights["head.W_1"][:, size : 2 * size] = 0
    model = Model.from_parts(weights=weights, recipe=recipe, tokenizer=tokenizer(), labels=LABELS, threads=1)
    readings = model.read_many([text for text in texts_of(20) if text])
    found = remove_rows(model, readings, [each.label for each in readings])
    assert (found[1].changed, found[1].accuracy_drop) == (0, 0)
    assert abs(found[1].drop) < 1e-6 < abs(found[0].drop)
    assert found[0].changed == pytest.approx(found[0].accuracy_drop)  # all answers were taken as right


# ---------------------------------------------------------------- gradients


def inputs(model: Model, texts: list[str], *others: list[str]) -> tuple:
    """The network in float64, the word vectors of some texts, and the classes to explain."""
    network = network_of(model).double()
    sides = []
    for column in (texts, *others):
        ids = [torch.from_numpy(model.tokenizer.locate(text)[0].astype(np.int64)) for text in column]
        lengths = torch.tensor([len(each) for each in ids])
        sides.append((network.words(torch.nn.utils.rnn.pad_sequence(ids, True)).detach(), lengths))
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
    S.requires_grad_()
    theirs = captum.InputXGradient(forward).attribute(S, target, additional_forward_args=(lengths,))
    ours = gradient_times_input(network, [(S.detach(), lengths)], target)[0]
    torch.testing.assert_close(ours, theirs.sum(2), atol=1e-6, rtol=0)


WAYS = [
    {},
    {"author_code": True},
    {"max_row": True},
    *({"embedding": e} for e in ("max", "cnn")),
]


@pytest.mark.parametrize("pair", [None, "gated"])
@pytest.mark.parametrize("options", WAYS, ids=str)
def test_effects_are_the_shares_of_the_logit_that_pass_through_the_rows(options, pair: str | None):
    """Where the classifier is linear around M, a word's effect is what its part of M adds to the logit."""
    network, sides, target = inputs(random_model(pair, **options), TEXTS, *([SECOND] if pair else []))
    found = effect(network, sides, target)
    M = [network.pool(network.encoder(S, lengths), lengths)[0] for S, lengths in sides]

    def chosen(scale: float) -> torch.Tensor:
        scaled = [M[0] * scale, *M[1:]]
        features = network.meet(*scaled) if pair else scaled[0]
        return network.head(features).gather(1, target[:, None])[:, 0]

    slope = (chosen(1 + 1e-6) - chosen(1 - 1e-6)) / 2e-6  # d logit / d scale = <dlogit/dM, M>
    torch.testing.assert_close(found[0].sum(1), slope, atol=1e-6, rtol=1e-6)
    assert not found[0][1, 2:].any()  # padding has no effect


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


# ---------------------------------------------------------------- the public function, and agreement


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("pair", [None, "gated"])
def test_every_attribution_can_be_drawn(by: str, pair: str | None):
    model, texts, second = random_model(pair), ["w1 w2 w3", "", "w4 unheard"], ["w5", "w6 w7", ""]
    found = attribute(model, texts, second if pair else None, by=by)
    for k, weights in enumerate(found):
        reading = model.read(texts[k], second[k]) if pair else model.read(texts[k])
        assert by in to_html(reading, weights={by: weights})
    alone = attribute(model, texts[:1], second[:1] if pair else None, by=by)[0]
    np.testing.assert_allclose(
        np.concatenate([*alone] if pair else [alone]),
        np.concatenate([*found[0]] if pair else [found[0]]),
        atol=1e-5,
    )


def test_without_pytorch_what_needs_no_gradients_is_measured(monkeypatch: pytest.MonkeyPatch):
    model = random_model()
    monkeypatch.setitem(sys.modules, "torch", None)
    trust = measure_trust(model, ["w1 w2 w3"])
    assert not trust.has_gradients
    assert {"Overall attention", "Leave one out"} <= {each.name for each in trust.attributions}
    with pytest.raises(LimelightError, match="pip install 'limelight\\[train\\]'"):
        attribute(model, ["w1 w2 w3"], by="effect")


def test_an_unknown_attribution_is_an_error():
    with pytest.raises(LimelightError, match="by is 'magic'; it must be one of: attention, effect"):
        attribute(random_model(), ["w1"], by="magic")
    with pytest.raises(LimelightError, match="no texts"):
        measure_trust(random_model(), [])


def test_ranks_and_divergences_are_those_of_scipy():
    rng = np.random.default_rng(0)
    for n in (2, 5, 40):
        a, b = rng.integers(0, 4, n) + 1.0, rng.random(n)
        if len(set(a)) > 1:
            assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)
        p, q = a / a.sum(), b / b.sum()
        assert jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q, base=2) ** 2)


def test_agreement_needs_the_same_words():
    one, other = make_reading("Good soup", [[0.9, 0.1]]), make_reading("Good soup", [[0.1, 0.9]])
    found = agreement([one, one], [one, other])
    assert found.spearman == pytest.approx(0.0)
    assert found.divergence == pytest.approx(jensenshannon([0.9, 0.1], [0.1, 0.9], base=2) ** 2 / 2, abs=1e-6)
    with pytest.raises(LimelightError, match="split a text differently"):
        agreement([one], [make_reading("Good soup", pattern=r"\w")])
    with pytest.raises(LimelightError, match="got 2 and 1 readings; compare those of the same texts"):
        agreement([one, one], [one])
