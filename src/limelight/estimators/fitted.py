"""A trained estimator: what is passed to it, and how it predicts, is scored, embeds, is saved and loaded."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

from ..config.presets import AUTO
from ..config.presets import preset as preset_of
from ..config.recipe import TASKS, Recipe, options, section_of, unused_options
from ..errors import LimelightError
from ..network.modules import VECTOR_OPTIONS, Modules, recipe_with, split_modules
from ..runtime.model import Model
from ..text import coerce
from ..text.coerce import Targets, as_list, as_texts, check_same_length, is_label
from ..text.tasks import REGRESSION, find_task

if TYPE_CHECKING:
    from ..training.callbacks import Callback

TextColumns = tuple[list[str], list[str] | None]  # texts, and for pairs the second texts
# The arguments and the recipe's options they set; scikit-learn calls the random seed random_state.
ARGUMENTS = {"random_state" if name == "seed" else name: name for name in options()}


class NotFittedError(LimelightError, _SklearnNotFittedError):
    """The estimator was used before it was fitted."""


class Fitted(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What is passed to an estimator, as scikit-learn keeps it, and what it does with a trained model."""

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
                wrong = "there is no option 'seed'; did you mean 'random_state'?"
                raise LimelightError(wrong, code="option-unknown")
            if name not in ARGUMENTS:
                section_of(name)
        for name in ARGUMENTS:
            setattr(self, name, given.get(name))

    def _recipe(self) -> Recipe:
        """The preset with the options that were passed."""
        given = self._given()
        if isinstance(self.class_weight, Mapping):
            del given["class_weight"]
        if isinstance(given.get("seed"), np.random.RandomState):  # as scikit-learn's estimators take it
            given["seed"] = given["seed"].randint(2**31 - 1)
        task = given.get("task", "auto")
        numbers = find_task(task).is_number if task in TASKS else self._predicts_numbers
        if numbers != self._predicts_numbers:
            right = "Regressor" if numbers else "Classifier"
            wrong = f"task is {task!r}; use a Text{right} or Pair{right} for it"
            raise LimelightError(wrong, code="model-task")
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
        """The parts that are the user's own."""
        return split_modules(vars(self))[1]

    @property
    def _model(self) -> Model:
        if not hasattr(self, "model_"):
            name = type(self).__name__
            raise NotFittedError(
                f"this {name} is not fitted yet; call fit, or {name}.load(folder)", code="not-fitted"
            )
        return self.model_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _predict_proba(self, columns: TextColumns) -> np.ndarray:
        return self._model.predict_proba(*columns, progress=False)

    def _predict(self, columns: TextColumns, abstain_below: float | None = None) -> Any:
        model = self._model
        several = find_task(model.task).has_several
        if several and self._indicator and abstain_below is None:
            return model.decide(self._predict_proba(columns)).astype(np.int64)
        answers = model.predict(*columns, abstain_below=abstain_below)
        if self._predicts_numbers:
            return np.array(answers, dtype=np.float64)
        if several:
            return answers
        return np.array(answers, dtype=self.classes_.dtype if abstain_below is None else object)

    def _score(self, columns: TextColumns, labels: Any, sample_weight: Any) -> float:
        texts = columns[0]
        if not texts:
            raise LimelightError("there are no texts to score; give at least one", code="no-rows")
        truth = self._truth(labels)
        check_same_length(texts, truth, "labels")
        weights = sample_weights(sample_weight, texts)
        if weights is not None and not any(weights):
            wrong = "all sample weights are 0; at least one must be positive"
            raise LimelightError(wrong, code="weight-value")
        found = self._model.decide(self._predict_proba(columns))
        if self._predicts_numbers:
            from sklearn.metrics import r2_score

            return float(r2_score(truth, found, sample_weight=weights))
        several = found.ndim > 1
        answers = (
            [np.flatnonzero(row).tolist() for row in found] if several else self.classes_[found].tolist()
        )
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
            wrong = f"{folder} holds a {right}; open it with {right}.load or limelight.load"
            raise LimelightError(wrong, code="model-kind")
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


_with_options(Fitted.__init__)


def sample_weights(given: Any, rows: list[Any]) -> list[float] | None:
    """A weight for each row, or None if none were given."""
    if given is None:
        return None
    weights = coerce.as_weights(given, "sample weights")
    check_same_length(rows, weights, "sample weights")
    return weights
