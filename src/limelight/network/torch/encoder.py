"""Words to H: equations 1 to 4 of the paper, its CNN baseline, and words that are read by themselves."""

import functools
from collections.abc import Callable
from importlib import resources
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ...config.recipe import ModelRecipe
from ...text.tokenizer import PAD
from ..parts import FILTER_WIDTH
from .lstm.bilstm import bilstm
from .lstm.nvrtc import Kernel, compile_kernels, compiles
from .shared import mask


class WordEmbedding(nn.Module):
    """Equation 1: S = (w_1, ..., w_n), one d-dimensional vector per word.

    >>> WordEmbedding(vocabulary=10, d=4)(torch.tensor([[5, 2, 0]])).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, vocabulary: int, d: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocabulary, d) * 0.1)
        self.sparse = False  # True: the gradient holds only the rows of the words read
        self.row_subset: tuple[Tensor, Tensor] | None = None  # read instead: some rows, each word's index
        with torch.no_grad():
            self.weight[PAD] = 0

    def forward(self, ids: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """ids (batch, n) -> S (batch, n, d); on a GPU in `dtype`, if that is given."""
        if ids.is_cuda:  # its gradient needs no sorting and can be captured
            return rows(self.weight, ids, dtype or self.weight.dtype)
        weight: Tensor = self.weight
        if self.row_subset is not None:
            weight, places = self.row_subset
            ids = places[ids]
        if self.sparse:
            return nn.functional.embedding(ids, weight, sparse=True)
        return nn.functional.embedding(ids, weight, padding_idx=PAD)


class Projection(nn.Module):
    """relu(W w + b), read in place of a word vector w, which may then stay frozen.

    >>> Projection(d=4, size=2)(torch.randn(1, 3, 4)).shape
    torch.Size([1, 3, 2])
    """

    def __init__(self, d: int, size: int) -> None:
        super().__init__()
        self.W, self.b = uniform(d**-0.5, size, d), uniform(d**-0.5, size)

    def forward(self, S: Tensor) -> Tensor:
        """S (..., d) -> (..., size)."""
        return torch.relu(nn.functional.linear(S.to(self.W.dtype), self.W, self.b))


class BiLSTM(nn.Module):
    """Equations 2 to 4: H = (h_1, ..., h_n), each h_t the two directions' states side by side.

    With several layers, each reads the words again together with the states of all layers below.

    >>> H = BiLSTM(d=4, u=3)(torch.randn(2, 5, 4), torch.tensor([5, 2]))
    >>> H.shape, H[1, 2:].any().item()
    (torch.Size([2, 5, 6]), False)
    """

    def __init__(self, d: int, u: int, layers: int = 1) -> None:
        super().__init__()
        self.layers, self.size = layers, 2 * u
        self.clip = 0.0  # bound on the gradients at the gates; the author's code has one
        for k in range(layers):
            bound = u**-0.5
            self.register_parameter(f"W_ih_{k}", uniform(bound, 2, 4 * u, d + 2 * u * k))
            self.register_parameter(f"W_hh_{k}", uniform(bound, 2, 4 * u, u))
            self.register_parameter(f"b_{k}", uniform(bound, 2, 4 * u))

    def forward(self, S: Tensor, lengths: Tensor) -> Tensor:
        """S (batch, n, d) -> H (batch, n, 2u), zero on padding."""
        S = S.to(next(self.parameters()).dtype)
        states: list[Tensor] = []
        for k in range(self.layers):
            W_ih, W_hh, b = (getattr(self, f"{name}_{k}") for name in ("W_ih", "W_hh", "b"))
            X = torch.cat([S, *states], dim=2) if states else S  # (batch, n, d + 2u * k)
            states.append(bilstm(X, lengths, W_ih, W_hh, b, self.clip))
        return states[-1]


class Convolution(nn.Module):
    """The CNN's H: one 1-D convolution over the words, ReLU; zeros beyond the sentence's ends.

    >>> Convolution(d=4, filters=6)(torch.randn(2, 5, 4), torch.tensor([5, 1])).shape
    torch.Size([2, 5, 6])
    """

    def __init__(self, d: int, filters: int, width: int = FILTER_WIDTH) -> None:
        super().__init__()
        self.size, self.width = filters, width
        bound = (d * width) ** -0.5
        self.W, self.b = uniform(bound, filters, d, width), uniform(bound, filters)

    def forward(self, S: Tensor, lengths: Tensor) -> Tensor:
        """S (batch, n, d) -> H (batch, n, filters), zero on padding."""
        S, words = S.to(self.W.dtype), mask(lengths, S.shape[1]).unsqueeze(2)
        left = (self.width - 1) // 2
        padded = nn.functional.pad((S * words).transpose(1, 2), (left, self.width - 1 - left))
        return torch.relu(nn.functional.conv1d(padded, self.W, self.b)).transpose(1, 2) * words


class WordsAlone(nn.Module):
    """H = S: each word is read by itself.

    >>> WordsAlone(d=4)(torch.ones(1, 2, 4), torch.tensor([1]))[0, :, 0].tolist()
    [1.0, 0.0]
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.size = d

    def forward(self, S: Tensor, lengths: Tensor) -> Tensor:
        """S (batch, n, d) -> H (batch, n, d), zero on padding."""
        return S * mask(lengths, S.shape[1]).unsqueeze(2)


ENCODERS: dict[str, Callable[[ModelRecipe, int], BiLSTM | Convolution | WordsAlone]] = {
    "bilstm": lambda recipe, d: BiLSTM(d, recipe.hidden, recipe.layers),
    "cnn": lambda recipe, d: Convolution(d, 2 * recipe.hidden),
    "words": lambda recipe, d: WordsAlone(d),
}


def uniform(bound: float, *shape: int) -> nn.Parameter:
    """A parameter drawn uniformly from [-bound, bound]."""
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))


# ------------------------------------- rows of a table of words on a GPU; on Hopper by kernels (`rows.cu`)

KERNELS = ("add_float32", "add_bfloat16", "pick_bfloat16")
THREADS, SPREAD = 256, 1056


def rows(table: Tensor, ids: Tensor, dtype: torch.dtype) -> Tensor:
    """(..., d) in `dtype`: the rows of a table (vocabulary, d) with these ids."""
    if torch.is_grad_enabled() and table.requires_grad and _is_available(table, dtype):
        found: Tensor = _Rows.apply(table, ids, dtype)
        return found
    return table.index_select(0, ids.flatten()).view(*ids.shape, -1).to(dtype)


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor, dtype: torch.dtype) -> Tensor:
        ids, d = ids.long().contiguous(), table.shape[1]
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        if dtype == torch.float32:
            return table.index_select(0, ids.flatten()).view(*ids.shape, d)
        found = torch.empty(*ids.shape, d, dtype=dtype, device=table.device)
        _kernels(table.get_device())["pick_bfloat16"](SPREAD, table, ids, found, ids.numel(), d // 4)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *d_rows: Tensor) -> tuple[Tensor, None, None]:
        (ids,) = ctx.saved_tensors
        sums = torch.zeros(ctx.shape, dtype=torch.float32, device=ids.device)
        given = d_rows[0].reshape(ids.numel(), -1)  # perhaps the first columns of a wider matrix
        if given.stride(1) != 1 or given.stride(0) % 4 or given.data_ptr() % 16:
            given = given.clone(memory_format=torch.contiguous_format)
        add = _kernels(sums.get_device())["add_float32" if given.dtype == torch.float32 else "add_bfloat16"]
        add(SPREAD, given, ids, sums, ids.numel(), ctx.shape[1] // 4, given.stride(0) // 4)
        return sums, None, None


def _is_available(table: Tensor, dtype: torch.dtype) -> bool:
    return (
        table.is_cuda
        and table.dtype == torch.float32
        and table.is_contiguous()
        and dtype in (torch.float32, torch.bfloat16)
        and table.shape[1] % 4 == 0
        and torch.cuda.get_device_capability(table.device) == (9, 0)
        and _compiles(table.get_device())
    )


@functools.cache
def _compiles(device: int) -> bool:
    return compiles(lambda: _kernels(device))


@functools.cache
def _kernels(device: int) -> dict[str, Kernel]:
    source = f"#define PAD {PAD}\n" + resources.files(__package__).joinpath("rows.cu").read_text()
    return compile_kernels(source, dict.fromkeys(KERNELS, 0), dict.fromkeys(KERNELS, THREADS), 1, "sm_90a")
