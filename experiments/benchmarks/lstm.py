"""The bidirectional LSTM on a GPU: every way checked against float64, then timed side by side.

    python experiments/benchmarks/lstm.py                 # check, then time
    python experiments/benchmarks/lstm.py --only check    # or time

Forward, and forward with backward, of batch x words at `--units`, in bf16, replayed as CUDA graphs.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable

import torch
from torch import Tensor

from limelight.network.torch.lstm.bilstm import by_cudnn, by_recurrence
from limelight.network.torch.lstm.persistent import GateTable, by_persistent
from limelight.network.torch.lstm.triton_kernels import by_triton

WAYS: dict[str, Callable[..., Tensor]] = {"persistent": by_persistent, "triton": by_triton, "cudnn": by_cudnn}
SIZES = [(512, 160), (128, 160), (32, 160), (300, 24), (100, 24), (512, 24), (4096, 14)]


def problem(batch: int, n: int, d: int, u: int, vary: bool, seed: int) -> tuple[list[Tensor], Tensor, Tensor]:
    """S, W_ih, W_hh and b in bf16; the lengths; a gradient for H."""
    torch.manual_seed(seed)
    bound = u**-0.5
    shapes = ((2, 4 * u, d), (2, 4 * u, u), (2, 4 * u))
    made = [torch.randn(batch, n, d, device="cuda")]
    made += [torch.empty(*shape, device="cuda").uniform_(-bound, bound) for shape in shapes]
    lengths = torch.randint(1, n + 1, (batch,)) if vary else torch.full((batch,), n)
    lengths[torch.randint(batch, (1,))] = n
    return (
        [x.bfloat16().requires_grad_() for x in made],
        lengths.cuda(),
        torch.randn(batch, n, 2 * u, device="cuda").bfloat16(),
    )


def errors(way: Callable[..., Tensor], batch: int, n: int, u: int, clip: float = 0.0) -> dict[str, float]:
    """Relative errors of H and of all gradients, against the same inputs in float64 on the CPU."""
    inputs, lengths, mix = problem(batch, n, 40 if batch * n > 20_000 else 72, u, True, 0)
    exact = [x.detach().cpu().double().requires_grad_() for x in inputs]
    found, expected = [], []
    for out, arguments, f, slope in (
        (found, inputs, way, mix),
        (expected, exact, by_recurrence, mix.cpu().double()),
    ):
        H = f(arguments[0], lengths.to(slope.device), *arguments[1:], *([clip] if f is not by_cudnn else []))
        out.extend([H.detach(), *torch.autograd.grad(H, arguments, slope)])
    return {
        name: float((a.cpu().double() - b).norm() / b.norm())
        for name, a, b in zip(("H", "dS", "dW_ih", "dW_hh", "db"), found, expected, strict=True)
    }


def check(way: Callable[..., Tensor], units: int) -> None:
    """Batches of 1 to 4,096, every length from 1 to 160, other numbers of units."""
    cases = [(1, 1, units), (1, 7, units), (3, 5, units), (64, 9, units), (96, 33, units), (130, 40, units)]
    cases += [(160, 160, units), (430, 20, units), (1500, 6, units), (4096, 14, units)]
    others = (8, 16, 33, 50, 64, 100, 128, 200, 256, 301, 320, 384, 512)
    cases += [(batch, 12, u) for u in others for batch in (70, 150, 300, 500)]  # a kernel for each
    for batch, n, u in cases:
        found = errors(way, batch, n, u)
        mark = "ok" if max(found.values()) < 1e-2 else "WRONG"
        print(
            f"{mark:5} {batch:5} x {n:3}, {u:3} units",
            *(f"{k} {v:.1e}" for k, v in found.items()),
            flush=True,
        )


def check_clipped(way: Callable[..., Tensor], units: int) -> None:
    found = errors(way, 130, 40, units, clip=0.05)
    print("gates' gradients clipped:", *(f"{k} {v:.1e}" for k, v in found.items()), flush=True)


def check_evaluation(units: int) -> None:
    """H without gradients, and of words looked up in a table, some beyond it: the same as in training."""
    (words, W_ih, W_hh, b), lengths, _ = problem(500, 1, 72, units, False, 0)
    for batch in (20, 150, 300, 700, 1500, 4096):
        lengths = torch.randint(1, 30, (batch,), device="cuda").sort(descending=True).values
        ids = torch.randint(0, 500, (int(lengths.sum()),), dtype=torch.int32, device="cuda")
        starts, t = lengths.cumsum(0) - lengths, torch.arange(32, device="cuda")
        padded = ids[(starts[:, None] + t).clamp(max=len(ids) - 1)].long() * (t < lengths[:, None])
        S = words[:, 0][padded]
        expected = by_persistent(S, lengths, W_ih, W_hh, b).detach()
        with torch.no_grad():
            table = GateTable(words[:400, 0], W_ih, W_hh, b)
            found = table(ids, starts, lengths, 32, table.of(words[400:, 0]))
            alone = by_persistent(S, lengths, W_ih, W_hh, b)
        differences = [float((x - expected).abs().max()) for x in (alone, found)]
        print(
            f"{batch} sentences, largest differences in evaluation and by a table: {differences}", flush=True
        )


def graph(run: Callable[[], object]) -> torch.cuda.CUDAGraph:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        run()
    return captured


def milliseconds(run: Callable[[], object], repeats: int = 15) -> float:
    captured = graph(run)
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        captured.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def timed(way: Callable[..., Tensor], batch: int, n: int, u: int) -> dict[str, float]:
    inputs, lengths, mix = problem(batch, n, 300, u, False, 0)

    def forward() -> Tensor:
        return way(inputs[0], lengths, *inputs[1:])

    def both() -> object:
        return torch.autograd.grad(forward(), inputs, mix)

    with torch.no_grad():
        alone = milliseconds(forward)
    return {"forward": alone, "both": milliseconds(both), "million words/s": batch * n / alone / 1e3}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--units", type=int, default=300)
    parser.add_argument("--only", choices=("check", "time"))
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    options = parser.parse_args()
    if options.only != "time":
        check(WAYS[options.ways[0]], options.units)
        if options.ways[0] != "cudnn":  # which cannot
            check_clipped(WAYS[options.ways[0]], options.units)
        if options.ways[0] == "persistent":
            check_evaluation(options.units)
    if options.only == "check":
        return
    for batch, n in SIZES:
        for name in options.ways:
            try:
                found = timed(WAYS[name], batch, n, options.units)
            except RuntimeError as error:
                print(name, str(error).splitlines()[0], flush=True)
                continue
            print(
                json.dumps(
                    {"batch": batch, "words": n, "way": name} | {k: round(v, 3) for k, v in found.items()}
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
