"""How an estimator is trained: from texts and labels to a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from ..aspects.facts import check_takes_aspects, facts_of_training
from ..aspects.find import settle_aspects
from ..config.options import to_builtin
from ..config.presets import given_to_choose
from ..config.recipe import Recipe, warn_unused
from ..errors import LimelightError
from ..runtime.start import Chooser, Start, start_of
from ..text import coerce
from ..text.coerce import Targets, check_same_length, class_numbers
from ..text.encode import Dataset, Texts, encode_texts
from ..text.labels import Label, join_classes
from ..text.tasks import find_task
from ..training import need_torch
from .fitted import Fitted, TextColumns, sample_weights


class Estimator(Fitted):
    """What all estimators share; they differ in the form of their texts, and in what they predict."""

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
            raise LimelightError("there are no texts; give at least one of each class", code="no-rows")
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
        """Train, and keep the model."""
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
