"""Training speed against the plainest PyTorch version of the same model, on the same data, alternating.

    python experiments/benchmarks/training.py                                  # on a CPU: light, yelp and snli sizes
    python experiments/benchmarks/training.py --device cuda --precision bf16 --case snli:50
    python experiments/benchmarks/training.py --data DIR --case yelp:32        # an encoded data set, not made-up text

The plain version is how public implementations write it: packed sequences through nn.LSTM, dense gradients,
torch.optim, one Python step per batch. Both start from the same weights. Once they are timed, their losses
are compared in float64 with dropout off, over 20 steps with the preset's own optimizer and 200 with SGD.
(AdaGrad divides by the gradient's own size: where a gradient is nothing but rounding error, its sign decides
a whole step, and after a few dozen steps two correct programs diverge.) On a GPU use a process for each
case: what ran before costs a few per cent.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from limelight.config.presets import preset
from limelight.config.recipe import Recipe
from limelight.network.torch.network import Network
from limelight.text.batches import gather, training_plan
from limelight.text.dataset import Dataset, Split
from limelight.text.tokenizer import Tokenizer
from limelight.training.context import Processes
from limelight.training.label_objective import LabelObjective
from limelight.training.step import Stepper

# rows, words that occur, mean and spread of log length: the real data sets' shapes
SHAPES = {
    "yelp": (4000, 40_000, 4.55, 0.75),
    "snli": (20_000, 20_000, 2.3, 0.4),
    "light": (4000, 10_000, 2.8, 0.5),
}


class Plain(nn.Module):
    """The model as it is usually written."""

    def __init__(self, recipe: Recipe, vocabulary: int, classes: int, pair: bool) -> None:
        super().__init__()
        m = recipe.model
        self.pair, self.recipe = pair, recipe
        self.words = nn.Embedding(vocabulary, m.word_size, padding_idx=0)
        self.lstm = nn.LSTM(m.word_size, m.hidden, bidirectional=True, batch_first=True)
        self.W_s1 = nn.Linear(2 * m.hidden, m.attention_hidden, bias=False)
        self.W_s2 = nn.Linear(m.attention_hidden, m.rows, bias=False)
        size = 2 * m.hidden * (4 if pair and m.pair == "concat" else 1)
        if pair and m.pair == "gated":
            self.W_fp = nn.Parameter(torch.empty(m.rows, 2 * m.hidden, 2 * m.hidden))
            self.W_fh = nn.Parameter(torch.empty(m.rows, 2 * m.hidden, 2 * m.hidden))
        self.pruned = m.head == "pruned"
        if self.pruned:
            self.rows_hidden = nn.ModuleList(nn.Linear(size, m.row_units) for _ in range(m.rows))
            self.out = nn.Linear(m.rows * m.row_units, classes)
        else:
            self.hidden = nn.Linear(m.rows * size, m.head_hidden)
            self.out = nn.Linear(m.head_hidden, classes)
        self.dropout, self.dropout_words = nn.Dropout(m.dropout), nn.Dropout(m.dropout_words)

    def embed(self, ids: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        packed = pack_padded_sequence(
            self.dropout_words(self.words(ids)), lengths, batch_first=True, enforce_sorted=False
        )
        H, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=ids.shape[1])
        scores = self.W_s2(torch.tanh(self.W_s1(H))).transpose(1, 2)
        A = torch.softmax(scores.masked_fill((ids == 0).unsqueeze(1), float("-inf")), dim=2)
        return A @ H, A

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        M, A = self.embed(*inputs[:2])
        attentions = [A]
        if self.pair:
            N, B = self.embed(*inputs[2:])
            attentions.append(B)
            if self.recipe.model.pair == "concat":
                M = torch.cat([M, N, (M - N).abs(), M * N], dim=2)
            else:
                M = torch.einsum("brd,rdf->brf", M, self.W_fp) * torch.einsum("brd,rdf->brf", N, self.W_fh)
        if self.pruned:
            groups = [self.dropout(torch.relu(f(M[:, i]))) for i, f in enumerate(self.rows_hidden)]
            return self.out(torch.cat(groups, dim=1)), attentions
        return self.out(self.dropout(torch.relu(self.hidden(M.flatten(1))))), attentions


class PlainTrainer:
    """One Python step per batch."""

    def __init__(self, network: Network, split: Split, recipe: Recipe, device: str) -> None:
        t = recipe.training
        self.split, self.recipe, self.device = split, recipe, device
        self.model = Plain(
            recipe, network.words.weight.shape[0], [*network.head.parameters()][-1].numel(), split.pair
        )
        self.model.to(network.words.weight.dtype)
        copy_weights(network, self.model)
        self.model.to(device).train()
        decayed = [
            p
            for n, p in self.model.named_parameters()
            if p.dim() > 1 and not n.startswith("words") and p.requires_grad
        ]
        others = [
            p
            for n, p in self.model.named_parameters()
            if (p.dim() == 1 or n.startswith("words")) and p.requires_grad
        ]
        groups = [
            {"params": decayed, "weight_decay": t.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        kinds = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "adam": torch.optim.Adam}
        self.optimiser = kinds[t.optimizer](groups, lr=t.learning_rate)

    def step(self, rows: np.ndarray) -> torch.Tensor:
        t = self.recipe.training
        found = gather(self.split, rows)
        inputs = [torch.from_numpy(found.ids).to(self.device), torch.from_numpy(found.lengths)]
        if self.split.pair:
            inputs += [torch.from_numpy(found.ids2).to(self.device), torch.from_numpy(found.lengths2)]
        logits, attentions = self.model(*inputs)
        entropy = nn.functional.cross_entropy(logits, torch.from_numpy(found.labels).to(self.device))
        total = entropy
        for A, lengths in zip(attentions, inputs[1::2], strict=True):
            P = ((A @ A.transpose(1, 2) - torch.eye(A.shape[1], device=self.device)) ** 2).sum((1, 2))
            if t.penalty_scale == "author":
                n = lengths.to(self.device)
                P = (P + n - A.shape[1]) / n**2
            total = total + t.penalty * P.mean()
        self.optimiser.zero_grad()
        total.backward()
        if t.clip_norm:
            nn.utils.clip_grad_norm_(self.model.parameters(), t.clip_norm)
        self.optimiser.step()
        return entropy.detach()


@torch.no_grad()
def copy_weights(network: Network, plain: Plain) -> None:
    """Copy the weights. nn.LSTM has a second bias, which stays zero."""
    plain.words.weight.copy_(network.words.weight)
    for k, suffix in enumerate(("", "_reverse")):
        getattr(plain.lstm, f"weight_ih_l0{suffix}").copy_(network.encoder.W_ih_0[k])
        getattr(plain.lstm, f"weight_hh_l0{suffix}").copy_(network.encoder.W_hh_0[k])
        getattr(plain.lstm, f"bias_ih_l0{suffix}").copy_(network.encoder.b_0[k])
        getattr(plain.lstm, f"bias_hh_l0{suffix}").zero_().requires_grad_(False)
    plain.W_s1.weight.copy_(network.pooling.W_s1)
    plain.W_s2.weight.copy_(network.pooling.W_s2)
    if network.gate is not None:
        plain.W_fp.copy_(network.gate.W_fp)
        plain.W_fh.copy_(network.gate.W_fh)
    if plain.pruned:
        for i, f in enumerate(plain.rows_hidden):
            f.weight.copy_(network.head.W_v_0[i].T)
            f.bias.copy_(network.head.b_v_0[i])
        plain.out.weight.copy_(network.head.W_o)
        plain.out.bias.copy_(network.head.b_o)
    else:
        plain.hidden.weight.copy_(network.head.W_1)
        plain.hidden.bias.copy_(network.head.b_1)
        plain.out.weight.copy_(network.head.W_2)
        plain.out.bias.copy_(network.head.b_2)


def made_up(name: str) -> tuple[Split, int, int]:
    """Made-up sentences with the lengths of the real data and words drawn by Zipf's law.

    The preset's extra words are in the word table but in no sentence.
    """
    rows, words, mean, spread = SHAPES[name]
    vocabulary = words + preset(name).text.extra_words
    random = np.random.default_rng(0)

    def sentences() -> tuple[np.ndarray, np.ndarray]:
        lengths = np.clip(np.exp(random.normal(mean, spread, rows)), 1, 1000).astype(np.int32)
        ids = random.zipf(1.2, int(lengths.sum())) % (words - 2) + 2
        return ids.astype(np.int32), lengths

    classes = 3 if name == "snli" else 5
    labels = random.integers(0, classes, rows).astype(np.int32)
    ids, lengths = sentences()
    if name != "snli":
        return Split(ids, lengths, labels), vocabulary, classes
    ids2, lengths2 = sentences()
    return Split(ids, lengths, labels, None, ids2, lengths2), vocabulary, classes


def build(recipe: Recipe, split: Split, vocabulary: int, classes: int, device: str) -> Network:
    torch.manual_seed(0)
    return Network(recipe.model, vocabulary, classes, split.pair).to(device).train()


def objective(split: Split, recipe: Recipe) -> LabelObjective:
    return LabelObjective(Dataset(Tokenizer.from_words([]), (), {"train": split}, None, {}), recipe)


def agreement(recipe: Recipe, split: Split, vocabulary: int, classes: int, device: str, steps: int) -> float:
    """The largest difference between the two versions' losses over the first steps, dropout off."""
    recipe = recipe.override(dropout=0.0, dropout_words=0.0, precision="float32")
    network = build(recipe, split, vocabulary, classes, device).double()
    plain = PlainTrainer(network, split, recipe, device)
    ours = Stepper(network, objective(split, recipe), Processes())
    worst, before = 0.0, 0.0
    for number, rows in enumerate(training_plan(ours.lengths, recipe.training.batch_size, 0, 0)[:steps]):
        ours.step(rows, number)
        ours.finish()
        total = float(ours.sums[0])
        mine, before = (total - before) / len(rows), total
        worst = max(worst, abs(mine - float(plain.step(rows))))
    return worst


def speeds(
    recipe: Recipe, split: Split, vocabulary: int, classes: int, device: str, seconds: float
) -> dict[str, float]:
    """Rows per second of both, alternating on the same batches."""
    network = build(recipe, split, vocabulary, classes, device)
    plain = PlainTrainer(network, split, recipe, device)
    ours = Stepper(network, objective(split, recipe), Processes())
    plan = training_plan(ours.lengths, recipe.training.batch_size, 0, 0)
    if device == "cuda":  # every batch twice, to compile and capture before timing
        for number, rows in enumerate(plan + plan):
            ours.step(rows, number)
        for rows in plan[:20]:
            plain.step(rows)
    found: dict[str, list[float]] = {"plain": [], "ours": []}
    started, at, block = time.monotonic(), 0, 20 if device == "cuda" else 2
    while time.monotonic() - started < seconds or len(found["ours"]) < 3:
        batches = [plan[(at + i) % len(plan)] for i in range(block)]
        at += block
        for name, run in (("plain", plain.step), ("ours", lambda r: ours.step(r, 0))):
            found[name].append(sum(map(len, batches)) / clock(run, batches, device))
    return {name: statistics.median(values) for name, values in found.items()}


def clock(run, batches: list[np.ndarray], device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for rows in batches:
        run(rows)
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", help="preset:batch, e.g. snli:50 (several allowed)")
    parser.add_argument("--data", help="encoded data set to train on")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32", choices=("float32", "bf16"))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--steps", type=int, default=200, help="number of steps to compare losses over")
    options = parser.parse_args()
    cases = options.case or ["light:32", "yelp:32", "snli:50"]
    for case in cases:
        name, batch = case.split(":")
        recipe = preset(name).override(batch_size=int(batch), precision=options.precision)
        if options.data:
            dataset = Dataset.open(options.data)
            split, vocabulary, classes = dataset.splits["train"], len(dataset.tokenizer), len(dataset.labels)
        else:
            split, vocabulary, classes = made_up(name)
        arguments = (recipe, split, vocabulary, classes, options.device)
        found = speeds(*arguments, seconds=options.seconds)
        worst = agreement(*arguments, steps=min(20, options.steps))
        by_sgd = agreement(
            recipe.override(optimizer="sgd", learning_rate=0.06), *arguments[1:], steps=options.steps
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        figures = {
            "case": case, "precision": options.precision,
            f"loss difference, {min(20, options.steps)} steps": float(f"{worst:.2g}"),
            f"{options.steps} steps of SGD": float(f"{by_sgd:.2g}"),
            "plain rows/s": round(found["plain"], 1), "ours rows/s": round(found["ours"], 1),
            "ratio": round(found["ours"] / found["plain"], 2), "peak host GiB": round(peak, 2),
        }  # fmt: skip
        if options.device == "cuda":
            figures["peak GPU GiB"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
        print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
