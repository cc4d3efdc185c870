"""Cost: the penalty against its KL form, and time and memory by sentence length.

    python -m experiments.paper.cost --out runs    # a few minutes; --device cuda for a GPU

The paper says that its penalty takes one third of the KL form's computation.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from limelight.config.recipe import Recipe
from limelight.network.parts import rows_of
from limelight.network.torch.attention import penalty
from limelight.network.torch.network import Network
from limelight.training.context import choose_device
from limelight.training.loss import Tensors, loss

from . import markdown
from .figure_rows import line_chart
from .plan import CLASSES, Plan, setting
from .report import write_picture, write_table

Work = Callable[[], Any]

LENGTHS = (16, 32, 64, 128, 256, 512, 1024)  # words
WORDS = 20_000
MODELS = {"self-attention": "self-attention", "max": "biLSTM + max", "cnn": "CNN + max"}


def kl_by_pairs(A: Tensor) -> Tensor:
    """Minus KL(a^i || a^j) summed over all pairs of rows, as it is written: (batch, r, r, n) on the way.

    >>> A = torch.softmax(torch.randn(2, 3, 5, dtype=torch.float64), dim=2)
    >>> torch.allclose(kl_by_pairs(A), kl_by_sums(A))
    True
    """
    first, second = A.unsqueeze(2), A.unsqueeze(1)  # (batch, r, 1, n), (batch, 1, r, n)
    return -(first * (first / second).log()).sum(dim=(1, 2, 3)).mean()


def kl_by_sums(A: Tensor) -> Tensor:
    """The same from sums over the rows: (batch, r, n) at most.

    >>> kl_by_sums(torch.tensor([[[0.5, 0.5], [0.5, 0.5]]])).item() == 0  # two rows that read the same
    True
    """
    logs = A.clamp(min=torch.finfo(A.dtype).tiny).log()  # (batch, r, n)
    own = A.shape[1] * (A * logs).sum(dim=(1, 2))
    cross = (A.sum(dim=1) * logs.sum(dim=1)).sum(dim=1)
    return (cross - own).mean()


FORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "P": lambda A: penalty(A),
    "KL, pair by pair": kl_by_pairs,
    "KL, sums first": kl_by_sums,
}


def penalties(
    recipe: Recipe, device: torch.device, lengths: Sequence[int] = LENGTHS
) -> dict[str, dict[int, float]]:
    """Seconds for each form, forwards and backwards, by length."""
    found: dict[str, dict[int, float]] = {name: {} for name in FORMS}
    for n in lengths:
        A = torch.softmax(torch.randn(recipe.training.batch_size, recipe.model.rows, n, device=device), dim=2)
        A.requires_grad_()
        works = {name: partial(_gradient, form, A) for name, form in FORMS.items()}
        for name, spent in seconds(works, device).items():
            found[name][n] = spent
    return found


def _gradient(form: Callable[[Tensor], Tensor], A: Tensor) -> None:
    torch.autograd.grad(form(A), A)


def steps(
    recipes: dict[str, Recipe], device: torch.device, lengths: Sequence[int] = LENGTHS
) -> dict[str, dict[int, tuple[float, int]]]:
    """Seconds and bytes of a pass forwards and backwards, for each model by length."""
    found: dict[str, dict[int, tuple[float, int]]] = {name: {} for name in recipes}
    for name, recipe in recipes.items():
        torch.manual_seed(0)
        network = Network(recipe.model, WORDS, CLASSES["yelp"]).to(device)
        for n in lengths:
            work = _step(network, recipe, n, device)
            found[name][n] = seconds({name: work}, device)[name], memory(work, network, device)
            print(f"  {name}, {n} words: {1000 * found[name][n][0]:.1f} ms", file=sys.stderr)
    return found


def _step(network: Network, recipe: Recipe, n: int, device: torch.device) -> Work:
    batch = recipe.training.batch_size
    ids = torch.randint(2, WORDS, (batch, n), device=device)
    lengths = torch.full((batch,), n, device=device)
    given = Tensors(ids, lengths, torch.zeros(batch, dtype=torch.long, device=device))

    def work() -> None:
        network.zero_grad(set_to_none=True)
        loss(network(ids, lengths), given, recipe.training, rows_of(recipe.model).attention).total.backward()

    return work


def seconds(
    works: Mapping[str, Callable[[], Any]], device: torch.device, rounds: int = 7
) -> dict[str, float]:
    """The fastest of some rounds for each; they take turns, as the machine may be busy for a moment."""
    fastest = dict.fromkeys(works, float("inf"))
    for number in range(rounds + 1):
        for name, work in works.items():
            _wait(device)
            started = time.perf_counter()
            work()
            _wait(device)
            if number:  # the first round warms up
                fastest[name] = min(fastest[name], time.perf_counter() - started)
    return fastest


def memory(work: Work, network: Network, device: torch.device) -> int:
    """On a GPU, the peak above the weights; on a CPU, what the forward pass keeps for the backward pass."""
    network.zero_grad(set_to_none=True)
    if device.type == "cuda":
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        work()
        return torch.cuda.max_memory_allocated() - before
    own = {parameter.untyped_storage().data_ptr() for parameter in network.parameters()}
    kept: dict[int, int] = {}

    def keep(x: Tensor) -> Tensor:
        storage = x.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        work()
    return sum(kept.values())


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def write(plan: Plan, device: str, batch: int, forms: Any, models: Any) -> None:
    """Write cost.md and cost.json, and three charts."""
    lengths = list(next(iter(forms.values())))
    body = "\n\n".join([_forms_table(forms, lengths), _models_table(models, lengths)])
    on_gpu = "the peak above the weights, gradients included"
    kept = "what the forward pass keeps for the backward one" if device == "cpu" else on_gpu
    lines = [
        f"On {device}; batches of {batch}, forwards and backwards, float32, fastest of seven rounds taken "
        "in turns.",
        "The paper: the penalty consumes one third of the KL form's computation.",
        f"Memory: {kept}.",
    ]
    content = {"device": device, "batch": batch, "penalty": forms, "steps": models, "options": plan.options}
    write_table(plan, "cost", "Cost", body, lines, content)
    by_form = {name: [1000 * s for s in by.values()] for name, by in forms.items()}
    chart = line_chart("The penalty and its KL form", "words", "milliseconds", by_form, lengths)
    write_picture(plan.out / "cost-penalty", chart)
    for part, what, unit, scale in ((0, "time", "milliseconds", 1000), (1, "memory", "MiB", 2**-20)):
        points = {MODELS[m]: [scale * found[part] for found in by.values()] for m, by in models.items()}
        chart = line_chart(f"A step's {what} by length", "words", unit, points, lengths)
        write_picture(plan.out / f"cost-{what}", chart)


def _forms_table(forms: dict[str, dict[int, float]], lengths: list[int]) -> str:
    head = ["words", *(f"{name}, ms" for name in forms), "pair by pair / P", "sums first / P"]
    rows = []
    for n in lengths:
        P, pairs, sums = (forms[name][n] for name in FORMS)
        rows.append(
            [str(n), *(f"{1000 * s:.3f}" for s in (P, pairs, sums)), f"{pairs / P:.2f}", f"{sums / P:.2f}"]
        )
    return markdown.table(head, rows)


def _models_table(models: dict[str, dict[int, tuple[float, int]]], lengths: list[int]) -> str:
    head = ["words", *(f"{MODELS[m]}, {unit}" for m in models for unit in ("ms", "MiB"))]
    rows = [
        [str(n), *(cell for m in models for cell in _cells(*models[m][n]))]
        for n in lengths
    ]  # fmt: skip
    return markdown.table(head, rows)


def _cells(spent: float, size: int) -> tuple[str, str]:
    return f"{1000 * spent:.1f}", f"{size / 2**20:.1f}"


def measure(plan: Plan, lengths: Sequence[int] = LENGTHS) -> None:
    """Measure and write."""
    device = choose_device(plan.device)
    recipes = {model: setting("yelp", model).override(**plan.options) for model in MODELS}
    forms = penalties(recipes["self-attention"], device, lengths)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    batch = recipes["self-attention"].training.batch_size
    write(plan, name, batch, forms, steps(recipes, device, lengths))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of cost.md, cost.json and the charts")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batch-size", type=int, help="default: the paper's")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    options = {} if args.batch_size is None else {"batch_size": args.batch_size}
    measure(Plan(args.out, options=options, device=args.device))
    print((args.out / "cost.md").read_text(), end="")
