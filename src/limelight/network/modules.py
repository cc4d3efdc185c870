"""An encoder or a pooling of the user's own: what a PyTorch module must have to take the place of ours.

docs/network.md has their attributes, the shapes they take and give, and examples. A state is of one of
Limelight's words, not of a piece: so pictures, what decided and trust go by words, whatever happens inside.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..config.recipe import POOLING_MODULE, Recipe
from ..errors import LimelightError, conflict

VECTOR_OPTIONS = ("vectors", "word_size", "projection", "extra_words")
KINDS = {"vectors": "module", "words": "word-module"}  # what a module reads: the encoder in a recipe


class Modules(NamedTuple):
    """The parts of a network that are modules of the user's own, None where they are ours."""

    encoder: Any = None
    pooling: Any = None

    def __bool__(self) -> bool:
        return any(each is not None for each in self)

    @property
    def named(self) -> dict[str, Any]:
        """Those that there are, by the part that they are."""
        return {part: each for part, each in self._asdict().items() if each is not None}


OURS = Modules()


def check_modules(modules: Modules) -> dict[str, Any]:
    """The options of a recipe that modules settle, or an error about what they lack."""
    for part, module in modules.named.items():
        if not (callable(module) and hasattr(module, "state_dict")) or isinstance(module, type):
            is_class = isinstance(module, type)
            what = f"the class {module.__name__}" if is_class else f"a {type(module).__name__}"
            raise _wrong(part, f"{part} is {what}; it must be a torch.nn.Module")
    found: dict[str, Any] = {}
    if modules.encoder is not None:
        reads = getattr(modules.encoder, "reads", "vectors")
        if reads not in KINDS:
            wrong = f"the encoder's reads is {reads!r}; it must be one of: {', '.join(KINDS)}"
            raise _wrong("encoder", wrong)
        size = _count(modules, "encoder", "size", "the width of the states")
        found |= {"encoder": KINDS[reads], "hidden": size}
    if modules.pooling is not None:
        rows = _count(modules, "pooling", "rows", "the number of rows of M")
        found |= {"pooling": POOLING_MODULE, "rows": rows}
    return found


def _count(modules: Modules, part: str, name: str, what: str) -> int:
    value = getattr(getattr(modules, part), name, None)
    if type(value) is not int or value < 1:
        raise _wrong(part, f"the {part}'s {name} is {value!r}; it must be {what} that it returns")
    return value


def _wrong(part: str, message: str) -> LimelightError:
    return LimelightError(message, code=f"{part}-type")


def recipe_with(recipe: Recipe, modules: Modules, given: Iterable[str] = ()) -> Recipe:
    """A recipe with modules for its parts; bundled word vectors take the place of a preset's start."""
    own, values, given = check_modules(modules), recipe.values(), set(given)
    reads_words = own.get("encoder") == KINDS["words"]
    unused = {"start": "an encoder or a pooling of your own"}
    if modules.encoder is not None:
        reads = f"an encoder that reads {'words' if reads_words else 'vectors'}"
        names = ("start", "hidden", "layers", *(VECTOR_OPTIONS if reads_words else ()))
        unused |= dict.fromkeys(names, reads)
    if modules.pooling is not None:
        unused |= dict.fromkeys(("rows", "attention_hidden", "max_row"), "a pooling of your own")
    if wrong := [name for name in unused if name in given and values[name]]:
        what = f"{wrong[0]} does not go with {unused[wrong[0]]}"
        raise conflict(f"{what}: leave it out")
    if reads_words:
        own |= {"vectors": "", "extra_words": 0, "projection": 0, "min_count": 1}
    elif values["start"] and "vectors" not in given:
        own["vectors"] = "default"
    return recipe.override(**own, start="")


def split_modules(options: Mapping[str, Any]) -> tuple[dict[str, Any], Modules]:
    """The options of a recipe without modules among them, and the modules."""
    own = {part: options[part] for part in Modules._fields if not isinstance(options.get(part), str | None)}
    return {name: value for name, value in options.items() if name not in own}, Modules(**own)


TO_TRAIN = "give the module itself, in Python: limelight.fit(..., {part}=module)"
TO_LOAD = "open it in Python with a module of the same class: limelight.load(folder, {part}=module)"


def check_fits_recipe(modules: Modules, recipe: Recipe, where: str, todo: str) -> None:
    """Raise unless a recipe, or a saved model, has the user's own modules for these parts, and no others."""
    own, of_modules = recipe.model, check_modules(modules)
    for part, is_own in (("encoder", own.has_encoder_module), ("pooling", own.has_pooling_module)):
        given = getattr(modules, part)
        if is_own and given is None:
            wrong = f"the {part} of {where} is a PyTorch module that Limelight does not have"
            raise LimelightError(f"{wrong}; {todo.format(part=part)}", code=f"{part}-missing")
        if given is not None and not is_own:
            wrong = f"the {part} of {where} is Limelight's own, {getattr(own, part)!r}; leave out {part}"
            raise LimelightError(wrong, code=f"{part}-other")
    kind = {"encoder": own.encoder, "hidden": own.hidden}
    if modules.encoder is not None and not kind.items() <= of_modules.items():
        reads = {kind: name for name, kind in KINDS.items()}[own.encoder]
        wrong = f"{where} was trained with an encoder of size {own.hidden} that reads {reads}"
        raise LimelightError(f"{wrong}; give that one", code="encoder-other")
    if modules.pooling is not None and of_modules["rows"] != own.rows:
        wrong = f"{where} was trained with a pooling of {own.rows} rows; this one has {of_modules['rows']}"
        raise LimelightError(f"{wrong}; give that one", code="pooling-other")
