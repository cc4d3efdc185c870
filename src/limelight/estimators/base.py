"""What all estimators are: what is passed to them, how they are trained, and what a trained one does."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

from ..aspects.facts import check_takes_aspects, facts_of_training
from ..aspects.find import settle_aspects
from ..config.options import to_builtin
from ..config.presets import AUTO, given_to_choose
from ..config.presets import preset as preset_of
from ..config.recipe import TASKS, Recipe, options, section_of, unused_options, warn_unused
from ..errors import LimelightError, no_rows, wrong_model, wrong_task
from ..network.modules import VECTOR_OPTIONS, Modules, recipe_with, split_modules
from ..runtime.model import Model
from ..runtime.start import Chooser, Start, start_of
from ..text import coerce
from ..text.coerce import Targets, as_list, as_texts, check_same_length, class_numbers, is_label
from ..text.encode import Dataset, Texts, encode_texts
from ..text.labels import Label, join_classes
from ..text.tasks import REGRESSION, find_task
from ..training import need_torch

if TYPE_CHECKING:
    from ..training.callbacks import Callback

TextColumns = tuple[list[str], list[str] | None]  # texts, and for pairs the second texts
# The arguments and the recipe's options they set; scikit-learn calls the random seed random_state.
ARGUMENTS = {"random_state" if name == "seed" else name: name for name in options()}


class NotFittedError(LimelightError, _SklearnNotFittedError):
    """The estimator was used before it was fitted."""


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What all estimators share; they differ in the form of their texts, and in what they predict."""

    _reads_pairs = _predicts_numbers = False
    class_weight: Any
    encoder: Any
    model_: Model

    def __init__(
        self,
        preset: str = AUTO,
        *,
        holdout: float | None = None,
        device: str = "auto",
        progress: bool = True,
        callbacks: list[Callback] | None = None,
        aspects: Any = None,
        loss: Any = None,
        **given: Any,
    ) -> None:
        self.preset, self.holdout, self.device, self.progress = preset, holdout, device, progress
        self.callbacks, self.aspects, self.loss = callbacks, aspects, loss
        for name in given:
            if name == "seed":
                fault = "there is no option 'seed'; did you mean 'random_state'?"
                raise LimelightError(fault, code="option-unknown")
            if name not in ARGUMENTS:
                section_of(name)
        for name in ARGUMENTS:
            setattr(self, name, given.get(name))

    def _recipe(self) -> Recipe:
        given = self._given()
        if isinstance(self.class_weight, Mapping):
            del given["class_weight"]
        if isinstance(given.get("seed"), np.random.RandomState):  # as scikit-learn's estimators take it
            given["seed"] = given["seed"].randint(2**31 - 1)
        task = given.get("task", "auto")
        numbers = find_task(task).is_number if task in TASKS else self._predicts_numbers
        if numbers != self._predicts_numbers:
            right = "Regressor" if numbers else "Classifier"
            raise wrong_task(f"task is {task!r}; use a Text{right} or Pair{right} for it")
        if self._predicts_numbers and task == "auto":
            given["task"] = REGRESSION.name
        try:
            recipe = preset_of(self.preset).override(**given)
            return recipe_with(recipe, self._modules, given) if self._modules else recipe
        except LimelightError as error:
            message = re.sub("^seed is", "random_state is", str(error))
            raise LimelightError(message, code=error.code) from None

    def _given(self) -> dict[str, Any]:
        """The recipe's options that were passed, but for modules of the user's own."""
        given = {name: getattr(self, argument) for argument, name in ARGUMENTS.items()}
        return split_modules({name: value for name, value in given.items() if value is not None})[0]

    @property
    def _modules(self) -> Modules:
        return split_modules(vars(self))[1]

    def _fit(
        self, columns: TextColumns, labels: Any, sample_weight: Any, dev: Texts | None,
        marks: tuple[Any, Any] = (None, None),
    ) -> Self:  # fmt: skip
        need_torch()
        recipe, start = self._recipe(), None
        if (chooser := self._chooser(recipe)) is None:
            recipe, start = start_of(recipe, self._given())
        texts, texts2 = columns
        if not texts:
            raise no_rows("there are no texts; give at least one of each class")
        targets = coerce.read_targets(labels, recipe.text.task)
        check_same_length(texts, targets.labels, "labels")
        if start is not None and start.labels:  # a trained model keeps its classes
            targets = _joined(targets, start.labels)
        weights = self._weights(targets, targets.labels, sample_weight)
        if dev is not None:
            known = coerce.match_targets(dev.labels, targets, "dev labels")
            dev = dev._replace(labels=known, weights=self._weights(targets, known, None))
        dataset = encode_texts(
            texts, targets.labels, texts2, weights,
            recipe=dataclasses.replace(recipe.text, task=targets.task), dev=dev, holdout=self.holdout,
            seed=recipe.training.seed, names=None if self._predicts_numbers else targets.classes.tolist(),
            start=start, reasons=marks[0], not_reasons=marks[1], choose=chooser,
            all_words=not recipe.model.table_size,
        )  # fmt: skip
        if chooser:
            recipe, start = chooser.settled(dataset.facts)
        warn_unused(recipe, self._given(), has_dev="dev" in dataset.splits, pairs=dataset.pair)
        return self._train(dataset, recipe, start, targets)

    def _chooser(self, recipe: Recipe) -> Chooser | None:
        """What decides on the recipe once the words are counted, unless the user has."""
        from ..training.context import choose_device, training_cores

        own = self._modules or self.loss is not None  # which perhaps no epoch at all would never use
        given = None if own else given_to_choose(self.preset, self._given())
        cores = training_cores(choose_device(self.device)) if self.progress else None
        return None if given is None else Chooser(recipe, given, cores)

    def _train(self, dataset: Dataset, recipe: Recipe, start: Start | None, targets: Targets) -> Self:
        from ..training import fit
        from ..training.outcome import calibrate, facts_of, model_of, results_of, warn_if_constant

        if self.aspects:
            check_takes_aspects(dataset.task, dataset.pair, self._modules.pooling is not None)
        aspects = settle_aspects(self.aspects, dataset)
        labels = tuple(targets.classes.tolist()) or dataset.labels  # the dataset's are numbers
        dataset = dataclasses.replace(dataset, labels=labels)
        how: dict[str, Any] = {"device": self.device, "show": self.progress, "callbacks": self.callbacks}
        fitted = fit(dataset, recipe, start=start, **self._modules._asdict(), loss=self.loss, **how)
        if fitted.interrupted and not fitted.state.is_model:
            raise KeyboardInterrupt
        dataset.facts.pop("classes", None)  # these are numbers; the model's `labels` has the names
        sure = calibrate(fitted, dataset)
        results = results_of(fitted, dataset, ("dev",))
        about = facts_of(dataset, fitted, results, start)
        facts = {**about, **sure, "estimator": self._facts(targets.indicator)}
        old = None if start is None else start.facts
        facts |= facts_of_training(aspects, old, dataset.task, dataset.pair)
        self.model_ = model_of(dataset, fitted, facts)
        self.recipe_, self.history_ = fitted.recipe, fitted.history
        if not self._predicts_numbers:
            self.classes_, self._indicator = targets.classes, targets.indicator
        if fitted.interrupted:  # what was learnt so far is kept
            raise KeyboardInterrupt
        warn_if_constant(results, labels)
        return self

    def _weights(self, targets: Targets, rows: list[Any], sample_weight: Any) -> list[float] | None:
        """Of each row, times that of its class if `class_weight` has one for each."""
        weights, by_class = sample_weights(sample_weight, rows), self.class_weight
        if not isinstance(by_class, Mapping):
            return weights
        if not find_task(targets.task).is_class:
            wrong = f"class_weight needs one class for each text; the task is {targets.task!r}"
            raise LimelightError(wrong, code="task-option")
        classes = targets.classes.tolist()
        class_numbers(list(by_class), classes, "class_weight")
        own = coerce.as_weights([by_class.get(label, 1.0) for label in classes], "class weights")
        return [w * own[k] for w, k in zip(weights or [1.0] * len(rows), rows, strict=True)]

    def _facts(self, indicator: bool) -> dict[str, Any]:
        """How it was trained beyond the recipe, for the saved folder."""
        own = None
        if isinstance(self.class_weight, Mapping):
            own = [[*map(to_builtin, pair)] for pair in self.class_weight.items()]
        return {"holdout": to_builtin(self.holdout), "class_weight": own, "indicator": indicator}

    @property
    def _model(self) -> Model:
        if not hasattr(self, "model_"):
            name = type(self).__name__
            fault = f"this {name} is not fitted yet; call fit, or {name}.load(folder)"
            raise NotFittedError(fault, code="not-fitted")
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _predict(self, columns: TextColumns, abstain_below: float | None = None) -> Any:
        model = self._model
        several = find_task(model.task).has_several
        if several and self._indicator and abstain_below is None:
            return model.decide(model.predict_proba(*columns)).astype(np.int64)
        answers = model.predict(*columns, abstain_below=abstain_below)
        if self._predicts_numbers:
            return np.array(answers, dtype=np.float64)
        if several:
            return answers
        return np.array(answers, dtype=self.classes_.dtype if abstain_below is None else object)

    def _score(self, columns: TextColumns, labels: Any, sample_weight: Any) -> float:
        texts = columns[0]
        if not texts:
            raise no_rows("there are no texts to score; give at least one")
        truth = self._truth(labels)
        check_same_length(texts, truth, "labels")
        weights = sample_weights(sample_weight, texts)
        if weights is not None and not any(weights):
            wrong = "all sample weights are 0; at least one must be positive"
            raise LimelightError(wrong, code="weight-value")
        found = self._model.decide(self._model.predict_proba(*columns))
        if self._predicts_numbers:
            from sklearn.metrics import r2_score

            return float(r2_score(truth, found, sample_weight=weights))
        if found.ndim > 1:
            answers = [np.flatnonzero(row).tolist() for row in found]
        else:
            answers = self.classes_[found].tolist()
        return float(np.average([a == b for a, b in zip(answers, truth, strict=True)], weights=weights))

    def _truth(self, labels: Any) -> list[Any]:
        """Labels to compare with: an unknown class is a wrong prediction, one of another type an error."""
        task, answers = self._model.task, find_task(self._model.task)
        if answers.is_number:
            return coerce.match_targets(labels, Targets(task, np.empty(0), []), "labels")
        if answers.has_several:
            like = Targets(task, self.classes_, [], self._indicator)
            return [sorted(set(each)) for each in coerce.match_targets(labels, like, "labels")]
        truth = as_list(labels, "labels")
        are_text = self.classes_.dtype.kind in "US"
        for number, label in enumerate(truth):
            if not is_label(label) or isinstance(label, str) != are_text:
                raise coerce.unknown_label_error(f"labels[{number}]", label, self.classes_.tolist())
        return truth

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
    def load(cls, folder: str | Path, *, encoder: Any = None, pooling: Any = None) -> Self:
        """Open a saved folder as a fitted estimator, with the encoder and the pooling that were your own."""
        model = Model.load(folder, encoder=encoder, pooling=pooling)
        numbers = find_task(model.task).is_number
        if model.pair != cls._reads_pairs or numbers != cls._predicts_numbers:
            right = ("Pair" if model.pair else "Text") + ("Regressor" if numbers else "Classifier")
            raise wrong_model(f"{folder} holds a {right}; open it with {right}.load or limelight.load")
        facts = model.facts.get("estimator")
        has_dev = not isinstance(facts, dict) or facts.get("holdout") != 0
        values = model.recipe.values()
        unused = unused_options(model.recipe, values, has_dev=has_dev, pairs=model.pair)  # nobody passed them
        if encoder is not None:
            values["encoder"], more = encoder, () if model.recipe.model.table_size else VECTOR_OPTIONS
            unused |= dict.fromkeys(("hidden", "layers", "start", *more), "")
        if pooling is not None:
            values["pooling"] = pooling
            unused |= dict.fromkeys(("rows", "attention_hidden", "max_row", "start"), "")
        self = cls(**{k: values[name] for k, name in ARGUMENTS.items() if name not in unused})
        self.model_, self.recipe_ = model, model.recipe
        self.aspects = model.aspects.to_dict() or None
        if not numbers:
            self.classes_, self._indicator = np.array(model.labels), False
        training = model.facts.get("training")  # a folder from elsewhere may hold anything
        self.history_ = training.get("history", []) if isinstance(training, dict) else []
        if isinstance(facts, dict):
            self._restore(facts)
        return self

    def _restore(self, facts: dict[str, Any]) -> None:
        """Restore what training wrote beyond the recipe, so that fitting again gives the same."""
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


_with_options(Estimator.__init__)


def sample_weights(given: Any, rows: list[Any]) -> list[float] | None:
    if given is None:
        return None
    weights = coerce.as_weights(given, "sample weights")
    check_same_length(rows, weights, "sample weights")
    return weights


# What comes before scikit-learn's mixins, so that its methods win.
if TYPE_CHECKING:
    Mixin = Estimator
else:
    Mixin = object


class ClassifierTags(ClassifierMixin):
    """A classifier that may give a text several labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _joined(targets: Targets, known: Sequence[Label]) -> Targets:
    """The targets with the classes of the trained model to start from as well, if they share any."""
    answers = find_task(targets.task)
    if targets.indicator or answers.is_number:
        return targets
    own = targets.classes.tolist()
    classes = join_classes(own, known)
    places = class_numbers(own, classes)
    several = answers.has_several
    labels = [[places[k] for k in each] if several else places[each] for each in targets.labels]
    return targets._replace(classes=np.array(classes), labels=labels)


def split_dev(dev: Any, count: int, form: str) -> tuple[Any, ...]:
    """The parts of `dev`, of which there must be `count`."""
    if not isinstance(dev, (tuple, list)) or len(dev) != count:
        raise LimelightError(f"dev must be {form}; got a {type(dev).__name__}", code="argument-type")
    return tuple(dev)
