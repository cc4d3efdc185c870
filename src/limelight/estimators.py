"""Estimators with scikit-learn's interface: fit, predict, embed, read, save. Prediction needs no PyTorch."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from .config.effects import unused_options, warn_unused
from .config.options import to_builtin
from .config.presets import preset as preset_of
from .config.recipe import Recipe, options, section_of
from .errors import LimelightError
from .reading.reading import PairReading, Reading
from .runtime.confidence import check_threshold
from .runtime.model import Model
from .runtime.start import Start, start_of
from .text.encode import Dataset, Texts, encode_texts
from .text.formats import shorten
from .text.inputs import (
    Targets,
    as_classes,
    as_list,
    as_pairs,
    as_texts,
    as_weights,
    check_same_length,
    class_numbers,
    is_label,
    match_targets,
    read_targets,
    unknown_label_error,
)
from .text.labels import join_classes

if TYPE_CHECKING:
    from .training.callbacks import Callback

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.exceptions import NotFittedError as _SklearnNotFittedError
except ImportError:
    raise LimelightError("the estimators need scikit-learn: pip install '.[train]'") from None


class NotFittedError(LimelightError, _SklearnNotFittedError):
    """The estimator was used before it was fitted."""


TextColumns = tuple[list[str], list[str] | None]  # texts, and for pairs the second texts

# The arguments and the recipe's options they set; scikit-learn calls the random seed random_state.
ARGUMENTS = {"random_state" if name == "seed" else name: name for name in options()}


class _Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What all estimators share; they differ in the form of their texts, and in what they predict."""

    _predicts_numbers = False

    def __init__(
        self,
        preset: str = "small",
        *,
        holdout: float | None = None,
        device: str = "auto",
        progress: bool = True,
        callbacks: list[Callback] | None = None,
        **given: Any,
    ) -> None:
        self.preset, self.holdout, self.device, self.progress = preset, holdout, device, progress
        self.callbacks = callbacks
        for name in given:
            if name == "seed":
                raise LimelightError("there is no option 'seed'; did you mean 'random_state'?")
            if name not in ARGUMENTS:
                section_of(name)
        for name in ARGUMENTS:
            setattr(self, name, given.get(name))

    # ------------------------------------------------------------ training

    def _fit(self, columns: TextColumns, labels: Any, sample_weight: Any, dev: Texts | None) -> Self:
        from .training import need_torch

        need_torch()
        recipe, start = start_of(self._recipe(), self._given())
        texts, texts2 = columns
        if not texts:
            raise LimelightError("there are no texts; give at least one of each class")
        is_table = getattr(labels, "ndim", 1) == 2
        listed = list(range(labels.shape[0])) if is_table else as_list(labels, "labels")
        check_same_length(texts, listed, "labels")
        labels = labels if hasattr(labels, "__len__") else listed  # or it is used up
        targets = read_targets(labels, recipe.text.task)
        if start is not None and start.labels:  # a trained model keeps its classes
            targets = _joined(targets, labels, start)
        weights = self._weights(targets, targets.labels, sample_weight)
        if dev is not None:
            known = match_targets(dev.labels, targets, "dev labels")
            dev = dev._replace(labels=known, weights=self._weights(targets, known, None))
        names = None if self._predicts_numbers else targets.classes.tolist()
        dataset = encode_texts(
            texts, targets.labels, texts2, weights,
            recipe=dataclasses.replace(recipe.text, task=targets.task), dev=dev, holdout=self.holdout,
            seed=recipe.training.seed, names=names, start=start,
        )  # fmt: skip
        has_dev = "dev" in dataset.splits
        warn_unused(recipe, self._given(), has_dev=has_dev, pairs=dataset.pair)
        return self._train(dataset, recipe, start, targets)

    def _partial_fit(self, columns: TextColumns, labels: Any, classes: Any, sample_weight: Any) -> Self:
        """One pass over the rows, from the start of a fit or from the model so far."""
        from .training import need_torch

        need_torch()
        if not columns[0]:
            raise LimelightError("there are no texts; give at least one")
        listed = as_list(labels, "labels")
        check_same_length(columns[0], listed, "labels")
        known = self._fixed_classes(classes)
        recipe, start = self._going_on()
        task = "classification" if recipe.text.task == "auto" else recipe.text.task
        if task not in ("classification", "ordinal"):
            raise LimelightError(f"partial_fit is for one class a text; the task is {task!r}: use fit")
        targets = Targets(task, known, class_numbers(listed, known.tolist()))
        weights = self._weights(targets, targets.labels, sample_weight)
        once = recipe.override(epochs=1, schedule="constant", teachers=0, noisy_copies=0)
        dataset = encode_texts(
            columns[0], targets.labels, columns[1], weights,
            recipe=dataclasses.replace(recipe.text, task=task), holdout=0, names=known.tolist(), start=start,
        )  # fmt: skip
        return self._train(dataset, once, start, targets, recipe)

    def _fixed_classes(self, given: Any) -> np.ndarray:
        """The classes of all calls of `partial_fit`: those of the first."""
        classes = None if given is None else as_classes(given)[0]
        if not hasattr(self, "model_"):
            if classes is None:
                raise LimelightError("classes is missing: the first call of partial_fit needs all classes")
            return classes
        if classes is not None and not np.array_equal(classes, self.classes_):
            raise LimelightError(
                f"classes is {shorten(str(classes.tolist()))}, but the model has "
                f"{shorten(str(self.classes_.tolist()))}; leave it out, or start again with fit"
            )
        return self.classes_

    def _going_on(self) -> tuple[Recipe, Start | None]:
        """The recipe and the weights that the next call of `partial_fit` starts from."""
        if not hasattr(self, "model_"):
            return start_of(self._recipe(), self._given())
        model, training = self.model_, self._recipe().training
        start = Start(model.recipe, model.tokenizer, model.weights, model.labels, model.pair)
        return Recipe(model.recipe.text, model.recipe.model, training), start

    def _train(
        self,
        dataset: Dataset,
        recipe: Recipe,
        start: Start | None,
        targets: Targets,
        whole: Recipe | None = None,
    ) -> Self:
        """Train, and keep the model; `whole` is the recipe to keep, if this is only a part of it."""
        from .training import fit
        from .training.outcome import calibrate, facts_of, results_of, warn_if_constant, weights_of

        labels = tuple(targets.classes.tolist()) or dataset.labels
        if start is not None:  # these labels are numbers
            dataset = dataclasses.replace(dataset, labels=labels)
        fitted = fit(
            dataset, recipe, device=self.device, show=self.progress, callbacks=self.callbacks, start=start
        )
        if fitted.interrupted and fitted.state.best_epoch < 0:  # nothing was learnt
            raise KeyboardInterrupt
        kept = fitted.recipe if whole is None else dataclasses.replace(fitted.recipe, training=whole.training)
        before = [] if whole is None else getattr(self, "history_", [])
        dataset.facts.pop("classes", None)  # these are numbers; the model's `labels` has the names
        sure = calibrate(fitted, dataset)
        results = results_of(fitted, dataset, ("dev",))
        self.model_ = Model.from_parts(
            weights=weights_of(fitted), recipe=kept, tokenizer=dataset.tokenizer,
            labels=labels, pair=dataset.pair, thresholds=fitted.thresholds,
            facts={**facts_of(dataset, fitted, results), **sure, "estimator": self._facts(targets.indicator)},
        )  # fmt: skip
        self.recipe_, self.history_ = kept, [*before, *fitted.history]
        if not self._predicts_numbers:
            self.classes_, self._indicator = targets.classes, targets.indicator
        if fitted.interrupted:  # what was learnt so far is kept
            raise KeyboardInterrupt
        warn_if_constant(results, labels)
        return self

    def _recipe(self) -> Recipe:
        """The preset with the options that were passed."""
        given = self._given()
        if isinstance(given.get("class_weight"), Mapping):
            del given["class_weight"]
        if isinstance(given.get("seed"), np.random.RandomState):  # as scikit-learn's estimators take it
            given["seed"] = given["seed"].randint(2**31 - 1)
        task = given.get("task", "auto")
        if task != "auto" and (task == "regression") != self._predicts_numbers:
            right = "Regressor" if task == "regression" else "Classifier"
            raise LimelightError(f"task is {task!r}; use a Text{right} or Pair{right} for it")
        if self._predicts_numbers:
            given["task"] = "regression"
        try:
            return preset_of(self.preset).override(**given)
        except LimelightError as error:
            raise LimelightError(re.sub("^seed is", "random_state is", str(error))) from None

    def _given(self) -> dict[str, Any]:
        """The recipe's options that were passed as arguments."""
        given = {name: getattr(self, argument) for argument, name in ARGUMENTS.items()}
        return {name: value for name, value in given.items() if value is not None}

    def _weights(self, targets: Targets, numbers: list[Any], sample_weight: Any) -> list[float] | None:
        by_class: Any = getattr(self, "class_weight", None)
        classes = targets.classes
        weights = None if sample_weight is None else as_weights(sample_weight, "sample weights")
        if weights is not None:
            check_same_length(numbers, weights, "sample weights")
        if isinstance(by_class, Mapping):
            if targets.task in ("multi-label", "regression"):
                raise LimelightError(
                    f"class_weight needs one class for each text; the task is {targets.task!r}"
                )
            class_numbers(list(by_class), classes.tolist(), "class_weight")
            own = as_weights([by_class.get(label, 1.0) for label in classes.tolist()], "class weights")
            weights = [w * own[k] for w, k in zip(weights or [1.0] * len(numbers), numbers, strict=True)]
        return weights

    def _facts(self, indicator: bool) -> dict[str, Any]:
        """How it was trained beyond the recipe, for the saved folder."""
        by_class: Any = getattr(self, "class_weight", None)
        own = (
            [[*map(to_builtin, pair)] for pair in by_class.items()] if isinstance(by_class, Mapping) else None
        )
        return {"holdout": to_builtin(self.holdout), "class_weight": own, "indicator": indicator}

    # ------------------------------------------------------------ what was learnt

    @property
    def _model(self) -> Model:
        if not hasattr(self, "model_"):
            name = type(self).__name__
            raise NotFittedError(f"this {name} is not fitted yet; call fit, or {name}.load(folder)")
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _predict_proba(self, columns: TextColumns) -> np.ndarray:
        return self._model.predict_proba(*columns, progress=False)

    def _predict(self, columns: TextColumns, abstain_below: float | None = None) -> Any:
        model = self._model
        P = self._predict_proba(columns)
        found = model.decide(P)
        if abstain_below is not None and model.task in ("multi-label", "regression"):
            raise LimelightError(f"abstain_below is for one class a text; the task is {model.task!r}")
        if self._predicts_numbers:
            return found.astype(np.float64)
        if model.task == "multi-label":
            several = [tuple(self.classes_[row].tolist()) for row in found]
            return found.astype(np.int64) if self._indicator else several
        best = np.asarray(self.classes_[found])
        if abstain_below is None:
            return best
        answers: np.ndarray = best.astype(object)
        answers[P[np.arange(len(P)), found] < check_threshold(abstain_below)] = None
        return answers

    def _score(self, columns: TextColumns, labels: Any, sample_weight: Any) -> float:
        if not columns[0]:
            raise LimelightError("there are no texts to score; give at least one")
        truth = self._truth(labels)
        check_same_length(columns[0], truth, "labels")
        weights = None if sample_weight is None else as_weights(sample_weight, "sample weights")
        if weights is not None:
            check_same_length(columns[0], weights, "sample weights")
            if not any(weights):
                raise LimelightError("all sample weights are 0; at least one must be positive")
        found = self._model.decide(self._predict_proba(columns))
        if self._predicts_numbers:
            return _r2(found, np.array(truth), weights)
        several = self._model.task == "multi-label"
        answers = (
            [np.flatnonzero(row).tolist() for row in found] if several else self.classes_[found].tolist()
        )
        return float(np.average([a == b for a, b in zip(answers, truth, strict=True)], weights=weights))

    def _truth(self, labels: Any) -> list[Any]:
        """Labels to compare predictions with: labels, the numbers of several, or numbers to predict."""
        model = self._model
        if model.task in ("multi-label", "regression"):
            classes = np.empty(0) if self._predicts_numbers else self.classes_
            like = Targets(model.task, classes, [], getattr(self, "_indicator", False))
            found = match_targets(labels, like, "labels")
            return found if self._predicts_numbers else [sorted(set(each)) for each in found]
        truth = as_list(labels, "labels")
        self._check_kinds(truth)
        return truth

    def _check_kinds(self, truth: list[Any]) -> None:
        """An unknown class counts as a wrong prediction; a label of another type, "1" for 1, is an error."""
        text = self.classes_.dtype.kind in "US"
        for number, label in enumerate(truth):
            if not is_label(label) or isinstance(label, str) != text:
                raise unknown_label_error(f"labels[{number}]", label, self.classes_.tolist())

    def embed(self, texts: Any, *, flat: bool = False) -> np.ndarray:
        """M of each text, (texts, r, 2u); with `flat`, one vector each, (texts, r * 2u)."""
        return self._model.embed(as_texts(texts), flat=flat)

    @property
    def _n_features_out(self) -> int:
        """The width of `transform`, from which scikit-learn makes the column names."""
        model = self._model
        return int(model.embed([""], flat=True).shape[1]) * (2 if model.pair else 1)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the trained model as a folder that `limelight.load` opens without PyTorch."""
        self._model.save(folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open a saved folder as a fitted estimator."""
        model = Model.load(folder)
        numbers = model.task == "regression"
        if model.pair != issubclass(cls, _Pairs) or numbers != cls._predicts_numbers:
            right = ("Pair" if model.pair else "Text") + ("Regressor" if numbers else "Classifier")
            raise LimelightError(f"{folder} holds a {right}; open it with {right}.load or limelight.load")
        facts = model.facts.get("estimator")
        has_dev = not isinstance(facts, dict) or facts.get("holdout") != 0
        values = model.recipe.values()
        unused = unused_options(model.recipe, values, has_dev=has_dev, pairs=model.pair)  # nobody passed them
        self = cls(**{k: values[name] for k, name in ARGUMENTS.items() if name not in unused})
        self.model_, self.recipe_ = model, model.recipe
        if not numbers:
            self.classes_, self._indicator = np.array(model.labels), False
        training = model.facts.get("training")  # a folder from elsewhere may hold anything
        self.history_ = training.get("history", []) if isinstance(training, dict) else []
        self._restore_facts(facts)
        return self

    def _restore_facts(self, facts: Any) -> None:
        """Restore what `_facts` wrote, so that fitting again gives the same."""
        if not isinstance(facts, dict):
            return
        self.holdout = facts.get("holdout", self.holdout)
        if facts.get("indicator") is True and not self._predicts_numbers:
            self._indicator = True
        own = facts.get("class_weight")
        if isinstance(own, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in own):
            self.class_weight = {label: weight for label, weight in own if is_label(label)}


def _with_options(init: Any) -> None:
    """Put the recipe's options into the signature, for `get_params` and a notebook's help."""
    signature = inspect.signature(init)
    kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in ARGUMENTS]
    init.__signature__ = signature.replace(parameters=[*kept, *added])
    lines = [f"    {name}: {options()[option].metadata['help']}" for name, option in ARGUMENTS.items()]
    init.__doc__ = "Options default to the preset's values.\n\n" + "\n".join(lines)


_with_options(_Estimator.__init__)


# Mixins, so that their methods come before those of scikit-learn's.
if TYPE_CHECKING:
    _Mixin = _Estimator
else:
    _Mixin = object


class _Texts(_Mixin):
    """Estimators of single texts."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, dev: Any = None) -> Self:
        """Learn from texts and their labels: lists, numpy arrays, pandas or Arrow columns.

        `dev` is a pair (texts, labels) for choosing the best epoch; without it, a stratified share of the
        rows (`holdout`) is held out. Ctrl-C keeps the best epoch so far.
        """
        part = None
        if dev is not None:
            texts, labels = _parts(dev, 2, "(texts, labels)")
            part = Texts(as_texts(texts, "dev texts"), labels)
        return self._fit((as_texts(X), None), y, sample_weight, part)

    def predict(self, X: Any) -> Any:
        """A number for each text."""
        return self._predict((as_texts(X), None))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy on texts and their labels, where each has several of all of them; of numbers R2."""
        return self._score((as_texts(X), None), y, sample_weight)

    def transform(self, X: Any) -> np.ndarray:
        """(texts, r * 2u): flat embeddings, as features for another model."""
        return self.embed(X, flat=True)

    def read_many(self, X: Any) -> list[Reading]:
        """A reading of each text."""
        return cast("list[Reading]", self._model.read_many(as_texts(X)))

    def read(self, text: str) -> Reading:
        """What the model reads in one text."""
        return cast("Reading", self._model.read(text))


class _Pairs(_Mixin):
    """Estimators of pairs of texts."""

    def fit(
        self, X: Any, X2: Any = None, y: Any = None, sample_weight: Any = None, *, dev: Any = None
    ) -> Self:
        """Learn from first texts, second texts and labels; or from pairs and labels.

        `dev` is (first texts, second texts, labels) or (pairs, labels); see `TextClassifier.fit`.
        """
        columns, labels = _columns_and_labels(X, X2, y)
        part = None
        if dev is not None:
            of_three = isinstance(dev, (tuple, list)) and len(dev) == 3
            *texts, dev_labels = _parts(dev, 3 if of_three else 2, "(texts, second texts, labels)")
            first, second = _columns(*texts)
            part = Texts(first, dev_labels, second)
        return self._fit(columns, labels, sample_weight, part)

    def predict(self, X: Any, X2: Any = None) -> Any:
        """A number for each pair."""
        return self._predict(_columns(X, X2))

    def score(self, X: Any, X2: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy on pairs and their labels; of numbers R2."""
        columns, labels = _columns_and_labels(X, X2, y)
        return self._score(columns, labels, sample_weight)

    def transform(self, X: Any, X2: Any = None) -> np.ndarray:
        """(pairs, 2 * r * 2u): the flat embeddings of both texts."""
        first, second = _columns(X, X2)
        return np.concatenate([self.embed(first, flat=True), self.embed(second, flat=True)], axis=1)

    def fit_transform(
        self, X: Any, X2: Any = None, y: Any = None, sample_weight: Any = None, **how: Any
    ) -> np.ndarray:
        """`fit`, then `transform` the same pairs."""
        self.fit(X, X2, y, sample_weight, **how)
        return self.transform(X, None if y is None else X2)

    def read_many(self, X: Any, X2: Any = None) -> list[PairReading]:
        """A reading of each pair."""
        return cast("list[PairReading]", self._model.read_many(*_columns(X, X2)))

    def read(self, text: str, text2: str) -> PairReading:
        """What the model reads in one pair."""
        return cast("PairReading", self._model.read(text, text2))


class _ClassifierTags(ClassifierMixin):
    """A classifier that may give a text several labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class TextClassifier(_Texts, _ClassifierTags, _Estimator):
    """Classifies texts, and shows which words it read.

    `preset` names a recipe; any option of the recipe can be given besides: `rows=8`, `epochs=5`,
    `class_weight="balanced"` (or a dictionary of weights by label). `holdout` is the share of each class
    that is held out to choose the best epoch, unless `fit` gets `dev`: by default a tenth, but nothing of
    fewer than 1,000 rows when training starts from pretrained weights.

    After `fit`: `classes_`, `recipe_`, `history_` (a record per epoch) and `model_`, the same model that
    `limelight.load` opens from a saved folder.

    >>> texts = ["Good soup!", "Cold soup.", "What a good waiter!", "The waiter was cold."] * 10
    >>> clf = TextClassifier(preset="tiny", progress=False).fit(texts, ["+", "-", "+", "-"] * 10)
    >>> clf.predict(["A good, good waiter!", "Cold."]).tolist()
    ['+', '-']
    >>> clf.embed(["Good soup!"]).shape
    (1, 4, 64)
    >>> clf.read("Cold soup.").words
    ('Cold', 'soup', '.')
    """

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more texts, in one pass: for tables in parts, or to go on with a fitted model.

        The first call needs all `classes`, unless the classifier is fitted or loaded; they stay the same.
        New words are added. Nothing is held out, and the optimiser starts anew in each call.

        >>> clf = TextClassifier(preset="tiny", learning_rate=0.02, progress=False)
        >>> for _ in range(8):
        ...     clf = clf.partial_fit(["Good soup!", "Cold soup."] * 20, ["+", "-"] * 20, classes=["+", "-"])
        >>> clf.predict(["Good!", "Cold."]).tolist()
        ['+', '-']
        """
        return self._partial_fit((as_texts(X), None), y, classes, sample_weight)

    def predict(self, X: Any, *, abstain_below: float | None = None) -> Any:
        """The most likely label of each text; with `abstain_below`, None where its probability is lower.

        Where a text may have several labels: a 0/1 table if `fit` got one, otherwise tuples of labels.
        """
        return self._predict((as_texts(X), None), abstain_below)

    def predict_proba(self, X: Any) -> np.ndarray:
        """(texts, classes): probabilities in the order of `classes_`."""
        return self._predict_proba((as_texts(X), None))


class PairClassifier(_Pairs, _ClassifierTags, _Estimator):
    """Classifies pairs of texts: does the second follow from the first, do both ask the same?

    As `TextClassifier`, with two texts in place of one. For scikit-learn's tools, pairs may also be one
    argument: a list of pairs, or an array or data frame of two columns.

    >>> first, second = ["It rains.", "It rains."] * 10, ["It is wet.", "It is dry."] * 10
    >>> clf = PairClassifier(preset="tiny", progress=False).fit(first, second, [True, False] * 10)
    >>> clf.predict(["It rains."], ["It is dry."]).tolist()
    [False]
    >>> clf.predict([("It rains.", "It is wet.")]).tolist()
    [True]
    """

    def partial_fit(
        self, X: Any, X2: Any = None, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from some more pairs, in one pass; see `TextClassifier.partial_fit`."""
        columns, labels = _columns_and_labels(X, X2, y)
        return self._partial_fit(columns, labels, classes, sample_weight)

    def predict(self, X: Any, X2: Any = None, *, abstain_below: float | None = None) -> Any:
        """The most likely label of each pair; with `abstain_below`, None where its probability is lower."""
        return self._predict(_columns(X, X2), abstain_below)

    def predict_proba(self, X: Any, X2: Any = None) -> np.ndarray:
        """(pairs, classes): probabilities in the order of `classes_`."""
        return self._predict_proba(_columns(X, X2))


class TextRegressor(_Texts, RegressorMixin, _Estimator):
    """Predicts a number for texts, and shows which words raise or lower it.

    As `TextClassifier`, with numbers in place of labels.

    >>> texts = ["Good soup!", "Cold soup.", "What a good waiter!", "The waiter was cold."] * 10
    >>> model = TextRegressor(preset="tiny", epochs=20, progress=False).fit(texts, [4.5, 1.5, 5.0, 1.0] * 10)
    >>> good, cold = model.predict(["A good, good waiter!", "Cold."])
    >>> bool(good > cold)
    True
    """

    _predicts_numbers = True


class PairRegressor(_Pairs, RegressorMixin, _Estimator):
    """Predicts a number for pairs of texts, such as how similar they are.

    As `PairClassifier`, with numbers in place of labels.
    """

    _predicts_numbers = True


def _joined(targets: Targets, labels: Any, start: Start) -> Targets:
    """The targets with the classes of the trained model to start from as well, if they share any."""
    if targets.indicator or targets.task == "regression":
        return targets
    classes = np.array(join_classes(targets.classes.tolist(), start.labels))
    joined = targets._replace(classes=classes)
    return joined._replace(labels=match_targets(labels, joined, "labels"))


def _r2(found: np.ndarray, truth: np.ndarray, weights: list[float] | None) -> float:
    """The share of the variance that is explained, as scikit-learn counts it."""
    error = np.average(np.square(found - truth), weights=weights)
    variance = np.average(np.square(truth - np.average(truth, weights=weights)), weights=weights)
    return float(1 - error / variance) if variance else float(error == 0)


def _columns(X: Any, X2: Any = None) -> tuple[list[str], list[str]]:
    if X2 is None:
        return as_pairs(X)
    first, second = as_texts(X, "first texts"), as_texts(X2, "second texts")
    check_same_length(first, second, "second texts")
    return first, second


def _columns_and_labels(X: Any, X2: Any, y: Any) -> tuple[tuple[list[str], list[str]], Any]:
    """(first, second, labels), (pairs, labels) or (pairs, y=labels)."""
    if X2 is None and y is None:
        raise LimelightError(
            "there are no labels; give first texts, second texts and labels, or pairs and labels"
        )
    return (_columns(X), X2) if y is None else (_columns(X, X2), y)


def _parts(dev: Any, count: int, form: str) -> tuple[Any, ...]:
    if not isinstance(dev, (tuple, list)) or len(dev) != count:
        raise LimelightError(f"dev must be {form}; got a {type(dev).__name__}")
    return tuple(dev)
