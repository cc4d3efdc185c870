"""An encoder of the user's own: what a PyTorch module must have to take the place of the LSTM.

`size`      the width of H
`reads`     "vectors" (the default) or "words"
`forward`   of a module that reads vectors: (S, lengths) -> H. S (batch, n, d) are the word vectors, lengths
            (batch,) how many words each text has; what is behind them is padding.
            Of one that reads words: (words) -> H. words is a list of lists of strings, one for each text; an
            empty string stands for a text without words. n is the length of the longest list.
H           (batch, n, size), a state for each word. Padding may hold anything finite: it is not read.

A state for each of Limelight's words, and not for pieces of them: so pictures, what decided and trust go by
words, whatever the module makes of them inside. docs/network.md has examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..config.recipe import Recipe
from ..errors import LimelightError

VECTOR_OPTIONS = ("vectors", "word_size", "projection", "extra_words")
KINDS = {"vectors": "module", "words": "word-module"}  # what a module reads: the encoder in a recipe


def is_module(encoder: Any) -> bool:
    """Whether this is a module, and not the name of an encoder.

    >>> is_module("cnn"), is_module(None)
    (False, False)
    """
    return encoder is not None and not isinstance(encoder, str)


def check_module(module: Any) -> dict[str, Any]:
    """The options of a recipe that a module settles, or an error about what it lacks.

    >>> check_module(len)
    Traceback (most recent call last):
    limelight.errors.LimelightError: encoder is a builtin_function_or_method; it must be a torch.nn.Module
    """
    if not (callable(module) and hasattr(module, "state_dict")) or isinstance(module, type):
        what = f"the class {module.__name__}" if isinstance(module, type) else f"a {type(module).__name__}"
        raise LimelightError(f"encoder is {what}; it must be a torch.nn.Module", code="encoder-type")
    size, reads = getattr(module, "size", None), getattr(module, "reads", "vectors")
    if type(size) is not int or size < 1:
        wrong = f"the encoder's size is {size!r}; it must be the width of the states it returns"
        raise LimelightError(wrong, code="encoder-type")
    if reads not in KINDS:
        wrong = f"the encoder's reads is {reads!r}; it must be one of: {', '.join(KINDS)}"
        raise LimelightError(wrong, code="encoder-type")
    return {"encoder": KINDS[reads], "hidden": size}


def recipe_with(recipe: Recipe, module: Any, given: Iterable[str] = ()) -> Recipe:
    """A recipe with a module for its encoder; a preset's start is left out, unless it was `given`.

    The module reads the bundled word vectors then, if it reads vectors.
    """
    own, values, given = check_module(module), recipe.values(), set(given)
    reads_words = own["encoder"] == "word-module"
    unused = ("start", "hidden", "layers", *(VECTOR_OPTIONS if reads_words else ()))
    if wrong := [name for name in unused if name in given and values[name]]:
        what = f"{wrong[0]} does not go with an encoder that reads {'words' if reads_words else 'vectors'}"
        raise LimelightError(f"{what}: leave it out", code="option-conflict")
    if reads_words:
        own |= {"vectors": "", "extra_words": 0, "projection": 0, "min_count": 1}
    elif values["start"] and "vectors" not in given:
        own["vectors"] = "default"
    return recipe.override(**own, start="")


def split_module(options: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The options of a recipe without a module among them, and the module, or None.

    >>> split_module({"encoder": "cnn", "rows": 8})
    ({'encoder': 'cnn', 'rows': 8}, None)
    """
    if not is_module(options.get("encoder")):
        return dict(options), None
    rest = {name: value for name, value in options.items() if name != "encoder"}
    return rest, options["encoder"]


TO_TRAIN = "give the module itself, in Python: limelight.fit(..., encoder=module)"
TO_LOAD = "open it in Python with a module of the same class: limelight.load(folder, encoder=module)"


def check_fits_recipe(module: Any, recipe: Recipe, where: str, todo: str) -> None:
    """Raise unless a recipe, or a saved model, has this kind of encoder: the user's own, or none."""
    own = recipe.model
    if module is None and own.has_module:
        wrong = f"the encoder of {where} is a PyTorch module that Limelight does not have"
        raise LimelightError(f"{wrong}; {todo}", code="encoder-missing")
    if module is None:
        return
    if not own.has_module:
        wrong = f"the encoder of {where} is Limelight's own, {own.encoder!r}; leave out encoder"
        raise LimelightError(wrong, code="encoder-other")
    if check_module(module) != {"encoder": own.encoder, "hidden": own.hidden}:
        reads = {kind: name for name, kind in KINDS.items()}[own.encoder]
        wrong = f"{where} was trained with an encoder of size {own.hidden} that reads {reads}"
        raise LimelightError(f"{wrong}; give that one", code="encoder-other")
