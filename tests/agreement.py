"""How the model is held against the reference: random weights, padded batches, values and slopes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

import reference

Array = np.ndarray
Values = dict[str, Array]

# Padding holds rubbish on purpose: whoever reads it gets a wrong answer, not a slightly different one.
RUBBISH = 1e3


def randomise(module: nn.Module, seed: int) -> nn.Module:
    """Float64 weights of an ordinary size, padding's word vector still zero.

    Biases lean to the positive side, so that most units behind a ReLU are awake and have a slope to compare.
    """
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, parameter in module.double().named_parameters():
            centre = 0.5 if name.split(".")[-1].startswith("b") else 0.0
            parameter.copy_(torch.from_numpy(rng.normal(centre, 0.5, parameter.shape)))
            if name == "words.weight":
                parameter[0] = 0
    return module


def values_of(module: nn.Module) -> Values:
    return {name: parameter.detach().numpy().copy() for name, parameter in module.named_parameters()}


def pad(sentences: Sequence[Tensor], extra: int = 0, rubbish: float = RUBBISH) -> tuple[Tensor, Tensor]:
    """Sentences (n_i, ...) one below the other as (batch, longest + extra, ...), and their lengths."""
    lengths = torch.tensor([len(s) for s in sentences])
    batch = nn.utils.rnn.pad_sequence(list(sentences), batch_first=True, padding_value=rubbish)
    rest = batch.new_full((len(batch), extra, *batch.shape[2:]), rubbish)
    return torch.cat([batch, rest], dim=1), lengths


def stack(arrays: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Arrays of different sizes one below the other, zeros around them."""
    result = np.zeros((len(arrays), *shape[1:]), dtype=np.result_type(*arrays))
    for k, array in enumerate(map(np.asarray, arrays)):
        result[(k, *map(slice, array.shape))] = array
    return result


def assert_agree(
    model: Callable[[dict[str, Tensor]], Sequence[Tensor]],
    expected: Callable[[Values], Sequence[Sequence[Array]]],
    values: Values,
) -> None:
    """Same outputs, and the same slope of a random function of them along a random direction of each value.

    A wrong derivative would have to be at right angles to the direction to pass.
    """
    rng = np.random.default_rng(0)
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in values.items()}
    outputs = model(tensors)
    shapes = [tuple(output.shape) for output in outputs]
    weights = [rng.normal(size=shape) for shape in shapes]

    def wanted(v: Values) -> list[Array]:
        return [stack(arrays, shape) for arrays, shape in zip(expected(v), shapes, strict=True)]

    def mixed(v: Values) -> Array:
        return sum((w * o).sum() for w, o in zip(weights, wanted(v), strict=True))

    for output, array in zip(outputs, wanted(values), strict=True):
        np.testing.assert_allclose(output.detach().numpy(), array, rtol=1e-10, atol=1e-10)
    total = sum((torch.from_numpy(w) * o).sum() for w, o in zip(weights, outputs, strict=True))
    slopes = torch.autograd.grad(total, list(tensors.values()), materialize_grads=True)
    for name, found in zip(values, slopes, strict=True):
        direction = rng.normal(size=values[name].shape)
        slope = reference.slope(mixed, values, name, direction)
        np.testing.assert_allclose((found.numpy() * direction).sum(), slope, rtol=1e-10, atol=1e-10)


def assert_agree_on_sentences(
    module: nn.Module,
    expected: Callable[..., Array | tuple[Array, ...]],
    sentences: Sequence[Array],
    extra: int = 0,
) -> None:
    """A module called as (sentences, lengths) against a function of one sentence and the parameters."""
    names = list(values_of(module))
    inputs = {f"sentence {k}": sentence for k, sentence in enumerate(sentences)}

    def model(v: dict[str, Tensor]) -> Sequence[Tensor]:
        batch = pad([v[name] for name in inputs], extra)
        outputs = functional_call(module, {name: v[name] for name in names}, batch)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def all_expected(v: Values) -> Sequence[Sequence[Array]]:
        each = [expected(v[name], **{p: v[p] for p in names}) for name in inputs]
        return list(zip(*(e if isinstance(e, tuple) else (e,) for e in each), strict=True))

    assert_agree(model, all_expected, values_of(module) | inputs)


def assert_gradcheck(module: nn.Module, *inputs: Tensor) -> None:
    """Every entry of every input's and parameter's gradient, by PyTorch's own differences."""
    names = [name for name, _ in module.named_parameters()]
    moving = [i.clone().requires_grad_(i.is_floating_point()) for i in inputs]

    def run(*tensors: Tensor) -> Tensor | tuple[Tensor, ...]:
        parameters = dict(zip(names, tensors[len(inputs) :], strict=True))
        return functional_call(module, parameters, tensors[: len(inputs)])

    assert torch.autograd.gradcheck(run, (*moving, *module.parameters()))
