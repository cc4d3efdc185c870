"""A trained model without PyTorch: texts in; probabilities, labels, embeddings and readings out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from ..aspects.facts import aspect_facts, check_takes_aspects, saved_aspects
from ..aspects.refits import refit_shares, saved_refits
from ..aspects.seeds import Aspects
from ..config.recipe import Recipe
from ..errors import LimelightError, bad_value, wrong_model, wrong_task
from ..network.modules import Modules
from ..network.outputs import EncodedText, activate
from ..network.parts import check_weights, linear_part, rows_of, shapes
from ..reading.captions import trust_sentence
from ..reading.reading import PairReading, Reading, Scores, find_class, same_class
from ..text.labels import Label
from ..text.learnt_rows import LearntRows
from ..text.questions import Mean, Probability, Question, are_numbers, class_values
from ..text.tasks import LabelFormat, find_task
from ..text.tokenizer import Tokenizer
from .batches import Sentences, check_pairs, check_texts, chunks, collect, count_texts
from .confidence import MIN_DEV_ROWS, check_threshold, saved_curve, threshold_for
from .decided import attribution_method, is_sum, row_losses, word_losses, word_weights
from .devices import DeviceOptions
from .edits import write_aspects
from .embedder import Embedder
from .folder import Parts, open_folder, plain_labels
from .runner import progress_bar

READ_AT_ONCE = 256  # texts: the states of all their words are in memory
SCORED = 8  # classes that a reading can be asked against; each costs as much as what decided
# for each class the words' weights (n,); the rows' (r,); for each class the bias, where there is one
Decided = tuple[list[np.ndarray], np.ndarray, list[float], Scores | None]


class Asked(NamedTuple):
    """What readings are asked for."""

    off: list[int]  # rows of M that the classifier gets as zeros
    about: int | None  # the class that what decided is about; None: the predicted one
    other: int | None  # the class to ask against
    most: int  # probable classes that each can be asked against later


class Model(Embedder):
    """A trained model that predicts, embeds and reads.

    Use `Model.load` for a saved folder, `Model.from_parts` right after training. Texts are sorted by length
    and batched internally, in batches of at most `batch_words` words with padding (by default as many as suit
    the device); results are in the order given. With `progress` a bar shows how far it is. A text gets the
    same result, up to rounding in the last digits, in any batch and with any number of threads, in float32
    and in int8.

    >>> recipe = Recipe().override(pooling="max", word_size=4, hidden=3, head_hidden=6)
    >>> words = Tokenizer.from_words(["good", "bad"])
    >>> weights = {n: np.ones(s, np.float32) for n, s in shapes(recipe.model, 4, 2, False).items()}
    >>> model = Model.from_parts(weights=weights, recipe=recipe, tokenizer=words, labels=["-", "+"])
    >>> model.predict_proba(["good", "bad good"]).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    >>> model.read("Good or bad").words
    ('Good', 'or', 'bad')
    """

    def __init__(self, parts: Parts, **options: Unpack[DeviceOptions]) -> None:
        super().__init__(parts, **options)
        self.task = find_task(self.recipe.text.task).name
        self.trust = trust_sentence(self.facts.get("trust"))
        self.aspects = saved_aspects(self.facts.get("aspects"))
        self.learnt_rows = LearntRows.from_fact(self.facts.get("learnt_rows"))  # None: not known
        self.refits = saved_refits(self.facts.get("refits"), self.recipe.model)
        if self.aspects:
            check_takes_aspects(self.task, self.pair, self.recipe.model.has_pooling_module)

    def __repr__(self) -> str:
        kind = "pairs of texts" if self.pair else "texts"
        what = f"classifies {kind} into {len(self.labels)} {find_task(self.task).classes}"
        if find_task(self.task).is_number:
            what = f"predicts a number for {kind}"
        return f"Model({what}, {len(self.tokenizer):,} words)"

    @property
    def label_format(self) -> LabelFormat:
        """How a table for this model writes its labels."""
        return LabelFormat(self.task, self.recipe.text.separator)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        sha256: str | None = None,
        encoder: Any = None,
        pooling: Any = None,
        **options: Unpack[DeviceOptions],
    ) -> Model:
        """Open a saved folder, checking everything in it first; the options are those of `limelight.load`.

        >>> Model.load("no/such/model")
        Traceback (most recent call last):
        limelight.errors.LimelightError: no/such/model is not a folder; give a folder saved by Limelight
        """
        parts = open_folder(folder, sha256, Modules(encoder, pooling))
        if parts.is_reader:
            todo = "open it with limelight.load, or use limelight embed"
            raise wrong_model(f"{folder} is a reader, without labels: {todo}")
        return cls(parts, **options)

    @classmethod
    def from_parts(
        cls,
        *,
        weights: Mapping[str, np.ndarray],
        recipe: Recipe,
        tokenizer: Tokenizer,
        labels: Sequence[Label],
        pair: bool = False,
        facts: Mapping[str, Any] | None = None,
        thresholds: np.ndarray | None = None,
        **options: Unpack[DeviceOptions],
    ) -> Model:
        """Make a model that was never saved, from weights named as in `network.state_dict()`."""
        labels = plain_labels(labels, recipe.text.task)
        weights = {name: np.asarray(array) for name, array in weights.items()}
        check_weights(weights, shapes(recipe.model, len(tokenizer), len(labels), pair))
        return cls(Parts(recipe, tokenizer, weights, labels, pair, facts or {}, thresholds), **options)

    # ------------------------------------------------------------ aspects

    def with_aspects(self, aspects: Any) -> Model:
        """The same model with other aspects: a dictionary, a JSON file, or the name of a list.

        >>> model = Model.load("model").with_aspects("hotels")  # doctest: +SKIP
        >>> model.aspects  # doctest: +SKIP
        Aspects(service, cleanliness, value, sleep_quality, rooms, location, food)
        """
        check_takes_aspects(self.task, self.pair, self.recipe.model.has_pooling_module)
        other, found = copy.copy(self), Aspects.of(aspects)
        other.aspects = found
        other.facts = {**self.facts, "aspects": aspect_facts(found, self.facts.get("aspects"), "set")}
        return other

    def save_aspects(self, folder: str | Path) -> None:
        """Write the aspects, and nothing else, into the folder that the model was loaded from."""
        write_aspects(folder, self.aspects, "set")

    # ------------------------------------------------------------ labels and probabilities

    def predict(
        self,
        texts: Iterable[str],
        texts2: Iterable[str] | None = None,
        *,
        abstain_below: float | None = None,
        batch_words: int | None = None,
        progress: bool = False,
    ) -> list[Any]:
        """The most probable label of each text (or pair), in the type the labels were trained with.

        With `abstain_below`, it is None where its probability is lower: the model is unsure. Where a text may
        have several labels, a tuple of them for each; of a regression model, numbers.
        """
        least = None if abstain_below is None else check_threshold(abstain_below, task=self.task)
        outputs = self.predict_proba(texts, texts2, batch_words=batch_words, progress=progress)
        found = self.decide(outputs)
        answers = find_task(self.task).to_labels(found, self.labels)
        if least is None:
            return answers
        sure = outputs[np.arange(len(found)), found] >= least
        return [answer if is_sure else None for answer, is_sure in zip(answers, sure.tolist(), strict=True)]

    def decide(self, outputs: np.ndarray) -> np.ndarray:
        """The answers for what `predict_proba` gives, as in `text/tasks.py`."""
        return find_task(self.task).decide(outputs, self.thresholds)

    def threshold(self, precision: float) -> float:
        """The probability to abstain below, for answers of at least this precision.

        Of a hundred development sets at most ten give one that does not hold on texts like theirs: the fewer
        texts, the higher it is, and what they do not show is refused.

        >>> model = Model.load("model")  # doctest: +SKIP
        >>> model.predict(texts, abstain_below=model.threshold(0.95))  # doctest: +SKIP
        """
        if not find_task(self.task).is_class:
            raise wrong_task(f"a precision is for one class a text; the task is {self.task!r}")
        curve, rows = saved_curve(self.facts.get("confidence"))
        if not curve:
            raise LimelightError(
                "the model has no saved curve to choose a threshold on, which takes classes without an order "
                f"and a development set of {MIN_DEV_ROWS} rows; choose one on a labelled table with "
                "'limelight evaluate MODEL TABLE --target-precision'",
                code="no-curve",
            )
        return threshold_for(curve, precision, rows).threshold

    def predict_proba(
        self,
        texts: Iterable[str],
        texts2: Iterable[str] | None = None,
        *,
        batch_words: int | None = None,
        progress: bool = False,
    ) -> np.ndarray:
        """Probabilities (texts, classes), the classes in the order of `labels`.

        Where a text may have several labels, each has a probability of its own. A regression model gives its
        numbers (texts, 1).
        """
        parts = self.predict_proba_stream(texts, texts2, batch_words=batch_words, progress=progress)
        return collect(parts, count_texts(texts), (len(self.labels),))

    def predict_proba_stream(
        self,
        texts: Iterable[str],
        texts2: Iterable[str] | None = None,
        *,
        batch_words: int | None = None,
        progress: bool = False,
    ) -> Iterator[np.ndarray]:
        """Probabilities of any number of texts, such as a large file's: one array per chunk of texts.

        Only one chunk is in memory at a time. A sentence in several pairs of a chunk is encoded once.
        """
        self._check_kind(texts2)
        run = self._runner
        columns = (texts,) if texts2 is None else (texts, texts2)
        prepare: Any = run.pair_sentences if self.pair else run.sentences
        compute: Any = run.pair_probabilities if self.pair else run.probabilities
        return run.stream(prepare, compute, *columns, batch_words=batch_words, progress=progress)

    # ------------------------------------------------------------ embeddings

    def embed_ids(self, ids: Sequence[np.ndarray]) -> np.ndarray:
        """M of texts given as word ids, at least one id each: (texts, r, 2u).

        >>> ids = [model.tokenizer.locate(text)[0] for text in ("good", "not bad")]  # doctest: +SKIP
        >>> model.embed_ids(ids)  # doctest: +SKIP
        """
        return self._runner.embed_sentences(Sentences.join(ids).check(self.tokenizer.count))

    def classify(self, M: np.ndarray, M2: np.ndarray | None = None) -> np.ndarray:
        """Probabilities (texts, classes) from embeddings M (texts, r, 2u); for pairs, from M and M2.

        >>> model.classify(model.embed(["good", "not bad"]))  # doctest: +SKIP
        """
        self._check_kind(M2)
        return self._runner.classify(M) if M2 is None else self._runner.classify(M, M2)

    # ------------------------------------------------------------ readings

    def read(
        self,
        text: str,
        text2: str | None = None,
        *,
        label: Label | None = None,
        against: Label | None = None,
        without_rows: Sequence[int] = (),
    ) -> Reading | PairReading:
        """One text (or pair) with everything the model computed for it.

        `without_rows` are rows of M, counted from 0, that the classifier gets as zeros. What decided is about
        the predicted class, of ordered ones about their mean, of several labels about the surest; with
        `label`, about this one. With `against`, it is what speaks for that class rather than this one, unless
        both are the same: the weights add up, with the bias, to its probability if only the two are possible.

        >>> model.read("Nice room, rude staff", label=2, against=4)  # why 2, not 4?  # doctest: +SKIP
        """
        texts2 = None if text2 is None else [text2]
        asked = self._asked(SCORED, without_rows, against, label)
        found: Reading | PairReading = next(self._read_all([text], texts2, False, asked))
        return found

    def read_many(
        self,
        texts: Iterable[str],
        texts2: Iterable[str] | None = None,
        *,
        label: Label | None = None,
        against: Label | None = None,
        without_rows: Sequence[int] = (),
    ) -> list[Reading] | list[PairReading]:
        """A Reading of each text, or a PairReading of each pair; the options are those of `read`."""
        asked = self._asked(0, without_rows, against, label)
        return list(self._read_all(texts, texts2, False, asked))

    def read_stream(
        self,
        texts: Iterable[str],
        texts2: Iterable[str] | None = None,
        *,
        label: Label | None = None,
        against: Label | None = None,
        without_rows: Sequence[int] = (),
        progress: bool = False,
    ) -> Iterator[Reading] | Iterator[PairReading]:
        """The readings of any number of texts, one after the other; only some are in memory at a time."""
        return self._read_all(texts, texts2, progress, self._asked(0, without_rows, against, label))

    def _asked(
        self, most: int, without_rows: Sequence[int], against: Label | None, label: Label | None
    ) -> Asked:
        off, count, answers = list(without_rows), self.embedding_shape[0], find_task(self.task)
        if any(not 0 <= row < count for row in off):
            raise bad_value(f"without_rows is {off[:20]}; the rows are 0 to {count - 1}")
        if against is not None and not answers.is_class:
            message = f"only a class can be asked for rather than another; this model's task is {self.task}"
            raise wrong_task(message)
        if label is not None and answers.is_number:
            raise wrong_task("a number has no labels to ask about")
        about, other = (None if each is None else find_class(self.labels, each) for each in (label, against))
        if about is not None and about == other:
            raise same_class(self.labels[about])
        return Asked(off, about, other, most)

    def _read_all(
        self, texts: Iterable[str], texts2: Iterable[str] | None, progress: bool, asked: Asked
    ) -> Iterator[Any]:
        self._check_kind(texts2)
        columns = [check_texts(each) for each in ((texts,) if texts2 is None else (texts, texts2))]
        rows: Iterable[tuple[str, ...]] = check_pairs(*columns) if self.pair else zip(*columns, strict=True)
        return self._read_rows(rows, count_texts(texts) if progress else 0, asked)

    def _read_rows(
        self, rows: Iterable[tuple[str, ...]], bar_size: int | None, asked: Asked
    ) -> Iterator[Any]:
        with nullcontext() if bar_size == 0 else progress_bar(bar_size) as bar:
            for some in chunks(rows, READ_AT_ONCE):
                for found in self._read(some, asked):
                    reading: Any = PairReading(*found) if self.pair else found[0]
                    is_other = asked.other not in (None, reading.target)
                    yield reading.against_class(asked.other) if is_other else reading
                if bar is not None:
                    bar.update(len(some))

    def _read(self, texts: list[tuple[str, ...]], asked: Asked) -> Iterator[tuple[Reading, ...]]:
        """The readings of some texts or pairs, one for each side."""
        columns = list(zip(*texts, strict=True))
        encoded = self._runner.encode_texts([text for column in columns for text in column])
        sides = [encoded[k : k + len(texts)] for k in range(0, len(encoded), len(texts))]
        M = [np.stack([text.M for text in side]) for side in sides]
        for m in M:
            m[:, asked.off] = 0
        Z = self._runner.logits(*M)
        P, answers = activate(self.task, Z), find_task(self.task)
        about = asked.about
        shown = [answers.explained(row, self.thresholds) if about is None else [about] for row in P]
        scored = [self._scored(row, classes, asked) for row, classes in zip(P, shown, strict=True)]
        decide = self._decided if is_sum(self.recipe.model, self.pair) else self._decided_left_out
        questions = [self._questions(classes, about) for classes in shown]
        found = decide(sides, M, Z.astype(float), questions, scored, asked.off)
        for k, (classes, decided) in enumerate(zip(shown, found, strict=True)):
            yield tuple(
                self._reading(side[k], m[k], P[k], classes, about, *weights)
                for side, m, weights in zip(sides, M, decided, strict=True)
            )

    def _scored(self, P: np.ndarray, shown: list[int], asked: Asked) -> list[int]:
        """The classes that the reading can be asked about, the one that is shown first."""
        if asked.other is not None:
            return [*dict.fromkeys([*shown, asked.other])]
        if not find_task(self.task).is_class:
            return []
        return [*dict.fromkeys([*shown, *np.argsort(-P, kind="stable").tolist()])][: asked.most]

    def _decided(
        self, sides: list[list[EncodedText]], M: list[np.ndarray], Z: np.ndarray, asked: list[list[Question]],
        scored: list[list[int]], off: list[int],
    ) -> Iterator[list[Decided]]:  # fmt: skip
        """For each text: what decided the answers that are asked for, by words and by rows."""
        head, one = linear_part(self.weights, self.recipe.model, M[0]), np.eye(Z.shape[1])
        directions = [
            np.stack([*(each.direction(z_0, z) for each in questions), *one[classes]])
            for questions, classes, z_0, z in zip(asked, scored, head.biases, Z, strict=True)
        ]
        places = np.repeat(np.arange(len(Z)), [len(each) for each in directions])
        W = head.toward(np.concatenate(directions).astype(np.float32), places)  # (all directions, r, 2u)
        W[:, off] = 0  # what is not there decides nothing
        for k, text in enumerate(sides[0]):
            own, many = W[places == k], len(asked[k])
            words = [word_weights(text.A, text.H, w, rows_of(self.recipe.model).maxima) for w in own]
            rows = (own * M[0][k]).sum(axis=2)
            scores = None
            if scored[k]:
                added = np.stack(words[many:], axis=1)
                scores = Scores(tuple(scored[k]), added, rows[many:].T, Z[k], head.biases[k])
            values = [float(each.value(Z[k])) for each in asked[k]]
            biases = [value - float(w.sum()) for value, w in zip(values, words, strict=False)]
            yield [(words[:many], rows[0], biases, scores)]

    def _questions(self, classes: list[int], about: int | None) -> list[Question]:
        """What is asked for the classes shown; of ordered ones, then also the predicted one's probability.

        Of others that are numbers, their mean: aspects are in stars. Who asks about a class gets that alone.
        """
        task = find_task(self.task)
        if about is not None:
            return [task.question(about, self.labels, asked=True)]
        found = [task.question(k, self.labels) for k in classes]
        if task.is_ordered:
            return [*found, Probability(classes[0])]
        return [*found, Mean(class_values(self.labels))] if self._asks_mean else found

    @property
    def _asks_mean(self) -> bool:
        task = find_task(self.task)
        return bool(self.aspects) and task.is_class and not task.is_ordered and are_numbers(self.labels)

    def _decided_left_out(
        self, sides: list[list[EncodedText]], M: list[np.ndarray], Z: np.ndarray, asked: list[list[Question]],
        scored: list[list[int]], off: list[int],
    ) -> Iterator[list[Decided]]:  # fmt: skip
        """The same by what is lost without a word; a row of a pair, in both texts, counts half in each."""
        classify, without = self._runner.logits, self._runner.without_words
        for texts, all_M, z, own, some in zip(
            zip(*sides, strict=True), zip(*M, strict=True), Z, asked, scored, strict=True
        ):
            read = [(text.A, text.H) for text in texts]
            losses, rows = word_losses(classify, z, all_M, read, without, off), row_losses(classify, z, all_M)
            rows[off] = 0
            yield [
                (
                    [each.lost(z, lost) for each in own], own[0].lost(z, rows) / len(texts), [],
                    Scores(tuple(some), lost[:, some], rows[:, some], z, None) if some else None,
                )
                for lost in losses
            ]  # fmt: skip

    def _reading(
        self, text: EncodedText, M: np.ndarray, P: np.ndarray, classes: list[int], about: int | None,
        decided: list[np.ndarray], rows: np.ndarray, biases: list[float], scores: Scores | None,
    ) -> Reading:  # fmt: skip
        recipe, support, in_mean = self.recipe.model, None, None
        if about is None and find_task(self.task).is_ordered:
            decided, support, biases = decided[:1], decided[1], biases[:1]
        elif about is None and self._asks_mean:
            decided, in_mean, biases = decided[:1], (decided[1], biases[1]), biases[:1]
        return Reading(
            text.text, text.offsets, text.known, text.A, M, self.labels, P, rows_of(recipe).has_max_row,
            decided=decided[0], decided_by=attribution_method(recipe, self.pair), row_names=self.row_names,
            trust=self.trust, row_weights=rows, task=self.task, thresholds=self.thresholds,
            decided_further=tuple(zip(classes[1:], decided[1:], strict=True)),
            bias=biases[0] if biases else None, bias_further=tuple(biases[1:]), scores=scores,
            support=support, in_mean=in_mean, aspect_list=self.aspects, about=about,
            refits=None if self.refits is None else refit_shares(self.refits, text, recipe),
        )  # fmt: skip

    # ------------------------------------------------------------ the explorer

    def explore(self, *, words: int | None = None, height: int = 900) -> Any:
        """The model in a page, for a notebook: type a text, change its words, and see what decides.

        The page has the most frequent `words` of the model, by default as many as fit into 5 MB.

        >>> model.explore()  # doctest: +SKIP
        """
        import limelight  # by its public name: this room knows nothing of pages

        return limelight.explore_page(self, words=words, height=height)

    def _check_kind(self, texts2: Any) -> None:
        if self.pair != (texts2 is not None):
            fault = "this model reads single texts, not pairs: leave out the second texts"
            if self.pair:
                fault = "this model reads pairs of texts: give the second texts as well"
            raise LimelightError(fault, code="pair-or-text")
